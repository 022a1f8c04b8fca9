//! Witnesses that lie, wait and change their mind, beside a running authority.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use semgate_statement::cosignature::{CosignerKey, split};

use crate::config::WitnessConfig;
use crate::support::{Place, document, now};
use crate::{Config, RunFault, run};

/// What is answered to the first request, the second and so on; the last one again and again.
type Script = Vec<(Duration, &'static str, String)>;

/// A witness that says what it is told to say.
struct Liar {
    config: WitnessConfig,
    asked: Arc<AtomicUsize>,
}

/// The body that stands for a good cosignature.
const COSIGN: &str = "cosign";
/// The same, dated five minutes ahead.
const AHEAD: &str = "ahead";

fn key() -> CosignerKey {
    CosignerKey::from_seed("liar.example", &[9; 32]).unwrap()
}

/// A whole request.
fn request(stream: &mut impl Read) -> String {
    let (mut text, mut buffer) = (String::new(), [0; 4096]);
    loop {
        let n = stream.read(&mut buffer).unwrap_or(0);
        text.push_str(&String::from_utf8_lossy(&buffer[..n]));
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|l| l.strip_prefix("content-length: "))
            .map(|l| l.parse::<usize>().unwrap());
        if n == 0 || body.len() >= length.unwrap_or(0) {
            return body.to_owned();
        }
    }
}

fn cosignature(asked: &str, at: u64) -> String {
    let (_, note) = asked.split_once("\n\n").unwrap();
    key().cosign(split(note).unwrap().0, at)
}

fn liar(script: Script) -> Liar {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let n = count.fetch_add(1, Ordering::SeqCst);
            let (delay, status, body) = script[n.min(script.len() - 1)].clone();
            std::thread::spawn(move || {
                let asked = request(&mut stream);
                std::thread::sleep(delay);
                let body = match &*body {
                    COSIGN => cosignature(&asked, now()),
                    AHEAD => cosignature(&asked, now() + 300),
                    _ => body,
                };
                let length = body.len();
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
                );
            });
        }
    });
    let key = key().verifier().to_string();
    Liar { config: WitnessConfig { url, key, roots: None }, asked }
}

fn at_once(status: &'static str, body: &str) -> (Duration, &'static str, String) {
    (Duration::ZERO, status, body.to_owned())
}

/// An authority whose log has three entries, and its configuration with this witness.
async fn beside(liar: &Liar) -> (Place, Config) {
    let place = Place::new();
    let running = place.start().await;
    for n in 1..4 {
        let got = running.client.publish(&document(&format!("urn:contexts:payment:v{n}.0"), "")).await;
        assert_eq!(got.status.as_u16(), 201);
    }
    running.stop().await;
    let mut config = place.config();
    config.witnesses = vec![liar.config.clone()];
    config.witness_quorum = Some(1);
    (place, config)
}

