use std::task::{Context, Waker};

use http::StatusCode;

use super::*;
use crate::support::{Place, document};

#[tokio::test(flavor = "multi_thread")]
async fn strangers_have_no_more_tokens_signed_at_once_than_the_limit_says_and_heads_do_not_wait_for_them() {
    let place = Place::new();
    let running = place.start().await;
    let got = running.client.publish(&document("urn:contexts:payment:v1.0", "")).await;
    assert_eq!(got.status, StatusCode::CREATED);
    running.stop().await;
    let mut config = place.config();
    config.limits.token_signings = 3;
    let app = crate::run::prepared(config).unwrap();
    let places = Arc::clone(&app.tokens).acquire_many_owned(3).await.unwrap();
    assert!(app.tokens.try_acquire().is_err(), "there are as many places as the limit says");
    let ask = || shard(State(Arc::clone(&app)), Segment("0".to_owned()), HeaderMap::new());
    let mut waiting = Box::pin(ask());
    let waits = |asked: std::pin::Pin<&mut dyn Future<Output = Answer>>| {
        asked.poll(&mut Context::from_waker(Waker::noop())).is_pending()
    };
    assert!(waits(waiting.as_mut()));
    assert_eq!(head(State(Arc::clone(&app)), HeaderMap::new()).await.unwrap().status(), StatusCode::OK);
    drop(places);
    assert_eq!(waiting.await.unwrap().status(), StatusCode::OK);
    // what is signed waits for nobody
    let _places = Arc::clone(&app.tokens).acquire_many_owned(3).await.unwrap();
    assert_eq!(ask().await.unwrap().status(), StatusCode::OK);
}
