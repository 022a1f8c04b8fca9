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

#[test]
fn nothing_of_a_distrusted_authority_counts_and_what_it_revoked_stays_revoked() {
    let mut authority = MemoryAuthority::with_library(START);
    authority.change(crate::Act::Revoke, "payment:v1.0");
    let view = authority.follower().view();
    let distrusted = view.distrusted();
    assert!(distrusted.is_distrusted() && !view.is_distrusted());
    let standing = |short: &str, now: u64| distrusted.standing(&MemoryAuthority::urn(short), now);
    let refused = Standing::Unrecognised(NotRecognised::Distrusted);
    // known or not, fresh or not
    for (short, now) in [("travel:v2.1", START), ("travel:v9.9", START), ("travel:v2.1", START + 86_400)] {
        assert_eq!(standing(short, now), refused, "{short}");
    }
    assert_eq!(standing("payment:v1.0", START), Standing::Revoked);
    assert_eq!(distrusted.contexts().count(), view.contexts().count(), "policies are typed as before");
}