async fn refused(config: Config) -> String {
    let fault: RunFault =
        run(config, Vec::new(), |_| panic!("it started"), std::future::pending()).await.unwrap_err();
    fault.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_start_a_witness_is_heard_whether_it_says_so_late_or_only_that_a_proof_is_wrong() {
    let lies = liar(vec![at_once("409 Conflict", "2\n"), at_once("422 Unprocessable Entity", "")]);
    let (_place, config) = beside(&lies).await;
    let said = refused(config).await;
    assert!(
        said.contains("`liar.example` says that this log of 3 entries does not continue the 2"),
        "{said}"
    );
    let late = liar(vec![(Duration::from_millis(800), "409 Conflict", "99\n".to_owned())]);
    let (_place, config) = beside(&late).await;
    assert!(config.limits.witness_timeout < Duration::from_millis(800));
    let said = refused(config).await;
    assert!(said.contains("`liar.example` saw a log of 99 entries"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_witness_that_was_away_at_the_start_still_stops_a_log_that_it_saw_more_of() {
    let away = (Duration::from_secs(3), "500 Internal Server Error", String::new());
    let lies = liar(vec![away, at_once("409 Conflict", "99\n")]);
    let (place, mut config) = beside(&lies).await;
    config.limits.witness_patience = Duration::from_millis(100);
    let running = place.start_with(config).await;
    let fault = running.ended().await.unwrap_err().to_string();
    assert!(fault.contains("`liar.example` saw a log of 99 entries"), "{fault}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hostile_sizes_in_a_row_cost_a_commit_one_deadline_and_are_not_asked_again_at_once() {
    let timeout = Duration::from_secs(2);
    let slowly = |size: &str| (timeout * 3 / 4, "409 Conflict", format!("{size}\n"));
    let lies = liar(vec![at_once("200 OK", COSIGN), slowly("1"), slowly("2")]);
    let (place, mut config) = beside(&lies).await;
    config.limits.witness_timeout = timeout;
    let running = place.start_with(config).await;
    assert_eq!(lies.asked.load(Ordering::SeqCst), 1);
    let began = Instant::now();
    let got = running.client.publish(&document("urn:contexts:payment:v9.0", "")).await;
    let took = began.elapsed();
    assert_eq!(got.status.as_u16(), 201);
    assert!(took < timeout * 5 / 4, "{took:?}");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(lies.asked.load(Ordering::SeqCst), 3, "it is left alone for a second");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_publication_again_is_answered_once_the_head_that_covers_it_is_public() {
    let timeout = Duration::from_secs(1);
    let lies =
        liar(vec![at_once("200 OK", COSIGN), (timeout * 2, "500 Internal Server Error", String::new())]);
    let (place, mut config) = beside(&lies).await;
    config.limits.witness_timeout = timeout;
    let running = place.start_with(config).await;
    let client = running.client.clone();
    let first = tokio::spawn(async move { client.publish(&document("urn:contexts:payment:v9.0", "")).await });
    while lies.asked.load(Ordering::SeqCst) < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // The statement is on disk and in the index, and its head waits for the witness.
    let again = running.client.publish(&document("urn:contexts:payment:v9.0", "")).await;
    let note = running.client.ok("/checkpoint").await.body;
    let size: u64 = std::str::from_utf8(&note).unwrap().lines().nth(1).unwrap().parse().unwrap();
    assert_eq!(again.status.as_u16(), 200);
    assert!(size > again.json()["index"].as_u64().unwrap(), "{size}: {:?}", again.json());
    assert_eq!(first.await.unwrap().status.as_u16(), 201);
    running.stop().await;
}

/// Readers do not count it, and fail closed where they demand it; counted here, it was the quorum and nobody was asked again.
#[tokio::test(flavor = "multi_thread")]
async fn a_cosignature_that_is_dated_ahead_is_not_the_quorum_and_is_asked_for_again() {
    let lies = liar(vec![at_once("200 OK", AHEAD), at_once("200 OK", AHEAD), at_once("200 OK", COSIGN)]);
    let (place, config) = beside(&lies).await;
    let running = place.start_with(config).await;
    let lines = async || {
        let note = running.client.ok("/checkpoint").await.body;
        String::from_utf8_lossy(&note).matches("liar.example").count()
    };
    assert_eq!((lines().await, lies.asked.load(Ordering::SeqCst)), (0, 1), "no line that nobody counts");
    let began = Instant::now();
    while lines().await == 0 {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "asked {} times",
            lies.asked.load(Ordering::SeqCst)
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(lies.asked.load(Ordering::SeqCst), 3, "until one counts");
    running.stop().await;
}

#[test]
fn of_a_cosignature_that_is_dated_ahead_it_is_said_why_it_does_not_count() {
    let text = "semgate.test/log\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n";
    let said = |at: u64, by: &CosignerKey| match super::cosignature(
        key().verifier(),
        text,
        &by.cosign(text, at),
        1_000,
    ) {
        super::Answer::Line(_) => "counts".to_owned(),
        super::Answer::Failed(why) => why,
        _ => "something else".to_owned(),
    };
    assert_eq!(said(1_060, &key()), "counts");
    let ahead = "its cosignature is dated more than 60 seconds ahead: its clock or the clock here is wrong";
    assert_eq!(said(1_061, &key()), ahead);
    let other = CosignerKey::from_seed("other.example", &[8; 32]).unwrap();
    assert_eq!(said(1_000, &other), "its answer holds no cosignature by its key");
}
