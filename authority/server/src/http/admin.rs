//! The admin address: plain HTTP, for the operator's own machines. It tells, it changes nothing.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::uri::Authority;
use http::{HeaderValue, StatusCode, header};

use super::App;
use super::answer;
use super::problem::{Code, Problem};
use crate::run::status_of;

/// The router of the admin address. On `loopback` it is called by an address or `localhost`, and by no page in a browser, which can make its
/// own name lead to this machine (DNS rebinding); elsewhere whoever reaches it may ask.
pub(crate) fn admin(app: Arc<App>, loopback: bool) -> Router {
    let router = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/status", get(status))
        .fallback(|| async { Problem::from(Code::NotFound) })
        .with_state(app);
    if loopback { router.layer(from_fn(called)) } else { router }
}

/// Refuses another name than one of this machine, and pages, before anything is said.
async fn called(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let header_host = || headers.get(header::HOST)?.to_str().ok()?.parse::<Authority>().ok();
    let host = request.uri().authority().cloned().or_else(header_host);
    if host.is_some_and(|host| is_own(host.host())) && !headers.contains_key(header::ORIGIN) {
        return next.run(request).await;
    }
    let why = "host_refused: ask by the address or as `localhost`, and not from a page in a browser\n";
    (StatusCode::FORBIDDEN, why).into_response()
}

/// Whether no name server has a say in where it leads.
fn is_own(host: &str) -> bool {
    let plain = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    plain.parse::<IpAddr>().is_ok() || plain.eq_ignore_ascii_case("localhost")
}

/// Ready: the clock can be right and the head is good now, and this authority is not ending. Documents that are missing or damaged are said, but heads go on:
/// taking them from followers would make every context stale for the sake of one.
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
        let what = format!("no head counts: the feed certificate: {fault}\n");
        return (StatusCode::SERVICE_UNAVAILABLE, what).into_response();
    }
    match app.documents.missing() {
        0 => (StatusCode::OK, "ok\n").into_response(),
        n => (StatusCode::OK, format!("ok, but {n} documents are missing or damaged\n")).into_response(),
    }
}

async fn metrics(State(app): State<Arc<App>>) -> Response {
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
