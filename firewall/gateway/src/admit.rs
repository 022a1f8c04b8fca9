//! What a head alone decides: method, path, headers. The body has not been read.

pub(crate) mod a2a;
pub(crate) mod host;
#[cfg(test)]
mod tests;

use std::time::Duration;

use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING, UPGRADE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use semgate_inspect::{Code, Refusal};
use semgate_message::a2a::Version;
use semgate_message::a2a::rest::Query;
use semgate_message::{Call, Form};

use crate::config::{Limits, Protocol, RouteConfig, Transport};
use crate::grpc;
use crate::identify::Shown;
use crate::receive;
use crate::refuse::Manner;
use crate::relay::EVENT_STREAM;
use crate::socket::{self, Wanted};

use a2a::Target;
use host::Names;

/// The header copy of the context claim (WIRE "Messages").
pub(crate) const L9_CONTEXT: HeaderName = HeaderName::from_static("l9-context");
/// A2A 1.0 §8.2.
pub(crate) const CARD_PATH: &str = "/.well-known/agent-card.json";
/// Where the gateway answers handshakes (MECHANISMS §3, native L8).
pub(crate) const HANDSHAKE_PATH: &str = "/snl";

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Identity,
    Gzip,
    /// The zlib format, which is what the name means (RFC 9110 §8.4.1.2).
    Deflate,
}

/// The names of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    /// A2A 1.0 §11.1.
    A2aJson,
}

impl Media {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::A2aJson => "application/a2a+json",
        }
    }
}

/// A head that may go on.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// A message; its body is to be read.
    Message(Admitted),
    /// A question for the agent card.
    Card,
    /// A WebSocket is asked for.
    Socket(Wanted),
    /// A question for the key that handshakes can be sealed to.
    SealingKey,
}

/// The head of a message that may be received. Holds what it says about the message, and nothing else of it.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) encoding: Encoding,
    pub(crate) l9_context: Vec<String>,
    /// What is settled about the request. A version that is not taken is told once the request's id is known.
    pub(crate) call: Result<Call, Refusal>,
    /// Over HTTP+JSON: where it goes.
    pub(crate) target: Option<Target>,
    /// Which name of JSON the body has; `None` if none was said.
    pub(crate) typed: Option<Media>,
    /// The header by which the caller asked for our extension; other extensions are not carried.
    pub(crate) extension: Option<HeaderName>,
    /// Over gRPC: how long the caller waits, if it says so.
    pub(crate) waits: Option<Duration>,
    /// What the caller shows the agent behind, where the route passes it on. Neither read nor told anybody else.
    pub(crate) credentials: Vec<(HeaderName, HeaderValue)>,
    /// What the caller shows the gateway, once it was judged.
    pub(crate) shown: Shown,
    /// Whether it is a handshake: for the gateway's own endpoint, or for that of the agent behind, by way of the gateway's relay.
    pub(crate) handshake: bool,
    /// Native L8: whether the caller takes its answer as a stream of events.
    pub(crate) events: bool,
}

impl Admitted {
    /// Bytes of the body that are not of the message.
    pub(crate) fn framing(&self) -> usize {
        let call = self.call.as_ref().is_ok_and(|call| matches!(call.form, Form::Grpc(_)));
        if call { grpc::frame::PREFIX } else { 0 }
    }

    /// The head of a plain call that the gateway makes in the caller's place: what the caller shows and names stays, and nothing else of how
    /// it asked.
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
            shown: self.shown.clone(),
        }
    }
}

/// What a route takes: set once for each listener.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    pub(crate) protocol: Protocol,
    /// The paths of callers: `/`, that of the agent behind, and that of the public URL, each with a slash at its end and without.
    pub(crate) paths: Vec<String>,
    /// The URI of our extension.
    pub(crate) extension: String,
    /// Versions of A2A.
    pub(crate) versions: Vec<Version>,
    /// Transports of A2A.
    pub(crate) transports: Vec<Transport>,
    /// Whether push configurations are carried.
    pub(crate) push: bool,
    /// Whether the gateway answers handshakes here.
    pub(crate) handshakes: bool,
    /// Headers that callers show the agent behind.
    pub(crate) credentials: Vec<HeaderName>,
    /// Whether WebSockets are carried.
    pub(crate) websocket: bool,
    /// What the listener is called.
    pub(crate) names: Names,
}

