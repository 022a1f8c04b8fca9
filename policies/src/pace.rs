//! Loading beside messages: a thread that loads a set rests now and then, so that whoever waits for its core gets it.
//!
//! Once a kernel gave a core to a thread, of however low a priority, it lets it run on until the next tick of its clock: 4 ms on many systems,
//! 10 on some. A message whose thread waits there waits as long, perhaps more than once on its way. A thread that sleeps gives its core
//! away at once.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The longest that policies are worked on without a rest, but for single calls of Cedar and the parsing of one file. A fifth of what a message is
/// meant to wait at most, since it may find the thread on its way more than once.
const WORK: Duration = Duration::from_millis(1);

/// Asked for; what a rest takes is by the system's timers, a tenth of a millisecond on most. So a load takes a tenth longer.
const REST: Duration = Duration::from_micros(50);

thread_local! {
    /// When the thread last rested; none if it does not.
    static RESTED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Does this with rests: for loading a set, and for taking one apart, while messages are served. Nothing else is done otherwise.
pub fn gently<T>(job: impl FnOnce() -> T) -> T {
    /// Puts back what was, also where the job panics.
    struct Before(Option<Instant>);
    impl Drop for Before {
        fn drop(&mut self) {
            RESTED.set(self.0);
        }
    }
    let _before = Before(RESTED.replace(Some(Instant::now())));
    job()
}

/// Whether this thread rests, for what it starts others for.
pub(crate) fn is_gentle() -> bool {
    RESTED.get().is_some()
}

/// Rests if it is time to. To be called between two pieces of work, of which each takes some ten microseconds at least.
pub(crate) fn rest() {
    let Some(rested) = RESTED.get() else { return };
    if rested.elapsed() >= WORK {
        std::thread::sleep(REST);
        RESTED.set(Some(Instant::now()));
    }
}

/// Drops these one by one, with rests.
pub(crate) fn scatter<T>(all: impl IntoIterator<Item = T>) {
    for one in all {
        drop(one);
        rest();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn it_rests_once_it_worked_long_enough_and_only_where_it_is_asked_to() {
        work(2 * WORK);
        rest();
        assert!(!is_gentle());
        let (begun, rested) = gently(|| {
            let begun = RESTED.get().unwrap();
            rest();
            assert_eq!(RESTED.get(), Some(begun), "not yet");
            work(2 * WORK);
            rest();
            (begun, RESTED.get().unwrap())
        });
        assert!(rested >= begun + 2 * WORK + REST, "it slept");
        assert!(!is_gentle());
    }

    #[test]
    fn a_job_that_panics_leaves_the_thread_as_it_was() {
        let ended = std::panic::catch_unwind(|| gently(|| assert!(!is_gentle(), "it is")));
        assert!(ended.is_err());
        assert!(!is_gentle());
    }
}
