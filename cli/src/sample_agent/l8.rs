//! Native L8 JSON at the sample agent.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Agent;
use super::answer::{Answer, answer};

/// Takes one message and answers in its context.
pub async fn receive(
    State(agent): State<Arc<Agent>>,
    headers: HeaderMap,
    Json(message): Json<Value>,
) -> Response {
    agent.count();
    let text = |name: &str| message.get(name).and_then(Value::as_str).unwrap_or_default();
    let content = message.get("content").unwrap_or(&Value::Null);
    let says = |performative: &str, content: &Value| {
        json!({
            "protocol": "L8/1.0",
            "message_id": format!("re-{}", text("message_id")),
            "performative": performative,
            "sender_id": agent.id,
            "receiver_id": text("sender_id"),
            "context": text("context"),
            "content": content,
        })
    };
    match answer(text("context"), content) {
        Answer::Has => StatusCode::ACCEPTED.into_response(),
        Answer::Says(performative, content) if streams(&headers) => {
            let subscribes = text("performative") == "SUBSCRIBE";
            let all: &[&str] = if subscribes { &["AGREE", "INFORM"] } else { &[performative] };
            let event = |performative: &&str| format!("data: {}\n\n", says(performative, &content));
            let events: String = all.iter().map(event).collect();
            ([(CONTENT_TYPE, EVENTS)], events).into_response()
        }
        Answer::Says(performative, content) => Json(says(performative, &content)).into_response(),
    }
}

const EVENTS: &str = "text/event-stream";

fn streams(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).is_some_and(|accept| accept.contains(EVENTS))
}
