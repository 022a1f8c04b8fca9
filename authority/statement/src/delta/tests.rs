use super::*;
use crate::head::ShardRef;
use crate::status::Changes;
use crate::testing::{AUTHORITY, Keys, ORIGIN, START};
use crate::tiles::TreeHash;
use proptest::prelude::*;

fn cases() -> u32 {
    std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(256)
}

thread_local! {
    static KEYS: Keys = Keys::new(START);
}

/// A head of a log whose statuses are these; its signature is a true one.
fn head(keys: &Keys, list: &StatusList) -> (Head, Vec<u8>) {
    let head = Head {
        authority: AUTHORITY.to_owned(),
        origin: ORIGIN.to_owned(),
        seq: list.len(),
        issued_at: START,
        next_update: START + 600,
        checkpoint: keys.log.sign(list.len(), TreeHash::EMPTY).unwrap(),
        shards: list.shards().iter().map(ShardRef::of).collect(),
        floors: [7; 32],
        root_statements: list.len() % 2,
    };
    let signed = head.sign(&keys.feed, &keys.random).unwrap();
    (head, signed)
}

fn of_length(len: u64) -> StatusList {
    let mut list = StatusList::new();
    (0..len).for_each(|_| list.push(Status::Valid));
    list
}

/// Two lists of one log, and what changed between them.
fn two(len: u64, grown: u64, first: &[(u64, u8)], then: &[(u64, u8)]) -> (StatusList, StatusList, Changes) {
    let mut list = of_length(len);
    for (index, bits) in first {
        list.set(index % len, Status::from_bits(*bits));
    }
    let (had, mut changes) = (list.clone(), Changes::default());
    (0..grown).for_each(|_| list.push(Status::Valid));
    for (index, bits) in then {
        let (index, status) = (index % list.len(), Status::from_bits(*bits));
        list.set(index, status);
        changes.note(list.len().max(len + 1), index, status);
    }
    (had, list, changes)
}

