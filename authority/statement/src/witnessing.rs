//! The rules of a witness (C2SP `tlog-witness`): it remembers one checkpoint of each known log, and accepts another only if that continues
//! it. Bytes and the last checkpoint in, the next one or the refusal out. The caller stores the checkpoint, atomically, before it cosigns.

use crate::checkpoint::{Checkpoint, CheckpointFault, LogVerifier, MAX_CHECKPOINT_BYTES};
use crate::proof::ContinuationProof;
use crate::tiles::{ProofFault, TreeHash, check_consistency_proof};
use std::fmt;

#[cfg(test)]
mod tests;

/// The longest request accepted: a checkpoint, 63 hashes in base64, and the old size.
pub const MAX_REQUEST_BYTES: usize = MAX_CHECKPOINT_BYTES + 4096;
/// The media type of the size in a refusal.
pub const SIZE_MEDIA_TYPE: &str = "text/x.tlog.size";

/// Reason for refusing a checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WitnessFault {
    /// Not a request, or its old size is larger than its checkpoint's.
    Malformed,
    /// A log that this witness does not know.
    UnknownLog,
    /// Not signed by the key of that log.
    Signature,
    /// The old size is not the last one seen by this witness, or the roots of one size differ.
    Conflict {
        /// The last size seen.
        size: u64,
    },
    /// The proof does not show that the last checkpoint is a prefix.
    NotProved,
}

impl WitnessFault {
    /// The HTTP status of the refusal.
    pub fn status(self) -> u16 {
        match self {
            WitnessFault::Malformed => 400,
            WitnessFault::UnknownLog => 404,
            WitnessFault::Signature => 403,
            WitnessFault::Conflict { .. } => 409,
            WitnessFault::NotProved => 422,
        }
    }
}

impl fmt::Display for WitnessFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WitnessFault::Malformed => f.write_str("not an old size, a proof and a checkpoint"),
            WitnessFault::UnknownLog => f.write_str("a log that this witness does not know"),
            WitnessFault::Signature => f.write_str("a checkpoint that is not signed by the key of its log"),
            WitnessFault::Conflict { size } => {
                write!(f, "the last checkpoint seen of this log has {size} entries")
            }
            WitnessFault::NotProved => f.write_str("the last checkpoint seen is not proved to be a prefix"),
        }
    }
}

impl std::error::Error for WitnessFault {}

/// The origin in a request, not verified: for finding the log key and the last checkpoint.
pub fn origin_of(request: &ContinuationProof) -> Option<&str> {
    request.checkpoint.lines().next()
}

/// Judges a request against the last checkpoint of this log, if there is one. Returns the checkpoint to store and to cosign.
pub fn judge(
    request: &ContinuationProof,
    log: &LogVerifier,
    last: Option<&Checkpoint>,
) -> Result<Checkpoint, WitnessFault> {
    let new =
        Checkpoint::verify(request.checkpoint.as_bytes(), log, log.name()).map_err(|fault| match fault {
            CheckpointFault::Signature => WitnessFault::Signature,
            CheckpointFault::Origin => WitnessFault::UnknownLog,
            _ => WitnessFault::Malformed,
        })?;
    if request.old > new.size {
        return Err(WitnessFault::Malformed);
    }
    let (size, root) = last.map_or((0, TreeHash::EMPTY), |last| (last.size, last.root));
    if request.old != size {
        return Err(WitnessFault::Conflict { size });
    }
    match check_consistency_proof(size, root, new.size, new.root, &request.hashes) {
        Ok(()) => Ok(new),
        Err(ProofFault::NotAPrefix) => Err(WitnessFault::Conflict { size }),
        Err(_) => Err(WitnessFault::NotProved),
    }
}
