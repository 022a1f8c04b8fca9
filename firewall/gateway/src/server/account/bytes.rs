//! Bytes that the messages of all agents hold in the gateway.

use std::sync::atomic::{AtomicUsize, Ordering};

/// There is no room for the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

/// Bytes held for all agents.
#[derive(Default)]
pub(super) struct Total {
    held: AtomicUsize,
}

impl Total {
    /// Takes `bytes`, if no more than `most` are held then.
    ///
    /// # Errors
    /// [`NoRoom`]; no bytes are taken then.
    pub(super) fn take(&self, bytes: usize, most: usize) -> Result<(), NoRoom> {
        let more = |held: usize| held.checked_add(bytes).filter(|held| *held <= most);
        self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map(drop).map_err(|_| NoRoom)
    }

    pub(super) fn give_back(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn now(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }
}
