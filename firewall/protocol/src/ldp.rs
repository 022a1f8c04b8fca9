//! LDP: delegates with identity cards, sessions and tasks (`docs/spec/ldp-binding.md`).
//!
//! The envelope is closed, for each type of body. Members that are `null` are absent, and are removed before a message is
//! read. A task's skill names the concept of its input. Everything else is a concept of `urn:contexts:ldp:v1.0`.

mod binding;
mod body;
mod contract;
mod envelope;
mod kind;
mod provenance;
mod refusal;
mod reply;

pub(crate) use binding::Ldp;
pub(crate) use provenance::is_verified;

use crate::{MessageFault, fault::FaultKind};

/// An endpoint of a delegate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// `POST /ldp/messages`: one envelope, answered by one envelope.
    Messages,
    /// `GET /ldp/identity` and `GET /.well-known/ldp-identity`: the identity card.
    Identity,
    /// `GET /ldp/capabilities`: the capability manifest.
    Capabilities,
}

impl Endpoint {
    /// The path, which clients join to the address of the delegate.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Messages => "/ldp/messages",
            Self::Identity => "/ldp/identity",
            Self::Capabilities => "/ldp/capabilities",
        }
    }
}

/// The path of the identity card that the protocol prefers.
pub const WELL_KNOWN: &str = "/.well-known/ldp-identity";

/// The judged JSON of a request without a body.
pub const NO_BODY: &[u8] = b"{}";

/// The endpoint of a request.
///
/// # Errors
/// `method_unsupported` for any other method or path; `/ldp/stream` exists in no implementation.
pub fn route(method: &str, path: &str) -> Result<Endpoint, MessageFault> {
    match (method, path) {
        ("POST", "/ldp/messages") => Ok(Endpoint::Messages),
        ("GET", "/ldp/identity" | WELL_KNOWN) => Ok(Endpoint::Identity),
        ("GET", "/ldp/capabilities") => Ok(Endpoint::Capabilities),
        _ => Err(MessageFault {
            kind: FaultKind::MethodUnsupported,
            path: String::new(),
            what: "is for no endpoint that this binding carries",
        }),
    }
}

#[cfg(test)]
mod tests;
