//! A2A at the sample agent, for all transports. JSON-RPC, in 1.0 and 0.3, is here; HTTP+JSON in `rest`.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use hyper::body::Frame;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Agent;
use super::answer::{Answer, answer};
use super::tasks::{EXTENSION, Task, Version, data, with, wrapped};

/// Pause between two events of a stream, so that a proxy that buffers them shows.
const PAUSE: Duration = Duration::from_millis(50);

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Send,
    Stream,
    Get,
    List,
    Cancel,
    Subscribe,
}

/// An answer.
pub enum OperationReply {
    One(Value),
    Events(Vec<Value>),
    /// A JSON-RPC code and an HTTP status.
    Error(i32, u16, &'static str),
}

const NOT_FOUND: OperationReply = OperationReply::Error(-32001, 404, "TASK_NOT_FOUND");

fn operation_of(method: &str) -> Option<(Operation, Version)> {
    let (operation, version) = match method {
        "SendMessage" => (Operation::Send, Version::V10),
        "SendStreamingMessage" => (Operation::Stream, Version::V10),
        "GetTask" => (Operation::Get, Version::V10),
        "ListTasks" => (Operation::List, Version::V10),
        "CancelTask" => (Operation::Cancel, Version::V10),
        "SubscribeToTask" => (Operation::Subscribe, Version::V10),
        "message/send" => (Operation::Send, Version::V03),
        "message/stream" => (Operation::Stream, Version::V03),
        "tasks/get" => (Operation::Get, Version::V03),
        "tasks/cancel" => (Operation::Cancel, Version::V03),
        "tasks/resubscribe" => (Operation::Subscribe, Version::V03),
        _ => return None,
    };
    Some((operation, version))
}

/// Takes one JSON-RPC call.
pub async fn receive(State(agent): State<Arc<Agent>>, Json(call): Json<Value>) -> Response {
    let id = call.get("id").cloned().unwrap_or(Value::Null);
    let reply = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    let error = |code: i32, message: &str| {
        Json(json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}))
    };
    let Some((operation, version)) = call.get("method").and_then(Value::as_str).and_then(operation_of) else {
        return error(-32601, "method not found").into_response();
    };
    match act(&agent, operation, version, call.get("params").unwrap_or(&Value::Null)) {
        OperationReply::One(result) => Json(reply(result)).into_response(),
        OperationReply::Events(events) => stream(events.into_iter().map(reply).collect()),
        OperationReply::Error(code, _, message) => error(code, message).into_response(),
    }
}

/// Carries out the request.
pub fn act(agent: &Agent, operation: Operation, version: Version, params: &Value) -> OperationReply {
    let id = params.get("id").and_then(Value::as_str).unwrap_or_default();
    // a guard in a `match` lives to its end
    let known = agent.tasks().get(id);
    match operation {
        Operation::Send => OperationReply::One(send(agent, version, params)),
        Operation::Stream => {
            let task = begin(agent, params, "COMPLETED");
            OperationReply::Events(events(&task, version))
        }
        Operation::Get => known.map_or(NOT_FOUND, |task| OperationReply::One(task.write(version))),
        Operation::List => {
            let tasks = agent.tasks().of(params.get("contextId").and_then(Value::as_str));
            let tasks: Vec<Value> = tasks.iter().map(|task| task.write(version)).collect();
            let size = tasks.len();
            OperationReply::One(
                json!({"tasks": tasks, "nextPageToken": "", "pageSize": 50, "totalSize": size}),
            )
        }
        Operation::Cancel => match known {
            None => NOT_FOUND,
            Some(task) if task.done() => OperationReply::Error(-32002, 400, "TASK_NOT_CANCELABLE"),
            Some(_) => agent
                .tasks()
                .change(id, "CANCELED")
                .map_or(NOT_FOUND, |task| OperationReply::One(task.write(version))),
        },
        Operation::Subscribe => match known {
            None => NOT_FOUND,
            Some(task) if task.done() => OperationReply::Error(-32004, 400, "UNSUPPORTED_OPERATION"),
            Some(_) => agent
                .tasks()
                .change(id, "COMPLETED")
                .map_or(NOT_FOUND, |task| OperationReply::Events(events(&task, version))),
        },
    }
}

