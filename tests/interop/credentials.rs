//! Tokens of somebody else's making (joserfc) through the gateway with mutual TLS: good ones count, and each bad one is refused by its reason.

use crate::support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::mpsc;
use std::time::{SystemTime, UNIX_EPOCH};

use semgate_certs::token::TokenFault;
use serde_json::{Value, json};
use support::gateway::{Gateway, Scripted, free_address, read_message};
use support::{Answer, Up, python, wait_for};

const REPLY: &str = r#"{"protocol":"L8/1.0","message_id":"r-1","performative":"INFORM","sender_id":"wholesaler-1","receiver_id":"retailer-7","context":"urn:contexts:supplyChain:v1.0","content":{"concept":"current_decision","item_id":"beer","quantity":1}}"#;

const POLICIES: &str = r#"
@id("planner") permit (principal in Group::"partners", action, resource is supplyChain::current_decision)
when { principal.credentials.contains("token:hr:planner") };
@id("replies") permit (principal in Group::"repliers", action, resource) when { context.direction == "reply" };
"#;

const RETAILER: &str = "spiffe://semgate.test/agent/retailer-7";
const TREASURER: &str = "spiffe://semgate.test/agent/treasurer-1";

/// Seconds that the brief token lasts: enough to start a gateway in.
const BRIEF: u64 = 40;

const FAULTS: [TokenFault; 13] = [
    TokenFault::TooLarge,
    TokenFault::Malformed,
    TokenFault::Header,
    TokenFault::Algorithm,
    TokenFault::UnknownIssuer,
    TokenFault::UnknownKey,
    TokenFault::Signature,
    TokenFault::Audience,
    TokenFault::Expired,
    TokenFault::NotYetValid,
    TokenFault::Claims,
    TokenFault::OtherCertificate,
    TokenFault::OtherSubject,
];

struct Stage {
    up: Up,
    gateway: Gateway,
    behind: Scripted,
    url: String,
    /// Of the route that takes sockets.
    sockets: String,
    /// Of the route whose agent begins a stream, tells one event and says no more.
    streams: String,
    /// Of the route whose agent answers when it is told to.
    thinks: String,
    /// A message has reached the agent that thinks.
    reached: mpsc::Receiver<()>,
    answer: mpsc::Sender<()>,
    made: Value,
    began: u64,
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

impl Stage {
    fn new() -> Self {
        let up = Up::start();
        let behind = Scripted::saying(REPLY.to_owned());
        let directory = up.dir.join("current");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::copy(up.path("/policies").join("entities.json"), directory.join("entities.json")).unwrap();
        std::fs::write(directory.join("planner.cedar"), POLICIES).unwrap();
        let config = up.path("/firewall_config");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, text.replace("policies = \"policies\"", "policies = \"current\"")).unwrap();

        let interpreter = python::interpreter();
        let began = now();
        let output = Command::new(interpreter)
            .arg(python::script("make_credentials.py"))
            .args([up.path("/agents/retailer-7/cert"), up.path("/agents/treasurer-1/cert")])
            .args([RETAILER, TREASURER, &BRIEF.to_string()])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let made: Value = serde_json::from_slice(&output.stdout).unwrap();
        std::fs::write(up.dir.join("hr.jwks.json"), made["jwks"].to_string()).unwrap();

