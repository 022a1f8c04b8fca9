//! Proofs as text: that an entry is in the log (C2SP `tlog-proof`), and that one checkpoint continues another (the body of C2SP
//! `tlog-witness`, "add-checkpoint"). Both hold a whole signed checkpoint, so keys alone check them.

mod published;

#[cfg(test)]
mod tests;

pub use published::{ProofRules, Proved, RootKnowledge, Stapled, prove_entry};

use crate::checkpoint::{Checkpoint, CheckpointFault, LogVerifier, MAX_CHECKPOINT_BYTES};
use crate::cosignature::{CosignatureFault, Quorum};
use crate::tiles::{MAX_PROOF_HASHES, ProofFault, TreeHash, check_consistency_proof, check_inclusion};
use semgate_certs::encoding::{from_base64, to_base64};
use std::fmt;

/// The first line of a proof of inclusion.
const HEADER: &str = "c2sp.org/tlog-proof@v1";
/// The longest proof accepted: a checkpoint, the hashes, and as extra data an entry and a chain of four certificates in base64.
pub const MAX_PROOF_BYTES: usize = 160 * 1024;
/// The media type of proofs.
pub const MEDIA_TYPE: &str = "text/plain; charset=utf-8";

/// Reason for refusing a proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TextProofFault {
    /// Not in its format, in another spelling, or longer than [`MAX_PROOF_BYTES`].
    Malformed,
    /// The checkpoint in it.
    Checkpoint(CheckpointFault),
    /// Too few witnesses cosigned the checkpoint in it.
    Cosignatures(CosignatureFault),
    /// The hashes do not lead to the checkpoint.
    Proof(ProofFault),
    /// The extra data is not an entry and its signer's chain.
    Extra,
    /// The entry's statement.
    Statement(crate::statement::StatementFault),
    /// The entry is no publish statement.
    NotPublished,
    /// The entry publishes another context or digest, or names another signer.
    OfAnother,
    /// The signed context that the proof came with.
    Context(crate::context::ContextFault),
    /// A key that signed the statement, or its document, is compromised since then or before.
    SignerCompromised {
        /// The first log index at which the key is not believed.
        from: u64,
    },
    /// A key is compromised, and the key behind the document's signer is not known.
    SignerUnknown,
}

impl fmt::Display for TextProofFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TextProofFault::Malformed => {
                f.write_str("not a proof in the format of C2SP `tlog-proof` or `tlog-witness`")
            }
            TextProofFault::Checkpoint(fault) => write!(f, "{fault}"),
            TextProofFault::Cosignatures(fault) => write!(f, "{fault}"),
            TextProofFault::Proof(ProofFault::Inconsistent) => {
                f.write_str("the hashes of the proof do not lead to its checkpoint")
            }
            TextProofFault::Proof(fault) => write!(f, "{fault}"),
            TextProofFault::Extra => {
                f.write_str("the extra data of the proof is not an entry and its signer's chain")
            }
            TextProofFault::Statement(fault) => write!(f, "the proved entry: {fault}"),
            TextProofFault::NotPublished => f.write_str("the proved entry publishes nothing"),
            TextProofFault::OfAnother => {
                f.write_str("the proved entry publishes another context, digest or signer")
            }
            TextProofFault::Context(fault) => write!(f, "{fault}"),
            TextProofFault::SignerCompromised { from } => {
                write!(f, "the key that signed is compromised: no signature counts from index {from} on")
            }
            TextProofFault::SignerUnknown => {
                f.write_str("a key is compromised, and the certificate of the document's signer is missing")
            }
        }
    }
}

impl std::error::Error for TextProofFault {}

/// A proof that an entry is in a log: C2SP `tlog-proof`. Read, not verified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlogProof {
    /// Unauthenticated data: anything made from it must hash to the proved leaf.
    pub extra: Option<Vec<u8>>,
    /// Position of the entry.
    pub index: u64,
    /// The proof hashes, beginning with the leaf's sibling.
    pub hashes: Vec<TreeHash>,
    /// The signed note.
    pub checkpoint: String,
}

impl TlogProof {
    /// The text form; file names end with `.tlog-proof`.
    pub fn to_text(&self) -> String {
        let extra = self.extra.as_ref().map(|bytes| format!("extra {}\n", to_base64(bytes)));
        let hashes = lines(&self.hashes);
        format!("{HEADER}\n{}index {}\n{hashes}\n{}", extra.unwrap_or_default(), self.index, self.checkpoint)
    }

