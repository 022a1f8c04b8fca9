//! Decisions from the head alone: method, path and headers. The body is still unread.

pub(crate) mod a2a;
pub(crate) mod headers;
pub(crate) mod host;
pub(crate) mod rules;
#[cfg(test)]
mod tests;

use std::time::Duration;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING, UPGRADE};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method};
use semgate_inspect::{Code, Refusal};
use semgate_protocol::Call;
use semgate_protocol::a2a::Version;
use semgate_protocol::a2a::rest::Query;

use crate::config::{Limits, Protocol, Transport};
use crate::pipeline::grpc;
use crate::pipeline::receive;
use crate::pipeline::socket::wanted::{self, Wanted};

use a2a::Target;
use headers::{
    Encoding, Media, content_encoding, content_type, credentials, malformed, takes_events, values,
};
use rules::RouteRules;

/// Header with a copy of the context claim.
pub(crate) const L9_CONTEXT: HeaderName = HeaderName::from_static("l9-context");
/// Path of the agent card (A2A 1.0 §8.2).
pub(crate) const CARD_PATH: &str = "/.well-known/agent-card.json";
/// Path at which the gateway answers handshakes in native L8.
pub(crate) const HANDSHAKE_PATH: &str = "/snl";

/// A head that may go on.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// A message; its body is still to be read.
    Message(Admitted),
    /// A request for the agent card.
    Card,
    /// A request for the metadata of the protected resource at this path.
    Metadata(String),
    /// A request for a WebSocket.
    Socket(Wanted),
    /// A request for the key that handshakes can be sealed to.
    SealingKey,
}

/// Head of a message that may be received. Holds only the facts about the message.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) encoding: Encoding,
    pub(crate) l9_context: Vec<String>,
    /// The call that the head settles. An unsupported version is refused once the request's id is known.
    pub(crate) call: Result<Call, Refusal>,
    /// Target of a request over HTTP+JSON.
    pub(crate) target: Option<Target>,
    /// Media type of the JSON body; `None` if the head states none.
    pub(crate) typed: Option<Media>,
    /// The header with which the caller asked for our extension. Other extensions are not forwarded.
    pub(crate) extension: Option<HeaderName>,
    /// gRPC: the caller's deadline, if it states one.
    pub(crate) waits: Option<Duration>,
    /// The caller's credentials for the agent, if the route forwards them. The gateway neither reads them nor passes them to
    /// anyone else.
    pub(crate) credentials: Vec<(HeaderName, HeaderValue)>,
    /// True for a handshake, with the gateway's own endpoint or relayed to the agent.
    pub(crate) handshake: bool,
    /// Native L8: true if the caller accepts its answer as a stream of events.
    pub(crate) events: bool,
}

impl Admitted {
    /// Number of body bytes that belong to the framing.
    pub(crate) fn framing(&self) -> usize {
        let call = self.call.as_ref().is_ok_and(|call| call.form.grpc().is_some());
        if call { grpc::frame::PREFIX } else { 0 }
    }

    /// Head of a plain call that the gateway makes for the caller. Keeps the caller's credentials and names, and nothing else
    /// of its request.
    pub(crate) fn in_place(&self, call: Call) -> Self {
        Self {
            encoding: self.encoding,
            l9_context: self.l9_context.clone(),
            call: Ok(call),
            target: None,
            typed: self.typed,
            extension: None,
            waits: None,
            handshake: false,
            events: false,
            credentials: self.credentials.clone(),
        }
    }
}

