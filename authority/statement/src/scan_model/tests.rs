//! Whoever holds the file, but not an allowed signer's key, can make nothing of it that counts.

use super::*;
use crate::testing::{Keys, START};
use proptest::prelude::*;
use semgate_certs::{KeyPair, LeafProfile};

const SIGNER: &str = "spiffe://semgate.test/scan-signer";

struct Stage {
    keys: Keys,
    signers: Vec<SpiffeId>,
}

impl Stage {
    fn new() -> Self {
        Self { keys: Keys::new(START - 3600), signers: vec![SpiffeId::parse(SIGNER).unwrap()] }
    }

    fn signer(&self, id: &str) -> SigningIdentity {
        let key = KeyPair::generate(&self.keys.random).unwrap();
        let profile = LeafProfile::policy(SpiffeId::parse(id).unwrap(), self.keys.since);
        let chain = self.keys.contexts.leaf(&profile, key.public(), &self.keys.random).unwrap();
        SigningIdentity::new(key, chain)
    }

    fn signed(&self, artefact: &ScanArtefact) -> Vec<u8> {
        sign(artefact, &self.signer(SIGNER), &self.keys.random).unwrap()
    }

    fn verify(&self, bytes: &[u8]) -> Result<VerifiedScan, ScanFault> {
        let rules = ScanRules {
            roots: &self.keys.roots,
            signers: &self.signers,
            prefix: &Prefix::default(),
            max_bytes: 100_000,
        };
        verify(bytes, &rules, START)
    }

    fn refused(&self, bytes: &[u8]) -> &'static str {
        self.verify(bytes).map(|_| ()).unwrap_err().as_str()
    }

    fn vouched(&self, payload: &serde_json::Value) -> Vec<u8> {
        let payload = payload.to_string();
        General::sign(payload.as_bytes(), TYP, &self.signer(SIGNER), &self.keys.random).unwrap()
    }
}

fn model(version: u64) -> ScanArtefact {
    ScanArtefact {
        version,
        issued_at: START,
        features: 1,
        field: None,
        content: version.to_be_bytes().to_vec(),
    }
}

fn baseline() -> ScanArtefact {
    let context = ContextUrn::parse("urn:contexts:supplyChain:v1.0", &Prefix::default()).unwrap();
    let field = FieldOfContext {
        context,
        concept: "decision_contingency".to_owned(),
        position: "/then_change_text".to_owned(),
    };
    ScanArtefact { field: Some(field), ..model(3) }
}

#[test]
fn a_signed_model_and_a_signed_baseline_read_back_alike() {
    let stage = Stage::new();
    for artefact in [model(7), baseline()] {
        let read = stage.verify(&stage.signed(&artefact)).unwrap();
        assert_eq!((read.artefact, read.signer.as_str()), (artefact, SIGNER));
    }
}

#[test]
fn attack_another_signer_another_usage_and_a_policy_bundle_vouch_for_no_model() {
    let stage = Stage::new();
    let by = |identity: &SigningIdentity| sign(&model(1), identity, &stage.keys.random).unwrap();
    assert_eq!(stage.refused(&by(&stage.signer("spiffe://semgate.test/other"))), "signer");
    assert_eq!(stage.refused(&by(&stage.keys.status)), "wrong_usage");
    let payload = br#"{"content":"","digest":"","features":1,"issued_at":1,"version":1}"#;
    let other =
        General::sign(payload, crate::bundle::TYP, &stage.signer(SIGNER), &stage.keys.random).unwrap();
    assert_eq!(stage.refused(&other), "type");
}

#[test]
fn attack_an_older_model_and_a_second_one_of_a_version_follow_nothing() {
    let newest = |artefact: &ScanArtefact| Some((artefact.version, artefact.digest()));
    let against = |next: &ScanArtefact| follows(next, newest(&model(7))).map_err(|fault| fault.as_str());
    assert_eq!(against(&model(6)), Err("version_old"));
    assert_eq!(against(&ScanArtefact { content: vec![1], ..model(7) }), Err("version_reused"));
    assert_eq!((against(&model(7)), against(&model(8))), (Ok(()), Ok(())));
}

#[test]
fn even_an_allowed_signer_is_read_strictly() {
    let stage = Stage::new();
    let good = serde_json::json!({
        "content": "AAAA", "digest": Digest::of(&[0, 0, 0]).to_string(), "features": 1, "issued_at": START, "version": 1,
        "field": {"concept": "c", "context": "urn:contexts:t:v1.0", "position": "/a"},
    });
    assert!(stage.verify(&stage.vouched(&good)).is_ok());
    for (pointer, wrong, reason) in [
        ("/content", serde_json::json!("AAAB"), "digest"),
        ("/content", serde_json::json!("?"), "format"),
        ("/version", serde_json::json!(-1), "format"),
        ("/features", serde_json::json!("1"), "format"),
        ("/issued_at", serde_json::json!(START + artefact::MAX_AHEAD + 1), "ahead"),
        ("/field/context", serde_json::json!("payment"), "format"),
        ("/field/position", serde_json::json!("a"), "format"),
        ("/field/concept", serde_json::json!(""), "format"),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = wrong;
        assert_eq!(stage.refused(&stage.vouched(&bad)), reason, "{pointer}");
    }
    let mut more = good;
    more["weights"] = 1.into();
    assert_eq!(stage.refused(&stage.vouched(&more)), "format");
}

#[test]
fn a_truncated_or_oversized_file_is_refused() {
    let stage = Stage::new();
    let bytes = stage.signed(&model(1));
    for end in (0..bytes.len()).step_by(7) {
        assert!(stage.verify(&bytes[..end]).is_err(), "{end} of {} bytes", bytes.len());
    }
    assert_eq!(stage.refused(&[bytes, vec![b' '; 100_000]].concat()), "too_large");
}

fn payload() -> Vec<u8> {
    let field = serde_json::json!({"concept": "c", "context": "urn:contexts:t:v1.0", "position": "/a"});
    let payload = serde_json::json!({
        "content": "AAAA", "digest": Digest::of(&[0, 0, 0]).to_string(), "features": 1, "field": field,
        "issued_at": START, "version": 1,
    });
    payload.to_string().into_bytes()
}

fn cases() -> u32 {
    std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(256)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn fuzz_a_mutated_payload_is_refused_or_has_valid_names(
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = payload();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok((artefact, _)) = read(&bytes, &Prefix::default()) {
            let field = artefact.field.unwrap();
            prop_assert!(is_name(&field.concept) && is_position(&field.position));
        }
    }

    #[test]
    fn fuzz_random_bytes_are_no_payload(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(read(&bytes, &Prefix::default()).is_err());
    }
}
