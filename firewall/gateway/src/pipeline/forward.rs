//! Forwarding: writes the checked bytes of a permit to its destination, exactly once.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Body;
use semgate_inspect::{Code, Delivered, Outgoing, Refusal, Sent};
use semgate_protocol::mcp::Verb;

use crate::clock::unix_now;
use crate::config::Limits;
use crate::pipeline::admit::L9_CONTEXT;
use crate::pipeline::gateway_refusals::{ONCE, invalid, no_room, timeout, unreachable_agent};
use crate::pipeline::grpc::carry::carry;
use crate::pipeline::identify::{Identity, Shown};
use crate::pipeline::protocol;
use crate::pipeline::ready::Ready;
use crate::pipeline::receive::{self, Cut, Trailers};
use crate::pipeline::refuse::DECISION;
use crate::pipeline::upstream_head::{Resealed, UpstreamHead};
use crate::server::account::Charge;
use crate::server::worker::RouteWorker;
use crate::upstream::address::Address;
use crate::upstream::{Allowed, Lease, Met, Moved, Pool, ReplyBody, SendFault};
use tokio::time::Instant;

/// Certificate of the caller (RFC 9440).
const CLIENT_CERT: HeaderName = HeaderName::from_static("client-cert");
/// The verified sender, for agents that read no certificates.
pub(crate) const SENDER: HeaderName = HeaderName::from_static("semgate-sender");

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The request for the agent.
pub(crate) fn request(
    address: &Address,
    upstream: &UpstreamHead<'_>,
    body: Bytes,
) -> Result<Request<Full<Bytes>>, Refusal> {
    let mut request = Request::new(Full::new(body.clone()));
    let mut kind = Some(JSON);
    match upstream.target {
        None => {
            let head = upstream.call.mcp.as_deref();
            *request.method_mut() = head.map_or(Method::POST, crate::pipeline::mcp::method);
            *request.uri_mut() = address.uri.clone();
        }
        Some(target) => {
            *request.method_mut() = target.method.clone();
            *request.uri_mut() = address.below(target)?;
            kind = upstream.typed.map(|kind| HeaderValue::from_static(kind.as_str()));
        }
    }
    let headers = request.headers_mut();
    let binding = protocol::http(address.binding);
    let accept = binding.agent_headers(headers, address, upstream);
    binding.body_headers(headers, &body);
    if upstream.call.mcp.as_deref().is_some_and(|head| head.verb != Verb::Post) {
        kind = None;
    }
    if let Some(kind) = kind {
        headers.insert(CONTENT_TYPE, kind);
    }
    headers.insert(ACCEPT, accept);
    common_headers(headers, address, upstream);
    if let Some(operation) = upstream.call.form.grpc() {
        carry(&mut request, operation, &body, upstream.waits);
    }
    Ok(request)
}

/// Headers that every binding sends: host, credentials, and who spoke.
fn common_headers(headers: &mut HeaderMap, address: &Address, upstream: &UpstreamHead<'_>) {
    if let Some(host) = &address.host {
        headers.insert(HOST, host.clone());
    }
    for (name, value) in upstream.credentials {
        headers.insert(name, value.clone());
    }
    upstream.trace.add(headers);
    headers.insert(SENDER, upstream.identity.sender().clone());
    if let Some(certificate) = upstream.identity.client_cert() {
        headers.insert(CLIENT_CERT, certificate.clone());
    }
    if let Ok(decision) = HeaderValue::from_str(upstream.decision) {
        headers.insert(DECISION, decision);
    }
    if let Some(Ok(context)) = upstream.l9_context.map(HeaderValue::from_str) {
        headers.insert(L9_CONTEXT, context);
    }
}

/// Opening request of a WebSocket with the agent (RFC 6455 §4.1).
pub(crate) fn socket_request(
    address: &Address,
    upstream: &UpstreamHead<'_>,
    key: &str,
) -> Result<Request<Full<Bytes>>, Refusal> {
    let mut request = request(address, upstream, Bytes::new())?;
    *request.method_mut() = Method::GET;
    let headers = request.headers_mut();
    headers.remove(CONTENT_TYPE);
    headers.remove(ACCEPT);
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    if let Ok(key) = HeaderValue::from_str(key) {
        headers.insert(SEC_WEBSOCKET_KEY, key);
    }
    Ok(request)
}

