//! LDP over HTTP: envelopes, and the documents of a delegate.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use semgate_contexts::json;
use semgate_inspect::Refusal;
use semgate_protocol::Call;
use semgate_protocol::ldp::{self, Endpoint};

use super::{HttpBinding, JSON};
use crate::config::Limits;
use crate::pipeline::admit::a2a::Target;
use crate::pipeline::admit::head::{Arrival, message, no_query, unsupported, without_body};
use crate::pipeline::admit::rules::RouteRules;
use crate::pipeline::refuse::Manner;
use crate::pipeline::upstream_head::UpstreamHead;
use crate::upstream::address::Address;

/// Digest of a body (RFC 9530). A signature of LDP covers no input and no output.
const CONTENT_DIGEST: HeaderName = HeaderName::from_static("content-digest");

#[derive(Debug)]
pub(super) struct Ldp;

impl HttpBinding for Ldp {
    fn admit(&self, rules: &RouteRules, parts: &Parts, limits: &Limits) -> Result<Arrival, Refusal> {
        no_query(parts)?;
        // RFC 9110 §9.3.2: HEAD gets the headers of the document
        let method = if parts.method == Method::HEAD { "GET" } else { parts.method.as_str() };
        match rules.below(parts.uri.path()).find_map(|path| ldp::route(method, path).ok()) {
            None => Err(unsupported("post an envelope to `/ldp/messages`, or get `/ldp/identity`")),
            Some(Endpoint::Messages) => {
                let path = Endpoint::Messages.path().to_owned();
                let target = Target { method: Method::POST, path, query: None };
                message(rules, parts, limits, Ok(Call::ldp(Endpoint::Messages)), Some(target))
            }
            Some(document) => {
                without_body(parts, "get the document without a body")?;
                Ok(Arrival::Document(Call::ldp(document)))
            }
        }
    }

    fn manner(&self, _: &RouteRules, _: &Method, _: &str, _: &HeaderMap) -> Manner {
        Manner::Own
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
