//! Protocol of a connection after its last HTTP answer.

use std::rc::Rc;

use http::{HeaderName, HeaderValue};

use crate::pipeline::decision::DecisionId;
use crate::pipeline::identify::Shown;
use crate::pipeline::trace::Trace;
use crate::server::account::Charge;

/// A WebSocket accepted in the last answer.
#[derive(Debug)]
pub(crate) struct Agreed {
    pub(crate) l9_context: Vec<String>,
    /// The caller's credentials for the gateway, which apply to every message.
    pub(crate) shown: Shown,
    pub(crate) credentials: Vec<(HeaderName, HeaderValue)>,
    pub(crate) trace: Rc<Trace>,
    pub(crate) decision: DecisionId,
    /// Charge of the opening request, held while the socket is open.
    pub(crate) _charge: Charge,
}
