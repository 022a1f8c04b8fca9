//! The agent that takes what it can get: rate, size and refusals.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::meter::{GREEDY, message, post};
use super::support::{Answer, Up};

/// Connections that send large bodies together.
const TOGETHER: usize = 20;
/// The time from one flood of messages that pass to the next; between them the audit would grow without need.
const FLOODS: Duration = Duration::from_secs(20);
/// The length of such a flood.
const FLOOD: Duration = Duration::from_secs(1);

/// The answers that the greedy agent got, by kind.
#[derive(Default)]
pub struct Greed {
    pub passed: AtomicU64,
    pub limited: AtomicU64,
    pub refused: AtomicU64,
}

impl Greed {
    fn count(&self, status: u16) {
        let counter = match status {
            200 => &self.passed,
            429 => &self.limited,
            _ => &self.refused,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Floods the native route until `stop`, with each kind of greed on a thread of its own.
pub fn run(up: &Up, to: SocketAddr, greed: &Greed, stop: &AtomicBool) {
    std::thread::scope(|scope| {
        scope.spawn(|| flood(up, to, &message(GREEDY, ",\"other\":1"), greed, stop));
        scope.spawn(|| large(up, to, greed, stop));
        while !stop.load(Ordering::Relaxed) {
            let (ended, began) = (AtomicBool::new(false), Instant::now());
            std::thread::scope(|scope| {
                scope.spawn(|| flood(up, to, &message(GREEDY, ""), greed, &ended));
                std::thread::sleep(FLOOD);
                ended.store(true, Ordering::Relaxed);
            });
            while began.elapsed() < FLOODS && !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    });
}

/// Sends one message as fast as it is answered.
fn flood(up: &Up, to: SocketAddr, body: &str, greed: &Greed, stop: &AtomicBool) {
    let (url, request) = (format!("https://{to}/"), post("", body.as_bytes()));
    while !stop.load(Ordering::Relaxed) {
        let mut stream = up.connect(Some(GREEDY), &url);
        while !stop.load(Ordering::Relaxed) && stream.write_all(&request).is_ok() {
            let answer = Answer::read(&mut stream);
            greed.count(answer.status);
            if answer.status == 0 || answer.header("connection").as_deref() == Some("close") {
                break;
            }
        }
    }
}

/// Releases bodies of nearly 1 MiB together, which deflate makes some 50 kB long.
fn large(up: &Up, to: SocketAddr, greed: &Greed, stop: &AtomicBool) {
    let text: String =
        (0_u64..200_000).map(|n| format!("{:x},", n.wrapping_mul(0x9e37_79b9) & 0xfff)).collect();
    let body = message(GREEDY, &format!(",\"other\":\"{}\"", &text[..text.len().min(900_000)]));
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body.as_bytes()).unwrap();
    let request = post("content-encoding: deflate\r\n", &encoder.finish().unwrap());
    let (first, last) = request.split_at(request.len() - 1);
    let url = format!("https://{to}/");
    while !stop.load(Ordering::Relaxed) {
        let mut streams: Vec<_> = (0..TOGETHER).map(|_| up.connect(Some(GREEDY), &url)).collect();
        for part in [first, last] {
            streams.retain_mut(|stream| stream.write_all(part).and_then(|()| stream.flush()).is_ok());
        }
        streams.iter_mut().for_each(|stream| greed.count(Answer::read(stream).status));
        std::thread::sleep(Duration::from_secs(1));
    }
}
