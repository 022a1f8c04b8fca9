//! The exact meter: the times of each agent's last ten questions.

use super::shards::{Full, Shards};
use std::{sync::Arc, time::Duration};

/// Window of the limit: one minute.
pub const WINDOW_MS: u64 = 60_000;

/// Tolerance between cores. They read one monotonic clock, but calls can overtake each other. An agent is
/// forgotten only this long after its window is empty.
const SKEW_MS: u64 = 5_000;

/// Counts the ambiguous questions of each agent, in both directions and across all cores. No 60-second window
/// holds more than the limit. Refused questions are not counted.
pub struct AmbiguityMeter {
    most: usize,
    agents: Shards<Times>,
}

/// Times of the last questions that passed, oldest first; at most the limit.
#[derive(Default)]
struct Times(Vec<u64>);

/// The limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooAmbiguous {
    /// Wait until the same number of questions could pass.
    pub wait: Duration,
    /// Questions that could pass now.
    pub left: u64,
}

impl AmbiguityMeter {
    /// A meter for at most `most` questions per window and agent, which remembers about `agents` agents.
    pub fn new(most: usize, agents: usize) -> Self {
        Self { most, agents: Shards::new(agents) }
    }

    /// The limit.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Admits all `asked` questions of one message at `now_ms`, or none.
    ///
    /// # Errors
    /// [`TooAmbiguous`] if a 60-second window would exceed the limit, or if there is no room for the agent.
    /// An active agent is never forgotten for a new one.
    pub fn admit(&self, agent: &Arc<str>, asked: usize, now_ms: u64) -> Result<(), TooAmbiguous> {
        self.ask(agent, asked, now_ms).map(|_| ())
    }

    /// As [`AmbiguityMeter::admit`], and returns the number of questions that could still follow at once.
    ///
    /// # Errors
    /// As [`AmbiguityMeter::admit`].
    pub fn ask(&self, agent: &Arc<str>, asked: usize, now_ms: u64) -> Result<u64, TooAmbiguous> {
        let idle = |times: &Times| times.idle(now_ms);
        let admit = |times: &mut Times| {
            times.admit(asked, self.most, now_ms)?;
            Ok(times.left(self.most, now_ms))
        };
        match self.agents.with(agent, now_ms, idle, admit) {
            Ok(verdict) => verdict,
            Err(Full) => Err(TooAmbiguous { wait: Duration::from_secs(1), left: 0 }),
        }
    }

    /// Gives back questions counted at `at_ms`, for a message that did not pass in the end.
    pub fn give_back(&self, agent: &Arc<str>, asked: usize, at_ms: u64) {
        // an unknown agent needs no room here, so none is forgotten for it
        let _ = self.agents.with(agent, at_ms, |_| false, |times| times.give_back(asked, at_ms));
    }
}

impl std::fmt::Debug for AmbiguityMeter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ambiguity meter of {} a minute", self.most)
    }
}

impl Times {
    fn admit(&mut self, asked: usize, most: usize, now_ms: u64) -> Result<(), TooAmbiguous> {
        if asked == 0 {
            return Ok(());
        }
        let too_ambiguous =
            |wait| TooAmbiguous { wait: Duration::from_millis(wait), left: self.left(most, now_ms) };
        if asked > most {
            return Err(too_ambiguous(WINDOW_MS));
        }
        // enough of the last `most` times must have left the window for the new questions
        let kept = self.0.len();
        let must_leave = (kept + asked).saturating_sub(most);
        if let Some(newest_to_leave) = must_leave.checked_sub(1).and_then(|n| self.0.get(n)) {
            // strictly more than 60 000: times truncated to milliseconds may lie one closer
            let free_at = newest_to_leave.saturating_add(WINDOW_MS + 1);
            if now_ms < free_at {
                return Err(too_ambiguous(free_at - now_ms));
            }
        }
        self.0.drain(..must_leave.min(kept));
        let position = self.0.partition_point(|time| *time <= now_ms);
        self.0.splice(position..position, std::iter::repeat_n(now_ms, asked));
        Ok(())
    }

    /// Number of further questions that could pass now.
    fn left(&self, most: usize, now_ms: u64) -> u64 {
        let within = self.0.iter().filter(|time| now_ms <= time.saturating_add(WINDOW_MS)).count();
        u64::try_from(most.saturating_sub(within)).unwrap_or(u64::MAX)
    }

    fn give_back(&mut self, asked: usize, at_ms: u64) {
        let mut left = asked;
        self.0.retain(|time| {
            let gone = left > 0 && *time == at_ms;
            left -= usize::from(gone);
            !gone
        });
    }

    fn idle(&self, now_ms: u64) -> bool {
        self.0.last().is_none_or(|newest| newest.saturating_add(WINDOW_MS + SKEW_MS) < now_ms)
    }
}

#[cfg(test)]
mod tests;
