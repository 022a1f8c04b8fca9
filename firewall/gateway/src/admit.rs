//! What a head alone decides: method, path, headers, and how often. The body has not been read.

#[cfg(test)]
mod tests;

use std::num::NonZeroU32;
use std::sync::Arc;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method};
use semgate_inspect::{Code, Refusal};

use crate::config::{Limits, Protocol};
use crate::receive;

/// The header copy of the context claim (WIRE "Messages").
pub(crate) const L9_CONTEXT: HeaderName = HeaderName::from_static("l9-context");
/// A2A 1.0 §3.6.
pub(crate) const A2A_VERSION: HeaderName = HeaderName::from_static("a2a-version");
/// A2A 1.0 §3.2.6.
pub(crate) const A2A_EXTENSIONS: HeaderName = HeaderName::from_static("a2a-extensions");
/// A2A 1.0 §8.2.
pub(crate) const CARD_PATH: &str = "/.well-known/agent-card.json";

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Identity,
    Gzip,
    /// The zlib format, which is what the name means (RFC 9110 §8.4.1.2).
    Deflate,
}

/// A head that may go on.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// A message; its body is to be read.
    Message(Admitted),
    /// A question for the agent card.
    Card,
}

/// The head of a message that may be received. Holds the two headers that say something about it, and nothing else of it.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) encoding: Encoding,
    pub(crate) l9_context: Vec<String>,
    pub(crate) a2a_version: Vec<String>,
    /// Whether the caller asked for our extension in `A2A-Extensions`; other extensions are not carried.
    pub(crate) extension: bool,
}

/// Counts arrivals of each agent, over all cores.
pub(crate) struct Gatekeeper {
    rate: DefaultKeyedRateLimiter<Arc<str>>,
    clock: DefaultClock,
}

impl Gatekeeper {
    pub(crate) fn new(limits: &Limits) -> Self {
        let rate = NonZeroU32::new(limits.rate_per_second).unwrap_or(NonZeroU32::MIN);
        let burst = NonZeroU32::new(limits.rate_burst).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_second(rate).allow_burst(burst);
        Self { rate: RateLimiter::keyed(quota), clock: DefaultClock::default() }
    }

    /// # Errors
    /// `rate_limited`, with the time after which one more message passes.
    pub(crate) fn count(&self, agent: &Arc<str>) -> Result<(), Refusal> {
        self.rate.check_key(agent).map_err(|not_until| {
            Refusal::new(Code::RateLimited, "this agent sends more messages than it may")
                .with_hint("send less often; retry after the time given")
                .with_retry_after(not_until.wait_time_from(self.clock.now()))
        })
    }

    /// Forgets agents that have been quiet; only verified agents have an entry, so this is housekeeping, not defence.
    pub(crate) fn forget_quiet(&self) {
        self.rate.retain_recent();
    }
}

/// What a route takes: set once for each listener.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    pub(crate) protocol: Protocol,
    /// The path of the agent behind, taken beside `/`.
    pub(crate) path: String,
    /// The URI of our extension.
    pub(crate) extension: String,
}

/// Judges a head.
///
/// # Errors
/// `method_unsupported`, `malformed`, `encoding_unsupported`, `too_large`.
pub(crate) fn admit(door: &Door, parts: &Parts, limits: &Limits) -> Result<Arrival, Refusal> {
    if parts.uri.query().is_some() {
        return Err(malformed("the path has a query").with_hint("nothing is said in a query here"));
    }
    let path = parts.uri.path();
    match (&parts.method, door.protocol) {
        (&Method::GET, Protocol::A2a) if path == CARD_PATH => return card(parts),
        (&Method::POST, _) if path == "/" || path == door.path => {}
        (_, Protocol::L8) => return Err(unsupported("post a message to `/`")),
        (_, Protocol::A2a) => return Err(unsupported("post a message to `/`, or get the agent card")),
    }
    content_type(&parts.headers)?;
    let encoding = content_encoding(&parts.headers)?;
    if let Some(refusal) = receive::stated_too_large(&parts.headers, limits.body_bytes) {
        return Err(refusal);
    }
    Ok(Arrival::Message(Admitted {
        encoding,
        l9_context: values(&parts.headers, &L9_CONTEXT)?,
        a2a_version: values(&parts.headers, &A2A_VERSION)?,
        extension: asks_for(&parts.headers, &door.extension),
    }))
}

fn card(parts: &Parts) -> Result<Arrival, Refusal> {
    let length = parts.headers.get(CONTENT_LENGTH).is_some_and(|length| length.as_bytes() != b"0");
    if length || parts.headers.contains_key(TRANSFER_ENCODING) {
        return Err(malformed("a get has a body").with_hint("get the agent card without a body"));
    }
    Ok(Arrival::Card)
}

fn unsupported(hint: &str) -> Refusal {
    Refusal::new(Code::MethodUnsupported, "there is nothing at this path for this method").with_hint(hint)
}

fn malformed(reason: &str) -> Refusal {
    Refusal::new(Code::Malformed, reason)
}

/// `application/json`, with `charset=utf-8` or without: JSON knows no other (RFC 8259 §8.1).
fn content_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let fault = || {
        malformed("the content type is not `application/json`").with_hint("send json as `application/json`")
    };
    let mut all = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (all.next(), all.next()) else { return Err(fault()) };
    if value == "application/json" {
        return Ok(());
    }
    let text = value.to_str().map_err(|_| fault())?.to_ascii_lowercase();
    let mut parts = text.split(';').map(str::trim);
    let json = parts.next() == Some("application/json");
    let charset = parts.next().is_none_or(|part| matches!(part, "charset=utf-8" | "charset=\"utf-8\""));
    if json && charset && parts.next().is_none() { Ok(()) } else { Err(fault()) }
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

fn asks_for(headers: &HeaderMap, extension: &str) -> bool {
    let values = headers.get_all(A2A_EXTENSIONS).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|uri| uri.trim() == extension)
}
