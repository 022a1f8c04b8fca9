//! Tests of `credentials`.

use super::{Credentials, Window};

fn made(names: &[(&str, u64)]) -> Credentials {
    Credentials::new(names.iter().map(|(name, until)| ((*name).to_owned(), *until)))
}

#[test]
fn a_credential_is_held_up_to_its_end_and_not_at_it() {
    let both = made(&[("token:hr:b", 20), ("cert:a", 10)]);
    let held = |now| both.held(now).collect::<Vec<_>>();
    assert_eq!(held(9), ["cert:a", "token:hr:b"]);
    assert_eq!(held(10), ["token:hr:b"]);
    assert_eq!(held(20), [""; 0]);
}

#[test]
fn the_window_has_no_end_within() {
    let both = made(&[("a", 10), ("b", 20)]);
    assert_eq!(both.window(5), Window { from: 0, until: 10 });
    assert_eq!(both.window(10), Window { from: 10, until: 20 });
    assert_eq!(both.window(25), Window { from: 20, until: u64::MAX });
    assert_eq!(Credentials::NONE.window(5), Window::ALWAYS);
}

#[test]
fn the_digest_tells_names_and_ends_apart_and_order_does_not_matter() {
    let base = made(&[("a", 10), ("b", 20)]);
    assert_eq!(base.digest(), made(&[("b", 20), ("a", 10)]).digest());
    assert_eq!(base, made(&[("a", 10)]).and(&made(&[("b", 20), ("a", 30)])), "the earlier end counts");
    for other in [made(&[("a", 10), ("b", 21)]), made(&[("a", 10)]), made(&[("ab", 10)]), Credentials::NONE] {
        assert_ne!(base.digest(), other.digest(), "{other:?}");
    }
}
