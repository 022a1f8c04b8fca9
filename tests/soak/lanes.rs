//! The callers of a soak: one lane for each binding, each with one message under way at a time.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use semgate_certs::{Chain, ChainLimits, KeyPair, Roots, tls};
use serde_json::{Value, json};

use super::agent::{EXTENSION, decision};
use super::frames;
use super::meter::{MODEST, Stream, post};
use super::support::{Answer, Up, address};

/// The pause between two messages of a lane.
const PAUSE: Duration = Duration::from_millis(50);
/// Messages on one connection; then the lane opens another.
const ON_ONE: usize = 200;
/// The context of the lanes that make decisions.
const CONTEXT: &str = "urn:contexts:supplyChain:v1.0";

/// The bindings, by the name of their lane. `flap` is native L8 to the agent that goes down and up.
pub const LANES: [&str; 7] = ["l8", "a2a", "stream", "mcp", "socket", "h2", "flap"];

/// The counts of one lane.
#[derive(Default)]
pub struct Tally {
    pub sent: AtomicU64,
    /// The numbers of the messages that were answered 200.
    pub passed: Mutex<Vec<usize>>,
    /// Answers that say that the agent is not there; only the lane `flap` may have them.
    pub unavailable: AtomicU64,
    /// Other refusals, and messages without an answer, by number.
    pub faults: Mutex<Vec<String>>,
    /// Waits since the last report.
    pub waits: Mutex<Vec<Duration>>,
}

/// The outcome of one message.
enum Outcome {
    Passed,
    Unavailable,
    Fault(String),
}

impl Tally {
    fn add(&self, number: usize, wait: Duration, outcome: Outcome) {
        match outcome {
            Outcome::Passed => self.passed.lock().unwrap().push(number),
            Outcome::Unavailable => drop(self.unavailable.fetch_add(1, Ordering::Relaxed)),
            Outcome::Fault(why) => self.faults.lock().unwrap().push(format!("{number}: {why}")),
        }
        self.waits.lock().unwrap().push(wait);
    }

    /// How many messages were answered 200.
    pub fn answered(&self) -> usize {
        self.passed.lock().unwrap().len()
    }
}

/// Sends numbered messages with `one` until `stop`, and counts what comes of each.
fn run(tally: &Tally, stop: &AtomicBool, mut one: impl FnMut(usize) -> Outcome) {
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        tally.sent.fetch_add(1, Ordering::Relaxed);
        let sent = Instant::now();
        let outcome = one(number);
        tally.add(number, sent.elapsed(), outcome);
        number += 1;
        std::thread::sleep(PAUSE);
    }
}

/// Runs the lane of this name against a route until `stop`.
pub fn lane(name: &str, up: &Up, url: &str, tally: &Tally, stop: &AtomicBool) {
    match name {
        "socket" => sockets(up, url, tally, stop),
        "h2" => http2(up, url, tally, stop),
        "mcp" => mcp(up, url, tally, stop),
        _ => {
            let mut line = Line::new(up, url);
            run(tally, stop, |number| {
                let id = format!("{name}.{number}");
                match name {
                    "a2a" => line.send(&["a2a-version: 1.0"], &a2a("SendMessage", &id), "\"message\""),
                    "stream" => line.send(
                        &["a2a-version: 1.0"],
                        &a2a("SendStreamingMessage", &id),
                        "TASK_STATE_COMPLETED",
                    ),
                    _ => line.send(&[], &native("INFORM", &id, CONTEXT, decision()), "AGREE"),
                }
            });
        }
    }
}

/// A native message of the well-behaved agent.
pub fn native(performative: &str, id: &str, context: &str, content: Value) -> Value {
    json!({"protocol": "L8/1.0", "message_id": id, "performative": performative, "sender_id": MODEST,
        "receiver_id": "wholesaler-1", "context": context, "content": content})
}

fn a2a(method: &str, id: &str) -> Value {
    let message = json!({
        "messageId": id, "role": "ROLE_USER", "metadata": {EXTENSION: {"context": CONTEXT}},
        "parts": [{"data": decision()}],
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"message": message}})
}

/// A connection over HTTP/1.1 that is opened again after so many messages.
struct Line<'u> {
    up: &'u Up,
    url: &'u str,
    stream: Option<Stream>,
    used: usize,
}

impl<'u> Line<'u> {
    fn new(up: &'u Up, url: &'u str) -> Self {
        Self { up, url, stream: None, used: 0 }
    }

    fn answer(&mut self, headers: &[&str], body: &Value) -> Answer {
        if self.used == ON_ONE {
            (self.stream, self.used) = (None, 0);
        }
        self.used += 1;
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let stream = self.stream.get_or_insert_with(|| self.up.connect(Some(MODEST), self.url));
        let _ = stream.write_all(&post(&headers, body.to_string().as_bytes()));
        let _ = stream.flush();
        let answer = Answer::read(stream);
        let closes = answer.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        if closes || answer.status == 0 {
            (self.stream, self.used) = (None, 0);
        }
        answer
    }

