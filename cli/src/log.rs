//! `semgate log …`: what strangers can check of an authority, from outside and offline.

mod proof;
mod source;
mod witness;

pub use source::{Source, Which, followed, quorum, reach};

use clap::{Args, Subcommand};
use semgate_statement::verify_log::Overridden;
use semgate_statement::{LogFault, LogKey, LogReport, verify_log};
use serde_json::json;

use crate::authority::print_members as print;
use crate::fault::{Doing, Fault};
use crate::system::now;

/// The exit status when the log could not be fetched: neither good nor bad.
const NOT_VERIFIED: u8 = 4;

/// The transparency log
#[derive(Debug, Subcommand)]
pub enum LogJob {
    /// Replay the log; recompute status lists, floors and checkpoint, and compare them with what is served
    Verify(Verify),
    /// Prove that an entry is in the log, or that the log continues an older one; or check such a proof offline
    Proof(proof::Proof),
    /// Print the verifier key of a log whose key lies in a device: what followers configure
    Key(Key),
    /// Cosign checkpoints of logs that one knows, and refuse forks: for a second party to run
    Witness(witness::Witness),
}

/// Which log.
#[derive(Debug, Args)]
pub struct Verify {
    /// The authority's address, that of a mirror, or a mirror's directory; the authority of `--dir` without this
    at: Option<String>,
    #[command(flatten)]
    which: Which,
}

/// A log key in a device.
#[derive(Debug, Args)]
pub struct Key {
    /// Its `pkcs11:` URI (RFC 7512); an Ed25519 key
    key: String,
    /// The origin of the log
    #[arg(long)]
    origin: String,
}

impl Key {
    fn run(&self, json: bool) -> Result<u8, Fault> {
        let key = semgate_authority::signing_key(&self.key).doing(format_args!("key `{}`", self.key))?;
        let key = LogKey::of_key(&self.origin, key).doing("log key")?;
        print(&json!({"log_key": key.verifier().to_string()}), json);
        Ok(0)
    }
}

/// Does what was asked for.
///
/// # Errors
/// The first thing that does not hold, with where it was found.
pub fn run(job: LogJob, json: bool) -> Result<u8, Fault> {
    match job {
        LogJob::Verify(verify) => verify.run(json),
        LogJob::Proof(proof) => proof.run(json),
        LogJob::Key(key) => key.run(json),
        LogJob::Witness(witness) => witness.run(json),
    }
}

impl Verify {
    fn run(self, json: bool) -> Result<u8, Fault> {
        let mut source = self.which.open(self.at.as_deref())?;
        if !json {
            eprintln!("verifying {}", source.shown);
        }
        let report = verify_log(source.fetch.as_mut(), &source.config, now());
        let report = report.map_err(|found| match (&found, self.which.lends(self.at.as_deref())) {
            (LogFault::Fetch { .. }, _) | (_, None) => fault(found),
            (_, Some(dir)) => fault(found).hint(format_args!(
                "it was judged by the keys of `{}`: if the log is another authority's, give `--roots` and `--log-key`; else keep what is served as evidence",
                dir.display()
            )),
        })?;
        print(&shown(&report), json);
        Ok(0)
    }
}

/// What a fault of the log means to who asked.
pub fn fault(fault: LogFault) -> Fault {
    match fault {
        LogFault::Fetch { path, fault } => Fault::new(format_args!(
            "the log could not be verified: `{path}` {fault}"
        ))
        .hint("nothing is said about the log itself; is the authority running, and is this its address?")
        .status(NOT_VERIFIED),
        LogFault::Unpublished => Fault::new(fault).hint("`semgate context list` shows what is published"),
        fault => {
            Fault::new(format_args!("the log does not hold: {fault}")).hint("keep what is served as evidence")
        }
    }
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
        "overrides": report.overrides.iter().map(overridden).collect::<Vec<_>>(),
    })
}
