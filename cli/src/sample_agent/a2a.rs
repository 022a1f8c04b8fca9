//! A2A 1.0 over JSON-RPC at the sample agent: `SendMessage`, without tasks that last.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::answer::{Answer, answer};
use super::{Agent, sstp};

/// The extension that carries the context of a message.
const EXTENSION: &str = "urn:contexts:snl:v1.0";

/// Takes one JSON-RPC call.
pub async fn receive(State(agent): State<Arc<Agent>>, Json(call): Json<Value>) -> Json<Value> {
    let id = call.get("id").unwrap_or(&Value::Null);
    let is_message = call.get("method").and_then(Value::as_str) == Some("SendMessage");
    let Some(message) = call.pointer("/params/message").filter(|_| is_message) else {
        let error = json!({"code": -32601, "message": "method not found"});
        return Json(json!({"jsonrpc": "2.0", "id": id, "error": error}));
    };
    agent.count();
    Json(json!({"jsonrpc": "2.0", "id": id, "result": reply(&agent, message)}))
}

/// A message in the words of its context, or a task that is done.
fn reply(agent: &Agent, message: &Value) -> Value {
    let text = |name: &str| message.get(name).and_then(Value::as_str);
    let claim = message.get("metadata").and_then(|metadata| metadata.get(EXTENSION));
    let urn = claim.and_then(|claim| claim.get("context")).and_then(Value::as_str).unwrap_or_default();
    let parts = message.get("parts").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let content = parts.iter().find_map(|part| part.get("data")).unwrap_or(&Value::Null);
    // a message that names no conversation begins one (A2A 1.0 §3.4.1)
    let context_id = text("contextId").map_or_else(|| agent.fresh("context"), str::to_owned);
    if let Some(l9) = sstp::answer(content, &agent.fresh("l9")) {
        return json!({"message": {
            "messageId": format!("re-{}", text("messageId").unwrap_or_default()),
            "contextId": context_id,
            "role": "ROLE_AGENT",
            "parts": [{"data": l9, "mediaType": sstp::MEDIA_TYPE}],
        }});
    }
    let Answer::Says(performative, content) = answer(urn, content) else {
        let status = json!({"state": "TASK_STATE_COMPLETED"});
        return json!({"task": {"id": agent.fresh("task"), "contextId": context_id, "status": status}});
    };
    json!({"message": {
        "messageId": format!("re-{}", text("messageId").unwrap_or_default()),
        "contextId": context_id,
        "role": "ROLE_AGENT",
        "parts": [{"data": content, "mediaType": "application/json"}],
        "metadata": {EXTENSION: {"context": urn, "performative": performative}},
    }})
}

/// Its card; the gateway serves a card of its own instead.
pub async fn card(State(agent): State<Arc<Agent>>) -> Json<Value> {
    Json(json!({
        "name": "Semgate sample agent",
        "description": "restates messages, so that a gateway has something to stand in front of",
        "version": env!("CARGO_PKG_VERSION"),
        "supportedInterfaces": [{"url": agent.url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": false, "pushNotifications": false},
        "defaultInputModes": ["application/json"],
        "defaultOutputModes": ["application/json"],
        "skills": [{"id": "restate", "name": "Restate", "description": "repeats what it agreed to", "tags": ["sample"]}],
    }))
}
