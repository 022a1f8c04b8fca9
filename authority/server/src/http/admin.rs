//! The operator's pages, read-only: plain HTTP on loopback, or TLS for named certificates. The probe address has three of them.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Extension, Request, State};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderValue, StatusCode, header};

use super::App;
use super::answer;
use super::host_check::only_own_hosts;
use super::problem::{Code, Problem};
use super::serve::Caller;
use crate::run::{roles, status_of};

/// The router of the admin address `bound`. It answers the holders of these ids, or without ids only to its own names.
pub(crate) fn admin(app: Arc<App>, bound: SocketAddr) -> Router {
    let ids: Arc<[String]> = app.config.admin.ids.as_slice().into();
    let routes = pages().route("/status", get(status)).with_state(app);
    if ids.is_empty() {
        return only_own_hosts(routes, bound);
    }
    routes.layer(from_fn(move |caller: Extension<Caller>, request: Request, next: Next| {
        let ids = Arc::clone(&ids);
        async move { if named(&ids, &caller) { next.run(request).await } else { refusal() } }
    }))
}

/// The router of the probe address.
pub(crate) fn probe(app: Arc<App>) -> Router {
    pages().with_state(app)
}

fn pages() -> Router<Arc<App>> {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .fallback(|| async { Problem::from(Code::NotFound) })
}

/// Returns true for a caller whose certificate has one of these ids.
fn named(ids: &[String], caller: &Extension<Caller>) -> bool {
    caller.peer.as_ref().is_some_and(|peer| ids.iter().any(|id| id == peer.id().as_str()))
}

fn refusal() -> Response {
    (StatusCode::FORBIDDEN, "no certificate with an id in `admin.ids` was shown\n").into_response()
}

/// Ready: the clock is plausible, the head is current, and the authority is not stopping. Missing or damaged documents are reported, but do
/// not affect readiness: without heads every context would go stale because of one.
async fn ready(State(app): State<Arc<App>>) -> Response {
    let public = app.public();
    if *app.stopping.borrow() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response();
    }
    if let Some(fault) = app.clock_fault() {
        let what = format!("{fault}; {}\n", fault.advice());
        return (StatusCode::SERVICE_UNAVAILABLE, what).into_response();
    }
    if app.clock.now() >= public.next_update {
        return (StatusCode::SERVICE_UNAVAILABLE, "the head has expired\n").into_response();
    }
    if let Some(fault) = app.keys.feed_fault(app.clock.now()) {
        let what = format!("no head is valid: the feed certificate: {fault}\n");
        return (StatusCode::SERVICE_UNAVAILABLE, what).into_response();
    }
    if !app.reserve.is_complete() {
        let what = "ok, but nothing is published until the disk has room again for revocations\n";
        return (StatusCode::OK, what).into_response();
    }
    match app.documents.missing() {
        0 => (StatusCode::OK, "ok\n").into_response(),
        n => (StatusCode::OK, format!("ok, but {n} documents are missing or damaged\n")).into_response(),
    }
}

async fn metrics(State(app): State<Arc<App>>) -> Response {
    app.metrics.gauge("semgate_authority_reserve_whole", &[], u64::from(app.reserve.is_complete()));
    for role in roles(&app.config, Some(&app.keys)) {
        let (labels, until) = ([("role", role.role)], role.not_after.unwrap_or(0));
        app.metrics.gauge("semgate_authority_certificate_not_after_seconds", &labels, until);
    }
    let mut answer = app.metrics.render().into_response();
    let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    answer.headers_mut().insert(header::CONTENT_TYPE, text);
    answer
}

async fn status(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let status = status_of(&app);
    let value = serde_json::to_value(status).map_err(|fault| Problem::new(Code::Internal, fault))?;
    Ok(answer::json(StatusCode::OK, &value))
}
