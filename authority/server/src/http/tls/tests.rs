use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ring::rand::SystemRandom;
use semgate_certs::{
    Chain, ChainFault, ChainLimits, CrlProfile, CrlShards, Family, Issuer, IssuingProfile, KeyPair,
    LeafProfile, Revoked, RootProfile, SpiffeId, Usage, verify_chain,
};

use super::{FileChange, Files};
use crate::clock::now;
use crate::metrics::Metrics;
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
    let files = (config.tls.certificate, config.tls.key);
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

#[test]
fn roots_of_clients_that_cannot_be_read_keep_no_revocation_list_out() {
    let (place, random) = (Place::new(), SystemRandom::new());
    let key = || KeyPair::generate(&random).unwrap();
    let began = now();
    let root = Issuer::root(&RootProfile::new("root", began - 10), key(), &random).unwrap();
    let by = root.issuing(&IssuingProfile::new("tls", Family::Tls, began - 10), key(), &random).unwrap();
    let places = CrlShards::new("https://authority.test/v1/crl", 1).unwrap();
    let id = SpiffeId::parse("spiffe://semgate.test/publisher/a").unwrap();
    let profile = LeafProfile::agent(id, began).crl(places.clone());
    let leaf = by.leaf(&profile, key().public(), &random).unwrap();
    let (dir, client_roots) = (place.path().join("client-lists"), place.path().join("client-roots.pem"));
    std::fs::create_dir_all(dir.join("1")).unwrap();
    std::fs::write(dir.join("issuer.pem"), by.chain().to_pem()).unwrap();
    let write = |number, revoked: &[Revoked]| {
        let profile = CrlProfile { shard: 0, number, this_update: began, next_update: began + 3600, revoked };
        let next = dir.join("next");
        std::fs::write(&next, by.crl(&places, &profile, &random).unwrap()).unwrap();
        std::fs::rename(next, dir.join("1/0.crl")).unwrap();
    };
    write(1, &[]);
    std::fs::write(&client_roots, root.chain().to_pem()).unwrap();
    let mut config = place.config();
    (config.tls.client_roots, config.tls.client_crls) = (client_roots.clone(), Some(dir.clone()));
    let (mut files, _) = Files::open(&config).unwrap();
    let judged = |files: &Files| {
        let roots = files.roots.clone().with_crls(files.crls.as_ref().unwrap().store());
        verify_chain(&leaf, &roots, Usage::Agent, now()).map(drop)
    };
    assert_eq!(judged(&files), Ok(()));
    let metrics = Metrics::new();
    std::fs::write(&client_roots, "not a certificate").unwrap();
    write(2, &[Revoked::of(&leaf.certificates()[0], began).unwrap()]);
    assert!(matches!(files.check(&metrics), FileChange::Refused(_)), "the roots are not taken");
    assert!(matches!(files.check(&metrics), FileChange::Same), "which is told once");
    assert_eq!(judged(&files), Err(ChainFault::Revoked), "and the list is, under those of before");
    // whom others certify counts once their roots are taken, and not before
    let other = Issuer::root(&RootProfile::new("root", began - 10), key(), &random).unwrap();
    std::fs::write(&client_roots, other.chain().to_pem()).unwrap();
    assert!(matches!(files.check(&metrics), FileChange::Taken(_)));
    assert!(judged(&files).is_err());
    std::fs::rename(&dir, place.path().join("gone")).unwrap();
    assert!(matches!(files.check(&metrics), FileChange::Same));
    let told = metrics.render();
    assert!(told.contains(r#"semgate_authority_client_crls_total{result="unlisted"} 1"#), "{told}");
}

#[test]
fn a_file_that_was_misread_once_is_read_again_although_it_looks_the_same() {
    let (place, random) = (Place::new(), SystemRandom::new());
    let file = place.path().join("client-roots.pem");
    let root = |name: &str| {
        let key = KeyPair::generate(&random).unwrap();
        Issuer::root(&RootProfile::new(name, now() - 10), key, &random).unwrap().chain().to_pem()
    };
    std::fs::write(&file, root("first")).unwrap();
    let mut config = place.config();
    config.tls.client_roots = file.clone();
    let (mut files, _) = Files::open(&config).unwrap();
    let (metrics, next) = (Metrics::new(), root("next"));
    // of the same length, in the same place, and of the same time
    let when = std::time::SystemTime::now();
    let write = |text: &str| {
        std::fs::write(&file, text).unwrap();
        std::fs::File::options().write(true).open(&file).unwrap().set_modified(when).unwrap();
    };
    write(&"x".repeat(next.len()));
    assert!(matches!(files.check(&metrics), FileChange::Refused(_)));
    assert!(matches!(files.check(&metrics), FileChange::Same), "it is told once");
    write(&next);
    assert!(matches!(files.check(&metrics), FileChange::Taken(_)));
    assert!(matches!(files.check(&metrics), FileChange::Same));
}
