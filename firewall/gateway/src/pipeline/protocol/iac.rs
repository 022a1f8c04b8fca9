//! IAC travels over QUIC and byte streams, never over HTTP.

use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method};
use semgate_inspect::Refusal;

use super::{HttpBinding, JSON};
use crate::config::Limits;
use crate::pipeline::admit::head::{Arrival, unsupported};
use crate::pipeline::admit::rules::RouteRules;
use crate::pipeline::refuse::Manner;
use crate::pipeline::upstream_head::UpstreamHead;
use crate::upstream::address::Address;

#[derive(Debug)]
pub(super) struct Iac;

impl HttpBinding for Iac {
    fn admit(&self, _: &RouteRules, _: &Parts, _: &Limits) -> Result<Arrival, Refusal> {
        Err(unsupported("send signed messages, as docs/spec/iac-binding.md says"))
    }

    fn manner(&self, _: &RouteRules, _: &Method, _: &str, _: &HeaderMap) -> Manner {
        Manner::Plain
    }

    fn agent_headers(&self, _: &mut HeaderMap, _: &Address, _: &UpstreamHead<'_>) -> HeaderValue {
        JSON
    }
}
