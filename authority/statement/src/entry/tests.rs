use super::*;
use crate::testing::{Keys, MemoryAuthority, START};
use proptest::prelude::*;
use semgate_contexts::{Line, Version};

fn entry(keys: &Keys) -> Entry {
    let line = Line::parse("payment").unwrap();
    let statement = Statement::Floor { line, min: Version::new(1, 1), reason: String::new() };
    Entry::new(START, SignedStatement::sign(statement, &keys.status, &keys.random).unwrap()).unwrap()
}

#[test]
fn an_entry_is_the_canonical_object_of_time_and_statement() {
    let keys = Keys::new(START - 10);
    let entry = entry(&keys);
    let expected = format!(r#"{{"logged_at":{START},"statement":"{}"}}"#, entry.signed().as_str());
    assert_eq!(entry.bytes(), expected.as_bytes());
    let again = Entry::read(entry.bytes(), &Prefix::default()).unwrap();
    assert_eq!((again.logged_at(), again.bytes()), (START, entry.bytes()));
    let mut trust = Trust::new("semgate.test");
    trust.insert(keys.status.chain.clone());
    assert_eq!(again.verify(&trust, &keys.roots).unwrap().logged_at(), START);
}

#[test]
fn another_form_of_the_same_entry_is_refused() {
    let keys = Keys::new(START - 10);
    let text = String::from_utf8(entry(&keys).bytes().to_vec()).unwrap();
    let read = |text: &str| Entry::read(text.as_bytes(), &Prefix::default()).map(|_| ());
    let canonical = Err(StatementFault::Format(FormatFault::NotCanonical));
    assert_eq!(read(&text.replace(",\"", ", \"")), canonical);
    assert_eq!(read(&text.replace(&START.to_string(), &format!("{START}.0"))), canonical);
    assert_eq!(read(&format!("{text}\n")), canonical);
    let unknown = Err(StatementFault::Format(FormatFault::UnknownMember));
    assert_eq!(read(&text.replacen('{', "{\"index\":1,", 1)), unknown);
    let missing = Err(StatementFault::Format(FormatFault::Member("logged_at")));
    assert_eq!(read(&text.replace("logged_at", "logged_bt")), missing);
    let negative = Err(StatementFault::Format(FormatFault::Member("logged_at")));
    assert_eq!(read(&text.replace(&START.to_string(), "-1")), negative);
}

#[test]
fn an_entry_past_the_length_prefix_is_refused() {
    let long = vec![b' '; MAX_ENTRY_BYTES + 1];
    let fault = Entry::read(&long, &Prefix::default()).unwrap_err();
    assert_eq!(fault, StatementFault::Format(FormatFault::TooLarge));
}

fn cases() -> u32 {
    std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(256)
}

thread_local! {
    static AUTHORITY: MemoryAuthority = MemoryAuthority::with_library(START);
    static ENTRY: Entry = entry(&Keys::new(START - 10));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn fuzz_mutated_entries_round_trip_or_are_refused(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = ENTRY.with(|entry| entry.bytes().to_vec());
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(entry) = Entry::read(&bytes, &Prefix::default()) {
            prop_assert_eq!(entry.bytes(), &bytes);
        }
    }

    #[test]
    fn fuzz_random_bytes_are_no_entry_bundle_or_tile(
        bytes in prop::collection::vec(any::<u8>(), 0..400), width in 0u32..300, path in "\\PC{0,40}",
    ) {
        prop_assert!(Entry::read(&bytes, &Prefix::default()).is_err());
        if let Ok(entries) = crate::tiles::decode_bundle(&bytes, width) {
            prop_assert_eq!(crate::tiles::encode_bundle(&entries).unwrap(), bytes.clone());
        }
        if let Ok(tile) = crate::tiles::TilePath::parse(&format!("/tile/{path}")) {
            prop_assert_eq!(tile.to_string(), format!("/tile/{path}"));
        }
        AUTHORITY.with(|authority| {
            let mut tiles = authority.tiles.clone();
            for (_, tile) in tiles.iter_mut() {
                *tile = bytes.iter().cycle().take(if bytes.is_empty() { 0 } else { tile.len() }).copied().collect();
            }
            let (size, root) = (authority.tree.size(), authority.tree.root());
            assert!(crate::tiles::leaf_hashes(&[0], size, root, &tiles).is_err());
        });
    }
}
