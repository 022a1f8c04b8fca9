//! Tests of `memory`.

#[test]
fn the_request_is_refused_and_ends_nothing() {
    assert!(super::give_back());
}
