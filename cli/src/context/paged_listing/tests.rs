//! Tests of `paged_listing`.

use super::*;

#[test]
fn bug_what_a_status_list_does_not_reach_was_shown_as_valid() {
    assert_eq!(status(&[0b0000_0100], 1), Some(Status::from_bits(1)));
    assert_eq!(status(&[0b0000_0100], 3), Some(Status::from_bits(0)));
    assert_eq!(status(&[0b0000_0100], 4), None);
    assert_eq!(status(&[], SHARD_ENTRIES), None);
}
