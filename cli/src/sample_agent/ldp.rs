//! LDP at the sample agent: a delegate with two skills. It keeps no sessions.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::Agent;
use super::answer::{Answer, answer};

/// Its name in LDP.
pub const DELEGATE: &str = "ldp:delegate:wholesaler-1";
/// The member of an input that names the context.
const CONTEXT: &str = "l9_context";
/// Its skills: name, context and description.
const SKILLS: [(&str, &str, &str); 2] = [
    ("bookFlight", "urn:contexts:travel:v2.2", "books a flight"),
    ("transfer", "urn:contexts:payment:v1.1", "makes a transfer"),
];
const MODES: [&str; 2] = ["semantic_frame", "text"];
const MODEL: &str = "sample-1";

/// Its card, which the operator pins. `endpoint` is its own address.
pub fn card(endpoint: &str) -> Value {
    json!({
        "delegate_id": DELEGATE,
        "name": "Semgate sample delegate",
        "description": "books flights and makes transfers, so that a gateway has something to stand in front of",
        "model_family": "sample",
        "model_version": MODEL,
        "weights_fingerprint": null,
        "trust_domain": {"name": "default", "allow_cross_domain": false, "trusted_peers": []},
        "context_window": 8192,
        "reasoning_profile": "rule-based",
        "cost_profile": "low",
        "latency_profile": null,
        "jurisdiction": null,
        "capabilities": capabilities(),
        "supported_payload_modes": MODES,
        "endpoint": endpoint,
        "metadata": {},
    })
}

fn capabilities() -> Value {
    let one = |name: &str, description: &str| {
        json!({
            "name": name,
            "description": description,
            "input_schema": null,
            "output_schema": null,
            "quality": {
                "quality_score": 0.9, "latency_p50_ms": 5, "latency_p99_ms": 50, "cost_per_call_usd": 0.0,
                "max_tokens": null, "supports_streaming": false, "claim_type": "self_claimed"
            },
            "domains": [],
        })
    };
    SKILLS.iter().map(|(name, _, description)| one(name, description)).collect()
}

/// Serves the card.
pub async fn identity(State(agent): State<Arc<Agent>>) -> Json<Value> {
    Json(card(&agent.delegate_url))
}

/// Serves the manifest.
pub async fn manifest() -> Json<Value> {
    Json(json!({"capabilities": capabilities()}))
}

/// Takes one envelope. Tasks count as messages that reached the agent.
pub async fn receive(State(agent): State<Arc<Agent>>, Json(envelope): Json<Value>) -> Json<Value> {
    let text = |name: &str| envelope.get(name).and_then(Value::as_str).unwrap_or_default();
    let none = Map::new();
    let body = envelope.get("body").and_then(Value::as_object).unwrap_or(&none);
    let says = reply(&agent, body, text("session_id"));
    Json(json!({
        "message_id": agent.fresh("re"),
        "session_id": text("session_id"),
        "from": DELEGATE,
        "to": text("from"),
        "body": says,
        "payload_mode": envelope.get("payload_mode").unwrap_or(&Value::Null),
        "timestamp": Timestamp::now().to_string(),
    }))
}

fn reply(agent: &Agent, body: &Map<String, Value>, session: &str) -> Value {
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "HELLO" => json!({"type": "CAPABILITY_MANIFEST", "capabilities": capabilities()}),
        "SESSION_PROPOSE" => {
            let opened = agent.fresh("session");
            json!({"type": "SESSION_ACCEPT", "session_id": opened, "negotiated_mode": "semantic_frame"})
        }
        "TASK_SUBMIT" => {
            agent.count();
            json!({
                "type": "TASK_RESULT",
                "task_id": text("task_id"),
                "output": output(body),
                "provenance": {
                    "produced_by": DELEGATE, "model_version": MODEL, "payload_mode_used": "semantic_frame",
                    "confidence": 0.9, "verified": false, "session_id": session,
                    "timestamp": Timestamp::now().to_string(),
                },
            })
        }
        "TASK_CANCEL" => {
            json!({"type": "TASK_UPDATE", "task_id": text("task_id"), "progress": null, "message": "cancelled"})
        }
        "SESSION_CLOSE" => json!({"type": "SESSION_CLOSE", "reason": "acknowledged"}),
        _ => json!({
            "type": "TASK_FAILED",
            "task_id": text("task_id"),
            "error": {
                "code": "UNKNOWN_TYPE", "category": "runtime", "message": "unknown message type",
                "severity": "error", "retryable": false, "partial_output": null
            },
        }),
    }
}

/// The result of a task: the answer to a concept of that name.
fn output(body: &Map<String, Value>) -> Value {
    let skill = body.get("skill").and_then(Value::as_str).unwrap_or_default();
    let mut content = body.get("input").and_then(Value::as_object).cloned().unwrap_or_default();
    content.remove(CONTEXT);
    content.insert("concept".to_owned(), skill.into());
    let urn = SKILLS.iter().find(|(name, ..)| *name == skill).map_or("", |(_, urn, _)| urn);
    let Answer::Says(_, mut said) = answer(urn, &Value::Object(content)) else { return json!({}) };
    if let Some(members) = said.as_object_mut() {
        members.retain(|name, _| name != "task" && name != "concept");
    }
    said
}
