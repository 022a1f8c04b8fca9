//! Follows one authority: names the next request, judges its answer, and keeps a verified [`View`].
//!
//! Bytes in, next request out (`docs/spec/follower.md`). A failure keeps the last good view and is reported; safety rests on `next_update`
//! alone.

mod accept;
mod config;
mod delta;
mod fault;
mod judge;
mod persistence;
mod recover;
mod reference;
mod reports;
mod responses;
mod root;
mod round;
mod saved_scan;
mod scan;
mod schedule;
mod state;

#[cfg(test)]
mod tests;

pub use config::{FollowerConfig, FollowerLimits, InLines, Lines};
pub use fault::{FollowFault, ReferenceFault, Report};
pub use persistence::PersistenceState;

use crate::view::View;
use persistence::Store;
use reports::Reports;
use round::{FetchTarget, Round};
use schedule::Schedule;
use state::State;
use std::path::Path;
use std::sync::Arc;

/// The next step of the follower.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Fetch this from the authority's address, then call [`Follower::answer`] or [`Follower::unreachable`].
    Get(Request),
    /// Nothing to do before this time, unless a hint comes.
    Idle {
        /// Seconds since the epoch.
        until: u64,
    },
}

/// One GET.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Path under the authority's address, with a leading slash.
    pub path: String,
    /// Value of `If-None-Match`, if any.
    pub if_none_match: Option<String>,
    /// Limit of the body. Stop reading one byte past it; a longer body is refused.
    pub max_bytes: u64,
}

/// The answer to a request. Never follow redirects: pass the status on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Value of `ETag`, if any.
    pub etag: Option<String>,
    /// The body as received, at most one byte longer than the limit.
    pub body: Vec<u8>,
}

/// The effect of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// [`Follower::view`] returns a new view: swap it in at once.
    ViewChanged,
    /// The view is the same.
    Same,
}

/// The follower of one authority. Each part of its state is a module of its own; the modules beside this one are the steps of a round.
#[derive(Debug)]
pub struct Follower {
    config: FollowerConfig,
    memory: Store,
    state: State,
    schedule: Schedule,
    published: PublishedView,
    reports: Reports,
    round: Option<Round>,
    /// `ETag` of the accepted head.
    etag: Option<String>,
}

/// The published view, and its changes.
#[derive(Debug)]
struct PublishedView {
    view: Arc<View>,
    /// True if the view changed and no answer reported it yet.
    changed: bool,
}

impl PublishedView {
    fn show(&mut self, view: View) {
        self.view = Arc::new(view);
        self.changed = true;
    }

    /// Returns the change since the last call.
    fn progress(&mut self) -> Progress {
        if std::mem::take(&mut self.changed) { Progress::ViewChanged } else { Progress::Same }
    }
}

impl Follower {
    /// Opens the memory in `dir` (made if missing) and verifies all of it again. Damaged or unverifiable parts are ignored and reported,
    /// never trusted. Errors only if the directory itself cannot be used. One follower at a time may use a directory.
    pub fn open(config: FollowerConfig, dir: &Path, now: u64) -> Result<Follower, FollowFault> {
        let memory = Store::open(dir)?;
        let mut follower = Follower::with_memory(config, memory);
        follower.recover(now);
        follower.show();
        follower.published.changed = false;
        Ok(follower)
    }

    /// A follower that remembers nothing on disk: for tools that follow once.
    pub fn without_memory(config: FollowerConfig) -> Follower {
        Follower::with_memory(config, Store::none())
    }

    fn with_memory(config: FollowerConfig, memory: Store) -> Follower {
        let view = Arc::new(View::empty(&config.authority, config.lines.clone()));
        let state = State::new(&config);
        let reports = Reports::new(config.limits.max_reports);
        Follower {
            config,
            memory,
            state,
            schedule: Schedule::default(),
            published: PublishedView { view, changed: false },
            reports,
            round: None,
            etag: None,
        }
    }

    /// The configuration.
    pub fn config(&self) -> &FollowerConfig {
        &self.config
    }

    /// The next step. Call it again after every answer; a request stays the same until it is answered.
    pub fn next(&mut self, now: u64) -> Step {
        if let Some((request, _)) = self.round.as_ref().and_then(|round| round.pending.as_ref()) {
            return Step::Get(request.clone());
        }
        let due = self.schedule.due(now, self.config.poll.max(self.config.limits.max_backoff));
        if now < due {
            return Step::Idle { until: due };
        }
        self.schedule.begin();
        let mut round = Round { requests: 1, ..Round::default() };
        let want = self.first_want(now);
        let request = self.request(&round, &want);
        round.pending = Some((request.clone(), want));
        self.round = Some(round);
        Step::Get(request)
    }

    /// Restarts the round because the authority moved on: keeps verified parts, and asks for the newest head.
    fn restart(&mut self, mut round: Round, now: u64) {
        self.forget_unproved(&mut round);
        self.settle(&mut round, now);
        let mut round = round.again();
        round.requests += 1;
        let want = self.first_want(now);
        round.pending = Some((self.request(&round, &want), want));
        self.round = Some(round);
    }

    /// Judges the answer for `path`. An error ends this round and keeps the last good view. Faults of single contexts do not end it; they
    /// appear in [`Follower::reports`] alone.
    ///
    /// If the view changed before an error, the next successful answer returns [`Progress::ViewChanged`]; [`Follower::view`] has it at
    /// once.
    pub fn answer(&mut self, path: &str, answer: Answer, now: u64) -> Result<Progress, FollowFault> {
        let mut round = self.take_pending(path)?;
        let taken = self.take(&mut round, answer, now);
        self.proceed(round, taken, now)
    }

