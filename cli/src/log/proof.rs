//! `semgate log proof`: text proofs in the formats of C2SP, made from tiles and checked with keys alone.

use std::path::{Path, PathBuf};

use clap::Args;
use semgate_contexts::{ContextUrn, DocumentLimits, Prefix};
use semgate_statement::verify_log::Prover;
use semgate_statement::{
    Checkpoint, CheckpointFault, CheckpointRules, ContinuationProof, LogVerifier, ProofRules, Quorum,
    Statement, TextProofFault, TlogProof, TreeHash,
};
use serde_json::{Value, json};

use super::COMPROMISED;
use super::root_trust::{RootTrust, resolve_roots, tell_threshold};
use super::source::LogArgs;
use crate::fault::{Doing, Fault};
use crate::names;
use crate::system::{now, read, read_bytes, read_roots, write_new};
use crate::terminal::print_members as print;

/// A proof to make or check.
#[derive(Debug, Args)]
pub struct Proof {
    /// The entry: its index in the log, or the URN of a context (in short `payment:v1.1`) for its publish statement
    #[arg(required_unless_present_any = ["check", "since"])]
    entry: Option<String>,
    /// The authority's address, that of a mirror, or a mirror's directory; default: the authority of `--dir`
    #[arg(long, value_name = "URL|DIR")]
    from: Option<String>,
    /// An older size of the log, or a file with a checkpoint of it: prove (or, with `--check`, check) that the log continues it
    #[arg(long, value_name = "SIZE|FILE", conflicts_with = "entry")]
    since: Option<String>,
    /// Check the proof in this file instead of making one; nothing is fetched
    #[arg(long, value_name = "FILE", conflicts_with_all = ["entry", "from", "out"])]
    check: Option<PathBuf>,
    /// Write the proof to this file; nothing is overwritten
    #[arg(long)]
    out: Option<PathBuf>,
    /// Write the bytes of the entry to this file, or, with `--check`, read them from it instead of the proof's own extra data
    #[arg(long, value_name = "FILE")]
    entry_bytes: Option<PathBuf>,
    /// With `--check`: the file served at `/v1/trust` (`v1/trust` in a mirror). Its trust list names the issuing certificates and log keys
    /// that count, and signatures of compromised keys are refused; required if `--root-threshold` is above 1
    #[arg(long, value_name = "FILE", requires = "check")]
    trust: Option<PathBuf>,
    #[command(flatten)]
    which: LogArgs,
}

impl Proof {
    /// Makes or checks a proof.
    ///
    /// # Errors
    /// A proof that is not valid, or a log that cannot be read.
    pub fn run(self, json: bool) -> Result<u8, Fault> {
        if let Some(file) = &self.check {
            print(&self.checked(file)?, json);
            return Ok(0);
        }
        let mut source = self.which.open(self.from.as_deref())?;
        let mut prover = Prover::new(source.fetch.as_mut(), &source.config, now()).map_err(super::fault)?;
        tell_threshold(source.config.root_threshold, prover.root_threshold());
        let text = match (&self.entry, &self.since) {
            (Some(entry), _) => {
                let index = match entry.parse() {
                    Ok(index) => index,
                    Err(_) => prover.index_of(&urn(entry)?).map_err(super::fault)?,
                };
                let (bytes, proof) = prover.inclusion(index).map_err(super::fault)?;
                if let Some(file) = &self.entry_bytes {
                    write_new(file, &bytes, 0o644)?;
                }
                proof.to_text()
            }
            (None, Some(since)) => {
                let log = source.config.log.clone();
                let old = older(since, &log)?;
                let (proof, root) = prover.continuation(old.size()).map_err(super::fault)?;
                old.judge(root)?;
                proof.to_text()
            }
            (None, None) => {
                return Err(Fault::new("nothing to prove is named")
                    .hint("name a position or a context, or an older checkpoint with `--since`")
                    .status(2));
            }
        };
        match &self.out {
            Some(file) => write_new(file, text.as_bytes(), 0o644)?,
            None if json => print(&json!({"proof": text}), json),
            None => out_raw!("{text}"),
        }
        Ok(0)
    }

    fn checked(&self, file: &Path) -> Result<Value, Fault> {
        let text = read(file)?;
        let by = self.which.trust()?;
        let (log, trust) = (&by.log, self.trust.as_deref());
        let quorum = self.which.quorum()?;
        if text.starts_with("old ") {
            return self.checked_continuation(&text, log, &quorum);
        }
        let proof = TlogProof::read(&text).map_err(|e| refused(&e))?;
        let RootTrust { roots, log, root_knowledge } =
            resolve_roots(read_roots(&by.roots)?, log, by.root_threshold, trust)?;
        let (prefix, documents) = (Prefix::default(), DocumentLimits::default());
        let checkpoint = rules(&log, &quorum);
        let refused = |fault: &TextProofFault| match fault {
            TextProofFault::Checkpoint(CheckpointFault::Signature) if is_by_former_key(&proof, &by.log) => {
                former_key()
            }
            fault => refused(fault),
        };
        if let Some(file) = &self.entry_bytes {
            let bytes = read_bytes(file)?;
            let under = proof.verify(TreeHash::of_leaf(&bytes), &checkpoint).map_err(|e| refused(&e))?;
            return Ok(shown(&under, proof.index));
        }
        let rules = ProofRules {
            roots: &roots,
            checkpoint,
            prefix: &prefix,
            documents: &documents,
            root_knowledge: root_knowledge.as_ref(),
        };
        if let Some((entry, signed, under)) = rules.verify_root_entry(&proof).map_err(|e| refused(&e))? {
            let more = ("signed_by_roots", signed.into());
            return Ok(proof_json(&under, proof.index, entry.logged_at(), entry.unverified(), Some(more)));
        }
        let (entry, under) = rules.verify_entry(&proof).map_err(|e| refused(&e))?;
        Ok(proof_json(&under, proof.index, entry.logged_at(), entry.statement(), None))
    }

