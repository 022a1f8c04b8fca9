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
use super::a2a::{Asked, Said, act, stream};
use super::tasks::Version;

/// `POST /message:send`.
pub async fn send(State(agent): State<Arc<Agent>>, Json(params): Json<Value>) -> Response {
    answer(act(&agent, Asked::Send, Version::V10, &params))
}

/// `POST /message:stream`.
pub async fn send_streaming(State(agent): State<Arc<Agent>>, Json(params): Json<Value>) -> Response {
    answer(act(&agent, Asked::Stream, Version::V10, &params))
}

/// `GET /tasks`.
pub async fn list(
    State(agent): State<Arc<Agent>>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Response {
    answer(act(&agent, Asked::List, Version::V10, &json!(query)))
}

/// `GET /tasks/{id}`, `POST /tasks/{id}:cancel`, `GET` or `POST /tasks/{id}:subscribe`.
pub async fn task(State(agent): State<Arc<Agent>>, method: Method, Path(last): Path<String>) -> Response {
    let (id, asked) = match (last.rsplit_once(':'), method == Method::POST) {
        (Some((id, "cancel")), true) => (id, Asked::Cancel),
        (Some((id, "subscribe")), _) => (id, Asked::Subscribe),
        (_, false) => (last.as_str(), Asked::Get),
        // RFC 9110 §15.5.6
        (_, true) => return (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "GET, HEAD")]).into_response(),
    };
    answer(act(&agent, asked, Version::V10, &json!({"id": id})))
}

fn answer(said: Said) -> Response {
    match said {
        Said::One(result) => Json(result).into_response(),
        Said::Events(events) => stream(events),
        Said::Error(_, status, reason) => {
            let info = json!({
                "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org"});
            let error = json!({"code": status, "status": "FAILED_PRECONDITION", "message": reason, "details": [info]});
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (status, Json(json!({"error": error}))).into_response()
        }
    }
}
