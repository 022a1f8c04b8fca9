//! What handshakes leave behind, for whoever judges messages.

use crate::{LockKeys, PairMinimums};

/// Lock keys and minimums: one for a process, shared by the endpoints that make locks and the inspector that honours them.
#[derive(Debug)]
pub struct Sessions {
    /// Makes and verifies locks.
    pub locks: LockKeys,
    /// What pairs said they will not go below.
    pub minimums: PairMinimums,
}

impl Sessions {
    /// With these keys, and nothing learnt yet.
    pub fn new(locks: LockKeys) -> Self {
        Self { locks, minimums: PairMinimums::new() }
    }

    /// Without keys: no lock holds.
    pub fn none() -> Self {
        Self::new(LockKeys::none())
    }
}
