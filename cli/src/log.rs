//! `semgate log …`: checks of an authority by strangers, from outside and offline.

mod proof;
mod root_trust;
mod show;
mod source;
mod witness;

pub use root_trust::{RootTrust, RootTrustArgs, tell_threshold};
pub use source::{LogArgs, Source, copied, log_verifier, quorum, reach};

use clap::{Args, Subcommand};
use semgate_statement::head::HeadFault;
use semgate_statement::verify_log::{Overridden, verify_log_or_expired};
use semgate_statement::{LogFault, LogKey, LogReport};
use serde_json::json;

use crate::fault::{Doing, Fault};
use crate::system::{now, ring_random, signing_key, write_new};
use crate::terminal::{Progress, print_members as print};

/// Advice on signatures of a compromised key.
pub const COMPROMISED: &str =
    "the root has named the key as compromised: do not use it; `semgate context list` shows what is valid";

/// The exit status if the log could not be fetched: neither good nor bad.
const NOT_VERIFIED: u8 = 4;

/// The transparency log
#[derive(Debug, Subcommand)]
pub enum LogJob {
    /// Replay the log, and compare status lists, floors and checkpoint with those served
    Verify(VerifyLog),
    /// Show the entries of the log, once all of it is verified
    Show(show::ShowLog),
    /// Prove that an entry is in the log, or that the log continues an older one; or check such a proof offline
    Proof(proof::Proof),
    /// Make a log key, or print the verifier key of one in a device, for followers to configure
    Key(Key),
    /// Cosign checkpoints of known logs, and refuse forks: for a second party to run
    #[command(after_help = crate::logging::HELP)]
    Witness(witness::Witness),
}

/// The log to verify.
#[derive(Debug, Args)]
pub struct VerifyLog {
    /// The authority's address, that of a mirror, or a mirror's directory; default: the authority of `--dir`
    at: Option<String>,
    /// Accept a log with an expired head if it was valid when that head was issued: for a mirror or a backup to restore from. Nobody may
    /// follow it
    #[arg(long)]
    allow_expired: bool,
    #[command(flatten)]
    which: LogArgs,
}

/// A log key.
#[derive(Debug, Args)]
pub struct Key {
    /// The `pkcs11:` URI (RFC 7512) of an Ed25519 key in a device
    #[arg(required_unless_present = "new")]
    key: Option<String>,
    /// Make a new key in this file (0600) instead; nothing is overwritten
    #[arg(long, value_name = "FILE", conflicts_with = "key")]
    new: Option<std::path::PathBuf>,
    /// The origin of the log
    #[arg(long)]
    origin: String,
}

impl Key {
    fn run(&self, json: bool) -> Result<u8, Fault> {
        let key = match (&self.key, &self.new) {
            (Some(place), _) => {
                let key = signing_key(place)?;
                LogKey::of_key(&self.origin, key).doing("log key")?
            }
            (None, Some(file)) => {
                let key = LogKey::generate(&self.origin, &ring_random()).hinted(
                    "log key",
                    "an origin is a name without spaces and `+`, as in `authority.toml`",
                )?;
                let text = key.to_text().ok_or_else(|| Fault::new("the key has no text"))?;
                write_new(file, format!("{text}\n").as_bytes(), 0o600)?;
                key
            }
            (None, None) => {
                return Err(Fault::new("no key is named").hint("name one, or `--new FILE`").status(2));
            }
        };
        print(&json!({"log_key": key.verifier().to_string()}), json);
        Ok(0)
    }
}

/// Runs the job.
///
/// # Errors
/// The first fault, with its position.
pub fn run(job: LogJob, json: bool) -> Result<u8, Fault> {
    match job {
        LogJob::Verify(verify) => verify.run(json),
        LogJob::Show(show) => show.run(json),
        LogJob::Proof(proof) => proof.run(json),
        LogJob::Key(key) => key.run(json),
        LogJob::Witness(witness) => witness.run(json),
    }
}

impl VerifyLog {
    fn run(self, json: bool) -> Result<u8, Fault> {
        let report = self.report(json)?;
        print(&shown(&report), json);
        self.judge(&report)
    }

    /// Verifies the log.
    ///
    /// # Errors
    /// The first fault of the log.
    fn report(&self, json: bool) -> Result<LogReport, Fault> {
        let mut source = self.which.open(self.at.as_deref())?;
        if !json {
            tell!("verifying {}", source.shown);
        }
        let now = now();
        let progress = Progress::of("verifying the log");
        let report = verify_log_or_expired(source.fetch.as_mut(), &source.config, now);
        drop(progress);
        let report = report.map_err(|found| match (&found, self.which.lender(self.at.as_deref())) {
            (
                LogFault::Fetch { .. }
                | LogFault::Moving
                | LogFault::Unfinished(_)
                | LogFault::LogKeyUnlisted { .. }
                | LogFault::FloorsDiffer
                | LogFault::ListingDiffers
                | LogFault::PageDiffers { .. }
                | LogFault::Delta { .. }
                | LogFault::Head(HeadFault::Expired | HeadFault::Ahead),
                _,
            )
            | (_, None) => fault(found),
            (_, Some(lender)) => fault(found).hint(format_args!(
                "it was judged by the keys of `{lender}`: for the log of another authority, give `--roots` and `--log-key`; else keep the served files as evidence"
            )),
        })?;
        tell_threshold(source.config.root_threshold, report.root_threshold);
        Ok(report)
    }

