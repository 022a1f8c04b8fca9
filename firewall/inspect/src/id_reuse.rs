//! Request ids in MCP sessions. Each is used once, since the answer to a second use would be ambiguous.

use crate::{
    Code, Inspector, Kind, Peer, Refusal, Route,
    decide::Decided,
    inspection::Inspection,
    mcp_session::{Asking, NotFree, SessionKey, WantedId},
    ownership::{in_session, no_session},
};
use semgate_protocol::{Call, RpcId};
use std::sync::Arc;

/// Reserves the id of a request in its session, if it has both. Call it before anything is counted; the
/// request need not be sent.
///
/// # Errors
/// `malformed`: another request of the session has the id. `rate_limited`: the limit of open ids is reached.
/// `not_found`: the session ended meanwhile.
pub(crate) fn asking(
    case: &Inspection<'_>,
    decided: &Decided<'_, '_>,
) -> Result<Option<Arc<Asking>>, Refusal> {
    let session = case.call.mcp.as_deref().and_then(|head| head.session.as_deref());
    let asked = decided.resolved().message().mcp.as_ref().and_then(|asked| asked.rpc_id.as_ref());
    let (Some(session), Some(id)) = (session, asked) else { return Ok(None) };
    let taken = case.state.mcp_sessions.asking(
        case.sender.key(),
        WantedId {
            key: SessionKey::new(&case.route.scope(), Some(session)),
            id,
            apart: case.route.options.keeps_callers_apart,
        },
        || in_session(case).is_ok(),
        &|scope, session| case.state.owners.forget(scope, Kind::Session, session),
    );
    let refusal = match taken {
        Ok(asking) => return Ok(Some(asking)),
        Err(NotFree::Used) => Refusal::new(Code::Malformed, "the id was used before in the session")
            .with_hint("give each request of a session a unique id, as MCP requires"),
        Err(NotFree::Full) => {
            Refusal::new(Code::RateLimited, "the session has more open requests than the gateway tracks")
                .with_hint("initialize a new session")
        }
        Err(NotFree::Over) => no_session(),
    };
    Err(refusal.with_facts(decided.facts()))
}

impl Inspector {
    /// Returns true if a request of this peer may use the id in the session of this call.
    pub fn is_free(&self, route: &Route, peer: &Peer, call: &Call, id: &RpcId) -> bool {
        session_key(route, call)
            .is_none_or(|session_key| !self.state.mcp_sessions.is_used(peer.id(), &session_key, id))
    }

    /// Frees an id that the gateway used in this peer's place, after its answer.
    pub fn free(&self, route: &Route, peer: &Peer, call: &Call, id: &RpcId) {
        if let Some(session_key) = session_key(route, call) {
            self.state.mcp_sessions.free(peer.id(), &session_key, id);
        }
    }
}

fn session_key(route: &Route, call: &Call) -> Option<SessionKey> {
    let session = call.mcp.as_deref()?.session.as_deref()?;
    Some(SessionKey::new(&route.scope(), Some(session)))
}
