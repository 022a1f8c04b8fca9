use super::*;
use proptest::prelude::*;
use ring::rand::SystemRandom;

const ORIGIN: &str = "semgate.test/log";

fn key() -> LogKey {
    LogKey::from_seed(ORIGIN, &[7; 32]).unwrap()
}

#[test]
fn a_checkpoint_has_exactly_these_bytes() {
    let note = key().sign(2, TreeHash::of_leaf(b"x")).unwrap();
    let lines: Vec<&str> = note.split('\n').collect();
    assert_eq!(lines[..4], [ORIGIN, "2", &TreeHash::of_leaf(b"x").to_string(), ""]);
    assert!(lines[4].starts_with("— semgate.test/log "));
    assert_eq!(lines[5..], [""]);
    assert_eq!(note, key().sign(2, TreeHash::of_leaf(b"x")).unwrap(), "Ed25519 is deterministic");
    let checkpoint = Checkpoint::verify(note.as_bytes(), key().verifier(), ORIGIN).unwrap();
    assert_eq!((checkpoint.size, checkpoint.root), (2, TreeHash::of_leaf(b"x")));
}

#[test]
fn keys_have_a_text_form_for_every_seed() {
    // Base64 may hold a `+`, which separates the parts of the text too.
    for seed in 0..=255u8 {
        let key = LogKey::from_seed(ORIGIN, &[seed; 32]).unwrap();
        let again = LogKey::from_text(&format!("{}\n", key.to_text().unwrap())).unwrap();
        assert_eq!(again.verifier(), key.verifier());
        assert_eq!(LogVerifier::parse(&key.verifier().to_string()).unwrap(), *key.verifier());
        assert_eq!(key.verifier().name(), ORIGIN);
        assert!(!format!("{key:?}").contains("PRIVATE"));
    }
    LogKey::generate(ORIGIN, &SystemRandom::new()).unwrap();
}

#[test]
fn wrong_keys_are_refused() {
    for text in ["", "PRIVATE+KEY+a+00000000", "semgate.test/log+00000000+A", "semgate.test/log"] {
        assert!(matches!(LogKey::from_text(text), Err(CheckpointFault::Key)));
        assert!(matches!(LogVerifier::parse(text), Err(CheckpointFault::Key)));
    }
    for origin in ["", "two words", "a+b"] {
        assert_eq!(LogKey::from_seed(origin, &[7; 32]).unwrap_err(), CheckpointFault::Key);
    }
}

#[test]
fn a_key_whose_id_is_not_that_of_its_name_and_key_is_told_so_whichever_was_mistyped() {
    let vkey = key().verifier().to_string();
    let id = vkey.split('+').nth(1).unwrap();
    let last = vkey.len() - 3;
    let other = if &vkey[last..=last] == "A" { "B" } else { "A" };
    let mistyped = [
        vkey.replace("semgate", "another"),
        vkey.replace(id, "00000000"),
        format!("{}{other}{}", &vkey[..last], &vkey[last + 1..]),
    ];
    for text in mistyped {
        assert_eq!(LogVerifier::parse(&text).unwrap_err(), CheckpointFault::KeyId, "{text}");
    }
    let secret = key().to_text().unwrap().replace(id, "00000000");
    assert_eq!(LogKey::from_text(&secret).unwrap_err(), CheckpointFault::KeyId);
    assert_eq!(CheckpointFault::KeyId.to_string(), "note key whose id does not match its name and key");
}

