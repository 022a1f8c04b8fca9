//! Heads that may go on, and the rules that the heads of all bindings share.

use std::time::Duration;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderName, HeaderValue};
use semgate_inspect::{Code, Refusal};
use semgate_protocol::Call;

use super::a2a::{self, Target};
use super::headers::{
    Encoding, Media, content_encoding, content_type, credentials, malformed, takes_events, values,
};
use super::rules::RouteRules;
use crate::config::Limits;
use crate::pipeline::grpc;
use crate::pipeline::receive;
use crate::pipeline::socket::wanted::Wanted;

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
    /// A request for a document about the agent, which the gateway keeps.
    Document(Call),
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

/// Judges the head of a message with a body.
pub(crate) fn message(
    rules: &RouteRules,
    parts: &Parts,
    limits: &Limits,
    call: Result<Call, Refusal>,
    target: Option<Target>,
) -> Result<Arrival, Refusal> {
    let http = rules.binding.protocol().traits().http;
    let typed = match content_type(&parts.headers, http.media_types) {
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
        extension: http.names_extensions.then(|| a2a::extension(&parts.headers, &rules.extension)).flatten(),
        waits: None,
        credentials: credentials(rules, &parts.headers)?,
        handshake: false,
        events: http.accept_tells_streams && takes_events(&parts.headers),
    }))
}

/// Judges a request without a body.
pub(crate) fn bare(rules: &RouteRules, parts: &Parts, call: Call) -> Result<Arrival, Refusal> {
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

/// Refuses a query.
pub(crate) fn no_query(parts: &Parts) -> Result<(), Refusal> {
    match parts.uri.query() {
        Some(_) => Err(malformed("the path has a query").with_hint("send no query here")),
        None => Ok(()),
    }
}

/// Refuses a request whose head states a body.
pub(crate) fn without_body(parts: &Parts, hint: &str) -> Result<(), Refusal> {
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
