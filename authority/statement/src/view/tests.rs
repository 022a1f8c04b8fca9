use super::*;
use crate::testing::{MemoryAuthority, START};

#[test]
fn the_empty_view_is_stale_and_covers_nothing() {
    let view = View::empty("semgate.test", Lines::parse(&["payment"]).unwrap());
    assert_eq!(view.freshness(0), Freshness::Stale);
    assert_eq!(view.standing(&MemoryAuthority::urn("payment:v1.0"), START), Standing::NotCovered);
    assert_eq!(view.standing(&MemoryAuthority::urn("travel:v1.0"), START), Standing::UnknownAuthority);
}

#[test]
fn a_clock_behind_the_head_counts_as_the_head() {
    let mut view = View::empty("semgate.test", Lines::All);
    (view.issued_at, view.next_update) = (START, START + 10);
    assert_eq!(view.freshness(0), Freshness::Fresh);
    assert_eq!(view.freshness(START + 9), Freshness::Fresh);
    assert_eq!(view.freshness(START + 10), Freshness::Stale);
    (view.issued_at, view.next_update) = (START, START);
    assert_eq!(view.freshness(0), Freshness::Stale);
}
