use super::*;
use crate::checkpoint::LogKey;
use crate::tiles::TreeHash;

const LATEST: u64 = 2_000_000_000;

fn key(n: u8) -> CosignerKey {
    CosignerKey::from_seed(&format!("witness{n}.example"), &[n; 32]).unwrap()
}

fn note() -> String {
    LogKey::from_seed("semgate.test/log", &[7; 32]).unwrap().sign(3, TreeHash([9; 32])).unwrap()
}

fn cosigned(by: &[u8], time: u64) -> String {
    let note = note();
    let (text, _) = split(&note).unwrap();
    let lines: String = by.iter().map(|n| key(*n).cosign(text, time)).collect();
    format!("{note}{lines}")
}

fn quorum(witnesses: &[u8], need: usize) -> Quorum {
    Quorum::new(witnesses.iter().map(|n| key(*n).verifier().clone()).collect(), need).unwrap()
}

#[test]
fn keys_have_one_text_and_only_that() {
    for key in [key(1), CosignerKey::generate("w.example/a", &ring::rand::SystemRandom::new()).unwrap()] {
        assert_eq!(CosignerKey::from_text(key.to_text()).unwrap().to_text(), key.to_text());
        let vkey = key.verifier().to_string();
        assert_eq!(CosignerVerifier::parse(&vkey).unwrap(), *key.verifier());
        let id = vkey.split('+').nth(1).unwrap();
        let mistyped = vkey.replacen(id, "00000000", 1);
        assert_eq!(CosignerVerifier::parse(&mistyped), Err(CosignatureFault::KeyId));
        // the part of the seed may hold a `+` of its own
        let seed = key.to_text().splitn(5, '+').last().unwrap();
        assert!(seed.len() > 40 && !format!("{key:?}").contains(seed), "{}", key.verifier());
    }
    let log = LogKey::from_seed("semgate.test/log", &[7; 32]).unwrap();
    assert_eq!(CosignerVerifier::parse(&log.verifier().to_string()), Err(CosignatureFault::Key));
    assert_eq!(CosignerKey::from_text(log.to_text().unwrap()).unwrap_err(), CosignatureFault::Key);
}

#[test]
fn a_quorum_counts_each_configured_witness_once() {
    let q = quorum(&[1, 2, 3], 2);
    assert_eq!(q.judge(&cosigned(&[1, 3], 100), LATEST), Ok(2));
    assert_eq!(q.judge(&cosigned(&[1, 2, 3, 4], 100), LATEST), Ok(3));
    for (by, have) in [(&[][..], 0), (&[1], 1), (&[1, 1, 1], 1), (&[4, 5, 6], 0)] {
        let missing = CosignatureFault::Missing { need: 2, have };
        assert_eq!(q.judge(&cosigned(by, 100), LATEST), Err(missing), "{by:?}");
    }
}

#[test]
fn a_cosignature_of_another_checkpoint_time_or_name_does_not_count() {
    let q = quorum(&[1], 1);
    let good = cosigned(&[1], 100);
    assert_eq!(q.judge(&good, LATEST), Ok(1));
    let missing = Err(CosignatureFault::Missing { need: 1, have: 0 });
    let (text, lines) = split(&good).unwrap();
    let other = text.replace("\n3\n", "\n4\n");
    assert_eq!(q.judge(&format!("{other}\n{lines}"), LATEST), missing, "another size");
    assert_eq!(q.judge(&good.replace("witness1", "witness2"), LATEST), missing, "another name");
    assert_eq!(q.judge(&cosigned(&[1], LATEST + 1), LATEST), missing, "from the future");
    assert_eq!(q.judge("no note", LATEST), Err(CosignatureFault::Malformed));
}

#[test]
fn a_quorum_that_nobody_could_reach_or_that_one_key_could_is_refused() {
    let one = key(1).verifier().clone();
    assert_eq!(Quorum::new(vec![one.clone()], 2), Err(CosignatureFault::Quorum));
    let again = CosignerKey::from_seed("another.example", &[1; 32]).unwrap().verifier().clone();
    assert_eq!(Quorum::new(vec![one, again], 1), Err(CosignatureFault::Quorum));
}

/// The example of the C2SP page, whose signature is by a key that it does not tell: the shape of a line is ours.
#[test]
fn lines_have_the_shape_of_the_specification() {
    let good = cosigned(&[1], 1_679_315_147);
    let line = good.lines().last().unwrap();
    let (name, signature) = line.strip_prefix("— ").unwrap().split_once(' ').unwrap();
    let bytes = from_base64(signature).unwrap();
    assert_eq!((name, bytes.len()), ("witness1.example", 4 + 8 + 64));
    assert_eq!(bytes[4..12], 1_679_315_147_u64.to_be_bytes());
    let answer = format!("— other AAAA\n{line}\n");
    let found = |latest| key(1).verifier().line_in(split(&good).unwrap().0, &answer, latest);
    assert_eq!(found(1_679_315_147).unwrap().trim_end(), line);
    assert_eq!(found(1_679_315_146), None, "it is of a later time");
}
