use super::*;

#[test]
fn what_readers_would_refuse_is_refused_here_and_counts_what_waits_in_the_same_batch() {
    let mut room = FollowerCapacity::default();
    room.begin(0, MAX_FLOORS_BYTES - FLOOR_BYTES - 7);
    room.take_floor("payment").unwrap();
    assert_eq!(room.take_floor("p").unwrap_err().code, Code::AuthorityFull);
    room.begin(MAX_TRUST_BYTES - QUOTED_BYTES - 4, 0);
    room.take_root("list").unwrap();
    assert_eq!(room.take_root("").unwrap_err().code, Code::TrustRefused);
}
