//! The stored search position, so that a restart asks only for later entries.
//!
//! The position counts only for the state that it was written with: this log at this size, these lines, these entries. Otherwise, or if it
//! cannot be read, the log is searched from its start. That costs pages and loses nothing.

use super::scan::LogScan;
use super::state::Pinned;
use super::{FollowFault, Follower};
use crate::format::{FormatFault, Members, limits, write};
use crate::listing::Span;
use crate::sha256::sha256;
use semgate_certs::encoding::to_hex;
use std::collections::BTreeSet;
use std::io::ErrorKind;

/// The file of the position: written after the head, and after the entries found before it.
pub(super) const LOOKED: &str = "looked.json";
/// The longest position accepted: 60,000 failed pages, out of sixty million entries.
const MAX_LOOKED_BYTES: usize = 1024 * 1024;
/// The current format. A version that takes other things from pages writes another number, and accepts no other.
const FORMAT: u64 = 1;

impl Follower {
    /// Writes a changed position, unless some verified state is not on disk.
    pub(super) fn remember_scan(&mut self) -> Result<(), FollowFault> {
        let Some(pinned) = self.state.head.as_ref().filter(|_| self.memory.is_complete()) else {
            return Ok(());
        };
        // a version that a floor names is missing: a restart searches for it, as for every omission
        let start = LogScan::default();
        let looked = if self.state.scan.version_missing { &start } else { &self.state.scan };
        let bytes = self.position(looked, pinned).map_err(|_| FollowFault::Memory(ErrorKind::InvalidData))?;
        Ok(self.memory.write_changed(LOOKED, &bytes)?)
    }

    /// Recovers the position, if nothing of the memory was dropped.
    pub(super) fn recover_scan(&mut self, now: u64) {
        let Some(pinned) = self.state.head.as_ref().filter(|_| !self.state.partial) else { return };
        let bytes = match self.memory.read(LOOKED, MAX_LOOKED_BYTES) {
            Ok(None) => return,
            Ok(Some(bytes)) => bytes,
            Err(_) => return self.damaged(LOOKED, now),
        };
        let Some(looked) = read(&bytes, pinned.head.checkpoint().size) else {
            return self.damaged(LOOKED, now);
        };
        // any difference means that it was written with another state
        if self.position(&looked, pinned).is_ok_and(|here| here == bytes) {
            self.state.scan = looked;
        }
    }

    /// The one text of a position in the current state.
    fn position(&self, looked: &LogScan, pinned: &Pinned) -> Result<Vec<u8>, FormatFault> {
        let (config, checkpoint) = (&self.config, pinned.head.checkpoint());
        write(&serde_json::json!({
            "again": looked.retry_pages,
            "authority": config.authority,
            "entries": self.entries_before(looked.upto),
            "format": FORMAT,
            "lines": config.lines.patterns(),
            "log_key": config.log.to_string(),
            "origin": config.origin,
            "prefix": config.prefix.as_str(),
            "root": checkpoint.root.to_string(),
            "size": checkpoint.size,
            "turn": looked.refresh_from,
            "turn_at": looked.refresh_at,
            "upto": looked.upto,
        }))
    }

    /// SHA-256 over the log indexes of all known entries of the followed lines before `upto`: a missing one shows.
    fn entries_before(&self, upto: u64) -> String {
        let followed =
            self.state.known.iter().filter(|(urn, _)| self.config.lines.holds(urn.line()).is_some());
        let places: BTreeSet<u64> = followed.map(|(_, known)| known.index).filter(|at| *at < upto).collect();
        let text: Vec<String> = places.iter().map(u64::to_string).collect();
        to_hex(sha256(text.join(" ").as_bytes()))
    }
}

/// Reads a position by itself; none if it is not a position in a log of this size.
fn read(bytes: &[u8], size: u64) -> Option<LogScan> {
    let json = semgate_contexts::json::read(bytes, &limits(MAX_LOOKED_BYTES)).ok()?;
    let members = ["authority", "entries", "format", "lines", "log_key", "origin", "prefix", "root", "size"];
    let members = Members::closed(&json, &["again", "turn", "turn_at", "upto"], &members).ok()?;
    let looked = LogScan {
        upto: members.integer("upto").ok()?,
        retry_pages: members.integers("again").ok()?.into_iter().collect(),
        refresh_from: members.integer("turn").ok()?,
        refresh_at: members.integer("turn_at").ok()?,
        ..LogScan::default()
    };
    let begins = |page: &u64| Span::page(*page) == *page && *page < size;
    let in_the_log = looked.upto <= size && looked.retry_pages.iter().all(begins);
    (in_the_log && (looked.refresh_from == 0 || begins(&looked.refresh_from))).then_some(looked)
}
