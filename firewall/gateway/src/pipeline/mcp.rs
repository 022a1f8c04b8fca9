//! MCP's HTTP rules besides messages: headers that repeat the body, sessions, and the status of errors.

#[cfg(test)]
mod tests;

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use semgate_inspect::{Code, Delivered, Inspector, Refusal, Sent};
use semgate_protocol::mcp::{ErrorData, Head, Operation, Revision, Verb};
use serde_json::{Map, Value, json};

use crate::pipeline::gateway_refusals::invalid;

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Header of 2025-11-25 "Resumability and Redelivery".
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// Header of 2025-11-25 "Session Management".
pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// Prefix of headers that repeat arguments.
const PARAM: &str = "mcp-param-";

/// Maximum length of a session id, as for every other identifier.
const MAX_SESSION: usize = 256;

/// Parses the head of a POST, or of a session request. Each header occurs once, since another reader could use the other
/// value.
///
/// # Errors
/// `method_unsupported` for a method other than POST, GET and DELETE. `header_mismatch` for a repeated header; `malformed`
/// for one that is not text, and for an invalid event id.
pub(crate) fn head(parts: &Parts) -> Result<Head, Refusal> {
    let verb = match parts.method {
        Method::POST => Verb::Post,
        Method::GET => Verb::Open { last_event: last_event(&parts.headers)? },
        Method::DELETE => Verb::End,
        _ => {
            return Err(Refusal::new(Code::MethodUnsupported, "this address does not support this method")
                .with_hint("post one message, or get the stream of a session, or delete the session"));
        }
    };
    let session = one(&parts.headers, &SESSION)?;
    if session.as_deref().is_some_and(|id| !is_session(id)) {
        return Err(
            Refusal::new(Code::NotFound, "there is no such session").with_hint("initialize a new one")
        );
    }
    Ok(Head {
        verb,
        params: params(&parts.headers)?,
        version: one(&parts.headers, &VERSION)?,
        method: one(&parts.headers, &METHOD)?,
        name: one(&parts.headers, &NAME)?,
        session,
    })
}

/// The event after which a stream resumes, if its id is valid.
fn last_event(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    match one(headers, &LAST_EVENT)? {
        Some(id) if is_session(&id) => Ok(Some(id)),
        None => Ok(None),
        Some(_) => Err(Refusal::new(Code::Malformed, "`Last-Event-ID` is not the id of an event")
            .with_hint("name the last event that you received, or leave it out")),
    }
}

/// Message for inspection that stands for a request without a body.
pub(crate) const fn judged(verb: &Verb) -> Option<&'static [u8]> {
    match verb {
        Verb::Post => None,
        Verb::Open { .. } => Some(semgate_protocol::mcp::OPENING),
        Verb::End => Some(semgate_protocol::mcp::ENDING),
    }
}

/// Values that a call repeats in headers (2026-07-28 "Custom Headers from Tool Parameters").
fn params(headers: &HeaderMap) -> Result<Vec<(String, String)>, Refusal> {
    let mut all = Vec::new();
    for name in headers.keys() {
        let Some(rest) = name.as_str().strip_prefix(PARAM) else { continue };
        if let Some(value) = one(headers, name)? {
            all.push((rest.to_owned(), value));
        }
    }
    Ok(all)
}

fn one(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Refusal> {
    let mut all = headers.get_all(name).iter();
    let Some(value) = all.next() else { return Ok(None) };
    if all.next().is_some() {
        return Err(Refusal::new(Code::HeaderMismatch, "a header of the protocol is repeated")
            .with_hint("send each header once"));
    }
    let text = value.to_str().map_err(|_| {
        Refusal::new(Code::Malformed, "a header of the protocol is not ascii")
            .with_hint("write other characters as `=?base64?…?=`, in UTF-8")
    })?;
    Ok(Some(text.trim().to_owned()))
}

fn is_session(id: &str) -> bool {
    (1..=MAX_SESSION).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic())
}

/// Writes the same headers for the server. The inspector has compared them with the body.
pub(crate) fn stamp(headers: &mut HeaderMap, head: &Head) {
    let all =
        [(VERSION, &head.version), (METHOD, &head.method), (NAME, &head.name), (SESSION, &head.session)];
    for (name, value) in all {
        if let Some(Ok(value)) = value.as_deref().map(HeaderValue::from_str) {
            headers.insert(name, value);
        }
    }
    for (name, value) in &head.params {
        let name = HeaderName::try_from(format!("{PARAM}{name}"));
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            headers.insert(name, value);
        }
    }
    if let Verb::Open { last_event: Some(last) } = &head.verb
        && let Ok(last) = HeaderValue::from_str(last)
    {
        headers.insert(LAST_EVENT, last);
    }
}

/// Method of the request to the server.
pub(crate) const fn method(head: &Head) -> Method {
    match head.verb {
        Verb::Post => Method::POST,
        Verb::Open { .. } => Method::GET,
        Verb::End => Method::DELETE,
    }
}

/// Reads the effect of a server's status on a session, before the answer's body.
///
/// # Errors
/// `not_found` for a session that the server no longer knows; it loses its owner. `method_unsupported` if the server has no
/// stream of its own, or does not allow clients to end sessions.
pub(crate) fn stands(inspector: &Inspector, sent: &Sent, status: StatusCode) -> Result<(), Refusal> {
    if !sent.in_session() || sent.mcp().is_some_and(|asked| !asked.version.has_sessions()) {
        return Ok(());
    }
    let asks_of_session = sent.opens_session_stream() || sent.ends_session();
    match status {
        StatusCode::NOT_FOUND => {
            inspector.end_session(sent);
            Err(Refusal::new(Code::NotFound, "the server no longer knows the session")
                .with_hint("initialize a new one")
                .with_delivered(Delivered::Yes)
                .with_rpc_id(sent.rpc_id().cloned()))
        }
        StatusCode::METHOD_NOT_ALLOWED if asks_of_session => {
            Err(Refusal::new(Code::MethodUnsupported, "the server does not offer this for its sessions")
                .with_hint("continue without it: the server answers posts as before")
                .with_delivered(Delivered::Yes))
        }
        _ => Ok(()),
    }
}