    /// Reports that the request for `path` failed below HTTP: no connection, a broken one, or no answer in time. Ends this round, as a
    /// useless answer does. If only a document, a bundle or a comparison with another follower is missing, the round goes on. So nobody
    /// ends a round by breaking off one of these. Errors as [`Follower::answer`].
    pub fn unreachable(&mut self, path: &str, now: u64) -> Result<Progress, FollowFault> {
        let mut round = self.take_pending(path)?;
        let taken = self.take_nothing(&mut round, now);
        self.proceed(round, taken, now)
    }

    /// The round that asked for `path`.
    fn take_pending(&mut self, path: &str) -> Result<Round, FollowFault> {
        let pending = self.round.as_ref().and_then(|round| round.pending.as_ref());
        if pending.is_none_or(|(request, _)| request.path != path) {
            return Err(FollowFault::Unasked);
        }
        self.round.take().ok_or(FollowFault::Unasked)
    }

    /// Names the next request, or ends the round.
    fn proceed(
        &mut self,
        mut round: Round,
        taken: Result<(), FollowFault>,
        now: u64,
    ) -> Result<Progress, FollowFault> {
        match taken.and_then(|()| self.go_on(&mut round, now)) {
            Ok(Some((_, want))) if self.interrupts(&mut round, &want, now) => {
                self.schedule.interrupt();
                round.restarts = 0;
                round.requests = 0;
                self.restart(round, now);
            }
            Ok(Some(asked)) => {
                round.pending = Some(asked);
                self.round = Some(round);
            }
            Ok(None) => self.finish(round, now),
            Err(_) if round.restart => self.restart(round, now),
            Err(fault) => {
                self.give_up(round, fault.clone(), now);
                return Err(fault);
            }
        }
        Ok(self.published.progress())
    }

    /// Returns true if a hint ends this round now, so that a revocation does not wait for a long load. That needs an accepted head with
    /// only pages, entries and documents left, and some seconds of loading.
    fn interrupts(&self, round: &mut Round, want: &FetchTarget, now: u64) -> bool {
        if !round.accepted
            || !matches!(want, FetchTarget::Page(_) | FetchTarget::Bundle(_) | FetchTarget::Document(_))
        {
            return false;
        }
        let since = *round.loading_since.get_or_insert(now);
        self.schedule.interrupts(since, now)
    }

    /// Takes a hint from the stream: poll the head now. After a failed round, polls in a second. During a request, polls after it, if only
    /// pages, entries and documents are left. A hint is never believed.
    pub fn hint(&mut self) {
        self.schedule.hint();
    }

    /// The newest verified view.
    pub fn view(&self) -> Arc<View> {
        Arc::clone(&self.published.view)
    }

    /// State of the memory on disk, compared with the view.
    pub fn memory(&self) -> PersistenceState {
        self.memory.state()
    }

    /// The accepted statements of the root, in order. Each was signed by the threshold of the keys before it, and proved to be in the log
    /// of the accepted head.
    pub fn root_statements(&self) -> &[crate::trust::RootEntry] {
        self.state.trust.root()
    }

    /// Faults since the last call, oldest first; keeps the first [`FollowerLimits::max_reports`].
    pub fn reports(&mut self) -> Vec<Report> {
        self.reports.take()
    }

    /// Plans until a request is needed.
    fn go_on(&mut self, round: &mut Round, now: u64) -> Result<Option<(Request, FetchTarget)>, FollowFault> {
        let Some(want) = self.plan(round, now)? else { return Ok(None) };
        round.requests += 1;
        if round.requests > self.config.limits.max_requests {
            return Err(FollowFault::TooManyRequests);
        }
        Ok(Some((self.request(round, &want), want)))
    }

    fn finish(&mut self, mut round: Round, now: u64) {
        self.keep_scan(&mut round, now);
        let size = self.state.head.as_ref().map(|pinned| pinned.head.head().seq);
        if self.state.partial
            && !round.incomplete
            && size.is_some_and(|size| self.state.scan.is_complete(size))
        {
            self.state.partial = false;
            round.dirty = true;
        }
        self.settle(&mut round, now);
        self.schedule.done(now, self.config.poll);
    }

    /// Drops certificates of a head that was not accepted: nothing verifies them, and they could grow without a bound.
    fn forget_unproved(&mut self, round: &mut Round) {
        if !round.accepted
            && let Some(before) = round.trust_before.take()
        {
            self.state.trust = before;
        }
    }

    fn give_up(&mut self, mut round: Round, fault: FollowFault, now: u64) {
        self.forget_unproved(&mut round);
        if matches!(fault, FollowFault::Tiles(_)) {
            // Any of the tiles may be wrong, so the next round fetches all of them again.
            self.state.tiles.clear();
        }
        if matches!(fault, FollowFault::FloorAboveVersions { .. }) {
            self.scan_failed(now);
        }
        let evidence = self.evidence(&round, &fault);
        self.reports.add(None, fault, evidence, now);
        self.settle(&mut round, now);
        self.schedule.failed(now, self.config.limits.max_backoff);
    }

    fn show(&mut self) {
        self.state.retire();
        self.published.show(self.state.view(&self.config));
    }
}
