//! What MCP asks of HTTP beyond a message: headers that repeat the body, sessions, and statuses of errors.

#[cfg(test)]
mod tests;

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use semgate_inspect::{Code, Refusal, Sent};
use semgate_message::mcp::{Head, Operation};
use serde_json::{Value, json};

use crate::forward::invalid;
use crate::path::Lane;

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// 2025-11-25 "Session Management".
pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// The longest session id that is carried: as every other identifier.
const MAX_SESSION: usize = 256;

/// The head of a post. Each header is there once; another value could be read by somebody else.
///
/// # Errors
/// `method_unsupported` for another method than POST: streams of sessions and their end are not carried. `header_mismatch` for a
/// header that is there twice, `malformed` for one that is no text, or an `Origin`, which browsers send and agents do not.
pub(crate) fn head(parts: &Parts) -> Result<Head, Refusal> {
    if parts.method != Method::POST {
        return Err(Refusal::new(Code::MethodUnsupported, "only posts are carried here")
            .with_hint("post one message; streams of a session and its end are not carried"));
    }
    if parts.headers.contains_key(http::header::ORIGIN) {
        return Err(Refusal::new(Code::Malformed, "the request comes from a page in a browser")
            .with_hint("send no `Origin`"));
    }
    let params = parts.headers.keys().any(|name| name.as_str().starts_with("mcp-param-"));
    if params {
        return Err(Refusal::new(Code::HeaderMismatch, "`Mcp-Param` headers are not carried")
            .with_hint("leave them out: the signed tools ask for none"));
    }
    let session = one(&parts.headers, &SESSION)?;
    if session.as_deref().is_some_and(|id| !is_session(id)) {
        return Err(
            Refusal::new(Code::NotFound, "there is no such session").with_hint("initialize a new one")
        );
    }
    Ok(Head {
        version: one(&parts.headers, &VERSION)?,
        method: one(&parts.headers, &METHOD)?,
        name: one(&parts.headers, &NAME)?,
        session,
    })
}

fn one(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Refusal> {
    let mut all = headers.get_all(name).iter();
    let Some(value) = all.next() else { return Ok(None) };
    if all.next().is_some() {
        return Err(Refusal::new(Code::HeaderMismatch, "a header of the protocol is there twice")
            .with_hint("send each header once"));
    }
    let text = value.to_str().map_err(|_| {
        Refusal::new(Code::Malformed, "a header of the protocol is not ascii")
            .with_hint("encode it as the protocol says")
    })?;
    Ok(Some(text.trim().to_owned()))
}

fn is_session(id: &str) -> bool {
    (1..=MAX_SESSION).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic())
}

/// The same headers for the server, which the inspector has held against the body.
pub(crate) fn stamp(headers: &mut HeaderMap, head: &Head) {
    let all =
        [(VERSION, &head.version), (METHOD, &head.method), (NAME, &head.name), (SESSION, &head.session)];
    for (name, value) in all {
        if let Some(Ok(value)) = value.as_deref().map(HeaderValue::from_str) {
            headers.insert(name, value);
        }
    }
}

/// The session that an answer to `initialize` opens: the caller's from now on.
///
/// # Errors
/// `upstream_invalid` for an id that is none, or that is another caller's session.
pub(crate) fn opened(lane: &Lane, sent: &Sent, headers: &HeaderMap) -> Result<Option<HeaderValue>, Refusal> {
    if sent.mcp().is_none_or(|asked| asked.operation != Operation::Initialize) {
        return Ok(None);
    }
    let mut all = headers.get_all(&SESSION).iter();
    let Some(value) = all.next() else { return Ok(None) };
    let id = value.to_str().ok().filter(|id| is_session(id));
    match id {
        Some(id) if all.next().is_none() => {
            lane.shared.inspector.own_session(sent, id)?;
            Ok(Some(value.clone()))
        }
        _ => Err(invalid("the server opens a session whose id is none").with_rpc_id(sent.rpc_id().cloned())),
    }
}

/// The HTTP status of an error, as 2026-07-28 has it; of a session that is not found as 2025-11-25 has it.
pub(crate) fn status(refusal: &Refusal) -> u16 {
    match (refusal.server_error(), refusal.code()) {
        (Some(-32601), _) | (_, Code::NotFound) => 404,
        (Some(-32700 | -32600 | -32602 | -32020 | -32021 | -32022), _)
        | (_, Code::HeaderMismatch | Code::VersionUnsupported | Code::Malformed | Code::DuplicateKey) => 400,
        (_, Code::MethodUnsupported) if refusal.rpc_id().is_some() => 404,
        (_, Code::MethodUnsupported) => 405,
        _ => 200,
    }
}

/// The error's `data`: the problem document, with what the protocol has for a version that is not carried.
pub(crate) fn data(refusal: &Refusal, problem: Value) -> Value {
    let mut problem = problem;
    if let (Code::VersionUnsupported, Some(members)) = (refusal.code(), problem.as_object_mut()) {
        members.insert("supported".to_owned(), json!(["2026-07-28", "2025-11-25"]));
        members.insert("requested".to_owned(), json!("another"));
    }
    problem
}

/// MCP's own number for a code, where it has one.
pub(crate) fn number(code: Code) -> Option<i32> {
    (code == Code::VersionUnsupported).then_some(-32022)
}
