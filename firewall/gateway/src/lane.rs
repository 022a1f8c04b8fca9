//! One route on one core, and the state shared by all cores.

mod handshakes;
mod listings;

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use arc_swap::ArcSwap;
use semgate_certs::token::TokenIssuers;
use semgate_inspect::{Inspector, Now, Peer, Route};
use semgate_negotiation::Sessions;

use crate::account::Accounts;
use crate::account::turns::Turns;
use crate::address::Address;
use crate::admit::door::Door;
use crate::authorize::Authorization;
use crate::card::Card;
use crate::clock::unix_now;
use crate::config::{Limits, McpOptions};
use crate::decision::Decisions;
use crate::egress::Egress;
use crate::measure::RouteMetrics;
use crate::record::Audit;
use crate::upstream::Pool;

pub(crate) use handshakes::Handshakes;
pub(crate) use listings::Listings;

/// State shared by all cores.
pub(crate) struct Shared {
    pub(crate) inspector: Inspector,
    pub(crate) limits: Limits,
    pub(crate) audit: Audit,
    /// Accounts of agents, on all routes.
    pub(crate) accounts: Accounts,
    pub(crate) started: Instant,
    /// True during a drain: no new connections are accepted, and idle streams end.
    pub(crate) draining: AtomicBool,
    /// Handshake sessions, which the inspector uses too.
    pub(crate) sessions: Arc<Sessions>,
    /// Current issuers of credential tokens.
    pub(crate) issuers: ArcSwap<TokenIssuers>,
    /// Benchmark build only: nothing is inspected, counted or recorded.
    #[cfg(feature = "plain-proxy")]
    pub(crate) unchecked: bool,
}

impl Shared {
    /// Reads both clocks.
    pub(crate) fn now(&self) -> Now {
        let monotonic = self.started.elapsed().as_millis();
        Now { unix: unix_now(), monotonic_ms: u64::try_from(monotonic).unwrap_or(u64::MAX) }
    }
}

/// One route on one core.
pub(crate) struct Lane {
    pub(crate) shared: Arc<Shared>,
    pub(crate) route: Arc<Route>,
    /// The route for card requests, which do not know the accepted versions yet.
    pub(crate) card_route: Arc<Route>,
    pub(crate) door: Door,
    pub(crate) address: Address,
    pub(crate) pool: Pool,
    pub(crate) card: Card,
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
    /// Lane for the agent's own notifications.
    pub(crate) egress: Option<Egress>,
}

/// A group and its members' routes, on one core.
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) members: Vec<Rc<Lane>>,
    /// Number of replies that suffices.
    pub(crate) replies: usize,
    /// Time to wait for replies.
    pub(crate) time: std::time::Duration,
}
