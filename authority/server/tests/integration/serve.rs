//! What anybody may read, who may write what, the stream, and the admin address.

mod deltas;
mod listing;
mod rest;
use crate::support;

use std::time::Duration;

use http::{Method, StatusCode};
use semgate_authority::Status;
use semgate_contexts::{ContextUrn, Prefix};
use semgate_statement::head::HeadRules;
use semgate_statement::token::Token;
use semgate_statement::{Follower, Standing, Trust, VerifiedHead};
use support::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const URN: &str = "urn:contexts:payment.test:v1.0";

/// Every route that writes, with a body that would be taken.
fn writes(line: &str) -> Vec<(&'static str, String, String)> {
    let urn = format!("urn:contexts:{line}:v1.0");
    let reason = r#"{"reason":"a test"}"#.to_owned();
    let mut all = vec![("publish", "/v1/contexts".to_owned(), document(&urn, ""))];
    for act in ["suspend", "resume", "retire", "revoke"] {
        all.push(("revoke", format!("/v1/contexts/{urn}/{act}"), reason.clone()));
    }
    let floor = format!(r#"{{"line":"{line}","min":"v1.0","reason":"a test"}}"#);
    all.push(("floor", "/v1/floors".to_owned(), floor));
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_are_separate_and_bound_to_lines() {
    let rights = [
        ("anna", &["acme.*"][..], &[][..], &["*"][..]),
        ("ben", &[], &["acme.logistics", "payment"], &[]),
        ("carla", &["*"], &["*"], &["payment"]),
        ("dora", &[], &[], &[]),
    ];
    let id = |name: &str| format!("spiffe://semgate.test/{name}");
    let place = Place::with(|options| {
        options.publishers.extend(rights.iter().map(|(name, p, r, f)| publisher(&id(name), p, r, f)));
    });
    let running = place.start().await;
    for line in ["acme", "acme.logistics", "acme.x.y", "payment", "payment.x"] {
        running.client.publish(&document(&format!("urn:contexts:{line}:v1.0"), "")).await;
    }
    let covers = |patterns: &[&str], line: &str| {
        patterns.iter().any(|p| *p == "*" || *p == line || (*p == "acme.*" && line.starts_with("acme.")))
    };
    for (name, publish, revoke, floor) in rights {
        let client = running.client_of(&place, Some(&id(name)));
        for line in ["acme", "acme.logistics", "acme.x.y", "payment", "payment.x"] {
            for (right, path, body) in writes(line) {
                let granted = match right {
                    "publish" => covers(publish, line),
                    "revoke" => covers(revoke, line),
                    _ => covers(floor, line),
                };
                let got = client.post(&path, "application/json", &body).await;
                if granted {
                    let refused = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&got.status);
                    assert!(!refused, "{name} {right} {line}: {got:?}");
                } else {
                    assert_eq!(
                        (got.status.as_u16(), got.code().as_str()),
                        (403, "not_permitted"),
                        "{name} {right} {line}"
                    );
                }
            }
        }
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_write_wants_a_certificate_and_a_known_publisher() {
    let place = Place::new();
    let running = place.start().await;
    let nobody = running.client_of(&place, None);
    let stranger = running.client_of(&place, Some("spiffe://semgate.test/stranger"));
    for (_, path, body) in writes("payment.test") {
        let got = nobody.post(&path, "application/json", &body).await;
        assert_eq!((got.status.as_u16(), got.code().as_str()), (401, "certificate_required"), "{path}");
        assert!(got.headers.contains_key("www-authenticate"));
        // Not even the form of the body is looked at.
        assert_eq!(nobody.post(&path, "text/plain", "{").await.code(), "certificate_required", "{path}");
        assert_eq!(stranger.post(&path, "application/json", &body).await.code(), "not_permitted", "{path}");
    }
    // who has no right at all is not told of a line that was never named
    let told = |got: Got| (got.code(), got.json()["detail"].as_str().unwrap().to_owned());
    let nowhere = "`spiffe://semgate.test/stranger` has no right on any line".to_owned();
    assert_eq!(told(stranger.get("/v1/proposals").await), ("not_permitted".to_owned(), nowhere.clone()));
    let approved = stranger.post("/v1/proposals/abc/approve", "application/json", "").await;
    assert_eq!(told(approved), ("not_permitted".to_owned(), nowhere));
    let (_, said) = told(stranger.publish(&document(URN, "")).await);
    assert_eq!(said, "`spiffe://semgate.test/stranger` has the right `publish` on no line");
    // A certificate of another trust domain does not get past the handshake.
    let foreign = running.client_of(&place, Some("spiffe://elsewhere.test/operator"));
    assert!(foreign.try_send(request(Method::GET, "/v1/feed/head", None, "")).await.is_err());
    assert!(running.client.ok("/checkpoint").await.body.starts_with(b"semgate.test/log\n0\n"));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_public_is_read_without_a_certificate_and_revalidated_by_etag() {
    let place = Place::new();
    let running = place.start().await;
    let published = running.client.publish(&document(URN, "")).await.json();
    running.client.floor("payment.test", "v1.0").await;
    let anyone = running.client_of(&place, None);
    let head = anyone.ok("/v1/feed/head").await;
    let rules = place.follower_config();
    let rules = HeadRules {
        roots: &rules.roots,
        authority: "semgate.test",
        origin: "semgate.test/log",
        log: &rules.log,
    };
    let verified = VerifiedHead::verify(&head.body, &rules, now()).unwrap();
    let shard = verified.head().shards[0].hex();
    let digest = published["digest"].as_str().unwrap();
    for (path, media, cache) in [
        ("/v1/contexts".to_owned(), "application/json", "no-cache"),
        ("/v1/contexts/published/0-2".to_owned(), "application/json", "immutable"),
        (format!("/v1/contexts/{URN}"), "application/jose+json", "no-cache"),
        (format!("/v1/contexts/by-digest/{digest}"), "application/jose+json", "immutable"),
        ("/v1/floors".to_owned(), "application/json", "no-cache"),
        ("/v1/feed/head".to_owned(), "application/jose+json", "no-cache"),
        (format!("/v1/feed/shards/{shard}"), "application/statuslist+jwt", "immutable"),
        ("/v1/feed/shards/0".to_owned(), "application/statuslist+jwt", "no-cache"),
        ("/v1/trust".to_owned(), "application/json", "no-cache"),
        ("/checkpoint".to_owned(), "text/plain; charset=utf-8", "no-cache"),
        ("/tile/0/000.p/2".to_owned(), "application/octet-stream", "immutable"),
        ("/tile/entries/000.p/2".to_owned(), "application/octet-stream", "immutable"),
        ("/openapi.json".to_owned(), "application/json", "no-cache"),
    ] {
        let got = anyone.ok(&path).await;
        assert_eq!(got.headers["content-type"], media, "{path}");
        assert!(got.headers["cache-control"].to_str().unwrap().contains(cache), "{path}");
        let etag = got.etag();
        assert!(etag.starts_with('"') && etag.len() == 66, "{path}: {etag}");
        for sent in [etag.clone(), format!("\"x\", W/{etag}"), "*".to_owned()] {
            let mut again = request(Method::GET, &path, None, "");
            again.headers_mut().insert("if-none-match", sent.parse().unwrap());
            let again = anyone.send(again).await;
            assert_eq!(
                (again.status, again.body.len(), again.etag()),
                (StatusCode::NOT_MODIFIED, 0, etag.clone()),
                "{path}"
            );
        }
        let only_head = anyone.send(request(Method::HEAD, &path, None, "")).await;
        assert_eq!((only_head.status, only_head.body.len()), (StatusCode::OK, 0), "{path}");
    }
    for (path, code) in [
        ("/", "not_found"),
        ("/v1/contexts/urn:contexts:payment.test:v9.0", "context_unknown"),
        ("/v1/contexts/payment.test", "context_unknown"),
        ("/v1/contexts/by-digest/sha-256:00", "context_unknown"),
        ("/v1/feed/shards/1", "shard_unknown"),
        ("/v1/feed/shards/00", "shard_unknown"),
        ("/v1/feed/deltas/00", "delta_unknown"),
        ("/v1/feed/deltas/-1", "delta_unknown"),
        ("/v1/feed/deltas/1000000", "delta_unknown"),
        ("/v1/feed/shards/0000000000000000000000000000000000000000000000000000000000000000", "shard_unknown"),
        ("/tile/0/000.p/3", "tile_unknown"),
        ("/tile/0/000", "tile_unknown"),
        ("/tile/1/000", "tile_unknown"),
        ("/tile/entries/000.p/0", "tile_unknown"),
        ("/tile/entries/../checkpoint", "tile_unknown"),
        ("/tile/entries/%2e%2e/checkpoint", "tile_unknown"),
    ] {
        let got = anyone.get(path).await;
        assert_eq!((got.status.as_u16(), got.code().as_str()), (404, code), "{path}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_is_not_utf_8_is_refused_with_a_problem_document() {
    let place = Place::new();
    let running = place.start().await;
    for path in
        ["/v1/contexts/%ff", "/v1/contexts/by-digest/%ff", "/v1/feed/shards/%ff", "/tile/%ff", "/tile/0/%c3"]
    {
        let got = running.client.get(path).await;
        assert_eq!((got.status.as_u16(), got.code().as_str()), (422, "parameter_invalid"), "{path}");
    }
    let nobody = running.client_of(&place, None);
    for act in ["revoke", "suspend", "resume", "retire"] {
        assert_eq!(running.client.act("%ff", act).await.code(), "parameter_invalid", "{act}");
        assert_eq!(nobody.act("%ff", act).await.code(), "certificate_required", "{act}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tiles_of_every_published_size_are_served_also_when_their_files_were_superseded() {
    let place = Place::new();
    let running = place.start().await;
    for n in 0..5 {
        running.client.publish(&document(&format!("urn:contexts:line{n}:v1.0"), "")).await;
    }
    let whole = running.client.ok("/tile/0/000.p/5").await.body;
    let entries = running.client.ok("/tile/entries/000.p/5").await.body;
    for width in 1..5usize {
        let hashes = running.client.ok(&format!("/tile/0/000.p/{width}")).await.body;
        assert_eq!(hashes, whole[..width * 32]);
        let bundle = running.client.ok(&format!("/tile/entries/000.p/{width}")).await.body;
        assert!(entries.starts_with(&bundle));
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_shard_has_times_and_the_one_by_digest_never_changes() {
    let place = Place::new();
    let running = place.start().await;
    running.client.publish(&document(URN, "")).await;
    let shard = |bytes: &[u8]| Token::read(std::str::from_utf8(bytes).unwrap()).unwrap();
    let by_number = running.client.ok("/v1/feed/shards/0").await;
    let token = shard(&by_number.body);
    assert!(token.claims().exp.unwrap() > now());
    assert_eq!(token.claims().sub, "https://semgate.test/v1/feed/shards/0");
    assert_eq!(token.list(), [0]);
    let listed = semgate_contexts::Digest::of(token.list()).hex();
    let before = running.client.ok(&format!("/v1/feed/shards/{listed}")).await;
    running.client.act(URN, "revoke").await;
    assert_eq!(shard(&running.client.ok("/v1/feed/shards/0").await.body).list(), [1]);
    // The list of the head before is still here, byte for byte, for whoever read that head a moment ago.
    assert_eq!(running.client.ok(&format!("/v1/feed/shards/{listed}")).await.body, before.body);
    assert_eq!(shard(&before.body).claims().exp, None);
    let trust = running.client.ok("/v1/trust").await;
    let trust = Trust::read(&trust.body, &semgate_certs::ChainLimits::default()).unwrap();
    assert_eq!(trust.chains().count(), 2);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_head_is_renewed_when_nothing_happens_and_then_differs_in_times_only() {
    // Renewed at half of it: a machine that stands still for seconds lets no head expire that was renewed in time.
    const LIFETIME: u64 = 8;
    let place = Place::with(|options| options.status_lifetime = Duration::from_secs(LIFETIME));
    let running = place.start().await;
    running.client.publish(&document(URN, "")).await;
    let config = place.follower_config();
    let rules = HeadRules {
        roots: &config.roots,
        authority: "semgate.test",
        origin: "semgate.test/log",
        log: &config.log,
    };
    let mut heads: Vec<VerifiedHead> = Vec::new();
    let began = std::time::Instant::now();
    while heads.len() < 3 {
        assert!(began.elapsed() < Duration::from_secs(60), "{} heads in a minute", heads.len());
        let got = running.client.ok("/v1/feed/head").await;
        let head = VerifiedHead::verify(&got.body, &rules, now()).unwrap();
        head.check_times(now(), LIFETIME).unwrap();
        if let Some(last) = heads.last() {
            last.agrees_with(&head).unwrap();
            assert!(last.head().issued_at <= head.head().issued_at);
        }
        if heads.last().is_none_or(|last| last.head() != head.head()) {
            heads.push(head);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(running.admin("/readyz").await.0, StatusCode::OK);
    running.stop().await;
}

/// Reads from a stream until `what` is in it.
async fn until(stream: &mut (impl AsyncReadExt + Unpin), text: &mut String, what: &str) {
    let mut buffer = [0; 4096];
    while !text.contains(what) {
        let read =
            tokio::time::timeout(Duration::from_secs(10), stream.read(&mut buffer)).await.unwrap().unwrap();
        assert!(read > 0, "the stream ended: {text}");
        text.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stream_tells_the_head_at_once_and_after_every_change_and_ends_with_the_authority() {
    let place = Place::new();
    let text = std::fs::read_to_string(&place.made.config).unwrap();
    std::fs::write(&place.made.config, text + "[limits]\nheartbeat = \"200ms\"\nfollowers = 2\n").unwrap();
    let running = place.start().await;
    let ask = b"GET /v1/feed/stream HTTP/1.1\r\nhost: a\r\n\r\n";
    let mut stream = running.client_of(&place, None).raw().await;
    stream.write_all(ask).await.unwrap();
    let mut text = String::new();
    until(&mut stream, &mut text, "event: head\nid: 0\ndata: {\"payload\":").await;
    let (first, _) = text.split_once("event: head").unwrap();
    assert!(first.contains("retry: "), "a follower is told when to come back: {first}");
    assert!(text.contains("content-type: text/event-stream"), "{text}");
    until(&mut stream, &mut text, ": still here\n\n").await;
    running.client.publish(&document(URN, "")).await;
    until(&mut stream, &mut text, "event: head\nid: 1\n").await;
    running.client.act(URN, "revoke").await;
    until(&mut stream, &mut text, "event: head\nid: 2\n").await;

    // Places are bounded, and free again when a follower goes away.
    let mut second = running.client.raw().await;
    second.write_all(ask).await.unwrap();
    until(&mut second, &mut String::new(), "event: head").await;
    assert_eq!(running.client.get("/v1/feed/stream").await.code(), "busy");
    drop(second);
    let began = std::time::Instant::now();
    let mut third = loop {
        let mut third = running.client.raw().await;
        third.write_all(ask).await.unwrap();
        let mut answer = [0; 16];
        third.read_exact(&mut answer).await.unwrap();
        if answer.starts_with(b"HTTP/1.1 200") {
            break third;
        }
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "the place of a follower that went away stays taken"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let began = std::time::Instant::now();
    running.stop().await;
    assert!(began.elapsed() < Duration::from_secs(5), "streams hold the shutdown up");
    let mut rest = Vec::new();
    let _ = third.read_to_end(&mut rest).await;
}

/// What was missed is in the current head, which is told at once whatever was seen last; more than there is, is counted.
#[tokio::test(flavor = "multi_thread")]
async fn a_follower_that_comes_back_is_told_the_current_head_whatever_it_saw_last() {
    let place = Place::new();
    let running = place.start().await;
    for n in 0..3 {
        running.client.publish(&document(&format!("urn:contexts:line{n}:v1.0"), "")).await;
    }
    for seen in ["0", "2", "3", "4", "999999999999999999999999", "-1", "?"] {
        let mut stream = running.client_of(&place, None).raw().await;
        let ask = format!("GET /v1/feed/stream HTTP/1.1\r\nhost: a\r\nlast-event-id: {seen}\r\n\r\n");
        stream.write_all(ask.as_bytes()).await.unwrap();
        until(&mut stream, &mut String::new(), "event: head\nid: 3\ndata: {\"payload\":").await;
    }
    let (_, metrics) = running.admin("/metrics").await;
    let line = "semgate_authority_followers_ahead_total 1";
    assert!(metrics.lines().any(|l| l == line), "{metrics}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_that_does_not_read_is_dropped() {
    let place = Place::with(|options| options.status_lifetime = Duration::from_secs(2));
    let text = std::fs::read_to_string(&place.made.config).unwrap();
    let limits = "[limits]\nheartbeat = \"100ms\"\nfollowers = 1\nwrite_timeout = \"300ms\"\n";
    std::fs::write(&place.made.config, text + limits).unwrap();
    let running = place.start().await;
    // Its receive buffer is as small as the system lets it be, so that the server's writes get stuck soon.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(1).unwrap();
    let socket = socket.connect(running.bound.listen).await.unwrap();
    let mut deaf = running.client.handshake(socket).await.unwrap();
    let mut ask = String::new();
    // Many answers that are never read, then the stream.
    for _ in 0..2000 {
        ask.push_str("GET /openapi.json HTTP/1.1\r\nhost: a\r\n\r\n");
    }
    let sent = tokio::time::timeout(Duration::from_secs(20), async {
        loop {
            if deaf.write_all(ask.as_bytes()).await.is_err() {
                return;
            }
        }
    });
    sent.await.expect("the connection of a peer that does not read stays open");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_admin_address_on_loopback_is_called_by_its_address_or_localhost_and_by_no_page() {
    let place = Place::new();
    let running = place.start().await;
    let own = running.bound.admin.to_string();
    for host in [own.as_str(), "127.0.0.1", "[::1]:9471", "localhost:1", "LOCALHOST"] {
        assert_eq!(running.admin_as("/status", &[("host", host)]).await.0, StatusCode::OK, "{host}");
    }
    let page = ("origin", "http://evil.example");
    for headers in [
        &[("host", "evil.example")][..],
        &[("host", "127.0.0.1.evil.example:9471")],
        &[("host", "")],
        &[("host", own.as_str()), page],
    ] {
        for path in ["/healthz", "/readyz", "/metrics", "/status", "/none"] {
            let (status, text) = running.admin_as(path, headers).await;
            assert!(
                status == StatusCode::FORBIDDEN && text.starts_with("host_refused: "),
                "{headers:?} {text}"
            );
        }
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_admin_address_tells_health_readiness_metrics_and_status() {
    let place = Place::new();
    let running = place.start().await;
    running.client.publish(&document(URN, "")).await;
    running.client.floor("payment.test", "v1.0").await;
    running.client.publish(&document(URN, "other")).await;
    assert_eq!(running.admin("/healthz").await.0, StatusCode::OK);
    assert_eq!(running.admin("/readyz").await.0, StatusCode::OK);
    assert_eq!(running.admin("/v1/contexts").await.0, StatusCode::NOT_FOUND);
    let (_, metrics) = running.admin("/metrics").await;
    for line in [
        "semgate_authority_log_size 2",
        "semgate_authority_contexts 1",
        "semgate_authority_evidence 1",
        "semgate_authority_conflicts_total 1",
        "semgate_authority_entries_total 2",
        "semgate_authority_requests_total{method=\"POST\",status=\"409\"} 1",
    ] {
        assert!(metrics.lines().any(|l| l == line), "{line} not in\n{metrics}");
    }
    let (status, text) = running.admin("/status").await;
    assert_eq!(status, StatusCode::OK);
    let told: Status = serde_json::from_str(&text).unwrap();
    assert_eq!((told.size, told.contexts, told.floors, told.evidence), (2, 1, 1, 1));
    assert_eq!((told.index.as_str(), told.missing_documents), ("ready", 0));
    assert!(told.head.unwrap().next_update > now());
    // Beside the running authority the directory says the same.
    let read = semgate_authority::status(&place.config()).unwrap();
    assert_eq!((read.size, read.root, read.contexts), (told.size, told.root, told.contexts));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_reaches_a_follower_with_the_next_head() {
    let place = Place::new();
    let running = place.start().await;
    running.client.publish(&document(URN, "")).await;
    let mut follower = Follower::without_memory(place.follower_config());
    running.client.follow(&mut follower).await.unwrap();
    let urn = ContextUrn::parse(URN, &Prefix::default()).unwrap();
    assert_eq!(follower.view().standing(&urn, now()), Standing::Valid);
    for (act, standing) in [
        ("suspend", Standing::Suspended),
        ("resume", Standing::Valid),
        ("retire", Standing::Deprecated),
        ("revoke", Standing::Revoked),
    ] {
        assert_eq!(running.client.act(URN, act).await.status, StatusCode::CREATED, "{act}");
        running.client.follow(&mut follower).await.unwrap();
        assert_eq!(follower.view().standing(&urn, now()), standing, "{act}");
    }
    running.stop().await;
}
