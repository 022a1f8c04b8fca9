//! The console's own audit log: one JSON line before an act is sent, on disk, and one with its outcome.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::clock;
use crate::fault::RunFault;

/// One line. Holds no value of a message and no reason that a person wrote.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Entry<'a> {
    /// The SPIFFE id of the person; empty for a login that failed.
    pub(crate) person: &'a str,
    /// The proof of the session: `certificate` or `link`.
    pub(crate) factor: &'a str,
    /// The roles of the person.
    pub(crate) roles: Vec<&'static str>,
    /// The act, such as `approve` or `revoke`.
    pub(crate) act: &'a str,
    /// Its target: a hold, a URN, a line.
    pub(crate) target: &'a str,
    /// The server that the act goes to: a gateway's name, `authority` or `console`.
    pub(crate) server: &'a str,
    /// Particulars of the act, such as the digest of a decision.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) detail: &'a BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    #[serde(flatten)]
    entry: &'a Entry<'a>,
    /// `intended` before the act; then `done`, or the code or the reason of its failure.
    outcome: &'a str,
    /// Like ones before it that have no line.
    #[serde(skip_serializing_if = "is_zero")]
    suppressed: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The open file.
pub(crate) struct Audit {
    inner: Mutex<Inner>,
    notes: Mutex<Notes>,
}

/// Notes of strangers: the second of the last one, and those since that have no line.
#[derive(Default)]
struct Notes {
    at: u64,
    suppressed: u64,
}

struct Inner {
    file: File,
    /// True if the last line may have no end.
    torn: bool,
}

impl Inner {
    fn append(&mut self, entry: &Entry<'_>, outcome: &str, suppressed: u64) -> std::io::Result<()> {
        let line = Line { time: clock::utc(clock::now()), entry, outcome, suppressed };
        let mut bytes = if self.torn { vec![b'\n'] } else { Vec::new() };
        serde_json::to_writer(&mut bytes, &line)?;
        bytes.push(b'\n');
        let written = self.file.write_all(&bytes);
        self.torn = written.is_err();
        written
    }
}

impl Audit {
    /// Opens or makes the file, mode 0600.
    ///
    /// # Errors
    /// It cannot be opened for appending.
    pub(crate) fn open(path: &Path) -> Result<Self, RunFault> {
        let opened = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path);
        let file = opened.map_err(|why| RunFault::file(path, why))?;
        let torn = is_torn(&file).map_err(|why| RunFault::file(path, why))?;
        Ok(Self { inner: Mutex::new(Inner { file, torn }), notes: Mutex::default() })
    }

    /// Writes a line and waits until it is on disk. A line that a crash or a full disk cut short stays a line of its own.
    ///
    /// # Errors
    /// The disk refuses; the act must not happen then.
    pub(crate) fn write(&self, entry: &Entry<'_>, outcome: &str) -> std::io::Result<()> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.append(entry, outcome, 0)?;
        inner.file.sync_data()
    }

    /// The number of suppressed notes if a note is due: at most one a second. Waits for no file.
    pub(crate) fn due(&self, now: u64) -> Option<u64> {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.at == now {
            notes.suppressed = notes.suppressed.saturating_add(1);
            return None;
        }
        notes.at = now;
        Some(std::mem::take(&mut notes.suppressed))
    }

    /// Notes the act of a stranger, without waiting for the disk.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn note(&self, entry: &Entry<'_>, outcome: &str, suppressed: u64) -> std::io::Result<()> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).append(entry, outcome, suppressed)
    }
}

/// True if the last byte is no newline.
fn is_torn(file: &File) -> std::io::Result<bool> {
    let Some(last) = file.metadata()?.len().checked_sub(1) else { return Ok(false) };
    let mut byte = [0];
    file.read_exact_at(&mut byte, last)?;
    Ok(byte != *b"\n")
}

#[cfg(test)]
mod tests;
