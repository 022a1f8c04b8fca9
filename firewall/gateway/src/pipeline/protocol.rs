//! The HTTP side of each binding: heads of requests, forms of answers, and heads for the agent.

mod a2a;
mod a2h;
mod iac;
mod l8;
mod ldp;
mod mcp;

use std::fmt;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method};
use semgate_contexts::json;
use semgate_inspect::Refusal;
use semgate_protocol::Binding;

use crate::config::Limits;
use crate::pipeline::admit::a2a::Target;
use crate::pipeline::admit::head::Arrival;
use crate::pipeline::admit::rules::RouteRules;
use crate::pipeline::refuse::Manner;
use crate::pipeline::upstream_head::UpstreamHead;
use crate::upstream::address::Address;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
/// `Accept` with the caller's own choice first.
const EVENTS_OR_JSON: HeaderValue = HeaderValue::from_static("text/event-stream, application/json");
const JSON_OR_EVENTS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// A binding's use of HTTP.
pub(crate) trait HttpBinding: fmt::Debug + Sync {
    /// Judges the head of a request. Host names and handshakes were judged before.
    ///
    /// # Errors
    /// `method_unsupported`, `malformed`, `encoding_unsupported`, `too_large`.
    fn admit(&self, rules: &RouteRules, parts: &Parts, limits: &Limits) -> Result<Arrival, Refusal>;

    /// Format of every answer to a request with this head.
    fn manner(&self, rules: &RouteRules, method: &Method, path: &str, headers: &HeaderMap) -> Manner;

    /// Path, query and body of a request as one JSON object for inspection, where the path names the operation.
    ///
    /// # Errors
    /// `malformed` and related codes for input without a single reading.
    fn judged(
        &self,
        _rules: &RouteRules,
        target: &Target,
        body: &Bytes,
        limits: &json::Limits,
    ) -> Result<Bytes, Refusal> {
        target.judged(body, limits)
    }

    /// Adds the binding's headers for the agent, and returns `Accept`.
    fn agent_headers(
        &self,
        headers: &mut HeaderMap,
        address: &Address,
        upstream: &UpstreamHead<'_>,
    ) -> HeaderValue;

    /// Adds headers that depend on the forwarded bytes.
    fn body_headers(&self, _headers: &mut HeaderMap, _body: &Bytes) {}
}

/// The HTTP side of a binding.
pub(crate) fn http(binding: Binding) -> &'static dyn HttpBinding {
    match binding {
        Binding::L8 => &l8::L8,
        Binding::A2a => &a2a::A2a,
        Binding::Mcp => &mcp::Mcp,
        Binding::A2h => &a2h::A2h,
        Binding::Ldp => &ldp::Ldp,
        Binding::Iac => &iac::Iac,
    }
}

/// Format of every answer to a request with this method, path and headers. Handshakes are native L8 on every route.
pub(crate) fn manner(rules: &RouteRules, method: &Method, path: &str, headers: &HeaderMap) -> Manner {
    if rules.is_handshake(path) {
        return Manner::Plain;
    }
    http(rules.binding).manner(rules, method, path, headers)
}
