//! Tests of `pace`.

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
    gently(count, || (0..3).for_each(|_| rest()));
    rest();
    assert_eq!(RESTS.get(), 3);
}

#[test]
fn a_job_that_panics_leaves_the_thread_as_it_was() {
    let ended = std::panic::catch_unwind(|| gently(count, || panic!("as meant")));
    assert!(ended.is_err());
    let former = RESTS.get();
    rest();
    assert_eq!(RESTS.get(), former);
}
