//! What revoke, suspend, resume, retire and floors do, and in which order they may.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use http::StatusCode;
use semgate_statement::verify_log;
use support::*;

#[tokio::test(flavor = "multi_thread")]
async fn the_lifecycle_of_a_context_is_the_table_of_the_specification() {
    let place = Place::new();
    let running = place.start().await;
    let client = &running.client;
    let mut n = 0;
    // What leads to each state, and what each act then answers and leaves.
    for (path, rows) in [
        (
            &[][..],
            [
                ("revoke", 201, "invalid"),
                ("suspend", 201, "suspended"),
                ("resume", 409, "valid"),
                ("retire", 201, "deprecated"),
            ],
        ),
        (
            &["suspend"],
            [
                ("revoke", 201, "invalid"),
                ("suspend", 200, "suspended"),
                ("resume", 201, "valid"),
                ("retire", 201, "suspended"),
            ],
        ),
        (
            &["retire"],
            [
                ("revoke", 201, "invalid"),
                ("suspend", 201, "suspended"),
                ("resume", 409, "deprecated"),
                ("retire", 200, "deprecated"),
            ],
        ),
        (
            &["retire", "suspend"],
            [
                ("revoke", 201, "invalid"),
                ("suspend", 200, "suspended"),
                ("resume", 201, "deprecated"),
                ("retire", 200, "suspended"),
            ],
        ),
        (
            &["suspend", "resume"],
            [
                ("revoke", 201, "invalid"),
                ("suspend", 201, "suspended"),
                ("resume", 200, "valid"),
                ("retire", 201, "deprecated"),
            ],
        ),
        (
            &["revoke"],
            [
                ("revoke", 200, "invalid"),
                ("suspend", 409, "invalid"),
                ("resume", 409, "invalid"),
                ("retire", 409, "invalid"),
            ],
        ),
    ] {
        for (act, status, left) in rows {
            let urn = format!("urn:contexts:line{n}:v1.0");
            n += 1;
            let index = client.publish(&document(&urn, "")).await.json()["index"].clone();
            let mut last = serde_json::Value::Null;
            for step in path {
                last = client.act(&urn, step).await.json();
            }
            let got = client.act(&urn, act).await;
            assert_eq!(got.status.as_u16(), status, "{path:?} {act}: {got:?}");
            match status {
                409 => assert_eq!(got.code(), "transition_refused"),
                200 if path.last() == Some(&act) => assert_eq!(got.json(), last),
                _ => assert!(got.json()["index"].as_u64() < got.json()["seq"].as_u64()),
            }
            let listed = client.ok("/v1/contexts").await.json();
            let mut listed = listed["contexts"].as_array().unwrap().iter().filter(|c| c["index"] == index);
            assert_eq!(listed.next().unwrap()["status"], left, "{path:?} {act}");
        }
    }
    verify_log(&mut client.clone(), &place.follower_config(), now()).unwrap();
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_floor_rises_only_and_never_above_what_is_published() {
    let place = Place::new();
    let running = place.start().await;
    let client = &running.client;
    for version in ["v1.0", "v1.1", "v2.0"] {
        client.publish(&document(&format!("urn:contexts:payment.test:{version}"), version)).await;
    }
    let raised = client.floor("payment.test", "v1.1").await;
    assert_eq!(raised.status, StatusCode::CREATED);
    let again = client.floor("payment.test", "v1.1").await;
    assert_eq!((again.status, again.json()), (StatusCode::OK, raised.json()));
    assert_eq!(client.floor("payment.test", "v1.0").await.code(), "floor_lowered");
    assert_eq!(client.floor("payment.test", "v2.1").await.code(), "floor_unpublished");
    assert_eq!(client.floor("travel", "v1.0").await.code(), "floor_unpublished");
    let floors = client.ok("/v1/floors").await;
    assert_eq!(
        &floors.body[..],
        br#"{"authority":"semgate.test","floors":[{"line":"payment.test","min":"v1.1"}]}"#
    );
    running.stop().await;
}
