//! A session of 2025-11-25: the stream that a client opens, the end of the session, and a client's answers to the server's
//! requests. The sections of its transports are "Listening for Messages from the Server", "Session Management" and "Sending
//! Messages".

use super::{
    Asked, Head, KNOWN, Operation, Speaker, Verb,
    answer::{by_client, parted},
    content::{META, or_empty, say},
    head::mismatch,
    meta, plain_error,
};
use crate::{
    Binding, FaultKind, Message, MessageFault, Reading, RpcId,
    member::{Read, object, prefer_duplicate},
    model::Vocabulary,
};
use semgate_contexts::{
    Performative::{Inform, Subscribe},
    PerformativeSet,
    json::Json,
};

/// The body that is judged for the opening of a stream, which has none. It is the subscription of 2026-07-28 to everything
/// that a server may send unasked.
pub const OPENING: &[u8] =
    br#"{"notifications":{"promptsListChanged":true,"resourcesListChanged":true,"toolsListChanged":true}}"#;

/// The body that is judged for the end of a session, which says nothing.
pub const ENDING: &[u8] = b"{}";

/// The number of an error that has no words of its own here (JSON-RPC 2.0 §5.1, "Internal error").
const INTERNAL: i32 = -32603;

/// A person declined ("Error Handling" of sampling, 2025-11-25).
const DECLINED: i32 = -1;

fn not_carried(what: &'static str) -> MessageFault {
    MessageFault { kind: FaultKind::MethodUnsupported, path: String::new(), what }
}

/// Reads a GET or a DELETE, whose `json` is [`OPENING`] or [`ENDING`]. A GET is [`Operation::Listen`]; a DELETE says nothing.
/// The session's owner is checked elsewhere.
///
/// # Errors
/// [`FaultKind::VersionUnsupported`] without a version that has sessions. [`FaultKind::MethodUnsupported`] for 2026-07-28,
/// which has none, and for a request without a session, whose stream would belong to nobody.
pub fn session<'j>(json: &'j Json<'j>, head: &Head, reading: &Reading<'_>) -> Read<Message<'j>> {
    let version = head.settled()?;
    if !version.has_sessions() {
        return Err(not_carried("this version has no sessions: post `subscriptions/listen`"));
    }
    if head.session.is_none() {
        return Err(not_carried("there is no stream without a session"));
    }
    if head.method.is_some() || head.name.is_some() || !head.params.is_empty() {
        return Err(mismatch("a header of the protocol repeats a missing body"));
    }
    let opens = matches!(head.verb, Verb::Open { .. });
    let mut message = Message::new(Binding::Mcp, if opens { Subscribe } else { Inform });
    message.acknowledges = !opens;
    if opens {
        let params = object(json, "")?;
        let concept = Operation::Listen.concept();
        say(Vocabulary::Protocol, concept, params, Subscribe, "", reading, &mut message)?;
        message.mcp = Some(Asked::new(Operation::Listen, version, None));
    }
    Ok(message)
}

/// The id of a response: of a message without a method and with a result or an error. None for everything else.
pub fn response_id(json: &Json<'_>) -> Option<RpcId> {
    let message = json.as_object()?;
    let answers = message.get("result").is_some() || message.get("error").is_some();
    if message.get("method").is_some() || !answers {
        return None;
    }
    RpcId::read(message.get("id")?)
}

/// Returns true if a message is a JSON-RPC error and nothing else.
pub fn is_failure(json: &Json<'_>) -> bool {
    let message = json.as_object();
    let has = |name| message.is_some_and(|message| message.get(name).is_some_and(|value| !value.is_null()));
    has("error") && !has("result") && !has("method")
}

/// A client's error in the words of the protocol: its number if JSON-RPC or MCP defines it, else −32603. Its own text and
/// data never pass. None for a message that is no client error.
pub fn plain_failure(json: &Json<'_>) -> Option<Vec<u8>> {
    let id = response_id(json)?;
    // members beside the error are refused, not dropped in silence
    let members = json.as_object()?;
    if members.len() != 3 || members.get("jsonrpc")?.as_str() != Some("2.0") {
        return None;
    }
    let error = members.get("error")?.as_object()?;
    let number = error.get("code")?.as_number()?.as_i64_exact()?;
    let number = i32::try_from(number).unwrap_or(INTERNAL);
    let (number, words) = match number {
        DECLINED => (DECLINED, "the request was declined"),
        _ => plain_error(number).map_or((INTERNAL, "internal error"), |words| (number, words)),
    };
    let id = id.to_json();
    let written = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{number},"message":"{words}"}}}}"#);
    Some(written.into_bytes())
}

/// Reads a client's answer to `operation`, which the server asked for. An error holds only its number, as [`plain_failure`]
/// wrote it.
///
/// # Errors
/// [`FaultKind::MethodUnsupported`] in 2026-07-28, whose servers ask in their results; else the first member that is missing,
/// unknown, of the wrong form or there twice.
pub fn response<'j>(
    json: &'j Json<'j>,
    operation: Operation,
    head: &Head,
    reading: &Reading<'_>,
) -> Read<Message<'j>> {
    read(json, operation, head, reading).map_err(|fault| prefer_duplicate(fault, json, KNOWN))
}

fn read<'j>(
    json: &'j Json<'j>,
    operation: Operation,
    head: &Head,
    reading: &Reading<'_>,
) -> Read<Message<'j>> {
    let version = head.settled()?;
    if !version.has_sessions() {
        return Err(not_carried("a client of this version answers in `inputResponses`"));
    }
    if head.method.is_some() || head.name.is_some() || !head.params.is_empty() {
        return Err(mismatch("a header of the protocol names a method, and the message has none"));
    }
    if !operation.versions(Speaker::Server).contains(&version) {
        return Err(not_carried("no server sends this request"));
    }
    let parts = parted(json, None)?;
    let mut message = Message::new(Binding::Mcp, Inform);
    message.answers = Some(parts.id);
    let Some(result) = parts.result else {
        message.acknowledges = true;
        return Ok(message);
    };
    let inform = PerformativeSet::EMPTY.with(Inform);
    meta::read(result.get(META), meta::Of::Result, version, "/result/_meta", inform, reading, &mut message)?;
    by_client(operation, or_empty(Some(result)), "/result", reading, &mut message)?;
    Ok(message)
}
