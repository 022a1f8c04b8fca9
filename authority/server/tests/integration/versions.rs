//! Versions that are proven: what an authority publishes beside what it has published, and what it refuses with a document that shows why.

use crate::support;

use http::StatusCode;
use ring::rand::SystemRandom;
use semgate_contexts::{Context, DocumentLimits, Prefix};
use semgate_statement::{Permission, SignedPermission, SigningIdentity};
use serde_json::{Value, json};
use support::*;

const JSON: &str = "application/json";

/// One version of a line, with a concept and a task.
fn version(number: &str, concept: Value, results: Value) -> String {
    let parameters =
        json!({ "type": "object", "properties": { "item": { "type": "string", "maxLength": 20 } } });
    let task = json!({ "parameters": parameters, "results": results });
    json!({ "context": format!("urn:contexts:stock.test:v{number}"), "concepts": { "move": concept }, "tasks": { "count": task } }).to_string()
}

fn concept(most: u64) -> Value {
    json!({ "type": "object", "properties": { "quantity": { "type": "integer", "minimum": 0, "maximum": most } }, "required": ["quantity"] })
}

fn results(states: &[&str]) -> Value {
    json!({ "type": "object", "properties": { "state": { "enum": states } } })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minor_version_that_breaks_is_refused_with_the_document_that_shows_it() {
    let place = Place::new();
    let running = place.start().await;
    let client = &running.client;
    let states = ["known", "gone"];
    assert_eq!(
        client.publish(&version("1.0", concept(10), results(&states))).await.status,
        StatusCode::CREATED
    );
    assert_eq!(
        client.publish(&version("1.1", concept(20), results(&states))).await.status,
        StatusCode::CREATED
    );

    // compatible with v1.0, and not with v1.1
    let got = client.publish(&version("1.2", concept(15), results(&states))).await;
    assert_eq!((got.status, got.code().as_str()), (StatusCode::CONFLICT, "version_breaks"));
    let problem = got.json();
    let comparison = &problem["comparison"];
    assert_eq!(comparison["old"], "urn:contexts:stock.test:v1.1");
    assert_eq!((&comparison["verdict"], &comparison["next_version"]), (&json!("breaking"), &json!("v2.0")));
    let part = &comparison["parts"][0];
    assert_eq!((&part["pointer"], &part["role"]), (&json!("/concepts/move"), &json!("accepts")));
    let quantity = part["witness"]["quantity"].as_u64().unwrap();
    assert!(quantity > 15 && quantity <= 20, "{part}");
    assert_eq!(part["refused"], json!({ "path": "/quantity", "rule": "maximum" }));

    // results are read by old callers: a new state breaks, a state that goes does not
    let got = client.publish(&version("1.2", concept(20), results(&["known", "gone", "lost"]))).await;
    assert_eq!(got.code(), "version_breaks");
    assert_eq!(got.json()["comparison"]["parts"][0]["role"], "answers");
    assert_eq!(
        client.publish(&version("1.2", concept(20), results(&["known"]))).await.status,
        StatusCode::CREATED
    );

    // a major version may break
    assert_eq!(
        client.publish(&version("2.0", concept(5), results(&["other"]))).await.status,
        StatusCode::CREATED
    );
    let got = client.publish(&version("1.3", concept(5), results(&["known"]))).await;
    assert_eq!(got.json()["comparison"]["next_version"], "v3.0");
    let listed = client.ok("/v1/contexts").await.json();
    assert_eq!(listed["contexts"].as_array().unwrap().len(), 4);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_revoked_version_is_not_compared_with_and_later_ones_are_too() {
    let place = Place::new();
    let running = place.start().await;
    let client = &running.client;
    let states = ["known"];
    assert_eq!(
        client.publish(&version("1.0", concept(30), results(&states))).await.status,
        StatusCode::CREATED
    );
    for act in ["suspend", "resume", "retire"] {
        let path = format!("/v1/contexts/urn:contexts:stock.test:v1.0/{act}");
        assert!(client.post(&path, JSON, r#"{"reason":"a test"}"#).await.status.is_success());
        assert_eq!(
            client.publish(&version("1.5", concept(10), results(&states))).await.code(),
            "version_breaks",
            "{act}"
        );
    }
    let path = "/v1/contexts/urn:contexts:stock.test:v1.0/revoke";
    assert!(client.post(path, JSON, r#"{"reason":"a test"}"#).await.status.is_success());
    assert_eq!(
        client.publish(&version("1.5", concept(10), results(&states))).await.status,
        StatusCode::CREATED
    );

    // a version beneath one that is there must be kept by it
    assert_eq!(client.publish(&version("1.4", concept(20), results(&states))).await.code(), "version_breaks");
    assert_eq!(
        client.publish(&version("1.4", concept(9), results(&states))).await.status,
        StatusCode::CREATED
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_shown_is_refused_and_says_what_stopped_the_search() {
    let place = Place::new();
    let running = place.start().await;
    let client = &running.client;
    let text = |marked: bool| {
        let mut text = json!({ "type": "string", "maxLength": 50 });
        if marked {
            text["x-free-text"] = json!(true);
        }
        json!({ "type": "object", "properties": { "note": text } })
    };
    let states = results(&["known"]);
    assert_eq!(client.publish(&version("1.0", text(true), states.clone())).await.status, StatusCode::CREATED);
    let got = client.publish(&version("1.1", text(false), states)).await;
    assert_eq!((got.status, got.code().as_str()), (StatusCode::CONFLICT, "version_unproven"));
    let part = &got.json()["comparison"]["parts"][0];
    assert_eq!(part["verdict"], "unknown");
    assert!(part["reason"].as_str().unwrap().contains("free text"), "{part}");
    assert_eq!(part.get("witness"), None);
    running.stop().await;
}

const ADA: &str = "spiffe://semgate.test/ada";
const GRACE: &str = "spiffe://semgate.test/grace";

/// What Grace, or somebody else, permits: this document beside these.
fn permission(place: &Place, by: &str, document: &str, beside: &[&str]) -> String {
    permission_as("Grace Hopper", place, by, document, beside)
}

/// The same under this name.
fn permission_as(name: &str, place: &Place, by: &str, document: &str, beside: &[&str]) -> String {
    let (chain, key) = place.identity(by);
    let read = |document: &str| {
        let document = Context::check(document.as_bytes(), &Prefix::default(), &DocumentLimits::default());
        let document = document.unwrap();
        (document.urn().clone(), *document.digest())
    };
    let (urn, digest) = read(document);
    let permission = Permission {
        authority: "semgate.test".to_owned(),
        siblings: beside.iter().map(|document| read(document)).collect(),
        name: name.to_owned(),
        reason: "nobody moves more than ten".to_owned(),
        urn,
        digest,
    };
    let identity = SigningIdentity::new(key, chain);
    let signed = SignedPermission::sign(&permission, &identity, &Prefix::default(), &SystemRandom::new());
    signed.unwrap().as_str().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_named_person_permits_one_document_beside_the_versions_that_count_and_no_other() {
    let place = Place::new();
    let mut config = place.config();
    config.publishers.push(semgate_authority::Publisher {
        overrides: vec![semgate_authority::LinePattern::parse("stock.test").unwrap()],
        ..publisher(GRACE, &[], &[], &[])
    });
    config.publishers.push(publisher("spiffe://semgate.test/clerk", &["stock.test"], &["*"], &["*"]));
    let running = place.start_with(config).await;
    let client = &running.client;
    let clerk = running.client_of(&place, Some("spiffe://semgate.test/clerk"));
    let of = |number: &str, most: u64| version(number, concept(most), results(&["known"]));
    let (first, draft, another) = (of("1.0", 20), of("1.1", 10), of("1.1", 11));
    assert_eq!(client.publish(&first).await.status, StatusCode::CREATED);
    assert_eq!(clerk.publish(&draft).await.code(), "version_breaks");
    let submit = async |client: &Client, permission: &str| {
        client.post("/v1/overrides", "application/jose+json", permission).await
    };

    // who may publish may not override; a stranger may not even hand it in
    let got = submit(&clerk, &permission(&place, "spiffe://semgate.test/clerk", &draft, &[&first])).await;
    assert_eq!(got.code(), "not_permitted");
    let by_grace = permission(&place, GRACE, &draft, &[&first]);
    let stranger = running.client_of(&place, Some("spiffe://semgate.test/nobody"));
    assert_eq!(submit(&stranger, &by_grace).await.code(), "not_permitted");
    // forged, for another authority, beside what is not published, for what is
    let forged = by_grace.replace("\"signature\":\"", "\"signature\":\"AAAA");
    assert_eq!(submit(&clerk, &forged).await.code(), "signature_invalid");
    let beside_nothing = permission(&place, GRACE, &draft, &[&of("1.5", 3)]);
    assert_eq!(submit(&clerk, &beside_nothing).await.code(), "override_refused");
    for hidden in ["Grace\u{202e}reppoH", "Grace\u{200b}"] {
        let got = submit(&clerk, &permission_as(hidden, &place, GRACE, &draft, &[&first])).await;
        assert_eq!(got.code(), "parameter_invalid", "{got:?}");
        let why = "a name or reason has control, bidirectional or zero-width characters";
        assert_eq!(got.json()["detail"], why, "{got:?}");
        let reason = json!({ "reason": hidden }).to_string();
        let got = client
            .post("/v1/contexts/urn:contexts:stock.test:v1.0/revoke", "application/json", &reason)
            .await;
        assert_eq!(
            (got.code().as_str(), &got.json()["detail"]),
            ("parameter_invalid", &why.into()),
            "{got:?}"
        );
    }
    let late = permission(&place, GRACE, &first, &[&draft]);
    assert_eq!(submit(&clerk, &late).await.code(), "override_refused");
    assert_eq!(client.ok("/v1/overrides").await.json(), json!({ "overrides": [] }));

    // the right person: logged, the same again is the same entry; it permits that document only
    let got = submit(&clerk, &by_grace).await;
    assert_eq!(got.status, StatusCode::CREATED, "{got:?}");
    // so is the same that was signed anew: each signature has other bytes, and each counted against the limits
    let anew = permission(&place, GRACE, &draft, &[&first]);
    assert_ne!(anew, by_grace);
    for same in [&by_grace, &anew] {
        let again = submit(&running.client_of(&place, Some(GRACE)), same).await;
        assert_eq!((again.status, &again.json()["index"]), (StatusCode::OK, &got.json()["index"]));
    }
    let refused = clerk.publish(&another).await;
    assert_eq!(refused.code(), "version_breaks");
    assert!(refused.json()["detail"].as_str().unwrap().ends_with("is for another document"), "{refused:?}");
    // Grace permits, and does not publish
    assert_eq!(running.client_of(&place, Some(GRACE)).publish(&draft).await.code(), "not_permitted");
    assert_eq!(clerk.publish(&draft).await.status, StatusCode::CREATED);

    // another version counts by the time that the next one comes: what was permitted without it does not hold
    let next = of("1.3", 5);
    assert_eq!(
        submit(&clerk, &permission(&place, GRACE, &next, &[&first])).await.status,
        StatusCode::CREATED
    );
    let refused = clerk.publish(&next).await;
    assert_eq!(refused.code(), "version_breaks");
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("does not name `urn:contexts:stock.test:v1.1`"), "{detail}");
    let both = permission(&place, GRACE, &next, &[&first, &draft]);
    assert_eq!(submit(&clerk, &both).await.status, StatusCode::CREATED);
    assert_eq!(clerk.publish(&next).await.status, StatusCode::CREATED);

    // the log says who and why, to those who replay it, and followers count what was published
    let mut fetch = client.clone();
    let report = semgate_statement::verify_log(&mut fetch, &place.follower_config(), now()).unwrap();
    let said: Vec<_> =
        report.overrides.iter().map(|o| (o.by.as_str(), o.name.as_str(), o.published)).collect();
    assert_eq!(said, [(GRACE, "Grace Hopper", true); 3]);
    assert_eq!(report.overrides[0].reason, "nobody moves more than ten");
    let listed = client.ok("/v1/overrides").await.json();
    assert_eq!(listed["overrides"][0]["urn"], "urn:contexts:stock.test:v1.1");
    assert_eq!(client.ok("/v1/contexts").await.json()["contexts"].as_array().unwrap().len(), 3);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_versions_of_one_major_at_once_never_pass_unseen_by_each_other() {
    let place = Place::new();
    let running = place.start().await;
    for round in 0..6 {
        let line = format!("urn:contexts:race{round}:v1");
        let of = |minor: u64, most: u64| {
            let document =
                json!({ "context": format!("{line}.{minor}"), "concepts": { "move": concept(most) } });
            document.to_string()
        };
        // whichever is first, the other breaks it
        let (one, two) = (running.client.clone(), running.client.clone());
        let (first, second) = (of(0, 20), of(1, 10));
        let (first, second) = tokio::join!(
            tokio::spawn(async move { one.publish(&first).await }),
            tokio::spawn(async move { two.publish(&second).await })
        );
        let codes = [first.unwrap(), second.unwrap()];
        let made = codes.iter().filter(|got| got.status == StatusCode::CREATED).count();
        assert_eq!(made, 1, "{codes:?}");
        let other = codes.iter().find(|got| got.status != StatusCode::CREATED).unwrap();
        assert!(["version_breaks", "version_raced"].contains(&other.code().as_str()), "{other:?}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn anybody_may_compare_documents_schemas_and_published_versions() {
    let place = Place::new();
    let running = place.start().await;
    let stranger = running.client_of(&place, None);
    let states = results(&["known"]);
    let old = version("1.0", concept(10), states.clone());
    assert_eq!(running.client.publish(&old).await.status, StatusCode::CREATED);
    let ask = async |body: Value| {
        let got = stranger.post("/v1/compare", JSON, &body.to_string()).await;
        assert_eq!(got.status, StatusCode::OK, "{got:?}");
        got.json()
    };
    let new: Value = serde_json::from_str(&version("1.1", concept(9), states)).unwrap();
    let got = ask(json!({ "old": "urn:contexts:stock.test:v1.0", "new": new })).await;
    assert_eq!((&got["verdict"], &got["next_version"]), (&json!("breaking"), &json!("v2.0")));
    assert_eq!(got["next_is_free"], true);
    let parts: Vec<&Value> = got["parts"].as_array().unwrap().iter().map(|part| &part["verdict"]).collect();
    assert_eq!(parts, ["breaking", "compatible", "compatible"]);
    let (narrow, wide) = (
        concept(9),
        json!({ "type": "object", "properties": { "quantity": { "$ref": "#/$defs/n" } }, "$defs": { "n": { "type": "number" } } }),
    );
    for (role, verdict) in [("concept", "compatible"), ("parameters", "compatible"), ("results", "breaking")]
    {
        let got = ask(json!({ "old": narrow, "new": wide, "role": role })).await;
        assert_eq!(got["verdict"], verdict, "{role} {got}");
        assert_eq!(got["next_is_free"], Value::Null, "a schema alone has no line: {got}");
    }
    running.stop().await;
}

/// The number came from the two documents alone, so that it was one that this authority had published.
#[tokio::test(flavor = "multi_thread")]
async fn compare_told_a_number_that_was_taken() {
    let place = Place::new();
    let running = place.start().await;
    let of = |number: &str, most: u64| version(number, concept(most), results(&["known"]));
    for (number, most) in [("1.0", 10), ("1.1", 20), ("2.0", 30)] {
        assert_eq!(running.client.publish(&of(number, most)).await.status, StatusCode::CREATED);
    }
    let stranger = running.client_of(&place, None);
    let urn = |number: &str| json!(format!("urn:contexts:stock.test:v{number}"));
    for (old, new, verdict, next) in [
        (urn("1.0"), urn("2.0"), "compatible", "v1.2"),
        (urn("1.1"), urn("1.0"), "breaking", "v3.0"),
        // what is published under the number is this very document
        (urn("1.0"), urn("1.1"), "compatible", "v1.1"),
        (urn("1.0"), serde_json::from_str(&of("1.1", 25)).unwrap(), "compatible", "v1.2"),
    ] {
        let asked = json!({ "old": old, "new": new });
        let got = stranger.post("/v1/compare", JSON, &asked.to_string()).await.json();
        let told = (&got["verdict"], &got["next_version"], &got["next_is_free"]);
        assert_eq!(told, (&json!(verdict), &json!(next), &json!(true)), "{asked}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_permission_that_two_must_agree_to_is_proposed_by_who_signed_it_and_shows_what_it_permits() {
    let place = Place::new();
    let mut config = place.config();
    let clerk = "spiffe://semgate.test/clerk";
    config.publishers.extend([GRACE, clerk].map(semgate_authority::Publisher::of_everything));
    config.four_eyes = vec![semgate_policies::PublisherAct::Override];
    let running = place.start_with(config.clone()).await;
    let (grace, clerk) = (running.client_of(&place, Some(GRACE)), running.client_of(&place, Some(clerk)));
    let of = |number: &str, most: u64| version(number, concept(most), results(&["known"]));
    let (first, draft) = (of("1.0", 20), of("1.1", 10));
    assert_eq!(clerk.publish(&first).await.status, StatusCode::CREATED);
    let by_grace = permission(&place, GRACE, &draft, &[&first]);
    let submit =
        async |client: &Client| client.post("/v1/overrides", "application/jose+json", &by_grace).await;
    let refused = submit(&clerk).await;
    assert_eq!(refused.code(), "not_permitted");
    assert!(
        refused.json()["detail"].as_str().unwrap().contains("who signed it, must submit it"),
        "{refused:?}"
    );
    assert_eq!(clerk.ok("/v1/proposals").await.json(), json!({ "proposals": [] }));
    let proposed = submit(&grace).await;
    assert_eq!(proposed.status, StatusCode::ACCEPTED, "{proposed:?}");
    let shown = proposed.json();
    let document = Context::check(draft.as_bytes(), &Prefix::default(), &DocumentLimits::default()).unwrap();
    assert_eq!(shown["digest"], document.digest().to_string());
    assert_eq!(shown["beside"], json!(["urn:contexts:stock.test:v1.0"]));
    assert_eq!((&shown["name"], &shown["permission"]), (&json!("Grace Hopper"), &json!(by_grace)));
    // signed anew it is the same, which waits already; by somebody else it is another one
    let anew = permission(&place, GRACE, &draft, &[&first]);
    let again = grace.post("/v1/overrides", "application/jose+json", &anew).await;
    assert_eq!(again.code(), "second_person_required");
    assert_eq!(again.json()["proposal"], shown["proposal"]);
    assert_eq!(clerk.ok("/v1/proposals").await.json(), json!({ "proposals": [shown] }));
    let by_clerk = permission(&place, "spiffe://semgate.test/clerk", &draft, &[&first]);
    let other = clerk.post("/v1/overrides", "application/jose+json", &by_clerk).await;
    assert_eq!(other.status, StatusCode::ACCEPTED);
    assert_ne!(other.json()["proposal"], shown["proposal"]);
    let path = format!("/v1/proposals/{}/approve", shown["proposal"].as_str().unwrap());
    assert_eq!(clerk.post(&path, JSON, "").await.status, StatusCode::CREATED);
    // said before: whoever hands it in
    assert_eq!(submit(&clerk).await.status, StatusCode::OK);

    // the roots of clients change: what is signed under the old ones is nobody's, for connections of before as well
    let mut kept = clerk.connect().await.unwrap();
    let other = Place::new();
    std::fs::copy(other.config().tls.client_roots, &config.tls.client_roots).unwrap();
    let began = std::time::Instant::now();
    while !running.admin("/metrics").await.1.contains(r#"tls_reloads_total{result="taken"} 1"#) {
        assert!(began.elapsed().as_secs() < 60, "the roots were not taken up");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let late = request(http::Method::POST, "/v1/overrides", Some("application/jose+json"), &by_grace);
    assert_eq!(send_on(&mut kept, late).await.unwrap().code(), "signature_invalid");
    running.stop().await;
}

/// It was refused before anybody's permission was looked for.
#[tokio::test(flavor = "multi_thread")]
async fn a_person_permits_a_version_beside_more_than_are_compared() {
    let place = Place::new();
    let mut config = place.config();
    config.publishers.push(publisher(GRACE, &[], &[], &[]));
    config.publishers.last_mut().unwrap().overrides =
        vec![semgate_authority::LinePattern::parse("stock.test").unwrap()];
    config.limits.compared_versions = 1;
    let running = place.start_with(config).await;
    let grace = running.client_of(&place, Some(GRACE));
    let of = |number: &str, most: u64| version(number, concept(most), results(&["known"]));
    let (first, second, third) = (of("1.0", 20), of("1.1", 20), of("1.2", 20));
    assert_eq!(running.client.publish(&first).await.status, StatusCode::CREATED);
    assert_eq!(running.client.publish(&second).await.status, StatusCode::CREATED);
    let refused = running.client.publish(&third).await;
    assert_eq!(refused.code(), "version_unproven");
    assert!(refused.json()["detail"].as_str().unwrap().starts_with("more than 1 versions"), "{refused:?}");
    let permit = async |beside: &[&str]| {
        let signed = permission(&place, GRACE, &third, beside);
        grace.post("/v1/overrides", "application/jose+json", &signed).await
    };
    // of one alone it does not count
    let got = permit(&[&first]).await;
    assert_eq!(got.status, StatusCode::CREATED, "{got:?}");
    let refused = running.client.publish(&third).await;
    assert_eq!(refused.code(), "version_unproven");
    assert!(refused.json()["detail"].as_str().unwrap().contains("does not name"), "{refused:?}");
    let got = permit(&[&first, &second]).await;
    assert_eq!(got.status, StatusCode::CREATED, "{got:?}");
    assert_eq!(running.client.publish(&third).await.status, StatusCode::CREATED);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn permissions_are_bounded_in_number_and_listed_as_they_are_at_each_moment() {
    let place = Place::new();
    let mut config = place.config();
    config.publishers.push(semgate_authority::Publisher {
        overrides: vec![semgate_authority::LinePattern::parse("stock.test").unwrap()],
        ..publisher(GRACE, &[], &[], &[])
    });
    config.limits.overrides = 3;
    config.limits.account_share = 2;
    config.publishers.push(semgate_authority::Publisher {
        overrides: vec![semgate_authority::LinePattern::parse("stock.test").unwrap()],
        ..publisher(ADA, &[], &[], &[])
    });
    let running = place.start_with(config).await;
    let grace = running.client_of(&place, Some(GRACE));
    let of = |number: &str, most: u64| version(number, concept(most), results(&["known"]));
    let first = of("1.0", 20);
    assert_eq!(running.client.publish(&first).await.status, StatusCode::CREATED);
    let permit = async |person: &str, number: &str| {
        let signed = permission(&place, person, &of(number, 10), &[&first]);
        let got = grace.post("/v1/overrides", "application/jose+json", &signed).await;
        let listed = grace.ok("/v1/overrides").await.json()["overrides"].as_array().unwrap().len();
        (got.status.as_u16(), if got.status.is_success() { String::new() } else { got.code() }, listed)
    };
    assert_eq!(grace.ok("/v1/overrides").await.json(), json!({ "overrides": [] }));
    let full = |listed| (507, "overrides_full".to_owned(), listed);
    assert_eq!(permit(GRACE, "1.1").await, (201, String::new(), 1));
    assert_eq!(permit(GRACE, "1.2").await, (201, String::new(), 2));
    assert_eq!(permit(GRACE, "1.3").await, full(2), "one person's share is used up");
    assert_eq!(permit(ADA, "1.3").await, (201, String::new(), 3), "another has room");
    assert_eq!(permit(ADA, "1.4").await, full(3), "and then nobody has");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compatible_version_that_loses_a_type_is_published_with_a_warning() {
    let place = Place::new();
    let running = place.start().await;
    let client = &running.client;
    let part = |quantity: Value| json!({ "type": "object", "properties": { "quantity": quantity } });
    let of = |number: &str, quantity: Value| version(number, part(quantity), results(&["known"]));
    let text = json!({ "type": "string", "maxLength": 9 });
    let either = json!({ "type": ["string", "integer"], "maxLength": 9 });
    let first = client.publish(&of("1.0", text)).await;
    assert_eq!((first.status, first.json().get("warnings").cloned()), (StatusCode::CREATED, None));
    let second = of("1.1", either);
    let new: Value = serde_json::from_str(&second).unwrap();
    let asked = json!({ "old": "urn:contexts:stock.test:v1.0", "new": new });
    let compared = client.post("/v1/compare", JSON, &asked.to_string()).await.json();
    assert_eq!((&compared["verdict"], &compared["next_version"]), (&json!("compatible"), &json!("v1.1")));
    let what = "`quantity` is a string in other versions and not visible here";
    assert_eq!(compared["untyped"], json!([{ "pointer": "/concepts/move", "what": what }]));
    let published = client.publish(&second).await;
    assert_eq!(published.status, StatusCode::CREATED, "{published:?}");
    let warning = json!({ "rule": "untyped", "beside": "urn:contexts:stock.test:v1.0", "pointer": "/concepts/move", "what": what });
    assert_eq!(published.json()["warnings"], json!([warning]));

    let whole = of("3.0", json!({ "type": "integer" }));
    assert_eq!(client.publish(&whole).await.status, StatusCode::CREATED);
    let any = client.publish(&of("3.1", json!({ "type": "number" }))).await;
    assert_eq!(
        (any.status, any.json()["warnings"][0]["rule"].clone()),
        (StatusCode::CREATED, json!("untyped"))
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_version_that_would_take_the_namespace_of_another_line_is_not_published() {
    let place = Place::new();
    let running = place.start().await;
    let client = &running.client;
    let of = |number: &str, kind: &str| {
        let concept = json!({ "type": "object", "properties": { "quantity": { "type": kind } } });
        version(number, concept, results(&["known"]))
    };
    let namesake = |number: &str| of(number, "integer").replace("stock.test:", "stock.test.v2:");
    assert_eq!(client.publish(&of("1.0", "integer")).await.status, StatusCode::CREATED);
    assert_eq!(client.publish(&namesake("1.0")).await.status, StatusCode::CREATED);
    let refused = client.publish(&of("2.0", "boolean")).await;
    assert_eq!((refused.status, refused.code().as_str()), (StatusCode::CONFLICT, "version_untyped"));
    let said = refused.json();
    let detail = said["detail"].as_str().unwrap();
    assert!(detail.contains("`stock::test::v2` would be its namespace in policies"), "{said}");
    // what agrees needs no namespace of its own
    assert_eq!(client.publish(&of("2.0", "integer")).await.status, StatusCode::CREATED);
    // and the other way round
    let other = |line: &str, number: &str, kind: &str| of(number, kind).replace("stock.test:", line);
    assert_eq!(client.publish(&other("stock.test.w:", "1.0", "integer")).await.status, StatusCode::CREATED);
    assert_eq!(client.publish(&other("stock.test.w:", "2.0", "boolean")).await.status, StatusCode::CREATED);
    let refused = client.publish(&other("stock.test.w.v1:", "1.0", "integer")).await;
    assert_eq!(refused.code(), "version_untyped", "{refused:?}");
    running.stop().await;
}
