//! LDP over HTTP: envelopes, and the documents of a delegate.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use semgate_contexts::json;
use semgate_inspect::Refusal;
use semgate_protocol::Call;

use super::{HttpBinding, JSON};
use crate::config::Limits;
use crate::local::identity_card::{About, CAPABILITIES_PATH, IDENTITY_PATH};
use crate::pipeline::admit::a2a::Target;
use crate::pipeline::admit::head::{Arrival, message, no_query, unsupported, without_body};
use crate::pipeline::admit::rules::RouteRules;
use crate::pipeline::refuse::Manner;
use crate::pipeline::upstream_head::UpstreamHead;
use crate::upstream::address::Address;

/// Path of envelopes.
const MESSAGES_PATH: &str = "/ldp/messages";
/// Path of the card by the specification; implementations serve it at [`IDENTITY_PATH`] too.
const WELL_KNOWN: &str = "/.well-known/ldp-identity";
/// Digest of a body (RFC 9530). A signature of LDP covers no input and no output.
const CONTENT_DIGEST: HeaderName = HeaderName::from_static("content-digest");

#[derive(Debug)]
pub(super) struct Ldp;

impl HttpBinding for Ldp {
    fn admit(&self, rules: &RouteRules, parts: &Parts, limits: &Limits) -> Result<Arrival, Refusal> {
        no_query(parts)?;
        let path = parts.uri.path();
        if matches!(parts.method, Method::GET | Method::HEAD)
            && let Some(about) = rules.below(path).find_map(about)
        {
            without_body(parts, "get the document without a body")?;
            return Ok(Arrival::Identity(about));
        }
        if parts.method != Method::POST || !takes(rules, path) {
            return Err(unsupported("post an envelope to `/ldp/messages`, or get `/ldp/identity`"));
        }
        let target = Target { method: Method::POST, path: MESSAGES_PATH.to_owned(), query: None };
        message(rules, parts, limits, Ok(Call::ldp()), Some(target))
    }

    fn manner(&self, rules: &RouteRules, _: &Method, path: &str, _: &HeaderMap) -> Manner {
        if takes(rules, path) { Manner::Own } else { Manner::Plain }
    }

    fn judged(&self, _: &RouteRules, _: &Target, body: &Bytes, _: &json::Limits) -> Result<Bytes, Refusal> {
        Ok(body.clone())
    }

    fn agent_headers(&self, _: &mut HeaderMap, _: &Address, _: &UpstreamHead<'_>) -> HeaderValue {
        JSON
    }

    fn body_headers(&self, headers: &mut HeaderMap, body: &Bytes) {
        let digest = ring::digest::digest(&ring::digest::SHA256, body);
        if let Ok(value) = HeaderValue::try_from(format!("sha-256=:{}:", STANDARD.encode(digest))) {
            headers.insert(CONTENT_DIGEST, value);
        }
    }
}

/// True of the path of envelopes.
fn takes(rules: &RouteRules, path: &str) -> bool {
    rules.below(path).any(|rest| rest == MESSAGES_PATH)
}

/// The document at a path below the route's.
fn about(path: &str) -> Option<About> {
    match path {
        WELL_KNOWN | IDENTITY_PATH => Some(About::Identity),
        CAPABILITIES_PATH => Some(About::Capabilities),
        _ => None,
    }
}
