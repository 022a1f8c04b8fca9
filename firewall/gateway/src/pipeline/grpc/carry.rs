//! A call in transit: the message's bytes, and its JSON for inspection.

use super::answer::Ended;
use crate::pipeline::gateway_refusals::invalid;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, TE};
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Uri};
use http_body_util::Full;
use semgate_contexts::json;
use semgate_inspect::{Answered, Arrived, Code, Refusal};
use semgate_protocol::a2a::{Operation, grpc};
use semgate_protocol::{Call, FaultKind, MessageFault};

use super::frame::{framed, only};
use super::head::{MEDIA, TIMEOUT, timeout_text};

/// The only message of a request: its bytes are forwarded and its JSON is judged.
///
/// # Errors
/// `too_large`, `too_deep`, `too_complex`, `encoding_unsupported`, `duplicate_key` or `malformed`.
pub(crate) fn arrived(
    call: Call,
    operation: Operation,
    body: &Bytes,
    limits: &json::Limits,
) -> Result<Arrived, Refusal> {
    let message = only(body, limits.max_bytes).map_err(|fault| fault.refusal())?;
    let judged = grpc::request(operation, &message, &grpc::Limits::of(limits));
    Ok(Arrived { call, judged: judged.map_err(|fault| refusal(&fault))?.into(), body: message })
}

/// One message of an answer.
///
/// # Errors
/// `upstream_invalid`, with the inner code as its cause.
pub(crate) fn answered(
    operation: Operation,
    message: Bytes,
    limits: &json::Limits,
) -> Result<Answered, Refusal> {
    let limits = grpc::Limits::of(limits);
    let judged = if operation.streams() {
        grpc::event(&message, &limits)
    } else {
        grpc::reply(operation, &message, &limits)
    };
    let judged = judged.map_err(|fault| {
        crate::pipeline::gateway_refusals::invalid(
            "the answer of the upstream agent is not a message of the protocol",
        )
        .with_cause(code(&fault))
        .with_detail(fault.to_string())
    })?;
    Ok(Answered { body: message, judged: judged.into() })
}

/// Converts a request for the agent into a call of `operation`.
pub(crate) fn carry(
    request: &mut Request<Full<Bytes>>,
    operation: Operation,
    message: &[u8],
    timeout: Duration,
) {
    *request.body_mut() = Full::new(framed(message));
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = grpc::path(operation).and_then(|path| PathAndQuery::try_from(path).ok());
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
    let headers = request.headers_mut();
    headers.remove(ACCEPT);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA));
    headers.insert(TE, HeaderValue::from_static("trailers"));
    if let Ok(timeout) = HeaderValue::try_from(timeout_text(timeout)) {
        headers.insert(TIMEOUT, timeout);
    }
}

fn refusal(fault: &MessageFault) -> Refusal {
    Refusal::new(code(fault), fault.to_string()).with_hint("see docs/spec/a2a-grpc.md for the accepted form")
}

fn code(fault: &MessageFault) -> Code {
    match fault.kind {
        FaultKind::TooLarge => Code::TooLarge,
        FaultKind::TooDeep => Code::TooDeep,
        FaultKind::TooComplex => Code::TooComplex,
        FaultKind::DuplicateKey => Code::DuplicateKey,
        FaultKind::MethodUnsupported => Code::MethodUnsupported,
        _ => Code::Malformed,
    }
}

/// Converts the gateway's own message to protobuf.
///
/// # Errors
/// `upstream_invalid` for a message that is not an answer of the operation.
pub(crate) fn encode(operation: Operation, bytes: &[u8], limits: &json::Limits) -> Result<Bytes, Ended> {
    let fault = |why: String| invalid("the gateway cannot rewrite the answer").with_detail(why);
    let json = json::read(bytes, limits).map_err(|why| fault(why.to_string()))?;
    let message = grpc::write_reply(operation, &json).map_err(|why| fault(why.to_string()))?;
    Ok(message.into())
}
