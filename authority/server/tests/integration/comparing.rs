//! Comparisons that are made to take long, asked for by anybody: whoever leaves frees the place, and none holds up the end of the authority.

#[path = "../../../../contexts/src/compare/tests/endless.rs"]
mod endless;
use crate::support;

use std::time::{Duration, Instant};

use http::StatusCode;
use serde_json::{Value, json};
use support::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const JSON: &str = "application/json";

/// What a slow machine that does other things takes at most to end at once; what is compared would take hours.
const PATIENCE: Duration = Duration::from_secs(20);

/// A document with one of a pair that is hard to compare.
fn version(minor: u8) -> Value {
    let (old, new) = endless::endless();
    let concept = if minor == 0 { old } else { new };
    json!({ "context": format!("urn:contexts:stock.test:v1.{minor}"), "concepts": { "c": concept } })
}

fn request_body() -> String {
    json!({ "old": version(0), "new": version(1) }).to_string()
}

fn head(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: a\r\ncontent-type: {JSON}\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// An authority whose comparisons are bounded by nothing that a test would wait for.
async fn patient(place: &Place) -> Running {
    let mut config = place.config();
    config.limits.comparisons = 1;
    config.limits.checks = 1;
    config.limits.compare_steps = 1 << 40;
    config.limits.compare_time = Duration::from_secs(3_600);
    place.start_with(config).await
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_caller_that_leaves_its_comparison_frees_the_place() {
    let place = Place::new();
    let running = patient(&place).await;
    let stranger = running.client_of(&place, None);
    let mut line = stranger.raw().await;
    line.write_all(head("/v1/compare", &request_body()).as_bytes()).await.unwrap();
    line.flush().await.unwrap();
    // the place is its own before others ask for it
    tokio::time::sleep(Duration::from_secs(1)).await;
    let small = json!({ "old": version(1), "new": version(1) }).to_string();
    let began = Instant::now();
    while stranger.post("/v1/compare", JSON, &small).await.status == StatusCode::OK {
        assert!(began.elapsed() < PATIENCE, "it never began");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop(line);
    let began = Instant::now();
    while stranger.post("/v1/compare", JSON, &small).await.status != StatusCode::OK {
        assert!(began.elapsed() < PATIENCE, "the place stays taken");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    running.stop().await;
}

/// The one place for checks is free for the next submission.
#[tokio::test(flavor = "multi_thread")]
async fn attack_a_publisher_that_leaves_its_submission_frees_the_place() {
    let place = Place::new();
    let running = patient(&place).await;
    assert_eq!(running.client.publish(&version(0).to_string()).await.status, StatusCode::CREATED);
    let mut line = running.client.raw().await;
    line.write_all(head("/v1/contexts", &version(1).to_string()).as_bytes()).await.unwrap();
    line.flush().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    drop(line);
    let other = json!({ "context": "urn:contexts:stock.other:v1.0", "concepts": { "c": { "type": "object", "properties": {} } } });
    let made = tokio::time::timeout(PATIENCE, running.client.publish(&other.to_string())).await;
    assert_eq!(made.expect("the place stays taken").status, StatusCode::CREATED);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_comparison_does_not_hold_up_the_end() {
    let place = Place::new();
    let running = patient(&place).await;
    let mut line = running.client_of(&place, None).raw().await;
    line.write_all(head("/v1/compare", &request_body()).as_bytes()).await.unwrap();
    line.flush().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let began = Instant::now();
    running.stop().await;
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    let mut answer = String::new();
    let _ = line.read_to_string(&mut answer).await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("\"stopping\""), "{answer}");
}

/// The time is the net below the steps.
#[tokio::test(flavor = "multi_thread")]
async fn attack_a_comparison_ends_by_the_time_whatever_it_counted() {
    let place = Place::new();
    let mut config = place.config();
    config.limits.compare_steps = 1 << 40;
    config.limits.compare_time = Duration::from_millis(300);
    let running = place.start_with(config).await;
    let began = Instant::now();
    let got = running.client_of(&place, None).post("/v1/compare", JSON, &request_body()).await;
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    let got = got.json();
    assert_eq!(
        (&got["verdict"], &got["parts"][0]["reason"]),
        (&json!("unknown"), &json!("the limit of time"))
    );
    assert_eq!(running.client.publish(&version(0).to_string()).await.status, StatusCode::CREATED);
    let refused = running.client.publish(&version(1).to_string()).await;
    assert_eq!((refused.status, refused.code().as_str()), (StatusCode::CONFLICT, "version_unproven"));
    assert!(refused.json()["detail"].as_str().unwrap().contains("the limit of time"), "{refused:?}");
    running.stop().await;
}
