//! Follows one authority: says what to fetch next, judges what comes back, and keeps a verified [`View`].
//!
//! Bytes in, next request out (DESIGN §3, `docs/spec/follower.md`). A failure keeps the last good view and is reported;
//! safety comes from `next_update` alone.

mod config;
mod fault;

pub use config::{FollowerConfig, FollowerLimits, InLines, Lines};
pub use fault::{FollowFault, Report};

use crate::view::View;
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

/// The follower of one authority.
#[derive(Debug)]
pub struct Follower {
    config: FollowerConfig,
    view: Arc<View>,
}

impl Follower {
    /// Opens the memory in `dir` (made if it is not there) and verifies all of it again. What is damaged or does not
    /// verify is ignored and reported, never trusted. Errors only if the directory itself cannot be used.
    pub fn open(_config: FollowerConfig, _dir: &Path, _now: u64) -> Result<Follower, FollowFault> {
        todo!()
    }

    /// A follower that remembers nothing on disk: for tools that follow once.
    pub fn without_memory(config: FollowerConfig) -> Follower {
        let view = Arc::new(View::empty(&config.authority, config.lines.clone()));
        Follower { config, view }
    }

    /// What it was configured with.
    pub fn config(&self) -> &FollowerConfig {
        &self.config
    }

    /// What to do next. Ask again after every answer.
    pub fn next(&mut self, _now: u64) -> Step {
        todo!()
    }

    /// Judges what came back for `path`. An error means that this round of following ended and the last good view stays;
    /// faults of single contexts do not end it and are in [`Follower::reports`] alone.
    pub fn answer(&mut self, _path: &str, _answer: Answer, _now: u64) -> Result<Progress, FollowFault> {
        todo!()
    }

    /// The request for `path` failed below HTTP: ends this round.
    pub fn unreachable(&mut self, _path: &str, _now: u64) -> FollowFault {
        todo!()
    }

    /// Something came on the stream: poll the head now. A hint is never believed.
    pub fn hint(&mut self) {
        todo!()
    }

    /// The newest verified view.
    pub fn view(&self) -> Arc<View> {
        Arc::clone(&self.view)
    }

    /// Faults since the last call, oldest first; bounded.
    pub fn reports(&mut self) -> Vec<Report> {
        todo!()
    }
}
