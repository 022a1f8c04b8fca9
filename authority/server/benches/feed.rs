//! How long a revocation takes to reach a thousand followers: from the answer to the revoke call until the last of them was told, and until
//! the last of them has verified the new head (signatures, consistency proof, status list) and holds the context for revoked.
//!
//!     cargo bench -p semgate-authority --bench feed
//!
//! `SEMGATE_BENCH_FOLLOWERS` changes their number. Authority and followers share the machine.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Method;
use semgate_contexts::{ContextUrn, Prefix};
use semgate_statement::{Answer, Follower, Progress, Standing, Step, View};
use support::authority::{Client, Got, Line, OPERATOR, Place, document, now, request, send_on};
use support::{Authority, at, benched};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc};

const ROUNDS: usize = 5;

fn main() {
    support::serve_if_asked();
    let told = std::env::var("SEMGATE_BENCH_FOLLOWERS").ok().map(|text| text.parse().unwrap());
    let followers: usize = told.unwrap_or(if benched() { 1000 } else { 10 });
    support::descriptors(4 * followers as u64 + 256);
    println!("{}", support::load());
    let place = Place::new();
    let authority = Authority::start(place.path());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let operator = Client::new(place.path(), authority.listen, Some(OPERATOR));
        // followers show a certificate, as gateways do: strangers behind one address have fewer places
        let anyone = operator.clone();
        // What a log looks like after a while: the proof takes a few tiles.
        for n in 0..300 {
            let got = operator.publish(&document(&format!("urn:contexts:other:v{}.0", n + 1), "")).await;
            assert_eq!(got.status.as_u16(), 201);
        }
        let urns: Vec<String> = (0..ROUNDS).map(|n| format!("urn:contexts:bench:v{}.0", n + 1)).collect();
        for urn in &urns {
            assert_eq!(operator.publish(&document(urn, "")).await.status.as_u16(), 201);
        }
        let before = authority.process.resident();
        let (to, mut from) = mpsc::unbounded_channel();
        let starting = Arc::new(Semaphore::new(16));
        for _ in 0..followers {
            let one = One { client: anyone.clone(), place: place.follower_config(), urns: urns.clone() };
            tokio::spawn(one.follow(to.clone(), Arc::clone(&starting)));
        }
        for ready in 0..followers {
            let said = next_event(&mut from, || format!("{ready} of {followers} followers are ready")).await;
            assert!(matches!(said, Said::Ready));
        }
        let each = (authority.process.resident() - before) / followers as u64;
        println!("{followers} followers hold the stream and the head; {} kB of the authority for each", each >> 10);
        let mut line = operator.connect().await.unwrap();
        for (round, urn) in urns.iter().enumerate() {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let path = format!("/v1/contexts/{urn}/revoke");
            let asked = request(Method::POST, &path, Some("application/json"), r#"{"reason":"a bench"}"#);
            let (began, cpu) = (Instant::now(), authority.process.cpu());
            assert_eq!(send_on(&mut line, asked).await.unwrap().status.as_u16(), 201);
            let answered = Instant::now();
            let (mut told, mut revoked) = (Vec::new(), Vec::new());
            while revoked.len() < followers {
                let so_far = || format!("{} of {followers} followers hold the revocation", revoked.len());
                match next_event(&mut from, so_far).await {
                    Said::Told(at) => told.push(at.saturating_duration_since(answered)),
                    Said::Revoked(n, at) if n == round => revoked.push(at.saturating_duration_since(answered)),
                    Said::Ready | Said::Revoked(..) => {}
                }
            }
            println!(
                "revoke {}: answered in {:.1?}; told median {:.1?}, last {:.1?}; verified and revoked median {:.1?}, last {:.1?}; authority's CPU {:.1?}",
                round + 1,
                answered - began,
                at(&mut told, 500),
                at(&mut told, 1000),
                at(&mut revoked, 500),
                at(&mut revoked, 1000),
                authority.process.cpu() - cpu,
            );
        }
    });
}

