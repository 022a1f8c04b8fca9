//! The rate of messages: governor's algorithm, over a bounded store and a clock that is an argument.

use super::shards::Shards;
use governor::{
    Quota, RateLimiter,
    clock::{Clock, Reference},
    middleware::NoOpMiddleware,
    nanos::Nanos,
    state::StateStore,
};
use std::{
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// The longest wait that is told to a caller.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Counts messages of each agent before they are parsed.
pub struct RateMeter {
    limiter: RateLimiter<Arc<str>, Store, Given, NoOpMiddleware<Since>>,
    clock: Given,
}

/// The agent sends too often, or there is no room to remember it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooOften {
    /// When the next message could pass.
    pub wait: Duration,
}

impl RateMeter {
    /// `per_second` messages in the long run, `burst` at once, and at most about `agents` agents remembered.
    pub fn new(per_second: NonZeroU32, burst: NonZeroU32, agents: usize) -> Self {
        let clock = Given(Arc::new(AtomicU64::new(0)));
        let store = Store { agents: Shards::new(agents), clock: clock.clone() };
        let quota = Quota::per_second(per_second).allow_burst(burst);
        Self { limiter: RateLimiter::new(quota, store, clock.clone()), clock }
    }

    /// Lets one message pass.
    ///
    /// # Errors
    /// [`TooOften`].
    pub fn admit(&self, agent: &Arc<str>, now_ms: u64) -> Result<(), TooOften> {
        self.clock.0.fetch_max(now_ms, Ordering::Relaxed);
        self.limiter
            .check_key(agent)
            .map_err(|until| TooOften { wait: until.wait_time_from(self.clock.now()).min(MAX_WAIT) })
    }
}

impl std::fmt::Debug for RateMeter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("rate meter")
    }
}

/// The latest time that any call brought along, in milliseconds.
#[derive(Clone)]
struct Given(Arc<AtomicU64>);

/// Time since the meter's clock began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Since(Duration);

impl Clock for Given {
    type Instant = Since;

    fn now(&self) -> Since {
        Since(Duration::from_millis(self.0.load(Ordering::Relaxed)))
    }
}

impl std::ops::Add<Nanos> for Since {
    type Output = Self;

    fn add(self, other: Nanos) -> Self {
        Self(self.0.saturating_add(Duration::from_nanos(other.as_u64())))
    }
}

impl Reference for Since {
    fn duration_since(&self, earlier: Self) -> Nanos {
        let since = self.0.saturating_sub(earlier.0).as_nanos();
        Nanos::new(u64::try_from(since).unwrap_or(u64::MAX / 4))
    }

    fn saturating_sub(&self, duration: Nanos) -> Self {
        Self(self.0.saturating_sub(Duration::from_nanos(duration.as_u64())))
    }
}

/// governor's state of each agent: the time at which its bucket is full again.
struct Store {
    agents: Shards<Option<Nanos>>,
    clock: Given,
}

impl StateStore for Store {
    type Key = Arc<str>;

    fn measure_and_replace<T, F, E>(&self, agent: &Arc<str>, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let now_ms = self.clock.0.load(Ordering::Relaxed);
        let now = now_ms.saturating_mul(1_000_000);
        let idle = |full: &Option<Nanos>| full.is_none_or(|full| full.as_u64() < now);
        let measured = self.agents.with(agent, now_ms, idle, |state| {
            let (outcome, next) = measure(*state)?;
            *state = Some(next);
            Ok(outcome)
        });
        // no room: a bucket that is full again in the far future is an empty one
        measured.unwrap_or_else(|_full| measure(Some(Nanos::new(u64::MAX / 2))).map(|(outcome, _)| outcome))
    }
}

#[cfg(test)]
mod tests;