/// Judges a head.
///
/// # Errors
/// `host_refused`, `method_unsupported`, `malformed`, `encoding_unsupported`, `too_large`.
pub(crate) fn admit(rules: &RouteRules, parts: &Parts, limits: &Limits) -> Result<Arrival, Refusal> {
    rules.names.judge(parts)?;
    if rules.is_handshake(parts.uri.path()) {
        return handshake(rules, parts, limits);
    }
    match rules.protocol {
        Protocol::L8 => {
            no_query(parts)?;
            if rules.websocket && parts.headers.contains_key(UPGRADE) && rules.is_base(parts.uri.path()) {
                let l9_context = values(&parts.headers, &L9_CONTEXT)?;
                let credentials = credentials(rules, &parts.headers)?;
                return wanted::wanted(parts, l9_context, credentials).map(Arrival::Socket);
            }
            if parts.method != Method::POST || !rules.is_base(parts.uri.path()) {
                return Err(unsupported("post a message to `/`"));
            }
            message(rules, parts, limits, Ok(Call::l8()), None)
        }
        Protocol::A2a => over_a2a(rules, parts, limits),
        Protocol::Mcp => {
            no_query(parts)?;
            let reads = matches!(parts.method, Method::GET | Method::HEAD);
            if let Some(resource) = rules.resource(parts.uri.path()).filter(|_| reads) {
                without_body(parts, "get the metadata without a body")?;
                return Ok(Arrival::Metadata(resource.to_owned()));
            }
            if !rules.is_base(parts.uri.path()) {
                return Err(unsupported("post a message to `/`"));
            }
            let head = crate::pipeline::mcp::head(parts)?;
            if crate::pipeline::mcp::judged(&head.verb).is_some() {
                without_body(parts, BODILESS)?;
                return bare(rules, parts, Call::mcp(head));
            }
            message(rules, parts, limits, Ok(Call::mcp(head)), None)
        }
    }
}

/// Judges the head of a handshake, which is native L8 on every route.
fn handshake(rules: &RouteRules, parts: &Parts, limits: &Limits) -> Result<Arrival, Refusal> {
    no_query(parts)?;
    match parts.method {
        Method::GET => {
            without_body(parts, "get the key without a body")?;
            Ok(Arrival::SealingKey)
        }
        Method::POST => match message(rules, parts, limits, Ok(Call::l8()), None)? {
            Arrival::Message(admitted) => Ok(Arrival::Message(Admitted {
                extension: None,
                credentials: Vec::new(),
                handshake: true,
                events: false,
                ..admitted
            })),
            other => Ok(other),
        },
        _ => Err(unsupported("post a HELLO or a LOCK, or get the key to seal to")),
    }
}

fn over_a2a(rules: &RouteRules, parts: &Parts, limits: &Limits) -> Result<Arrival, Refusal> {
    if rules.is_call(&parts.headers) {
        return call(rules, parts, limits);
    }
    let path = parts.uri.path();
    // RFC 9110 §9.3.2: HEAD gets the headers of the card's answer
    let reads = matches!(parts.method, Method::GET | Method::HEAD);
    if reads && rules.below(path).any(|rest| rest == CARD_PATH) {
        no_query(parts)?;
        return card(parts);
    }
    let (operation, target) = if rules.takes(Transport::JsonRpc) && rules.is_base(path) {
        if parts.method != Method::POST {
            return Err(unsupported("post a message to `/`, or get the agent card"));
        }
        (None, None)
    } else if rules.takes(Transport::Rest) {
        let (operation, target) = a2a::target(parts, rules.below(path))?;
        (Some(operation), Some(target))
    } else {
        return Err(unsupported("post a message to `/`, or get the agent card"));
    };
    let query = Query::parse(parts.uri.query().unwrap_or_default()).map_err(|fault| a2a::refused(&fault))?;
    if target.is_none() {
        query.only_version().map_err(|fault| a2a::refused(&fault))?;
    }
    let headers = values(&parts.headers, &a2a::A2A_VERSION)?;
    let version = a2a::version(&headers, &query, &rules.versions).and_then(|version| match target {
        Some(_) if version != Version::V10 => {
            Err(Refusal::new(Code::VersionUnsupported, "HTTP+JSON needs version 1.0 of A2A")
                .with_hint("send `A2A-Version: 1.0`"))
        }
        _ => Ok(version),
    });
    message(rules, parts, limits, version.map(|version| Call::json(version, operation)), target)
}

fn call(rules: &RouteRules, parts: &Parts, limits: &Limits) -> Result<Arrival, Refusal> {
    let head = grpc::head::head(parts)?;
    let headers = values(&parts.headers, &a2a::A2A_VERSION)?;
    let version = a2a::version(&headers, &Query::default(), &rules.versions)?;
    if version != Version::V10 {
        return Err(Refusal::new(Code::VersionUnsupported, "gRPC needs version 1.0 of A2A")
            .with_hint("send `a2a-version: 1.0`"));
    }
    let most = limits.body_bytes.saturating_add(grpc::frame::PREFIX);
    if let Some(refusal) = receive::stated_too_large(&parts.headers, most) {
        return Err(refusal);
    }
    Ok(Arrival::Message(Admitted {
        encoding: Encoding::Identity,
        l9_context: values(&parts.headers, &L9_CONTEXT)?,
        call: Ok(Call::grpc(head.operation)),
        target: None,
        typed: None,
        extension: a2a::extension(&parts.headers, &rules.extension),
        waits: head.timeout,
        credentials: credentials(rules, &parts.headers)?,
        handshake: false,
        events: false,
    }))
}

