//! The texts that a stream remembers, by id and within a bound.

use super::pieces::Pieces;
use crate::Delivered;
use std::collections::VecDeque;

/// Bytes that a remembered text costs beside its words and its id, so that no stream remembers more than 1,024 texts by default.
const ENTRY: usize = 256;

/// All of one text; none where it is more than can be judged together.
pub(super) type Whole = Option<Pieces>;

/// One text that the stream carried.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: Box<str>,
    pub(super) text: Whole,
    /// The text travels in a notification that is not settled yet.
    pub(super) pending: Option<Pending>,
}

/// The notifications of a text that are not settled yet.
#[derive(Debug)]
pub(super) struct Pending {
    /// Notifications that are on their way.
    tickets: Vec<u64>,
    /// More than one was on its way at once, so nobody knows which the target took last.
    overlapped: bool,
    /// One may have arrived or not.
    lost: bool,
    /// The text that the target has if the only notification does not arrive, where that is known.
    before: Option<Pieces>,
}

impl Pending {
    /// Adds a notification to those of the entry before, if there was one.
    pub(super) fn after(entry: Option<Entry>, ticket: u64) -> Self {
        match entry {
            Some(Entry { pending: Some(mut open), .. }) => {
                open.tickets.push(ticket);
                Self { overlapped: true, before: None, ..open }
            }
            settled => {
                let before = settled.and_then(|entry| entry.text);
                Self { tickets: vec![ticket], overlapped: false, lost: false, before }
            }
        }
    }
}

impl Entry {
    fn cost(&self) -> usize {
        let before = self.pending.as_ref().and_then(|pending| pending.before.as_ref());
        let texts: usize = self.text.iter().chain(before).map(Pieces::len).sum();
        texts.saturating_add(self.id.len()).saturating_add(ENTRY)
    }

    fn is_on_its_way(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| !pending.tickets.is_empty())
    }

    /// Settles one notification. Returns false if nothing is known of the text any more.
    fn settle(&mut self, ticket: u64, outcome: Delivered) -> bool {
        let Some(pending) = self.pending.as_mut().filter(|pending| pending.tickets.contains(&ticket)) else {
            return true;
        };
        pending.tickets.retain(|open| *open != ticket);
        pending.lost |= outcome == Delivered::Unknown;
        match (pending.lost || !pending.tickets.is_empty(), pending.overlapped, outcome) {
            (true, ..) => return true,
            (false, true, _) => return false,
            (false, false, Delivered::No) => self.text = pending.before.take(),
            (false, false, _) => {
                self.pending = None;
                return true;
            }
        }
        self.pending = None;
        self.text.is_some()
    }
}

/// Texts of one kind. The text that was extended least lately is forgotten first.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The text that was extended last stands last.
    entries: VecDeque<Entry>,
    bytes: usize,
}

impl Memory {
    pub(super) fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.iter().rfind(|entry| *entry.id == *id)
    }

    pub(super) fn remove(&mut self, id: &str) -> Option<Entry> {
        let at = self.entries.iter().rposition(|entry| *entry.id == *id)?;
        let entry = self.entries.remove(at)?;
        self.bytes = self.bytes.saturating_sub(entry.cost());
        Some(entry)
    }

    /// Remembers a text, and forgets others until all take at most `most` bytes. Texts on their way stay.
    pub(super) fn push(&mut self, entry: Entry, most: usize) {
        self.bytes = self.bytes.saturating_add(entry.cost());
        let mut at = 0;
        while self.bytes > most && at < self.entries.len() {
            if self.entries.get(at).is_some_and(Entry::is_on_its_way) {
                at += 1;
            } else if let Some(oldest) = self.entries.remove(at) {
                self.bytes = self.bytes.saturating_sub(oldest.cost());
            }
        }
        self.entries.push_back(entry);
    }

    /// Settles the texts of one notification. A target that did not get it has the text before, where that is known.
    pub(super) fn settle(&mut self, ticket: u64, outcome: Delivered) {
        self.entries.retain_mut(|entry| entry.settle(ticket, outcome));
        self.bytes = self.entries.iter().map(Entry::cost).sum();
    }
}

#[cfg(test)]
mod tests;