        let event = format!("data: {REPLY}\n\n");
        let streaming = Scripted::answering(
            format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{event}\r\n",
                event.len()
            )
            .into_bytes(),
        );
        let (answer, told) = mpsc::channel();
        let (reaches, reached) = mpsc::channel();
        let thinking = thinking(reaches, told);
        let [listen, sockets, streams, thinks] = std::array::from_fn(|_| free_address());
        let more = format!(
            r#"
[[route]]
name = "tls"
listen = "{listen}"
binding = "l8"
receiver = "spiffe://semgate.test/agent/wholesaler-1"
upstream = "http://{}/l8"
contexts = ["*"]

[[route]]
name = "sockets"
listen = "{sockets}"
binding = "l8"
receiver = "spiffe://semgate.test/agent/wholesaler-1"
upstream = "http://{}/l8"
contexts = ["*"]
websocket = true

[[route]]
name = "streams"
listen = "{streams}"
binding = "l8"
receiver = "spiffe://semgate.test/agent/wholesaler-1"
upstream = "http://{}/l8"
contexts = ["*"]

[[route]]
name = "thinks"
listen = "{thinks}"
binding = "l8"
receiver = "spiffe://semgate.test/agent/wholesaler-1"
upstream = "http://{thinking}/l8"
contexts = ["*"]

[[credential_issuer]]
name = "hr"
issuer = "https://hr.test"
audience = "spiffe://semgate.test/gateway"
keys = "hr.jwks.json"
algorithms = ["ES256", "EdDSA", "RS256"]
"#,
            behind.address, behind.address, streaming.address
        );
        let gateway = Gateway::before(&up, behind.address, &more);
        let [url, sockets, streams, thinks] =
            [listen, sockets, streams, thinks].map(|address| format!("https://{address}/"));
        Self { up, gateway, behind, url, sockets, streams, thinks, reached, answer, made, began }
    }

    /// Says the message on another route with this token, and leaves the answer to be read.
    fn ask(&self, url: &str, token: &str) -> impl Read + Write {
        let (mut stream, body) = (self.up.connect(Some("retailer-7"), url), message().to_string());
        write!(
            stream,
            "POST / HTTP/1.1\r\nhost: {}\r\nconnection: close\r\naccept: application/json, text/event-stream\r\ncontent-type: application/json\r\nsemgate-credential: {token}\r\ncontent-length: {}\r\n\r\n{body}",
            support::address(url),
            body.len()
        )
        .unwrap();
        stream.flush().unwrap();
        stream
    }

    /// Takes the key away that signed this token, and waits until it counts no more.
    fn take_the_key_away(&self, good: &str) {
        let mut keys = self.made["jwks"].clone();
        keys["keys"].as_array_mut().unwrap().retain(|key| key["kid"] != "ec");
        std::fs::write(self.up.dir.join("hr.jwks.json"), keys.to_string()).unwrap();
        Command::new("kill").args(["-HUP", &self.gateway.child.id().to_string()]).status().unwrap();
        wait_for("the key to be gone", || (self.showing(good).status == 403).then_some(()));
    }

    /// Opens a socket of the retailer that shows this token.
    fn open(&self, token: &str) -> impl Read + Write {
        let mut stream = self.up.connect(Some("retailer-7"), &self.sockets);
        let head = format!(
            "GET / HTTP/1.1\r\nhost: {}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsemgate-credential: {token}\r\n\r\n",
            support::address(&self.sockets)
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
        }
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
        stream
    }

    fn say(&self, headers: &[(&str, &str)]) -> Answer {
        let message = message();
        self.up.post("retailer-7", &self.url, headers, message.to_string().as_bytes())
    }

    fn showing(&self, token: &str) -> Answer {
        self.say(&[("Semgate-Credential", token)])
    }
}

/// An agent that answers each message once it is told to.
fn thinking(reaches: mpsc::Sender<()>, told: mpsc::Receiver<()>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut buffer = vec![0; 64 * 1024];
            if read_message(&mut stream, &mut buffer).is_none() {
                continue;
            }
            let _ = reaches.send(());
            if told.recv().is_ok() {
                let head = format!("content-type: application/json\r\ncontent-length: {}", REPLY.len());
                let _ = write!(stream, "HTTP/1.1 200 OK\r\n{head}\r\n\r\n{REPLY}");
            }
        }
    });
    address
}

fn message() -> Value {
    json!({
        "protocol": "L8/1.0", "message_id": "m-1", "performative": "INFORM", "sender_id": "retailer-7",
        "receiver_id": "wholesaler-1", "context": "urn:contexts:supplyChain:v1.0",
        "content": {"d": {"concept": "current_decision", "item_id": "beer", "quantity": 120}},
    })
}

/// A text of a client, masked with nothing (RFC 6455 §5.3).
fn frame(text: &str) -> Vec<u8> {
    let length = u16::try_from(text.len()).unwrap().to_be_bytes();
    [&[0x81, 0xfe][..], &length, &[0; 4], text.as_bytes()].concat()
}

fn text(answer: &Answer) -> String {
    format!("{} {}", answer.head, String::from_utf8_lossy(&answer.body))
}

