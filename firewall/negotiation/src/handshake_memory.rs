//! What an endpoint or a gateway between two agents remembers of whom it heard.

use crate::last_offers::LastOffers;
use crate::replay::ReplayMemory;

/// What was taken, and what was offered: outlives the keys of whoever remembers it, which may be read again at any time.
#[derive(Debug, Default)]
pub(crate) struct HandshakeMemory {
    pub(crate) replay: ReplayMemory,
    pub(crate) offers: LastOffers,
}