#[test]
fn each_part_of_a_checkpoint_is_held_to_its_form() {
    let root = TreeHash::of_leaf(b"x");
    let good = key().sign(2, root).unwrap();
    let verify = |note: &str| Checkpoint::verify(note.as_bytes(), key().verifier(), ORIGIN);
    assert_eq!(verify(&good.replace("\n2\n", "\n3\n")), Err(CheckpointFault::Signature));
    assert_eq!(verify(&good.replace("\n2\n", "\n02\n")), Err(CheckpointFault::Signature));
    assert_eq!(verify(good.trim_end()), Err(CheckpointFault::Malformed));
    assert_eq!(verify(&format!("{good}\n")), Err(CheckpointFault::Malformed));
    assert_eq!(verify(&good.replace('\n', "\r\n")), Err(CheckpointFault::Malformed));
    assert_eq!(verify(&"x".repeat(MAX_CHECKPOINT_BYTES + 1)), Err(CheckpointFault::TooLarge));
    let other = LogKey::from_seed(ORIGIN, &[8; 32]).unwrap();
    assert_eq!(verify(&other.sign(2, root).unwrap()), Err(CheckpointFault::Signature));
    let elsewhere = LogKey::from_seed("other.test/log", &[7; 32]).unwrap();
    assert_eq!(verify(&elsewhere.sign(2, root).unwrap()), Err(CheckpointFault::Signature));
    assert_eq!(
        Checkpoint::verify(good.as_bytes(), key().verifier(), "other.test/log"),
        Err(CheckpointFault::Origin)
    );
    assert_eq!(verify(&key().sign(MAX_TREE_SIZE + 1, root).unwrap()), Err(CheckpointFault::TooLarge));
    assert_eq!(verify(&key().sign(0, root).unwrap()), Err(CheckpointFault::Malformed));
    assert!(verify(&key().sign(0, TreeHash::EMPTY).unwrap()).is_ok());
}

/// The same key in the hands of the library that others sign notes with.
fn stock(key: &LogKey) -> StandardSigner {
    StandardSigner::new(key.to_text().unwrap()).unwrap()
}

#[test]
fn a_checkpoint_is_byte_for_byte_the_note_that_a_stock_signer_makes() {
    let good = key().sign(2, TreeHash::of_leaf(b"x")).unwrap();
    let (text, _) = good.split_once("\n\n").unwrap();
    let mut note = Note::new(format!("{text}\n").as_bytes(), &[]).unwrap();
    note.add_sigs(&[&stock(&key())]).unwrap();
    assert_eq!(String::from_utf8(note.to_bytes()).unwrap(), good);
}

#[test]
fn signatures_of_witnesses_are_let_be() {
    let good = key().sign(2, TreeHash::of_leaf(b"x")).unwrap();
    let witness = LogKey::from_seed("witness.test", &[9; 32]).unwrap();
    let cosignature = {
        let mut note = Note::from_bytes(good.as_bytes()).unwrap();
        note.add_sigs(&[&stock(&witness)]).unwrap();
        note.to_bytes()
    };
    assert!(Checkpoint::verify(&cosignature, key().verifier(), ORIGIN).is_ok());
}

#[test]
fn extension_lines_are_refused() {
    let text =
        tlog_tiles::Checkpoint::new(ORIGIN, 2, tlog_tiles::Hash([1; 32]), "more\n").unwrap().to_bytes();
    let mut note = Note::new(&text, &[]).unwrap();
    note.add_sigs(&[&stock(&key())]).unwrap();
    let verified = Checkpoint::verify(&note.to_bytes(), key().verifier(), ORIGIN);
    assert_eq!(verified, Err(CheckpointFault::Malformed));
}

fn cases() -> u32 {
    std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(256)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn fuzz_mutated_checkpoints_never_verify_as_something_else(
        at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
    ) {
        let root = TreeHash::of_leaf(b"x");
        let mut note = key().sign(77, root).unwrap().into_bytes();
        let at = at.index(note.len());
        if cut { note.truncate(at) } else { note[at] = byte }
        if let Ok(checkpoint) = Checkpoint::verify(&note, key().verifier(), ORIGIN) {
            prop_assert_eq!((checkpoint.size, checkpoint.root), (77, root));
        }
    }

    #[test]
    fn fuzz_random_text_is_no_checkpoint_and_no_key(text in "[\\PC\n+]{0,200}") {
        prop_assert!(Checkpoint::verify(text.as_bytes(), key().verifier(), ORIGIN).is_err());
        prop_assert!(LogKey::from_text(&text).is_err());
        prop_assert!(LogVerifier::parse(&text).is_err());
    }
}
