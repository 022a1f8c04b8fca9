//! Memory of an endpoint, or of a gateway between two agents, about its peers.

use crate::last_offers::LastOffers;
use crate::replay::ReplayMemory;

/// Messages taken, and offers met. It outlives the keys of its owner, which may be read again at any time.
#[derive(Debug, Default)]
pub(crate) struct HandshakeMemory {
    pub(crate) replay: ReplayMemory,
    pub(crate) offers: LastOffers,
}