fn small() -> Delta {
    KEYS.with(|keys| {
        let (had, list, changes) = two(100, 20, &[(3, 1)], &[(1, 1), (70, 2), (99, 3), (110, 1), (3, 0)]);
        let (_, signed) = head(keys, &list);
        let bytes = HeadParts::of(&signed).unwrap().delta(had.len(), changes.after(100).unwrap()).unwrap();
        Delta::read(&bytes).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_a_delta_leads_to_is_the_signed_head_and_its_lists_to_the_byte(
        len in prop_oneof![1u64..300, 65_530u64..65_545, 131_070u64..131_080],
        grown in prop_oneof![Just(0u64), 1u64..50, 65_530u64..65_540],
        first in prop::collection::vec((any::<u64>(), 0u8..4), 0..20),
        then in prop::collection::vec((any::<u64>(), 0u8..4), 0..40),
    ) {
        // a change takes an entry
        let grown = if then.is_empty() { grown } else { grown.max(1) };
        let (had, list, changes) = two(len, grown, &first, &then);
        KEYS.with(|keys| {
            let (before, _) = head(keys, &had);
            let (after, signed) = head(keys, &list);
            let parts = HeadParts::of(&signed).unwrap();
            let bytes = parts.delta(len, changes.after(len).unwrap()).unwrap();
            let applied = Delta::read(&bytes).unwrap().apply(&before.shards, &had, &keys.feed.chain).unwrap();
            prop_assert!(applied.head == signed);
            for shard in list.shards() {
                let here = applied.shards.iter().find(|(name, _)| *name == shard.sha256());
                let known = had.shards().iter().any(|it| it.sha256() == shard.sha256());
                prop_assert!(known || here.is_some_and(|(_, bytes)| **bytes == **shard.bytes));
            }
            prop_assert!(applied.shards.iter().all(|(name, _)| after.shards.iter().any(|it| it.sha256 == *name)));
            Ok(())
        })?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn fuzz_indexes_have_one_spelling(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Some(indexes) = read_indexes(&bytes) {
            prop_assert!(indexes.windows(2).all(|two| two[0] < two[1]));
            prop_assert_eq!(write_indexes(indexes.into_iter()), bytes);
        }
    }

    #[test]
    fn fuzz_a_mutated_delta_is_refused_or_means_what_it_says(
        at in any::<prop::sample::Index>(), flip in 1u8..=255, cut in any::<bool>(),
    ) {
        let mut bytes = small().to_bytes().unwrap();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] ^= flip }
        if let Ok(delta) = Delta::read(&bytes) {
            prop_assert_eq!(delta.to_bytes().unwrap(), bytes);
            let list = of_length(100);
            let shards: Vec<_> = list.shards().iter().map(ShardRef::of).collect();
            let _ = KEYS.with(|keys| delta.apply(&shards, &list, &keys.feed.chain));
        }
    }

    #[test]
    fn fuzz_any_bytes_are_no_delta(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(Delta::read(&bytes).is_err());
    }
}

/// A delta of these members.
fn with(member: &str, value: serde_json::Value) -> Vec<u8> {
    let mut json: serde_json::Value = serde_json::from_slice(&small().to_bytes().unwrap()).unwrap();
    json[member] = value;
    write(&json).unwrap()
}

#[test]
fn forms_that_are_refused_each_for_its_reason() {
    let lists = |name: &str, bytes: &[u8]| json!({ name: to_base64url(bytes) });
    let changed = FormatFault::Member("changed");
    for (bytes, fault) in [
        (with("changed", lists("invalid", &[])), changed),
        (with("changed", lists("invalid", &[0x80])), changed),
        (with("changed", lists("invalid", &[0x81, 0x00])), changed),
        (with("changed", lists("invalid", &[0xff; 9])), changed),
        (with("changed", lists("invalid", &[120])), changed),
        (with("changed", lists("invalid", &[60, 59])), changed),
        (with("changed", json!({"invalid": "AQ=="})), changed),
        (with("changed", json!({"invalid": "AQ", "suspended": "AQ"})), changed),
        (with("changed", json!({"revoked": "AQ"})), FormatFault::UnknownMember),
        (with("changed", json!([])), FormatFault::Member("object")),
        (with("from", json!(121)), FormatFault::Member("head")),
        (with("from", json!(-1)), FormatFault::Member("from")),
        (with("more", json!(1)), FormatFault::UnknownMember),
        (with("head", json!("{}")), FormatFault::Member("authority")),
        ([&small().to_bytes().unwrap()[..], b" "].concat(), FormatFault::NotCanonical),
        (vec![b' '; MAX_DELTA_BYTES + 1], FormatFault::TooLarge),
    ] {
        assert_eq!(
            Delta::read(&bytes),
            Err(fault),
            "{}",
            String::from_utf8_lossy(&bytes[..200.min(bytes.len())])
        );
    }
    // a head that brings shards of its own
    let whole = KEYS.with(|keys| head(keys, &of_length(120)).0.to_bytes().unwrap());
    let whole = String::from_utf8(whole).unwrap();
    assert_eq!(Delta::read(&with("head", json!(whole))), Err(FormatFault::Member("head")));
}

#[test]
fn attack_a_delta_that_begins_elsewhere_or_grows_without_end() {
    let (delta, from) = (small(), FormatFault::Member("from"));
    KEYS.with(|keys| {
        for len in [0, 99, 101, 65_636] {
            let list = of_length(len);
            let shards: Vec<_> = list.shards().iter().map(ShardRef::of).collect();
            assert_eq!(delta.apply(&shards, &list, &keys.feed.chain), Err(from), "{len}");
        }
        assert_eq!(delta.apply(&[], &of_length(100), &keys.feed.chain), Err(from), "no shards known");
        let mut endless = delta.clone();
        endless.parts.head.seq = (1 << 53) - 1;
        let endless = Delta::read(&endless.to_bytes().unwrap()).unwrap();
        let list = of_length(100);
        let shards: Vec<_> = list.shards().iter().map(ShardRef::of).collect();
        assert_eq!(endless.apply(&shards, &list, &keys.feed.chain), Err(from));
    });
}

#[test]
fn as_many_changes_as_are_remembered_fit_and_no_more() {
    KEYS.with(|keys| {
        let (_, signed) = head(keys, &of_length(0));
        let mut parts = HeadParts::of(&signed).unwrap();
        // far apart: every gap takes four bytes
        parts.head.seq = 1 << 40;
        let changed = |n: usize| (0..n as u64).map(|n| (n << 22, Status::Invalid)).collect();
        let most = parts.delta(0, changed(MAX_CHANGES)).unwrap();
        assert!(most.len() < MAX_DELTA_BYTES, "{}", most.len());
        assert!(Delta::read(&most).is_ok());
        assert_eq!(parts.delta(0, changed(MAX_CHANGES + 1)), Err(FormatFault::Member("changed")));
    });
}

#[test]
fn what_a_mirror_puts_together_of_its_heads_is_what_the_authority_serves() {
    use crate::statement::Act;
    use crate::testing::{DELTAS, MemoryAuthority};
    let mut authority = MemoryAuthority::with_library(START);
    authority.deltas = true;
    let statuses = |authority: &MemoryAuthority| {
        let token = |named: &ShardRef| authority.shards.get(&named.hex()).cloned();
        let list = statuses_of(&authority.signed_head, token).unwrap();
        assert_eq!(list, *authority.replay.statuses());
        list
    };
    let mut kept: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    let mut before: Option<StatusList> = None;
    let mut follow = |authority: &mut MemoryAuthority| {
        let now = statuses(authority);
        let older: Vec<Delta> = kept.values().map(|bytes| Delta::read(bytes).unwrap()).collect();
        kept = HeadParts::of(&authority.signed_head).unwrap().onwards(&now, before.as_ref(), &older);
        for (from, bytes) in &kept {
            let served = authority.get(&format!("{DELTAS}{from}"), None);
            assert_eq!((served.status, &served.body), (200, bytes), "{from}");
        }
        before = Some(now);
        kept.keys().copied().collect::<Vec<_>>()
    };
    let size = authority.tree.size();
    assert_eq!(follow(&mut authority), [size]);
    authority.change(Act::Revoke, "travel:v2.1");
    assert_eq!(follow(&mut authority), [size, size + 1]);
    authority.now += 10;
    authority.renew();
    assert_eq!(follow(&mut authority), [size, size + 1], "another head of the same log");
    authority.change(Act::Suspend, "payment:v1.0");
    authority.publish(&MemoryAuthority::document("one:v1.0", "thing"));
    assert_eq!(follow(&mut authority), [size, size + 1, size + 3]);
    // of another log, or of nothing: what is newest alone
    let (now, parts) = (statuses(&authority), HeadParts::of(&authority.signed_head).unwrap());
    let other: Vec<Delta> = kept.values().map(|bytes| Delta::read(bytes).unwrap()).collect();
    let stale = of_length(size);
    let sizes =
        |before: Option<&StatusList>| parts.onwards(&now, before, &other).into_keys().collect::<Vec<_>>();
    assert_eq!(sizes(None), [size + 3]);
    assert_eq!(sizes(Some(&stale)), [size, size + 3]);
    assert_eq!(sizes(Some(&of_length(size + 9))), [size + 3]);
    // a token in the place of another names no list
    assert_eq!(statuses_of(&authority.signed_head, |_| authority.shards.get("1").cloned()), None);
}
