//! The minimums of one end of a pair, with the time of its signature.

use crate::HandshakeFault;
use crate::limits::{CLOCK_SKEW_SECONDS, MAX_MINIMUMS};
use crate::terms::Minimum;
use std::sync::Arc;

/// The minimums of one end, with the second at which it signed them: `issued_at` of its HELLO or SELECT, 0 if unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) minimums: Arc<[Minimum]>,
    pub(super) stated_at: u64,
}

impl Side {
    /// The valid minimums after the statement `stated`. The later statement replaces the earlier one, in whatever order their
    /// handshakes end, since an initiator can hold back its LOCK. Two statements of one second have no known order, and
    /// neither has one from a clock that was ahead. Then the higher minimum of each line holds, from the second of `stated` on.
    ///
    /// # Errors
    /// [`HandshakeFault::Busy`] if these would exceed the lines kept of one end: none is left out.
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
