//! A2A 1.0 over JSON-RPC at the sample agent: `SendMessage` and the agent card.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::Agent;
use super::answer::{Answer, answer};

/// The extension under which the context of a message travels (WIRE, messages).
const EXTENSION: &str = "urn:contexts:snl:v1.0";

/// Takes one JSON-RPC call.
pub async fn receive(State(agent): State<Arc<Agent>>, Json(call): Json<Value>) -> Json<Value> {
    let id = call.get("id").cloned().unwrap_or(Value::Null);
    if call.get("method").and_then(Value::as_str) != Some("SendMessage") {
        let error = json!({"code": -32601, "message": "method not found"});
        return Json(json!({"jsonrpc": "2.0", "id": id, "error": error}));
    }
    agent.count();
    let message = call.pointer("/params/message").unwrap_or(&Value::Null);
    Json(json!({"jsonrpc": "2.0", "id": id, "result": result(message)}))
}

fn result(message: &Value) -> Value {
    let claim = message.pointer(&format!("/metadata/{}", EXTENSION.replace('/', "~1")));
    let urn = claim.and_then(|c| c.get("context")).and_then(Value::as_str).unwrap_or_default();
    let received = message.get("messageId").and_then(Value::as_str).unwrap_or_default();
    let parts = message.get("parts").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let content = parts.iter().find_map(|p| p.get("data")).unwrap_or(&Value::Null);
    match answer(urn, content) {
        Answer::Says(performative, content) => json!({"message": {
            "messageId": format!("re-{received}"),
            "contextId": message.get("contextId").and_then(Value::as_str).unwrap_or("sample"),
            "role": "ROLE_AGENT",
            "parts": [{"data": content, "mediaType": "application/json"}],
            "metadata": {EXTENSION: {"context": urn, "performative": performative}},
        }}),
        Answer::Has => json!({"task": {
            "id": format!("task-{received}"),
            "contextId": message.get("contextId").and_then(Value::as_str).unwrap_or("sample"),
            "status": {"state": "TASK_STATE_COMPLETED"},
        }}),
    }
}

/// Its card; the gateway serves one of its own in front.
pub async fn card(State(agent): State<Arc<Agent>>) -> Json<Value> {
    Json(json!({
        "name": "Semgate sample agent",
        "description": "restates what it was told, so that a gateway has something to stand in front of",
        "version": env!("CARGO_PKG_VERSION"),
        "provider": {"organization": agent.id, "url": "http://127.0.0.1"},
        "supportedInterfaces": [{"url": "http://127.0.0.1/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": false, "pushNotifications": false},
        "defaultInputModes": ["application/json"],
        "defaultOutputModes": ["application/json"],
        "skills": [{"id": "restate", "name": "Restate", "description": "says again what it agreed to", "tags": ["sample"]}],
    }))
}
