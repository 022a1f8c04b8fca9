//! The timing of a follower: polls, hints, pauses after faults and after failed requests. Reads no clock.

/// Longest time, in seconds, that a load goes on before a hint makes the follower poll the head. A first load of ten thousand contexts
/// takes minutes, and an authority that publishes constantly must not keep it from finishing.
const LONGEST_INTERVAL: u64 = 8;
/// Seconds without deltas after one that failed: its request must not be paid with every poll.
pub(super) const RETRY_DELTA: u64 = 600;

/// Seconds without the pages of a listing that failed, for the same reason.
const RETRY_LISTS: u64 = 600;

/// The available listings, the least first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum ListingSupport {
    /// The page of any span: from an authority.
    #[default]
    Spans,
    /// Pages at their fixed beginnings: from a mirror.
    Pages,
    /// The whole listing alone: from an earlier version.
    Whole,
}

/// All times, in seconds since the epoch.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    lists: ListingSupport,
    /// Time before which only the known kind of listing is requested.
    next_lists: u64,
    next_poll: u64,
    /// Time before which the head is requested whole.
    next_delta: u64,
    hinted: bool,
    failures: u32,
    /// End of the last failed round.
    failed_at: u64,
    /// Consecutive rounds that a hint ended early.
    interrupted: u32,
}

impl Schedule {
    /// Time of the next poll: never later than `longest` from now, even after a clock that was set back.
    pub(super) fn due(&mut self, now: u64, longest: u64) -> u64 {
        self.next_poll = self.next_poll.min(now.saturating_add(longest));
        match (self.hinted, self.failures) {
            (false, _) => self.next_poll,
            (true, 0) => now,
            // After a fault a hint waits a second: a flood of hints must not become a flood of requests.
            (true, _) => self.next_poll.min(self.failed_at.min(now).saturating_add(1)),
        }
    }

    /// Takes a hint from the stream, or a checkpoint that must be examined.
    pub(super) fn hint(&mut self) {
        self.hinted = true;
    }

    /// Begins a poll of the head, which covers all hints so far.
    pub(super) fn begin(&mut self) {
        self.hinted = false;
    }

    /// Returns true if a hint ends a load that began at `since`: after some seconds, and longer for each consecutive time. So a load ends
    /// however often the authority publishes, if each request takes less than the longest of these times.
    pub(super) fn interrupts(&self, since: u64, now: u64) -> bool {
        let pause = 1 << self.interrupted.min(LONGEST_INTERVAL.ilog2());
        self.hinted && now >= since.saturating_add(pause)
    }

    /// Records that a hint ended a load, and polls the head.
    pub(super) fn interrupt(&mut self) {
        self.begin();
        self.interrupted = self.interrupted.saturating_add(1);
    }

    /// Records the end of a round.
    pub(super) fn done(&mut self, now: u64, poll: u64) {
        self.failures = 0;
        self.interrupted = 0;
        self.next_poll = now.saturating_add(poll);
    }

    /// Records a failed round: the next waits 1 s, 2 s, 4 s … at most `longest`.
    pub(super) fn failed(&mut self, now: u64, longest: u64) {
        self.failures = self.failures.saturating_add(1);
        self.failed_at = now;
        self.interrupted = 0;
        let wait = 1u64.checked_shl(self.failures - 1).unwrap_or(u64::MAX);
        self.next_poll = now.saturating_add(wait.min(longest.max(1)));
    }

    /// Returns true if deltas may be requested. Limits the pause if the clock was set back.
    pub(super) fn asks_for_deltas(&self, now: u64) -> bool {
        self.next_delta <= now || self.next_delta > now.saturating_add(RETRY_DELTA)
    }

    /// The listings to request. Limits the pause if the clock was set back.
    pub(super) fn lists(&self, now: u64) -> ListingSupport {
        let waits = self.next_lists > now && self.next_lists <= now.saturating_add(RETRY_LISTS);
        if waits { self.lists } else { ListingSupport::Spans }
    }

    /// Records that a page failed; `begins_a_page` tells if it was one at a fixed beginning.
    pub(super) fn lists_without(&mut self, begins_a_page: bool, now: u64) {
        self.lists = if begins_a_page { ListingSupport::Whole } else { ListingSupport::Pages };
        self.next_lists = now.saturating_add(RETRY_LISTS);
    }

    /// Records that the whole listing failed too.
    pub(super) fn retry_lists(&mut self) {
        self.next_lists = 0;
    }

    /// Records that there is no delta, or that it led nowhere.
    pub(super) fn without_deltas(&mut self, now: u64) {
        self.next_delta = now.saturating_add(RETRY_DELTA);
    }
}
