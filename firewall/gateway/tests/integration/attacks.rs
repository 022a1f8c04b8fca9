//! What a hostile caller writes into the socket. Every answer is a problem document with a decision id, every case leaves a
//! record, and nothing reaches the upstream agent.

mod authorization;
use crate::common;
mod taken_back;

use common::agent::Agent;
use common::{Answer, Gateway, House, message, plain_route, reply, wait};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

struct Scene {
    house: House,
    agent: Agent,
    gateway: Gateway,
}

const LIMITS: &str = "header_timeout = \"400ms\"\nbody_timeout = \"400ms\"\nidle_timeout = \"600ms\"\nbody_bytes = 20000\n\
    header_bytes = 2048\nwrite_timeout = \"500ms\"";

fn scene() -> Scene {
    let mut house = House::new();
    house.remember();
    let agent = Agent::saying(&reply());
    let gateway = Gateway::start(house.config(&plain_route(agent.port), LIMITS));
    Scene { house, agent, gateway }
}

impl Scene {
    /// Status and code of the one answer to these bytes.
    fn one(&self, bytes: &[u8]) -> (u16, String) {
        let text = self.gateway.raw("plain", bytes);
        assert_eq!(
            text.matches("semgate-decision: ").count(),
            1,
            "one answer and no more: {text:?} for {:?}",
            String::from_utf8_lossy(bytes)
        );
        Answer::parse(&text).problem()
    }

    fn untouched(&self, records: usize) {
        assert!(self.agent.seen().is_empty(), "{:?}", self.agent.seen());
        // those past the tenth of a minute are counted in a record that follows
        let counted = |record: &serde_json::Value| 1 + record["others"].as_u64().unwrap_or(0);
        let records = records as u64;
        wait("a record or a count of each", || {
            self.house.audit().iter().map(counted).sum::<u64>() == records
        });
        assert!(self.house.audit().iter().all(|record| record["verdict"] == "refused"));
        // and it still serves
        assert_eq!(self.gateway.say(&message()).status, 200);
    }
}

fn head(headers: &str) -> String {
    format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{headers}\r\n")
}