/// The session that an answer to `initialize` opens, if the answer passes: see [`own`].
///
/// # Errors
/// `upstream_invalid` for an invalid id.
pub(crate) fn opened(sent: &Sent, headers: &HeaderMap) -> Result<Option<HeaderValue>, Refusal> {
    if sent.mcp().is_none_or(|asked| asked.operation != Operation::Initialize) {
        return Ok(None);
    }
    let mut all = headers.get_all(&SESSION).iter();
    let Some(value) = all.next() else { return Ok(None) };
    let id = value.to_str().ok().filter(|id| is_session(id));
    match id {
        Some(_) if all.next().is_none() => Ok(Some(value.clone())),
        _ => Err(invalid("the server's session id is not valid").with_rpc_id(sent.rpc_id().cloned())),
    }
}

/// Assigns a session to its caller once the opening answer was judged.
///
/// # Errors
/// `upstream_invalid` for another caller's session.
pub(crate) fn own(inspector: &Inspector, sent: &Sent, opened: Option<&HeaderValue>) -> Result<(), Refusal> {
    let id = opened.and_then(|value| value.to_str().ok());
    id.map_or(Ok(()), |id| inspector.own_session(sent, id))
}

/// Version whose rules an error's status follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Versions with sessions. They also apply to requests without a version, such as `initialize`.
    Sessions,
    /// 2026-07-28. It also applies to requests of another version.
    Stateless,
    /// HTTP alone: the path accepts no POST.
    Bodiless {
        /// Permitted methods, for `Allow` (RFC 9110 §15.5.6).
        allow: &'static str,
    },
}

/// Content at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// Messages are posted to it.
    Messages,
    /// Metadata is read from it.
    Metadata,
    Nothing,
}

impl Rules {
    /// Rules for a request with this method and these headers to this path.
    pub(crate) fn of(method: &Method, headers: &HeaderMap, at: At) -> Self {
        let old = |version: &HeaderValue| {
            version.to_str().ok().and_then(Revision::parse).is_some_and(Revision::has_sessions)
        };
        let version = headers.get(&VERSION);
        if method == Method::POST {
            return if version.is_none_or(old) { Self::Sessions } else { Self::Stateless };
        }
        let in_session = version.is_some_and(old) && headers.contains_key(&SESSION);
        let allow = match (at, method) {
            (At::Nothing, _) => "",
            (At::Metadata, _) => "GET, HEAD",
            (At::Messages, &Method::GET) if in_session => "POST, DELETE",
            (At::Messages, &Method::DELETE) if in_session => "GET, POST",
            (At::Messages, &Method::GET | &Method::DELETE) => "POST",
            (At::Messages, _) => "GET, POST, DELETE",
        };
        Self::Bodiless { allow }
    }
}

/// HTTP status of an error in JSON-RPC form.
///
/// For clients of 2025-11-25, 404 means that the session is over. Any other status except 200 means that their request was
/// invalid. So an error that answers a request has status 200 ("Sending Messages to the Server"). 2026-07-28 has its own
/// statuses for errors.
pub(crate) fn status(refusal: &Refusal, rules: Rules) -> u16 {
    let answers = refusal.rpc_id().is_some();
    match (refusal.code(), rules) {
        (Code::NotFound, _) => 404,
        (Code::AuthorizationRequired, _) => refusal.status(),
        (Code::VersionUnsupported | Code::HeaderMismatch, _) => 400,
        (Code::MethodUnsupported, Rules::Bodiless { .. }) => 405,
        (code, _) if !answers => code.status(),
        (_, Rules::Sessions) => 200,
        (Code::AgentError, _) => match refusal.server_error() {
            Some(-32601) => 404,
            Some(-32700 | -32600 | -32602 | -32020 | -32021 | -32022) => 400,
            _ => 200,
        },
        (Code::MethodUnsupported, _) => 404,
        (Code::Malformed | Code::DuplicateKey, _) => 400,
        _ => 200,
    }
}

/// The error's `data`: the problem document, with the protocol's own members for the error.
pub(crate) fn data(refusal: &Refusal, problem: Value) -> Value {
    let mut problem = problem;
    if let (Some(said), Some(members)) = (refusal.server_data(), problem.as_object_mut()) {
        match said {
            ErrorData::Supported { versions, requested } => {
                let names: Vec<_> = versions.iter().map(|version| version.as_str()).collect();
                members.insert("supported".to_owned(), json!(names));
                members.insert("requested".to_owned(), json!(requested.as_deref().unwrap_or("another")));
            }
            ErrorData::Resource(uri) => {
                members.insert("uri".to_owned(), json!(uri));
            }
            ErrorData::Required(names) => {
                let needed: Map<_, _> = names.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
                members.insert("requiredCapabilities".to_owned(), Value::Object(needed));
            }
        }
    }
    problem
}

/// MCP's own number for a code, if there is one.
pub(crate) fn number(code: Code) -> Option<i32> {
    (code == Code::VersionUnsupported).then_some(-32022)
}
