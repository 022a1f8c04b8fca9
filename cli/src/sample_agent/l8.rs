//! Native L8 JSON at the sample agent.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Agent;
use super::answer::{Answer, answer};

/// Takes one message and answers in its context.
pub async fn receive(State(agent): State<Arc<Agent>>, Json(message): Json<Value>) -> Response {
    agent.count();
    let text = |name: &str| message.get(name).and_then(Value::as_str).unwrap_or_default();
    let content = message.get("content").unwrap_or(&Value::Null);
    match answer(text("context"), content) {
        Answer::Has => StatusCode::ACCEPTED.into_response(),
        Answer::Says(performative, content) => Json(json!({
            "protocol": "L8/1.0",
            "message_id": format!("re-{}", text("message_id")),
            "performative": performative,
            "sender_id": agent.id,
            "receiver_id": text("sender_id"),
            "context": text("context"),
            "content": content,
        }))
        .into_response(),
    }
}
