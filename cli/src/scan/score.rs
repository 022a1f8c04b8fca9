//! `semgate scan score`: all scores of one text.

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use semgate_scan::{MAX_CHARACTERS, Model, Scanner, Wanted, scored_characters};
use serde_json::json;

use super::MAX_BYTES;
use super::baseline_file::BaselineFile;
use crate::fault::{Doing, Fault};
use crate::system::read_at_most;

/// The text, and the tables to score it with.
#[derive(Debug, Args)]
pub struct Score {
    /// The text; default: standard input
    text: Option<String>,
    /// A model in place of the one in the program, not signed
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// A baseline of `semgate scan learn`, not signed
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
}

/// The model of a file, or the one in the program.
///
/// # Errors
/// The file is unreadable, or no model of this version.
pub fn model(path: Option<&PathBuf>) -> Result<Arc<Model>, Fault> {
    let Some(path) = path else { return Ok(Model::shipped()) };
    let model = Model::parse(&read_at_most(path, MAX_BYTES)?);
    let model =
        model.hinted(format_args!("`{}`", path.display()), "name a model of this version, not signed")?;
    Ok(Arc::new(model))
}

impl Score {
    /// Scores the text.
    ///
    /// # Errors
    /// An unreadable file, or a text that a gateway would refuse as too long.
    pub fn run(self, json: bool) -> Result<u8, Fault> {
        let text = match self.text {
            Some(text) => text,
            None => typed()?,
        };
        let characters = scored_characters(&text);
        if characters > MAX_CHARACTERS {
            return Err(Fault::new(format_args!("the text has {characters} characters"))
                .hint(format_args!("a gateway scores at most {MAX_CHARACTERS}, and refuses more")));
        }
        let baseline = match &self.baseline {
            Some(path) => Some(BaselineFile::read(path, &read_at_most(path, MAX_BYTES)?)?.baseline()?.0),
            None => None,
        };
        let scanner = Scanner { model: model(self.model.as_ref())? };
        let wanted = Wanted { hidden: true, markers: true, injection: true, unusual: baseline.is_some() };
        let scores = scanner.scan(&text, baseline.as_ref(), wanted);
        let classes: Vec<&str> = scores.markers.names().collect();
        if json {
            let report = json!({
                "hidden": scores.hidden, "markers": scores.markers.count(), "classes": classes,
                "injection": scores.injection, "unusual": scores.unusual,
                "model": semgate_contexts::Digest::from_bytes(scanner.model.digest()).to_string(),
            });
            out!("{report}");
            return Ok(0);
        }
        out!("injection: {}", scores.injection);
        let named = if classes.is_empty() { String::new() } else { format!(" ({})", classes.join(", ")) };
        out!("markers:   {}{named}", scores.markers.count());
        out!("hidden:    {}", scores.hidden);
        match scores.unusual {
            Some(unusual) => out!("unusual:   {unusual}"),
            None => out!("unusual:   no baseline"),
        }
        Ok(0)
    }
}

/// The text at standard input, without its last line feed.
fn typed() -> Result<String, Fault> {
    let mut text = String::new();
    // four bytes a character, and one more to see that it is too long
    let most = MAX_CHARACTERS as u64 * 4 + 2;
    std::io::stdin().take(most).read_to_string(&mut text).doing("standard input")?;
    Ok(text.strip_suffix('\n').map(str::to_owned).unwrap_or(text))
}
