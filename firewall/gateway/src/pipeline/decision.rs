//! Id of one decision, which a caller quotes and an operator searches for.

use std::cell::RefCell;
use std::fmt;

use ring::rand::SecureRandom;

/// 128 random bits. Printed as 26 characters of lower-case base32 (RFC 4648 §6, no padding). Short enough to read aloud, and
/// reveals nothing about the message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct DecisionId(u128);

const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text(&mut [0; 26]))
    }
}

impl fmt::Debug for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl DecisionId {
    /// The random bits.
    pub(crate) const fn bits(self) -> u128 {
        self.0
    }

    /// Writes the text into the caller's buffer.
    pub(crate) fn text<'b>(&self, buffer: &'b mut [u8; 26]) -> &'b str {
        // 26 digits hold 130 bits: the last one has the low three bits, shifted up as RFC 4648 pads
        for (n, slot) in buffer.iter_mut().enumerate() {
            let low = 123_i32.saturating_sub(i32::try_from(n.saturating_mul(5)).unwrap_or(0));
            let five = if low >= 0 { self.0 >> low } else { self.0 << low.unsigned_abs() } & 31;
            *slot = ALPHABET.get(usize::try_from(five).unwrap_or(0)).copied().unwrap_or(b'a');
        }
        std::str::from_utf8(buffer).unwrap_or_default()
    }
}

/// Number of ids drawn at once: one system call for 32 messages.
const BATCH: usize = 32;

/// Draws ids for one core from the system's random source, a batch at a time.
pub(crate) struct Decisions {
    random: ring::rand::SystemRandom,
    ready: RefCell<Vec<u128>>,
}

impl Decisions {
    pub(crate) fn new() -> Self {
        Self { random: ring::rand::SystemRandom::new(), ready: RefCell::new(Vec::with_capacity(BATCH)) }
    }

    /// Draws the next id. An id of zero marks a failure of the system's source, which Linux rules out. The verdict does not
    /// depend on the id.
    pub(crate) fn next(&self) -> DecisionId {
        let mut ready = self.ready.borrow_mut();
        if ready.is_empty() {
            let mut bytes = [0_u8; BATCH * 16];
            if self.random.fill(&mut bytes).is_ok() {
                let (ids, _) = bytes.as_chunks::<16>();
                ready.extend(ids.iter().map(|id| u128::from_be_bytes(*id)));
            }
        }
        DecisionId(ready.pop().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_are_base32_of_the_bits_and_never_repeat() {
        assert_eq!(DecisionId(0).to_string(), "a".repeat(26));
        assert_eq!(DecisionId(u128::MAX).to_string(), format!("{}4", "7".repeat(25)));
        assert_eq!(DecisionId(1).to_string(), format!("{}e", "a".repeat(25)));
        let ids = Decisions::new();
        let seen: HashSet<String> = (0..200).map(|_| ids.next().to_string()).collect();
        assert_eq!(seen.len(), 200);
    }
}
