//! Loading beside messages: whoever loads a set is called between two pieces of work, so that it can let others have the core.

use std::cell::Cell;

thread_local! {
    /// What is called; none where nobody is served meanwhile.
    static REST: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// Does this, and calls `rest` between any two pieces of work on policies: some ten microseconds each, and some milliseconds at most of a set of ten
/// thousand, but for what is rare: a file that does not parse is parsed in one go, and the schema of all contexts is put together in one where a
/// policy has a fault or uses the instance as a value. On every thread that it is done on; nothing else is done otherwise.
pub fn gently<T>(rest: fn(), job: impl FnOnce() -> T) -> T {
    /// Puts back what was, also where the job panics.
    struct Before(Option<fn()>);
    impl Drop for Before {
        fn drop(&mut self) {
            REST.set(self.0);
        }
    }
    let _before = Before(REST.replace(Some(rest)));
    job()
}

/// What this thread calls, for those that it starts.
pub(crate) fn resting() -> Option<fn()> {
    REST.get()
}

/// To be called between two pieces of work: of a thread that works [`gently`] it calls what was given there, and else it does nothing.
pub fn rest() {
    if let Some(rest) = REST.get() {
        rest();
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
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static RESTS: Cell<usize> = const { Cell::new(0) };
    }

    fn count() {
        RESTS.set(RESTS.get() + 1);
    }

    #[test]
    fn it_rests_only_where_it_is_asked_to() {
        rest();
        gently(count, || scatter([1, 2, 3]));
        rest();
        assert_eq!(RESTS.get(), 3);
    }

    #[test]
    fn a_job_that_panics_leaves_the_thread_as_it_was() {
        let ended = std::panic::catch_unwind(|| gently(count, || assert!(resting().is_none(), "it rests")));
        assert!(ended.is_err());
        assert!(resting().is_none());
    }
}
