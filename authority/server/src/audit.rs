//! The audit log of an authority: one JSON line for each intended act, and one for the outcome of each attempt to write.
//!
//! An intention is written here, and forced to the disk once for each batch, before the sequencer acts on it. If it cannot be recorded, the
//! act does not happen. The outcome line reaches the system before the caller is answered, so it survives the end of this process. For
//! refusals, it need not be on the disk yet. For other acts that the log of the authority does not hold, and for everything that needed a
//! second person, it is. Only a power cut leaves half a line. The numbers of the lines show that one is missing.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::{RunFault, disk};

#[cfg(test)]
mod tests;

/// Bytes that may wait in memory while the file fails: the lines of attempts that were under way when it began to fail.
const MAX_PENDING: usize = 1 << 20;
/// Bytes at the end of an old file that are searched for its last number. A line takes a few hundred bytes, a permission's reason 1 kB.
const TAIL: u64 = 64 * 1024;

/// The outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    /// The act is about to happen, unless the log does not allow it.
    Intended,
    /// The act was done, now or before.
    Allowed,
    /// The act was refused; `code` gives the reason.
    Refused,
    /// The act waits for a second person.
    Proposed,
    /// The second person agreed, and the act was done.
    Approved,
    /// The caller left before the answer; the log shows whether the act was done.
    Abandoned,
}

/// One attempt. Holds names and positions only: never a document, a key, or other input of the caller.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Entry {
    /// SPIFFE id of the caller, or of the person for whom a console calls; none without a certificate.
    pub by: Option<String>,
    /// SPIFFE id of the console that calls for the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub console: Option<String>,
    /// `publish`, `revoke`, `suspend`, `resume`, `retire`, `floor`, `override`, `withdraw`, `trust`, or `approve`.
    pub act: &'static str,
    /// The version, or the line of a floor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// The lowest version that a floor is raised to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<String>,
    /// Digest of the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Signer of the permission of an override.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    /// The stated reason, if it was well formed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The proposal that was made or approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
    /// SPIFFE id of the person who made the approved proposal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposed_by: Option<String>,
    /// The policies that decided, `file#id`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<String>,
    /// Digest of the policies that were asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_digest: Option<String>,
    /// Number of the line that recorded the intention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intended: Option<u64>,
    /// Position of the statement in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// Number of refusals of this account that were only counted before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unrecorded: Option<u64>,
}

#[derive(Serialize)]
struct Line<'a> {
    time: u64,
    n: u64,
    outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(flatten)]
    entry: &'a Entry,
    duration_us: u64,
}

/// The outcome of an attempt, with its time and code.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    /// Unix seconds.
    pub time: u64,
    pub outcome: Outcome,
    pub code: Option<&'static str>,
    pub duration_us: u64,
}

/// The audit file.
#[derive(Debug)]
pub(crate) struct Audit {
    path: PathBuf,
    inner: Mutex<Inner>,
    /// Locked while the file is forced to the disk; locked before `inner`.
    forced: Mutex<Forced>,
}

/// Progress of the lines on their way to the disk.
#[derive(Debug, Default)]
struct Forced {
    /// Lines below this number are on the disk, except those below `lost`.
    done: u64,
    /// Lines below this number may not be on the disk: a sync failed, and the system never reports on them again.
    lost: u64,
}

#[derive(Debug)]
struct Inner {
    file: File,
    /// The number of the next line.
    n: u64,
    /// Bytes that the file has not taken yet.
    pending: Vec<u8>,
}

impl Audit {
    /// Opens the file (0600, append) and continues its numbering. Ends a half line left by a power cut, so that the next line stands alone.
    pub fn open(path: &Path) -> Result<Self, RunFault> {
        let fault = |e| RunFault::io("opening the audit log", path)(e);
        let (last, complete) = tail(path).map_err(fault)?;
        let file = append(path).map_err(fault)?;
        let pending = if complete { Vec::new() } else { b"\n".to_vec() };
        let inner = Inner { file, n: last.saturating_add(1), pending };
        Ok(Self { path: path.to_path_buf(), inner: Mutex::new(inner), forced: Mutex::default() })
    }

