//! Requests that a route accepts from callers of its listener.

use http::header::{ACCEPT, AUTHORIZATION};
use http::{HeaderMap, HeaderName, Method};
use semgate_protocol::a2a::Version;

use super::HANDSHAKE_PATH;
use super::a2a::A2A_VERSION;
use super::host::Names;
use crate::config::{Protocol, RouteConfig, Transport};
use crate::pipeline::authorize::{DPOP, WELL_KNOWN};
use crate::pipeline::events::EVENT_STREAM;
use crate::pipeline::grpc;
use crate::pipeline::mcp::{At, Rules};
use crate::pipeline::refuse::Manner;

/// Rules of a route, set once for each listener.
#[derive(Clone, Debug)]
pub(crate) struct RouteRules {
    pub(crate) protocol: Protocol,
    /// Paths for callers: `/`, the agent's path and the path of the public URL. Each is listed with and without a final
    /// slash.
    pub(crate) paths: Vec<String>,
    /// The URI of our extension.
    pub(crate) extension: String,
    /// Accepted versions of A2A.
    pub(crate) versions: Vec<Version>,
    /// Accepted transports of A2A.
    pub(crate) transports: Vec<Transport>,
    /// True if push configurations are forwarded.
    pub(crate) push: bool,
    /// True if the gateway answers handshakes here.
    pub(crate) handshakes: bool,
    /// Headers with callers' credentials for the agent.
    pub(crate) credentials: Vec<HeaderName>,
    /// MCP: true if metadata of a protected resource are forwarded.
    pub(crate) metadata: bool,
    /// True if WebSockets are supported.
    pub(crate) websocket: bool,
    /// Names of the listener.
    pub(crate) names: Names,
}

impl RouteRules {
    pub(crate) fn new(route: &RouteConfig, extension: &str) -> Self {
        let public = route.public_url.as_deref().and_then(|url| url.split_once("://"));
        let public = public.and_then(|(_, rest)| rest.find('/').and_then(|at| rest.get(at..)));
        let mut paths = Vec::new();
        for path in ["/", &route.upstream.path].into_iter().chain(public) {
            let bare = path.trim_end_matches('/');
            let mut one = |path: String| {
                if !path.is_empty() && !paths.contains(&path) {
                    paths.push(path);
                }
            };
            one(bare.to_owned());
            // clients join paths to the base of an A2A interface
            if bare.is_empty() || route.protocol == Protocol::A2a {
                one(format!("{bare}/"));
            }
        }
        // the longest first, so that no part of an agent's path is taken for a tenant
        paths.sort_by_key(|path| std::cmp::Reverse(path.len()));
        Self {
            protocol: route.protocol,
            paths,
            extension: extension.to_owned(),
            versions: route.a2a.versions.clone(),
            transports: route.a2a.transports.clone(),
            push: route.a2a.push.is_some(),
            handshakes: route.agent.handshake.is_some(),
            credentials: credentials_of(route),
            metadata: is_authorized(route),
            websocket: route.l8.websocket,
            names: Names::of(route),
        }
    }

    /// Remainders of the path below each base, with their leading slash.
    pub(crate) fn below<'p>(&self, path: &'p str) -> impl Iterator<Item = &'p str> {
        let bases = self.paths.iter().map(|base| base.trim_end_matches('/'));
        bases.filter_map(|base| path.strip_prefix(base)).filter(|rest| rest.starts_with('/'))
    }

    /// Path of the resource whose metadata the caller requests, if the route supports metadata.
    pub(crate) fn resource<'p>(&self, path: &'p str) -> Option<&'p str> {
        let rest = path.strip_prefix(WELL_KNOWN).filter(|_| self.metadata)?;
        (rest.is_empty() || self.is_base(rest)).then_some(rest)
    }

    /// Returns true if this is the address of handshakes.
    pub(crate) fn is_handshake(&self, path: &str) -> bool {
        self.handshakes && self.below(path).any(|rest| rest == HANDSHAKE_PATH)
    }

    /// Returns true if messages are posted to this path.
    pub(crate) fn is_base(&self, path: &str) -> bool {
        self.paths.iter().any(|base| base == path)
    }

    /// Format of every answer to a request with this method, path and headers.
    pub(crate) fn manner(&self, method: &Method, path: &str, headers: &HeaderMap) -> Manner {
        match self.protocol {
            _ if self.is_handshake(path) => Manner::Plain,
            Protocol::L8 => Manner::Plain,
            Protocol::Mcp => {
                let at = match (self.is_base(path), self.resource(path)) {
                    (true, _) => At::Messages,
                    (false, Some(_)) => At::Metadata,
                    (false, None) => At::Nothing,
                };
                Manner::Mcp(Rules::of(method, headers, at))
            }
            Protocol::A2a if self.is_call(headers) => Manner::Grpc { agent: None },
            Protocol::A2a if self.takes(Transport::Rest) => {
                let rpc = self.takes(Transport::JsonRpc) && self.is_base(path);
                if rpc { rpc_manner(headers) } else { Manner::Rest }
            }
            Protocol::A2a => rpc_manner(headers),
        }
    }

    /// Returns true if a request is a gRPC call here.
    pub(crate) fn is_call(&self, headers: &HeaderMap) -> bool {
        self.takes(Transport::Grpc) && grpc::head::is_call(headers)
    }

    pub(crate) fn takes(&self, transport: Transport) -> bool {
        self.protocol == Protocol::A2a && self.transports.contains(&transport)
    }
}

/// Answer format of JSON-RPC. Clients of 0.3 that ask for a stream accept nothing else, not even an error.
fn rpc_manner(headers: &HeaderMap) -> Manner {
    let only_events = headers.get(ACCEPT).is_some_and(|accept| accept == EVENT_STREAM);
    let old = headers.get(A2A_VERSION).is_none_or(|version| version.is_empty() || version == "0.3");
    if only_events && old { Manner::JsonRpcEvents } else { Manner::JsonRpc }
}

fn credentials_of(route: &RouteConfig) -> Vec<HeaderName> {
    let authorization = route.forward_authorization.then_some(AUTHORIZATION);
    let key = route.api_key_header.as_ref().and_then(|name| HeaderName::try_from(name).ok());
    let proof = is_authorized(route).then_some(DPOP);
    authorization.into_iter().chain(proof).chain(key).collect()
}

/// Returns true if the route supports MCP authorization.
pub(crate) fn is_authorized(route: &RouteConfig) -> bool {
    route.protocol == Protocol::Mcp && route.forward_authorization
}
