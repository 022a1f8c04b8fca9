//! Documents that refer to others: taken once those are published with the digests that they name, and count.

use crate::support;

use std::sync::Arc;

use http::StatusCode;
use ring::rand::SystemRandom;
use semgate_certs::{Chain, ChainLimits, Family, Issuer, IssuingProfile, KeyPair, LeafProfile};
use semgate_contexts::{Context, ContextUrn, Digest, DocumentLimits, Line, Prefix};
use semgate_statement::{Follower, Lines, SigningIdentity, Standing, sign_context, verify_log};
use support::*;

const MONEY: &str = "urn:contexts:money:v1.0";
const SHOP: &str = "urn:contexts:shop:v1.0";
const JOSE: &str = "application/jose+json";

/// A context with one concept `pair`, which refers to a concept of another.
fn referring(urn: &str, to: &str, concept: &str, digest: &str) -> String {
    format!(
        r#"{{"context":"{urn}","concepts":{{"pair":{{"type":"object","properties":{{"of":{{"$ref":"{to}#/concepts/{concept}","x-digest":"{digest}"}}}}}}}}}}"#
    )
}

fn money() -> Context {
    let document = document(MONEY, "money");
    Context::check(document.as_bytes(), &Prefix::default(), &DocumentLimits::default()).unwrap()
}

fn shop() -> String {
    referring(SHOP, MONEY, "thing", &money().digest().to_string())
}

fn urn(text: &str) -> ContextUrn {
    ContextUrn::parse(text, &Prefix::default()).unwrap()
}

/// The document, signed by its owner under the authority's root.
fn signed(place: &Place, line: &str, document: &str) -> String {
    let random = &SystemRandom::new();
    let read = |name: &str| std::fs::read_to_string(place.path().join("offline").join(name)).unwrap();
    let key = || KeyPair::generate(random).unwrap();
    let chain = Chain::from_pem(&read("root.pem"), &ChainLimits::default()).unwrap();
    let root = Issuer::from_parts(chain, KeyPair::from_pem(&read("root.key"), random).unwrap()).unwrap();
    let profile = IssuingProfile::new("owner", Family::Contexts, now() - 60);
    let issuing = root.issuing(&profile, key(), random).unwrap();
    let leaf = LeafProfile::context(vec![Line::parse(line).unwrap()], now() - 60);
    let leaf_key = key();
    let chain = issuing.leaf(&leaf, leaf_key.public(), random).unwrap();
    let others = |_: &ContextUrn| Some(Arc::new(money()));
    let limits = DocumentLimits::default();
    let context = Context::check_among(document.as_bytes(), &Prefix::default(), &limits, &others).unwrap();
    let signed = sign_context(&context, &SigningIdentity::new(leaf_key, chain), random).unwrap();
    String::from_utf8(signed).unwrap()
}

fn detail(got: &Got) -> String {
    got.json()["detail"].as_str().unwrap().to_owned()
}

