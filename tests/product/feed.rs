//! A revocation, and an operator's own word, on its way through the running binary: from the answer to the revoke call to everybody who listens, and to the first refusal
//! in a gateway that messages pass through. `SEMGATE_FOLLOWERS` sets how many listen:
//!
//!     SEMGATE_FOLLOWERS=1000 cargo test --release -p semgate --test product feed:: -- --nocapture

use crate::support;

use std::io::{BufRead, BufReader, Write};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use support::gateway::{Gateway, Scripted};
use support::policies::{REPLY, message, metrics, status, under};
use support::{Answer, PATIENCE, Up, address, wait_for};

/// What a build that is not optimised, on a machine that it shares, is held to; the second that is promised is the command's above.
const SHARED: Duration = Duration::from_secs(3);

/// Listens on the stream; tells the size of the log of every head as it comes.
fn follower(up: &Up, seen: &mpsc::Sender<(u64, Instant)>) {
    let url = up.text("/authority_url");
    let mut stream = up.connect(Some("retailer-7"), url);
    write!(stream, "GET /v1/feed/stream HTTP/1.1\r\nhost: {}\r\n\r\n", address(url)).unwrap();
    let seen = seen.clone();
    std::thread::Builder::new()
        .stack_size(256 * 1024)
        .spawn(move || {
            let mut size = 0;
            for line in BufReader::new(stream).lines() {
                let Ok(line) = line else { return };
                if let Some(id) = line.strip_prefix("id: ") {
                    size = id.parse().unwrap();
                }
                // The event is whole with its last line.
                if line.starts_with("data: ") && seen.send((size, Instant::now())).is_err() {
                    return;
                }
            }
        })
        .unwrap();
}