/// The agent's answer, not judged yet.
#[derive(Debug)]
pub(crate) struct Returned {
    pub(crate) sent: Sent,
    pub(crate) head: http::response::Parts,
    pub(crate) body: Bytes,
    /// Identity of the agent that answered.
    pub(crate) met: Met,
}

/// An answer with its head; its body is unread.
pub(crate) struct Begun {
    pub(crate) sent: Sent,
    pub(crate) answering: Answering,
}

/// An answer on its connection.
pub(crate) struct Answering {
    pub(crate) head: http::response::Parts,
    /// Bytes of the body read so far.
    pub(crate) before: Bytes,
    pub(crate) body: ReplyBody,
    pub(crate) lease: Lease,
    pub(crate) deadline: Instant,
}

/// Spends the permit. The connection is open before the permit is renewed, so only the write separates the last generation
/// check from the bytes. If they need a second connection, the caller and its `shown` credentials are checked again too.
///
/// # Errors
/// `upstream_unavailable`, `upstream_timeout` or `upstream_invalid`, with the known delivery state.
pub(crate) async fn forward(
    ready: Ready,
    worker: &RouteWorker,
    upstream: &UpstreamHead<'_>,
    shown: &Shown,
) -> Result<Begun, Refusal> {
    let Ready { permit, lease, .. } = ready;
    let fresh_until = permit.fresh_until();
    let (Outgoing { body, .. }, sent) = permit.spend();
    let (address, body) = match upstream.resealed {
        Some(Resealed { address, body: resealed }) => (address, resealed.cloned().unwrap_or(body)),
        None => (&worker.address, body),
    };
    let generation = sent.facts().generation;
    let shared = &worker.shared;
    // same check as `renew`: a stale status makes no new generation, since only time passes
    let speaks = || upstream.identity.still(shown, &shared.issuers, unix_now()).is_ok();
    let still = || {
        let in_force = shared.inspector.generation().number() == generation && speaks();
        if in_force && shared.now().unix <= fresh_until { Ok(()) } else { Err(Moved) }
    };
    // a body may wait long, and most new generations concern something else
    let stands = || {
        let course = shared.inspector.stream(&sent);
        let counts = course.still_counts(&shared.inspector, &sent, &worker.replier, shared.now());
        if counts.is_ok() && speaks() { Ok(()) } else { Err(Moved) }
    };
    let allowed = Allowed { still: &still, stands: &stands };
    let request = request(address, upstream, body).inspect_err(|_| sent.undelivered());
    let request = request.map_err(|refusal| refusal.with_rpc_id(sent.rpc_id().cloned()))?;
    match begin(&worker.pool, lease, request, &worker.shared.limits, allowed).await {
        Ok(answering) => {
            if !answering.head.status.is_success() {
                shared.inspector.declined(&sent);
            }
            Ok(Begun { sent, answering })
        }
        Err(refusal) => {
            if refusal.delivered() == Delivered::No {
                sent.undelivered();
                shared.inspector.declined(&sent);
            }
            Err(refusal.with_rpc_id(sent.rpc_id().cloned()))
        }
    }
}

/// Reads the rest of an answer.
///
/// # Errors
/// Same as [`forward`].
pub(crate) async fn whole(begun: Begun, worker: &RouteWorker, charge: &Charge) -> Result<Returned, Refusal> {
    let Begun { sent, answering } = begun;
    let met = answering.lease.met();
    match finish(&worker.pool, answering, &worker.shared.limits, Some(charge)).await {
        Ok((head, body)) => Ok(Returned { sent, head, body, met }),
        Err(refusal) => Err(refusal.with_rpc_id(sent.rpc_id().cloned())),
    }
}

/// Time for an answer's unused body before its connection is dropped.
const ASIDE: Duration = Duration::from_secs(1);

/// Takes the head of an answer whose body the caller does not need. Reads and discards the body in the background, so that
/// the connection is kept.
pub(crate) fn unread(begun: Begun, worker: &Rc<RouteWorker>, identity: &Identity) -> Returned {
    let Begun { sent, answering } = begun;
    let Answering { head, body, lease, .. } = answering;
    let met = lease.met();
    if body.is_end_stream() {
        worker.pool.keep(lease);
    } else {
        let (turns, worker) = (Rc::clone(&worker.turns), Rc::clone(worker));
        turns.spawn(identity.account().agent(), async move {
            let rest = thrown_away(body, worker.shared.limits.reply_bytes);
            if let Ok(Some(())) = tokio::time::timeout(ASIDE, rest).await {
                worker.pool.keep(lease);
            }
        });
    }
    Returned { sent, head, body: Bytes::new(), met }
}

