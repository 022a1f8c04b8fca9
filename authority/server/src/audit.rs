//! The audit log of an authority: one JSON line for each attempt to write, allowed, refused, proposed or approved.
//!
//! A line is handed to the system before the caller is answered, so it survives the end of this process. What the log of the authority does
//! not hold (refusals apart), and everything that needed a second person, is on the disk too (fsync). While the file takes no lines nothing
//! is written at all: what could not be recorded is not done. Half a line is never left behind but by a power cut.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::RunFault;

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
    /// Position of the statement in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
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
        let (last, whole) = tail(path).map_err(fault)?;
        let file = append(path).map_err(fault)?;
        let pending = if whole { Vec::new() } else { b"\n".to_vec() };
        let inner = Inner { file, n: last.saturating_add(1), pending };
        Ok(Self { path: path.to_path_buf(), inner: Mutex::new(inner) })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether lines can be written: tried with what is still to be written.
    pub fn ready(&self) -> Result<(), RunFault> {
        self.inner().flush().map_err(RunFault::io("writing", &self.path))
    }

    /// Writes a line; `durable` waits for the disk.
    pub fn record(&self, entry: &Entry, end: End, durable: bool) -> Result<(), RunFault> {
        let fault = |e| RunFault::io("writing", &self.path)(e);
        let mut inner = self.inner();
        let End { time, outcome, code, duration_us } = end;
        let line = Line { time, n: inner.n, outcome, code, entry, duration_us };
        let line = serde_json::to_vec(&line).map_err(|e| fault(io::Error::other(e)))?;
        if inner.pending.len().saturating_add(line.len()) > MAX_PENDING {
            return Err(fault(io::Error::other("too many lines wait for the file")));
        }
        inner.n = inner.n.saturating_add(1);
        inner.pending.extend_from_slice(&line);
        inner.pending.push(b'\n');
        inner.flush().map_err(fault)?;
        if !durable {
            return Ok(());
        }
        let file = inner.file.try_clone().map_err(fault)?;
        // others may write while this one waits
        drop(inner);
        file.sync_data().map_err(fault)
    }

    /// Opens the file again by its name, for log rotation; the old one is kept if that fails.
    pub fn reopen(&self) {
        let mut inner = self.inner();
        let _ = inner.flush();
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
