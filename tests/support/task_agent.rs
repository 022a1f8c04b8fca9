//! An upstream agent that keeps tasks and restates what it is sent: A2A 1.0 over JSON-RPC and HTTP+JSON, 0.3 over JSON-RPC.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::stream;
use serde_json::{Value, json};

/// The extension that carries the context of a message.
const EXTENSION: &str = "urn:contexts:snl:v1.0";

/// Pause before an event of a stream, so that a proxy that buffers them shows.
const PAUSE: Duration = Duration::from_millis(50);

/// The agent; it ends with the process of the test.
pub struct TaskAgent {
    pub address: SocketAddr,
}

impl TaskAgent {
    /// Serves on a free port, from a thread of its own.
    pub fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let url = format!("http://{address}/a2a");
        let card = get(move || async move { Json(card(&url)) });
        let app = Router::new()
            .route("/a2a", post(receive))
            .route("/a2a/message:send", post(|tasks, body| rest(tasks, "SendMessage", body)))
            .route("/a2a/message:stream", post(|tasks, body| rest(tasks, "SendStreamingMessage", body)))
            .route("/a2a/tasks", get(list))
            .route("/a2a/tasks/{task}", get(task).post(task))
            .route("/.well-known/agent-card.json", card.clone())
            .route("/a2a/.well-known/agent-card.json", card)
            .with_state(Tasks::default());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                axum::serve(listener, app).await.unwrap();
            });
        });
        Self { address }
    }
}

fn card(url: &str) -> Value {
    let interface = |binding: &str| json!({"url": url, "protocolBinding": binding, "protocolVersion": "1.0"});
    json!({
        "name": "Task agent", "description": "restates what it was sent", "version": "1.0",
        "supportedInterfaces": [interface("JSONRPC"), interface("HTTP+JSON")],
        "capabilities": {"streaming": true, "pushNotifications": false},
        "defaultInputModes": ["application/json"], "defaultOutputModes": ["application/json"],
        "skills": [{"id": "restate", "name": "Restate", "description": "says it again", "tags": ["sample"]}],
    })
}

type Tasks = Arc<Mutex<Vec<Task>>>;

enum Reply {
    One(Value),
    Events(Vec<Value>),
    /// A JSON-RPC code and an HTTP status.
    Error(i32, u16, &'static str),
}

async fn receive(State(tasks): State<Tasks>, Json(call): Json<Value>) -> Response {
    let (operation, old) = match call["method"].as_str().unwrap_or_default() {
        "message/send" => ("SendMessage", true),
        "message/stream" => ("SendStreamingMessage", true),
        "tasks/get" => ("GetTask", true),
        "tasks/cancel" => ("CancelTask", true),
        "tasks/resubscribe" => ("SubscribeToTask", true),
        new => (new, false),
    };
    let whole = |name: &str, value: Value| json!({"jsonrpc": "2.0", "id": call["id"], name: value});
    match act(&tasks, operation, old, &call["params"]) {
        Reply::One(result) => Json(whole("result", result)).into_response(),
        Reply::Events(events) => streamed(events.into_iter().map(|event| whole("result", event)).collect()),
        Reply::Error(code, _, message) => {
            Json(whole("error", json!({"code": code, "message": message}))).into_response()
        }
    }
}

async fn rest(State(tasks): State<Tasks>, operation: &str, Json(params): Json<Value>) -> Response {
    answer(act(&tasks, operation, false, &params))
}

async fn list(State(tasks): State<Tasks>, Query(query): Query<BTreeMap<String, String>>) -> Response {
    answer(act(&tasks, "ListTasks", false, &json!(query)))
}

async fn task(State(tasks): State<Tasks>, method: Method, Path(last): Path<String>) -> Response {
    let (id, operation) = match last.rsplit_once(':') {
        Some((id, "cancel")) if method == Method::POST => (id, "CancelTask"),
        Some((id, "subscribe")) => (id, "SubscribeToTask"),
        _ => (last.as_str(), "GetTask"),
    };
    answer(act(&tasks, operation, false, &json!({"id": id})))
}

fn answer(reply: Reply) -> Response {
    match reply {
        Reply::One(result) => Json(result).into_response(),
        Reply::Events(events) => streamed(events),
        Reply::Error(_, status, reason) => {
            let info = json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org"});
            let error = json!({"code": status, "status": "FAILED_PRECONDITION", "message": reason, "details": [info]});
            (StatusCode::from_u16(status).unwrap(), Json(json!({"error": error}))).into_response()
        }
    }
}

/// Events one by one.
fn streamed(events: Vec<Value>) -> Response {
    let pieces = stream::unfold(events.into_iter(), |mut rest| async {
        let event = rest.next()?;
        tokio::time::sleep(PAUSE).await;
        Some((Ok::<_, Infallible>(format!("data: {event}\n\n")), rest))
    });
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(pieces)).into_response()
}

