//! The crate `ldp-protocol`, unmodified, as client and as delegate.
//!
//! `interop-ldp client URL OPTIONS` reads steps from standard input, one JSON object a line, and prints what its user is shown, a line
//! each. `interop-ldp delegate PORT OPTIONS` serves `LdpServer`, which has no listener of its own.

use std::io::{BufRead, Write};
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use ldp_protocol::config::LdpAdapterConfig;
use ldp_protocol::protocol::{ProtocolAdapter, TaskRequest, TaskStatus};
use ldp_protocol::types::contract::DelegationContract;
use ldp_protocol::types::trust::TrustDomain;
use ldp_protocol::{LdpAdapter, LdpClient, LdpServer};
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["client", url, options] => client(url, &serde_json::from_str(options)?).await,
        ["delegate", port, options] => delegate(port.parse()?, &serde_json::from_str(options)?).await,
        _ => Err("client URL OPTIONS, or delegate PORT OPTIONS".into()),
    }
}

fn text<'a>(options: &'a Value, name: &str, default: &'a str) -> &'a str {
    options[name].as_str().unwrap_or(default)
}

/// Options: `id`, `domain`, `secret`, `nonce`, and `roots`, `cert`, `key` (files) for TLS with a client certificate.
async fn client(url: &str, options: &Value) -> Result<(), Failure> {
    let config = LdpAdapterConfig {
        delegate_id: text(options, "id", "ldp:client:router").into(),
        trust_domain: TrustDomain::new(text(options, "domain", "default")),
        signing_secret: options["secret"].as_str().map(Into::into),
        ..LdpAdapterConfig::default()
    };
    let http = LdpClient::with_http_client(http(options)?);
    let adapter = LdpAdapter::with_client(config, http);
    let mut task = String::new();
    for line in std::io::stdin().lock().lines() {
        let step: Value = serde_json::from_str(&line?)?;
        let shown = match act(&adapter, url, &step, &mut task).await {
            Ok(shown) => shown,
            Err(error) => json!({ "raised": error }),
        };
        println!("{shown}");
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn http(options: &Value) -> Result<reqwest::Client, Failure> {
    let mut http = reqwest::Client::builder().use_rustls_tls();
    if let (Some(roots), Some(cert), Some(key)) =
        (options["roots"].as_str(), options["cert"].as_str(), options["key"].as_str())
    {
        let pem = [std::fs::read(cert)?, std::fs::read(key)?].concat();
        http = http
            .tls_built_in_root_certs(false)
            .add_root_certificate(reqwest::Certificate::from_pem(&std::fs::read(roots)?)?)
            .identity(reqwest::Identity::from_pem(&pem)?);
    }
    Ok(http.build()?)
}

async fn act(adapter: &LdpAdapter, url: &str, step: &Value, task: &mut String) -> Result<Value, String> {
    match step["do"].as_str() {
        Some("discover") => {
            let remote = adapter.discover(url).await?;
            Ok(
                json!({"name": remote.name, "skills": remote.skills.iter().map(|one| &one.name).collect::<Vec<_>>()}),
            )
        }
        Some("establish") => {
            let session = adapter.session_manager().get_or_establish(url).await?;
            Ok(
                json!({"session": session.session_id, "mode": session.payload.mode, "delegate": session.remote_delegate_id}),
            )
        }
        Some("invoke") => {
            let contract = contract(&step["contract"])?;
            let request =
                TaskRequest { skill: text(step, "skill", "").into(), input: step["input"].clone(), contract };
            *task = adapter.invoke(url, request).await?.task_id;
            Ok(json!({"task": task}))
        }
        Some("status") => Ok(match adapter.status(url, text(step, "task", task)).await? {
            TaskStatus::Submitted => json!({"status": "submitted"}),
            TaskStatus::Working => json!({"status": "working"}),
            TaskStatus::Completed { output } => json!({"status": "completed", "output": output}),
            TaskStatus::Failed { error } => json!({"status": "failed", "error": error}),
        }),
        Some("cancel") => adapter.cancel(url, task).await.map(|()| json!({"cancelled": task})),
        Some("close") => adapter.session_manager().close(url).await.map(|()| json!({"closed": true})),
        other => Err(format!("no step {other:?}")),
    }
}

/// A contract as the crate makes one, with these members replaced.
fn contract(changes: &Value) -> Result<Option<DelegationContract>, String> {
    let Some(changes) = changes.as_object() else { return Ok(None) };
    let made = DelegationContract::new("classify one text", vec!["a label".into()]);
    let mut made = serde_json::to_value(made).map_err(|e| e.to_string())?;
    for (name, value) in changes {
        // a deadline so many seconds from now
        made[name] = match (name.as_str(), value.as_i64()) {
            ("deadline", Some(seconds)) => {
                (chrono::Utc::now() + chrono::Duration::seconds(seconds)).to_rfc3339().into()
            }
            _ => value.clone(),
        };
    }
    serde_json::from_value(made).map(Some).map_err(|e| e.to_string())
}

/// Options: `id`, `domain`, `secret`, `skills`.
async fn delegate(port: u16, options: &Value) -> Result<(), Failure> {
    let mut card = LdpServer::echo_server(text(options, "id", "ldp:delegate:qwen3-8b"), "rust delegate")
        .identity()
        .clone();
    card.trust_domain = TrustDomain::new(text(options, "domain", "default"));
    let mut capability = card.capabilities.remove(0);
    capability.name = "classify".into();
    card.capabilities.push(capability);
    card.endpoint = format!("http://127.0.0.1:{port}");
    let mut server = LdpServer::new(card, Arc::new(|_, _| json!({"label": "positive"})));
    if let Some(secret) = options["secret"].as_str() {
        server = server.with_signing_secret(secret);
    }
    let app = Router::new()
        .route(
            "/ldp/identity",
            get(async |State(server): State<Arc<LdpServer>>| Json(server.handle_identity_request())),
        )
        .route(
            "/.well-known/ldp-identity",
            get(async |State(server): State<Arc<LdpServer>>| Json(server.handle_identity_request())),
        )
        .route(
            "/ldp/capabilities",
            get(async |State(server): State<Arc<LdpServer>>| Json(server.handle_capabilities_request())),
        )
        .route("/ldp/messages", post(answer))
        .with_state(Arc::new(server));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    Ok(axum::serve(listener, app).await?)
}

async fn answer(
    State(server): State<Arc<LdpServer>>,
    Json(asked): Json<Value>,
) -> Result<Json<Value>, (StatusCode, String)> {
    let asked = serde_json::from_value(asked).map_err(|e| (StatusCode::BAD_REQUEST, e.to_string()))?;
    let answer = server.handle_message(asked).await.map_err(|e| (StatusCode::INTERNAL_SERVER_ERROR, e))?;
    serde_json::to_value(answer).map(Json).map_err(|e| (StatusCode::INTERNAL_SERVER_ERROR, e.to_string()))
}