/// Refused as no document, with a word about what is referred to.
fn refuses(got: &Got, says: &str) {
    assert_eq!((got.status, got.code().as_str()), (StatusCode::UNPROCESSABLE_ENTITY, "document_invalid"));
    assert!(detail(got).contains(MONEY) && detail(got).contains(says), "{}", detail(got));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_taken_once_what_it_refers_to_is_published_with_that_digest() {
    let place = Place::new();
    let running = place.start().await;
    let client = &running.client;
    let own = referring("urn:contexts:shop.own:v1.0", MONEY, "thing", &money().digest().to_string());
    let own = signed(&place, "shop.own", &own);
    refuses(&client.publish(&shop()).await, "is not published here; publish that first");
    refuses(&client.post("/v1/contexts", JOSE, &own).await, "is not published here; publish that first");
    assert_eq!(client.publish(&document(MONEY, "money")).await.status, StatusCode::CREATED);
    let wrong = referring(SHOP, MONEY, "thing", &Digest::of(b"something else").to_string());
    refuses(&client.publish(&wrong).await, "has another digest than the reference names");
    let unknown = referring(SHOP, MONEY, "nothing", &money().digest().to_string());
    assert_eq!(client.publish(&unknown).await.code(), "document_invalid");
    let published = client.publish(&shop()).await;
    assert_eq!(published.status, StatusCode::CREATED, "{published:?}");
    assert_eq!(client.post("/v1/contexts", JOSE, &own).await.status, StatusCode::CREATED);
    // and what refers to the one that refers
    let digest = published.json()["digest"].as_str().unwrap().to_owned();
    let mall = referring("urn:contexts:mall:v1.0", SHOP, "pair", &digest);
    assert_eq!(client.publish(&mall).await.status, StatusCode::CREATED);

    let mut config = place.follower_config();
    config.lines = Lines::parse(&["mall", "shop.*"]).unwrap();
    let mut follower = Follower::without_memory(config.clone());
    client.follow(&mut follower).await.unwrap();
    assert_eq!(follower.reports(), vec![]);
    let view = follower.view();
    assert_eq!(view.context(&urn("urn:contexts:mall:v1.0")).unwrap().references().len(), 2);
    let reference = view.reference(&urn(MONEY)).unwrap();
    assert_eq!(view.standing_of(reference, now()), Standing::Valid);
    assert_eq!(verify_log(&mut client.clone(), &config, now()).unwrap().documents, 4);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_new_refers_to_what_does_not_count_and_what_is_published_stays_so() {
    let place = Place::new();
    let running = place.start().await;
    let client = &running.client;
    assert_eq!(client.publish(&document(MONEY, "money")).await.status, StatusCode::CREATED);
    let first = client.publish(&shop()).await;
    let digest = first.json()["digest"].as_str().unwrap().to_owned();
    let late = referring("urn:contexts:late:v1.0", MONEY, "thing", &money().digest().to_string());
    let mall = referring("urn:contexts:mall:v1.0", SHOP, "pair", &digest);
    for (act, state) in [("suspend", "which is suspended"), ("revoke", "which is revoked")] {
        assert_eq!(client.act(MONEY, act).await.status, StatusCode::CREATED);
        refuses(&client.publish(&late).await, state);
        refuses(&client.publish(&mall).await, state);
        let again = client.publish(&shop()).await;
        assert_eq!((again.status, &again.json()["index"]), (StatusCode::OK, &first.json()["index"]));
    }
    running.stop().await;

    // the index is built anew, and a damaged document written again, whatever became of what it refers to
    std::fs::remove_dir_all(place.state().join("index")).unwrap();
    let hex = digest.trim_start_matches("sha-256:");
    let file = place.state().join("documents").join(format!("{hex}.json"));
    let good = std::fs::read(&file).unwrap();
    std::fs::write(&file, b"{}").unwrap();
    let running = place.start().await;
    let again = running.client.publish(&shop()).await;
    assert_eq!((again.status, &again.json()["index"]), (StatusCode::OK, &first.json()["index"]), "{again:?}");
    assert_ne!(std::fs::read(&file).unwrap(), b"{}");
    assert_eq!(std::fs::read(&file).unwrap().len() / 100, good.len() / 100);
    refuses(&running.client.publish(&late).await, "which is revoked");

    // a reference that is published and whose file is damaged here is no fault of the document
    let file = place.state().join("documents").join(format!("{}.json", money().digest().hex()));
    std::fs::write(&file, b"{}").unwrap();
    assert_eq!(running.client.publish(&late).await.code(), "internal");
    running.stop().await;
}

/// A document that was checked is held against the log once more where it is appended: whatever comes first counts.
#[tokio::test(flavor = "multi_thread")]
async fn a_reference_that_is_revoked_meanwhile_is_never_published_above_its_revocation() {
    let place = Place::new();
    let running = place.start().await;
    let client = &running.client;
    let (mut refused, mut taken) = (0, 0);
    for n in 0..30 {
        let money = format!("urn:contexts:money{n}:v1.0");
        let text = document(&money, "money");
        let context =
            Context::check(text.as_bytes(), &Prefix::default(), &DocumentLimits::default()).unwrap();
        assert_eq!(client.publish(&text).await.status, StatusCode::CREATED);
        let shop =
            referring(&format!("urn:contexts:shop{n}:v1.0"), &money, "thing", &context.digest().to_string());
        let (published, revoked) = tokio::join!(client.publish(&shop), client.act(&money, "revoke"));
        assert_eq!(revoked.status, StatusCode::CREATED);
        if published.status == StatusCode::CREATED {
            assert!(
                published.json()["index"].as_u64() < revoked.json()["index"].as_u64(),
                "{published:?} {revoked:?}"
            );
            taken += 1;
        } else {
            assert_eq!(published.code(), "document_invalid");
            assert!(detail(&published).contains("which is revoked"), "{published:?}");
            refused += 1;
        }
    }
    assert_eq!(taken + refused, 30);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_revoked_context_reaches_a_model_through_one_that_refers_to_it() {
    let place = Place::new();
    let running = place.start().await;
    let client = &running.client;
    assert_eq!(client.publish(&document(MONEY, "money")).await.status, StatusCode::CREATED);
    assert_eq!(client.publish(&shop()).await.status, StatusCode::CREATED);
    let prompt = format!("/v1/contexts/{SHOP}/prompt");
    let first = client.get(&prompt).await;
    assert_eq!(first.status, StatusCode::OK);
    for (act, status, says) in [
        ("suspend", StatusCode::GONE, "`urn:contexts:money:v1.0`, which is suspended"),
        ("resume", StatusCode::OK, "status: valid"),
        ("retire", StatusCode::OK, "status: deprecated"),
        ("revoke", StatusCode::GONE, "`urn:contexts:money:v1.0`, which is revoked"),
    ] {
        assert_eq!(client.act(MONEY, act).await.status, StatusCode::CREATED, "{act}");
        let served = client.get(&prompt).await;
        assert_eq!(served.status, status, "{act}: {served:?}");
        if status == StatusCode::GONE {
            assert_eq!(served.code(), "context_not_current");
        }
        let text = String::from_utf8_lossy(&served.body);
        assert!(text.contains(says), "{act}: {text}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_context_below_its_floor_reaches_a_model_through_one_that_refers_to_it() {
    let place = Place::new();
    let running = place.start().await;
    let client = &running.client;
    assert_eq!(client.publish(&document(MONEY, "money")).await.status, StatusCode::CREATED);
    assert_eq!(client.publish(&shop()).await.status, StatusCode::CREATED);
    let prompt = format!("/v1/contexts/{SHOP}/prompt");
    assert_eq!(client.get(&prompt).await.status, StatusCode::OK, "and it is cached now");
    let next = document("urn:contexts:money:v1.1", "money");
    assert_eq!(client.publish(&next).await.status, StatusCode::CREATED);
    assert_eq!(client.floor("money", "v1.1").await.status, StatusCode::CREATED);
    let served = client.get(&prompt).await;
    assert_eq!((served.status, served.code().as_str()), (StatusCode::GONE, "context_not_current"));
    assert!(detail(&served).contains("which is below the floor of `money`"), "{}", detail(&served));
    running.stop().await;
}
