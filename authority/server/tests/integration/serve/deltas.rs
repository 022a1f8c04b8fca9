//! What leads from one head to the newest: made once for all who ask, and not at all for who has that head.

use http::{Method, StatusCode};

use crate::support::{Place, Running, document, request};

async fn made(running: &Running) -> u64 {
    let (_, metrics) = running.admin("/metrics").await;
    let made = metrics.lines().find_map(|line| line.strip_prefix("semgate_authority_deltas_total "));
    made.map_or(0, |made| made.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delta_is_made_once_for_all_who_ask_and_not_for_who_has_the_head_that_it_leads_to() {
    // no head is renewed meanwhile
    let place = Place::with(|options| options.status_lifetime = std::time::Duration::from_secs(3600));
    let running = place.start().await;
    for n in 1..=10 {
        let got = running.client.publish(&document(&format!("urn:contexts:payment:v{n}.0"), "")).await;
        assert_eq!(got.status, StatusCode::CREATED);
    }
    let head = running.client.ok("/v1/feed/head").await.etag();
    for from in 1..=10 {
        let mut asked = request(Method::GET, &format!("/v1/feed/deltas/{from}"), None, "");
        asked.headers_mut().insert("if-none-match", head.parse().unwrap());
        let got = running.client.send(asked).await;
        assert_eq!((got.status, got.body.len(), got.etag()), (StatusCode::NOT_MODIFIED, 0, head.clone()));
    }
    assert_eq!(made(&running).await, 0, "nothing is made for who has the head");
    let first = running.client.ok("/v1/feed/deltas/1").await;
    assert_eq!((first.json()["from"].as_u64(), first.etag()), (Some(1), head));
    for _ in 0..8 {
        assert_eq!(running.client.ok("/v1/feed/deltas/1").await.body, first.body);
    }
    assert_eq!(made(&running).await, 1);
    // the last eight are kept, and no more
    for from in 2..=9 {
        running.client.ok(&format!("/v1/feed/deltas/{from}")).await;
    }
    assert_eq!(made(&running).await, 9);
    running.client.ok("/v1/feed/deltas/2").await;
    assert_eq!(made(&running).await, 9);
    assert_eq!(running.client.ok("/v1/feed/deltas/1").await.body, first.body);
    assert_eq!(made(&running).await, 10);
    running.stop().await;
}
