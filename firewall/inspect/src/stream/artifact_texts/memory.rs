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

/// A notification that is not settled yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) ticket: u64,
    /// The text that the target has if the notification does not arrive, where that is known.
    pub(super) before: Option<Pieces>,
}

impl Entry {
    fn cost(&self) -> usize {
        let before = self.pending.as_ref().and_then(|pending| pending.before.as_ref());
        let texts: usize = self.text.iter().chain(before).map(Pieces::len).sum();
        texts.saturating_add(self.id.len()).saturating_add(ENTRY)
    }

    fn awaits(&self, ticket: u64) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.ticket == ticket)
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

    /// Remembers a text, and forgets others until all take at most `most` bytes.
    pub(super) fn push(&mut self, entry: Entry, most: usize) {
        self.bytes = self.bytes.saturating_add(entry.cost());
        self.entries.push_back(entry);
        while self.bytes > most && self.entries.len() > 1 {
            let Some(oldest) = self.entries.pop_front() else { return };
            self.bytes = self.bytes.saturating_sub(oldest.cost());
        }
    }

    /// Settles the texts of one notification. A target that did not get it has the text before, where that is known.
    pub(super) fn settle(&mut self, ticket: u64, outcome: Delivered) {
        let pending = self.entries.iter_mut().filter(|entry| entry.awaits(ticket));
        match outcome {
            Delivered::Unknown => {}
            Delivered::Yes => pending.for_each(|entry| entry.pending = None),
            Delivered::No => pending.for_each(|entry| {
                entry.text = entry.pending.as_mut().and_then(|pending| pending.before.take());
                if entry.text.is_some() {
                    entry.pending = None;
                }
            }),
        }
        if outcome == Delivered::No {
            self.entries.retain(|entry| !entry.awaits(ticket));
        }
        self.bytes = self.entries.iter().map(Entry::cost).sum();
    }
}
