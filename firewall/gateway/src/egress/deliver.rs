//! Delivering one notification: the address that was checked is the one that is connected to, and whatever the target says beyond
//! "taken" is ignored.

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

use super::target::{Host, Target};
use super::{Egress, refused};
use crate::admit::headers::Media;
use crate::executor::OnThisCore;

/// A2A 0.3 §9.5 and 1.0 §13: what receivers know the configuration by.
const TOKEN: HeaderName = HeaderName::from_static("x-a2a-notification-token");

/// Addresses of one name that are looked at: more are no service.
const MAX_ADDRESSES: usize = 32;
/// Headers and bytes of an answer's head, of which only the status counts.
const MAX_HEADERS: usize = 64;
const MAX_HEAD: usize = 16 * 1024;

/// A connection to the target, opened before the last look at what is in force.
pub(crate) struct Open {
    link: http1::SendRequest<Full<Bytes>>,
}

/// Opens a connection to the target, which `core` drives.
///
/// # Errors
/// `target_refused` if one of its addresses may not be connected to, `upstream_unavailable`.
pub(crate) async fn open(egress: &Egress, target: &Target, core: &OnThisCore) -> Result<Open, Refusal> {
    let addresses = addresses(egress, target).await?;
    let stream = connect(&addresses).await?;
    let _ = stream.set_nodelay(true);
    let stream = core.reading(stream);
    if !target.tls {
        return begin(TokioIo::new(stream), core).await;
    }
    let tls = egress.tls.as_ref().ok_or_else(|| unreachable(&"no roots are configured"))?;
    let name = match &target.host {
        Host::Name(name) => ServerName::try_from(name.clone()).map_err(|why| unreachable(&why))?,
        Host::Address(address) => ServerName::from(*address),
    };
    let stream = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await;
    begin(TokioIo::new(stream.map_err(|why| unreachable(&why))?), core).await
}

/// Every address of the target. One that may not be connected to refuses all: a name that leads there too is not trusted half.
async fn addresses(egress: &Egress, target: &Target) -> Result<Vec<SocketAddr>, Refusal> {
    let all: Vec<SocketAddr> = match &target.host {
        Host::Address(address) => vec![SocketAddr::new(*address, target.port)],
        Host::Name(name) => {
            let found = tokio::net::lookup_host((name.as_str(), target.port)).await;
            found.map_err(|why| unreachable(&why))?.take(MAX_ADDRESSES).collect()
        }
    };
    let may = |address: &SocketAddr| egress.targets.connectable(target, address.ip());
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

/// Sends the checked bytes, and reads the status of the answer. A redirect is not followed; the answer's body is not read.
///
/// # Errors
/// `upstream_unavailable` for a connection that ended, `upstream_invalid` for every status that is no success.
pub(crate) async fn send(
    mut open: Open,
    target: &Target,
    (body, media): (Bytes, Media),
    delivery: &Delivery,
) -> Result<(), Refusal> {
    let uri = Uri::try_from(target.place()).map_err(|why| unreachable(&why))?;
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri;
    let host = HeaderValue::try_from(target.authority()).map_err(|why| unreachable(&why))?;
    let headers = request.headers_mut();
    headers.insert(HOST, host);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media.as_str()));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    show(delivery, headers)?;
    let answer = open.link.send_request(request).await.map_err(|why| {
        Refusal::new(
            Code::UpstreamUnavailable,
            "the connection to the notification's target ended without an answer",
        )
        .with_hint("nobody knows whether it arrived")
        .with_detail(why.to_string())
        .with_delivered(Delivered::Unknown)
    })?;
    let status = answer.status();
    if status.is_success() {
        return Ok(());
    }
    Err(Refusal::new(Code::UpstreamInvalid, "the notification's target did not take it")
        .with_hint("redirects are not followed; look at the receiver")
        .with_detail(format!("status {}", status.as_u16()))
        .with_delivered(Delivered::Yes))
}

/// What the owner of the configuration wants to be shown at the target.
fn show(delivery: &Delivery, headers: &mut HeaderMap) -> Result<(), Refusal> {
    let secret = |text: &str| {
        let value = HeaderValue::try_from(text).map_err(|_| unreachable(&"a credential is no header value"));
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

/// `scheme` in 1.0, the first of `schemes` in 0.3; without credentials there is nothing to show.
fn authorization(text: &str) -> Option<String> {
    let said: serde_json::Value = serde_json::from_str(text).ok()?;
    let scheme = said.get("scheme").or_else(|| said.get("schemes")?.get(0))?.as_str()?;
    let credentials = said.get("credentials")?.as_str()?;
    (!scheme.is_empty() && !credentials.is_empty()).then(|| format!("{scheme} {credentials}"))
}

fn unreachable(why: &dyn fmt::Display) -> Refusal {
    Refusal::new(Code::UpstreamUnavailable, "the notification's target cannot be reached")
        .with_hint("nothing was delivered: send it again later")
        .with_detail(why.to_string())
}

/// It took too long.
pub(crate) fn too_slow(delivered: Delivered) -> Refusal {
    Refusal::new(Code::UpstreamTimeout, "the notification's target did not answer in time")
        .with_hint("send it again later")
        .with_delivered(delivered)
}
