use super::*;
use crate::testing::{Keys, START};
use proptest::prelude::*;
use semgate_certs::Usage;
use serde_json::{Value, json};

const TYP: &str = "test+jws";
const MAX: usize = 64 * 1024;

fn signed(keys: &Keys) -> Value {
    serde_json::from_slice(&General::sign(b"{\"a\":1}", TYP, &keys.feed, &keys.random).unwrap()).unwrap()
}

fn read(keys: &Keys, value: &Value) -> Result<General, JwsFault> {
    General::read(&serde_json::to_vec(value).unwrap(), TYP, &keys.roots, MAX)
}

fn fault(keys: &Keys, value: &Value) -> JwsFault {
    match read(keys, value).and_then(|jws| jws.verify(&keys.roots, Usage::Feed, START)) {
        Ok(_) => panic!("accepted"),
        Err(fault) => fault,
    }
}

/// The same JWS with another protected header, still signed by the feed key.
fn with_header(keys: &Keys, header: &Value) -> Value {
    let mut value = signed(keys);
    let protected = to_base64url(serde_json::to_vec(header).unwrap());
    let input = format!("{protected}.{}", value["payload"].as_str().unwrap());
    let signature = keys.feed.key.sign(&keys.random, input.as_bytes()).unwrap();
    value["signatures"][0]["protected"] = protected.into();
    value["signatures"][0]["signature"] = to_base64url(signature).into();
    value
}

fn header(keys: &Keys) -> Value {
    let key = keys.feed.thumbprint().to_string();
    json!({"alg": "ES256", "kid": key, "typ": TYP, "x5t#S256": key})
}

#[test]
fn what_was_signed_verifies_and_gives_back_its_payload() {
    let keys = Keys::new(START - 10);
    let (payload, leaf) =
        read(&keys, &signed(&keys)).unwrap().verify(&keys.roots, Usage::Feed, START).unwrap();
    assert_eq!(payload, b"{\"a\":1}");
    assert_eq!(leaf.thumbprint(), keys.feed.thumbprint());
    let compact = Compact::sign(b"x", TYP, &keys.feed, &keys.random).unwrap();
    let compact = Compact::read(&compact, TYP, MAX).unwrap();
    compact.verify(&keys.feed.chain, &keys.roots, Usage::Feed, START).unwrap();
    assert_eq!(compact.unverified_payload(), b"x");
}

#[test]
fn a_bare_header_of_the_closed_set_is_accepted_in_any_member_order() {
    let keys = Keys::new(START - 10);
    let key = keys.feed.thumbprint().to_string();
    let text = format!("{{\"typ\":\"{TYP}\",\"x5t#S256\":\"{key}\", \"kid\":\"{key}\",\"alg\":\"ES256\"}}");
    let value = with_header(&keys, &serde_json::from_str(&text).unwrap());
    read(&keys, &value).unwrap().verify(&keys.roots, Usage::Feed, START).unwrap();
}

#[test]
fn every_header_outside_the_closed_set_is_refused() {
    let keys = Keys::new(START - 10);
    let with = |name: &str, value: Value| {
        let mut header = header(&keys);
        header[name] = value;
        with_header(&keys, &header)
    };
    let without = |name: &str| {
        let mut header = header(&keys);
        header.as_object_mut().unwrap().remove(name);
        with_header(&keys, &header)
    };
    for (name, value) in [
        ("crit", json!(["b64"])),
        ("b64", json!(false)),
        ("jku", json!("https://x/")),
        ("jwk", json!({})),
        ("x5u", json!("https://x/")),
        ("x5c", json!([])),
        ("x5t", json!("x")),
        ("cty", json!("json")),
        ("zip", json!("DEF")),
    ] {
        assert_eq!(fault(&keys, &with(name, value)), JwsFault::HeaderMember, "{name}");
    }
    for alg in ["none", "HS256", "EdDSA", "ES384", "RS256", "es256", ""] {
        assert_eq!(fault(&keys, &with("alg", json!(alg))), JwsFault::Algorithm, "{alg}");
    }
    let other_key = JwsFault::Signature(SignatureFault::WrongAlgorithm);
    assert_eq!(fault(&keys, &with("alg", json!("Ed25519"))), other_key);
    assert_eq!(fault(&keys, &with("typ", json!("application/test+jws"))), JwsFault::Type);
    assert_eq!(fault(&keys, &with("typ", json!("TEST+JWS"))), JwsFault::Type);
    assert_eq!(fault(&keys, &with("kid", json!("feed-1"))), JwsFault::KeyId);
    assert_eq!(fault(&keys, &with("x5t#S256", json!("feed-1"))), JwsFault::KeyId);
    for name in ["alg", "kid", "typ", "x5t#S256"] {
        assert!(matches!(fault(&keys, &without(name)), JwsFault::Format(FormatFault::Member(_))), "{name}");
    }
    let mut other = header(&keys);
    let key = keys.status.thumbprint().to_string();
    other["kid"] = key.clone().into();
    other["x5t#S256"] = key.into();
    assert_eq!(fault(&keys, &with_header(&keys, &other)), JwsFault::Thumbprint);
}

