//! Remembered verdicts: bounded, without a lock that two unrelated questions share.

use std::sync::{Mutex, PoisonError};

use crate::Verdict;
use crate::credentials::Window;

/// Everything that a rememberable verdict depends on, packed; the generation is the [`Policies`](crate::Policies)
/// value that owns the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    /// Positions, type and what else is small.
    pub packed: u128,
    /// Digest of what the sender shows, 0 if that is not asked for.
    pub sender_holds: u128,
    /// Digest of what the receiver shows, 0 if that is not asked for.
    pub receiver_holds: u128,
}

type Slot = Mutex<Option<(Key, Window, Verdict)>>;

/// A table of slots, each with its own lock; a new verdict takes the place of the one that stood in its slot.
///
/// A sender who fills the table on purpose makes others pay for an evaluation again, and changes no verdict.
pub(crate) struct Memory {
    slots: Box<[Slot]>,
}

impl Memory {
    /// At least `slots` slots, rounded up to a power of two; none for 0.
    pub fn new(slots: usize) -> Self {
        let count = if slots == 0 { 0 } else { slots.next_power_of_two() };
        Self { slots: (0..count).map(|_| Mutex::new(None)).collect() }
    }

    fn slot(&self, key: Key) -> Option<&Slot> {
        // Fibonacci hashing of both halves; the low bits of a product are its worst, so take the high ones.
        let whole = key.packed ^ key.sender_holds ^ key.receiver_holds.rotate_left(64);
        let high = u64::try_from(whole >> 64).unwrap_or_default();
        let low = u64::try_from(whole & u128::from(u64::MAX)).unwrap_or_default();
        let mixed = (high.rotate_left(32) ^ low).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let mask = self.slots.len().checked_sub(1)?;
        self.slots.get(usize::try_from(mixed).unwrap_or_default() & mask)
    }

    /// The verdict remembered under exactly this key, if what is shown is still held as it was then.
    pub fn get(&self, key: Key, now: u64) -> Option<Verdict> {
        let slot = self.slot(key)?.lock().unwrap_or_else(PoisonError::into_inner);
        match &*slot {
            Some((held, window, verdict)) if *held == key && window.holds(now) => Some(verdict.clone()),
            _ => None,
        }
    }

    /// Remembers a verdict for a time.
    pub fn put(&self, key: Key, verdict: &Verdict, window: Window) {
        if let Some(slot) = self.slot(key) {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some((key, window, verdict.clone()));
        }
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory").field("slots", &self.slots.len()).finish()
    }
}

#[cfg(test)]
mod tests;
