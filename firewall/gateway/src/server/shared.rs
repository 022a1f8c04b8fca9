//! State shared by all cores.

use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;
use semgate_certs::token::TokenIssuers;
use semgate_inspect::{Inspector, Now};
use semgate_negotiation::Sessions;

use crate::approvals::Desk;
use crate::clock::unix_now;
use crate::config::{ApprovalsConfig, Limits};
use crate::pipeline::record::Audit;
use crate::server::account::Accounts;
use crate::upstream::internal_addresses::InternalAddresses;

/// State shared by all cores.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) inspector: Arc<Inspector>,
    /// Limits of the routes that hold this value; a reload makes another one.
    pub(crate) limits: Limits,
    pub(crate) audit: Audit,
    /// Accounts of agents, on all routes.
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) started: Instant,
    /// Internal addresses of all routes.
    pub(crate) inside: InternalAddresses,
    /// Handshake sessions, which the inspector uses too.
    pub(crate) sessions: Arc<Sessions>,
    /// People who approve messages, if the gateway asks any.
    pub(crate) approvals: Option<(Desk, Arc<ApprovalsConfig>)>,
    /// Current issuers of credential tokens.
    pub(crate) issuers: Arc<ArcSwap<TokenIssuers>>,
}

impl Shared {
    /// Reads both clocks.
    pub(crate) fn now(&self) -> Now {
        let monotonic = self.started.elapsed().as_millis();
        Now { unix: unix_now(), monotonic_ms: u64::try_from(monotonic).unwrap_or(u64::MAX) }
    }
}
