//! The journal: one line of JSON for each event, forced to disk before anybody learns of the event.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use semgate_approvals::{Book, BookSettings, Event, Hold};
use semgate_statement::durable::replace;

use super::keys::ApprovalKeys;
use crate::fault::RunFault;

/// File of the journal, in the state directory.
const FILE: &str = "approvals.jsonl";
/// Bytes of a line: a message of 1 MiB, escaped twice.
const MAX_LINE: u64 = 8 * 1024 * 1024;
/// Bytes appended before the file is rewritten: twice as many as the book may hold.
const SLACK_BYTES: usize = 256 * 1024 * 1024;
/// Lines beyond four for each hold before the file is rewritten.
const SLACK: usize = 8_192;

/// The open file.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    lines: usize,
    /// Bytes appended since the last rewrite.
    bytes: usize,
}

impl Journal {
    /// Replays the last run's file, rewrites it with what still matters, and opens it.
    ///
    /// # Errors
    /// An unreadable or unwritable file, a damaged line, or a decision without the gateway's own signature. An incomplete last
    /// line comes from a crash before anybody learnt of the event, and is dropped.
    pub(super) fn open(
        state: &Path,
        settings: BookSettings,
        keys: &ApprovalKeys,
    ) -> Result<(Book, Self), RunFault> {
        let path = state.join(FILE);
        let fault = |why: &dyn std::fmt::Display| RunFault::File {
            path: path.clone(),
            what: "journal of approvals",
            why: why.to_string(),
        };
        let mut book = Book::new(settings);
        match File::open(&path) {
            Ok(file) => replay(BufReader::new(file), &mut book, keys).map_err(|why| fault(&why))?,
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => return Err(fault(&why)),
        }
        let journal = Self::rewrite(path.clone(), &book).map_err(|why| fault(&why))?;
        Ok((book, journal))
    }

    /// Replaces the file by the shortest one that gives the same book.
    fn rewrite(path: PathBuf, book: &Book) -> io::Result<Self> {
        let events = book.snapshot();
        let written = replace(&path, 0o600, |file| {
            events.iter().try_for_each(|event| {
                serde_json::to_writer(&mut *file, event)?;
                file.write_all(b"\n")
            })
        })?;
        let file = written.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(Self { path, file, lines: events.len(), bytes: 0 })
    }

    /// Appends events and forces them to disk.
    ///
    /// # Errors
    /// The disk's. The events may or may not be there: the caller must stop.
    pub(super) fn append(&mut self, events: &[Event]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for event in events {
            serde_json::to_writer(&mut bytes, event)?;
            bytes.push(b'\n');
        }
        self.file.write_all(&bytes)?;
        self.file.sync_data()?;
        self.lines = self.lines.saturating_add(events.len());
        self.bytes = self.bytes.saturating_add(bytes.len());
        Ok(())
    }

    /// Rewrites a file that has grown far beyond its book.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub(super) fn tidy(&mut self, book: &Book) -> io::Result<()> {
        let holds = book.holds().count();
        let is_short = self.lines <= holds.saturating_mul(4).saturating_add(SLACK);
        if is_short && self.bytes <= SLACK_BYTES {
            return Ok(());
        }
        *self = Self::rewrite(self.path.clone(), book)?;
        Ok(())
    }
}

/// Applies every complete line.
fn replay(mut file: impl BufRead, book: &mut Book, keys: &ApprovalKeys) -> Result<(), String> {
    let (mut bytes, mut number) = (Vec::new(), 0_u64);
    loop {
        bytes.clear();
        let read =
            file.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes).map_err(|why| why.to_string())?;
        number = number.saturating_add(1);
        if bytes.last() != Some(&b'\n') {
            let cut = u64::try_from(read).is_ok_and(|read| read < MAX_LINE);
            return if cut { Ok(()) } else { Err(format!("line {number} is too long")) };
        }
        let event: Event = serde_json::from_slice(&bytes).map_err(|why| format!("line {number}: {why}"))?;
        if !is_signed(&event, book, keys) {
            return Err(format!(
                "line {number} holds a decision that this gateway did not sign, or a request that was changed"
            ));
        }
        book.apply(&event);
    }
}

/// Returns true if every decision of the event has the gateway's signature.
fn is_signed(event: &Event, book: &Book, keys: &ApprovalKeys) -> bool {
    let all = |hold: &Hold| hold.decisions.iter().all(|decision| keys.verify(hold, decision));
    match event {
        Event::Opened(hold) => all(hold) && hold.is_backed() && hold.is_whole(),
        Event::Decided { id, decision, .. } => book.get(id).is_none_or(|hold| keys.verify(hold, decision)),
        _ => true,
    }
}
