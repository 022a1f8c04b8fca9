//! Ending a comparison before its steps do: by who waits for it, and by a clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Asks comparisons to end: whoever waited for them has left, or the process ends. A clone is the same one. Asked once, it stays asked.
#[derive(Debug, Clone, Default)]
pub struct CancelToken {
    cancelled: Arc<AtomicBool>,
    outer: Option<Arc<AtomicBool>>,
    clock: Option<fn() -> Instant>,
}

impl CancelToken {
    /// One that knows a clock: comparisons that have it end after [`CompareLimits::max_time`](super::CompareLimits::max_time) too. Nothing here reads
    /// a clock of its own, so without one the steps alone decide.
    #[must_use]
    pub fn with_clock(clock: fn() -> Instant) -> CancelToken {
        CancelToken { clock: Some(clock), ..CancelToken::default() }
    }

    /// What the clock says.
    pub(super) fn now(&self) -> Option<Instant> {
        self.clock.map(|clock| clock())
    }

    /// Asks all comparisons that have this one, or one within it, to end: they answer Unknown within some thousand steps.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked, or the one that it is within.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
            || self.outer.as_ref().is_some_and(|outer| outer.load(Ordering::Relaxed))
    }

    /// Another one, for one of many: it is asked where this one is, and by itself.
    #[must_use]
    pub fn child(&self) -> CancelToken {
        CancelToken { cancelled: Arc::default(), outer: Some(Arc::clone(&self.cancelled)), clock: self.clock }
    }

    /// Asked when this is dropped: held by whoever waits.
    #[must_use]
    pub fn cancel_on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }
}

/// Asks to end when it is dropped.
#[derive(Debug)]
pub struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
