use super::*;
use ring::rand::SystemRandom;
use semgate_certs::KeyPair;

const NOW: u64 = 1_800_000_000;

fn key() -> KeyPair {
    KeyPair::generate(&SystemRandom::new()).unwrap()
}

fn roles(of: &[&KeyPair], threshold: u64, online: &KeyPair) -> Roles {
    Roles {
        root: of.iter().map(|key| key.public().clone()).collect(),
        threshold,
        online: online.public().clone(),
    }
}

fn signed(said: Value, by: &[&KeyPair]) -> Metadata {
    let mut metadata = Metadata::draft(said);
    by.iter().for_each(|key| metadata.sign(*key, &SystemRandom::new()).unwrap());
    Metadata::read(&metadata.to_bytes()).unwrap()
}

#[test]
fn what_is_signed_is_canonical_as_olpc_says_it() {
    let value = json!({"b": "line\nbreak \"quoted\" back\\slash", "a": [1, -2, true, null], "é": "ü"});
    let bytes = canonical::bytes(&value).unwrap();
    let wanted = "{\"a\":[1,-2,true,null],\"b\":\"line\nbreak \\\"quoted\\\" back\\\\slash\",\"é\":\"ü\"}";
    assert_eq!(String::from_utf8(bytes).unwrap(), wanted);
    assert_eq!(canonical::bytes(&json!({"a": 1.5})), Err(TufFault::Number));
}

#[test]
fn times_are_written_and_read_back() {
    let root = root(&roles(&[&key()], 1, &key()), 1, NOW).unwrap();
    assert_eq!(root["expires"], "2027-01-15T08:00:00Z");
    for seconds in [0, 951_782_399, 951_782_400, 951_868_800, NOW, 4_107_542_400, 253_402_300_799] {
        let said = snapshot(1, 1, seconds).unwrap();
        assert_eq!(Metadata::draft(said).expires(), Ok(seconds));
    }
    assert_eq!(snapshot(1, 1, 253_402_300_800), Err(TufFault::Member("expires")));
    for text in
        ["2027-02-29T00:00:00Z", "2027-01-15T24:00:00Z", "2027-01-15 08:00:00Z", "2027-13-01T00:00:00Z"]
    {
        let said = json!({"expires": text});
        assert_eq!(Metadata::draft(said).expires(), Err(TufFault::Member("expires")), "{text}");
    }
}

#[test]
fn a_threshold_of_different_keys_of_the_role_must_have_signed() {
    let (a, b, c, online) = (key(), key(), key(), key());
    let said = root(&roles(&[&a, &b, &c], 2, &online), 1, NOW).unwrap();
    let lacks = |signed| Err(TufFault::Threshold { signed, needed: 2 });
    let first = signed(said.clone(), &[&a, &b]);
    assert_eq!(first.check(&first), Ok(()));
    for (by, wanted) in [(vec![&a], lacks(1)), (vec![&online], lacks(0)), (vec![&a, &online], lacks(1))] {
        assert_eq!(signed(said.clone(), &by).check(&first), wanted);
    }
    // the online key speaks for snapshot and timestamp, and for nothing else
    assert_eq!(signed(snapshot(1, 1, NOW).unwrap(), &[&online]).check(&first), Ok(()));
    let files = [("trust-list.json".to_owned(), b"{}".to_vec())];
    assert_eq!(signed(targets(&files, 1, NOW).unwrap(), &[&online]).check(&first), lacks(0));
    assert_eq!(signed(targets(&files, 1, NOW).unwrap(), &[&b, &c]).check(&first), Ok(()));
    // a word more or less, and the signatures are of something else
    let mut forged = serde_json::from_slice::<Value>(&first.to_bytes()).unwrap();
    forged["signed"]["version"] = json!(2);
    assert_eq!(Metadata::read(forged.to_string().as_bytes()).unwrap().check(&first), lacks(0));
}

#[test]
fn attack_one_key_under_two_ids_is_one_key() {
    let (a, b, online) = (key(), key(), key());
    let mut said = root(&roles(&[&a, &b], 2, &online), 1, NOW).unwrap();
    let id = key_id(a.public()).unwrap();
    said["keys"]["alias"] = said["keys"][&id].clone();
    said["roles"]["root"]["keyids"] = json!([id, "alias"]);
    let mut twice = signed(said, &[&a]);
    let signature = twice.signatures[&id].clone();
    twice.signatures.insert("alias".to_owned(), signature);
    assert_eq!(twice.check(&twice), Err(TufFault::Threshold { signed: 1, needed: 2 }));
}

#[test]
fn a_root_follows_another_by_the_word_of_both_and_the_next_number() {
    let (old, new, online) = (key(), key(), key());
    let first = signed(root(&roles(&[&old], 1, &online), 1, NOW).unwrap(), &[&old]);
    let next =
        |version, by: &[&KeyPair]| signed(root(&roles(&[&new], 1, &online), version, NOW).unwrap(), by);
    assert_eq!(next(2, &[&old, &new]).follows(&first), Ok(()));
    let lacks = Err(TufFault::Threshold { signed: 0, needed: 1 });
    assert_eq!(next(2, &[&old]).follows(&first), lacks);
    assert_eq!(next(2, &[&new]).follows(&first), lacks);
    assert_eq!(next(3, &[&old, &new]).follows(&first), Err(TufFault::Version));
    assert_eq!(next(1, &[&old, &new]).follows(&first), Err(TufFault::Version));
}

#[test]
fn what_is_no_metadata_is_refused() {
    for (text, fault) in [
        ("{", TufFault::Json),
        (r#"{"signed":{},"signed":{},"signatures":[]}"#, TufFault::Json),
        (r#"{"signed":{}}"#, TufFault::Envelope),
        (r#"{"signed":[],"signatures":[]}"#, TufFault::Envelope),
        (r#"{"signed":{},"signatures":[{"keyid":"a"}]}"#, TufFault::Envelope),
        (
            r#"{"signed":{},"signatures":[{"keyid":"a","sig":"00"},{"keyid":"a","sig":"00"}]}"#,
            TufFault::Envelope,
        ),
    ] {
        assert_eq!(Metadata::read(text.as_bytes()), Err(fault), "{text}");
    }
    let (a, online) = (key(), key());
    assert_eq!(root(&roles(&[&a], 2, &online), 1, NOW), Err(TufFault::Member("threshold")));
    assert_eq!(root(&roles(&[&a, &a], 2, &online), 1, NOW), Err(TufFault::Member("threshold")));
}
