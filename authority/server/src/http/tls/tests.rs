use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use semgate_certs::{Chain, ChainLimits};

use crate::support::{Place, Running};
use crate::{TlsLeaf, TlsRequest, TlsUse, issue_tls};

/// A server's leaf of the same names as the one that `init` made.
fn leaf(place: &Place) -> TlsLeaf {
    let request = TlsRequest {
        usage: TlsUse::Server,
        spiffe: "spiffe://semgate.test/authority".to_owned(),
        dns: vec!["localhost".to_owned()],
        addresses: vec!["127.0.0.1".parse().unwrap()],
        lifetime: Duration::from_secs(86_400),
    };
    issue_tls(place.path(), &request).unwrap()
}

fn der(leaf: &TlsLeaf) -> Vec<u8> {
    Chain::from_pem(&leaf.chain_pem, &ChainLimits::default()).unwrap().leaf().to_vec()
}

/// The certificate that a new connection is shown.
async fn shown(running: &Running) -> Vec<u8> {
    let stream = running.client.raw().await;
    stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < Duration::from_secs(60), "waited for {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_tls_pair_is_taken_up_under_traffic_and_a_broken_one_leaves_the_old_one_in_use() {
    let place = Place::new();
    let running = place.start().await;
    let config = place.config();
    let files = (config.tls.server.certificate, config.tls.server.key);
    let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let traffic = {
        let (client, stop, asked) = (running.client.clone(), Arc::clone(&stop), Arc::clone(&asked));
        tokio::spawn(async move {
            while !stop.load(Ordering::SeqCst) {
                // a connection each, and none is refused
                client.ok("/v1/feed/head").await;
                asked.fetch_add(1, Ordering::SeqCst);
            }
        })
    };
    let mut kept = running.client.connect().await.unwrap();
    let first = shown(&running).await;
    let refused = async || {
        let (_, metrics) = running.admin("/metrics").await;
        metrics.contains(r#"semgate_authority_tls_reloads_total{result="refused"} "#)
    };
    // the certificate alone: with the old key it is no pair
    let next = leaf(&place);
    std::fs::write(&files.0, &next.chain_pem).unwrap();
    until("the report of a broken pair", &refused).await;
    assert_eq!(shown(&running).await, first, "the pair in use goes on");
    // the key follows, and both are taken
    std::fs::write(&files.1, &next.key_pem).unwrap();
    until("the new certificate", async || shown(&running).await == der(&next)).await;
    // what is no certificate at all
    std::fs::write(&files.0, "not a certificate").unwrap();
    until("the second report", async || {
        let (_, metrics) = running.admin("/metrics").await;
        metrics.contains(r#"semgate_authority_tls_reloads_total{result="refused"} 2"#)
    })
    .await;
    assert_eq!(shown(&running).await, der(&next));
    let last = leaf(&place);
    std::fs::write(&files.1, &last.key_pem).unwrap();
    std::fs::write(&files.0, &last.chain_pem).unwrap();
    until("the last certificate", async || shown(&running).await == der(&last)).await;
    // a connection of before is not cut, and nobody was refused
    let got = crate::support::send_on(
        &mut kept,
        crate::support::request(http::Method::GET, "/v1/feed/head", None, ""),
    );
    assert_eq!(got.await.unwrap().status, http::StatusCode::OK);
    stop.store(true, Ordering::SeqCst);
    traffic.await.unwrap();
    assert!(asked.load(Ordering::SeqCst) > 0);
    running.stop().await;
}