#[test]
fn request_smuggling_ends_at_the_first_request() {
    let scene = scene();
    let body = message().to_string();
    let length = body.len();
    let second = format!("{}{body}", head(&format!("Content-Length: {length}\r\n")));
    let cases = [
        (format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n"), format!("0\r\n\r\n{second}")),
        (format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n"), format!("{body}{second}")),
        (format!("Content-Length: {length}\r\nContent-Length: {length}\r\n"), format!("{body}{second}")),
        (format!("Content-Length: {length}\r\nContent-Length: 0\r\n"), second.clone()),
        (format!("Content-Length: {length}, {length}\r\n"), body.clone()),
        (format!("X: a\r\n Content-Length: {length}\r\n"), body.clone()),
        (format!("X: a\nContent-Length: {length}\r\n"), body.clone()),
        (format!("Content-Length : {length}\r\n"), body.clone()),
        ("Host: b\r\n".to_owned(), String::new()),
        (
            "Trailer: Semgate-Sender\r\nTransfer-Encoding: chunked\r\n".to_owned(),
            format!("{length:x}\r\n{body}\r\n0\r\n\r\n"),
        ),
        (
            "Transfer-Encoding: chunked\r\n".to_owned(),
            format!(
                "{length:x}\r\n{body}\r\n0\r\nSemgate-Sender: spiffe://semgate.test/agent/treasurer-1\r\n\r\n"
            ),
        ),
        (
            "Transfer-Encoding: chunked\r\n".to_owned(),
            format!("{length:x};x=y\r\n{body}\r\n0\r\n\r\n{second}"),
        ),
        ("Transfer-Encoding: chunked\r\n".to_owned(), format!("{length:x}\n{body}\r\n0\r\n\r\n{second}")),
    ];
    let count = cases.len();
    for (headers, rest) in cases {
        let bytes = format!("{}{rest}", head(&headers));
        assert_eq!(scene.one(bytes.as_bytes()), (400, "malformed".to_owned()), "{headers:?}");
    }
    let gzip = head("Transfer-Encoding: gzip, chunked\r\n");
    assert_eq!(scene.one(gzip.as_bytes()), (400, "encoding_unsupported".to_owned()));
    scene.untouched(count + 1);
}

#[test]
fn what_was_not_read_as_a_request_is_answered_in_the_plain_form_whatever_the_route_speaks() {
    let mut house = House::new();
    house.remember();
    let agent = Agent::saying(&reply());
    let more =
        "plain_sender = \"spiffe://semgate.test/agent/retailer-7\"\ntransports = [\"jsonrpc\", \"rest\"]";
    let route = common::route("plain", "a2a", &format!("http://127.0.0.1:{}/", agent.port), more);
    let scene = Scene { gateway: Gateway::start(house.config(&route, LIMITS)), house, agent };
    let both = head("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n");
    assert_eq!(scene.one(both.as_bytes()), (400, "malformed".to_owned()));
    assert_eq!(scene.one(b"POST / HTTP/1.0\r\nHost: a\r\n\r\n"), (400, "malformed".to_owned()));
    assert!(scene.agent.seen().is_empty());
}

#[test]
fn other_forms_of_the_request_line_are_refused() {
    let scene = scene();
    let lines = [
        "POST http://evil.test/ HTTP/1.1",
        "POST https://127.0.0.1/ HTTP/1.1",
        "CONNECT evil.test:443 HTTP/1.1",
        "OPTIONS * HTTP/1.1",
        "POST / HTTP/1.0",
        "POST / HTTP/1.1 ",
        "POST  / HTTP/1.1",
        "post / HTTP/1.1",
        "PRI * HTTP/2.0",
        // what hyper would answer by itself
        "POST /<x> HTTP/1.1",
        "POST /` HTTP/1.1",
        "POST /?\" HTTP/1.1",
    ];
    for line in lines {
        let bytes = format!("{line}\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(scene.one(bytes.as_bytes()), (400, "malformed".to_owned()), "{line}");
    }
    let upgrade = head("Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n");
    assert_eq!(scene.one(upgrade.as_bytes()), (400, "malformed".to_owned()));
    scene.untouched(lines.len() + 1);
}

#[test]
fn paths_queries_and_methods_outside_the_binding_are_refused() {
    let scene = scene();
    let close = "Connection: close\r\nContent-Length: 0\r\n";
    for (line, code) in [
        ("POST /?x=y", "malformed"),
        ("POST /../", "method_unsupported"),
        ("POST /admin", "method_unsupported"),
        ("GET /", "method_unsupported"),
        ("TRACE /", "method_unsupported"),
    ] {
        let bytes = head(close).replacen("POST /", line, 1);
        assert_eq!(scene.one(bytes.as_bytes()), (400, code.to_owned()), "{line}");
    }
    scene.untouched(5);
}

#[test]
fn endless_heads_and_bodies_are_cut() {
    let scene = scene();
    let endless = format!("POST / HTTP/1.1\r\nHost: a\r\nX: {}", "a".repeat(4000));
    assert_eq!(scene.one(endless.as_bytes()), (413, "too_large".to_owned()));
    let many = head(&"X: a\r\n".repeat(65));
    assert_eq!(scene.one(many.as_bytes()), (413, "too_large".to_owned()));
    let stated = head("Content-Length: 20001\r\n");
    assert_eq!(scene.one(stated.as_bytes()), (413, "too_large".to_owned()));
    let huge = head("Content-Length: 999999999999999999\r\n");
    assert_eq!(scene.one(huge.as_bytes()), (413, "too_large".to_owned()));
    let chunk = format!("1000\r\n{}\r\n", "a".repeat(0x1000));
    let chunked = format!("{}{}", head("Transfer-Encoding: chunked\r\n"), chunk.repeat(6));
    assert_eq!(scene.one(chunked.as_bytes()), (413, "too_large".to_owned()));
    scene.untouched(5);
}

#[test]
fn a_caller_that_sent_too_much_still_reads_the_answer() {
    let scene = scene();
    // all of it is written before anything is read: a reset instead of an answer would lose the reason
    let bytes = [head("Content-Length: 3000000\r\n").into_bytes(), vec![b'a'; 3_000_000]].concat();
    assert_eq!(scene.one(&bytes), (413, "too_large".to_owned()));
    scene.untouched(1);
}

#[test]
fn slowloris_of_head_and_body_ends_in_time() {
    let scene = scene();
    for first in
        ["POST / HTTP/1.1\r\nHost: a\r\n".to_owned(), format!("{}{{", head("Content-Length: 100\r\n"))]
    {
        let began = Instant::now();
        let mut stream = scene.gateway.connect("plain");
        stream.write_all(first.as_bytes()).unwrap();
        let mut text = String::new();
        let mut feeder = stream.try_clone().unwrap();
        let feeding = std::thread::spawn(move || {
            // one byte now and then keeps the socket alive, and must not keep the request alive
            while feeder.write_all(b" ").is_ok() && began.elapsed() < Duration::from_secs(5) {
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let _ = stream.read_to_string(&mut text);
        assert_eq!(Answer::parse(&text).problem(), (408, "too_slow".to_owned()), "{first:?}");
        assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
        drop(stream);
        feeding.join().unwrap();
    }
    scene.untouched(2);
}

#[test]
fn a_silent_connection_is_closed_without_an_answer_and_without_a_record() {
    let scene = scene();
    assert_eq!(scene.gateway.raw("plain", b""), "");
    scene.untouched(0);
}

#[test]
fn a_caller_that_does_not_read_is_cut() {
    let scene = scene();
    let mut stream = scene.gateway.connect("plain");
    let one = head("Content-Length: 0\r\n").replacen("/ ", "/nothing ", 1);
    let burst = one.repeat(200);
    stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    let began = Instant::now();
    // answers pile up unread until the gateway gives up on writing them
    let cut = loop {
        match stream.write(burst.as_bytes()) {
            Ok(_) => {}
            Err(why)
                if matches!(why.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            Err(_) => break true,
        }
        if began.elapsed() > Duration::from_secs(15) {
            break false;
        }
    };
    assert!(cut);
}

#[test]
fn compressed_bodies_are_inflated_within_limits_or_refused() {
    use flate2::{Compression, write::GzEncoder};
    let gzip = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let scene = scene();
    let bomb = gzip(&vec![b' '; 5_000_000]);
    let twice = gzip(&gzip(message().to_string().as_bytes()));
    let post = |headers: &str, body: &[u8]| scene.gateway.post("plain", headers, body);
    assert_eq!(post("Content-Encoding: gzip\r\n", &bomb).problem(), (413, "too_large".to_owned()));
    assert_eq!(post("Content-Encoding: gzip\r\n", b"{}").problem(), (400, "malformed".to_owned()));
    assert_eq!(post("Content-Encoding: gzip\r\n", &twice).problem(), (400, "malformed".to_owned()));
    for encoding in ["br", "zstd", "gzip, gzip", "gzip, br", "x-gzip", "compress"] {
        let answer = post(&format!("Content-Encoding: {encoding}\r\n"), &twice);
        assert_eq!(answer.problem(), (400, "encoding_unsupported".to_owned()), "{encoding}");
    }
    let again = "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n";
    assert_eq!(post(again, &twice).problem(), (400, "encoding_unsupported".to_owned()));
    assert!(scene.agent.seen().is_empty());
    let body = message().to_string();
    let answer = post("Content-Encoding: gzip\r\n", &gzip(body.as_bytes()));
    assert_eq!(answer.status, 200, "{answer:?}");
    let seen = scene.agent.seen();
    assert_eq!(seen[0].body, body.as_bytes(), "forwarded as identity");
    assert_eq!(seen[0].header("content-encoding"), None);
}

#[test]
fn chunked_bodies_and_expect_continue_are_plain_requests() {
    let scene = scene();
    let body = message().to_string();
    let (one, two) = body.split_at(40);
    let chunks = format!("{:x}\r\n{one}\r\n{:X}\r\n{two}\r\n0\r\n\r\n", one.len(), two.len());
    let text = scene.gateway.raw(
        "plain",
        format!("{}{chunks}", head("Connection: close\r\nTransfer-Encoding: chunked\r\n")).as_bytes(),
    );
    assert_eq!(Answer::parse(&text).status, 200, "{text}");
    let seen = scene.agent.seen();
    assert_eq!(seen[0].body, body.as_bytes());
    assert_eq!(seen[0].header("content-length").unwrap(), body.len().to_string());

    let mut stream = scene.gateway.connect("plain");
    let expect = format!("Connection: close\r\nExpect: 100-continue\r\nContent-Length: {}\r\n", body.len());
    stream.write_all(head(&expect).as_bytes()).unwrap();
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(body.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(Answer::parse(&text).status, 200);
    // refused by its head alone: never asked to send the body
    let refused = head(&expect).replacen("/ ", "/nothing ", 1);
    assert_eq!(scene.one(refused.as_bytes()), (400, "method_unsupported".to_owned()));
}

#[test]
fn bytes_that_are_no_json_message_each_have_their_code() {
    let scene = scene();
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let wide = format!("[{}1]", "1,".repeat(9_000));
    let table: Vec<(Vec<u8>, &str)> = vec![
        (b"".to_vec(), "malformed"),
        (b"{".to_vec(), "malformed"),
        (b"\xef\xbb\xbf{}".to_vec(), "malformed"),
        (b"{\"a\":\"\xff\"}".to_vec(), "malformed"),
        (b"{\"a\":\"\\ud800\"}".to_vec(), "malformed"),
        (b"{} {}".to_vec(), "malformed"),
        (b"{\"a\":1e400}".to_vec(), "malformed"),
        (b"{\"a\":1,\"\\u0061\":2}".to_vec(), "duplicate_key"),
        (deep.into_bytes(), "too_deep"),
        (wide.into_bytes(), "malformed"),
    ];
    for (bytes, code) in &table {
        assert_eq!(
            scene.gateway.post("plain", "", bytes).problem().1,
            *code,
            "{:?}",
            String::from_utf8_lossy(&bytes[..bytes.len().min(30)])
        );
    }
    scene.untouched(table.len());
}