    /// Reads the text form; refuses other spellings.
    pub fn read(text: &str) -> Result<TlogProof, TextProofFault> {
        let read = || {
            let rest = text.strip_prefix(HEADER)?.strip_prefix('\n')?;
            let (extra, rest) = match rest.strip_prefix("extra ") {
                Some(rest) => {
                    let (line, rest) = rest.split_once('\n')?;
                    (Some(from_base64(line)?), rest)
                }
                None => (None, rest),
            };
            let (index, rest) = rest.strip_prefix("index ")?.split_once('\n')?;
            let (hashes, checkpoint) = hashes_before(rest)?;
            Some(TlogProof { extra, index: index.parse().ok()?, hashes, checkpoint: checkpoint.to_owned() })
        };
        checked(text, read(), TlogProof::to_text)
    }

    /// Guarantees that an entry with this leaf hash is at the proof's index, under a checkpoint that satisfies the rules.
    pub fn verify(&self, leaf: TreeHash, rules: &CheckpointRules<'_>) -> Result<Checkpoint, TextProofFault> {
        let checkpoint = rules.judge(&self.checkpoint)?;
        check_inclusion(self.index, checkpoint.size, checkpoint.root, leaf, &self.hashes)
            .map_err(TextProofFault::Proof)?;
        Ok(checkpoint)
    }
}

/// A proof that a checkpoint continues one of `old` entries: the body of "add-checkpoint" in C2SP `tlog-witness`. Read, not verified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContinuationProof {
    /// Entries of the older tree.
    pub old: u64,
    /// RFC 6962 §2.1.2.
    pub hashes: Vec<TreeHash>,
    /// The newer signed note.
    pub checkpoint: String,
}

impl ContinuationProof {
    /// The text form.
    pub fn to_text(&self) -> String {
        format!("old {}\n{}\n{}", self.old, lines(&self.hashes), self.checkpoint)
    }

    /// Reads the text form; refuses other spellings.
    pub fn read(text: &str) -> Result<ContinuationProof, TextProofFault> {
        let read = || {
            let (old, rest) = text.strip_prefix("old ")?.split_once('\n')?;
            let (hashes, checkpoint) = hashes_before(rest)?;
            Some(ContinuationProof { old: old.parse().ok()?, hashes, checkpoint: checkpoint.to_owned() })
        };
        checked(text, read(), ContinuationProof::to_text)
    }

    /// Guarantees that the newer checkpoint satisfies the rules and that the tree of `old` entries with `old_root` is a prefix of it.
    pub fn verify(
        &self,
        old_root: TreeHash,
        rules: &CheckpointRules<'_>,
    ) -> Result<Checkpoint, TextProofFault> {
        let new = rules.judge(&self.checkpoint)?;
        check_consistency_proof(self.old, old_root, new.size, new.root, &self.hashes)
            .map_err(TextProofFault::Proof)?;
        Ok(new)
    }
}

/// Rules for checkpoints that count.
#[derive(Clone, Debug)]
pub struct CheckpointRules<'a> {
    /// The log key; its name is the origin.
    pub log: &'a LogVerifier,
    /// The witnesses that must also have signed.
    pub quorum: &'a Quorum,
    /// Cosignatures later than this, in seconds since the epoch, do not count.
    pub latest: u64,
}

impl CheckpointRules<'_> {
    /// The checkpoint of a signed note.
    pub fn judge(&self, note: &str) -> Result<Checkpoint, TextProofFault> {
        let checkpoint = Checkpoint::verify(note.as_bytes(), self.log, self.log.name())
            .map_err(TextProofFault::Checkpoint)?;
        self.quorum.judge(note, self.latest).map_err(TextProofFault::Cosignatures)?;
        Ok(checkpoint)
    }
}

fn lines(hashes: &[TreeHash]) -> String {
    hashes.iter().map(|hash| format!("{hash}\n")).collect()
}

/// Lines of hashes up to an empty line, and the rest.
fn hashes_before(mut rest: &str) -> Option<(Vec<TreeHash>, &str)> {
    let mut hashes = Vec::new();
    loop {
        let (line, after) = rest.split_once('\n')?;
        rest = after;
        if line.is_empty() {
            return Some((hashes, rest));
        }
        if hashes.len() >= MAX_PROOF_HASHES {
            return None;
        }
        hashes.push(TreeHash(from_base64(line)?.try_into().ok()?));
    }
}

/// Accepts one spelling only: writing it back must give the same text.
fn checked<T>(text: &str, read: Option<T>, write: fn(&T) -> String) -> Result<T, TextProofFault> {
    let sizes = text.len() <= MAX_PROOF_BYTES + MAX_CHECKPOINT_BYTES;
    read.filter(|read| sizes && write(read) == text).ok_or(TextProofFault::Malformed)
}
