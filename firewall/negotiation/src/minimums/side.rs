//! What one end of a pair stated, and when it signed it.

use crate::HandshakeFault;
use crate::limits::{CLOCK_SKEW_SECONDS, MAX_MINIMUMS};
use crate::terms::Minimum;
use std::sync::Arc;

/// The minimums of one end, with the second at which it signed them: `issued_at` of its HELLO or SELECT, 0 where nobody kept it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) minimums: Arc<[Minimum]>,
    pub(super) stated_at: u64,
}

impl Side {
    /// What holds once `stated` was heard too. The later statement replaces the earlier one, in whatever order their handshakes end: who opened a
    /// handshake before holds its LOCK back for as long as it likes. Two of one second, or one that a clock which was ahead let in, say
    /// nothing of their order: then the higher minimum of each line holds, from the second of `stated` on.
    ///
    /// # Errors
    /// [`HandshakeFault::Busy`] where these would be more lines than are kept of one end: none is left out.
    pub(super) fn merged_with(&self, stated: Self, now: u64) -> Result<Self, HandshakeFault> {
        let ahead = self.stated_at > now.saturating_add(CLOCK_SKEW_SECONDS);
        if !ahead && self.stated_at != stated.stated_at {
            return Ok(if self.stated_at < stated.stated_at { stated } else { self.clone() });
        }
        let mut both = stated.minimums.to_vec();
        for one in &*self.minimums {
            match both.iter_mut().find(|other| other.line.folds_with(&one.line)) {
                Some(other) => other.min = other.min.max(one.min),
                None => both.push(one.clone()),
            }
        }
        if both.len() > MAX_MINIMUMS {
            return Err(HandshakeFault::Busy);
        }
        Ok(Self { minimums: both.into(), ..stated })
    }
}
