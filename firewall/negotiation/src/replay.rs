//! The memory against replays: each message is taken once within the window.

#[cfg(test)]
mod tests;

use crate::HandshakeFault;
use crate::limits::{CLOCK_SKEW_SECONDS, MAX_REMEMBERED, MAX_REMEMBERED_OF_ONE, WINDOW_SECONDS};
use semgate_contexts::Digest;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

/// Remembers each message for as long as it could be taken again. Bounded for each signer and in all. When it is full, no
/// more is taken, since forgetting would let a replay pass.
#[derive(Debug, Default)]
pub struct ReplayMemory {
    taken: Mutex<TakenSignatures>,
}

#[derive(Debug, Default)]
struct TakenSignatures {
    /// In the order of taking; forgotten from the front.
    order: VecDeque<(u64, Digest, Box<str>)>,
    known: HashSet<Digest>,
    of_one: HashMap<Box<str>, usize>,
}

/// Seconds for which a message is remembered: one issued ahead of us by the skew can be shown again for a whole window.
const KEPT: u64 = WINDOW_SECONDS + CLOCK_SKEW_SECONDS + 1;

impl ReplayMemory {
    /// Nothing taken yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a message of a signer whose signature was verified.
    ///
    /// # Errors
    /// [`HandshakeFault::Replayed`] if it was taken before; [`HandshakeFault::Busy`] if no more can be remembered.
    pub(crate) fn take(&self, once: Digest, signer: &str, now: u64) -> Result<(), HandshakeFault> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.forget(now);
        if taken.known.contains(&once) {
            return Err(HandshakeFault::Replayed);
        }
        let of_one = taken.of_one.get(signer).copied().unwrap_or(0);
        if of_one >= MAX_REMEMBERED_OF_ONE || taken.order.len() >= MAX_REMEMBERED {
            return Err(HandshakeFault::Busy);
        }
        taken.order.push_back((now.saturating_add(KEPT), once, signer.into()));
        taken.known.insert(once);
        *taken.of_one.entry(signer.into()).or_default() += 1;
        Ok(())
    }
}

impl TakenSignatures {
    fn forget(&mut self, now: u64) {
        while self.order.front().is_some_and(|(until, ..)| *until < now) {
            let Some((_, once, signer)) = self.order.pop_front() else { return };
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