/// Judges a notification that the agent posts to the egress listener: JSON without a query.
///
/// # Errors
/// `method_unsupported`, `malformed`, `encoding_unsupported`, `too_large`.
pub(crate) fn notification(rules: &RouteRules, parts: &Parts, limits: &Limits) -> Result<Admitted, Refusal> {
    no_query(parts)?;
    if parts.method != Method::POST {
        return Err(unsupported("post a notification"));
    }
    match message(rules, parts, limits, Ok(Call::json(Version::V10, None)), None)? {
        Arrival::Message(admitted) => Ok(admitted),
        _ => Err(unsupported("post a notification")),
    }
}

fn message(
    rules: &RouteRules,
    parts: &Parts,
    limits: &Limits,
    call: Result<Call, Refusal>,
    target: Option<Target>,
) -> Result<Arrival, Refusal> {
    let typed = match content_type(&parts.headers, rules.protocol) {
        Ok(json) => Some(json),
        // a request without a body needs no type
        Err(_) if target.is_some() && !parts.headers.contains_key(CONTENT_TYPE) => None,
        Err(fault) if target.is_some() => return Err(media(&fault)),
        Err(fault) => return Err(fault),
    };
    let encoding = content_encoding(&parts.headers)?;
    if let Some(refusal) = receive::stated_too_large(&parts.headers, limits.body_bytes) {
        return Err(refusal);
    }
    Ok(Arrival::Message(Admitted {
        encoding,
        l9_context: values(&parts.headers, &L9_CONTEXT)?,
        call,
        target,
        typed,
        extension: match rules.protocol {
            Protocol::A2a => a2a::extension(&parts.headers, &rules.extension),
            Protocol::L8 | Protocol::Mcp => None,
        },
        waits: None,
        credentials: credentials(rules, &parts.headers)?,
        handshake: false,
        events: rules.protocol == Protocol::L8 && takes_events(&parts.headers),
    }))
}

/// Judges a request without a body.
fn bare(rules: &RouteRules, parts: &Parts, call: Call) -> Result<Arrival, Refusal> {
    Ok(Arrival::Message(Admitted {
        encoding: Encoding::Identity,
        l9_context: values(&parts.headers, &L9_CONTEXT)?,
        call: Ok(call),
        target: None,
        typed: None,
        extension: None,
        waits: None,
        credentials: credentials(rules, &parts.headers)?,
        handshake: false,
        events: false,
    }))
}

/// Adds the HTTP status for media types (RFC 9110 §15.5.16), which goes with this code over HTTP+JSON.
fn media(fault: &Refusal) -> Refusal {
    Refusal::new(Code::EncodingUnsupported, fault.reason()).with_hint(fault.hint())
}

fn no_query(parts: &Parts) -> Result<(), Refusal> {
    match parts.uri.query() {
        Some(_) => Err(malformed("the path has a query").with_hint("send no query here")),
        None => Ok(()),
    }
}

fn card(parts: &Parts) -> Result<Arrival, Refusal> {
    without_body(parts, "get the agent card without a body")?;
    Ok(Arrival::Card)
}

fn without_body(parts: &Parts, hint: &str) -> Result<(), Refusal> {
    let length = parts.headers.get(CONTENT_LENGTH).is_some_and(|length| length.as_bytes() != b"0");
    if length || parts.headers.contains_key(TRANSFER_ENCODING) {
        return Err(with_body(hint));
    }
    Ok(())
}

/// Hint for a GET or DELETE of MCP with a body.
pub(crate) const BODILESS: &str = "ask for a stream, or end a session, without a body";

/// Refuses a request with a body. Only HTTP/1.1 shows this in the head; over HTTP/2 a body may follow any head.
pub(crate) fn with_body(hint: &str) -> Refusal {
    malformed("the request has a body but takes none").with_hint(hint)
}

pub(crate) fn unsupported(hint: &str) -> Refusal {
    Refusal::new(Code::MethodUnsupported, "this path does not support this method").with_hint(hint)
}