    /// The fault for a file that did not take its lines in time.
    pub fn hangs(&self) -> RunFault {
        RunFault::io("writing", &self.path)(io::Error::new(
            io::ErrorKind::TimedOut,
            "the disk does not answer",
        ))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that lines can be written, by writing those that are pending.
    pub fn ready(&self) -> Result<(), RunFault> {
        self.inner().flush().map_err(RunFault::io("writing", &self.path))
    }

    /// Writes a line; `durable` waits for the disk. Returns its number. The number is used up even if the line found no room.
    pub fn record(&self, entry: &Entry, end: End, durable: bool) -> Result<u64, RunFault> {
        let fault = |e| RunFault::io("writing", &self.path)(e);
        let mut inner = self.inner();
        let n = inner.n;
        inner.n = n.saturating_add(1);
        let End { time, outcome, code, duration_us } = end;
        let line = Line { time, n, outcome, code, entry, duration_us };
        let line = serde_json::to_vec(&line).map_err(|e| fault(io::Error::other(e)))?;
        if inner.pending.len().saturating_add(line.len()) > MAX_PENDING {
            return Err(fault(io::Error::other("too many lines wait for the file")));
        }
        inner.pending.extend_from_slice(&line);
        inner.pending.push(b'\n');
        inner.flush().map_err(fault)?;
        drop(inner);
        if durable { self.force(n, n).map(|()| n) } else { Ok(n) }
    }

    /// Waits until the lines from `first` to `last` are on the disk. Many callers share one sync.
    ///
    /// # Errors
    /// The sync of one of these lines failed, and will never succeed. The acts that these lines announce must not happen.
    pub fn force(&self, first: u64, last: u64) -> Result<(), RunFault> {
        self.force_by(first, last, |file| disk::sync_data(&self.path, file))
    }

    fn force_by(
        &self,
        first: u64,
        last: u64,
        sync: impl FnOnce(&File) -> io::Result<()>,
    ) -> Result<(), RunFault> {
        let fault = |e| RunFault::io("writing", &self.path)(e);
        let mut forced = self.forced();
        if first < forced.lost {
            return Err(fault(io::Error::other("a line was lost on its way to the disk")));
        }
        if last < forced.done {
            return Ok(());
        }
        let mut inner = self.inner();
        inner.flush().map_err(fault)?;
        let (file, next) = (inner.file.try_clone().map_err(fault)?, inner.n);
        // lets others write during the sync
        drop(inner);
        let forcing = sync(&file);
        match forcing {
            Ok(()) => forced.done = next,
            // a failed sync is reported once, and the system then takes all earlier writes for written: also those of others meanwhile
            Err(_) => forced.lost = self.inner().n,
        }
        forcing.map_err(fault)
    }

    fn forced(&self) -> MutexGuard<'_, Forced> {
        self.forced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the file again by its name, for log rotation. Keeps the old one if that fails.
    pub fn reopen(&self) {
        let mut forced = self.forced();
        let mut inner = self.inner();
        let _ = inner.flush();
        // pending lines are in the old file
        match inner.file.sync_data() {
            Ok(()) => forced.done = inner.n,
            Err(_) => forced.lost = inner.n,
        }
        match append(&self.path) {
            Ok(file) => inner.file = file,
            Err(e) => tracing::error!("cannot reopen the audit log; the old file stays in use: {e}"),
        }
    }
}

impl Inner {
    fn flush(&mut self) -> io::Result<()> {
        while !self.pending.is_empty() {
            match self.file.write(&self.pending) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => drop(self.pending.drain(..written)),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// Returns the number of the last line of an old file (0 without one), and `true` if the file ends with a whole line.
fn tail(path: &Path) -> io::Result<(u64, bool)> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok((0, true)),
        Err(e) => return Err(e),
    };
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    let number = |line: &[u8]| serde_json::from_slice::<serde_json::Value>(line).ok()?.get("n")?.as_u64();
    let last = bytes.split(|byte| *byte == b'\n').rev().find_map(number);
    Ok((last.unwrap_or_default(), bytes.last().is_none_or(|byte| *byte == b'\n')))
}
