//! Requests that a route accepts from callers of its listener.

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName};
use semgate_approvals::HumanId;
use semgate_protocol::Binding;
use semgate_protocol::a2a::Version;

use super::head::HANDSHAKE_PATH;
use super::host::Names;
use crate::config::{RouteConfig, Transport};
use crate::pipeline::authorize::{DPOP, WELL_KNOWN};
use crate::pipeline::grpc;

/// Rules of a route, set once for each listener.
#[derive(Clone, Debug)]
pub(crate) struct RouteRules {
    pub(crate) binding: Binding,
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
    /// A2H: the person of a request that names nobody.
    pub(crate) default_human: Option<HumanId>,
    /// Names of the listener.
    pub(crate) names: Names,
}

impl RouteRules {
    pub(crate) fn new(route: &RouteConfig, extension: &str) -> Self {
        let http = route.binding.protocol().traits().http;
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
            if bare.is_empty() || http.joins_paths {
                one(format!("{bare}/"));
            }
        }
        // the longest first, so that no part of an agent's path is taken for a tenant
        paths.sort_by_key(|path| std::cmp::Reverse(path.len()));
        Self {
            binding: route.binding,
            paths,
            extension: extension.to_owned(),
            versions: route.a2a.versions.clone(),
            transports: if http.has_transports { route.a2a.transports.clone() } else { Vec::new() },
            push: route.a2a.push.is_some(),
            handshakes: route.agent.handshake.is_some(),
            credentials: credentials_of(route),
            metadata: is_authorized(route),
            websocket: route.l8.websocket,
            default_human: route.a2h.default_human.clone(),
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

    /// Returns true if a request is a gRPC call here.
    pub(crate) fn is_call(&self, headers: &HeaderMap) -> bool {
        self.takes(Transport::Grpc) && grpc::head::is_call(headers)
    }

    pub(crate) fn takes(&self, transport: Transport) -> bool {
        self.transports.contains(&transport)
    }
}

fn credentials_of(route: &RouteConfig) -> Vec<HeaderName> {
    let authorization = route.forward_authorization.then_some(AUTHORIZATION);
    let key = route.api_key_header.as_ref().and_then(|name| HeaderName::try_from(name).ok());
    let proof = is_authorized(route).then_some(DPOP);
    authorization.into_iter().chain(proof).chain(key).collect()
}

/// Returns true if the route supports MCP authorization.
pub(crate) fn is_authorized(route: &RouteConfig) -> bool {
    route.binding.protocol().traits().http.has_authorization && route.forward_authorization
}
