//! The console's own audit log: one JSON line before an act is sent, on disk, and one with its outcome.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
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
}

/// The open file.
pub(crate) struct Audit(Mutex<File>);

impl Audit {
    /// Opens or makes the file, mode 0600.
    ///
    /// # Errors
    /// It cannot be opened for appending.
    pub(crate) fn open(path: &Path) -> Result<Self, RunFault> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
        Ok(Self(Mutex::new(file.map_err(|why| RunFault::file(path, why))?)))
    }

    /// Writes a line and waits until it is on disk.
    ///
    /// # Errors
    /// The disk refuses; the act must not happen then.
    pub(crate) fn write(&self, entry: &Entry<'_>, outcome: &str) -> std::io::Result<()> {
        let line = Line { time: clock::utc(clock::now()), entry, outcome };
        let mut bytes = serde_json::to_vec(&line)?;
        bytes.push(b'\n');
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&bytes)?;
        file.sync_data()
    }
}

#[cfg(test)]
mod tests;
