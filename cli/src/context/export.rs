//! `semgate context export …`: contexts for readers of other languages.

use std::path::PathBuf;

use clap::Subcommand;

use super::Documents;
use super::diff;
use super::trusted_roots::Keys;
use crate::authority_client::AuthorityArgs;
use crate::fault::{Doing, Fault};
use crate::system::write_new;

/// The language of an export.
#[derive(Debug, Subcommand)]
pub enum Export {
    /// Write concepts, parameters, codes and relations as JSON-LD, with SHACL shapes
    Jsonld {
        /// A file, a shipped context such as `payment:v1.0`, or the URN of a published one
        context: String,
        /// File for the graph. Nothing is overwritten
        #[arg(long)]
        out: Option<PathBuf>,
        #[command(flatten)]
        at: AuthorityArgs,
        #[command(flatten)]
        keys: Keys,
    },
}

/// Exports.
///
/// # Errors
/// No such context, or one that cannot be verified.
pub async fn run(export: Export, json: bool) -> Result<u8, Fault> {
    let Export::Jsonld { context, out, at, keys } = export;
    let file = PathBuf::from(&context);
    let files: Vec<PathBuf> = if file.is_file() { vec![file] } else { Vec::new() };
    let documents = Documents::with_library(&files)?;
    let context = diff::find(&context, &documents, &at, &keys).await?;
    let graph = semgate_import::jsonld::export(&context);
    for remark in &graph.remarks {
        tell!("warning: `{}`: {}", remark.at, remark.what);
    }
    let text = serde_json::to_string_pretty(&graph.document).doing("writing the graph")?;
    let text = crate::terminal::json(&text) + "\n";
    let Some(out) = out else {
        out!("{}", text.trim_end());
        return Ok(0);
    };
    write_new(&out, text.as_bytes(), 0o644)?;
    let shown = serde_json::json!({"urn": context.urn().as_str(), "digest": context.digest().to_string(), "out": out});
    crate::terminal::print_members(&shown, json);
    Ok(0)
}
