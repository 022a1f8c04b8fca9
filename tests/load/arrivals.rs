//! Requests of an agent that are too many, too large or refused.

use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::meter::{GREEDY, House, message, post};
use super::support::{Answer, wait_for};

/// A message of nearly 1 MiB that is some 50 kB long under deflate.
fn packed() -> Vec<u8> {
    let text: String = (0_u64..)
        .map(|n| format!("{:x},", n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52))
        .take(300_000)
        .collect();
    let body = message(GREEDY, &format!(",\"other\":\"{}\"", &text[..1_000_000]));
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body.as_bytes()).unwrap();
    post("content-encoding: deflate\r\n", &encoder.finish().unwrap())
}

#[test]
fn attack_hundreds_of_compressed_bodies_released_together() {
    let house = House::with("");
    let request = packed();
    let connections = 200;
    house.under("200 bodies of deflate, released together, again and again", |stop| {
        while !stop.load(Ordering::Relaxed) {
            let mut streams: Vec<_> =
                (0..connections).map(|_| house.connect(Some(GREEDY), house.l8)).collect();
            let (first, last) = request.split_at(request.len() - 1);
            streams.retain_mut(|stream| stream.write_all(first).and_then(|()| stream.flush()).is_ok());
            streams.retain_mut(|stream| stream.write_all(last).and_then(|()| stream.flush()).is_ok());
            std::thread::sleep(Duration::from_millis(300));
        }
    });
    let share = 1024 / 8;
    assert!(house.memory() < 300 + share, "{} MiB", house.memory());
}

#[test]
fn attack_an_agent_past_its_rate_is_refused_as_fast_as_it_can_ask() {
    let house = House::with("");
    let request = post("", message(GREEDY, ",\"other\":1").as_bytes());
    let before = house.written();
    let began = Instant::now();
    house.under("16 connections that only ask what is refused", |stop| {
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    let mut stream = house.connect(Some(GREEDY), house.l8);
                    while !stop.load(Ordering::Relaxed) {
                        if stream.write_all(&request).is_err() {
                            return;
                        }
                        let answer = Answer::read(&mut stream);
                        assert!(matches!(answer.status, 422 | 429 | 403), "{}", answer.status);
                        if answer.header("connection").as_deref() == Some("close") {
                            stream = house.connect(Some(GREEDY), house.l8);
                        }
                    }
                });
            }
        });
    });
    // what passed of the modest agent in both times has two records a message; beside it the refused leave ten each and one a second
    let seconds = began.elapsed().as_secs_f64();
    let refused: Vec<_> =
        records(&house).into_iter().filter(|record| record["verdict"] == "refused").collect();
    let most = 2.0 * (10.0 + seconds + 2.0);
    assert!((refused.len() as f64) < most, "{} records in {seconds} s", refused.len());
    assert!(house.written() > before);
    let counted = wait_for("the counts of what has no record of its own", || {
        let of = |record: &serde_json::Value| {
            record["others"].as_u64().unwrap_or(0) + u64::from(record["verdict"] == "refused")
        };
        let counted: u64 = records(&house).iter().map(of).sum();
        (counted > refused.len() as u64).then_some(counted)
    });
    let metric = refused_by_metrics(&house);
    wait_for("as many in records as in metrics", || {
        let of = |record: &serde_json::Value| record["others"].as_u64().unwrap_or(0) + 1;
        let all: u64 = records(&house).iter().filter(|record| record["verdict"] == "refused").map(of).sum();
        (all == metric).then_some(())
    });
    assert!(counted <= metric);
}

fn records(house: &House) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(&house.gateway.audit).unwrap();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The sum of the counters of messages that were refused.
fn refused_by_metrics(house: &House) -> u64 {
    let text = super::support::plain_get(&format!("http://{}/metrics", house.gateway.admin));
    let text = String::from_utf8(text.body).unwrap();
    let refused = |line: &&str| line.starts_with("semgate_protocols_total") && !line.contains("\"allowed\"");
    let lines = text.lines().filter(refused);
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64).sum()
}
