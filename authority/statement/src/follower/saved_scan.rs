//! Remembering how far the log was looked through, so that a restart asks for what came after and not for all of it.
//!
//! The position counts for exactly what it was written beside: this log at this size, these lines, these entries. Beside anything else, or
//! where it cannot be read, the log is looked through from its start, which costs pages and loses nothing.

use super::scan::LogScan;
use super::state::Pinned;
use super::{FollowFault, Follower};
use crate::encoding::{sha256, to_hex};
use crate::format::{FormatFault, Members, limits, write};
use crate::listing::Span;
use std::collections::BTreeSet;
use std::io::ErrorKind;

/// The file of the position: written behind the head, and behind the entries that were found before it.
pub(super) const LOOKED: &str = "looked.json";
/// The longest that is read: 60,000 pages in which something failed, those of sixty million entries.
const MAX_LOOKED_BYTES: usize = 1024 * 1024;
/// What is written now. A version that takes other things from pages writes another number, and believes no other.
const FORMAT: u64 = 1;

impl Follower {
    /// Writes the position where it changed, unless something that was verified is not on disk.
    pub(super) fn remember_scan(&mut self) -> Result<(), FollowFault> {
        let Some(pinned) = self.state.head.as_ref().filter(|_| self.memory.is_complete()) else {
            return Ok(());
        };
        // a version that a floor names is missing: a restart looks for it, as for all that was left out
        let start = LogScan::default();
        let looked = if self.state.scan.version_missing { &start } else { &self.state.scan };
        let bytes = self.position(looked, pinned).map_err(|_| FollowFault::Memory(ErrorKind::InvalidData))?;
        Ok(self.memory.write_changed(LOOKED, &bytes)?)
    }

    /// The position that is remembered, of a memory of which nothing was dropped.
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
        // whatever is different, it was written beside something else
        if self.position(&looked, pinned).is_ok_and(|here| here == bytes) {
            self.state.scan = looked;
        }
    }

    /// The one text of a position in the state that is at hand.
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

    /// SHA-256 over the places of all that is known of the followed lines before an entry: one that is lost, or that was never written, shows.
    fn entries_before(&self, upto: u64) -> String {
        let followed =
            self.state.known.iter().filter(|(urn, _)| self.config.lines.holds(urn.line()).is_some());
        let places: BTreeSet<u64> = followed.map(|(_, known)| known.index).filter(|at| *at < upto).collect();
        let text: Vec<String> = places.iter().map(u64::to_string).collect();
        to_hex(&sha256(text.join(" ").as_bytes()))
    }
}

/// What a position says by itself; none if it is no position in a log of this size.
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