#[test]
fn a_duplicate_member_of_the_header_is_refused() {
    let keys = Keys::new(START - 10);
    let mut value = signed(&keys);
    let text = serde_json::to_string(&header(&keys)).unwrap().replacen('{', "{\"alg\":\"ES256\",", 1);
    value["signatures"][0]["protected"] = to_base64url(text.as_bytes()).into();
    assert!(matches!(fault(&keys, &value), JwsFault::Format(FormatFault::Json(_))));
}

#[test]
fn flattened_compact_and_other_serialisations_are_refused() {
    let keys = Keys::new(START - 10);
    let value = signed(&keys);
    let one = &value["signatures"][0];
    let flattened = json!({
        "payload": value["payload"], "protected": one["protected"], "header": one["header"], "signature": one["signature"],
    });
    assert_eq!(fault(&keys, &flattened), JwsFault::Serialisation);
    let mut two = value.clone();
    two["signatures"] = json!([one, one]);
    assert_eq!(fault(&keys, &two), JwsFault::SignatureCount);
    let mut none = value.clone();
    none["signatures"] = json!([]);
    assert_eq!(fault(&keys, &none), JwsFault::SignatureCount);
    let mut more = value.clone();
    more["extra"] = json!(1);
    assert_eq!(fault(&keys, &more), JwsFault::Serialisation);
    let mut unprotected = value.clone();
    unprotected["signatures"][0]["header"]["alg"] = json!("none");
    assert_eq!(fault(&keys, &unprotected), JwsFault::Serialisation);
    let compact = Compact::sign(b"{}", TYP, &keys.feed, &keys.random).unwrap();
    assert!(General::read(compact.as_bytes(), TYP, &keys.roots, MAX).is_err());
    assert_eq!(Compact::read(&value.to_string(), TYP, MAX).unwrap_err(), JwsFault::Serialisation);
}

#[test]
fn base64url_has_one_spelling() {
    let keys = Keys::new(START - 10);
    let payload = signed(&keys)["payload"].as_str().unwrap().to_owned();
    let (head, last) = payload.split_at(payload.len() - 1);
    // The last character carries bits past the end of the payload: another one with the same payload bits.
    let other = format!("{head}{}", char::from(last.as_bytes()[0] + 1));
    for text in [format!("{payload}="), format!("{payload} "), payload.replace('e', "\n"), other] {
        let mut value = signed(&keys);
        value["payload"] = text.clone().into();
        let fault = fault(&keys, &value);
        assert!(matches!(fault, JwsFault::Serialisation), "{text:?} {fault:?}");
    }
}

