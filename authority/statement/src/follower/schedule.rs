//! When a follower asks next: polls, hints, waits after faults, and pauses of what was asked for in vain. Reads no clock.

/// The longest time, in seconds, that a long load goes on before a hint makes the follower look at the head: a first load of ten thousand
/// contexts takes minutes, and an authority that publishes all the time must not keep it from its end.
const LONGEST_INTERVAL: u64 = 8;
/// Seconds without deltas after one that could not be had or led nowhere: the one request that it costs must not be paid with every poll.
pub(super) const RETRY_DELTA: u64 = 600;

/// Seconds without the pages of a listing that could not be had, for the same reason.
const RETRY_LISTS: u64 = 600;

/// What of listings can be had, the least of it first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum ListingSupport {
    /// The page of any span: of an authority.
    #[default]
    Spans,
    /// Pages from where they begin: of a mirror.
    Pages,
    /// The whole listing alone: of an earlier version.
    Whole,
}

/// All that decides it, in seconds since the epoch.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    lists: ListingSupport,
    /// Before this time no more is asked for.
    next_lists: u64,
    next_poll: u64,
    /// Before this time the head is asked for whole.
    next_delta: u64,
    hinted: bool,
    failures: u32,
    /// When the last round ended in a fault.
    failed_at: u64,
    /// Rounds in a row that a hint ended early.
    interrupted: u32,
}

impl Schedule {
    /// When the head is asked for next. A clock that was set back must not make it a matter of hours: never longer than `longest` from now.
    pub(super) fn due(&mut self, now: u64, longest: u64) -> u64 {
        self.next_poll = self.next_poll.min(now.saturating_add(longest));
        match (self.hinted, self.failures) {
            (false, _) => self.next_poll,
            (true, 0) => now,
            // After a fault a hint waits a second: a flood of them must not become a flood of requests.
            (true, _) => self.next_poll.min(self.failed_at.min(now).saturating_add(1)),
        }
    }

    /// Something came on the stream, or a checkpoint that has to be looked at.
    pub(super) fn hint(&mut self) {
        self.hinted = true;
    }

    /// The head is asked for: what was hinted at until now will be seen.
    pub(super) fn begin(&mut self) {
        self.hinted = false;
    }

    /// Whether a hint ends a load that has gone on since then: after some seconds of it, more for each time in a row, so that a load comes to
    /// its end however often the authority speaks, if a request of it takes less than the longest of these times.
    pub(super) fn interrupts(&self, since: u64, now: u64) -> bool {
        let pause = 1 << self.interrupted.min(LONGEST_INTERVAL.ilog2());
        self.hinted && now >= since.saturating_add(pause)
    }

    /// A hint ended a load: the head is asked for.
    pub(super) fn interrupt(&mut self) {
        self.begin();
        self.interrupted = self.interrupted.saturating_add(1);
    }

    /// A round came to its end.
    pub(super) fn done(&mut self, now: u64, poll: u64) {
        self.failures = 0;
        self.interrupted = 0;
        self.next_poll = now.saturating_add(poll);
    }

    /// A round ended in a fault: the next waits 1 s, 2 s, 4 s … at most `longest`.
    pub(super) fn failed(&mut self, now: u64, longest: u64) {
        self.failures = self.failures.saturating_add(1);
        self.failed_at = now;
        self.interrupted = 0;
        let wait = 1u64.checked_shl(self.failures - 1).unwrap_or(u64::MAX);
        self.next_poll = now.saturating_add(wait.min(longest.max(1)));
    }

    /// Whether deltas are asked for. A clock that was set back must not put them off for longer.
    pub(super) fn asks_for_deltas(&self, now: u64) -> bool {
        self.next_delta <= now || self.next_delta > now.saturating_add(RETRY_DELTA)
    }

    /// What of listings is asked for. A clock that was set back must not put more off for longer.
    pub(super) fn lists(&self, now: u64) -> ListingSupport {
        let waits = self.next_lists > now && self.next_lists <= now.saturating_add(RETRY_LISTS);
        if waits { self.lists } else { ListingSupport::Spans }
    }

    /// A page could not be had; one that begins where pages do, or another.
    pub(super) fn lists_without(&mut self, begins_a_page: bool, now: u64) {
        self.lists = if begins_a_page { ListingSupport::Whole } else { ListingSupport::Pages };
        self.next_lists = now.saturating_add(RETRY_LISTS);
    }

    /// The whole listing could not be had either.
    pub(super) fn retry_lists(&mut self) {
        self.next_lists = 0;
    }

    /// There is no delta, or it led nowhere.
    pub(super) fn without_deltas(&mut self, now: u64) {
        self.next_delta = now.saturating_add(RETRY_DELTA);
    }
}
