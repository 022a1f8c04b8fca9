//! The routes, each once, in one table; `openapi.json` is held against it by a test.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};

use super::problem::{Code, Problem};
use super::{App, Bounds};
use super::{compare, crl, lifecycle_handlers, overrides, pages, prompt, read, trust, write};

/// The router of the public address.
pub(crate) fn router(app: Arc<App>) -> Router {
    let rest = Bounds::of(&app.config.limits);
    let mut router = Router::new();
    for (path, methods, allow) in table() {
        let wrong = move || async move { Problem { allow: Some(allow), ..Code::MethodNotAllowed.into() } };
        router = router.route(path, methods.fallback(wrong));
    }
    router
        .fallback(|| async { Problem::from(Code::NotFound) })
        .with_state(Arc::clone(&app))
        // Counting and draining only: no check rests on a layer, since routes merged after one would escape it.
        .layer(middleware::from_fn_with_state(rest, super::drain_body))
        .layer(middleware::from_fn_with_state(app, count))
}

type Row = (&'static str, MethodRouter<Arc<App>>, &'static str);

/// Every route: path, handlers, and the value of `Allow`.
pub(super) fn table() -> Vec<Row> {
    const GET: &str = "GET, HEAD";
    vec![
        ("/v1/contexts", get(read::contexts).post(write::publish), "GET, HEAD, POST"),
        ("/v1/contexts/{urn}", get(read::context), GET),
        ("/v1/contexts/by-digest/{digest}", get(read::by_digest), GET),
        ("/v1/contexts/published/{span}", get(pages::page), GET),
        ("/v1/contexts/{urn}/prompt", get(prompt::prompt), GET),
        ("/v1/contexts/{urn}/revoke", post(write::revoke), "POST"),
        ("/v1/contexts/{urn}/suspend", post(write::suspend), "POST"),
        ("/v1/contexts/{urn}/resume", post(write::resume), "POST"),
        ("/v1/contexts/{urn}/retire", post(write::retire), "POST"),
        ("/v1/floors", get(read::floors).post(write::floor), "GET, HEAD, POST"),
        ("/v1/recognitions/{authority}/withdraw", post(write::withdraw), "POST"),
        ("/v1/overrides", get(overrides::list).post(overrides::submit), "GET, HEAD, POST"),
        ("/v1/proposals", get(lifecycle_handlers::list), GET),
        ("/v1/proposals/{id}/approve", post(lifecycle_handlers::approve), "POST"),
        ("/v1/compare", post(compare::route), "POST"),
        ("/v1/feed/head", get(read::head), GET),
        ("/v1/feed/stream", get(read::feed).head(read::no_head), "GET"),
        ("/v1/feed/shards/{name}", get(read::shard), GET),
        ("/v1/feed/deltas/{from}", get(read::delta), GET),
        ("/v1/crl/{*list}", get(crl::list), GET),
        ("/v1/trust", get(read::trust).post(trust::submit), "GET, HEAD, POST"),
        ("/checkpoint", get(read::checkpoint), GET),
        ("/tile/{*tile}", get(read::tile), GET),
        ("/openapi.json", get(read::openapi), GET),
    ]
}

async fn count(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    // Only existing methods become a label: a value that callers choose would grow the metrics without end.
    let method = match request.method().as_str() {
        known @ ("GET" | "HEAD" | "POST") => known.to_owned(),
        _ => "other".to_owned(),
    };
    let answer = next.run(request).await.into_response();
    let labels = [("method", method), ("status", answer.status().as_str().to_owned())];
    app.metrics.count("semgate_authority_requests_total", &labels);
    answer
}