#[test]
fn a_changed_payload_header_or_signature_does_not_verify() {
    let keys = Keys::new(START - 10);
    let mismatch = JwsFault::Signature(SignatureFault::Mismatch);
    let mut value = signed(&keys);
    value["payload"] = to_base64url(b"{\"a\":2}").into();
    assert_eq!(fault(&keys, &value), mismatch);
    let mut value = signed(&keys);
    value["signatures"][0]["signature"] = to_base64url([1u8; 64]).into();
    assert_eq!(fault(&keys, &value), mismatch);
    value["signatures"][0]["signature"] = to_base64url([1u8; 63]).into();
    assert_eq!(fault(&keys, &value), JwsFault::Signature(SignatureFault::Length));
    value["signatures"][0]["signature"] = "".into();
    assert_eq!(fault(&keys, &value), JwsFault::Signature(SignatureFault::Length));
    // The header of another signer over the same payload.
    let mut value = signed(&keys);
    let other = General::sign(b"{\"a\":1}", TYP, &keys.status, &keys.random).unwrap();
    let other: Value = serde_json::from_slice(&other).unwrap();
    value["signatures"][0]["protected"] = other["signatures"][0]["protected"].clone();
    assert_eq!(fault(&keys, &value), JwsFault::Thumbprint);
}

#[test]
fn chains_that_are_not_chains_are_refused() {
    let keys = Keys::new(START - 10);
    let mut value = signed(&keys);
    value["signatures"][0]["header"]["x5c"] = json!([]);
    assert!(matches!(fault(&keys, &value), JwsFault::Certificates(_)));
    value["signatures"][0]["header"]["x5c"] = json!(["AAAA"]);
    assert!(matches!(fault(&keys, &value), JwsFault::Thumbprint | JwsFault::Certificates(_)));
    value["signatures"][0]["header"]["x5c"] = json!([1]);
    assert_eq!(fault(&keys, &value), JwsFault::Format(FormatFault::Member("x5c")));
    // The leaf alone does not reach the root.
    let mut value = signed(&keys);
    let leaf = value["signatures"][0]["header"]["x5c"][0].clone();
    value["signatures"][0]["header"]["x5c"] = json!([leaf]);
    assert_eq!(fault(&keys, &value), JwsFault::Chain(ChainFault::UnknownIssuer));
}

#[test]
fn chains_are_judged_at_the_time_given() {
    let keys = Keys::new(START);
    let value = signed(&keys);
    let at = |at| read(&keys, &value).unwrap().verify(&keys.roots, Usage::Feed, at).map(|_| ());
    assert_eq!(at(START - 1), Err(JwsFault::Chain(ChainFault::NotYetValid)));
    assert_eq!(at(START), Ok(()));
    assert_eq!(at(START + 90 * 86_400 + 1), Err(JwsFault::Chain(ChainFault::Expired)));
}

#[test]
fn too_long_is_refused_before_it_is_read() {
    let keys = Keys::new(START - 10);
    let bytes = serde_json::to_vec(&signed(&keys)).unwrap();
    assert_eq!(General::read(&bytes, TYP, &keys.roots, bytes.len() - 1).unwrap_err(), JwsFault::TooLarge);
    let header = to_base64url([b' '; 600]);
    assert_eq!(Compact::read(&format!("{header}.."), TYP, MAX).unwrap_err(), JwsFault::TooLarge);
}

fn cases() -> u32 {
    std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(256)
}

thread_local! {
    static KEYS: Keys = Keys::new(START - 10);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn fuzz_random_bytes_are_no_jws(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        KEYS.with(|keys| assert!(General::read(&bytes, TYP, &keys.roots, MAX).is_err()));
        prop_assert!(Compact::read(&String::from_utf8_lossy(&bytes), TYP, MAX).is_err());
    }

    #[test]
    fn fuzz_a_mutated_jws_never_verifies_as_something_else(
        at in any::<prop::sample::Index>(), byte in any::<u8>(), insert in any::<bool>(),
    ) {
        KEYS.with(|keys| {
            let mut bytes = General::sign(b"{\"a\":1}", TYP, &keys.feed, &keys.random).unwrap();
            let at = at.index(bytes.len());
            if insert { bytes.insert(at, byte) } else { bytes[at] = byte }
            if let Ok(jws) = General::read(&bytes, TYP, &keys.roots, MAX)
                && let Ok((payload, _)) = jws.verify(&keys.roots, Usage::Feed, START)
            {
                assert_eq!(payload, b"{\"a\":1}");
            }
        });
    }
}
