//! `semgate context diff`: compares two versions, and finds the number that the newer one needs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use semgate_contexts::compare::{CancelToken, CompareLimits, Comparison, Part, Verdict, compare_as};
use semgate_contexts::{Context, ContextUrn, Prefix, Version};
use semgate_policies::{Clash, clashes};

use super::trusted_roots::Keys;
use super::{Documents, overrides, remote};
use crate::authority_client::AuthorityArgs;
use crate::fault::{Doing, Fault, Finding, REFUSED};
use crate::findings::{Check, FindingFiles};
use crate::names;

/// The exit status if compatibility is not known.
const UNKNOWN: u8 = 4;

/// Compare two versions: compatible, breaking (with a document that shows it), or unknown
#[derive(Debug, Args)]
pub struct Diff {
    /// The older one: a file, a shipped context such as `payment:v1.0`, or the URN of a published one
    old: String,
    /// The newer one
    new: String,
    /// A bare document to which either refers
    #[arg(long = "reference", value_name = "FILE")]
    references: Vec<PathBuf>,
    /// Steps (formulas and states of patterns) for one part before its result is unknown
    #[arg(long, value_name = "N")]
    max_steps: Option<u64>,
    /// Seconds for the comparison before the rest is unknown
    #[arg(long, value_name = "N")]
    max_seconds: Option<u64>,
    #[command(flatten)]
    at: AuthorityArgs,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    files: FindingFiles,
}

impl Diff {
    /// Compares. The status is 0 if the newer version is compatible, 3 if it breaks, 4 if that is not known.
    ///
    /// # Errors
    /// A document cannot be fetched or is not valid.
    pub async fn run(self, json: bool) -> Result<u8, Fault> {
        let mut checks = Vec::new();
        let outcome = self.compare(&mut checks, json).await;
        self.files.write("context diff", Path::new(&self.new), checks, outcome)
    }

    async fn compare(&self, checks: &mut Vec<Check>, json: bool) -> Result<u8, Fault> {
        let mut files = self.references.clone();
        files.extend([&self.old, &self.new].map(PathBuf::from).into_iter().filter(|path| path.is_file()));
        let documents = Documents::with_library(&files)?;
        let old = find(&self.old, &documents, &self.at, &self.keys).await?;
        let new = find(&self.new, &documents, &self.at, &self.keys).await?;
        let mut limits = CompareLimits::default();
        limits.max_steps = self.max_steps.unwrap_or(limits.max_steps);
        limits.max_time = self.max_seconds.map_or(limits.max_time, Duration::from_secs);
        let comparison = compare_as(&old, &new, None, &limits, &CancelToken::with_clock(Instant::now));
        checks.extend(comparison.parts.iter().map(checked));
        let overridden = self.overridden(&new).await;
        let untyped = clashes(&old, &new);
        let next = comparison.next;
        let free = self.free(&new, next).await;
        if json {
            let mut value = comparison.to_value();
            if let (Some(one), Some(members)) = (&overridden, value.as_object_mut()) {
                members.insert("override".to_owned(), overrides::shown(one));
            }
            if let Some(members) = value.as_object_mut() {
                members.insert("next_version".to_owned(), free.unwrap_or(next).to_string().into());
                members.insert("next_is_free".to_owned(), free.map(|_| true).into());
                if !untyped.is_empty() {
                    members.insert("untyped".to_owned(), untyped.iter().map(Clash::to_value).collect());
                }
            }
            out!("{value}");
        } else {
            show(&comparison);
            for clash in &untyped {
                out!("  {:<10}  {}: {}", "untyped", clash.pointer, clash.what);
            }
            if !untyped.is_empty() {
                out!(
                    "policies do not see these members when both versions are loaded: a gateway whose live policy reads one leaves out the newer version"
                );
            }
            match free {
                Some(free) => out!("next version: {free}"),
                None => out!("next version: {next}, unless it is taken: no authority was asked"),
            }
            if let Some(one) = &overridden {
                out!("{}", overrides::line(one));
            }
        }
        Ok(match comparison.verdict {
            Verdict::Compatible => 0,
            Verdict::Breaking => REFUSED,
            Verdict::Unknown => UNKNOWN,
        })
    }

    /// The permission of a named person for the newer version, if an authority has published it.
    async fn overridden(&self, new: &Context) -> Option<serde_json::Value> {
        if Path::new(&self.new).is_file() {
            return None;
        }
        let listed = overrides::listed(&self.at.reach().ok()?).await;
        overrides::of(&listed, new.urn().as_str(), &new.digest().to_string()).cloned()
    }

    /// The next free number at the authority in reach; none if there is no authority.
    async fn free(&self, new: &Context, next: Version) -> Option<Version> {
        remote::free(&self.at.reach().ok()?, new, next).await.ok()?
    }
}

/// A file, a shipped context, or one published by an authority.
///
/// # Errors
/// It is none of these, is not valid, or cannot be fetched.
pub async fn find(
    name: &str,
    documents: &Documents,
    at: &AuthorityArgs,
    keys: &Keys,
) -> Result<Arc<Context>, Fault> {
    let path = Path::new(name);
    if path.is_file() {
        return documents.file(path).map(Arc::new);
    }
    let urn = names::full_urn(name);
    let parsed = ContextUrn::parse(&urn, &Prefix::default()).hinted(
        format_args!("`{name}` is neither a file nor the name of a context"),
        "give a context, for instance `payment:v1.1`, or check the path of the file",
    )?;
    match documents.find(&parsed) {
        Some(found) => Ok(found),
        None => remote::context(&keys.resolve(at)?, &urn).await,
    }
}

/// A part as a check, which only compatible parts pass.
fn checked(part: &Part) -> Check {
    let finding = Finding::new(format!("{}: {}: {}", part.verdict.as_str(), part.pointer, part.reason));
    let findings = if part.verdict == Verdict::Compatible { Vec::new() } else { vec![finding] };
    Check { name: part.pointer.clone(), findings }
}

fn show(comparison: &Comparison) {
    out!("{} -> {}: {}", comparison.old, comparison.new, comparison.verdict);
    for part in &comparison.parts {
        show_part(part);
    }
}

fn show_part(part: &Part) {
    out!("  {:<10}  {}: {}", part.verdict.as_str(), part.pointer, part.reason);
    if let Some(witness) = &part.witness {
        out!("              {} {}", witness.performative, witness.content);
    }
    if let Some(described) = &part.described {
        out!("              {described}");
    }
    for change in &part.changes {
        out!("              `{}` {}", change.pointer, change.what);
    }
}