    /// Judges the age of its head.
    fn judge(&self, report: &LogReport) -> Result<u8, Fault> {
        if report.next_update > now() || self.allow_expired {
            return Ok(0);
        }
        Err(Fault::new(format_args!(
            "the log itself is valid, but its head has expired: it was valid until {} (seconds since the epoch)",
            report.next_update
        ))
        .hint("do not follow it: update the mirror, or start the authority; to restore from it, use `--allow-expired`")
        .status(NOT_VERIFIED))
    }
}

/// The fault for the caller, from a fault of the log.
pub fn fault(fault: LogFault) -> Fault {
    match fault {
        LogFault::Fetch { path, fault } => Fault::new(format_args!(
            "the log could not be verified: `{path}` {fault}"
        ))
        .hint("the log itself was not judged; check that the authority runs, and that this is its address")
        .status(NOT_VERIFIED),
        LogFault::Head(HeadFault::Expired) => {
            Fault::new("the log could not be judged: the served files belong to an expired head")
                .hint(
                    "the log itself was not judged; update the mirror, or ask the authority",
                )
                .status(NOT_VERIFIED)
        }
        LogFault::Head(HeadFault::Ahead) => Fault::new(format_args!("the log could not be judged: {}", HeadFault::Ahead))
            .hint("a clock is wrong: check the clock of this machine, then the clock of the authority, now and when the head was signed; the log itself was not judged")
            .status(NOT_VERIFIED),
        LogFault::Moving => Fault::new("the log could not be judged: its head changed too often, and its files were gone before they were read")
            .hint("the log itself was not judged; it grows without a pause: run it again, closer to the authority, or on a mirror")
            .status(NOT_VERIFIED),
        found @ LogFault::Unfinished(_) => Fault::new(format_args!("the log could not be judged: {found}"))
            .hint("the log itself was not judged; a copy is under way or was interrupted: copy again, or run it again once the copy is done")
            .status(NOT_VERIFIED),
        LogFault::PastEnd { .. } => Fault::new(fault)
            .hint("positions count from 0; for a larger log than the served one, ask the authority itself")
            .status(2),
        found @ LogFault::Delta { .. } => Fault::new(format_args!("the log itself is valid, but the files that lead to its head are not: {found}"))
            .hint("followers refuse it and fetch the whole head; copy the mirror again, or keep the file as evidence"),
        // these are unsigned, so they are evidence against the server
        found @ (LogFault::FloorsDiffer | LogFault::ListingDiffers | LogFault::PageDiffers { .. }) => Fault::new(format_args!(
            "the log itself is valid, but other served files are not: {found}"
        ))
        .hint("copy a mirror again, or update it; if the authority itself serves it, keep it as evidence"),
        LogFault::LogKeyUnlisted { key } => unlisted(&key),
        LogFault::Unpublished => Fault::new(fault).hint("`semgate context list` shows what is published"),
        // nothing verified under the given keys: it may be another log
        fault @ (LogFault::Head(_) | LogFault::Root(_) | LogFault::Cosignatures(_) | LogFault::TrustOfAnother) => {
            Fault::new(format_args!("the log is not valid under the given keys: {fault}"))
                .hint("check that roots, `--root-threshold`, log key and witnesses belong to this log, and that its trust list was submitted; if so, keep the served files as evidence")
        }
        fault => {
            Fault::new(format_args!("the log is not valid: {fault}")).hint("keep the served files as evidence")
        }
    }
}

/// The fault for a given log key that no trust list of the log names or named. It was given on purpose, so it is not ignored.
pub fn unlisted(key: &str) -> Fault {
    Fault::new(LogFault::LogKeyUnlisted { key: key.to_owned() })
        .hint("check for a typing error, or the key of another log; compare it with the key from the operator (`log.pub`)")
}

fn overridden(one: &Overridden) -> serde_json::Value {
    json!({
        "index": one.index, "urn": one.urn.as_str(), "by": one.by, "name": one.name, "reason": one.reason,
        "published": one.published,
    })
}

fn shown(report: &LogReport) -> serde_json::Value {
    json!({
        "size": report.size, "root": report.root.to_string(), "statements": report.statements,
        "documents": report.documents, "tiles": report.tiles, "shards": report.shards, "floors": report.floors,
        "pages": report.pages, "deltas": report.deltas, "root_threshold": report.root_threshold,
        "issued_at": report.issued_at, "next_update": report.next_update,
        "overrides": report.overrides.iter().map(overridden).collect::<Vec<_>>(),
    })
}
