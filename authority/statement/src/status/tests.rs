use super::*;
use proptest::prelude::*;
use std::sync::Arc;

#[test]
fn statuses_are_packed_from_the_low_bits_up_as_the_ietf_draft_says() {
    // draft-ietf-oauth-status-list, "Status List": 2-bit statuses 1,2,0,3, 0,1,0,1, 1,2,3,3 are c9 44 f9.
    let mut list = StatusList::new();
    for bits in [1, 2, 0, 3, 0, 1, 0, 1, 1, 2, 3, 3] {
        list.push(Status::from_bits(bits));
    }
    let shards = list.shards();
    assert_eq!(shards.len(), 1);
    assert_eq!(*shards[0].bytes, [0xc9, 0x44, 0xf9]);
    assert_eq!(shards[0].entries, 12);
    assert_eq!(list.get(3), Some(Status::Deprecated));
    assert_eq!(list.get(12), None);
}

#[test]
fn shards_are_cut_at_65_536_entries_and_put_back_together() {
    let mut list = StatusList::new();
    for n in 0..SHARD_ENTRIES + 5 {
        list.push(Status::from_bits((n % 4) as u8));
    }
    let shards = list.shards();
    assert_eq!(shards.iter().map(|s| s.entries).collect::<Vec<_>>(), [SHARD_ENTRIES, 5]);
    assert_eq!(StatusList::from_shards(&shards), Some(list.clone()));
    assert_eq!(StatusList::from_shards(&[]), Some(StatusList::new()));
    let wrong = |change: &dyn Fn(&mut Vec<Shard>)| {
        let mut shards = shards.clone();
        change(&mut shards);
        assert_eq!(StatusList::from_shards(&shards), None);
    };
    wrong(&|s| s.reverse());
    wrong(&|s| s[1].n = 2);
    wrong(&|s| s[0].entries -= 1);
    wrong(&|s| Arc::make_mut(&mut s[1].bytes).push(0));
    wrong(&|s| Arc::make_mut(&mut s[1].bytes)[1] |= 0b1100); // past the fifth entry
    wrong(&|s| s[1].entries = 0);
    wrong(&|s| {
        s.remove(0);
    });
}

#[test]
fn an_invalid_that_returns_is_found() {
    let mut old = StatusList::new();
    for status in [Status::Valid, Status::Invalid, Status::Suspended] {
        old.push(status);
    }
    let mut new = old.clone();
    new.push(Status::Valid);
    new.set(2, Status::Valid);
    assert_eq!(old.first_unrevoked(&new), None);
    new.set(1, Status::Suspended);
    assert_eq!(old.first_unrevoked(&new), Some(1));
    assert_eq!(old.first_unrevoked(&StatusList::new()), Some(1));
}

#[test]
fn a_change_touches_the_one_shard_that_it_falls_in() {
    let mut list = StatusList::new();
    (0..3 * SHARD_ENTRIES).for_each(|_| list.push(Status::Valid));
    let before = list.shards();
    list.set(SHARD_ENTRIES + 7, Status::Invalid);
    list.set(1, Status::Valid);
    let same: Vec<bool> =
        before.iter().zip(list.shards()).map(|(a, b)| Arc::ptr_eq(&a.bytes, &b.bytes)).collect();
    assert_eq!(same, [true, false, true]);
    assert_eq!(StatusList::from_shards(&before).unwrap().get(SHARD_ENTRIES + 7), Some(Status::Valid));
}

#[test]
fn names_have_one_spelling() {
    for status in (0..4).map(Status::from_bits) {
        assert_eq!(Status::parse(status.as_str()), Some(status));
        assert_eq!(Status::from_bits(status.bits()), status);
    }
    assert_eq!(Status::parse("VALID"), None);
}

proptest! {
    #[test]
    fn set_changes_one_entry_alone(values in prop::collection::vec(0u8..4, 1..200), at in any::<prop::sample::Index>(), to in 0u8..4) {
        let mut list = StatusList::new();
        values.iter().for_each(|v| list.push(Status::from_bits(*v)));
        let at = at.index(values.len());
        list.set(at as u64, Status::from_bits(to));
        list.set(values.len() as u64, Status::Invalid);
        for (n, value) in values.iter().enumerate() {
            let expected = if n == at { to } else { *value };
            prop_assert_eq!(list.get(n as u64), Some(Status::from_bits(expected)));
        }
        prop_assert_eq!(StatusList::from_shards(&list.shards()), Some(list));
    }
}
