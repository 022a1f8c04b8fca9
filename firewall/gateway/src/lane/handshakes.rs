//! What is needed to take part in the handshakes of one route.

use std::sync::Arc;

use arc_swap::ArcSwap;
use semgate_contexts::Prefix;
use semgate_inspect::{Code, Refusal};
use semgate_negotiation::Trust;

use crate::address::Address;
use crate::materials::{Materials, Shaker};

/// Who deals with the handshakes of one route, as it is now: certificates are read again on SIGHUP.
pub(crate) struct Handshakes {
    materials: Arc<ArcSwap<Materials>>,
    at: usize,
    prefix: Prefix,
    /// Where the agent behind takes handshakes, if it negotiates by itself.
    pub(crate) behind: Address,
    /// When the agent behind was last asked for its keys in vain; one asks at a time.
    pub(crate) in_vain: tokio::sync::Mutex<Option<std::time::Instant>>,
}

impl Handshakes {
    pub(crate) fn new(
        materials: Arc<ArcSwap<Materials>>,
        at: usize,
        prefix: Prefix,
        behind: Address,
    ) -> Self {
        Self { materials, at, prefix, behind, in_vain: tokio::sync::Mutex::default() }
    }

    pub(crate) fn now(&self) -> Result<(Arc<Materials>, Shaker), Refusal> {
        let materials = self.materials.load_full();
        match materials.endpoints.get(self.at).cloned().flatten() {
            Some(shaker) => Ok((materials, shaker)),
            None => Err(Refusal::new(Code::MethodUnsupported, "no handshakes are answered here")),
        }
    }

    /// Whose signatures count.
    pub(crate) fn trust<'t>(&'t self, materials: &'t Materials) -> Trust<'t> {
        Trust { roots: &materials.peers, prefix: &self.prefix }
    }
}
