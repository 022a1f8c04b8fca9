//! Decisions from the head alone: method, path and headers. The body is still unread.

pub(crate) mod a2a;
pub(crate) mod head;
pub(crate) mod headers;
pub(crate) mod host;
pub(crate) mod rules;
#[cfg(test)]
mod tests;

use http::Method;
use http::request::Parts;
use semgate_inspect::Refusal;
use semgate_protocol::Call;
use semgate_protocol::a2a::Version;

use crate::config::Limits;
use crate::pipeline::protocol;

pub(crate) use head::{
    Admitted, Arrival, BODILESS, CARD_PATH, HANDSHAKE_PATH, L9_CONTEXT, unsupported, with_body,
};
use head::{message, no_query, without_body};
use rules::RouteRules;

/// Judges a head.
///
/// # Errors
/// `host_refused`, `method_unsupported`, `malformed`, `encoding_unsupported`, `too_large`.
pub(crate) fn admit(rules: &RouteRules, parts: &Parts, limits: &Limits) -> Result<Arrival, Refusal> {
    rules.names.judge(parts)?;
    if rules.is_handshake(parts.uri.path()) {
        return handshake(rules, parts, limits);
    }
    protocol::http(rules.binding).admit(rules, parts, limits)
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
