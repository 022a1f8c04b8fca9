//! What a connection speaks after its last answer.

use http::{HeaderName, HeaderValue};

use crate::account::Charge;
use crate::decision::DecisionId;
use crate::identify::Shown;

/// A WebSocket was answered: what the connection speaks from then on.
#[derive(Debug)]
pub(crate) struct Agreed {
    pub(crate) l9_context: Vec<String>,
    /// What the caller shows the gateway, with every message.
    pub(crate) shown: Shown,
    pub(crate) credentials: Vec<(HeaderName, HeaderValue)>,
    pub(crate) decision: DecisionId,
    /// The request that opened it, for as long as it is open.
    pub(crate) _charge: Charge,
}
