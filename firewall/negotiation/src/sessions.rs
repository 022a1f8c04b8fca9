//! The results of handshakes, for the inspection of messages.

use crate::{LockKeys, PairMinimums};

/// Lock keys and minimums: one for a process, shared by the endpoints that make locks and the inspector that honours them.
#[derive(Debug)]
pub struct Sessions {
    /// Makes and verifies locks.
    pub locks: LockKeys,
    /// The minimums that pairs stated.
    pub minimums: PairMinimums,
}

impl Sessions {
    /// Sessions with these keys, and nothing learnt yet.
    pub fn new(locks: LockKeys) -> Self {
        Self { locks, minimums: PairMinimums::new() }
    }

    /// Sessions without keys: no lock holds.
    pub fn none() -> Self {
        Self::new(LockKeys::none())
    }
}
