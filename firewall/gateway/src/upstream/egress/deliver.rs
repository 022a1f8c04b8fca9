//! Delivery of one notification. The connection uses the checked address, and only the status of the answer counts.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use semgate_inspect::{Code, Delivered, Delivery, Refusal};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::outbound::Outbound;
use super::refused;
use super::target::{Host, Target};
use crate::pipeline::admit::headers::Media;
use crate::server::executor::OnThisCore;

/// Header with the receiver's name for the configuration (A2A 0.3 §9.5, 1.0 §13).
const TOKEN: HeaderName = HeaderName::from_static("x-a2a-notification-token");

/// Maximum addresses of one name. No service has more.
const MAX_ADDRESSES: usize = 32;
/// Maximum headers and bytes of an answer's head. Only its status counts.
const MAX_HEADERS: usize = 64;
const MAX_HEAD: usize = 16 * 1024;

/// A connection to the target, opened before the final check of the current state.
pub(crate) struct Open {
    link: http1::SendRequest<Full<Bytes>>,
}

/// Opens a connection to the target, driven by `core`.
///
/// # Errors
/// `target_refused` if any of its addresses is forbidden; `upstream_unavailable`.
pub(crate) async fn open(out: &Outbound, target: &Target, core: &OnThisCore) -> Result<Open, Refusal> {
    let addresses = addresses(out, target).await?;
    let stream = connect(&addresses).await?;
    let _ = stream.set_nodelay(true);
    let stream = core.reading(stream);
    if !target.tls {
        return begin(TokioIo::new(stream), core).await;
    }
    let tls = out.tls.as_ref().ok_or_else(|| unreachable(&"no roots are configured"))?;
    let name = match &target.host {
        Host::Name(name) => ServerName::try_from(name.clone()).map_err(|why| unreachable(&why))?,
        Host::Address(address) => ServerName::from(*address),
    };
    let stream = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await;
    begin(TokioIo::new(stream.map_err(|why| unreachable(&why))?), core).await
}

/// Every address of the target. One forbidden address refuses the target, since the name is then not trusted at all.
async fn addresses(out: &Outbound, target: &Target) -> Result<Vec<SocketAddr>, Refusal> {
    let all: Vec<SocketAddr> = match &target.host {
        Host::Address(address) => vec![SocketAddr::new(*address, target.port)],
        Host::Name(name) => {
            let addresses = tokio::net::lookup_host((name.as_str(), target.port)).await;
            addresses.map_err(|why| unreachable(&why))?.take(MAX_ADDRESSES).collect()
        }
    };
    let may = |address: &SocketAddr| out.targets.connectable(target, address.ip());
    if all.iter().any(|address| may(address).is_err()) {
        return Err(refused().with_detail("the name of the target leads to an address that is not public"));
    }
    Ok(all)
}

async fn connect(addresses: &[SocketAddr]) -> Result<TcpStream, Refusal> {
    let mut last = unreachable(&"the name of the target has no address");
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(why) => last = unreachable(&why),
        }
    }
    Err(last)
}

async fn begin<S>(stream: S, core: &OnThisCore) -> Result<Open, Refusal>
where
    S: hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
{
    let mut builder = http1::Builder::new();
    builder.max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD);
    let (link, connection) = builder.handshake(stream).await.map_err(|why| unreachable(&why))?;
    core.spawn(async move { drop(connection.await) });
    Ok(Open { link })
}

/// Sends the checked bytes and reads the status of the answer. Follows no redirect and reads no body.
///
/// # Errors
/// `upstream_unavailable` for a broken connection, `upstream_invalid` for any status except success.
pub(crate) async fn send(
    mut open: Open,
    target: &Target,
    body: Bytes,
    media: Media,
    delivery: Option<&Delivery>,
) -> Result<(), Refusal> {
    let uri = Uri::try_from(target.path_and_query()).map_err(|why| unreachable(&why))?;
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri;
    let host = HeaderValue::try_from(target.authority()).map_err(|why| unreachable(&why))?;
    let headers = request.headers_mut();
    headers.insert(HOST, host);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media.as_str()));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    if let Some(delivery) = delivery {
        show(delivery, headers)?;
    }
    let answer = open.link.send_request(request).await.map_err(|why| {
        Refusal::new(
            Code::UpstreamUnavailable,
            "the connection to the notification's target ended without an answer",
        )
        .with_hint("its delivery is unknown")
        .with_detail(why.to_string())
        .with_delivered(Delivered::Unknown)
    })?;
    let status = answer.status();
    if status.is_success() {
        return Ok(());
    }
    Err(Refusal::new(Code::UpstreamInvalid, "the notification's target rejected it")
        .with_hint("the gateway follows no redirects; check the receiver")
        .with_detail(format!("status {}", status.as_u16()))
        .with_delivered(Delivered::Yes))
}

/// Adds the headers that the configuration's owner wants at the target.
fn show(delivery: &Delivery, headers: &mut HeaderMap) -> Result<(), Refusal> {
    let secret = |text: &str| {
        let value = HeaderValue::try_from(text).map_err(|_| unreachable(&"a credential is malformed"));
        value.map(|mut value| {
            value.set_sensitive(true);
            value
        })
    };
    if let Some(token) = &delivery.token {
        headers.insert(TOKEN, secret(token)?);
    }
    if let Some(authorization) = delivery.authentication.as_deref().and_then(authorization) {
        headers.insert(AUTHORIZATION, secret(&authorization)?);
    }
    Ok(())
}

/// Value of `Authorization`: `scheme` in 1.0, the first of `schemes` in 0.3; `None` without credentials.
fn authorization(text: &str) -> Option<String> {
    let authentication: serde_json::Value = serde_json::from_str(text).ok()?;
    let scheme = authentication.get("scheme").or_else(|| authentication.get("schemes")?.get(0))?.as_str()?;
    let credentials = authentication.get("credentials")?.as_str()?;
    (!scheme.is_empty() && !credentials.is_empty()).then(|| format!("{scheme} {credentials}"))
}

fn unreachable(why: &dyn fmt::Display) -> Refusal {
    Refusal::new(Code::UpstreamUnavailable, "the notification's target cannot be reached")
        .with_hint("nothing was delivered: send it again later")
        .with_detail(why.to_string())
}

/// Refusal of a delivery that took too long.
pub(crate) fn too_slow(delivered: Delivered) -> Refusal {
    Refusal::new(Code::UpstreamTimeout, "the notification's target did not answer in time")
        .with_hint("send it again later")
        .with_delivered(delivered)
}
