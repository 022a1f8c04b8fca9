//! A route that carries signed messages.

use semgate_protocol::iac::Dictionaries;

use crate::upstream::AgentOpener;

/// Parts of a route that carries signed messages, on one core.
pub(crate) struct SignedRoute {
    /// Opens connections to the agent.
    pub(crate) agent: AgentOpener,
    /// Bytes of a compressed frame.
    pub(crate) frame_bytes: usize,
    /// Bytes of one file over all its chunks.
    pub(crate) file_bytes: u64,
    /// Dictionaries that frames may use.
    pub(crate) dictionaries: Dictionaries,
}