/// What a follower says next; who waits in vain is told how far it came.
async fn next_event(from: &mut mpsc::UnboundedReceiver<Said>, so_far: impl Fn() -> String) -> Said {
    let next = tokio::time::timeout(Duration::from_secs(120), from.recv()).await;
    next.unwrap_or_else(|_| panic!("nothing more in two minutes: {}", so_far())).unwrap()
}

enum Said {
    Ready,
    /// An event came.
    Told(Instant),
    /// The context of this round is revoked in a verified view.
    Revoked(usize, Instant),
}

struct One {
    client: Client,
    place: semgate_statement::FollowerConfig,
    urns: Vec<String>,
}

impl One {
    async fn follow(self, to: mpsc::UnboundedSender<Said>, starting: Arc<Semaphore>) {
        let Self { client, mut place, urns } = self;
        place.lines = semgate_statement::Lines::parse(&["bench"]).unwrap();
        let urns: Vec<_> = urns.iter().map(|u| ContextUrn::parse(u, &Prefix::default()).unwrap()).collect();
        let mut follower = Follower::without_memory(place);
        let turn = starting.acquire().await.unwrap();
        let mut line = Kept { client, line: None };
        let mut stream = line.client.raw().await;
        stream.write_all(b"GET /v1/feed/stream HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        round(&mut line, &mut follower, |_| {}).await;
        assert!(urns.iter().all(|urn| follower.view().standing(urn, now()) == Standing::Valid));
        drop(turn);
        let mut buffer = vec![0; 16 * 1024];
        let mut text = Vec::new();
        let (mut ready, mut done) = (false, 0);
        loop {
            let read = stream.read(&mut buffer).await.unwrap();
            assert!(read > 0, "the stream ended");
            text.extend_from_slice(&buffer[..read]);
            let Some(end) = text.windows(4).rposition(|w| w == b"}\n\n\r" || w == b"\n\n\r\n") else {
                continue;
            };
            let events = text[..end].windows(11).filter(|w| w == b"event: head").count();
            text.drain(..end);
            if events == 0 {
                continue;
            }
            if !std::mem::replace(&mut ready, true) {
                to.send(Said::Ready).unwrap();
                continue;
            }
            to.send(Said::Told(Instant::now())).unwrap();
            // What a view says counts at once, and not when its round is over.
            round(&mut line, &mut follower, |view| {
                while urns.get(done).is_some_and(|urn| view.standing(urn, now()) == Standing::Revoked) {
                    to.send(Said::Revoked(done, Instant::now())).unwrap();
                    done += 1;
                }
            })
            .await;
        }
    }
}

/// A connection that is kept while the authority keeps it, as a gateway does.
struct Kept {
    client: Client,
    line: Option<Line>,
}

impl Kept {
    async fn get(&mut self, path: &str, etag: Option<&str>) -> Got {
        loop {
            let mut asked = request(Method::GET, path, None, "");
            if let Some(etag) = etag {
                asked.headers_mut().insert("if-none-match", etag.parse().unwrap());
            }
            let (mut line, fresh) = match self.line.take() {
                Some(line) => (line, false),
                None => (self.client.connect().await.unwrap(), true),
            };
            match send_on(&mut line, asked).await {
                Ok(got) => {
                    self.line = Some(line);
                    return got;
                }
                Err(why) if fresh => panic!("{path}: {why}"),
                Err(_) => {}
            }
        }
    }
}

/// Follows until there is nothing left to fetch; every new view is shown.
async fn round(line: &mut Kept, follower: &mut Follower, mut show: impl FnMut(&View)) {
    follower.hint();
    while let Step::Get(wanted) = follower.next(now()) {
        let got = line.get(&wanted.path, wanted.if_none_match.as_deref()).await;
        let etag = got.headers.get("etag").map(|tag| tag.to_str().unwrap().to_owned());
        let answer = Answer { status: got.status.as_u16(), etag, body: got.body.to_vec() };
        if follower.answer(&wanted.path, answer, now()).unwrap() == Progress::ViewChanged {
            show(&follower.view());
        }
    }
}
