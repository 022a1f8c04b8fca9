//! Steps of a sender in a session, for `@steps` (F1-11): a loop stops before a person.
//!
//! A step is a message that passed by a permit with `@steps`. The count ends an hour after the last step of a session. Where a message
//! belongs to none, steps of one sender on one route count for an hour from the first. An approved message begins the count again.
//! Messages that are judged at the same time may each pass as the last step.

use super::shards::{Full, Shards};
use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

/// Sessions of one agent that are remembered: 64, some 2 KiB. The one whose last step is oldest makes room for another: a sender that opens
/// ever new sessions has a new count in each anyhow, and `@limit` stops it.
const SESSIONS: usize = 64;

/// Milliseconds after which a count ends.
const HOUR_MS: u64 = 3_600_000;

/// Step counters of all agents.
pub(crate) struct Steps {
    agents: Shards<Vec<Session>>,
    hasher: RandomState,
}

/// A session whose steps are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepSession {
    agent: Arc<str>,
    key: u64,
    /// The count ends an hour after its first step, and not after its last.
    from_first: bool,
}

#[derive(Clone, Copy, Debug)]
struct Session {
    key: u64,
    steps: u64,
    /// The step that the hour is counted from.
    at_ms: u64,
}

impl Session {
    fn is_over(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.at_ms) >= HOUR_MS
    }
}

fn idle(sessions: &[Session], now_ms: u64) -> bool {
    sessions.iter().all(|one| one.is_over(now_ms))
}

impl Steps {
    /// Counters for this many agents.
    pub(crate) fn new(agents: usize) -> Self {
        Self { agents: Shards::new(agents), hasher: RandomState::new() }
    }

    /// The session of this name, which its sender cannot confuse with one of another sender.
    pub(crate) fn of_session(&self, sender: &Arc<str>, name: &str) -> StepSession {
        let key = self.hasher.hash_one(("session", name));
        StepSession { agent: Arc::clone(sender), key, from_first: false }
    }

    /// All messages on a route that belong to no session.
    pub(crate) fn of_route(&self, sender: &Arc<str>, route: &str) -> StepSession {
        let key = self.hasher.hash_one(("route", route));
        StepSession { agent: Arc::clone(sender), key, from_first: true }
    }

    /// The steps so far. An agent for whom there is no room made more than any policy allows.
    pub(crate) fn count(&self, session: &StepSession, now_ms: u64) -> u64 {
        let own = |sessions: &Vec<Session>| {
            sessions.iter().find(|one| one.key == session.key && !one.is_over(now_ms)).map(|one| one.steps)
        };
        match self.agents.read(&session.agent, now_ms, |all| idle(all, now_ms), own) {
            Ok(steps) => steps.flatten().unwrap_or(0),
            Err(Full) => u64::MAX,
        }
    }

    /// Counts one step.
    pub(crate) fn add(&self, session: &StepSession, now_ms: u64) {
        self.change(session, now_ms, |steps| steps.saturating_add(1));
    }

    /// Takes back the step of a message that did not pass in the end.
    pub(crate) fn take_back(&self, session: &StepSession, now_ms: u64) {
        self.change(session, now_ms, |steps| steps.saturating_sub(1));
    }

    /// Begins the count again. Returns the count before, for [`Steps::restore`].
    pub(crate) fn reset(&self, session: &StepSession, now_ms: u64) -> u64 {
        self.change(session, now_ms, |_| 0)
    }

    /// Adds a count again whose reset did not come to pass.
    pub(crate) fn restore(&self, session: &StepSession, before: u64, now_ms: u64) {
        self.change(session, now_ms, |steps| steps.saturating_add(before));
    }

    /// Changes a count, and returns it as it was. Without room nothing is counted, and [`Steps::count`] asks.
    fn change(&self, session: &StepSession, now_ms: u64, to: impl FnOnce(u64) -> u64) -> u64 {
        let change = |sessions: &mut Vec<Session>| {
            sessions.retain(|one| !one.is_over(now_ms));
            if let Some(own) = sessions.iter_mut().find(|one| one.key == session.key) {
                let before = own.steps;
                own.steps = to(before);
                own.at_ms = if session.from_first { own.at_ms } else { now_ms };
                return before;
            }
            if sessions.len() >= SESSIONS
                && let Some(oldest) =
                    (0..sessions.len()).min_by_key(|at| sessions.get(*at).map(|one| one.at_ms))
            {
                sessions.swap_remove(oldest);
            }
            sessions.push(Session { key: session.key, steps: to(0), at_ms: now_ms });
            0
        };
        self.agents.with(&session.agent, now_ms, |all| idle(all, now_ms), change).unwrap_or(0)
    }
}

impl std::fmt::Debug for Steps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("steps")
    }
}

#[cfg(test)]
mod tests;
