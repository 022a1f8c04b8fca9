//! `semgate scan learn`: a baseline of one field, with its own rates of false alarms.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use semgate_contexts::{Context, ContextUrn, Prefix};
use semgate_scan::Baseline;
use semgate_statement::scan_model::FieldOfContext;
use serde_json::json;

use super::baseline_file::BaselineFile;
use crate::context::Documents;
use crate::fault::{Doing, Fault};
use crate::names::full_urn;
use crate::system::{read_at_most, replace};

/// Positions that a hint lists.
const HINTED: usize = 16;

/// The largest file of texts, in bytes: a million short ones.
const MAX_SAMPLES: usize = 256 << 20;

/// The field, its texts and the result.
#[derive(Debug, Args)]
pub struct Learn {
    /// The context of the field: a URN, or short, such as `supplyChain:v1.0`
    #[arg(long, value_name = "URN")]
    context: String,
    /// The document of the context, if it is not a shipped one
    #[arg(long, value_name = "FILE")]
    document: Option<PathBuf>,
    /// The concept, or the task; may be left out if only one has free text
    #[arg(long)]
    concept: Option<String>,
    /// The position of the text, such as `/then_change_text`; may be left out if there is only one
    #[arg(long, value_name = "POINTER")]
    position: Option<String>,
    /// Texts of the field, one a line, at least 1,000; a line that begins with `"` is a JSON string
    #[arg(long, value_name = "FILE")]
    samples: PathBuf,
    /// File for the baseline; replaced atomically
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
}

impl Learn {
    /// Learns the baseline and prints the rates of texts that it never saw.
    ///
    /// # Errors
    /// An unknown context or field, an unreadable file, or too few texts.
    pub fn run(self, json: bool) -> Result<u8, Fault> {
        let context = self.context()?;
        let field = self.field(&context)?;
        let texts = samples(&self.samples)?;
        let (baseline, held_out) = Baseline::learn(&texts).hinted(
            format_args!("`{}`", self.samples.display()),
            "collect more texts of this field alone, each once, and choose them yourself",
        )?;
        let file = BaselineFile::new(&field, texts.len(), &baseline);
        replace(&self.out, &serde_json::to_vec_pretty(&file).doing("baseline")?)?;
        if json {
            let rates: Vec<_> =
                held_out.rates.iter().map(|rate| json!({"unusual": rate.at, "texts": rate.texts})).collect();
            let report = json!({
                "baseline": self.out, "context": file.context, "concept": file.concept, "position": file.position,
                "texts": texts.len(), "held_out": held_out.texts, "rates": rates,
            });
            out!("{report}");
            return Ok(0);
        }
        let (concept, position) = (&file.concept, &file.position);
        out!("{}: `{concept}{position}` of {}, {} texts", self.out.display(), file.context, texts.len());
        out!("of {} texts that it never saw, a threshold on `unusual` would stop", held_out.texts);
        for rate in &held_out.rates {
            out!("  {:>4}: {:>5}  {}", rate.at, rate.texts, percent(rate.texts, held_out.texts));
        }
        Ok(0)
    }

    fn context(&self) -> Result<Arc<Context>, Fault> {
        let name = &self.context;
        let urn = ContextUrn::parse(&full_urn(name), &Prefix::default()).doing(format_args!("`{name}`"))?;
        let files: Vec<PathBuf> = self.document.iter().cloned().collect();
        Documents::with_library(&files)?.find(&urn).ok_or_else(|| {
            Fault::new(format_args!("there is no valid document of `{urn}`"))
                .hint("name its file with `--document`; `semgate context check` shows its faults")
        })
    }

    fn field(&self, context: &Context) -> Result<FieldOfContext, Fault> {
        let mut fields = Vec::new();
        for term in context.terms() {
            for shape in term.shapes() {
                let asked = |name: &str| self.concept.as_ref().is_none_or(|own| own == name);
                if asked(shape.name()) || asked(term.name()) {
                    let positions = shape.free_text_positions(HINTED);
                    fields.extend(positions.into_iter().map(|position| (shape.name().to_owned(), position)));
                }
            }
        }
        fields.retain(|(_, position)| self.position.as_ref().is_none_or(|own| own == position));
        let [(concept, position)] = fields.as_slice() else {
            let named = fields.iter().take(HINTED);
            let named: Vec<String> =
                named.map(|(of, at)| format!("`--concept {of} --position {at}`")).collect();
            let hint = if named.is_empty() {
                "`x-free-text` marks the fields that may have a baseline".to_owned()
            } else {
                format!("name one of {}", named.join(", "))
            };
            let what = format!("{} of {} fit the words", fields.len(), context.urn());
            return Err(Fault::new(format_args!("one field of free text is needed: {what}"))
                .hint(hint)
                .status(2));
        };
        Ok(FieldOfContext {
            context: context.urn().clone(),
            concept: concept.clone(),
            position: position.clone(),
        })
    }
}

/// The texts of a file, one a line.
///
/// # Errors
/// The file is unreadable or too long, or a line begins as a JSON string and is none.
fn samples(path: &Path) -> Result<Vec<String>, Fault> {
    let text = String::from_utf8(read_at_most(path, MAX_SAMPLES)?);
    let text = text.hinted(format_args!("`{}`", path.display()), "the file must be text in UTF-8")?;
    let line = |(n, line): (usize, &str)| match line.starts_with('"') {
        true => serde_json::from_str(line).doing(format_args!("`{}`, line {}", path.display(), n + 1)),
        false => Ok(line.to_owned()),
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(line).collect()
}

/// A share as people read it.
pub fn percent(part: usize, whole: usize) -> String {
    let tenths = part.saturating_mul(1_000).checked_div(whole).unwrap_or_default();
    format!("{}.{} %", tenths / 10, tenths % 10)
}
