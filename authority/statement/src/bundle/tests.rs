//! Whoever holds the file, but not an allowed signer's key, can make nothing of it that counts.

use super::*;
use crate::testing::{Keys, START};
use semgate_certs::encoding::{from_base64url, to_base64url};
use semgate_certs::{ChainFault, KeyPair, LeafProfile, LineScope, SignatureFault, Usage};

const SIGNER: &str = "spiffe://semgate.test/policy-signer";

fn identity(keys: &Keys, profile: LeafProfile) -> SigningIdentity {
    let key = KeyPair::generate(&keys.random).unwrap();
    let chain = keys.contexts.leaf(&profile, key.public(), &keys.random).unwrap();
    SigningIdentity::new(key, chain)
}

fn signer(keys: &Keys, id: &str) -> SigningIdentity {
    identity(keys, LeafProfile::policy(SpiffeId::parse(id).unwrap(), keys.since))
}

fn bundle(version: u64) -> Bundle {
    let file = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
    Bundle {
        version,
        issued_at: START,
        digest: Digest::of(&version.to_be_bytes()),
        files: vec![file("a.cedar", "permit (principal, action, resource);"), file("entities.json", "{}")],
        analysed: None,
    }
}

struct Stage {
    keys: Keys,
    signers: Vec<SpiffeId>,
    newest: Option<(u64, Digest)>,
    require_analysed: bool,
}

impl Stage {
    fn new() -> Self {
        let signers = vec![SpiffeId::parse(SIGNER).unwrap()];
        Self { keys: Keys::new(START - 3600), signers, newest: None, require_analysed: false }
    }

    fn verify(&self, bytes: &[u8], at: u64) -> Result<VerifiedBundle, BundleFault> {
        let rules = BundleRules {
            roots: &self.keys.roots,
            signers: &self.signers,
            newest: self.newest,
            max_bytes: 100_000,
            max_files: 10,
            require_analysed: self.require_analysed,
        };
        verify(bytes, &rules, at)
    }

    fn refused(&self, bytes: &[u8]) -> &'static str {
        self.verify(bytes, START).map(|_| ()).unwrap_err().as_str()
    }

    /// A payload as it stands, under the allowed signer's true signature.
    fn vouched(&self, payload: &serde_json::Value) -> Vec<u8> {
        let payload = payload.to_string();
        General::sign(payload.as_bytes(), TYP, &signer(&self.keys, SIGNER), &self.keys.random).unwrap()
    }
}

fn manifest(files: serde_json::Value) -> serde_json::Value {
    serde_json::json!({"digest": Digest::of(b"").to_string(), "files": files, "issued_at": START, "version": 1})
}

fn listed(name: &str, text: &str) -> serde_json::Value {
    serde_json::json!({"length": text.len(), "name": name, "sha256": Digest::of(text.as_bytes()).to_string(), "text": text})
}

#[test]
fn what_an_allowed_signer_vouched_for_reads_back_alike() {
    let stage = Stage::new();
    let bytes = sign(&bundle(7), &signer(&stage.keys, SIGNER), &stage.keys.random).unwrap();
    let signed = stage.verify(&bytes, START).unwrap();
    assert_eq!(signed.bundle, bundle(7));
    assert_eq!(signed.signer.as_str(), SIGNER);
}

#[test]
fn a_swapped_or_added_file_breaks_the_signature() {
    let stage = Stage::new();
    let bytes = sign(&bundle(7), &signer(&stage.keys, SIGNER), &stage.keys.random).unwrap();
    let mut value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let payload = from_base64url(value["payload"].as_str().unwrap()).unwrap();
    let payload: serde_json::Value = serde_json::from_slice(&payload).unwrap();
    let mut swapped = payload.clone();
    swapped["files"][0] = listed("a.cedar", "permit (principal, action, resource) when { true };");
    let mut added = payload;
    added["files"].as_array_mut().unwrap().push(listed("z.cedar", "permit (principal, action, resource);"));
    for forged in [swapped, added] {
        value["payload"] = to_base64url(forged.to_string().as_bytes()).into();
        let fault = stage.verify(value.to_string().as_bytes(), START).unwrap_err();
        assert_eq!(fault, BundleFault::Jws(JwsFault::Signature(SignatureFault::Mismatch)), "{fault}");
    }
}

