//! The leave to forward: the only values that a gateway may send onwards.

use crate::{
    case::{HeaderClaims, Peer},
    facts::Facts,
    meter::Metered,
    route::Route,
};
use bytes::Bytes;
use semgate_contexts::{ContextUrn, Digest, Version};
use semgate_message::{Binding, RpcId};
use std::sync::Arc;

/// Something the caller should know although the message passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The context is deprecated; `newest` is the newest version that counts today, if there is a newer one.
    Deprecated {
        /// The newest version of the line that is valid.
        newest: Option<Version>,
    },
}

/// Leave to forward one request, once. It owns the bytes that were checked, the destination and the number of the
/// generation that it was given under. It cannot be cloned, built outside this crate, or spent twice.
///
/// ```compile_fail,E0382
/// # fn twice(permit: semgate_inspect::Permit) {
/// let first = permit.spend();
/// let again = permit.spend();
/// # }
/// ```
///
/// ```compile_fail,E0308
/// # fn copy(permit: &semgate_inspect::Permit) -> semgate_inspect::Permit {
/// permit.clone() // clones the reference: a permit has no `Clone`
/// # }
/// ```
///
/// ```compile_fail,E0451
/// # fn forge(body: bytes::Bytes) -> semgate_inspect::Permit {
/// semgate_inspect::Permit { body }
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a permit that is not spent forwards nothing"]
pub struct Permit {
    body: Bytes,
    fresh_until: u64,
    notice: Option<Notice>,
    sent: Sent,
}

/// Proof that the questions of a message were counted: its permit was given back for it.
#[derive(Debug)]
pub(crate) struct Counted(());

/// What a spent permit leaves behind: against it the reply is judged.
#[derive(Clone, Debug)]
pub struct Sent {
    pub(crate) route: Arc<Route>,
    pub(crate) caller: Peer,
    pub(crate) urn: ContextUrn,
    pub(crate) digest: Digest,
    pub(crate) rpc_id: Option<RpcId>,
    pub(crate) facts: Facts,
}

impl Permit {
    /// The generation that the permit was given under.
    pub fn generation(&self) -> u64 {
        self.sent.facts.generation
    }

    /// Where the bytes may go, and nowhere else.
    pub fn destination(&self) -> &Arc<Route> {
        &self.sent.route
    }

    /// For the audit record.
    pub fn facts(&self) -> &Facts {
        &self.sent.facts
    }

    /// What the caller should know although the message passes.
    pub fn notice(&self) -> Option<&Notice> {
        self.notice.as_ref()
    }

    /// How many bytes will be forwarded.
    pub fn len(&self) -> usize {
        self.body.len()
    }

    /// Never true of a permit that the inspector gave; here because `len` is.
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// Spends the permit: the exact bytes that were checked, and what their reply is judged against.
    pub fn spend(self) -> (Bytes, Sent) {
        (self.body, self.sent)
    }

    /// The leave for the bytes that the message was parsed from.
    pub(crate) fn of(metered: &Metered<'_, '_>) -> Self {
        let resolved = metered.decided().resolved();
        let case = resolved.case();
        Self {
            body: metered.decided().bytes().clone(),
            fresh_until: resolved.fresh_until(),
            notice: resolved.notice().cloned(),
            sent: Sent {
                route: Arc::clone(case.route),
                caller: case.sender.clone(),
                urn: resolved.named().urn().clone(),
                digest: *resolved.named().context().digest(),
                rpc_id: resolved.message().rpc_id.clone(),
                facts: metered.facts(),
            },
        }
    }

    /// The last second at which the status is fresh that the permit rests on.
    pub fn fresh_until(&self) -> u64 {
        self.fresh_until
    }

    /// Takes the permit back for renewal.
    pub(crate) fn into_counted(self) -> (Bytes, Sent, Counted) {
        (self.body, self.sent, Counted(()))
    }
}

impl Sent {
    /// The headers of a message that was accepted once, for judging its bytes again.
    pub(crate) fn version_header(&self) -> HeaderClaims<'static> {
        match self.route.binding {
            Binding::L8 | Binding::Mcp => HeaderClaims::default(),
            Binding::A2a => HeaderClaims { l9_context: &[], a2a_version: &["1.0"] },
        }
    }

    /// The route that the request took.
    pub fn route(&self) -> &Arc<Route> {
        &self.route
    }

    /// Who sent the request and will read the reply.
    pub fn caller(&self) -> &Peer {
        &self.caller
    }

    /// The JSON-RPC id that answers must repeat, for JSON-RPC bindings.
    pub fn rpc_id(&self) -> Option<&RpcId> {
        self.rpc_id.as_ref()
    }

    /// The request's facts, for the audit record and for refusals after sending.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }
}

/// Leave to hand one reply back to the caller, once.
#[derive(Debug)]
#[must_use = "a permit that is not spent forwards nothing"]
pub struct ReplyPermit {
    body: Bytes,
    status: u16,
    facts: Facts,
}

impl ReplyPermit {
    pub(crate) fn of(metered: &Metered<'_, '_>, status: u16) -> Self {
        Self { body: metered.decided().bytes().clone(), status, facts: metered.facts() }
    }

    pub(crate) fn acknowledge(facts: Facts, status: u16) -> Self {
        Self { body: Bytes::new(), status, facts }
    }

    /// The agent's own status, always 2xx.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// For the audit record.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Spends the permit: status, and the exact bytes that were checked (empty for an acknowledgement).
    pub fn spend(self) -> (u16, Bytes) {
        (self.status, self.body)
    }
}
