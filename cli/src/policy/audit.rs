//! The audit log of a gateway, read back line by line.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use semgate_contexts::json::{self, Json, Object};
use semgate_policies::Parties;

use crate::fault::{Doing, Fault};
use crate::system::unreadable;

/// Bounds of one record, far above the largest that a gateway writes: it keeps at most 32 KiB of a message.
pub const LIMITS: json::Limits = json::Limits {
    max_bytes: 16 << 20,
    max_depth: 64,
    max_nodes: 2_000_000,
    max_string_bytes: 16 << 20,
    max_key_bytes: 4 << 10,
    large_integers: false,
};

/// One record.
pub struct Entry<'a>(&'a Object<'a>);

impl<'a> Entry<'a> {
    /// A string member.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.0.get(name)?.as_str()
    }

    /// The number of the record.
    pub fn number(&self) -> i64 {
        self.0.get("n").and_then(Json::as_number).and_then(|n| n.as_i64_exact()).unwrap_or_default()
    }

    /// The request to the policies, if it was kept.
    pub fn question(&self) -> Option<&'a Object<'a>> {
        self.0.get("asked")?.as_object()
    }

    /// A member that is an object.
    pub fn object(&self, name: &str) -> Option<&'a Object<'a>> {
        self.0.get(name)?.as_object()
    }

    /// A member with a list of names; empty without it.
    pub fn names(&self, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        self.0.get(name).and_then(Json::as_array).unwrap_or_default().iter().filter_map(Json::as_str)
    }

    /// Time of the verdict, in seconds since the Unix epoch.
    pub fn time(&self) -> u64 {
        let time = self.0.get("time").and_then(Json::as_number).and_then(|number| number.as_i64_exact());
        time.and_then(|time| u64::try_from(time).ok()).unwrap_or_default()
    }

    /// The limits that stopped the message.
    pub fn limited(&self) -> &'a [Json<'a>] {
        self.0.get("limited").and_then(Json::as_array).unwrap_or_default()
    }

    /// Sender and receiver.
    pub fn parties(&self) -> Parties<'a> {
        let text = |name| self.text(name).unwrap_or_default();
        Parties {
            sender: text("sender"),
            receiver: text("receiver"),
            binding: text("protocol"),
            direction: text("direction"),
        }
    }
}

const A_LOG: &str =
    "name the audit log of a gateway (of `up`: the file that `audit` in .semgate/up.json names)";

/// The beginning of every record.
const BEGINNING: &[u8] = b"{\"time\":";

/// Reads every record of a log, and returns the number of lines that a crash cut short, which hold no record. A last line without an end is
/// still being written.
///
/// # Errors
/// The log cannot be read, a line is neither a record nor the beginning of one, or `with` fails.
pub fn each(log: &Path, mut with: impl FnMut(&Entry<'_>) -> Result<(), Fault>) -> Result<usize, Fault> {
    let name = log.display();
    let file = File::open(log).map_err(|why| unreadable(log, &why))?;
    let mut reader = BufReader::new(file);
    let (mut line, mut number, mut cut) = (Vec::new(), 0_usize, 0_usize);
    loop {
        line.clear();
        reader.read_until(b'\n', &mut line).map_err(|why| unreadable(log, &why))?;
        number += 1;
        if line.pop() != Some(b'\n') {
            return Ok(cut);
        }
        let read = match json::read(&line, &LIMITS) {
            Err(_) if line.starts_with(BEGINNING) || !line.is_empty() && BEGINNING.starts_with(&line) => {
                cut += 1;
                continue;
            }
            read => read.hinted(format_args!("`{name}`, line {number}"), A_LOG)?,
        };
        let no_record = || Fault::new(format_args!("`{name}`, line {number}: not a record")).hint(A_LOG);
        with(&Entry(read.as_object().ok_or_else(no_record)?))?;
    }
}

/// Warns of lines that a crash cut short.
pub fn warn(log: &Path, cut: usize) {
    if cut > 0 {
        tell!("warning: `{}`: {cut} line(s) were cut short by a crash and are left out", log.display());
    }
}

#[cfg(test)]
mod tests;
