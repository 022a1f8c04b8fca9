//! MCP over streamable HTTP.

use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method};
use semgate_inspect::Refusal;
use semgate_protocol::Call;
use semgate_protocol::mcp::Verb;

use super::{EVENTS, HttpBinding, JSON, JSON_OR_EVENTS};
use crate::config::Limits;
use crate::pipeline::admit::head::{Arrival, BODILESS, bare, message, no_query, unsupported, without_body};
use crate::pipeline::admit::rules::RouteRules;
use crate::pipeline::mcp::{At, Rules, head, judged, stamp};
use crate::pipeline::refuse::Manner;
use crate::pipeline::upstream_head::UpstreamHead;
use crate::upstream::address::Address;

#[derive(Debug)]
pub(super) struct Mcp;

impl HttpBinding for Mcp {
    fn admit(&self, rules: &RouteRules, parts: &Parts, limits: &Limits) -> Result<Arrival, Refusal> {
        no_query(parts)?;
        let reads = matches!(parts.method, Method::GET | Method::HEAD);
        if let Some(resource) = rules.resource(parts.uri.path()).filter(|_| reads) {
            without_body(parts, "get the metadata without a body")?;
            return Ok(Arrival::Metadata(resource.to_owned()));
        }
        if !rules.is_base(parts.uri.path()) {
            return Err(unsupported("post a message to `/`"));
        }
        let head = head(parts)?;
        if judged(&head.verb).is_some() {
            without_body(parts, BODILESS)?;
            return bare(rules, parts, Call::mcp(head));
        }
        message(rules, parts, limits, Ok(Call::mcp(head)), None)
    }

    fn manner(&self, rules: &RouteRules, method: &Method, path: &str, headers: &HeaderMap) -> Manner {
        let at = match (rules.is_base(path), rules.resource(path)) {
            (true, _) => At::Messages,
            (false, Some(_)) => At::Metadata,
            (false, None) => At::Nothing,
        };
        Manner::Mcp(Rules::of(method, headers, at))
    }

    fn agent_headers(
        &self,
        headers: &mut HeaderMap,
        _: &Address,
        upstream: &UpstreamHead<'_>,
    ) -> HeaderValue {
        let Some(head) = &upstream.call.mcp else { return JSON };
        stamp(headers, head);
        if matches!(head.verb, Verb::Open { .. }) { EVENTS } else { JSON_OR_EVENTS }
    }
}
