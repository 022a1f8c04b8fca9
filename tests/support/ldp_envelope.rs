//! Envelopes of LDP made by hand, signed as both packages sign, and their answers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};

use ring::hmac;
use serde_json::{Value, json};

use super::ldp::{CLIENT, DELEGATE, frame};
use super::{Answer, PATIENCE, Up};

/// An envelope of `CLIENT` to `DELEGATE`, unsigned, with the members that the crate for Rust writes.
pub fn envelope(session: &str, body: Value) -> Value {
    json!({
        "message_id": fresh(), "session_id": session, "from": CLIENT, "to": DELEGATE, "body": body,
        "payload_mode": "semantic_frame", "timestamp": seconds_from_now(0), "provenance": null,
    })
}

/// An identifier that nobody used before.
pub fn fresh() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{:08x}-0000-4000-8000-{n:012x}", std::process::id())
}

pub fn seconds_from_now(seconds: i64) -> String {
    let at = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds);
    at.to_string()
}

pub fn hello() -> Value {
    let mut hello = envelope(
        "",
        json!({"type": "HELLO", "delegate_id": CLIENT, "supported_modes": ["semantic_frame", "text"]}),
    );
    hello["payload_mode"] = json!("text");
    hello
}

/// A proposal in the spelling of the Python package, with these members besides.
pub fn propose(more: &Value) -> Value {
    let mut config =
        json!({"preferred_payload_modes": ["semantic_frame"], "ttl_secs": 600, "trust_domain": "default"});
    for (name, value) in more.as_object().unwrap() {
        config[name] = value.clone();
    }
    let mut propose = envelope(&fresh(), json!({"type": "SESSION_PROPOSE", "config": config}));
    propose["payload_mode"] = json!("text");
    propose
}

pub fn submit(session: &str, skill: &str, input: Value) -> Value {
    envelope(session, json!({"type": "TASK_SUBMIT", "task_id": fresh(), "skill": skill, "input": input}))
}

pub fn classify(session: &str) -> Value {
    submit(session, "classify", frame())
}

pub fn about_task(session: &str, kind: &str, task: &str) -> Value {
    let mut body = json!({"type": kind, "task_id": task});
    if kind == "TASK_UPDATE" {
        body["progress"] = Value::Null;
        body["message"] = json!("status_query");
    }
    envelope(session, body)
}

pub fn close(session: &str) -> Value {
    envelope(session, json!({"type": "SESSION_CLOSE", "reason": null}))
}

/// Signs it under this secret, in the order of fields of both packages.
pub fn sign(envelope: &mut Value, secret: &str) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let body = &envelope["body"];
    let kind = text(&body["type"]);
    let ids = match kind.as_str() {
        "HELLO" => text(&body["delegate_id"]),
        "SESSION_ACCEPT" => text(&body["session_id"]),
        "SESSION_REJECT" => text(&body["reason"]),
        "TASK_SUBMIT" => format!("{}|{}", text(&body["task_id"]), text(&body["skill"])),
        "TASK_UPDATE" | "TASK_RESULT" | "TASK_FAILED" | "TASK_CANCEL" => text(&body["task_id"]),
        _ => String::new(),
    };
    let mut parts: Vec<_> =
        ["from", "to", "session_id", "timestamp", "message_id"].map(|name| text(&envelope[name])).into();
    if let Some(nonce) = envelope["nonce"].as_str() {
        parts.push(nonce.to_owned());
    }
    parts.extend([ids, kind]);
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, parts.join("|").as_bytes());
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    envelope["signature"] = json!(hex);
    envelope["signature_algorithm"] = json!("hmac-sha256");
}

pub fn signed(mut envelope: Value, secret: &str) -> Value {
    sign(&mut envelope, secret);
    envelope
}

/// The request that posts it. The connection stays open.
pub fn request(address: SocketAddr, body: &str) -> String {
    let head =
        format!("POST /ldp/messages HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n");
    format!("{head}content-length: {}\r\n\r\n{body}", body.len())
}

/// Posts it to a plain listener.
pub fn post(address: SocketAddr, envelope: &Value) -> Answer {
    post_text(address, &envelope.to_string())
}

pub fn post_text(address: SocketAddr, body: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request(address, body).as_bytes()).unwrap();
    Answer::read(&mut stream)
}

/// Posts it to a listener of TLS as this agent.
pub fn post_as(up: &Up, agent: &str, address: SocketAddr, envelope: &Value) -> Answer {
    ask(&mut up.connect(Some(agent), &format!("https://{address}")), address, envelope)
}

/// Posts it over an open connection to this address.
pub fn ask(stream: &mut (impl Read + Write), address: SocketAddr, envelope: &Value) -> Answer {
    stream.write_all(request(address, &envelope.to_string()).as_bytes()).unwrap();
    Answer::read(stream)
}

/// The session that an accepted proposal opened.
pub fn accepted(answer: &Answer) -> String {
    let json = answer.json();
    assert_eq!(json["body"]["type"], "SESSION_ACCEPT", "{json}");
    json["body"]["session_id"].as_str().unwrap().to_owned()
}

/// The stable code of a refusal, in an envelope or in a problem document; none where nothing was refused.
pub fn refused(answer: &Answer) -> Option<String> {
    let json = answer.json();
    let kind = json["body"]["type"].as_str();
    let code = match kind {
        Some("SESSION_REJECT" | "TASK_FAILED") => json.pointer("/body/error/code"),
        Some(_) => None,
        None => json.get("code"),
    };
    code.and_then(Value::as_str).map(str::to_owned)
}
