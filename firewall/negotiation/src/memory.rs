//! Memory of an endpoint, or of a gateway between two agents, about its peers.

use crate::offered::LastOffers;
use crate::replay::ReplayMemory;

/// Messages taken, and offers met. It outlives the keys of its owner, which may be read again at any time.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) replay: ReplayMemory,
    pub(crate) offers: LastOffers,
}
