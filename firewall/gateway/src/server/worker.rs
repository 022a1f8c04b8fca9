//! One route on one core.

mod course;
mod handshakes;
mod listings;
mod signed_route;

use std::rc::Rc;
use std::sync::Arc;

use semgate_inspect::{Peer, Route};

use crate::config::McpOptions;
use crate::control::metrics::RouteMetrics;
use crate::local::card::Card;
use crate::local::identity_card::Identity;
use crate::pipeline::admit::rules::RouteRules;
use crate::pipeline::authorize::Authorization;
use crate::pipeline::decision::Decisions;
use crate::server::account::turns::Turns;
use crate::server::shared::Shared;
use crate::upstream::Pool;
use crate::upstream::address::Address;
use crate::upstream::egress::Egress;

pub(crate) use course::{Course, Phase};
pub(crate) use handshakes::Handshakes;
pub(crate) use listings::Listings;
pub(crate) use signed_route::SignedRoute;

/// One route on one core.
pub(crate) struct RouteWorker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) route: Arc<Route>,
    /// The route for card requests, which do not know the accepted versions yet.
    pub(crate) card_route: Arc<Route>,
    pub(crate) rules: RouteRules,
    pub(crate) address: Address,
    pub(crate) pool: Pool,
    pub(crate) card: Card,
    /// LDP: the delegate's pinned documents.
    pub(crate) identity: Option<Identity>,
    pub(crate) decisions: Rc<Decisions>,
    /// Scheduler of this core.
    pub(crate) turns: Rc<Turns>,
    pub(crate) metrics: RouteMetrics,
    /// The route's receiver as the sender of replies. It is known by configuration on loopback, and verified by [`Pool`] over
    /// TLS.
    pub(crate) replier: Peer,
    pub(crate) handshakes: Handshakes,
    /// Members of the group, if the route leads to one.
    pub(crate) group: Option<Group>,
    /// MCP: locks for tool lists that the gateway requests for a caller. One list at a time serves all waiting calls.
    pub(crate) listings: Listings,
    /// MCP: authorization, if callers send credentials to the server.
    pub(crate) authorization: Option<Authorization>,
    /// Options of MCP.
    pub(crate) mcp: McpOptions,
    /// Listener for the agent's own notifications.
    pub(crate) egress: Option<Egress>,
    /// Parts for signed messages, if the binding has them.
    pub(crate) signed: Option<Rc<SignedRoute>>,
    /// Course of the route's listeners.
    pub(crate) course: Course,
}

/// A group and its members' routes, on one core.
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) members: Vec<Rc<RouteWorker>>,
    /// Number of replies that suffices.
    pub(crate) replies: usize,
    /// Time to wait for replies.
    pub(crate) time: std::time::Duration,
}