#[test]
fn another_signer_another_usage_and_another_root_vouch_for_nothing() {
    let stage = Stage::new();
    let by = |identity: &SigningIdentity| sign(&bundle(7), identity, &stage.keys.random).unwrap();
    assert_eq!(stage.refused(&by(&signer(&stage.keys, "spiffe://semgate.test/other"))), "signer");
    assert_eq!(stage.refused(&by(&stage.keys.status)), "wrong_usage", "a status key is no policy key");
    assert_eq!(stage.refused(&by(&stage.keys.signer(&["payment"]))), "wrong_usage", "nor is a context's");
    let others = Keys::new(START - 3600);
    let stranger = sign(&bundle(7), &signer(&others, SIGNER), &others.random).unwrap();
    assert!(["unknown_issuer", "bad_signature"].contains(&stage.refused(&stranger)));
}

#[test]
fn a_policy_signer_signs_nothing_else() {
    let stage = Stage::new();
    let identity = signer(&stage.keys, SIGNER);
    for usage in [Usage::Context, Usage::Status, Usage::Feed, Usage::Agent] {
        let verified = semgate_certs::verify_chain(&identity.chain, &stage.keys.roots, usage, START);
        assert_eq!(verified.map(|_| ()).unwrap_err(), ChainFault::WrongUsage, "{usage}");
    }
}

#[test]
fn an_issuer_of_some_lines_cannot_make_a_policy_signer() {
    let stage = Stage::new();
    let random = &stage.keys.random;
    let root_key = || KeyPair::generate(random).unwrap();
    let root = semgate_certs::Issuer::root(
        &semgate_certs::RootProfile::new("root", START - 3600),
        root_key(),
        random,
    )
    .unwrap();
    let mut profile =
        semgate_certs::IssuingProfile::new("acme", semgate_certs::Family::Contexts, START - 3600);
    profile.lines = LineScope::Trees(vec![semgate_contexts::Line::parse("acme").unwrap()]);
    let acme = root.issuing(&profile, root_key(), random).unwrap();
    let leaf = LeafProfile::policy(SpiffeId::parse(SIGNER).unwrap(), START - 3600);
    assert!(acme.leaf(&leaf, root_key().public(), random).is_err());
}

#[test]
fn an_expired_or_future_certificate_vouches_for_nothing() {
    let stage = Stage::new();
    let bytes = sign(&bundle(7), &signer(&stage.keys, SIGNER), &stage.keys.random).unwrap();
    let month = 30 * 86_400;
    let at = |at| stage.verify(&bytes, at).map(|_| ()).map_err(|fault| fault.as_str());
    assert_eq!(at(START - 3600 + month), Ok(()));
    assert_eq!(at(START - 3600 + month + 1), Err("expired"));
    assert_eq!(at(START - 3601), Err("not_yet_valid"));
    let ahead = Bundle { issued_at: START + MAX_AHEAD + 1, ..bundle(7) };
    let ahead = sign(&ahead, &signer(&stage.keys, SIGNER), &stage.keys.random).unwrap();
    assert_eq!(stage.refused(&ahead), "ahead");
}

#[test]
fn an_older_bundle_and_a_second_one_of_a_version_are_refused() {
    let mut stage = Stage::new();
    stage.newest = Some((7, bundle(7).digest));
    let by = signer(&stage.keys, SIGNER);
    let signed = |bundle: &Bundle| sign(bundle, &by, &stage.keys.random).unwrap();
    assert_eq!(stage.refused(&signed(&bundle(6))), "version_old");
    assert!(stage.verify(&signed(&bundle(7)), START).is_ok(), "the same again is no rollback");
    assert_eq!(stage.refused(&signed(&Bundle { version: 7, ..bundle(8) })), "version_reused");
    assert!(stage.verify(&signed(&bundle(8)), START).is_ok());
}