/// The working task, its artifact, and its end.
fn events(task: &Task, version: Version) -> Vec<Value> {
    let working = Task { state: "WORKING", ..task.clone() };
    let mut events = vec![wrapped(working.write(version), version)];
    if !task.urn.is_empty() {
        events.push(task.artifact_event(version));
    }
    events.push(task.status_event(version));
    events
}

struct Message<'m> {
    id: &'m str,
    context_id: Option<&'m str>,
    urn: &'m str,
    content: &'m Value,
}

fn message(params: &Value) -> Message<'_> {
    let message = params.get("message").unwrap_or(&Value::Null);
    let text = |name: &str| message.get(name).and_then(Value::as_str);
    let claim = message.get("metadata").and_then(|metadata| metadata.get(EXTENSION));
    let parts = message.get("parts").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Message {
        id: text("messageId").unwrap_or_default(),
        context_id: text("contextId"),
        urn: claim.and_then(|c| c.get("context")).and_then(Value::as_str).unwrap_or_default(),
        content: parts.iter().find_map(|p| p.get("data")).unwrap_or(&Value::Null),
    }
}

/// The conversation of a message; a new one if it names none (A2A 1.0 §3.4.1).
fn in_context(agent: &Agent, message: &Message<'_>) -> String {
    message.context_id.map_or_else(|| agent.fresh("context"), str::to_owned)
}

fn begin(agent: &Agent, params: &Value, state: &'static str) -> Task {
    agent.count();
    let message = message(params);
    let restates = matches!(answer(message.urn, message.content), Answer::Says(..));
    let task = Task {
        id: agent.fresh("task"),
        context_id: in_context(agent, &message),
        urn: if restates { message.urn.to_owned() } else { String::new() },
        content: message.content.clone(),
        state,
    };
    agent.tasks().put(task.clone());
    task
}

fn send(agent: &Agent, version: Version, params: &Value) -> Value {
    let configuration = params.get("configuration");
    let flag = |name: &str| configuration.and_then(|c| c.get(name)).and_then(Value::as_bool);
    if flag("returnImmediately") == Some(true) || flag("blocking") == Some(false) {
        let task = begin(agent, params, "WORKING");
        return wrapped(task.write(version), version);
    }
    let message = message(params);
    let Answer::Says(performative, content) = answer(message.urn, message.content) else {
        return wrapped(begin(agent, params, "COMPLETED").write(version), version);
    };
    agent.count();
    let reply = json!({
        "messageId": format!("re-{}", message.id),
        "contextId": in_context(agent, &message),
        "role": if version == Version::V10 { "ROLE_AGENT" } else { "agent" },
        "parts": [data(&content, version)],
        "metadata": {EXTENSION: {"context": message.urn, "performative": performative}},
    });
    match version {
        Version::V10 => json!({"message": reply}),
        Version::V03 => with(reply, "kind", "message"),
    }
}

/// Events one by one, with a pause between them.
pub fn stream(events: Vec<Value>) -> Response {
    let (sender, pieces) = mpsc::channel::<Bytes>(1);
    tokio::spawn(async move {
        for (n, event) in events.into_iter().enumerate() {
            if n > 0 {
                tokio::time::sleep(PAUSE).await;
            }
            if sender.send(Bytes::from(format!("data: {event}\n\n"))).await.is_err() {
                return;
            }
        }
    });
    ([(CONTENT_TYPE, "text/event-stream")], Body::new(Pieces(pieces))).into_response()
}

struct Pieces(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// Its card; the gateway serves a card of its own instead.
pub async fn card(State(agent): State<Arc<Agent>>) -> Json<Value> {
    Json(json!({
        "name": "Semgate sample agent",
        "description": "restates what it was told, so that a gateway has something to stand in front of",
        "version": env!("CARGO_PKG_VERSION"),
        "supportedInterfaces": [
            {"url": agent.url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": agent.url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        ],
        "capabilities": {"streaming": true, "pushNotifications": false},
        "defaultInputModes": ["application/json"],
        "defaultOutputModes": ["application/json"],
        "skills": [{"id": "restate", "name": "Restate", "description": "says again what it agreed to", "tags": ["sample"]}],
    }))
}
