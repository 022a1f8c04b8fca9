//! Follows one authority: says what to fetch next, judges what comes back, and keeps a verified [`View`].
//!
//! Bytes in, next request out (DESIGN §3, `docs/spec/follower.md`). A failure keeps the last good view and is reported;
//! safety comes from `next_update` alone.

mod accept;
mod config;
mod delta;
mod fault;
mod judge;
mod looked;
mod memory;
mod pace;
mod position;
mod recover;
mod reference;
mod reports;
mod root;
mod round;
mod state;
mod take;

#[cfg(test)]
mod tests;

pub use config::{FollowerConfig, FollowerLimits, InLines, Lines};
pub use fault::{FollowFault, ReferenceFault, Report};
pub use memory::MemoryState;

use crate::view::View;
use memory::Memory;
use pace::Pace;
use reports::Reports;
use round::{Round, Want};
use state::State;
use std::path::Path;
use std::sync::Arc;

/// What the follower wants next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Fetch this from the authority's address, then call [`Follower::answer`] or [`Follower::unreachable`].
    Get(Request),
    /// Nothing before this time, unless a hint comes.
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
    /// Read no more of the body than this: a longer one is refused. Stop reading one byte past it.
    pub max_bytes: u64,
}

/// What came back. Redirects are never followed: pass the status on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Value of `ETag`, if any.
    pub etag: Option<String>,
    /// The body, as it came, at most one byte more than asked for.
    pub body: Vec<u8>,
}

/// What an answer did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// [`Follower::view`] answers a new view: swap it in at once.
    ViewChanged,
    /// The view is the same.
    Same,
}

/// The follower of one authority. What is known, what is under way, what is remembered, when it asks next and what is
/// told are rooms of their own; the files beside this one are the steps of a round, which pass from one to the next.
#[derive(Debug)]
pub struct Follower {
    config: FollowerConfig,
    memory: Memory,
    state: State,
    pace: Pace,
    shown: Shown,
    reports: Reports,
    round: Option<Round>,
    /// `ETag` of the accepted head.
    etag: Option<String>,
}

/// What others see of it.
#[derive(Debug)]
struct Shown {
    view: Arc<View>,
    /// The view changed and no answer said so yet.
    changed: bool,
}

impl Shown {
    fn show(&mut self, view: View) {
        self.view = Arc::new(view);
        self.changed = true;
    }

    /// Whether it changed since the last time that this was asked.
    fn progress(&mut self) -> Progress {
        if std::mem::take(&mut self.changed) { Progress::ViewChanged } else { Progress::Same }
    }
}

impl Follower {
    /// Opens the memory in `dir` (made if it is not there) and verifies all of it again. What is damaged or does not
    /// verify is ignored and reported, never trusted. Errors only if the directory itself cannot be used.
    /// One follower at a time may use a directory.
    pub fn open(config: FollowerConfig, dir: &Path, now: u64) -> Result<Follower, FollowFault> {
        let memory = Memory::open(dir)?;
        let mut follower = Follower::with_memory(config, memory);
        follower.recover(now);
        follower.show();
        follower.shown.changed = false;
        Ok(follower)
    }

    /// A follower that remembers nothing on disk: for tools that follow once.
    pub fn without_memory(config: FollowerConfig) -> Follower {
        Follower::with_memory(config, Memory::none())
    }

    fn with_memory(config: FollowerConfig, memory: Memory) -> Follower {
        let view = Arc::new(View::empty(&config.authority, config.lines.clone()));
        let state = State::new(&config);
        let reports = Reports::new(config.limits.max_reports);
        Follower {
            config,
            memory,
            state,
            pace: Pace::default(),
            shown: Shown { view, changed: false },
            reports,
            round: None,
            etag: None,
        }
    }

    /// What it was configured with.
    pub fn config(&self) -> &FollowerConfig {
        &self.config
    }

    /// What to do next. Ask again after every answer; until it is answered, a request stays the same.
    pub fn next(&mut self, now: u64) -> Step {
        if let Some((request, _)) = self.round.as_ref().and_then(|round| round.asked.as_ref()) {
            return Step::Get(request.clone());
        }
        let due = self.pace.due(now, self.config.poll.max(self.config.limits.max_backoff));
        if now < due {
            return Step::Idle { until: due };
        }
        self.pace.begin();
        let mut round = Round { requests: 1, ..Round::default() };
        let want = self.first_want(now);
        let request = self.request(&round, &want);
        round.asked = Some((request.clone(), want));
        self.round = Some(round);
        Step::Get(request)
    }

    /// The authority moved on while it was followed: what was verified is kept, and its newest head is asked for.
    fn restart(&mut self, mut round: Round, now: u64) {
        self.forget_unproved(&mut round);
        self.settle(&mut round, now);
        let mut round = round.again();
        round.requests += 1;
        let want = self.first_want(now);
        round.asked = Some((self.request(&round, &want), want));
        self.round = Some(round);
    }