#[test]
fn even_an_allowed_signer_is_read_strictly() {
    let stage = Stage::new();
    let (a, entities) = (listed("a.cedar", "x"), listed("entities.json", "{}"));
    let files = |files: serde_json::Value| stage.refused(&stage.vouched(&manifest(files)));
    assert_eq!(files(serde_json::json!([a, a, entities])), "duplicate");
    assert_eq!(files(serde_json::json!([entities, a])), "order");
    for name in [
        "../a.cedar",
        "a/b.cedar",
        "/etc/passwd",
        "..",
        ".",
        "",
        ".hidden.cedar",
        "a\u{0}.cedar",
        "a\\b.cedar",
        "ä.cedar",
    ] {
        assert_eq!(files(serde_json::json!([listed(name, "x")])), "name", "{name:?}");
    }
    assert_eq!(files(serde_json::json!([listed(&"a".repeat(256), "x")])), "name");
    let mut wrong = a.clone();
    wrong["length"] = 2.into();
    assert_eq!(files(serde_json::json!([wrong])), "length");
    let mut wrong = a.clone();
    wrong["text"] = "y".into();
    assert_eq!(files(serde_json::json!([wrong])), "hash");
    let mut wrong = a.clone();
    wrong["mode"] = "x".into();
    assert_eq!(files(serde_json::json!([wrong])), "format", "a member that is not named");
    let many: Vec<_> = (10..30).map(|n| listed(&format!("{n}.cedar"), "x")).collect();
    assert_eq!(files(many.into()), "too_many_files");
    for member in ["version", "digest", "files", "issued_at"] {
        let mut whole = manifest(serde_json::json!([a]));
        whole.as_object_mut().unwrap().remove(member);
        assert_eq!(stage.refused(&stage.vouched(&whole)), "format", "{member}");
    }
    let mut negative = manifest(serde_json::json!([a]));
    negative["version"] = (-1).into();
    assert_eq!(stage.refused(&stage.vouched(&negative)), "format");
}

#[test]
fn truncated_oversized_and_other_signed_objects_are_refused() {
    let stage = Stage::new();
    let bytes = sign(&bundle(7), &signer(&stage.keys, SIGNER), &stage.keys.random).unwrap();
    for end in 0..bytes.len() {
        assert!(stage.verify(&bytes[..end], START).is_err(), "{end} of {} bytes", bytes.len());
    }
    let large = [bytes.clone(), vec![b' '; 100_000]].concat();
    assert_eq!(stage.refused(&large), "too_large");
    let other =
        General::sign(b"{}", "context+jws", &signer(&stage.keys, SIGNER), &stage.keys.random).unwrap();
    assert_eq!(stage.refused(&other), "type");
}

#[test]
fn what_could_not_be_read_is_not_signed() {
    let stage = Stage::new();
    let by = signer(&stage.keys, SIGNER);
    let with = |files: Vec<(&str, Vec<u8>)>| {
        let files = files.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect();
        sign(&Bundle { files, ..bundle(1) }, &by, &stage.keys.random).map(|_| ())
    };
    assert!(with(vec![("../x.cedar", vec![])]).is_err());
    assert!(with(vec![("x.cedar", vec![0xff])]).is_err());
    assert!(with(vec![("b.cedar", vec![]), ("a.cedar", vec![])]).is_err());
    assert!(with(vec![("a.cedar", vec![]), ("a.cedar", vec![])]).is_err());
}

#[test]
fn a_verifier_that_demands_an_analysed_set_refuses_a_bundle_that_does_not_say_so() {
    let mut stage = Stage::new();
    let signed = |stage: &Stage, bundle: &Bundle| {
        sign(bundle, &signer(&stage.keys, SIGNER), &stage.keys.random).unwrap()
    };
    let plain = signed(&stage, &bundle(7));
    let analysed = signed(&stage, &Bundle { analysed: Some("z3 5.4.1".to_owned()), ..bundle(7) });
    assert_eq!(stage.verify(&plain, START).unwrap().bundle.analysed, None);
    stage.require_analysed = true;
    assert_eq!(stage.refused(&plain), "not_analysed");
    assert_eq!(stage.verify(&analysed, START).unwrap().bundle.analysed.as_deref(), Some("z3 5.4.1"));
    for wrong in [
        serde_json::json!(true),
        serde_json::json!(""),
        serde_json::json!("z3\n"),
        serde_json::json!("z".repeat(65)),
    ] {
        let mut payload = manifest(serde_json::json!([]));
        payload["analysed"] = wrong;
        assert_eq!(stage.refused(&stage.vouched(&payload)), "format");
    }
}