impl Door {
    pub(crate) fn new(route: &RouteConfig, extension: &str) -> Self {
        let public = route.public_url.as_deref().and_then(|url| url.split_once("://"));
        let public = public.and_then(|(_, rest)| rest.find('/').and_then(|at| rest.get(at..)));
        let mut paths = Vec::new();
        for path in ["/", &route.upstream.path].into_iter().chain(public) {
            let bare = path.trim_end_matches('/');
            let mut one = |path: String| {
                if !path.is_empty() && !paths.contains(&path) {
                    paths.push(path);
                }
            };
            one(bare.to_owned());
            // an interface of A2A is a base that clients join paths to
            if bare.is_empty() || route.protocol == Protocol::A2a {
                one(format!("{bare}/"));
            }
        }
        // the longest first: below a path of the agent there is no tenant of its first part
        paths.sort_by_key(|path| std::cmp::Reverse(path.len()));
        Self {
            protocol: route.protocol,
            paths,
            extension: extension.to_owned(),
            versions: route.choices.versions.clone(),
            transports: route.choices.transports.clone(),
            push: route.choices.push.is_some(),
            handshakes: route.choices.handshake.is_some(),
            credentials: credentials_of(route),
            websocket: route.choices.websocket,
            names: Names::of(route),
        }
    }

    /// What follows one of the paths, with the slash that it begins with.
    fn below<'p>(&self, path: &'p str) -> impl Iterator<Item = &'p str> {
        let bases = self.paths.iter().map(|base| base.trim_end_matches('/'));
        bases.filter_map(|base| path.strip_prefix(base)).filter(|rest| rest.starts_with('/'))
    }

    /// Whether this is the address of handshakes.
    fn is_handshake(&self, path: &str) -> bool {
        self.handshakes && self.below(path).any(|rest| rest == HANDSHAKE_PATH)
    }

    /// Whether messages are posted to this path.
    fn is_base(&self, path: &str) -> bool {
        self.paths.iter().any(|base| base == path)
    }

    /// How a request with this path and these headers is answered, whatever becomes of it.
    pub(crate) fn manner(&self, path: &str, headers: &HeaderMap) -> Manner {
        match self.protocol {
            _ if self.is_handshake(path) => Manner::Plain,
            Protocol::L8 => Manner::Plain,
            Protocol::Mcp => Manner::Mcp,
            Protocol::A2a if self.is_call(headers) => Manner::Grpc { agent: None },
            Protocol::A2a if self.takes(Transport::Rest) => {
                let rpc = self.takes(Transport::JsonRpc) && self.is_base(path);
                if rpc { rpc_manner(headers) } else { Manner::Rest }
            }
            Protocol::A2a => rpc_manner(headers),
        }
    }

    /// Whether a request is a call of gRPC here.
    fn is_call(&self, headers: &HeaderMap) -> bool {
        self.takes(Transport::Grpc) && grpc::head::is_call(headers)
    }

    fn takes(&self, transport: Transport) -> bool {
        self.protocol == Protocol::A2a && self.transports.contains(&transport)
    }
}

/// Clients of 0.3 that ask for a stream take nothing else, an error neither.
fn rpc_manner(headers: &HeaderMap) -> Manner {
    let only_events = headers.get(ACCEPT).is_some_and(|accept| accept == EVENT_STREAM);
    let old = headers.get(a2a::A2A_VERSION).is_none_or(|version| version.is_empty() || version == "0.3");
    if only_events && old { Manner::JsonRpcEvents } else { Manner::JsonRpc }
}

/// Judges a head.
///
/// # Errors
/// `host_refused`, `method_unsupported`, `malformed`, `encoding_unsupported`, `too_large`.
pub(crate) fn admit(door: &Door, parts: &Parts, limits: &Limits) -> Result<Arrival, Refusal> {
    door.names.judge(parts)?;
    if door.is_handshake(parts.uri.path()) {
        return handshake(door, parts, limits);
    }
    match door.protocol {
        Protocol::L8 => {
            no_query(parts)?;
            if door.websocket && parts.headers.contains_key(UPGRADE) && door.is_base(parts.uri.path()) {
                let l9_context = values(&parts.headers, &L9_CONTEXT)?;
                let credentials = credentials(door, &parts.headers)?;
                return socket::wanted(parts, l9_context, credentials).map(Arrival::Socket);
            }
            if parts.method != Method::POST || !door.is_base(parts.uri.path()) {
                return Err(unsupported("post a message to `/`"));
            }
            message(door, parts, limits, Ok(Call::l8()), None)
        }
        Protocol::A2a => over_a2a(door, parts, limits),
        Protocol::Mcp => {
            no_query(parts)?;
            if !door.is_base(parts.uri.path()) {
                return Err(unsupported("post a message to `/`"));
            }
            let head = crate::mcp::head(parts)?;
            if crate::mcp::judged(&head.verb).is_some() {
                without_body(parts, "ask for a stream, or end a session, without a body")?;
                return bare(door, parts, Call::mcp(head));
            }
            message(door, parts, limits, Ok(Call::mcp(head)), None)
        }
    }
}

