//! The listing of contexts: made once for many, and never longer than followers read.

use http::StatusCode;
use semgate_statement::{Follower, Lines, Standing, Step};

use crate::support::{Client, Place, document, now};

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

/// Readers take a listing up to a length; a log that outgrew it goes on, and its pages tell all of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_outgrew_its_listing_takes_publications_and_is_told_by_its_pages() {
    let place = Place::new();
    let mut config = place.config();
    config.limits.listing_bytes = 1024;
    let running = place.start_with(config).await;
    let client = &running.client;
    let mut listed = 0;
    for n in 1..12 {
        let got = client.publish(&document(&format!("urn:contexts:payment:v{n}.0"), "")).await;
        assert_eq!(got.status, StatusCode::CREATED);
        let whole = client.get("/v1/contexts").await;
        match whole.status {
            StatusCode::OK => {
                assert!(whole.body.len() <= 1024, "{} bytes", whole.body.len());
                listed = n;
            }
            status => assert_eq!((status.as_u16(), whole.code().as_str()), (410, "listing_paged")),
        }
    }
    assert!((3..11).contains(&listed), "{listed} were listed whole");
    let told = client.ok("/v1/contexts/published/0-11").await.json();
    assert_eq!((&told["from"], &told["to"]), (&serde_json::json!(0), &serde_json::json!(11)));
    let named = |told: &serde_json::Value| -> Vec<String> {
        let lines = told["contexts"].as_array().unwrap();
        lines.iter().map(|line| format!("{} {}", line["index"], line["urn"].as_str().unwrap())).collect()
    };
    let all: Vec<String> = (0..11).map(|n| format!("{n} urn:contexts:payment:v{}.0", n + 1)).collect();
    assert_eq!(named(&told), all);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_what_its_entries_publish_is_made_once_and_never_changes() {
    let place = Place::new();
    let running = place.start().await;
    let client = &running.client;
    for n in 1..4 {
        client.publish(&document(&format!("urn:contexts:payment:v{n}.0"), "")).await;
    }
    assert_eq!(client.act("urn:contexts:payment:v2.0", "revoke").await.status, StatusCode::CREATED);
    let page = client.ok("/v1/contexts/published/1-4").await;
    let indexes: Vec<_> =
        page.json()["contexts"].as_array().unwrap().iter().map(|line| line["index"].clone()).collect();
    assert_eq!(indexes, [1, 2], "a revocation publishes nothing, and takes nothing from its page");
    assert_eq!(client.ok("/v1/contexts/published/3-4").await.json()["contexts"], serde_json::json!([]));
    client.publish(&document("urn:contexts:payment:v4.0", "")).await;
    for _ in 0..3 {
        assert_eq!(client.ok("/v1/contexts/published/1-4").await.body, page.body);
    }
    let (_, metrics) = running.admin("/metrics").await;
    assert!(metrics.lines().any(|line| line == "semgate_authority_pages_total 2"), "{metrics}");
    let spelled = ["%30-3", "0%2d3", "0-%33", "0-3%20", "0-%EF%BC%93"];
    for unknown in
        ["0-6", "5-5", "2-1", "00-1", "0-1025", "5", "-1", "0-5-1", "a-b"].into_iter().chain(spelled)
    {
        let got = client.get(&format!("/v1/contexts/published/{unknown}")).await;
        assert_eq!((got.status.as_u16(), got.code().as_str()), (404, "page_unknown"), "{unknown}");
    }
    assert_eq!(
        client.get("/v1/contexts/published/0-3?x").await.status,
        StatusCode::OK,
        "a query is no part of a name"
    );
    running.stop().await;
}

/// What a follower reads over HTTP for a round, bodies alone, and what it asked for.
async fn counted(client: &Client, follower: &mut Follower) -> (usize, Vec<String>) {
    let (mut bytes, mut asked) = (0, Vec::new());
    follower.hint();
    while let Step::Get(wanted) = follower.next(now()) {
        let answer = client.answer(&wanted).await;
        bytes += answer.body.len();
        follower.answer(&wanted.path, answer, now()).unwrap();
        asked.push(wanted.path);
    }
    (bytes, asked)
}

/// It fetched the whole listing whenever the log grew.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_revocation_or_a_publication_costs_a_follower_no_whole_listing() {
    const PUBLISHED: usize = 1_030;
    let place = Place::new();
    let mut config = place.config();
    config.limits.cache_bytes = 0;
    let running = place.start_with(config).await;
    let client = &running.client;
    let publishing: Vec<_> = (0..16)
        .map(|first| {
            let client = client.clone();
            tokio::spawn(async move {
                for n in (first..PUBLISHED).step_by(16) {
                    let got = client.publish(&document(&format!("urn:contexts:bulk:v{}.0", n + 1), "")).await;
                    assert_eq!(got.status, StatusCode::CREATED);
                }
            })
        })
        .collect();
    for one in publishing {
        one.await.unwrap();
    }
    client.publish(&document("urn:contexts:payment:v1.0", "")).await;
    let whole = client.ok("/v1/contexts").await.body.len();
    assert!(whole > 150_000, "{whole}");
    let mut config = place.follower_config();
    config.lines = Lines::parse(&["payment"]).unwrap();
    let mut follower = Follower::without_memory(config);
    let (_, asked) = counted(client, &mut follower).await;
    let pages: Vec<_> = asked.iter().filter(|path| path.contains("/contexts/published/")).collect();
    assert_eq!(pages, ["/v1/contexts/published/0-1024", "/v1/contexts/published/1024-1031"]);

    assert_eq!(client.act("urn:contexts:bulk:v1.0", "revoke").await.status, StatusCode::CREATED);
    let (revocation, asked) = counted(client, &mut follower).await;
    assert!(revocation < 8_000 && asked.len() < 8, "{revocation} bytes: {asked:?}");
    client.publish(&document("urn:contexts:payment:v2.0", "")).await;
    let (publication, asked) = counted(client, &mut follower).await;
    assert!(publication < 60_000, "{publication} bytes: {asked:?}");
    println!("listing {whole}, revocation {revocation}, publication {publication} bytes");
    let urn = semgate_contexts::ContextUrn::parse("urn:contexts:payment:v2.0", &Default::default()).unwrap();
    assert_eq!(follower.view().standing(&urn, now()), Standing::Valid);
    running.stop().await;
}
