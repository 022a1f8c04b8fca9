//! The audit log of an authority: one JSON line for what is about to be done, and one for what became of each attempt to write.
//!
//! What is handed to the sequencer is written here first, and forced to the disk (once for each batch) before anything of it is: what could
//! not be recorded is not done, and what was done is recorded, whoever left meanwhile. The line of what became of it is handed to the
//! system before the caller is answered, so it survives the end of this process; of what the log of the authority does not hold (refusals
//! apart), and of everything that needed a second person, it is on the disk too. Half a line is never left behind but by a power cut, and a
//! line that is missing is missed by its number.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::{RunFault, disk};

#[cfg(test)]
mod tests;

/// Bytes that a failing file may keep in memory: those of attempts that were under way when it began to fail.
const MAX_PENDING: usize = 1 << 20;
/// The end of an old file in which its last number is looked for: lines are a few hundred bytes, a permission's reason 1 kB.
const TAIL: u64 = 64 * 1024;

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    /// It is about to be done, unless the log does not allow it.
    Intended,
    /// It was done, or had been done before.
    Allowed,
    /// It was not; `code` says why.
    Refused,
    /// It waits for a second person.
    Proposed,
    /// The second person agreed, and it was done.
    Approved,
    /// The caller left before it was answered; the log says whether it was done.
    Abandoned,
}

/// One attempt. Names and positions only: never a document, a key or what a caller sent beside them.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Entry {
    /// SPIFFE id of who asked; none without a certificate.
    pub by: Option<String>,
    /// `publish`, `revoke`, `suspend`, `resume`, `retire`, `floor`, `override`, `withdraw`, `trust`, or `approve`.
    pub act: &'static str,
    /// The version, or the line of a floor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// The lowest version that a floor is raised to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<String>,
    /// The document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Who signed the permission of an override.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    /// Why, where it was in its form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The proposal that it made or approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
    /// Who proposed what was approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposed_by: Option<String>,
    /// The policies that decided, `file#id`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<String>,
    /// The policies that were asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_digest: Option<String>,
    /// The number of the line that said that it was about to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intended: Option<u64>,
    /// Position of the statement in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// How many refusals of the same account before this one were counted alone.
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

/// What is said of an attempt at its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    /// Unix seconds.
    pub time: u64,
    pub outcome: Outcome,
    pub code: Option<&'static str>,
    pub duration_us: u64,
}

/// The file.
#[derive(Debug)]
pub(crate) struct Audit {
    path: PathBuf,
    inner: Mutex<Inner>,
    /// Locked while the file is forced to the disk, and before `inner`.
    forced: Mutex<Forced>,
}

/// What became of lines on their way to the disk.
#[derive(Debug, Default)]
struct Forced {
    /// Lines below this number are there, but for those that are lost.
    done: u64,
    /// The system could not say of lines below this number that they are there, and will not say it of them later either.
    lost: u64,
}

#[derive(Debug)]
struct Inner {
    file: File,
    /// The number of the next line.
    n: u64,
    /// What the file has not taken yet.
    pending: Vec<u8>,
}

impl Audit {
    /// Opens the file (0600, appended to); its numbers go on. Half a line that a power cut left is ended, so that the next one stands alone.
    pub fn open(path: &Path) -> Result<Self, RunFault> {
        let fault = |e| RunFault::io("opening the audit log", path)(e);
        let (last, complete) = tail(path).map_err(fault)?;
        let file = append(path).map_err(fault)?;
        let pending = if complete { Vec::new() } else { b"\n".to_vec() };
        let inner = Inner { file, n: last.saturating_add(1), pending };
        Ok(Self { path: path.to_path_buf(), inner: Mutex::new(inner), forced: Mutex::default() })
    }

    /// That the file did not take what it was given within a time: who waited for it is told so.
    pub fn hangs(&self) -> RunFault {
        RunFault::io("writing", &self.path)(io::Error::new(
            io::ErrorKind::TimedOut,
            "the disk does not answer",
        ))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether lines can be written: tried with what is still to be written.
    pub fn ready(&self) -> Result<(), RunFault> {
        self.inner().flush().map_err(RunFault::io("writing", &self.path))
    }

    /// Writes a line; `durable` waits for the disk. Answers its number, which is used up also where there was no room for the line.
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

    /// Waits until the lines from the one number to the other are on the disk. Many wait for one write.
    ///
    /// # Errors
    /// The system does not say so of one of them. It never will: what these lines stand for must not be done.
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
        // others may write while this one waits
        drop(inner);
        let forcing = sync(&file);
        match forcing {
            Ok(()) => forced.done = next,
            // the system tells this once, and takes what it could not write for written from then on: also what others wrote meanwhile
            Err(_) => forced.lost = self.inner().n,
        }
        forcing.map_err(fault)
    }

    fn forced(&self) -> MutexGuard<'_, Forced> {
        self.forced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the file again by its name, for log rotation; the old one is kept if that fails.
    pub fn reopen(&self) {
        let mut forced = self.forced();
        let mut inner = self.inner();
        let _ = inner.flush();
        // what waits to be forced is in the old file
        match inner.file.sync_data() {
            Ok(()) => forced.done = inner.n,
            Err(_) => forced.lost = inner.n,
        }
        match append(&self.path) {
            Ok(file) => inner.file = file,
            Err(e) => tracing::error!("the audit log cannot be opened again, the old file is kept: {e}"),
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

/// The number of the last line of an old file, 0 without one; and whether the file ends with a whole line.
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
