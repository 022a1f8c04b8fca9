//! A delegate of our own, for answers that neither package gives and for benchmarks that want no interpreter.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};

use serde_json::{Value, json};

use super::gateway::read_message;
use super::ldp::DELEGATE;
use super::ldp_envelope::{envelope, fresh};

/// Serves on a thread for each connection. `change` has the last word on every answer.
pub fn delegate(change: fn(&Value, &mut Value)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let _ = stream.set_nodelay(true);
                let mut buffer = vec![0; 64 * 1024];
                while let Some(message) = read_message(&mut stream, &mut buffer) {
                    let body = answer_to(message, address, change).to_string();
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length";
                    if write!(stream, "{head}: {}\r\n\r\n{body}", body.len()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

fn answer_to(message: &[u8], address: SocketAddr, change: fn(&Value, &mut Value)) -> Value {
    let text = String::from_utf8_lossy(message);
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    if head.starts_with("GET") {
        return card(address);
    }
    let asked: Value = serde_json::from_str(body).unwrap();
    let mut answer = envelope(asked["session_id"].as_str().unwrap(), answer_body(&asked));
    answer["from"] = json!(DELEGATE);
    answer["to"] = asked["from"].clone();
    answer["payload_mode"] = asked["payload_mode"].clone();
    if let Some(session) = answer.pointer("/body/session_id").cloned() {
        answer["session_id"] = session;
    }
    change(&asked, &mut answer);
    answer
}

fn answer_body(asked: &Value) -> Value {
    let body = &asked["body"];
    match body["type"].as_str().unwrap() {
        "HELLO" => json!({"type": "CAPABILITY_MANIFEST", "capabilities": {
            "capabilities": card(SocketAddr::from(([127, 0, 0, 1], 1)))["capabilities"],
            "supported_modes": ["semantic_frame", "text"],
        }}),
        "SESSION_PROPOSE" => {
            json!({"type": "SESSION_ACCEPT", "session_id": fresh(), "negotiated_mode": "semantic_frame"})
        }
        "TASK_SUBMIT" => json!({"type": "TASK_RESULT", "task_id": body["task_id"],
            "output": {"label": "positive"}, "provenance": provenance(asked)}),
        "SESSION_CLOSE" => json!({"type": "SESSION_CLOSE", "reason": "acknowledged"}),
        _ => {
            json!({"type": "TASK_UPDATE", "task_id": body["task_id"], "progress": null, "message": "working"})
        }
    }
}

pub fn provenance(asked: &Value) -> Value {
    json!({
        "produced_by": DELEGATE, "model_version": "qwen3-8b", "payload_mode_used": asked["payload_mode"],
        "confidence": null, "verified": false, "session_id": asked["session_id"], "timestamp": asked["timestamp"],
    })
}

fn card(address: SocketAddr) -> Value {
    let capabilities: Vec<_> = ["classify", "summarise", "transfer"]
        .map(|name| {
            json!({"name": name, "description": null, "input_schema": null, "output_schema": null, "quality": null, "domains": []})
        })
        .into();
    json!({
        "delegate_id": DELEGATE, "name": "own", "description": null, "model_family": "none", "model_version": "none",
        "weights_fingerprint": null, "trust_domain": {"name": "default", "allow_cross_domain": false, "trusted_peers": []},
        "context_window": 4096, "reasoning_profile": null, "cost_profile": null, "latency_profile": null,
        "jurisdiction": null, "capabilities": capabilities, "supported_payload_modes": ["semantic_frame", "text"],
        "endpoint": format!("http://{address}"), "metadata": {},
    })
}
