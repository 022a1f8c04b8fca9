//! Counted work, with the caller's clock as a net.

use std::cell::Cell;
use std::time::Instant;

use super::CompareLimits;
use super::cancel::CancelToken;

/// The steps that a question, or all of them, may take are used up.
const SPENT: &str = "the limit of steps";
/// The comparison took longer than it may.
const LATE: &str = "the limit of time";
/// The caller no longer waits for the answer.
const STOPPED: &str = "the comparison was ended";

/// Steps between two looks at the clock: a tenth of a millisecond, so that a look costs nothing.
const STEPS_A_LOOK: u64 = 1_024;

/// The work that is still allowed, for this question and for all. Everything whose cost grows with the input takes steps.
#[derive(Debug)]
pub(super) struct Budget {
    left: Cell<u64>,
    /// Steps that are left for all questions, those of the present one among them.
    total: Cell<u64>,
    /// Steps for one question.
    most: u64,
    stop: CancelToken,
    until: Option<Instant>,
    unlooked: Cell<u64>,
    /// The reason that no more work is allowed, even with steps left.
    ended: Cell<Option<&'static str>>,
}

impl Budget {
    /// The budget of a comparison that begins now.
    pub(super) fn new(limits: &CompareLimits, stop: &CancelToken) -> Self {
        let (total, most) = (limits.max_total_steps, limits.max_steps);
        // a time past what the clock can hold is no bound
        let until = stop.now().and_then(|now| now.checked_add(limits.max_time));
        Budget::until(total, most, stop.clone(), until)
    }

    fn until(total: u64, most: u64, stop: CancelToken, until: Option<Instant>) -> Self {
        let (left, total) = (Cell::new(most.min(total)), Cell::new(total));
        Budget { left, total, most, stop, until, unlooked: Cell::new(0), ended: Cell::new(None) }
    }

    /// Steps alone, for one question.
    #[cfg(test)]
    pub(super) fn of(steps: u64) -> Self {
        let limits = CompareLimits { max_steps: steps, max_total_steps: steps, ..CompareLimits::default() };
        Budget::new(&limits, &CancelToken::default())
    }

    /// Other steps, as many as one question has, that end at the same time.
    pub(super) fn separate(&self) -> Self {
        let other = Budget::until(self.most, self.most, self.stop.clone(), self.until);
        Budget { ended: self.ended.clone(), ..other }
    }

    /// Takes steps. Returns false once none are left or the time is over, and always from then on.
    pub(super) fn spend(&self, steps: u64) -> bool {
        if self.ended.get().is_some() {
            return false;
        }
        if self.stop.is_cancelled() {
            self.ended.set(Some(STOPPED));
            return false;
        }
        let unlooked = self.unlooked.get().saturating_add(steps);
        self.unlooked.set(unlooked);
        if unlooked >= STEPS_A_LOOK {
            self.unlooked.set(0);
            if self.until.is_some_and(|until| self.stop.now().is_some_and(|now| now >= until)) {
                self.ended.set(Some(LATE));
                return false;
            }
        }
        let taken = steps.min(self.left.get());
        self.left.set(self.left.get().saturating_sub(taken));
        self.total.set(self.total.get().saturating_sub(taken));
        self.left.get() > 0
    }

    /// Gives the next question as many steps as the first, if there are as many.
    pub(super) fn refill(&self) {
        self.left.set(self.most.min(self.total.get()));
    }

    pub(super) fn spent_out(&self) -> bool {
        self.ended.get().is_some() || self.left.get() == 0
    }

    /// The bound that stopped the work.
    pub(super) fn reason(&self) -> &'static str {
        self.ended.get().unwrap_or(SPENT)
    }
}