/// Handshakes are native L8 on every route.
fn handshake(door: &Door, parts: &Parts, limits: &Limits) -> Result<Arrival, Refusal> {
    no_query(parts)?;
    match parts.method {
        Method::GET => {
            without_body(parts, "get the key without a body")?;
            Ok(Arrival::SealingKey)
        }
        Method::POST => match message(door, parts, limits, Ok(Call::l8()), None)? {
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

fn over_a2a(door: &Door, parts: &Parts, limits: &Limits) -> Result<Arrival, Refusal> {
    if door.is_call(&parts.headers) {
        return call(door, parts, limits);
    }
    let path = parts.uri.path();
    if parts.method == Method::GET && door.below(path).any(|rest| rest == CARD_PATH) {
        no_query(parts)?;
        return card(parts);
    }
    let (form, target) = if door.takes(Transport::JsonRpc) && door.is_base(path) {
        if parts.method != Method::POST {
            return Err(unsupported("post a message to `/`, or get the agent card"));
        }
        (Form::JsonRpc, None)
    } else if door.takes(Transport::Rest) {
        let (operation, target) = a2a::target(parts, door.below(path))?;
        (Form::Rest(operation), Some(target))
    } else {
        return Err(unsupported("post a message to `/`, or get the agent card"));
    };
    let query = Query::parse(parts.uri.query().unwrap_or_default()).map_err(|fault| a2a::refused(&fault))?;
    if target.is_none() {
        query.only_version().map_err(|fault| a2a::refused(&fault))?;
    }
    let headers = values(&parts.headers, &a2a::A2A_VERSION)?;
    let version = a2a::version(&headers, &query, &door.versions).and_then(|version| match target {
        Some(_) if version != Version::V10 => {
            Err(Refusal::new(Code::VersionUnsupported, "http+json is carried in 1.0 only")
                .with_hint("send `A2A-Version: 1.0`"))
        }
        _ => Ok(version),
    });
    message(door, parts, limits, version.map(|version| Call::a2a(version, form)), target)
}

fn call(door: &Door, parts: &Parts, limits: &Limits) -> Result<Arrival, Refusal> {
    let head = grpc::head::head(parts)?;
    let headers = values(&parts.headers, &a2a::A2A_VERSION)?;
    let version = a2a::version(&headers, &Query::default(), &door.versions)?;
    if version != Version::V10 {
        return Err(Refusal::new(Code::VersionUnsupported, "grpc is carried in 1.0 only")
            .with_hint("send `a2a-version: 1.0`"));
    }
    let most = limits.body_bytes.saturating_add(grpc::frame::PREFIX);
    if let Some(refusal) = receive::stated_too_large(&parts.headers, most) {
        return Err(refusal);
    }
    Ok(Arrival::Message(Admitted {
        encoding: Encoding::Identity,
        l9_context: values(&parts.headers, &L9_CONTEXT)?,
        call: Ok(Call::a2a(version, Form::Grpc(head.operation))),
        target: None,
        typed: None,
        extension: a2a::extension(&parts.headers, &door.extension),
        waits: head.timeout,
        credentials: credentials(door, &parts.headers)?,
        shown: Shown::default(),
        handshake: false,
        events: false,
    }))
}

/// What the agent behind posts to the egress listener: JSON, and nothing said in a query.
///
/// # Errors
/// `method_unsupported`, `malformed`, `encoding_unsupported`, `too_large`.
pub(crate) fn notification(door: &Door, parts: &Parts, limits: &Limits) -> Result<Admitted, Refusal> {
    no_query(parts)?;
    if parts.method != Method::POST {
        return Err(unsupported("post a notification"));
    }
    match message(door, parts, limits, Ok(Call::a2a(Version::V10, Form::JsonRpc)), None)? {
        Arrival::Message(admitted) => Ok(admitted),
        _ => Err(unsupported("post a notification")),
    }
}

fn message(
    door: &Door,
    parts: &Parts,
    limits: &Limits,
    call: Result<Call, Refusal>,
    target: Option<Target>,
) -> Result<Arrival, Refusal> {
    let typed = match content_type(&parts.headers, door.protocol) {
        Ok(json) => Some(json),
        // what has no body needs no type
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
        extension: match door.protocol {
            Protocol::A2a => a2a::extension(&parts.headers, &door.extension),
            Protocol::L8 | Protocol::Mcp => None,
        },
        waits: None,
        credentials: credentials(door, &parts.headers)?,
        shown: Shown::default(),
        handshake: false,
        events: door.protocol == Protocol::L8 && takes_events(&parts.headers),
    }))
}

/// A request that is its head alone.
fn bare(door: &Door, parts: &Parts, call: Call) -> Result<Arrival, Refusal> {
    Ok(Arrival::Message(Admitted {
        encoding: Encoding::Identity,
        l9_context: values(&parts.headers, &L9_CONTEXT)?,
        call: Ok(call),
        target: None,
        typed: None,
        extension: None,
        waits: None,
        credentials: credentials(door, &parts.headers)?,
        shown: Shown::default(),
        handshake: false,
        events: false,
    }))
}

/// Whether `Accept` names streams of events (RFC 9110 §12.5.1). `*/*` does not: a stream is asked for by its name.
fn takes_events(headers: &HeaderMap) -> bool {
    let named = |range: &str| {
        let mut parts = range.split(';').map(str::trim);
        let is = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case(EVENT_STREAM));
        let refused = |part: &str| {
            let weight = part.strip_prefix("q=").or_else(|| part.strip_prefix("Q="));
            weight.is_some_and(|weight| weight.chars().all(|digit| matches!(digit, '0' | '.')))
        };
        is && !parts.any(refused)
    };
    let texts = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    texts.flat_map(|text| text.split(',')).any(named)
}

