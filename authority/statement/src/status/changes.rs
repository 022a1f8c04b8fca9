//! The newest changed statuses, with the log size of each change, so that readers of an earlier prefix get only the differences. A pure
//! function of the log prefix, as the list itself.

#[cfg(test)]
mod tests;

use super::Status;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The most changes that are remembered: two months of a thousand a day, in a megabyte.
pub const MAX_CHANGES: usize = 65_536;
/// Changes in one piece: a write to a clone copies one.
const PIECE: usize = 1024;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Change {
    /// Size of the smallest prefix that has it.
    size: u64,
    index: u64,
    status: Status,
}

/// The newest changes of a status list. A clone costs a pointer for each thousand of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    /// Oldest first; none is empty.
    pieces: VecDeque<Arc<Vec<Change>>>,
    /// Every change after this size is remembered.
    since: u64,
}

impl Changes {
    /// Records that the entry at this log size gives an index this status.
    pub(crate) fn note(&mut self, size: u64, index: u64, status: Status) {
        if self.pieces.back().is_none_or(|piece| piece.len() >= PIECE) {
            self.pieces.push_back(Arc::default());
        }
        if let Some(piece) = self.pieces.back_mut() {
            Arc::make_mut(piece).push(Change { size, index, status });
        }
        if self.pieces.len() > MAX_CHANGES / PIECE
            && let Some(last) = self.pieces.pop_front().and_then(|oldest| oldest.last().copied())
        {
            self.since = last.size;
        }
    }

    /// The changes since the log had this size: each changed index, with its status now. None if they are forgotten.
    pub fn after(&self, size: u64) -> Option<BTreeMap<u64, Status>> {
        if size < self.since {
            return None;
        }
        let later = |change: &&Change| change.size > size;
        let pieces = self.pieces.iter().filter(|piece| piece.last().as_ref().is_some_and(later));
        Some(pieces.flat_map(|piece| piece.iter().filter(later)).map(|it| (it.index, it.status)).collect())
    }
}
