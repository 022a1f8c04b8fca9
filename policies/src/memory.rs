//! Remembered verdicts: bounded, without a lock that two unrelated questions share.

use std::sync::{Mutex, PoisonError};

use crate::Verdict;

/// Everything that a rememberable verdict depends on, packed; the generation is the [`Policies`](crate::Policies)
/// value that owns the memory.
pub(crate) type Key = u128;

type Slot = Mutex<Option<(Key, Verdict)>>;

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
        let high = u64::try_from(key >> 64).unwrap_or_default();
        let low = u64::try_from(key & u128::from(u64::MAX)).unwrap_or_default();
        let mixed = (high.rotate_left(32) ^ low).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let mask = self.slots.len().checked_sub(1)?;
        self.slots.get(usize::try_from(mixed).unwrap_or_default() & mask)
    }

    /// The verdict remembered under exactly this key.
    pub fn get(&self, key: Key) -> Option<Verdict> {
        let slot = self.slot(key)?.lock().unwrap_or_else(PoisonError::into_inner);
        match &*slot {
            Some((held, verdict)) if *held == key => Some(verdict.clone()),
            _ => None,
        }
    }

    /// Remembers a verdict.
    pub fn put(&self, key: Key, verdict: &Verdict) {
        if let Some(slot) = self.slot(key) {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some((key, verdict.clone()));
        }
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory").field("slots", &self.slots.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Memory;
    use crate::{Obligations, Texts, Verdict};

    #[test]
    fn a_verdict_is_found_under_its_own_key_only_and_the_table_stays_bounded() {
        let memory = Memory::new(60);
        assert_eq!(memory.slots.len(), 64);
        let verdict = |n: u128| Verdict::Permitted {
            policies: Texts::from_iter([n.to_string()]),
            obligations: Obligations::default(),
        };
        for key in 0..10_000_u128 {
            memory.put(key << 40, &verdict(key));
            assert_eq!(memory.get(key << 40), Some(verdict(key)));
            assert_eq!(memory.get((key << 40) + 1), None);
        }
        let held = (0..10_000_u128).filter(|key| memory.get(key << 40).is_some()).count();
        assert!((32..=64).contains(&held), "{held}");
    }

    #[test]
    fn no_slots_remember_nothing() {
        let memory = Memory::new(0);
        memory.put(1, &Verdict::Untypable { path: String::new(), rule: "decimal" });
        assert_eq!(memory.get(1), None);
    }
}