    /// Judges what came back for `path`. An error means that this round of following ended and the last good view
    /// stays; faults of single contexts do not end it and are in [`Follower::reports`] alone.
    ///
    /// If the view changed before an error, the next answer that is none says [`Progress::ViewChanged`];
    /// [`Follower::view`] has it at once.
    pub fn answer(&mut self, path: &str, answer: Answer, now: u64) -> Result<Progress, FollowFault> {
        let mut round = self.asked(path)?;
        let taken = self.take(&mut round, answer, now);
        self.proceed(round, taken, now)
    }

    /// The request for `path` failed below HTTP: no connection, none that lasted, no answer in time, a body that broke off. Ends this round
    /// as an answer of no use does, and like that one goes on where a single document or bundle, or what a checkpoint of another follower is
    /// compared by, cannot be had: whoever carries the answers ends no round by breaking off one of these. Errors as
    /// [`Follower::answer`].
    pub fn unreachable(&mut self, path: &str, now: u64) -> Result<Progress, FollowFault> {
        let mut round = self.asked(path)?;
        let taken = self.take_nothing(&mut round, now);
        self.proceed(round, taken, now)
    }

    /// The round that asked for `path`.
    fn asked(&mut self, path: &str) -> Result<Round, FollowFault> {
        let asked = self.round.as_ref().and_then(|round| round.asked.as_ref());
        if asked.is_none_or(|(request, _)| request.path != path) {
            return Err(FollowFault::Unasked);
        }
        self.round.take().ok_or(FollowFault::Unasked)
    }

    /// Asks for the next thing, or ends the round.
    fn proceed(
        &mut self,
        mut round: Round,
        taken: Result<(), FollowFault>,
        now: u64,
    ) -> Result<Progress, FollowFault> {
        match taken.and_then(|()| self.go_on(&mut round, now)) {
            Ok(Some((_, want))) if self.interrupts(&mut round, &want, now) => {
                self.pace.interrupt();
                round.restarts = 0;
                round.requests = 0;
                self.restart(round, now);
            }
            Ok(Some(asked)) => {
                round.asked = Some(asked);
                self.round = Some(round);
            }
            Ok(None) => self.finish(round, now),
            Err(_) if round.restart => self.restart(round, now),
            Err(fault) => {
                self.give_up(round, fault.clone(), now);
                return Err(fault);
            }
        }
        Ok(self.shown.progress())
    }

    /// Whether a hint ends this round here, so that a revocation does not wait for a long load: only where pages, entries and documents of an
    /// accepted head are all that is left, and after some seconds of them.
    fn interrupts(&self, round: &mut Round, want: &Want, now: u64) -> bool {
        if !round.accepted || !matches!(want, Want::Page(_) | Want::Bundle(_) | Want::Document(_)) {
            return false;
        }
        let since = *round.loading_since.get_or_insert(now);
        self.pace.interrupts(since, now)
    }

    /// Something came on the stream: poll the head now, or in a second where the last round failed, or after the request under way where
    /// a round has only pages, entries and documents left to load. A hint is never believed.
    pub fn hint(&mut self) {
        self.pace.hint();
    }

    /// The newest verified view.
    pub fn view(&self) -> Arc<View> {
        Arc::clone(&self.shown.view)
    }

    /// How far the memory on disk keeps up with the view.
    pub fn memory(&self) -> MemoryState {
        self.memory.state()
    }

    /// The statements of the root that are believed, in their order: each was signed by the threshold of the keys before it and proved to be
    /// in the log of the accepted head.
    pub fn root_statements(&self) -> &[crate::trust::RootEntry] {
        self.state.trust.root()
    }

    /// Faults since the last call, oldest first; at most [`FollowerLimits::max_reports`], the first ones.
    pub fn reports(&mut self) -> Vec<Report> {
        self.reports.take()
    }

    /// Plans until something must be fetched.
    fn go_on(&mut self, round: &mut Round, now: u64) -> Result<Option<(Request, Want)>, FollowFault> {
        let Some(want) = self.plan(round, now)? else { return Ok(None) };
        round.requests += 1;
        if round.requests > self.config.limits.max_requests {
            return Err(FollowFault::TooManyRequests);
        }
        Ok(Some((self.request(round, &want), want)))
    }

    fn finish(&mut self, mut round: Round, now: u64) {
        self.keep_looked(&mut round, now);
        let size = self.state.head.as_ref().map(|pinned| pinned.head.head().seq);
        if self.state.partial
            && !round.incomplete
            && size.is_some_and(|size| self.state.looked.is_whole(size))
        {
            self.state.partial = false;
            round.dirty = true;
        }
        self.settle(&mut round, now);
        self.pace.done(now, self.config.poll);
    }

    /// Certificates that came for a head which was not accepted are verified by nothing: kept, they would grow without a bound.
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
            // Whichever tile was wrong, the next round fetches all of them again.
            self.state.tiles.clear();
        }
        if matches!(fault, FollowFault::FloorAboveVersions { .. }) {
            self.looked_in_vain(now);
        }
        let evidence = self.evidence(&round, &fault);
        self.reports.add(None, fault, evidence, now);
        self.settle(&mut round, now);
        self.pace.failed(now, self.config.limits.max_backoff);
    }

    fn show(&mut self) {
        self.state.retire();
        self.shown.show(self.state.view(&self.config));
    }
}
