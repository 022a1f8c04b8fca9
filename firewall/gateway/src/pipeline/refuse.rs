//! The only conversion of a [`Refusal`] to an answer. Plain HTTP gets a problem document (RFC 9457). Once a valid request id
//! was read, JSON-RPC gets an error with the same document.
//!
//! The answer holds nothing of the message: code, reason and hint are the gateway's. The operator's part of a refusal stays
//! in the log.

mod own;
pub(crate) mod protocol;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use semgate_inspect::code::Class;
use semgate_inspect::{Code, Refusal, RpcId};
use semgate_protocol::a2a::ProtocolError;
use semgate_protocol::mcp::Revision;
use serde::Serialize;
use serde_json::json;

use crate::pipeline::answer::Answer;
use crate::pipeline::decision::DecisionId;
use crate::pipeline::events::EVENT_STREAM;
use crate::pipeline::events::{self, Event};
use crate::pipeline::grpc;
use crate::pipeline::mcp::Rules;
use crate::pipeline::quota;

pub(crate) use own::{Speaker, in_own_form};

/// Header of every answer with the decision's id.
pub(crate) const DECISION: http::HeaderName = http::HeaderName::from_static("semgate-decision");

/// Prefix of `type`, before the code. Not dereferenced: `docs/reference/refusals.md` has the table.
const TYPE: &str = "urn:semgate:refusal:";

/// Seconds after which a message that waits for people may come again: people take longer, and a look costs little.
const ASK_AGAIN: u64 = 5;

#[derive(Serialize)]
struct Problem<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: String,
    status: u16,
    detail: &'a str,
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision_id: Option<&'a str>,
    hint: &'a str,
    delivered: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    missing: &'a [String],
    /// The refusal as a question in the control vocabulary.
    #[serde(skip_serializing_if = "Option::is_none")]
    asks: Option<serde_json::Value>,
}

/// Format of answers to a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// A problem document.
    Plain,
    /// A JSON-RPC error once a valid id was read; a problem document before, since the protocol is not certain yet.
    JsonRpc,
    /// [`Manner::JsonRpc`] with a read body: a malformed request without an id gets the id `null`.
    JsonRpcRead,
    /// [`Manner::JsonRpcRead`] for a caller that accepts only events: the error is the only event of a stream.
    JsonRpcEvents,
    /// MCP: a JSON-RPC error with the protocol's status for it.
    Mcp(Rules),
    /// An answer of the protocol with the status of a success, where it has one for the request; else a problem document.
    Own,
    /// A2A over HTTP+JSON: `google.rpc.Status` (A2A 1.0 §11.6).
    Rest,
    /// A2A over gRPC: only trailers.
    Grpc {
        /// The agent's own final status, which is repeated.
        agent: Option<u8>,
    },
}

impl Manner {
    /// Returns true for the formats of JSON-RPC.
    pub(crate) const fn is_rpc(self) -> bool {
        matches!(self, Self::JsonRpc | Self::JsonRpcRead | Self::JsonRpcEvents | Self::Mcp(_))
    }

    /// The format after the body was read.
    pub(crate) const fn read(self) -> Self {
        match self {
            Self::JsonRpc => Self::JsonRpcRead,
            other => other,
        }
    }
}

/// Status and bytes of a refusal, as an answer's body or as the last event of a stream.
pub(crate) struct EncodedRefusal {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) body: Bytes,
}

