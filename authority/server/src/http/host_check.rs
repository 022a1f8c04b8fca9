//! The names by which an admin address may be called, of an authority or of a witness.

use std::net::{IpAddr, SocketAddr};

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use http::uri::Authority;
use http::{StatusCode, header};

/// The router of the admin address `bound`. On loopback it accepts only an IP address or `localhost` as host, and no browser page. A page
/// could make its own name lead to this machine (DNS rebinding). Everything else gets `host_refused`, 403. On other addresses any name is
/// accepted.
pub(crate) fn only_own_hosts(router: Router, bound: SocketAddr) -> Router {
    if bound.ip().is_loopback() { router.layer(from_fn(check_host)) } else { router }
}

/// Refuses foreign host names, and browser pages, before anything is answered.
async fn check_host(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let header_host = || headers.get(header::HOST)?.to_str().ok()?.parse::<Authority>().ok();
    let host = request.uri().authority().cloned().or_else(header_host);
    if host.is_some_and(|host| is_own(host.host())) && !headers.contains_key(header::ORIGIN) {
        return next.run(request).await;
    }
    let why = "host_refused: ask by the address or as `localhost`, and not from a page in a browser\n";
    (StatusCode::FORBIDDEN, why).into_response()
}

/// Returns true if no name server decides where the host leads.
fn is_own(host: &str) -> bool {
    let plain = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    plain.parse::<IpAddr>().is_ok() || plain.eq_ignore_ascii_case("localhost")
}