/// Reads a body to its end without storing it. `None` if it breaks off, or exceeds `most` bytes.
async fn thrown_away(mut body: ReplyBody, most: usize) -> Option<()> {
    let mut left = most;
    while let Some(frame) = body.frame().await {
        left = left.checked_sub(frame.ok()?.data_ref().map_or(0, Bytes::len))?;
    }
    Some(())
}

/// Sends a request and reads the whole reply. The connection is kept only then.
///
/// # Errors
/// Same as [`forward`].
pub(crate) async fn exchange(
    pool: &Pool,
    lease: Lease,
    request: Request<Full<Bytes>>,
    limits: &Limits,
    allowed: Allowed<'_>,
) -> Result<(http::response::Parts, Bytes), Refusal> {
    let answering = begin(pool, lease, request, limits, allowed).await?;
    finish(pool, answering, limits, None).await
}

async fn begin(
    pool: &Pool,
    lease: Lease,
    request: Request<Full<Bytes>>,
    limits: &Limits,
    allowed: Allowed<'_>,
) -> Result<Answering, Refusal> {
    let deadline = Instant::now() + limits.upstream_timeout;
    let (lease, response): (Lease, Response<ReplyBody>) =
        match tokio::time::timeout_at(deadline, pool.send(lease, request, allowed)).await {
            Ok(sent) => sent.map_err(lost)?,
            Err(_) => return Err(timeout(Delivered::Unknown)),
        };
    let (head, body) = response.into_parts();
    if head.headers.contains_key(CONTENT_LENGTH) && head.headers.contains_key(TRANSFER_ENCODING) {
        // hyper reads chunks, another reader the length; the connection is dropped
        return Err(invalid("the reply of the upstream agent states two lengths"));
    }
    Ok(Answering { head, before: Bytes::new(), body, lease, deadline })
}

async fn finish(
    pool: &Pool,
    answering: Answering,
    limits: &Limits,
    charge: Option<&Charge>,
) -> Result<(http::response::Parts, Bytes), Refusal> {
    let Answering { head, before, body, lease, deadline } = answering;
    let read = receive::collect(before, body, (limits.reply_bytes, charge), Trailers::Dropped);
    match tokio::time::timeout_at(deadline, read).await {
        Ok(Ok(body)) => {
            pool.keep(lease);
            Ok((head, body))
        }
        Ok(Err(Cut::TooLarge)) => Err(invalid("the answer of the upstream agent is larger than the limit")),
        Ok(Err(Cut::NoRoom)) => Err(no_room(Delivered::Yes)),
        Ok(Err(Cut::Broken | Cut::Trailers)) => Err(invalid("the upstream agent's reply was cut")),
        // the agent sent a head, so it has the message
        Err(_) => Err(timeout(Delivered::Yes)),
    }
}

fn lost(fault: SendFault) -> Refusal {
    match fault {
        SendFault::NotSent => unreachable_agent(),
        SendFault::NotTaken => Refusal::new(
            Code::UpstreamUnavailable,
            "the upstream agent closed its connection before it read the message",
        )
        .with_hint("send it again"),
        SendFault::Lost => Refusal::new(
            Code::UpstreamUnavailable,
            "the connection to the upstream agent ended without a reply",
        )
        .with_hint(format!("the message may have arrived: {ONCE}"))
        .with_delivered(Delivered::Unknown),
        // the head was written, and as much of the body as the agent accepted
        SendFault::TakenBack => Refusal::new(
            Code::UpstreamUnavailable,
            "the upstream agent did not read the whole message while it was still allowed",
        )
        .with_hint(format!("a part of it may have arrived: {ONCE}"))
        .with_delivered(Delivered::Unknown),
        // the agent may have sent it before it read the message
        SendFault::Garbage => invalid("the answer of the upstream agent is not HTTP")
            .with_hint(format!("the message may have arrived: {ONCE}"))
            .with_delivered(Delivered::Unknown),
    }
}