/// The answer for a refusal.
pub(crate) fn refuse(refusal: &Refusal, manner: Manner, decision: DecisionId) -> Answer {
    if let Manner::Grpc { agent } = manner {
        let mut answer = answer(decision, 200, grpc::head::MEDIA, Bytes::new());
        answer.headers_mut().extend(grpc::status::refused(refusal, agent, decision));
        again(&mut answer, refusal);
        return answer;
    }
    let EncodedRefusal { status, mut kind, mut body } = say(refusal, manner, decision);
    if manner == Manner::JsonRpcEvents && status == 200 {
        kind = EVENT_STREAM;
        body = events::write(&Event { data: Some(body), ..Event::default() });
    }
    let mut answer = answer(decision, status, kind, body);
    again(&mut answer, refusal);
    if let (405, Manner::Mcp(Rules::Bodiless { allow })) = (status, manner) {
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
    }
    if ends_connection(refusal.code()) {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}

/// Adds the address of the request to people, the time to retry, and the quotas that refused the message.
fn again(answer: &mut Answer, refusal: &Refusal) {
    if let Some(seconds) = retry_after(refusal) {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if let Some(Ok(location)) = refusal.location().map(HeaderValue::from_str) {
        answer.headers_mut().insert(LOCATION, location);
    }
    quota::tell(answer, refusal.quotas().to_vec());
}

/// Formats a refusal, with the id of the decision if there is one.
pub(crate) fn say(
    refusal: &Refusal,
    manner: Manner,
    decision: impl Into<Option<DecisionId>>,
) -> EncodedRefusal {
    let decision = decision.into();
    let code = refusal.code();
    let mut buffer = [0; 26];
    let problem = problem(refusal, decision.as_ref().map(|decision| decision.text(&mut buffer)));
    let formless = code.class() == Class::Form && !matches!(code, Code::TooLarge | Code::TooSlow);
    let id = match refusal.rpc_id() {
        Some(id) => Some(id.to_json()),
        None if manner != Manner::JsonRpc && formless => Some("null".to_owned()),
        None => None,
    };
    let (status, kind, body) = match (manner, id) {
        (Manner::Mcp(_), Some(id)) if let Some(version) = refusal.tool_result() => {
            (200, "application/json", tool_result(version, &id, &problem))
        }
        (Manner::Mcp(rules), Some(id)) => (
            crate::pipeline::mcp::status(refusal, rules),
            "application/json",
            rpc_mcp(refusal, &id, &problem),
        ),
        (_, Some(id)) if manner.is_rpc() => (200, "application/json", rpc(refusal, &id, &problem)),
        (Manner::Rest, _) => {
            let (status, body) = rest(refusal, &problem);
            (status, "application/json", body)
        }
        _ => (refusal.status(), "application/problem+json", serde_json::to_vec(&problem).unwrap_or_default()),
    };
    EncodedRefusal { status, kind, body: Bytes::from(body) }
}

/// The problem document of a refusal.
fn problem<'a>(refusal: &'a Refusal, decision_id: Option<&'a str>) -> Problem<'a> {
    let code = refusal.code();
    Problem {
        kind: format!("{TYPE}{code}"),
        title: title(code),
        status: refusal.status(),
        detail: refusal.reason(),
        code: code.as_str(),
        decision_id,
        hint: refusal.hint(),
        delivered: refusal.delivered().as_str(),
        cause: refusal.cause().map(Code::as_str),
        missing: refusal.missing(),
        asks: refusal
            .asks()
            .map(|name| json!({"concept": "ambiguous_parameter", "parameter": name, "value": "undefined"})),
    }
}

/// A refusal on a stream that answers no request: an error without an id (2025-11-25, JSONRPCErrorResponse).
pub(crate) fn unasked(refusal: &Refusal, decision: Option<DecisionId>) -> Bytes {
    let answers = refusal.clone().with_rpc_id(Some(RpcId::Integer(0)));
    let EncodedRefusal { body, .. } = say(&answers, Manner::Mcp(Rules::Sessions), decision);
    let read = serde_json::from_slice::<serde_json::Value>(&body).unwrap_or_default();
    Bytes::from(json!({"jsonrpc": "2.0", "error": read.get("error")}).to_string())
}

const NO_PUSH: &str = "this route does not support push notifications";

/// Refusal of any request about a push configuration on a route without them.
pub(crate) fn no_push() -> Refusal {
    Refusal::new(Code::MethodUnsupported, NO_PUSH)
        .with_hint("see the agent card; follow the task by a stream")
}

/// The A2A error of a refusal, independent of its code: the agent's own, or unsupported push.
pub(crate) fn known(refusal: &Refusal) -> Option<ProtocolError> {
    let push = || (refusal.reason() == NO_PUSH).then_some(ProtocolError::PushNotificationNotSupported);
    refusal.agent_error().or_else(push)
}

/// Number of a JSON-RPC error: the agent's own, if the protocol defines it.
pub(crate) fn number(refusal: &Refusal) -> i32 {
    if let Some(error) = known(refusal) {
        return error.number();
    }
    if let Some(number) = refusal.server_error() {
        return number;
    }
    refusal.code().rpc()
}

/// Message of an error. An agent's error gets the protocol's text, which clients may look for.
pub(crate) fn text(refusal: &Refusal) -> String {
    match refusal.agent_error() {
        Some(error) => error.text().to_owned(),
        None => format!("{}: {}", refusal.code(), refusal.reason()),
    }
}

/// JSON-RPC's own number for a faulty request (JSON-RPC 2.0 §5.1).
fn rpc_number(refusal: &Refusal) -> i32 {
    let reason = refusal.reason();
    match refusal.code() {
        Code::Malformed if reason.starts_with("malformed json") => ProtocolError::JsonParse.number(),
        Code::Malformed if reason.starts_with("`/params") => ProtocolError::InvalidParams.number(),
        Code::Malformed => ProtocolError::InvalidRequest.number(),
        _ => number(refusal),
    }
}

fn rpc(refusal: &Refusal, id: &str, problem: &Problem<'_>) -> Vec<u8> {
    let number = rpc_number(refusal);
    let mut data = vec![serde_json::to_value(problem).unwrap_or_default()];
    if let Some(known) = ProtocolError::of_number(number.into()) {
        data.push(protocol::info(known));
    }
    let message = text(refusal);
    let error = json!({"code": number, "message": message, "data": data}).to_string();
    // the id stays as received, so that an integer above 2^53 is not changed
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into_bytes()
}

fn rpc_mcp(refusal: &Refusal, id: &str, problem: &Problem<'_>) -> Vec<u8> {
    let number = crate::pipeline::mcp::number(refusal.code()).unwrap_or_else(|| rpc_number(refusal));
    let data = crate::pipeline::mcp::data(refusal, serde_json::to_value(problem).unwrap_or_default());
    let error = json!({"code": number, "message": text(refusal), "data": data}).to_string();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into_bytes()
}

/// Refusal of a call as its tool's result (SEP-1303): clients show a model the text of a result, not of an error.
fn tool_result(version: Revision, id: &str, problem: &Problem<'_>) -> Vec<u8> {
    let Problem { code, detail, hint, .. } = problem;
    let decision = problem.decision_id.map(|id| format!(" [decision {id}]")).unwrap_or_default();
    let text = format!("{code}: {detail}; hint: {hint}{decision}");
    let content = json!([{"type": "text", "text": text}]);
    let result = match version {
        Revision::V2026_07_28 => json!({"isError": true, "content": content, "resultType": "complete"}),
        _ => json!({"isError": true, "content": content}),
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes()
}

fn rest(refusal: &Refusal, problem: &Problem<'_>) -> (u16, Vec<u8>) {
    let (status, name, info) = match ProtocolError::of_number(number(refusal).into()) {
        Some(known) => (known.http_status(), known.status(), protocol::info(known)),
        None => {
            let status = match refusal.code() {
                Code::EncodingUnsupported => 415,
                // a client of this transport takes 202 for the agent's answer
                Code::ApprovalPending => 503,
                _ => problem.status,
            };
            let name = protocol::status_name(status, refusal.delivered());
            (status, name, protocol::own(refusal.code()))
        }
    };
    let mut ours = serde_json::to_value(problem).unwrap_or_default();
    if let Some(ours) = ours.as_object_mut() {
        // RFC 9457 §3.1.2: the status of this answer, as the protocol requires
        ours.insert("status".to_owned(), status.into());
        ours.insert("@type".to_owned(), "type.googleapis.com/google.protobuf.Struct".into());
    }
    let message = text(refusal);
    let body =
        json!({"error": {"code": status, "status": name, "message": message, "details": [info, ours]}});
    (status, body.to_string().into_bytes())
}

/// An answer of the gateway, with the decision header. No intermediary may store it.
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

/// The answer to a delivered notification.
pub(crate) fn taken(decision: DecisionId) -> Answer {
    let mut answer = answer(decision, 204, "application/json", Bytes::new());
    answer.headers_mut().remove(CONTENT_TYPE);
    answer
}

/// `policy_denied` → `policy denied`.
fn title(code: Code) -> String {
    code.as_str().replace('_', " ")
}

/// Seconds to retry, rounded up to at least one, for the statuses of RFC 9110 §10.2.3 and RFC 6585 §4. `None` for a message
/// that can never pass, since its client would retry for ever.
pub(crate) fn retry_after(refusal: &Refusal) -> Option<u64> {
    if refusal.code() == Code::ApprovalPending {
        return Some(ASK_AGAIN);
    }
    if !matches!(refusal.code().status(), 429 | 503) || refusal.never_passes() {
        return None;
    }
    let wait = refusal.retry_after().unwrap_or_default();
    Some(wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).max(1))
}

/// Returns true if the rest of the connection is untrusted, or not worth reading.
fn ends_connection(code: Code) -> bool {
    matches!(code, Code::TooSlow | Code::TooLarge)
}
