//! The listing of contexts: made once for many, and never longer than followers read.

use http::StatusCode;

use crate::support::{Place, document};

#[tokio::test(flavor = "multi_thread")]
async fn the_listing_is_made_once_for_all_who_ask_after_a_new_head() {
    let place = Place::new();
    let running = place.start().await;
    for n in 1..4 {
        let got = running.client.publish(&document(&format!("urn:contexts:payment:v{n}.0"), "")).await;
        assert_eq!(got.status, StatusCode::CREATED);
        let asked: Vec<_> = (0..32)
            .map(|_| {
                let client = running.client.clone();
                tokio::spawn(async move {
                    client.ok("/v1/contexts").await.json()["contexts"].as_array().unwrap().len()
                })
            })
            .collect();
        for one in asked {
            assert_eq!(one.await.unwrap(), n);
        }
        let (_, metrics) = running.admin("/metrics").await;
        let made = metrics.lines().find_map(|line| line.strip_prefix("semgate_authority_listings_total "));
        assert_eq!(made, Some(n.to_string().as_str()));
    }
    running.stop().await;
}

/// A follower loads a number of contexts and goes stale past it; whoever follows one line can be kept from that, and others go on.
#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_more_versions_than_followers_load_is_refused_before_they_go_stale() {
    let place = Place::new();
    let mut config = place.config();
    config.limits.line_contexts = 2;
    let running = place.start_with(config).await;
    let publish = async |urn: &str| running.client.publish(&document(urn, "")).await;
    for version in ["v1.0", "v2.0"] {
        assert_eq!(publish(&format!("urn:contexts:payment:{version}")).await.status, StatusCode::CREATED);
    }
    // what is revoked is loaded all the same, to type policies by
    assert_eq!(running.client.act("urn:contexts:payment:v1.0", "revoke").await.status, StatusCode::CREATED);
    let refused = publish("urn:contexts:payment:v3.0").await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (507, "authority_full"));
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("load 2 versions of a line at most, and `payment` has as many"), "{detail}");
    assert_eq!(publish("urn:contexts:payment:v2.0").await.status, StatusCode::OK, "it was published before");
    assert_eq!(
        publish("urn:contexts:weather:v1.0").await.status,
        StatusCode::CREATED,
        "another line has room"
    );
    running.stop().await;
}

/// Followers read a listing up to a length; what would take it past that is refused, and what takes something back is not.
#[tokio::test(flavor = "multi_thread")]
async fn what_followers_would_not_read_any_more_is_refused_and_revoking_is_not() {
    let place = Place::new();
    let mut config = place.config();
    config.limits.listing_bytes = 1024;
    let running = place.start_with(config).await;
    let publish =
        async |n: u32| running.client.publish(&document(&format!("urn:contexts:payment:v{n}.0"), "")).await;
    let mut published = 0;
    let refused = loop {
        let got = publish(published + 1).await;
        if got.status != StatusCode::CREATED {
            break got;
        }
        published += 1;
    };
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (507, "authority_full"));
    let length = running.client.ok("/v1/contexts").await.body.len();
    assert!((512..1024 + 200).contains(&length), "{length} bytes for {published}");
    assert_eq!(publish(1).await.status, StatusCode::OK, "what is published stays published");
    assert_eq!(running.client.act("urn:contexts:payment:v1.0", "revoke").await.status, StatusCode::CREATED);
    assert_eq!(running.client.floor("payment", "v2.0").await.status, StatusCode::CREATED);
    running.stop().await;
}
