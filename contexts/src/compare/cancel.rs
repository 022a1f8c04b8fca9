//! Ending a comparison before its steps do: by the waiting caller, and by a clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A request that comparisons end: their caller has left, or the process ends. A clone is the same request. Once made, it
/// stays made.
#[derive(Debug, Clone, Default)]
pub struct CancelToken {
    cancelled: Arc<AtomicBool>,
    outer: Option<Arc<AtomicBool>>,
    clock: Option<fn() -> Instant>,
}

impl CancelToken {
    /// A request with a clock: its comparisons also end after [`CompareLimits::max_time`](super::CompareLimits::max_time).
    /// Nothing here reads a clock of its own; without one, only the steps decide.
    #[must_use]
    pub fn with_clock(clock: fn() -> Instant) -> CancelToken {
        CancelToken { clock: Some(clock), ..CancelToken::default() }
    }

    /// The time by the clock.
    pub(super) fn now(&self) -> Option<Instant> {
        self.clock.map(|clock| clock())
    }

    /// Asks all comparisons that hold this request, or one within it, to end. They answer Unknown within some thousand steps.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns true if this request was made, or the one around it.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
            || self.outer.as_ref().is_some_and(|outer| outer.load(Ordering::Relaxed))
    }

    /// Another request within this one, for one of many comparisons: it is made with this one, or by itself.
    #[must_use]
    pub fn child(&self) -> CancelToken {
        CancelToken { cancelled: Arc::default(), outer: Some(Arc::clone(&self.cancelled)), clock: self.clock }
    }

    /// A guard that makes the request when it is dropped, held by the waiting caller.
    #[must_use]
    pub fn cancel_on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }
}

/// Makes the request when it is dropped.
#[derive(Debug)]
pub struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
