use std::time::Duration;

use http::StatusCode;

use super::*;
use crate::support::{Place, Running, document};

/// What the clock of the first run was ahead: more than readers allow, and less than keys live.
const AHEAD: u64 = 3600;

#[test]
fn a_clock_is_held_against_how_long_the_machine_ran_and_against_what_was_signed() {
    let all = |now, expected, last| judge(now, expected, 60, last);
    assert_eq!(all(1060, 1000, 0), None);
    assert_eq!(all(1061, 1000, 0), Some(ClockFault::Jumped(61)));
    assert_eq!(all(900, 1000, 960), None, "back, and still within what readers allow");
    assert_eq!(all(900, 1000, 961), Some(ClockFault::Behind(61)));
    assert_eq!(all(0, u64::MAX, u64::MAX), Some(ClockFault::Behind(u64::MAX)));
}

#[test]
fn many_small_steps_as_pauses_of_a_machine_make_them_are_no_jump() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::begin(&Limits::default(), dir.path());
    let at = |ahead| {
        wrong::set(dir.path(), ahead);
        clock.fault(0)
    };
    for night in 1..20 {
        assert_eq!(at(night * 40), None, "night {night}");
    }
    assert!(matches!(at(19 * 40 + 100), Some(ClockFault::Jumped(99..=101))));
    assert!(matches!(at(19 * 40 + 100), Some(ClockFault::Jumped(_))), "looking again makes it no better");
    assert_eq!(at(19 * 40), None, "it was set back");
}

async fn refused(running: &Running) {
    for got in [
        running.client.publish(&document("urn:contexts:payment:v3.0", "")).await,
        running.client.act("urn:contexts:payment:v1.0", "revoke").await,
        running.client.floor("payment", "v1.0").await,
    ] {
        assert_eq!((got.status.as_u16(), got.code().as_str()), (503, "clock_wrong"), "{got:?}");
        assert!(got.headers.contains_key("retry-after"));
    }
}

/// Waits until the admin address says this of the metric.
async fn measured(running: &Running, line: &str) {
    let began = std::time::Instant::now();
    while !running.admin("/metrics").await.1.contains(line) {
        assert!(began.elapsed() < Duration::from_secs(10), "no `{line}`");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_clock_that_was_ahead_no_revocation_is_acknowledged_that_reaches_nobody() {
    let place = Place::new();
    let state = place.config().state;
    let running = place.start().await;
    running.client.publish(&document("urn:contexts:payment:v1.0", "")).await;
    running.stop().await;
    // ahead from the start on: it cannot be told from an authority that was off
    wrong::set(&state, AHEAD);
    let running = place.start().await;
    let got = running.client.publish(&document("urn:contexts:payment:v2.0", "")).await;
    assert_eq!(got.status, StatusCode::CREATED);
    assert_eq!(running.admin("/readyz").await.0, StatusCode::OK);
    running.stop().await;
    // and by the true clock again
    wrong::set(&state, 0);
    let running = place.start().await;
    let (status, why) = running.admin("/readyz").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(why.starts_with("the clock is 35") || why.starts_with("the clock is 36"), "{why}");
    assert!(why.contains("seconds behind the last signature"), "{why}");
    measured(&running, "semgate_authority_clock_wrong{how=\"behind\"} 1").await;
    refused(&running).await;
    running.client.ok("/v1/contexts/urn:contexts:payment:v2.0").await;
    assert_eq!(running.client.ok("/v1/feed/head").await.status, StatusCode::OK);
    // the clock reaches it, and the authority goes on
    running.stop().await;
    wrong::set(&state, AHEAD);
    let running = place.start().await;
    let got = running.client.act("urn:contexts:payment:v1.0", "revoke").await;
    assert!(got.status.is_success(), "{got:?}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn by_a_clock_that_jumps_ahead_nothing_is_signed_and_heads_count_again_once_it_is_set_back() {
    let place = Place::with(|options| options.status_lifetime = Duration::from_secs(2));
    let state = place.config().state;
    let running = place.start().await;
    running.client.publish(&document("urn:contexts:payment:v1.0", "")).await;
    wrong::set(&state, AHEAD);
    measured(&running, "semgate_authority_clock_wrong{how=\"jumped\"} 1").await;
    let (status, why) = running.admin("/readyz").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(why.contains("seconds ahead while the authority ran"), "{why}");
    refused(&running).await;
    let head = running.client.ok("/v1/feed/head").await.etag();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(running.client.ok("/v1/feed/head").await.etag(), head, "signed by the clock that jumped");
    wrong::set(&state, 0);
    measured(&running, "semgate_authority_clock_wrong{how=\"jumped\"} 0").await;
    let began = std::time::Instant::now();
    while running.admin("/readyz").await.0 != StatusCode::OK {
        assert!(began.elapsed() < Duration::from_secs(10), "{}", running.admin("/readyz").await.1);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let got = running.client.act("urn:contexts:payment:v1.0", "revoke").await;
    assert!(got.status.is_success(), "{got:?}");
    running.stop().await;
}