/// Sends one message after the other over one connection and tells when the first is refused, and with what.
fn traffic(gateway: &Gateway, stop: &Arc<AtomicBool>) -> mpsc::Receiver<(String, Instant)> {
    let (to, from) = mpsc::channel();
    let (l8, stop) = (gateway.l8, Arc::clone(stop));
    let body =
        message(&serde_json::json!({"concept": "current_decision", "item_id": "beer", "quantity": 120}));
    std::thread::spawn(move || {
        let mut stream = std::net::TcpStream::connect(l8).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!("POST / HTTP/1.1\r\nhost: {l8}\r\ncontent-type: application/json\r\n");
        while !stop.load(Ordering::Relaxed) {
            write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
            let answer = Answer::read(&mut stream);
            if answer.status != 200 {
                let at = Instant::now();
                // A message whose reply was on its way is refused with its reply.
                let cause = answer.json()["cause"].as_str().map(str::to_owned);
                let _ = to.send((cause.unwrap_or_else(|| answer.code()), at));
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    from
}

/// F0-50, at one gateway and by nobody's leave: no feed and no authority has to agree.
#[test]
fn an_authority_that_the_operator_distrusts_is_refused_at_once_under_traffic_and_after_a_restart() {
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let limits = "[limits]\nrate_per_second = 1000000\nrate_burst = 1000000\n";
    let mut gateway = Gateway::before(&up, behind.address, limits);
    let file = up.dir.join(format!("gateway-{}.toml", gateway.l8.port()));
    let trusted = std::fs::read_to_string(&file).unwrap();
    let lines = "lines = [\"*\"]";
    assert_eq!(trusted.matches(lines).count(), 1, "{trusted}");
    let write = |text: &str, gateway: &Gateway| {
        std::fs::write(&file, text).unwrap();
        Command::new("kill").args(["-HUP", &gateway.child.id().to_string()]).status().unwrap();
    };
    let content = serde_json::json!({"concept": "current_decision", "item_id": "beer", "quantity": 120});
    let code = |gateway: &Gateway, context: &str| {
        let answer = gateway.post(&under(context, &content));
        if answer.status == 200 { "allowed".to_owned() } else { answer.code() }
    };
    let known = "supplyChain:v1.0";
    assert!(metrics(&gateway).contains("semgate_distrusted{authority=\"semgate.test\"} 0"));

    let stop = Arc::new(AtomicBool::new(false));
    let refused = traffic(&gateway, &stop);
    std::thread::sleep(Duration::from_millis(500));
    assert!(refused.try_recv().is_err(), "messages pass before");
    let began = Instant::now();
    write(&trusted.replace(lines, &format!("{lines}\ndistrusted = true")), &gateway);
    let (first, at) = refused.recv_timeout(PATIENCE).unwrap();
    stop.store(true, Ordering::Relaxed);
    println!("first refusal {:.1?} after the signal", at.saturating_duration_since(began));
    assert_eq!(first, "context_untrusted");
    assert!(at.saturating_duration_since(began) < SHARED);
    // of its lines nothing is told apart any more, what it never published neither
    for context in [known, "supplyChain:v9.9"] {
        assert_eq!(code(&gateway, context), "context_untrusted", "{context}");
    }
    let told = |gateway: &Gateway| {
        let counted = "semgate_distrusted{authority=\"semgate.test\"} 1";
        wait_for("its metric", || metrics(gateway).contains(counted).then_some(()));
        assert_eq!(status(gateway)["authorities"][0]["distrusted"], true);
    };
    told(&gateway);

    // a file that cannot be read brings no trust back, and is told
    write("state = ", &gateway);
    wait_for("the fault", || metrics(&gateway).contains("semgate_config_current 0").then_some(()));
    assert_eq!(code(&gateway, known), "context_untrusted");
    std::fs::write(&file, trusted.replace(lines, &format!("{lines}\ndistrusted = true"))).unwrap();
    // ready all the same: what the operator distrusts is not waited for
    gateway.restart("TERM");
    assert_eq!(code(&gateway, known), "context_untrusted");
    told(&gateway);
    write(&trusted, &gateway);
    wait_for("trust", || (code(&gateway, known) == "allowed").then_some(()));
    assert!(metrics(&gateway).contains("semgate_config_current 1"));

    // what only a restart takes up is not what the gateway goes by
    write(&trusted.replace("rate_burst = 1000000", "rate_burst = 1000000\nnodes = 10000"), &gateway);
    wait_for("that it waits", || metrics(&gateway).contains("semgate_config_current 0").then_some(()));
    assert_eq!(code(&gateway, known), "allowed");
    write(&trusted, &gateway);
    wait_for("as before", || metrics(&gateway).contains("semgate_config_current 1").then_some(()));
}

#[test]
fn a_revocation_reaches_all_who_listen_and_is_refused_under_traffic_within_a_second() {
    let followers = std::env::var("SEMGATE_FOLLOWERS").map_or(100, |text| text.parse().unwrap());
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let gateway =
        Gateway::before(&up, behind.address, "[limits]\nrate_per_second = 1000000\nrate_burst = 1000000\n");
    let (to, seen) = mpsc::channel();
    (0..followers).for_each(|_| follower(&up, &to));
    let sizes: Vec<u64> = (0..followers).map(|_| seen.recv_timeout(PATIENCE).unwrap().0).collect();
    let before = sizes[0];
    assert!(sizes.iter().all(|size| *size == before), "everybody is told the current head at once");

    let stop = Arc::new(AtomicBool::new(false));
    let refused = traffic(&gateway, &stop);
    std::thread::sleep(Duration::from_millis(500));
    assert!(refused.try_recv().is_err(), "messages pass before");
    let url = up.text("/authority_url");
    let mut operator = up.connect(Some("operator"), url);
    let body = r#"{"reason":"a test"}"#;
    let path = "/v1/contexts/urn:contexts:supplyChain:v1.0/revoke";
    write!(
        operator,
        "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        address(url),
        body.len()
    )
    .unwrap();
    let answer = Answer::read(&mut operator);
    let answered = Instant::now();
    assert_eq!(answer.status, 201, "{answer:?}");
    let mut told: Vec<Duration> = Vec::new();
    while told.len() < followers {
        let (size, at) = seen.recv_timeout(PATIENCE).unwrap();
        if size > before {
            told.push(at.saturating_duration_since(answered));
        }
    }
    let (code, at) = refused.recv_timeout(PATIENCE).unwrap();
    stop.store(true, Ordering::Relaxed);
    let refused = at.saturating_duration_since(answered);
    let last = told.into_iter().max().unwrap();
    println!(
        "{followers} followers: the last was told after {last:.1?}; first refusal in the gateway after {refused:.1?}"
    );
    assert_eq!(code, "context_revoked");
    assert!(last < SHARED, "{last:?}");
    assert!(refused < SHARED, "{refused:?}");
}
