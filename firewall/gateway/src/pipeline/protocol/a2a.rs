//! A2A over HTTP: JSON-RPC, HTTP+JSON and gRPC.

use http::header::ACCEPT;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method};
use semgate_inspect::{Code, Refusal};
use semgate_protocol::Call;
use semgate_protocol::a2a::Version;
use semgate_protocol::a2a::rest::Query;

use super::{HttpBinding, JSON_OR_EVENTS};
use crate::config::{Limits, Transport};
use crate::pipeline::admit::a2a::{self, A2A_VERSION};
use crate::pipeline::admit::head::{
    Admitted, Arrival, CARD_PATH, L9_CONTEXT, message, no_query, unsupported, without_body,
};
use crate::pipeline::admit::headers::{Encoding, credentials, values};
use crate::pipeline::admit::rules::RouteRules;
use crate::pipeline::events::EVENT_STREAM;
use crate::pipeline::refuse::Manner;
use crate::pipeline::upstream_head::UpstreamHead;
use crate::pipeline::{grpc, receive};
use crate::upstream::address::Address;

#[derive(Debug)]
pub(super) struct A2a;

impl HttpBinding for A2a {
    fn admit(&self, rules: &RouteRules, parts: &Parts, limits: &Limits) -> Result<Arrival, Refusal> {
        if rules.is_call(&parts.headers) {
            return call(rules, parts, limits);
        }
        let path = parts.uri.path();
        // RFC 9110 §9.3.2: HEAD gets the headers of the card's answer
        let reads = matches!(parts.method, Method::GET | Method::HEAD);
        if reads && rules.below(path).any(|rest| rest == CARD_PATH) {
            no_query(parts)?;
            return card(parts);
        }
        let (operation, target) = if rules.takes(Transport::JsonRpc) && rules.is_base(path) {
            if parts.method != Method::POST {
                return Err(unsupported("post a message to `/`, or get the agent card"));
            }
            (None, None)
        } else if rules.takes(Transport::Rest) {
            let (operation, target) = a2a::target(parts, rules.below(path))?;
            (Some(operation), Some(target))
        } else {
            return Err(unsupported("post a message to `/`, or get the agent card"));
        };
        let query =
            Query::parse(parts.uri.query().unwrap_or_default()).map_err(|fault| a2a::refused(&fault))?;
        if target.is_none() {
            query.only_version().map_err(|fault| a2a::refused(&fault))?;
        }
        let headers = values(&parts.headers, &a2a::A2A_VERSION)?;
        let version = a2a::version(&headers, &query, &rules.versions).and_then(|version| match target {
            Some(_) if version != Version::V10 => {
                Err(Refusal::new(Code::VersionUnsupported, "HTTP+JSON needs version 1.0 of A2A")
                    .with_hint("send `A2A-Version: 1.0`"))
            }
            _ => Ok(version),
        });
        message(rules, parts, limits, version.map(|version| Call::json(version, operation)), target)
    }

    fn manner(&self, rules: &RouteRules, _: &Method, path: &str, headers: &HeaderMap) -> Manner {
        if rules.is_call(headers) {
            return Manner::Grpc { agent: None };
        }
        let rpc = rules.takes(Transport::JsonRpc) && rules.is_base(path);
        if rules.takes(Transport::Rest) && !rpc { Manner::Rest } else { rpc_manner(headers) }
    }

    fn agent_headers(
        &self,
        headers: &mut HeaderMap,
        address: &Address,
        upstream: &UpstreamHead<'_>,
    ) -> HeaderValue {
        headers.insert(A2A_VERSION, HeaderValue::from_static(upstream.call.version.as_str()));
        if let Some(name) = upstream.extension {
            headers.insert(name, address.extension().clone());
        }
        JSON_OR_EVENTS
    }
}

fn call(rules: &RouteRules, parts: &Parts, limits: &Limits) -> Result<Arrival, Refusal> {
    let head = grpc::head::head(parts)?;
    let headers = values(&parts.headers, &a2a::A2A_VERSION)?;
    let version = a2a::version(&headers, &Query::default(), &rules.versions)?;
    if version != Version::V10 {
        return Err(Refusal::new(Code::VersionUnsupported, "gRPC needs version 1.0 of A2A")
            .with_hint("send `a2a-version: 1.0`"));
    }
    let most = limits.body_bytes.saturating_add(grpc::frame::PREFIX);
    if let Some(refusal) = receive::stated_too_large(&parts.headers, most) {
        return Err(refusal);
    }
    Ok(Arrival::Message(Admitted {
        encoding: Encoding::Identity,
        l9_context: values(&parts.headers, &L9_CONTEXT)?,
        call: Ok(Call::grpc(head.operation)),
        target: None,
        typed: None,
        extension: a2a::extension(&parts.headers, &rules.extension),
        waits: head.timeout,
        credentials: credentials(rules, &parts.headers)?,
        handshake: false,
        events: false,
    }))
}

fn card(parts: &Parts) -> Result<Arrival, Refusal> {
    without_body(parts, "get the agent card without a body")?;
    Ok(Arrival::Card)
}

/// Answer format of JSON-RPC. Clients of 0.3 that ask for a stream accept nothing else, not even an error.
fn rpc_manner(headers: &HeaderMap) -> Manner {
    let only_events = headers.get(ACCEPT).is_some_and(|accept| accept == EVENT_STREAM);
    let old = headers.get(A2A_VERSION).is_none_or(|version| version.is_empty() || version == "0.3");
    if only_events && old { Manner::JsonRpcEvents } else { Manner::JsonRpc }
}
