//! One route on one core, and what all cores share.

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
use crate::config::{Limits, StreamChoices};
use crate::decision::Decisions;
use crate::egress::Egress;
use crate::measure::RouteMetrics;
use crate::record::Audit;
use crate::upstream::Pool;

pub(crate) use handshakes::Handshakes;
pub(crate) use listings::Listings;

/// What all cores share.
pub(crate) struct Shared {
    pub(crate) inspector: Inspector,
    pub(crate) limits: Limits,
    pub(crate) audit: Audit,
    /// The accounts of agents, on all routes.
    pub(crate) accounts: Accounts,
    pub(crate) started: Instant,
    /// No new connection is taken: streams that are silent for as long as nothing happens end.
    pub(crate) draining: AtomicBool,
    /// What handshakes leave behind; the inspector honours the same.
    pub(crate) sessions: Arc<Sessions>,
    /// Whose tokens count as credentials, as it is now.
    pub(crate) issuers: ArcSwap<TokenIssuers>,
    /// The benchmark's build only: nothing is inspected, counted or recorded.
    #[cfg(feature = "plain-proxy")]
    pub(crate) unchecked: bool,
}

impl Shared {
    /// Both clocks.
    pub(crate) fn now(&self) -> Now {
        let monotonic = self.started.elapsed().as_millis();
        Now { unix: unix_now(), monotonic_ms: u64::try_from(monotonic).unwrap_or(u64::MAX) }
    }
}

/// One route on one core.
pub(crate) struct Lane {
    pub(crate) shared: Arc<Shared>,
    pub(crate) route: Arc<Route>,
    /// The same for who asks for the card, and does not know yet which versions are taken.
    pub(crate) card_route: Arc<Route>,
    pub(crate) door: Door,
    pub(crate) address: Address,
    pub(crate) pool: Pool,
    pub(crate) card: Card,
    pub(crate) decisions: Rc<Decisions>,
    /// The order in which the work of this core is done.
    pub(crate) turns: Rc<Turns>,
    pub(crate) metrics: RouteMetrics,
    /// The route's receiver: who answers, by configuration on loopback, and by what [`Pool`] verifies over TLS.
    pub(crate) replier: Peer,
    pub(crate) handshakes: Handshakes,
    /// The members that a message is for, where the route is one to a group.
    pub(crate) group: Option<Group>,
    /// Held while the tools of a server of MCP are listed in a caller's place: one list at a time answers for all who wait.
    pub(crate) listings: Listings,
    /// MCP: what passes of authorization, where callers show the server behind their credentials.
    pub(crate) authorization: Option<Authorization>,
    /// MCP: what is taken of streams.
    pub(crate) streams: StreamChoices,
    /// On which notifications of the agent behind leave.
    pub(crate) egress: Option<Egress>,
}

/// A group and the routes to its members, on one core.
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) members: Vec<Rc<Lane>>,
    /// Replies that are enough.
    pub(crate) replies: usize,
    /// How long they are waited for.
    pub(crate) time: std::time::Duration,
}
