//! Arrivals of one agent, by cost. Uses governor's algorithm over one number: the time at which the agent's bucket is full
//! again.

use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use governor::clock::{Clock, Reference};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::{NotUntil, Quota, RateLimiter};

/// The longest wait reported to a caller.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// Number of body bytes that cost one unit. Receiving and reading 4 KiB takes as long as the head of a request.
const BYTES: u64 = 4 * 1024;
/// Number of JSON values that cost one unit.
const VALUES: u64 = 500;

/// Cost of a message beyond its arrival: one unit for each 4 KiB of its body, and one for each 500 values.
pub(crate) fn cost(bytes: usize, values: usize) -> u64 {
    (bytes as u64 / BYTES).saturating_add(values as u64 / VALUES)
}

/// The limit on arrivals: a number of units a second, and a burst size after a pause.
pub(crate) struct Rate {
    pub(crate) per_second: u32,
    pub(crate) burst: u32,
    /// Nanoseconds to regain one unit.
    unit: u64,
    limiter: RateLimiter<Full, Store, Latest, NoOpMiddleware<Since>>,
    clock: Latest,
}

impl Rate {
    pub(crate) fn new(per_second: u32, burst: u32) -> Self {
        let one = |units| NonZeroU32::new(units).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_second(one(per_second)).allow_burst(one(burst));
        let unit = u64::try_from(quota.replenish_interval().as_nanos()).unwrap_or(u64::MAX);
        let clock = Latest::default();
        let limiter = RateLimiter::new(quota, Store, clock.clone());
        Self { per_second, burst, unit, limiter, clock }
    }
}

/// The agent has used up its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooOften {
    /// Time until the next request could pass, at most a minute.
    pub(crate) wait: Duration,
}

/// The arrivals of one agent.
#[derive(Default)]
pub(super) struct Arrivals(Full);

impl Arrivals {
    /// Charges one unit.
    ///
    /// # Errors
    /// [`TooOften`]; nothing is charged then.
    pub(super) fn arrive(&self, rate: &Rate, now_ms: u64) -> Result<(), TooOften> {
        rate.clock.0.fetch_max(nanos(now_ms), Ordering::Relaxed);
        let wait = |until: NotUntil<Since>| until.wait_time_from(rate.clock.now()).min(MAX_WAIT);
        rate.limiter.check_key(&self.0).map_err(|until| TooOften { wait: wait(until) })
    }

    /// Charges `cost` units, even if the bucket does not hold them.
    pub(super) fn owe(&self, rate: &Rate, cost: u64, now_ms: u64) {
        let owed = rate.unit.saturating_mul(cost);
        let later = |full: u64| Some(full.max(nanos(now_ms)).saturating_add(owed));
        if cost > 0 {
            let _ = self.0.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later);
        }
    }

    /// Returns true if the bucket is not full.
    pub(super) fn is_active(&self, now_ms: u64) -> bool {
        self.0.0.load(Ordering::Relaxed) > nanos(now_ms)
    }
}

const fn nanos(ms: u64) -> u64 {
    ms.saturating_mul(1_000_000)
}

/// The latest time passed to any call, in nanoseconds since the gateway started.
#[derive(Clone, Default)]
struct Latest(Arc<AtomicU64>);

/// Nanoseconds since the gateway started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Since(u64);

impl Clock for Latest {
    type Instant = Since;

    fn now(&self) -> Since {
        Since(self.0.load(Ordering::Relaxed))
    }
}

impl std::ops::Add<Nanos> for Since {
    type Output = Self;

    fn add(self, other: Nanos) -> Self {
        Self(self.0.saturating_add(other.as_u64()))
    }
}

impl Reference for Since {
    fn duration_since(&self, earlier: Self) -> Nanos {
        Nanos::new(self.0.saturating_sub(earlier.0))
    }

    fn saturating_sub(&self, duration: Nanos) -> Self {
        Self(self.0.saturating_sub(duration.as_u64()))
    }
}

/// Time at which one agent's bucket is full again, in nanoseconds since the gateway started. Serves as its own key; no two
/// are equal.
#[derive(Clone, Default)]
struct Full(Arc<AtomicU64>);

impl PartialEq for Full {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Full {}

impl Hash for Full {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

/// governor's store. The key itself holds the state of an agent.
struct Store;

impl StateStore for Store {
    type Key = Full;

    fn measure_and_replace<T, F, E>(&self, agent: &Full, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let mut full = agent.0.load(Ordering::Relaxed);
        loop {
            let (outcome, next) = measure((full > 0).then(|| Nanos::new(full)))?;
            match agent.0.compare_exchange_weak(full, next.as_u64(), Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(outcome),
                Err(moved) => full = moved,
            }
        }
    }
}
