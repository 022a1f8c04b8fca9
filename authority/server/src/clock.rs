//! The system clock, and the checked clock of one authority. An authority whose clock runs ahead of its readers reaches nobody, and a
//! logged time cannot be taken back. Lower crates take the time as an argument.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use semgate_statement::head::MAX_AHEAD;

use crate::Limits;

/// Seconds since the Unix epoch.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

/// Reason why an authority must not sign by its clock now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClockFault {
    /// The clock advanced by so many seconds more than the machine ran since the last look.
    Jumped(u64),
    /// The last signature is dated so many seconds ahead of the clock: more than readers allow.
    Behind(u64),
}

impl ClockFault {
    /// Metrics labels of the kinds.
    pub const KINDS: [&str; 2] = ["jumped", "behind"];

    /// The metrics label.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Jumped(_) => "jumped",
            Self::Behind(_) => "behind",
        }
    }

    /// Advice for the operator, in one line.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Jumped(_) => {
                "the authority signs nothing until the clock is set back; if the clock is right, start the authority again"
            }
            Self::Behind(_) => {
                "readers refuse heads from the future, so the authority signs nothing until the clock reaches that time"
            }
        }
    }
}

impl fmt::Display for ClockFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jumped(by) => write!(f, "the clock jumped {by} seconds ahead while the authority ran"),
            Self::Behind(by) => {
                write!(
                    f,
                    "the clock is {by} seconds behind the last signature: it was ahead then, or is behind now"
                )
            }
        }
    }
}

/// The clock of one authority, from its start on.
#[derive(Debug)]
pub(crate) struct Clock {
    /// Start time, corrected by each accepted step of the clock.
    began: AtomicU64,
    up: Duration,
    step: u64,
    #[cfg(test)]
    state: std::path::PathBuf,
}

impl Clock {
    /// Starts the clock now; `state` is the directory that a test's clock is set for.
    pub fn begin(limits: &Limits, state: &Path) -> Self {
        let _ = state;
        let clock = Self {
            began: AtomicU64::new(0),
            up: uptime(),
            step: limits.clock_step.as_secs(),
            #[cfg(test)]
            state: state.to_path_buf(),
        };
        Self { began: AtomicU64::new(clock.now()), ..clock }
    }

    /// Seconds since the Unix epoch.
    #[cfg(not(test))]
    pub fn now(&self) -> u64 {
        let _ = self.began;
        now()
    }

    /// Seconds since the Unix epoch, as the test has set them.
    #[cfg(test)]
    pub fn now(&self) -> u64 {
        now().saturating_add(wrong::ahead(&self.state))
    }

    /// The reason not to sign now, if there is one; `last` is the time of the last signature. A small step is accepted: a virtual machine
    /// that pauses makes many of them.
    pub fn fault(&self, last: u64) -> Option<ClockFault> {
        let run = uptime().saturating_sub(self.up).as_secs();
        let (now, began) = (self.now(), self.began.load(Ordering::Relaxed));
        let fault = judge(now, began.saturating_add(run), self.step, last);
        if !matches!(fault, Some(ClockFault::Jumped(_))) {
            self.began.fetch_max(now.saturating_sub(run), Ordering::Relaxed);
        }
        fault
    }
}

/// Compares the clock with the expected time, and then with the last signature.
fn judge(now: u64, expected: u64, step: u64, last: u64) -> Option<ClockFault> {
    let jumped = Some(now.saturating_sub(expected)).filter(|by| *by > step).map(ClockFault::Jumped);
    let lag = Some(last.saturating_sub(now)).filter(|by| *by > MAX_AHEAD).map(ClockFault::Behind);
    jumped.or(lag)
}

/// Time since the machine started: nobody can set it, and it includes sleep.
fn uptime() -> Duration {
    let up = clock_gettime(ClockId::Boottime);
    Duration::from_secs(u64::try_from(up.tv_sec).unwrap_or(0))
}

/// Wrong clocks, for tests alone. Each is bound to one state directory, so that tests do not affect each other.
#[cfg(test)]
pub(crate) mod wrong {
    use std::collections::HashMap;
    use std::path::{Path, PathBuf};
    use std::sync::{LazyLock, Mutex, PoisonError};

    static AHEAD: LazyLock<Mutex<HashMap<PathBuf, u64>>> = LazyLock::new(Mutex::default);

    /// Sets the clock of the authority in `state` so many seconds ahead of the true one.
    pub(crate) fn set(state: &Path, ahead: u64) {
        AHEAD.lock().unwrap_or_else(PoisonError::into_inner).insert(state.to_path_buf(), ahead);
    }

    pub(super) fn ahead(state: &Path) -> u64 {
        AHEAD.lock().unwrap_or_else(PoisonError::into_inner).get(state).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