fn credentials_of(route: &RouteConfig) -> Vec<HeaderName> {
    let choices = &route.choices;
    let authorization = choices.forward_authorization.then_some(AUTHORIZATION);
    let key = choices.api_key_header.as_ref().and_then(|name| HeaderName::try_from(name).ok());
    authorization.into_iter().chain(key).collect()
}

/// Each at most once, as it came; what is in it is the agent's to judge. `header_bytes` bounds it.
fn credentials(door: &Door, headers: &HeaderMap) -> Result<Vec<(HeaderName, HeaderValue)>, Refusal> {
    let mut shown = Vec::new();
    for name in &door.credentials {
        let mut all = headers.get_all(name).iter();
        let Some(value) = all.next() else { continue };
        if all.next().is_some() {
            return Err(malformed("a credential is shown twice").with_hint("show it once"));
        }
        let mut value = value.clone();
        value.set_sensitive(true);
        shown.push((name.clone(), value));
    }
    Ok(shown)
}

/// HTTP+JSON has a status for it (RFC 9110 §15.5.16), which goes with this code there.
fn media(fault: &Refusal) -> Refusal {
    Refusal::new(Code::EncodingUnsupported, fault.reason()).with_hint(fault.hint())
}

fn no_query(parts: &Parts) -> Result<(), Refusal> {
    match parts.uri.query() {
        Some(_) => Err(malformed("the path has a query").with_hint("nothing is said in a query here")),
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
        return Err(malformed("a get has a body").with_hint(hint));
    }
    Ok(())
}

fn unsupported(hint: &str) -> Refusal {
    Refusal::new(Code::MethodUnsupported, "there is nothing at this path for this method").with_hint(hint)
}

fn malformed(reason: &str) -> Refusal {
    Refusal::new(Code::Malformed, reason)
}

/// `application/json`, with `charset=utf-8` or without: JSON knows no other (RFC 8259 §8.1). A2A has a name of its own for it.
fn content_type(headers: &HeaderMap, protocol: Protocol) -> Result<Media, Refusal> {
    let fault = || {
        malformed("the content type is not `application/json`").with_hint("send json as `application/json`")
    };
    let mut all = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (all.next(), all.next()) else { return Err(fault()) };
    if value == "application/json" {
        return Ok(Media::Json);
    }
    let text = value.to_str().map_err(|_| fault())?.to_ascii_lowercase();
    let mut parts = text.split(';').map(str::trim);
    let json = match parts.next() {
        Some("application/json") => Media::Json,
        Some("application/a2a+json") if protocol == Protocol::A2a => Media::A2aJson,
        _ => return Err(fault()),
    };
    let charset = parts.next().is_none_or(|part| matches!(part, "charset=utf-8" | "charset=\"utf-8\""));
    if charset && parts.next().is_none() { Ok(json) } else { Err(fault()) }
}

fn content_encoding(headers: &HeaderMap) -> Result<Encoding, Refusal> {
    let fault = || {
        Refusal::new(Code::EncodingUnsupported, "the content encoding is unknown, nested or stated twice")
            .with_hint("send the body as it is, or as `gzip` or `deflate`, once")
    };
    let mut all = headers.get_all(CONTENT_ENCODING).iter();
    let Some(value) = all.next() else { return Ok(Encoding::Identity) };
    if all.next().is_some() {
        return Err(fault());
    }
    let text = value.to_str().map_err(|_| fault())?.trim().to_ascii_lowercase();
    match text.as_str() {
        "identity" => Ok(Encoding::Identity),
        "gzip" => Ok(Encoding::Gzip),
        "deflate" => Ok(Encoding::Deflate),
        _ => Err(fault()),
    }
}

/// Every value of a header, for the inspector to judge.
fn values(headers: &HeaderMap, name: &HeaderName) -> Result<Vec<String>, Refusal> {
    let mut found = Vec::new();
    for value in headers.get_all(name) {
        let text = value.to_str().map_err(|_| malformed("a header of the binding is not ascii"))?;
        found.push(text.to_owned());
    }
    Ok(found)
}
