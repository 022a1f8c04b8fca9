//! Facts for the head of a request to the agent.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use semgate_protocol::Call;

use crate::pipeline::admit::a2a::Target;
use crate::pipeline::admit::headers::Media;
use crate::pipeline::identify::Identity;
use crate::pipeline::trace::Trace;
use crate::upstream::address::Address;

/// Facts for the agent besides the message bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpstreamHead<'t> {
    pub(crate) identity: &'t Identity,
    /// The caller's `L9-Context`, which the inspector compared with the message.
    pub(crate) l9_context: Option<&'t str>,
    /// The header with which the caller asked for our extension.
    pub(crate) extension: Option<&'t HeaderName>,
    /// The call that the head settled.
    pub(crate) call: &'t Call,
    /// HTTP+JSON: target of the request.
    pub(crate) target: Option<&'t Target>,
    /// HTTP+JSON: media type of the body.
    pub(crate) typed: Option<Media>,
    /// gRPC: time to wait, which becomes the agent's deadline.
    pub(crate) waits: Duration,
    /// Native L8: true if the caller accepts a stream.
    pub(crate) events: bool,
    /// The caller's credentials for the agent, if the route forwards them.
    pub(crate) credentials: &'t [(HeaderName, HeaderValue)],
    pub(crate) decision: &'t str,
    pub(crate) trace: &'t Trace,
    /// Handshakes: their target, and a replacement body, if any.
    pub(crate) resealed: Option<Resealed<'t>>,
}

/// A handshake on its way to the agent. The gateway reseals a sealed message, and changes nothing that is signed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resealed<'t> {
    pub(crate) address: &'t Address,
    /// The resealed message; `None` forwards it unchanged.
    pub(crate) body: Option<&'t Bytes>,
}
