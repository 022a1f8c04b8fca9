//! A2H over HTTP: requests to people, which the gateway answers.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method};
use semgate_contexts::json;
use semgate_inspect::{Code, Refusal};
use semgate_protocol::a2a::rest::Query;
use semgate_protocol::{Call, MessageFault, a2h};

use super::{HttpBinding, JSON};
use crate::config::Limits;
use crate::pipeline::admit::a2a::Target;
use crate::pipeline::admit::head::{Arrival, message, unsupported, without_body};
use crate::pipeline::admit::rules::RouteRules;
use crate::pipeline::refuse::Manner;
use crate::pipeline::upstream_head::UpstreamHead;
use crate::upstream::address::Address;

#[derive(Debug)]
pub(super) struct A2h;

impl HttpBinding for A2h {
    fn admit(&self, rules: &RouteRules, parts: &Parts, limits: &Limits) -> Result<Arrival, Refusal> {
        let method = parts.method.as_str();
        let mut fault = None;
        for path in rules.below(parts.uri.path()) {
            match a2h::route(method, path) {
                Ok(target) => {
                    if parts.method == Method::GET {
                        without_body(parts, "ask without a body")?;
                    }
                    let call = Call::a2h(target.operation, target.dialect);
                    let (method, path) = (parts.method.clone(), path.to_owned());
                    let query = parts.uri.query().map(str::to_owned);
                    return message(rules, parts, limits, Ok(call), Some(Target { method, path, query }));
                }
                Err(why) => fault = fault.or(Some(refused(&why))),
            }
        }
        Err(fault.unwrap_or_else(|| unsupported("post to `/a2h/v1/interactions`")))
    }

    fn manner(&self, _: &RouteRules, _: &Method, _: &str, _: &HeaderMap) -> Manner {
        Manner::Plain
    }

    fn judged(
        &self,
        rules: &RouteRules,
        target: &Target,
        body: &Bytes,
        limits: &json::Limits,
    ) -> Result<Bytes, Refusal> {
        let to = a2h::route(target.method.as_str(), &target.path).map_err(|fault| refused(&fault))?;
        let query =
            Query::parse(target.query.as_deref().unwrap_or_default()).map_err(|fault| refused(&fault))?;
        let read = if body.is_empty() { None } else { Some(json::read(body, limits)) };
        let body = match &read {
            // the inspector reads the same bytes and reports the fault
            Some(Err(_)) => return Ok(body.clone()),
            Some(Ok(json)) => Some(json),
            None => None,
        };
        let human = rules.default_human.as_ref().map(semgate_approvals::HumanId::as_str);
        a2h::params(&to, &query, body, human).map(Bytes::from).map_err(|fault| refused(&fault))
    }

    fn agent_headers(&self, _: &mut HeaderMap, _: &Address, _: &UpstreamHead<'_>) -> HeaderValue {
        JSON
    }
}

/// Converts a fault of head or parameters into its refusal.
fn refused(fault: &MessageFault) -> Refusal {
    let refusal = Refusal::of_message(fault, semgate_protocol::Binding::A2h);
    if refusal.code() == Code::MethodUnsupported {
        return refusal.with_hint("see docs/spec/a2h-binding.md for the paths that are carried");
    }
    refusal
}