    /// Sends one message, which passed if it is answered 200 with this text.
    fn send(&mut self, headers: &[&str], body: &Value, expected: &str) -> Outcome {
        let answer = self.answer(headers, body);
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        outcome(answer.status, &text, expected)
    }
}

fn outcome(status: u16, text: &str, expected: &str) -> Outcome {
    match status {
        200 if text.contains(expected) => Outcome::Passed,
        502 | 504 if text.contains("upstream_unavailable") => Outcome::Unavailable,
        _ => Outcome::Fault(format!("{status} {text}")),
    }
}

fn mcp(up: &Up, url: &str, tally: &Tally, stop: &AtomicBool) {
    let (mut line, mut session) = (Line::new(up, url), None);
    let accept = "accept: application/json, text/event-stream";
    run(tally, stop, |number| {
        if number % ON_ONE == 0 {
            let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "soak", "version": "1"}});
            let call = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
            let opened = line.answer(&[accept], &call);
            session = opened.header("mcp-session-id");
        }
        let Some(session) = &session else { return Outcome::Fault("no session".to_owned()) };
        let session = format!("mcp-session-id: {session}");
        let params = json!({"name": "add", "arguments": {"a": number, "b": 2}});
        let call = json!({"jsonrpc": "2.0", "id": number + 1, "method": "tools/call", "params": params});
        let headers = [accept, &session, "mcp-protocol-version: 2025-11-25"];
        line.send(&headers, &call, &format!("\"sum\":{}", number + 2))
    });
}

fn sockets(up: &Up, url: &str, tally: &Tally, stop: &AtomicBool) {
    let mut open: Option<Stream> = None;
    run(tally, stop, |number| {
        if number % ON_ONE == 0 {
            open = None;
        }
        let stream = open.get_or_insert_with(|| {
            let mut stream = up.connect(Some(MODEST), url);
            let _ = stream.write_all(frames::opening(&address(url)).as_bytes());
            let _ = stream.flush();
            // the answer has neither length nor body: a byte at a time, so that no frame is read with it
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && matches!(std::io::Read::read(&mut stream, &mut byte), Ok(1))
            {
                head.push(byte[0]);
            }
            stream
        });
        let content =
            json!({"task": "bookFlight", "origin_code": "LAX", "dest_code": "JFK", "date": "2027-11-04"});
        let message = native("QUERY", &format!("socket.{number}"), "urn:contexts:travel:v2.1", content);
        let written = frames::write(stream, message.to_string().as_bytes(), true);
        let frame = written.ok().and_then(|()| frames::read(stream));
        let outcome = match &frame {
            Some((frames::TEXT, text)) => outcome(200, &String::from_utf8_lossy(text), "confirmed"),
            other => Outcome::Fault(format!("{other:?}")),
        };
        if !matches!(outcome, Outcome::Passed) {
            open = None;
        }
        outcome
    });
}

fn http2(up: &Up, url: &str, tally: &Tally, stop: &AtomicBool) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut client = None;
    run(tally, stop, |number| {
        if number % ON_ONE == 0 {
            client = None;
        }
        let client = client.get_or_insert_with(|| runtime.block_on(secure(up, url)));
        let body = native("INFORM", &format!("h2.{number}"), CONTEXT, decision()).to_string();
        let request = http::Request::post("https://gateway/").header("content-type", "application/json");
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        let answer = runtime.block_on(async {
            let answer = client.send_request(request).await.ok()?;
            let status = answer.status().as_u16();
            Some((status, answer.into_body().collect().await.ok()?.to_bytes()))
        });
        match answer {
            Some((status, body)) => outcome(status, &String::from_utf8_lossy(&body), "AGREE"),
            None => Outcome::Fault("no answer".to_owned()),
        }
    });
}

type Http2 = hyper::client::conn::http2::SendRequest<Full<Bytes>>;

async fn secure(up: &Up, url: &str) -> Http2 {
    let limits = ChainLimits::default();
    let text = |pointer: &str| std::fs::read_to_string(up.path(pointer)).unwrap();
    let chain = Chain::from_pem(&text(&format!("/agents/{MODEST}/cert")), &limits).unwrap();
    let random = ring::rand::SystemRandom::new();
    let key = KeyPair::from_pem(&text(&format!("/agents/{MODEST}/key")), &random).unwrap();
    let roots = Roots::from_pem(&text("/roots"), &limits).unwrap();
    let trust = tls::ServerTrust { roots, expected: tls::ExpectedServer::Named };
    let time = std::sync::Arc::new(tls::DefaultTimeProvider);
    let mut config = tls::client_config(trust, Some((&chain, &key)), time).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let address = address(url);
    let name = ServerName::try_from(address.rsplit_once(':').unwrap().0.to_owned()).unwrap();
    let tcp = tokio::net::TcpStream::connect(&address).await.unwrap();
    tcp.set_nodelay(true).unwrap();
    let stream = tokio_rustls::TlsConnector::from(std::sync::Arc::new(config)).connect(name, tcp).await;
    let io = TokioIo::new(stream.unwrap());
    let (client, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(async move { drop(connection.await) });
    client
}