fn act(tasks: &Tasks, operation: &str, old: bool, params: &Value) -> Reply {
    let mut tasks = tasks.lock().unwrap();
    let known = tasks.iter().position(|task| params["id"] == task.id);
    let configuration = &params["configuration"];
    let waits = configuration["returnImmediately"] != true && configuration["blocking"] != false;
    let message = &params["message"];
    let mut begin = |state| {
        let task = Task::of(message, state);
        tasks.push(task.clone());
        task
    };
    match (operation, known) {
        ("SendMessage", _) if waits => Reply::One(Task::of(message, "COMPLETED").restated(message, old)),
        ("SendMessage", _) => Reply::One(wrapped(begin("WORKING").write(old), old)),
        ("SendStreamingMessage", _) => begin("COMPLETED").events(old),
        ("ListTasks", _) => {
            let all: Vec<Value> = tasks.iter().map(|task| task.write(old)).collect();
            let size = all.len();
            Reply::One(json!({"tasks": all, "nextPageToken": "", "pageSize": 50, "totalSize": size}))
        }
        ("GetTask" | "CancelTask" | "SubscribeToTask", None) => Reply::Error(-32001, 404, "TASK_NOT_FOUND"),
        ("GetTask", Some(at)) => Reply::One(tasks[at].write(old)),
        ("CancelTask", Some(at)) if tasks[at].done() => Reply::Error(-32002, 400, "TASK_NOT_CANCELABLE"),
        ("SubscribeToTask", Some(at)) if tasks[at].done() => {
            Reply::Error(-32004, 400, "UNSUPPORTED_OPERATION")
        }
        ("CancelTask", Some(at)) => {
            tasks[at].state = "CANCELED";
            Reply::One(tasks[at].write(old))
        }
        ("SubscribeToTask", Some(at)) => {
            tasks[at].state = "COMPLETED";
            tasks[at].events(old)
        }
        _ => Reply::Error(-32601, 404, "METHOD_NOT_FOUND"),
    }
}

/// One task. Its one artifact restates its content once it is done.
#[derive(Clone)]
struct Task {
    id: String,
    context_id: String,
    urn: Value,
    content: Value,
    state: &'static str,
}

impl Task {
    fn of(message: &Value, state: &'static str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::SeqCst);
        let parts = message["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
        let context_id = message["contextId"].as_str();
        Self {
            id: format!("task-{number}"),
            context_id: context_id.map_or_else(|| format!("context-{number}"), str::to_owned),
            urn: message["metadata"][EXTENSION]["context"].clone(),
            content: parts.iter().find_map(|part| part.get("data")).cloned().unwrap_or_default(),
            state,
        }
    }

    fn done(&self) -> bool {
        matches!(self.state, "COMPLETED" | "CANCELED")
    }

    fn part(&self, old: bool) -> Value {
        let content = &self.content;
        if old {
            return json!({"kind": "data", "data": content});
        }
        json!({"data": content, "mediaType": "application/json"})
    }

    /// The task itself.
    fn write(&self, old: bool) -> Value {
        let mut task = json!({"id": self.id, "contextId": self.context_id, "status": self.status(old)});
        if self.state == "COMPLETED" {
            task["artifacts"] = json!([self.artifact(old)]);
        }
        tagged(task, "task", old)
    }

    fn status(&self, old: bool) -> Value {
        let state = if old { self.state.to_ascii_lowercase() } else { format!("TASK_STATE_{}", self.state) };
        json!({"state": state})
    }

    fn artifact(&self, old: bool) -> Value {
        json!({
            "artifactId": format!("{}-restated", self.id), "parts": [self.part(old)],
            "metadata": {EXTENSION: {"context": self.urn}},
        })
    }

    /// A message with the same content in place of the task.
    fn restated(&self, message: &Value, old: bool) -> Value {
        let reply = json!({
            "messageId": format!("re-{}", message["messageId"].as_str().unwrap_or_default()),
            "contextId": self.context_id, "role": if old { "agent" } else { "ROLE_AGENT" },
            "parts": [self.part(old)],
            "metadata": {EXTENSION: {"context": self.urn, "performative": "AGREE"}},
        });
        if old { tagged(reply, "message", old) } else { json!({"message": reply}) }
    }

    /// The working task, its artifact, and its end.
    fn events(&self, old: bool) -> Reply {
        let working = Self { state: "WORKING", ..self.clone() };
        let event = |name: &str, value: Value| {
            let mut event = json!({"taskId": self.id, "contextId": self.context_id});
            event[name] = value;
            event
        };
        let mut artifact = event("artifact", self.artifact(old));
        artifact["lastChunk"] = true.into();
        let mut status = event("status", self.status(old));
        if old {
            status["final"] = true.into();
            artifact = tagged(artifact, "artifact-update", old);
            status = tagged(status, "status-update", old);
        } else {
            (artifact, status) = (json!({"artifactUpdate": artifact}), json!({"statusUpdate": status}));
        }
        Reply::Events(vec![wrapped(working.write(old), old), artifact, status])
    }
}

/// In 0.3 each object names its kind.
fn tagged(mut object: Value, kind: &str, old: bool) -> Value {
    if old {
        object["kind"] = kind.into();
    }
    object
}

fn wrapped(task: Value, old: bool) -> Value {
    if old { task } else { json!({"task": task}) }
}
