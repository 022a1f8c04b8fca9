//! Other people's verifiers judge what the authority signed: joserfc, jwcrypto, jose, an implementation of the status list draft, and openssl, by the recipes of `docs/spec/`.

use crate::support;

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use support::{Up, node, python};

fn fetched(up: &Up, path: &str) -> Vec<u8> {
    let answer = up.authority(path);
    assert_eq!(answer.status, 200, "{path}");
    answer.body
}

fn jose(file: &Path, typ: &str) -> String {
    let output = Command::new(python::interpreter())
        .arg(python::script("verify_jose.py"))
        .arg(file)
        .arg(typ)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn joserfc_and_jwcrypto_verify_contexts_and_head() {
    let up = Up::start();
    let listed: Value = serde_json::from_slice(&fetched(&up, "/v1/contexts")).unwrap();
    for context in listed["contexts"].as_array().unwrap() {
        let urn = context["urn"].as_str().unwrap();
        let file = up.dir.join("signed.json");
        std::fs::write(&file, fetched(&up, &format!("/v1/contexts/{urn}"))).unwrap();
        let shown = jose(&file, "context+jws");
        let digest = context["digest"].as_str().unwrap();
        assert_eq!(shown.matches(digest).count(), 2, "both libraries see the published payload: {shown}");
    }
    let file = up.dir.join("head.json");
    std::fs::write(&file, fetched(&up, "/v1/feed/head")).unwrap();
    jose(&file, "head+jws");
}

/// jose, of JavaScript, sees what the Python libraries see.
#[test]
fn jose_verifies_contexts_and_head() {
    let up = Up::start();
    let listed: Value = serde_json::from_slice(&fetched(&up, "/v1/contexts")).unwrap();
    let put = |name: &str, path: &str| {
        let file = up.dir.join(name);
        std::fs::write(&file, fetched(&up, path)).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let contexts = listed["contexts"].as_array().unwrap();
    let mut words = vec!["context+jws".to_owned()];
    for (n, context) in contexts.iter().enumerate() {
        words.push(put(&format!("{n}.json"), &format!("/v1/contexts/{}", context["urn"].as_str().unwrap())));
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let shown = node::run("verify_signed.mjs", &words);
    assert_eq!(shown.len(), contexts.len());
    for (shown, context) in shown.iter().zip(contexts) {
        assert_eq!((&shown["digest"], &shown["payload"]["context"]), (&context["digest"], &context["urn"]));
    }
    let shown = node::run("verify_signed.mjs", &["head+jws", &put("head.json", "/v1/feed/head")]);
    assert_eq!(shown[0]["payload"]["authority"], "semgate.test");
}

/// A stock reader of the IETF draft sees each status as the listing tells it, from the shard by number and from the one by digest.
#[test]
fn an_independent_reader_of_the_status_list_draft_sees_every_status() {
    let up = Up::start();
    for (act, context) in [
        ("revoke", "travel:v2.1"),
        ("suspend", "payment:v1.0"),
        ("retire", "payment:v1.1"),
        ("suspend", "supplyChain:v1.0"),
        ("resume", "supplyChain:v1.0"),
    ] {
        assert!(up.semgate(&["context", act, context]).status.success(), "{act} {context}");
    }
    let put = |name: &str, path: &str| {
        let file = up.dir.join(name);
        std::fs::write(&file, fetched(&up, path)).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let head = put("head.json", "/v1/feed/head");
    let shown = node::run("verify_signed.mjs", &["head+jws", &head]);
    let payload = &shown[0]["payload"];
    let shard = payload["shards"][0]["sha256"].as_str().unwrap();
    let newest = put("0.jwt", "/v1/feed/shards/0");
    let named = put("named.jwt", &format!("/v1/feed/shards/{shard}"));
    let shown = node::run("status_list.mjs", &[&head, &newest, &named]);
    assert_eq!(shown[0]["exp"], payload["next_update"]);
    assert_eq!(shown[1]["exp"], Value::Null);
    let listed: Value = serde_json::from_slice(&fetched(&up, "/v1/contexts")).unwrap();
    let mut told = std::collections::BTreeSet::new();
    for shown in &shown {
        assert_eq!(shown["bits"], 2);
        for context in listed["contexts"].as_array().unwrap() {
            let status = shown["statuses"][context["index"].as_u64().unwrap() as usize].as_u64().unwrap();
            let name = ["valid", "invalid", "suspended", "deprecated"][status as usize];
            assert_eq!(context["status"], name, "{context}");
            told.insert(name);
        }
    }
    assert_eq!(told.len(), 4, "{told:?}");
}

/// A policy bundle is a JWS like the others, whatever it holds.
#[test]
fn joserfc_and_jwcrypto_verify_a_policy_bundle() {
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name).to_str().unwrap().to_owned();
    let semgate = |words: &[&str]| {
        let output = Command::new(support::SEMGATE).args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let id = "spiffe://semgate.test/policy-signer";
    semgate(&["cert", "root", "--out", &at("root")]);
    semgate(&["cert", "issuing", "--family", "contexts", "--by", &at("root"), "--out", &at("issuing")]);
    semgate(&[
        "cert",
        "leaf",
        "--usage",
        "policy",
        "--spiffe",
        id,
        "--by",
        &at("issuing"),
        "--out",
        &at("signer"),
    ]);
    let policies = concat!(env!("CARGO_MANIFEST_DIR"), "/../policies/rules");
    let (key, cert, out) = (at("signer.key"), at("signer.pem"), at("bundle"));
    semgate(&["policy", "bundle", policies, "--key", &key, "--cert", &cert, "-o", &out]);
    jose(Path::new(&out), "policy-bundle+jws");
}

/// `openssl verify -x509_strict` accepts the chain of every signed context and of the head, and enforces the name constraints.
#[test]
fn openssl_verifies_every_chain_strictly() {
    let up = Up::start();
    let roots = up.path("/roots");
    for path in [
        "/v1/contexts/urn:contexts:payment:v1.1",
        "/v1/contexts/urn:contexts:supplyChain:v1.0",
        "/v1/feed/head",
    ] {
        let signed: Value = serde_json::from_slice(&fetched(&up, path)).unwrap();
        let chain: Vec<&str> = signed["signatures"][0]["header"]["x5c"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c.as_str().unwrap())
            .collect();
        let (leaf, above) = (up.dir.join("leaf.pem"), up.dir.join("above.pem"));
        std::fs::write(&leaf, pem(chain[0])).unwrap();
        std::fs::write(&above, chain[1..].iter().map(|c| pem(c)).collect::<String>()).unwrap();
        let output = Command::new("openssl")
            .args(["verify", "-x509_strict", "-purpose", "any", "-CAfile"])
            .arg(&roots)
            .arg("-untrusted")
            .args([&above, &leaf])
            .output()
            .unwrap();
        assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

fn pem(base64: &str) -> String {
    let lines: Vec<&str> = base64.as_bytes().chunks(64).map(|c| std::str::from_utf8(c).unwrap()).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}

/// A stranger verifies a context with nothing but openssl: the payload's signature under the leaf's key.
#[test]
fn openssl_verifies_the_signature_by_the_documented_recipe() {
    let up = Up::start();
    let file = up.dir.join("signed.json");
    std::fs::write(&file, fetched(&up, "/v1/contexts/urn:contexts:payment:v1.1")).unwrap();
    let output =
        Command::new("python3").arg(python::script("openssl_recipe.py")).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("Verified OK"));
}
