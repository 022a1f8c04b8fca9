//! The witness over HTTP.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::{HeaderValue, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use semgate_certs::tls::{ClientAuth, DefaultTimeProvider, server_config};
use semgate_statement::CosignerKey;
use semgate_statement::witnessing::{MAX_REQUEST_BYTES, SIZE_MEDIA_TYPE, WitnessFault};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::{Refused, WitnessSettings, WitnessStore};
use crate::account::Accounts;
use crate::clock::now;
use crate::http::{Bounds, Listening, ServerIdentity, Tls, drain_body, only_own_hosts, serve};
use crate::metrics::Metrics;
use crate::{Limits, RunFault, disk, keys};

/// The bound addresses of a witness (ports of 0 replaced), and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WitnessBound {
    /// The address of `add-checkpoint`.
    pub listen: SocketAddr,
    /// The admin address.
    pub admin: SocketAddr,
    /// The verifier key that others configure.
    pub key: String,
}

struct App {
    memory: WitnessStore,
    metrics: Metrics,
}

/// Runs a witness until `shutdown` resolves. `ready` is called once, when both addresses answer.
///
/// # Errors
/// It could not start: its key, its memory, an address, or another process that holds its state.
pub async fn run_witness(
    settings: WitnessSettings,
    ready: impl FnOnce(WitnessBound),
    shutdown: impl Future<Output = ()>,
) -> Result<(), RunFault> {
    disk::make_dir(&settings.state)?;
    let lock = disk::Lock::take(&settings.state)?;
    let text =
        disk::read(&settings.key)?.ok_or_else(|| RunFault::keys(&settings.key, "there is no such file"))?;
    let key = CosignerKey::from_text(&String::from_utf8_lossy(&text))
        .map_err(|e| RunFault::keys(&settings.key, e))?;
    let vkey = key.verifier().to_string();
    let memory = WitnessStore::open(key, &settings.state, settings.logs.clone())?;
    let app = Arc::new(App { memory, metrics: Metrics::new() });
    let bind = |address: SocketAddr| async move {
        TcpListener::bind(address).await.map_err(|source| RunFault::Bind { address, source })
    };
    let (public, admin) = (bind(settings.listen).await?, bind(settings.admin).await?);
    let address = |listener: &TcpListener| {
        listener.local_addr().map_err(|e| RunFault::Stopped(format!("cannot read the bound address: {e}")))
    };
    let probe = match &settings.probe {
        Some(probe) => Some(bind(probe.listen).await?),
        None => None,
    };
    let bound = WitnessBound { listen: address(&public)?, admin: address(&admin)?, key: vkey };
    let (stop, stopping) = watch::channel(false);
    let router = Router::new()
        .route("/add-checkpoint", post(add))
        .with_state(Arc::clone(&app))
        .layer(middleware::from_fn_with_state(Bounds::of(&Limits::default()), drain_body));
    let serving = match &settings.tls {
        Some(files) => {
            let (chain, key) = keys::shown_pair(files, settings.listen)?;
            let made = server_config(&chain, &key, ClientAuth::None, Arc::new(DefaultTimeProvider))
                .map_err(|e| RunFault::keys(&files.certificate, e))?;
            let shown = ServerIdentity { server: Arc::new(made), peers: None, looked_up: false };
            let listening = anonymous(Some(Arc::new(Tls::new(shown))), router);
            tokio::spawn(serve(public, listening, stopping.clone()))
        }
        None => tokio::spawn(plain(public, router, stopping.clone())),
    };
    if let Some(listener) = probe {
        let probes = anonymous(None, pages().with_state(Arc::clone(&app)));
        tokio::spawn(serve(listener, probes, stopping.clone()));
    }
    let routes = pages().route("/status", get(status)).with_state(app);
    let admin = tokio::spawn(plain(admin, only_own_hosts(routes, bound.admin), stopping));
    tracing::info!("the witness `{}` listens on {}, admin http://{}", bound.key, bound.listen, bound.admin);
    ready(bound);
    shutdown.await;
    let _ = stop.send(true);
    let _ = serving.await;
    let _ = admin.await;
    drop(lock);
    Ok(())
}

/// The pages of every address for operators.
fn pages() -> Router<Arc<App>> {
    let pages = Router::new().route("/healthz", get(|| async { "ok\n" }));
    pages.route("/readyz", get(|| async { "ok\n" })).route("/metrics", get(metrics))
}

/// An address whose callers show no certificate: all are strangers, each network within its bound.
fn anonymous(tls: Option<Arc<Tls>>, router: Router) -> Listening {
    let limits = Limits::default();
    Listening { tls, router, accounts: Accounts::new(&limits), limits, metrics: Arc::new(Metrics::new()) }
}

async fn plain(listener: TcpListener, router: Router, mut stopping: watch::Receiver<bool>) {
    let ended = async move {
        let _ = stopping.wait_for(|stop| *stop).await;
    };
    if let Err(e) = axum::serve(listener, router).with_graceful_shutdown(ended).await {
        tracing::error!("an address of the witness: {e}");
    }
}

/// `POST /add-checkpoint`
async fn add(State(app): State<Arc<App>>, body: Body) -> Response {
    let body = match tokio::time::timeout(
        Limits::default().body_timeout,
        Limited::new(body, MAX_REQUEST_BYTES).collect(),
    )
    .await
    {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            return counted(
                &app,
                (StatusCode::PAYLOAD_TOO_LARGE, "longer than any request\n").into_response(),
            );
        }
        Err(_) => {
            return counted(
                &app,
                (StatusCode::REQUEST_TIMEOUT, "the request did not arrive in time\n").into_response(),
            );
        }
    };
    let Ok(text) = String::from_utf8(body.to_bytes().to_vec()) else {
        return counted(&app, refused(WitnessFault::Malformed));
    };
    let work = Arc::clone(&app);
    let added = tokio::task::spawn_blocking(move || work.memory.add(&text, now())).await;
    let answer = match added {
        Ok(Ok(line)) => line.into_response(),
        Ok(Err(Refused::Request(fault))) => {
            tracing::warn!("a checkpoint was refused: {fault}");
            refused(fault)
        }
        Ok(Err(Refused::Disk(fault))) => {
            tracing::error!("{fault}");
            (StatusCode::INTERNAL_SERVER_ERROR, "nothing was saved, so nothing is cosigned\n").into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    };
    counted(&app, answer)
}

fn refused(fault: WitnessFault) -> Response {
    let status = StatusCode::from_u16(fault.status()).unwrap_or(StatusCode::BAD_REQUEST);
    match fault {
        WitnessFault::Conflict { size } => {
            let mut answer = (status, format!("{size}\n")).into_response();
            answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(SIZE_MEDIA_TYPE));
            answer
        }
        other => (status, format!("{other}\n")).into_response(),
    }
}

fn counted(app: &App, answer: Response) -> Response {
    app.metrics.count("semgate_witness_requests_total", &[("status", answer.status().as_str().to_owned())]);
    answer
}

async fn metrics(State(app): State<Arc<App>>) -> String {
    for (origin, size) in app.memory.seen() {
        app.metrics.gauge("semgate_witness_log_size", &[("log", origin)], size.unwrap_or(0));
    }
    app.metrics.render()
}

async fn status(State(app): State<Arc<App>>) -> Response {
    let logs: Vec<serde_json::Value> = app
        .memory
        .seen()
        .into_iter()
        .map(|(origin, size)| serde_json::json!({"origin": origin, "size": size}))
        .collect();
    let mut answer = serde_json::json!({ "logs": logs }).to_string().into_response();
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}
