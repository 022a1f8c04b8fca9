use super::*;
use crate::testing::{AUTHORITY, Keys, MemoryAuthority, ORIGIN, START};
use crate::tiles::TreeHash;
use proptest::prelude::*;

fn rules(keys: &Keys) -> HeadRules<'_> {
    HeadRules { roots: &keys.roots, authority: AUTHORITY, origin: ORIGIN, log: keys.log.verifier() }
}

fn verify(authority: &MemoryAuthority) -> Result<VerifiedHead, HeadFault> {
    VerifiedHead::verify(&authority.signed_head, &rules(&authority.keys), authority.now)
}

#[test]
fn a_head_verifies_and_round_trips() {
    let authority = MemoryAuthority::with_library(START);
    let head = verify(&authority).unwrap();
    assert_eq!(head.head(), &authority.head);
    assert_eq!(head.checkpoint().root, authority.tree.root());
    assert_eq!(Head::read(&authority.head.to_bytes().unwrap()), Ok(authority.head.clone()));
    head.check_times(START, 900).unwrap();
}

#[test]
fn the_head_of_an_empty_log_has_no_shards() {
    let authority = MemoryAuthority::new(START);
    let head = verify(&authority).unwrap();
    assert_eq!((head.head().seq, head.head().shards.len()), (0, 0));
    assert_eq!(head.checkpoint().root, TreeHash::EMPTY);
}

#[test]
fn times_are_held_to_the_readers_clock() {
    let authority = MemoryAuthority::with_library(START);
    let head = verify(&authority).unwrap();
    assert_eq!(head.check_times(START - 60, 600), Ok(()));
    assert_eq!(head.check_times(START - 61, 600), Err(HeadFault::Ahead));
    assert_eq!(head.check_times(START + 599, 600), Ok(()));
    assert_eq!(head.check_times(START + 600, 600), Err(HeadFault::Expired));
    assert_eq!(head.check_times(START, 599), Err(HeadFault::Lifetime));
}

#[test]
fn a_head_without_a_life_is_refused() {
    let mut authority = MemoryAuthority::with_library(START);
    authority.head.next_update = authority.head.issued_at;
    authority.sign_head();
    assert_eq!(verify(&authority).unwrap_err(), HeadFault::Lifetime);
}

#[test]
fn shards_must_cover_the_log_exactly() {
    type Change = fn(&mut Head);
    let changes: [Change; 5] = [
        |head| head.shards.clear(),
        |head| head.shards[0].entries += 1,
        |head| head.shards[0].entries -= 1,
        |head| head.shards[0].n = 1,
        |head| head.shards.push(ShardRef { n: 1, entries: 0, sha256: [0; 32] }),
    ];
    for change in changes {
        let mut authority = MemoryAuthority::with_library(START);
        change(&mut authority.head);
        authority.sign_head();
        assert_eq!(verify(&authority).unwrap_err(), HeadFault::Shards);
    }
    let mut authority = MemoryAuthority::with_library(START);
    authority.head.seq += 1;
    authority.sign_head();
    assert_eq!(verify(&authority).unwrap_err(), HeadFault::Size);
}

#[test]
fn only_the_canonical_payload_is_read() {
    let authority = MemoryAuthority::with_library(START);
    let text = String::from_utf8(authority.head.to_bytes().unwrap()).unwrap();
    let read = |text: &str| Head::read(text.as_bytes());
    assert_eq!(read(&format!("{text} ")), Err(FormatFault::NotCanonical));
    assert_eq!(read(&text.replacen('{', "{\"x\":1,", 1)), Err(FormatFault::UnknownMember));
    assert_eq!(read(&text.replace("\"bits\":2", "\"bits\":1")), Err(FormatFault::Member("bits")));
    assert_eq!(read(&text.replace("\"seq\"", "\"sec\"")), Err(FormatFault::Member("seq")));
    let upper = text.replace(&authority.head.shards[0].hex(), &authority.head.shards[0].hex().to_uppercase());
    assert_eq!(read(&upper), Err(FormatFault::Member("sha256")));
}

#[test]
fn heads_agree_that_differ_in_times_and_signatures_alone() {
    let mut authority = MemoryAuthority::with_library(START);
    let first = verify(&authority).unwrap();
    authority.now += 5;
    authority.renew();
    let second = verify(&authority).unwrap();
    assert_eq!(first.agrees_with(&second), Ok(()));
    authority.head.floors = [1; 32];
    authority.sign_head();
    assert_eq!(first.agrees_with(&verify(&authority).unwrap()), Err(Contradiction));
}

fn cases() -> u32 {
    std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(256)
}

thread_local! {
    static HEAD: Vec<u8> = MemoryAuthority::with_library(START).head.to_bytes().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn fuzz_mutated_heads_round_trip_or_are_refused(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = HEAD.with(Clone::clone);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(head) = Head::read(&bytes) {
            prop_assert_eq!(head.to_bytes().unwrap(), bytes);
        }
    }

    #[test]
    fn fuzz_random_bytes_are_no_document_of_this_room(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(Head::read(&bytes).is_err());
        prop_assert!(crate::floors::FloorsDocument::read(&bytes).is_err());
        prop_assert!(crate::listing::Listing::read(&bytes, &Default::default()).is_err());
        prop_assert!(crate::trust::Trust::read(&bytes, &Default::default()).is_err());
        prop_assert!(crate::token::Token::read(&String::from_utf8_lossy(&bytes)).is_err());
    }
}
