//! `semgate context check`: validates a document, and warns of future problems.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use semgate_authority::{WORDING_RULE, suspicious_wordings};
use semgate_contexts::Context;
use semgate_contexts::compare::{CancelToken, CompareLimits, Verdict, compare_as};
use semgate_contexts::lint::lint;
use semgate_policies::{clashes, untyped};
use serde_json::json;

use super::located::open_questions;
use super::trusted_roots::Keys;
use super::{Documents, diff};
use crate::authority_client::AuthorityArgs;
use crate::fault::Fault;
use crate::system::read_bytes;

/// Check context documents, and show every fault with its path
#[derive(Debug, Args)]
pub struct CheckContexts {
    /// JSON files; several versions of one line are also compared with each other
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// A document to which they refer; these may refer to each other and to the shipped ones
    #[arg(long = "reference", value_name = "FILE")]
    references: Vec<PathBuf>,
    /// Another version to check them with: a file, a shipped context such as `payment:v1.0`, or the URN of a published one
    #[arg(long, value_name = "VERSION")]
    against: Vec<String>,
    /// Fail on a warning: parts that will conflict with a later version or a policy
    #[arg(long)]
    deny_warnings: bool,
    #[command(flatten)]
    at: AuthorityArgs,
    #[command(flatten)]
    keys: Keys,
}

/// One warning.
struct Warning {
    pointer: String,
    rule: &'static str,
    what: String,
}

impl CheckContexts {
    /// Checks each file, reports its content, and warns of future problems.
    ///
    /// # Errors
    /// A document is not valid or cannot be fetched, or warnings are denied.
    pub async fn run(self, json: bool) -> Result<u8, Fault> {
        let mut files = self.references.clone();
        files.extend(self.against.iter().map(PathBuf::from).filter(|path| path.is_file()));
        files.extend_from_slice(&self.files);
        let documents = Documents::with_library(&files)?;
        let mut against = Vec::new();
        for name in &self.against {
            against.push(diff::find(name, &documents, &self.at, &self.keys).await?);
        }
        let (mut checked, mut faults) = (Vec::new(), Vec::new());
        for file in &self.files {
            match documents.file(file) {
                Ok(context) => checked.push((file, Arc::new(context))),
                Err(fault) => faults.push(fault),
            }
        }
        let mut warned = 0;
        for (file, context) in &checked {
            let earlier = checked.iter().map(|(_, other)| other).filter(|other| is_earlier(other, context));
            let others: Vec<Arc<Context>> = against.iter().chain(earlier).cloned().collect();
            let mut warnings = warnings(context, &others);
            warnings.extend(open(file)?);
            warned += warnings.len();
            let terms: Vec<&str> = context.terms().map(|t| t.name()).collect();
            if json {
                let shown = json!({"file": file, "urn": context.urn().as_str(), "digest": context.digest().to_string(), "terms": terms,
                    "warnings": warnings.iter().map(|w| json!({"pointer": w.pointer, "rule": w.rule, "what": w.what})).collect::<Vec<_>>()});
                out!("{shown}");
            } else {
                out!("{}: {} {} ({})", file.display(), context.urn(), context.digest(), terms.join(", "));
                for warning in &warnings {
                    out!("  warning: `{}` ({}): {}", warning.pointer, warning.rule, warning.what);
                }
            }
        }
        if let Some(fault) = faults.into_iter().reduce(Fault::and) {
            return Err(fault);
        }
        if self.deny_warnings && warned > 0 {
            let hint = "docs/spec/compatibility.md describes the effect of each";
            return Err(Fault::new(format_args!("{warned} warnings")).hint(hint));
        }
        Ok(0)
    }
}

/// The open questions of a draft: it cannot be published with them.
fn open(file: &Path) -> Result<Vec<Warning>, Fault> {
    let document: serde_json::Value = serde_json::from_slice(&read_bytes(file)?).unwrap_or_default();
    let all =
        open_questions(&document).into_iter().map(|(pointer, what)| Warning { pointer, rule: "open", what });
    Ok(all.collect())
}

fn is_earlier(other: &Context, context: &Context) -> bool {
    other.urn().line() == context.urn().line() && other.urn().version() < context.urn().version()
}

/// The parts that keep a version from publication beside another of its major: each that breaks, or is not known.
fn broken(context: &Context, others: &[Arc<Context>]) -> Vec<Warning> {
    let (number, stop) = (context.urn().version(), CancelToken::with_clock(Instant::now));
    let mut all = Vec::new();
    for other in others.iter().filter(|other| other.urn().line() == context.urn().line()) {
        let version = other.urn().version();
        if version.major != number.major || version == number {
            continue;
        }
        let (old, new) = if version < number { (&**other, context) } else { (context, &**other) };
        let comparison = compare_as(old, new, None, &CompareLimits::default(), &stop);
        all.extend(comparison.obstacles().map(|part| Warning {
            pointer: part.pointer.clone(),
            rule: if part.verdict == Verdict::Breaking { "breaks" } else { "unproven" },
            what: format!("compared with `{}`: {}", other.urn(), part.reason),
        }));
    }
    all
}

fn warnings(context: &Arc<Context>, others: &[Arc<Context>]) -> Vec<Warning> {
    let own = lint(context);
    let mut all: Vec<Warning> = own
        .into_iter()
        .map(|one| Warning { pointer: one.pointer, rule: one.rule, what: one.what.to_owned() })
        .collect();
    all.extend(suspicious_wordings(context).into_iter().map(|one| {
        let what = one.what();
        Warning { pointer: one.pointer, rule: WORDING_RULE, what }
    }));
    all.extend(broken(context, others));
    let major = |other: &&Arc<Context>| {
        let (one, other) = (context.urn(), other.urn());
        one != other && one.line() == other.line() && one.version().major == other.version().major
    };
    for other in others.iter().filter(major) {
        all.extend(clashes(other, context).into_iter().map(|clash| Warning {
            pointer: clash.pointer,
            rule: "untyped",
            what: format!(
                "together with `{}`, {}: policies do not see it, and a gateway whose live policy reads it leaves the version out",
                other.urn(),
                clash.what,
            ),
        }));
    }
    all.extend(untyped(context, others).into_iter().map(|left| Warning {
        pointer: String::new(),
        rule: "untyped",
        what: left.to_string(),
    }));
    all
}
