//! The only place where a [`Refusal`] becomes an answer: a problem document over plain HTTP (RFC 9457), or, once a valid
//! request id was read, a JSON-RPC error that carries the same document (WIRE "Refusals").
//!
//! Nothing of the message is in it: code, reason and hint are ours, and the operator's half of a refusal stays in the log.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use semgate_inspect::{Code, Refusal};
use serde::Serialize;

use crate::answer::Answer;
use crate::config::Protocol;
use crate::decision::DecisionId;
use crate::framing::FramingFault;

/// The header that every answer has (WIRE).
pub(crate) const DECISION: http::HeaderName = http::HeaderName::from_static("semgate-decision");

/// What `type` begins with; the code follows. Not dereferenced: `docs/refusals.md` has the table.
const TYPE: &str = "urn:semgate:refusal:";

#[derive(Serialize)]
struct Problem<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: String,
    status: u16,
    detail: &'a str,
    code: &'static str,
    decision_id: &'a str,
    hint: &'a str,
    delivered: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
}

#[derive(Serialize)]
struct RpcAnswer<'a> {
    jsonrpc: &'static str,
    id: Box<serde_json::value::RawValue>,
    error: RpcError<'a>,
}

#[derive(Serialize)]
struct RpcError<'a> {
    code: i32,
    message: String,
    data: [Problem<'a>; 1],
}

/// The answer for a refusal.
pub(crate) fn refuse(refusal: &Refusal, protocol: Protocol, decision: DecisionId) -> Answer {
    let code = refusal.code();
    let mut buffer = [0; 26];
    let problem = Problem {
        kind: format!("{TYPE}{code}"),
        title: title(code),
        status: code.status(),
        detail: refusal.reason(),
        code: code.as_str(),
        decision_id: decision.text(&mut buffer),
        hint: refusal.hint(),
        delivered: refusal.delivered().as_str(),
        cause: refusal.cause().map(Code::as_str),
    };
    let rpc_id = refusal.rpc_id().filter(|_| protocol == Protocol::A2a);
    let rpc_id = rpc_id.and_then(|id| serde_json::value::RawValue::from_string(id.to_json()).ok());
    let (status, kind, body) = match rpc_id {
        Some(id) => {
            let message = format!("{code}: {}", refusal.reason());
            let error = RpcError { code: code.rpc(), message, data: [problem] };
            (200, "application/json", serde_json::to_vec(&RpcAnswer { jsonrpc: "2.0", id, error }))
        }
        None => (code.status(), "application/problem+json", serde_json::to_vec(&problem)),
    };
    let mut answer = answer(decision, status, kind, Bytes::from(body.unwrap_or_default()));
    if let Some(seconds) = retry_after(refusal) {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if ends_connection(code) {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}

/// An answer of the gateway, with the header that every one has. Nothing of an answer may be stored by anyone between.
pub(crate) fn answer(decision: DecisionId, status: u16, kind: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(body.into());
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(value) = HeaderValue::from_str(decision.text(&mut [0; 26])) {
        headers.insert(DECISION, value);
    }
    answer
}

/// `policy_denied` → `policy denied`.
fn title(code: Code) -> String {
    code.as_str().replace('_', " ")
}

/// Whole seconds, rounded up, at least one; for the statuses that RFC 9110 §10.2.3 and RFC 6585 §4 define it with.
fn retry_after(refusal: &Refusal) -> Option<u64> {
    if !matches!(refusal.code().status(), 429 | 503) {
        return None;
    }
    let wait = refusal.retry_after().unwrap_or_default();
    Some(wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).max(1))
}

/// After these the rest of the connection cannot be trusted to be requests, or is not worth waiting for.
fn ends_connection(code: Code) -> bool {
    matches!(code, Code::TooSlow | Code::TooLarge)
}

/// The refusal for a framing fault; without one the caller left or the body was cut, and the answer reaches nobody.
pub(crate) fn framing_or_cut(fault: Option<FramingFault>) -> Refusal {
    match fault {
        Some(fault) => framing(fault),
        None => {
            Refusal::new(Code::Malformed, "the body ended early").with_hint("send as many bytes as stated")
        }
    }
}

/// The refusal for a framing fault.
pub(crate) fn framing(fault: FramingFault) -> Refusal {
    let code = match fault {
        FramingFault::HeadTooLarge => Code::TooLarge,
        FramingFault::HeadTooSlow => Code::TooSlow,
        FramingFault::TransferEncoding => Code::EncodingUnsupported,
        _ => Code::Malformed,
    };
    Refusal::new(code, fault.reason())
        .with_hint("see docs/spec/gateway-http.md for the one form that is accepted")
}
