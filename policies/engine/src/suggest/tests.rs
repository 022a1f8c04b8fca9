//! Tests of `suggest`.

use super::closest;

#[test]
fn near_names_are_suggested_and_far_ones_are_not() {
    assert_eq!(closest("no-fre-text", ["no-free-text", "repliers"].into_iter()), Some("no-free-text"));
    assert_eq!(closest("admins", ["no-free-text", "repliers"].into_iter()), None);
}
