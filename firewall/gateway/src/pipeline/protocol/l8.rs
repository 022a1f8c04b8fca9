//! Native L8 over HTTP.

use http::header::UPGRADE;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method};
use semgate_inspect::Refusal;
use semgate_protocol::Call;

use super::{EVENTS_OR_JSON, HttpBinding, JSON};
use crate::config::Limits;
use crate::pipeline::admit::head::{Arrival, L9_CONTEXT, message, no_query, unsupported};
use crate::pipeline::admit::headers::{credentials, values};
use crate::pipeline::admit::rules::RouteRules;
use crate::pipeline::refuse::Manner;
use crate::pipeline::socket::wanted;
use crate::pipeline::upstream_head::UpstreamHead;
use crate::upstream::address::Address;

#[derive(Debug)]
pub(super) struct L8;

impl HttpBinding for L8 {
    fn admit(&self, rules: &RouteRules, parts: &Parts, limits: &Limits) -> Result<Arrival, Refusal> {
        no_query(parts)?;
        if rules.websocket && parts.headers.contains_key(UPGRADE) && rules.is_base(parts.uri.path()) {
            let l9_context = values(&parts.headers, &L9_CONTEXT)?;
            let credentials = credentials(rules, &parts.headers)?;
            return wanted::wanted(parts, l9_context, credentials).map(Arrival::Socket);
        }
        if parts.method != Method::POST || !rules.is_base(parts.uri.path()) {
            return Err(unsupported("post a message to `/`"));
        }
        message(rules, parts, limits, Ok(Call::l8()), None)
    }

    fn manner(&self, _: &RouteRules, _: &Method, _: &str, _: &HeaderMap) -> Manner {
        Manner::Plain
    }

    fn agent_headers(&self, _: &mut HeaderMap, _: &Address, upstream: &UpstreamHead<'_>) -> HeaderValue {
        if upstream.events { EVENTS_OR_JSON } else { JSON }
    }
}