    fn checked_continuation(&self, text: &str, log: &LogVerifier, quorum: &Quorum) -> Result<Value, Fault> {
        let proof = ContinuationProof::read(text).map_err(|e| refused(&e))?;
        let file = self.since.as_deref().ok_or_else(|| {
            Fault::new("a proof of continuation needs the older checkpoint")
                .hint("name the file with it: `--since FILE`")
        })?;
        let Older::Known(old) = older(file, log)? else {
            return Err(Fault::new("a size alone proves nothing")
                .hint("keep the checkpoint that you saw, and name its file"));
        };
        if old.size != proof.old {
            return Err(Fault::new(format_args!(
                "the proof is of a log of {} entries, the older checkpoint of {}",
                proof.old, old.size
            )));
        }
        let new = proof.verify(old.root, &rules(log, quorum)).map_err(|e| refused(&e))?;
        Ok(json!({"old": old.size, "size": new.size, "root": new.root.to_string(), "origin": new.origin}))
    }
}

fn rules<'a>(log: &'a LogVerifier, quorum: &'a Quorum) -> CheckpointRules<'a> {
    let latest = now().saturating_add(semgate_statement::head::MAX_AHEAD);
    CheckpointRules { log, quorum, latest }
}

/// The known state of an older log.
enum Older {
    Size(u64),
    Known(Checkpoint),
}

impl Older {
    fn size(&self) -> u64 {
        match self {
            Older::Size(size) => *size,
            Older::Known(checkpoint) => checkpoint.size,
        }
    }

    /// Compares with the root of the served log at this size.
    fn judge(&self, root: TreeHash) -> Result<(), Fault> {
        match self {
            Older::Known(old) if old.root != root => Err(Fault::new(format_args!(
                "the log was forked: at {} entries it has another root than the checkpoint",
                old.size
            ))
            .hint("keep both checkpoints: together they prove it to anyone")),
            _ => Ok(()),
        }
    }
}

fn older(text: &str, log: &LogVerifier) -> Result<Older, Fault> {
    if let Ok(size) = text.parse() {
        return Ok(Older::Size(size));
    }
    let note = read(Path::new(text))?;
    let checkpoint = Checkpoint::verify(note.as_bytes(), log, log.name()).hinted(
        format_args!("`{text}`"),
        "name an older checkpoint of this log, as served at `/checkpoint`",
    )?;
    Ok(Older::Known(checkpoint))
}

fn urn(text: &str) -> Result<ContextUrn, Fault> {
    let full = names::full_urn(text);
    ContextUrn::parse(&full, &Prefix::default())
        .hinted(format_args!("`{text}`"), "name a position, or a context such as `payment:v1.1`")
}

fn shown(checkpoint: &Checkpoint, index: u64) -> Value {
    json!({
        "index": index, "size": checkpoint.size, "root": checkpoint.root.to_string(), "origin": checkpoint.origin,
    })
}

/// Prints the verified proof, with the content of the entry.
fn proof_json(
    checkpoint: &Checkpoint,
    index: u64,
    logged_at: u64,
    statement: &Statement,
    more: Option<(&str, Value)>,
) -> Value {
    let mut value = shown(checkpoint, index);
    let what = [
        ("logged_at", logged_at.into()),
        ("kind", statement.kind().into()),
        ("about", about(statement).into()),
    ];
    if let Some(members) = value.as_object_mut() {
        members.extend(what.into_iter().chain(more).map(|(name, value)| (name.to_owned(), value)));
    }
    value
}

fn about(statement: &Statement) -> String {
    match statement {
        Statement::Publish { urn, .. } | Statement::Change { urn, .. } => urn.as_str().to_owned(),
        Statement::Floor { line, .. } => line.as_str().to_owned(),
        Statement::Withdraw { recognised, .. } => format!("recognition of `{recognised}`"),
        Statement::Override { by, permission } => {
            format!("override for {} by {}", permission.unverified().urn.as_str(), by.as_str())
        }
        Statement::Root(said) => format!("root statement {}", said.number),
    }
}

/// Returns true if a given log key signed the checkpoint of a proof: then the trust list no longer names that key.
fn is_by_former_key(proof: &TlogProof, configured: &LogVerifier) -> bool {
    Checkpoint::verify(proof.checkpoint.as_bytes(), configured, configured.name()).is_ok()
}

fn former_key() -> Fault {
    Fault::new("the proof is not valid: its checkpoint is signed by a log key that the trust list of `--trust` no longer names")
        .hint("make the proof again: a key of the list signs a current checkpoint; without `--trust` the given key counts")
}

fn refused(fault: &TextProofFault) -> Fault {
    let hint = match fault {
        TextProofFault::SignerCompromised { .. } => COMPROMISED,
        TextProofFault::SignerUnknown => {
            "give a newer file as `--trust`: it has the certificate of every signer"
        }
        _ => "check that roots, log key and witnesses belong to this log",
    };
    Fault::new(format_args!("the proof is not valid: {fault}")).hint(hint)
}
