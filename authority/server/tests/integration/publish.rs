//! submit → check → sign → append → publish, over real TLS: what a publisher is answered and what a stranger can verify afterwards.

use crate::support;

use std::collections::BTreeSet;
use std::time::Duration;

use http::{Method, StatusCode};
use ring::rand::SystemRandom;
use semgate_certs::{Chain, ChainLimits, Family, Issuer, IssuingProfile, KeyPair, LeafProfile, RootProfile};
use semgate_contexts::{Context, ContextUrn, DocumentLimits, Line, Prefix, library};
use semgate_statement::{Follower, SigningIdentity, Standing, sign_context, verify_log};
use support::*;

const URN: &str = "urn:contexts:payment.test:v1.0";

#[tokio::test(flavor = "multi_thread")]
async fn the_library_is_published_followed_and_replayed() {
    let place = Place::new();
    let running = place.start().await;
    let client = &running.client;
    for (_, bytes) in library::all() {
        let got = client.publish(std::str::from_utf8(bytes).unwrap()).await;
        assert_eq!(got.status, StatusCode::CREATED, "{got:?}");
        assert!(got.json()["index"].as_u64() < got.json()["seq"].as_u64());
    }
    assert_eq!(client.floor("payment", "v1.1").await.status, StatusCode::CREATED);
    let anyone = running.client_of(&place, None);
    let mut follower =
        Follower::open(place.follower_config(), &place.path().join("follower"), now()).unwrap();
    anyone.follow(&mut follower).await.unwrap();
    let view = follower.view();
    assert_eq!(view.size(), library::all().len() as u64 + 1);
    for (_, bytes) in library::all() {
        let context = Context::check(bytes, &Prefix::default(), &DocumentLimits::default()).unwrap();
        assert_eq!(view.standing(context.urn(), now()), Standing::Valid, "{}", context.urn());
        assert_eq!(view.context(context.urn()).unwrap().digest(), context.digest());
    }
    assert_eq!(view.floor(&Line::parse("payment").unwrap()).unwrap().to_string(), "v1.1");
    assert!(follower.reports().is_empty());
    let report = verify_log(&mut anyone.clone(), &place.follower_config(), now()).unwrap();
    assert_eq!((report.size, report.documents), (view.size(), library::all().len() as u64));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_bytes_again_answer_the_same_statement_and_other_bytes_are_kept_as_evidence() {
    let place = Place::new();
    let running = place.start().await;
    let client = &running.client;
    let first = client.publish(&document(URN, "one")).await;
    assert_eq!(first.status, StatusCode::CREATED);
    let stored = client.ok(&format!("/v1/contexts/{URN}")).await;
    // The same document in another spelling: white space and member order do not count.
    let spelt = document(URN, "one").replace("\":", "\" :  ").replace(",\"", ",\n\"");
    for again in [document(URN, "one"), spelt] {
        let got = client.publish(&again).await;
        assert_eq!((got.status, got.json()), (StatusCode::OK, first.json()));
    }
    assert_eq!(client.ok(&format!("/v1/contexts/{URN}")).await.body, stored.body);
    for _ in 0..2 {
        assert_eq!(client.publish(&document(URN, "two")).await.code(), "urn_taken");
    }
    let evidence: Vec<_> = std::fs::read_dir(place.state().join("evidence")).unwrap().collect();
    let [Ok(file)] = &evidence[..] else { panic!("{evidence:?}") };
    let record: serde_json::Value = serde_json::from_slice(&std::fs::read(file.path()).unwrap()).unwrap();
    assert_eq!((&record["urn"], &record["by"]), (&URN.into(), &OPERATOR.into()));
    assert_eq!(record["published"], first.json()["digest"]);
    assert!(record["document"].as_str().unwrap().contains("two"));
    assert_eq!(client.ok("/v1/contexts").await.json()["contexts"].as_array().unwrap().len(), 1);
    running.stop().await;
}

/// A signer of the owner's own, under the authority's root, as `semgate cert` makes it.
fn own_signer(place: &Place, lines: &[&str]) -> SigningIdentity {
    let random = &SystemRandom::new();
    let read = |name: &str| std::fs::read_to_string(place.path().join("offline").join(name)).unwrap();
    let chain = Chain::from_pem(&read("root.pem"), &ChainLimits::default()).unwrap();
    let root = Issuer::from_parts(chain, KeyPair::from_pem(&read("root.key"), random).unwrap()).unwrap();
    signer_under(&root, lines)
}

fn signer_under(root: &Issuer, lines: &[&str]) -> SigningIdentity {
    let random = &SystemRandom::new();
    let key = || KeyPair::generate(random).unwrap();
    let profile = IssuingProfile::new("owner", Family::Contexts, now() - 60);
    let issuing = root.issuing(&profile, key(), random).unwrap();
    let lines = lines.iter().map(|line| Line::parse(line).unwrap()).collect();
    let leaf_key = key();
    let chain = issuing.leaf(&LeafProfile::context(lines, now() - 60), leaf_key.public(), random).unwrap();
    SigningIdentity::new(leaf_key, chain)
}

fn signed(document: &str, identity: &SigningIdentity) -> String {
    let context =
        Context::check(document.as_bytes(), &Prefix::default(), &DocumentLimits::default()).unwrap();
    String::from_utf8(sign_context(&context, identity, &SystemRandom::new()).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_signed_by_its_owner_is_verified_and_its_bytes_are_kept() {
    const JOSE: &str = "application/jose+json";
    let place = Place::new();
    let running = place.start().await;
    let client = &running.client;
    let owner = own_signer(&place, &["payment.test"]);
    let offered = signed(&document(URN, "one"), &owner);
    let got = client.post("/v1/contexts", JOSE, &offered).await;
    assert_eq!(got.status, StatusCode::CREATED, "{got:?}");
    assert_eq!(client.ok(&format!("/v1/contexts/{URN}")).await.body, offered.as_bytes());
    let digest = got.json()["digest"].as_str().unwrap().to_owned();
    let by_digest = client.ok(&format!("/v1/contexts/by-digest/{digest}")).await;
    assert_eq!(
        (by_digest.body, &by_digest.headers["content-type"]),
        (offered.clone().into(), &JOSE.parse().unwrap())
    );
    assert_eq!(client.post("/v1/contexts", JOSE, &offered).await.status, StatusCode::OK);

    // A follower accepts it, though document and statement were signed by two keys.
    let mut follower = Follower::without_memory(place.follower_config());
    client.follow(&mut follower).await.unwrap();
    let urn = ContextUrn::parse(URN, &Prefix::default()).unwrap();
    let view = follower.view();
    assert_eq!(view.standing(&urn, now()), Standing::Valid);
    assert_eq!(view.loaded(&urn).unwrap().signer, owner.thumbprint());
    assert!(view.context(&urn).is_some());

    let random = SystemRandom::new();
    let stranger =
        Issuer::root(&RootProfile::new("stranger", now() - 60), KeyPair::generate(&random).unwrap(), &random);
    let stranger = signer_under(&stranger.unwrap(), &["payment.other"]);
    let other = document("urn:contexts:payment.other:v1.0", "x");
    for (what, bytes) in [
        ("a stranger's root", signed(&other, &stranger)),
        ("a signer of another line", signed(&other, &owner)),
        ("an altered payload", offered.replacen("payload\":\"ey", "payload\":\"eX", 1)),
        ("not a jws", other.clone()),
    ] {
        let got = client.post("/v1/contexts", JOSE, &bytes).await;
        assert_eq!(
            (got.status, got.code().as_str()),
            (StatusCode::UNPROCESSABLE_ENTITY, "signature_invalid"),
            "{what}"
        );
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_differs_only_in_case_and_one_that_is_not_delegated_are_refused() {
    let place = Place::with(|options| options.lines = vec!["acme".to_owned(), "payment".to_owned()]);
    let running = place.start().await;
    let client = &running.client;
    assert_eq!(client.publish(&document("urn:contexts:acme.a:v1.0", "")).await.status, StatusCode::CREATED);
    assert_eq!(client.publish(&document("urn:contexts:acme.A:v1.1", "")).await.code(), "line_case_taken");
    assert_eq!(client.publish(&document("urn:contexts:travel:v1.0", "")).await.code(), "line_not_delegated");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_has_a_code_of_its_own_and_changes_nothing() {
    let place = Place::new();
    let running = place.start().await;
    let client = &running.client;
    let good = document(URN, "one");
    const JSON: &str = "application/json";
    for (media, body, status, code) in [
        (JSON, "{", 400, "malformed"),
        (JSON, "", 400, "malformed"),
        (JSON, "\u{feff}{}", 400, "malformed"),
        (JSON, r#"{"context":"a","context":"b"}"#, 400, "duplicate_key"),
        (JSON, "[]", 422, "document_invalid"),
        (JSON, r#"{"context":"urn:contexts:Ümlaut:v1.0","concepts":{}}"#, 422, "document_invalid"),
        (JSON, r#"{"context":"urn:contexts:a:v01.0","concepts":{}}"#, 422, "document_invalid"),
        ("text/plain", good.as_str(), 415, "media_type_unsupported"),
        ("application/json; charset=latin1", good.as_str(), 415, "media_type_unsupported"),
    ] {
        let got = client.post("/v1/contexts", media, body).await;
        assert_eq!((got.status.as_u16(), got.code().as_str()), (status, code), "{media} {body}");
    }
    let mut request = request(Method::POST, "/v1/contexts", Some(JSON), &good);
    request.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
    assert_eq!(client.send(request).await.code(), "media_type_unsupported");
    let large = document(URN, &"x".repeat(100_000));
    assert_eq!(client.publish(&large).await.code(), "too_large");
    let larger = document(URN, &"x".repeat(300_000));
    assert_eq!(client.publish(&larger).await.code(), "too_large");
    let path = format!("/v1/contexts/{URN}/revoke");
    for (path, body, status, code) in [
        (path.as_str(), "{}", 400, "malformed"),
        (path.as_str(), r#"{"reason":1}"#, 400, "malformed"),
        (path.as_str(), r#"{"reason":"a","more":"b"}"#, 400, "malformed"),
        (path.as_str(), r#"{"reason":"a","reason":"b"}"#, 400, "duplicate_key"),
        (path.as_str(), r#"{"reason":"a\u0007"}"#, 422, "parameter_invalid"),
        (path.as_str(), r#"{"reason":"a"}"#, 404, "context_unknown"),
        ("/v1/contexts/payment/revoke", r#"{"reason":"a"}"#, 422, "parameter_invalid"),
        ("/v1/floors", r#"{"line":"payment.test","min":"1.0","reason":"a"}"#, 422, "parameter_invalid"),
        ("/v1/floors", r#"{"line":"-","min":"v1.0","reason":"a"}"#, 422, "parameter_invalid"),
        (path.as_str(), r#"{"reason":""}"#, 422, "parameter_invalid"),
        (path.as_str(), r#"{"reason":" \u3000\u200d"}"#, 422, "parameter_invalid"),
        ("/v1/floors", r#"{"line":"payment.test","min":"v1.0","reason":""}"#, 422, "parameter_invalid"),
        ("/v1/floors", r#"{"line":"payment.test","min":"v1.0","reason":"a"}"#, 409, "floor_unpublished"),
        ("/v1/compare", "{}", 400, "malformed"),
        ("/v1/compare", r#"{"old":{"type":"object"},"new":{"type":"object"}}"#, 422, "parameter_invalid"),
        (
            "/v1/compare",
            r#"{"old":{"type":"object"},"new":{"type":"object"},"role":"both"}"#,
            422,
            "parameter_invalid",
        ),
        (
            "/v1/compare",
            r#"{"old":"urn:contexts:payment.test:v1.0","new":"urn:contexts:payment.test:v1.1"}"#,
            404,
            "context_unknown",
        ),
        ("/v1/compare", r#"{"old":{"context":"x"},"new":{"context":"y"}}"#, 422, "document_invalid"),
        ("/v1/nothing", "{}", 404, "not_found"),
        ("/v1/feed/head", "{}", 405, "method_not_allowed"),
    ] {
        let got = client.post(path, JSON, body).await;
        assert_eq!((got.status.as_u16(), got.code().as_str()), (status, code), "{path} {body}");
        if status == 405 {
            assert_eq!(got.headers["allow"], "GET, HEAD");
        }
    }
    let long = format!(r#"{{"reason":"{}"}}"#, "x".repeat(1025));
    assert_eq!(client.post(&path, JSON, &long).await.code(), "parameter_invalid");
    assert_eq!(client.ok("/v1/contexts").await.json()["contexts"].as_array().unwrap().len(), 0);
    assert!(client.ok("/checkpoint").await.body.starts_with(b"semgate.test/log\n0\n"));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn publishers_at_once_share_commits_and_each_is_answered_with_its_own_place() {
    let place = Place::new();
    let running = place.start().await;
    let before = batches(&running).await;
    let tasks: Vec<_> = (0..64)
        .map(|n| {
            let client = running.client.clone();
            tokio::spawn(
                async move { client.publish(&document(&format!("urn:contexts:line{n}:v1.0"), "")).await },
            )
        })
        .collect();
    let mut places = BTreeSet::new();
    for task in tasks {
        let got = task.await.unwrap();
        assert_eq!(got.status, StatusCode::CREATED, "{got:?}");
        let answer = got.json();
        assert!(answer["seq"].as_u64() > answer["index"].as_u64());
        places.insert(answer["index"].as_u64().unwrap());
    }
    assert_eq!(places, (0..64).collect());
    let commits = batches(&running).await - before;
    assert!(commits < 64, "{commits} commits");
    verify_log(&mut running.client.clone(), &place.follower_config(), now()).unwrap();
    running.stop().await;
}

async fn batches(running: &Running) -> u64 {
    let (_, metrics) = running.admin("/metrics").await;
    let line = metrics.lines().find_map(|line| line.strip_prefix("semgate_authority_batches_total "));
    line.map_or(0, |number| number.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_publishers_of_one_document_make_one_statement_and_of_two_documents_one_wins() {
    let place = Place::new();
    let running = place.start().await;
    let tasks: Vec<_> = (0..64)
        .map(|n| {
            let client = running.client.clone();
            tokio::spawn(async move {
                client.publish(&document(URN, if n % 2 == 0 { "one" } else { "two" })).await
            })
        })
        .collect();
    let mut answers = BTreeSet::new();
    let (mut created, mut taken) = (0, 0);
    for task in tasks {
        let got = task.await.unwrap();
        match got.status.as_u16() {
            201 => created += 1,
            200 => {}
            409 => taken += 1,
            _ => panic!("{got:?}"),
        }
        if got.status.is_success() {
            answers.insert((got.json()["digest"].to_string(), got.json()["index"].to_string()));
        }
    }
    assert_eq!((created, taken, answers.len()), (1, 32, 1));
    assert_eq!(std::fs::read_dir(place.state().join("documents")).unwrap().count(), 1);
    assert_eq!(std::fs::read_dir(place.state().join("evidence")).unwrap().count(), 1);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_does_not_come_is_not_waited_for() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let place = Place::new();
    let text = std::fs::read_to_string(&place.made.config).unwrap();
    std::fs::write(
        &place.made.config,
        text + "[limits]\nbody_timeout = \"200ms\"\nheader_timeout = \"300ms\"\n",
    )
    .unwrap();
    let running = place.start().await;
    let mut slow = running.client.raw().await;
    slow.write_all(b"POST /v1/contexts HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n{")
        .await
        .unwrap();
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(5), slow.read_to_end(&mut answer)).await.unwrap();
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("request_timeout"), "{answer}");
    let mut silent = running.client.raw().await;
    silent.write_all(b"GET /v1/feed/head HTTP/1.1\r\nho").await.unwrap();
    let mut answer = Vec::new();
    tokio::time::timeout(Duration::from_secs(5), silent.read_to_end(&mut answer)).await.unwrap().unwrap_or(0);
    running.stop().await;
}
