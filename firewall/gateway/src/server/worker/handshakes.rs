//! Handling of one route's handshakes.

use std::sync::Arc;

use arc_swap::ArcSwap;
use semgate_contexts::Prefix;
use semgate_inspect::{Code, Refusal};
use semgate_negotiation::Trust;

use crate::server::materials::{Materials, RouteKey, Shaker};
use crate::upstream::address::Address;

/// Current handling of one route's handshakes; SIGHUP reloads certificates.
pub(crate) struct Handshakes {
    materials: Arc<ArcSwap<Materials>>,
    route: RouteKey,
    prefix: Prefix,
    /// The agent's address for handshakes, if it negotiates by itself.
    pub(crate) agent: Address,
    /// Time of the last failed request for the agent's keys. Only one task asks at a time.
    pub(crate) in_vain: tokio::sync::Mutex<Option<std::time::Instant>>,
}

impl Handshakes {
    pub(crate) fn new(
        materials: Arc<ArcSwap<Materials>>,
        route: RouteKey,
        prefix: Prefix,
        agent: Address,
    ) -> Self {
        Self { materials, route, prefix, agent, in_vain: tokio::sync::Mutex::default() }
    }

    pub(crate) fn now(&self) -> Result<(Arc<Materials>, Shaker), Refusal> {
        let materials = self.materials.load_full();
        match materials.endpoints.get(&self.route).cloned() {
            Some(shaker) => Ok((materials, shaker)),
            None => Err(Refusal::new(Code::MethodUnsupported, "no handshakes are answered here")),
        }
    }

    /// Accepted signers.
    pub(crate) fn trust<'t>(&'t self, materials: &'t Materials) -> Trust<'t> {
        Trust { roots: &materials.peers, prefix: &self.prefix }
    }
}
