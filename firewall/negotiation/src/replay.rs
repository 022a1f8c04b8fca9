//! The memory against replays: each message is taken once within its window.

#[cfg(test)]
mod tests;

use crate::limits::{CLOCK_SKEW_SECONDS, MAX_REMEMBERED, MAX_REMEMBERED_OF_ONE, WINDOW_SECONDS};
use semgate_contexts::Digest;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Remembers each message for as long as it could be taken again. Bounded for each signer and in all. When it is full, no
/// more is taken, since forgetting would let a replay pass.
#[derive(Debug)]
pub struct ReplayMemory {
    bounds: RememberedBounds,
    taken: Mutex<TakenSignatures>,
}

/// Messages that a [`ReplayMemory`] remembers at once.
#[derive(Clone, Copy, Debug)]
pub struct RememberedBounds {
    /// The messages of one signer.
    pub of_one: usize,
    /// The messages of all signers.
    pub of_all: usize,
}

/// The reason why a message is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// It was taken before.
    Replayed,
    /// The memory is full.
    Full,
}

#[derive(Debug, Default)]
struct TakenSignatures {
    /// By the last second in which it could be taken again.
    order: BTreeSet<(u64, Digest, Arc<str>)>,
    known: HashSet<Digest>,
    of_one: HashMap<Arc<str>, usize>,
}

/// Seconds for which a handshake message is remembered: one issued ahead of us by the skew can be shown again for a whole
/// window.
pub(crate) const KEPT: u64 = WINDOW_SECONDS + CLOCK_SKEW_SECONDS + 1;

impl Default for ReplayMemory {
    fn default() -> Self {
        Self::bounded(RememberedBounds { of_one: MAX_REMEMBERED_OF_ONE, of_all: MAX_REMEMBERED })
    }
}

impl ReplayMemory {
    /// An empty memory with the bounds of handshakes.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty memory with these bounds.
    pub fn bounded(bounds: RememberedBounds) -> Self {
        Self { bounds, taken: Mutex::default() }
    }

    /// True of a message that is remembered as taken.
    pub fn is_taken(&self, once: &Digest, now: u64) -> bool {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.forget(now);
        taken.known.contains(once)
    }

    /// Takes a message of a signer whose signature was verified. It is remembered to the end of the second `until`.
    ///
    /// # Errors
    /// [`NotTaken::Replayed`] if it was taken before; [`NotTaken::Full`] if no more can be remembered.
    pub fn take(&self, once: Digest, signer: &Arc<str>, now: u64, until: u64) -> Result<(), NotTaken> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.forget(now);
        if taken.known.contains(&once) {
            return Err(NotTaken::Replayed);
        }
        let of_one = taken.of_one.get(signer).copied().unwrap_or(0);
        if of_one >= self.bounds.of_one || taken.order.len() >= self.bounds.of_all {
            return Err(NotTaken::Full);
        }
        taken.order.insert((until, once, Arc::clone(signer)));
        taken.known.insert(once);
        *taken.of_one.entry(Arc::clone(signer)).or_default() += 1;
        Ok(())
    }
}

impl TakenSignatures {
    fn forget(&mut self, now: u64) {
        while self.order.first().is_some_and(|(until, ..)| *until < now) {
            let Some((_, once, signer)) = self.order.pop_first() else { return };
            self.known.remove(&once);
            if let Some(count) = self.of_one.get_mut(&signer) {
                *count -= 1;
                if *count == 0 {
                    self.of_one.remove(&signer);
                }
            }
        }
    }
}
