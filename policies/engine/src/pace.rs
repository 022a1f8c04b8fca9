//! A yield between two policies, so that a load does not hold a core for longer than a message may wait.

use std::cell::Cell;

thread_local! {
    static YIELD: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// Runs a job that loads policies and calls `between` after each of them.
pub fn gently<T>(between: fn(), job: impl FnOnce() -> T) -> T {
    /// Restores the former value, also where the job panics.
    struct Former(Option<fn()>);
    impl Drop for Former {
        fn drop(&mut self) {
            YIELD.set(self.0);
        }
    }
    let _former = Former(YIELD.replace(Some(between)));
    job()
}

/// Yields between two policies if this thread loads them [`gently`].
pub fn rest() {
    if let Some(between) = YIELD.get() {
        between();
    }
}

#[cfg(test)]
mod tests;
