//! A2A 1.0 over HTTP+JSON at the sample agent.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::header::ALLOW;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Agent;
use super::a2a::{Operation, OperationReply, act, stream};
use super::tasks::Version;

/// `POST /message:send`.
pub async fn send(State(agent): State<Arc<Agent>>, Json(params): Json<Value>) -> Response {
    answer(act(&agent, Operation::Send, Version::V10, &params))
}

/// `POST /message:stream`.
pub async fn send_streaming(State(agent): State<Arc<Agent>>, Json(params): Json<Value>) -> Response {
    answer(act(&agent, Operation::Stream, Version::V10, &params))
}

/// `GET /tasks`.
pub async fn list(
    State(agent): State<Arc<Agent>>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Response {
    answer(act(&agent, Operation::List, Version::V10, &json!(query)))
}

/// `GET /tasks/{id}`, `POST /tasks/{id}:cancel`, `GET` or `POST /tasks/{id}:subscribe`.
pub async fn task(State(agent): State<Arc<Agent>>, method: Method, Path(last): Path<String>) -> Response {
    let (id, operation) = match (last.rsplit_once(':'), method == Method::POST) {
        (Some((id, "cancel")), true) => (id, Operation::Cancel),
        (Some((id, "subscribe")), _) => (id, Operation::Subscribe),
        (_, false) => (last.as_str(), Operation::Get),
        // RFC 9110 §15.5.6
        (_, true) => return (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "GET, HEAD")]).into_response(),
    };
    answer(act(&agent, operation, Version::V10, &json!({"id": id})))
}

fn answer(reply: OperationReply) -> Response {
    match reply {
        OperationReply::One(result) => Json(result).into_response(),
        OperationReply::Events(events) => stream(events),
        OperationReply::Error(_, status, reason) => {
            let info = json!({
                "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org"});
            let error = json!({"code": status, "status": "FAILED_PRECONDITION", "message": reason, "details": [info]});
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (status, Json(json!({"error": error}))).into_response()
        }
    }
}