#[test]
fn tokens_of_joserfc_count_and_each_attack_is_told_by_its_reason() {
    let stage = Stage::new();
    let without = stage.say(&[]);
    assert_eq!((without.status, without.code().as_str()), (403, "policy_denied"), "{}", text(&without));
    for (name, token) in stage.made["good"].as_object().unwrap() {
        for _ in 0..2 {
            let answer = stage.showing(token.as_str().unwrap());
            assert_eq!(answer.status, 200, "{name}: {}", text(&answer));
        }
    }
    let passed = stage.behind.received();
    let other = stage.showing(stage.made["without"].as_str().unwrap());
    assert_eq!(other.code(), "policy_denied", "it vouches for something else: {}", text(&other));

    let bad = stage.made["bad"].as_object().unwrap();
    assert!(bad.len() > 20);
    for (name, case) in bad {
        let answer = stage.showing(case[0].as_str().unwrap());
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (403, "sender_mismatch"),
            "{name}: {}",
            text(&answer)
        );
        let fault = FAULTS.into_iter().find(|fault| fault.as_str() == case[1]).unwrap();
        assert_eq!(answer.json()["detail"], fault.to_string(), "{name}");
    }
    let good = stage.made["good"]["by certificate"].as_str().unwrap();
    let twice = stage.say(&[("Semgate-Credential", good), ("Semgate-Credential", good)]);
    assert_eq!((twice.status, twice.code().as_str()), (400, "malformed"), "{}", text(&twice));

    assert_eq!(stage.behind.received(), passed, "something refused was forwarded");
    let told = stage.behind.heads().join("\n").to_ascii_lowercase();
    assert!(told.contains("semgate-sender") && !told.contains("semgate-credential"), "{told}");
}

#[test]
fn an_open_socket_loses_what_a_token_gave_it_once_the_issuers_key_is_gone() {
    let stage = Stage::new();
    let good = stage.made["good"]["by certificate"].as_str().unwrap();
    let mut open = stage.open(good);
    assert_eq!(stage.showing(good).status, 200);
    stage.take_the_key_away(good);
    let before = stage.behind.received();
    // it may have been ended already
    let _ = open.write_all(&frame(&message().to_string()));
    let _ = open.flush();
    let mut told = Vec::new();
    let _ = open.read_to_end(&mut told);
    let told = String::from_utf8_lossy(&told).into_owned();
    assert!(told.contains("sender_mismatch") && told.contains("key"), "{told}");
    assert_eq!(stage.behind.received(), before);
}

/// As a socket: a stream, and an answer that the agent was still thinking about, went to whom a taken key had vouched for.
#[test]
fn an_open_stream_and_a_late_answer_lose_what_a_token_gave_them_once_the_issuers_key_is_gone() {
    let stage = Stage::new();
    let good = stage.made["good"]["by certificate"].as_str().unwrap();
    let mut open = stage.ask(&stage.streams, good);
    let mut told = Vec::new();
    while !String::from_utf8_lossy(&told).contains("\"quantity\":1") {
        let mut more = [0; 4096];
        let read = open.read(&mut more).unwrap();
        assert!(read > 0, "the event passes: {}", String::from_utf8_lossy(&told));
        told.extend_from_slice(&more[..read]);
    }
    let mut late = stage.ask(&stage.thinks, good);
    stage.reached.recv_timeout(support::PATIENCE).expect("the message reaches the agent");
    assert_eq!(stage.showing(good).status, 200);
    stage.take_the_key_away(good);
    let mut rest = Vec::new();
    let _ = open.read_to_end(&mut rest);
    let rest = String::from_utf8_lossy(&rest).into_owned();
    assert!(rest.contains("sender_mismatch") && rest.contains("key"), "{rest}");
    stage.answer.send(()).unwrap();
    let mut answer = Vec::new();
    let _ = late.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.contains("sender_mismatch") && answer.contains("\"delivered\":\"yes\""), "{answer}");
    assert!(!answer.contains("item_id"), "{answer}");
}

#[test]
fn a_remembered_token_and_a_remembered_verdict_end_with_the_token() {
    let stage = Stage::new();
    let token = stage.made["brief"].as_str().unwrap();
    let mut passed = 0;
    let refused = wait_for("the end of the token", || {
        let answer = stage.showing(token);
        if answer.status == 200 {
            assert!(now() <= stage.began + BRIEF + 5, "it passes after its end");
            passed += 1;
            return None;
        }
        Some(answer)
    });
    assert!(passed > 0, "{}", text(&refused));
    assert_eq!(refused.code(), "sender_mismatch", "{}", text(&refused));
    assert!(now() >= stage.began + BRIEF);
}
