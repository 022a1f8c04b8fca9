//! The newest published state of the log that this machine remembers: the checkpoint in the last head.

use std::path::{Path, PathBuf};

use semgate_certs::Roots;
use semgate_statement::jws::General;
use semgate_statement::tiles::{TileSource, check_consistency};
use semgate_statement::{Checkpoint, LogVerifier, TreeHash, head};

use super::{Layout, pinned_checkpoint};
use crate::{RunFault, disk};

/// Advice for the operator about a checkpoint that is too old.
pub(super) const TO_DO: &str = "nothing was changed; put the newest checkpoint and its tiles back (see Restore in docs/how-to/run-an-authority.md)";

/// The newest known checkpoint.
#[derive(Debug, Clone)]
pub(crate) struct LastSeen {
    /// None if no head could be read: entries without a checkpoint may then have been acknowledged.
    pub seen: Option<Checkpoint>,
    /// The checkpoint that is kept apart, and where.
    pub pinned: Option<(PathBuf, Checkpoint)>,
}

impl LastSeen {
    /// The checkpoint in the last head. It counts if the log key signed it, even if the certificate of the head has expired since.
    pub fn read(layout: &Layout, roots: &Roots, key: &LogVerifier) -> Result<Self, RunFault> {
        let seen = disk::read(&layout.head)?.and_then(|bytes| checkpoint(&bytes, roots, key));
        Ok(Self { seen, pinned: None })
    }

    /// Adds the checkpoint kept apart.
    pub fn with_pinned(self, pinned: Option<(PathBuf, Checkpoint)>) -> Self {
        Self { pinned, ..self }
    }

    /// Refuses a log that is smaller than the one seen, or another one of the same size.
    pub fn judge(&self, path: &Path, stored: Option<&Checkpoint>) -> Result<(), RunFault> {
        let size = stored.map_or(0, |checkpoint| checkpoint.size);
        if let Some((location, pinned)) = &self.pinned {
            pinned_checkpoint::judge(pinned, location, path, size)?;
        }
        let Some(seen) = &self.seen else { return Ok(()) };
        if seen.size > size {
            let what = format!(
                "a head of {} entries was signed here, but the log has {size}: serving it would be a rollback; {TO_DO}",
                seen.size
            );
            return Err(RunFault::damaged(path, what));
        }
        if stored.is_some_and(|checkpoint| checkpoint.size == seen.size && checkpoint.root != seen.root) {
            let what = format!(
                "a head of {size} entries with another root was signed here: serving it would be a fork"
            );
            return Err(RunFault::damaged(path, what));
        }
        Ok(())
    }

    /// Refuses a log that does not continue the checkpoint kept apart.
    pub fn is_continued_by(
        &self,
        path: &Path,
        size: u64,
        root: TreeHash,
        tiles: &dyn TileSource,
    ) -> Result<(), RunFault> {
        let Some((location, pinned)) = &self.pinned else { return Ok(()) };
        check_consistency(pinned.size, pinned.root, size, root, tiles).map_err(|fault| {
            let what = format!(
                "it does not continue the checkpoint of {} entries that was signed before (`{}`): {fault}; nothing was changed",
                pinned.size,
                location.display()
            );
            RunFault::damaged(path, what)
        })
    }

    /// Refuses entries past the checkpoint if nothing shows that they were never acknowledged. `head.json` is written before the first
    /// append and after every one.
    pub fn explains(&self, path: &Path) -> Result<(), RunFault> {
        if self.seen.is_some() {
            return Ok(());
        }
        let what = format!(
            "the checkpoint does not cover it, and `head.json` is missing or unreadable, so it may have been acknowledged; {TO_DO}, or \
             move this file away if you are certain that nobody saw it"
        );
        Err(RunFault::damaged(path, what))
    }
}

fn checkpoint(head: &[u8], roots: &Roots, key: &LogVerifier) -> Option<Checkpoint> {
    let jws = General::read(head, head::TYPE, roots, head::MAX_HEAD_BYTES).ok()?;
    let payload: serde_json::Value = serde_json::from_slice(jws.unverified_payload()).ok()?;
    let note = payload.get("checkpoint")?.as_str()?;
    Checkpoint::verify(note.as_bytes(), key, key.name()).ok()
}
