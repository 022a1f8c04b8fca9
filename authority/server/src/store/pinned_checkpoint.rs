//! The last checkpoint, kept apart from the state directory: restoring a backup brings back an older log, but not this file. It moves by
//! compare-and-swap, so that of two authorities over copies of one log only one can go on.

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use semgate_statement::checkpoint::MAX_CHECKPOINT_BYTES;
use semgate_statement::{Checkpoint, LogVerifier};

use crate::{RunFault, disk};

/// A place for one signed checkpoint that outlives the state directory. Another store (a database row, an object with conditional writes)
/// is another implementation.
pub(crate) trait LastCheckpoint: Send + fmt::Debug {
    /// The signed note; none if nothing was ever put.
    fn read(&self) -> Result<Option<String>, RunFault>;

    /// Makes the current note durable: the previous process may have died in the middle of its swap.
    fn settle(&self) -> Result<(), RunFault>;

    /// Replaces `expected` by `new`, durably, or changes nothing. Returns the previous note; the swap was made if that is `expected`.
    fn swap(&self, expected: Option<&str>, new: &str) -> Result<Option<String>, RunFault>;

    /// Its location, for people.
    fn location(&self) -> PathBuf;
}

/// A file, best on another volume than the state. A lock on a file beside it serialises swaps.
#[derive(Debug)]
pub(crate) struct CheckpointFile(pub PathBuf);

impl CheckpointFile {
    fn lock(&self) -> Result<File, RunFault> {
        let mut name = self.0.clone().into_os_string();
        name.push(".lock");
        let path = PathBuf::from(name);
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = file.map_err(RunFault::io("opening", &path))?;
        file.lock().map_err(RunFault::io("locking", &path))?;
        Ok(file)
    }
}

impl LastCheckpoint for CheckpointFile {
    fn read(&self) -> Result<Option<String>, RunFault> {
        let Some(bytes) = disk::read(&self.0)? else { return Ok(None) };
        if bytes.len() > MAX_CHECKPOINT_BYTES {
            return Err(RunFault::damaged(&self.0, "it is longer than a checkpoint"));
        }
        String::from_utf8(bytes).map(Some).map_err(|e| RunFault::damaged(&self.0, e))
    }

    fn settle(&self) -> Result<(), RunFault> {
        if self.0.exists() { disk::sync_dir(&disk::parent(&self.0)) } else { Ok(()) }
    }

    fn swap(&self, expected: Option<&str>, new: &str) -> Result<Option<String>, RunFault> {
        let _held = self.lock()?;
        let current = self.read()?;
        if current.as_deref() == expected {
            disk::write(&self.0, new.as_bytes())?;
        }
        Ok(current)
    }

    fn location(&self) -> PathBuf {
        self.0.clone()
    }
}

/// The checkpoint kept apart, as this process knows it.
#[derive(Debug)]
pub(crate) struct PinnedCheckpoint {
    store: Box<dyn LastCheckpoint>,
    note: Option<String>,
}

impl PinnedCheckpoint {
    /// Reads the current note. `mark` lies with the state and says that a checkpoint was kept for it.
    ///
    /// # Errors
    /// The store fails, or is empty although there is a mark. A volume that is not mounted looks the same, and may hold a checkpoint newer
    /// than the log.
    pub fn open(store: Box<dyn LastCheckpoint>, mark: &Path) -> Result<Self, RunFault> {
        let note = store.read()?;
        if note.is_none() && mark.exists() {
            return Err(RunFault::Missing {
                path: store.location(),
                what: format!(
                    "the authority kept a checkpoint of this log there and signs nothing without it; mount its volume or put the file back; if \
                     it is permanently lost, see Restore in docs/how-to/run-an-authority.md before removing `{}`",
                    mark.display()
                ),
            });
        }
        store.settle()?;
        Ok(Self { store, note })
    }

    /// Leaves the mark that a checkpoint is kept; call it once one is.
    pub fn mark(&self, mark: &Path) -> Result<(), RunFault> {
        if self.note.is_none() || mark.exists() {
            return Ok(());
        }
        disk::write(mark, b"the last checkpoint of this log is kept apart (`last_checkpoint`)\n")
    }

    /// The last checkpoint, if the log key signed it. One with another signature counts as damage and stops the start: it may be newer than
    /// the log.
    pub fn checkpoint(&self, key: &LogVerifier) -> Result<Option<(PathBuf, Checkpoint)>, RunFault> {
        let Some(note) = &self.note else { return Ok(None) };
        let checkpoint = Checkpoint::verify(note.as_bytes(), key, key.name())
            .map_err(|e| RunFault::damaged(&self.store.location(), e))?;
        Ok(Some((self.store.location(), checkpoint)))
    }

    /// Moves on to a checkpoint that continues the current one.
    ///
    /// # Errors
    /// The store fails, or holds another checkpoint than this process put there. Then another authority signs the same log, and this one
    /// must end.
    pub fn advance(&mut self, note: &str) -> Result<(), RunFault> {
        if self.note.as_deref() == Some(note) {
            return Ok(());
        }
        let previous = self.store.swap(self.note.as_deref(), note)?;
        if previous.is_none() && self.note.is_some() {
            let what = "the checkpoint that was there is gone, so the authority signs nothing more; mount its volume or put the file back";
            return Err(RunFault::Missing { path: self.store.location(), what: what.to_owned() });
        }
        if previous != self.note {
            return Err(RunFault::damaged(
                &self.store.location(),
                "another authority put its checkpoint there: two authorities must never sign one log",
            ));
        }
        self.note = Some(note.to_owned());
        Ok(())
    }
}

/// Refuses a log that is smaller than the checkpoint kept apart.
pub(super) fn judge(pinned: &Checkpoint, location: &Path, log: &Path, size: u64) -> Result<(), RunFault> {
    if pinned.size <= size {
        return Ok(());
    }
    let what = format!(
        "it has {size} entries, but a checkpoint of {} was signed before (`{}`): this is an older state, and continuing from it \
         would fork the log; nothing was changed; bring the newest log back with `semgate authority restore`, or from where it was \
         kept (see Restore in docs/how-to/run-an-authority.md)",
        pinned.size,
        location.display()
    );
    Err(RunFault::damaged(log, what))
}
