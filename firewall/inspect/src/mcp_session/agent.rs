//! Requests, events and ids of one agent.

use super::{
    SessionKey,
    ids::{Ids, NotFree},
};
use crate::{Sent, owners::Scope, turn::Proposal};
use semgate_contexts::Digest;
use semgate_protocol::{RpcId, mcp::Operation};
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Weak},
};

/// A request from a server.
pub(super) struct ByServer {
    pub(super) key: SessionKey,
    pub(super) id: RpcId,
    pub(super) operation: Operation,
    /// Digest of the question. A resumed stream may repeat it.
    pub(super) digest: Digest,
    /// The pending answer: taken while in delivery, closed after it, open again if delivery fails.
    pub(super) question: Arc<Proposal>,
}

/// A client's request in a session, with the data to judge its answer.
pub(super) struct ByClient {
    pub(super) key: SessionKey,
    pub(super) id: RpcId,
    pub(super) sent: Sent,
}

impl ByClient {
    /// Returns true if the request was answered and the answer cannot come again.
    pub(super) fn is_settled(&self) -> bool {
        self.sent.right.is_settled()
    }
}

/// A client's request outside of sessions, while it waits for its answer.
pub(super) struct UnderWay {
    pub(super) receiver: Box<str>,
    pub(super) id: RpcId,
    pub(super) waits: Weak<()>,
}

impl UnderWay {
    pub(super) fn is(&self, receiver: &str, id: &RpcId) -> bool {
        self.waits.strong_count() > 0 && self.id == *id && *self.receiver == *receiver
    }
}

/// An event id that a client received and may resume after.
pub(super) struct DeliveredEvent {
    pub(super) key: SessionKey,
    pub(super) event: Box<str>,
    /// Position among the events and answers of this agent.
    pub(super) at: u64,
}

#[derive(Default)]
pub(super) struct OfOne {
    pub(super) by_server: VecDeque<ByServer>,
    pub(super) by_client: VecDeque<ByClient>,
    pub(super) delivered: VecDeque<DeliveredEvent>,
    pub(super) under_way: VecDeque<UnderWay>,
    pub(super) ids: Ids,
    /// Number of events and answers.
    pub(super) counted: u64,
}

impl OfOne {
    pub(super) fn is_idle(&self) -> bool {
        let waits = |one: &UnderWay| one.waits.strong_count() > 0;
        self.by_server.is_empty()
            && self.by_client.iter().all(ByClient::is_settled)
            && self.ids.is_idle()
            && !self.under_way.iter().any(waits)
    }

    /// Weight in events; a request weighs [`WEIGHT`] events.
    pub(super) fn weight(&self) -> usize {
        let small = self.delivered.len().saturating_add(self.under_way.len()).saturating_add(self.ids.len());
        (self.by_server.len() + self.by_client.len()).saturating_mul(WEIGHT).saturating_add(small)
    }

    /// Forgets an eighth of the oldest entries of the largest kind.
    pub(super) fn forget_some(&mut self) {
        let (server, client, delivered) =
            (self.by_server.len() * WEIGHT, self.by_client.len() * WEIGHT, self.delivered.len());
        let under_way = self.under_way.len();
        if self.ids.answered_ones() > delivered.max(server).max(client).max(under_way) {
            self.forget_answered();
        } else if under_way >= delivered.max(server).max(client) {
            self.under_way.drain(..under_way.div_ceil(PART));
        } else if delivered >= server && delivered >= client {
            self.delivered.drain(..delivered.div_ceil(PART));
        } else if client >= server {
            self.by_client.drain(..self.by_client.len().div_ceil(PART));
        } else {
            self.by_server.drain(..self.by_server.len().div_ceil(PART));
        }
    }

    /// Forgets answered ids, and the earlier events of their sessions. Without those events no stream can
    /// replay the answers.
    pub(super) fn forget_answered(&mut self) {
        for (key, at) in self.ids.forget_answered() {
            self.delivered.retain(|delivered| delivered.key != key || delivered.at > at);
        }
    }

    /// Makes room for one more id. Drops answered ids first, else ends the least recently used other session.
    pub(super) fn make_room(
        &mut self,
        key: &SessionKey,
        over: &dyn Fn(&Scope<'_>, &str),
    ) -> Result<(), NotFree> {
        self.ids.forget_unsent();
        if self.ids.answered_ones() > 0 {
            self.forget_answered();
        }
        if self.ids.has_room() {
            return Ok(());
        }
        let oldest = self.ids.oldest_but(key).cloned().ok_or(NotFree::Full)?;
        self.end(&oldest);
        if let Some(session) = &oldest.session {
            over(&oldest.scope, session);
        }
        Ok(())
    }

    pub(super) fn end(&mut self, key: &SessionKey) {
        self.by_server.retain(|open| open.key != *key);
        self.by_client.retain(|open| open.key != *key);
        self.delivered.retain(|delivered| delivered.key != *key);
        self.ids.end(key);
    }
}

/// Weight of a request in events. A request with its judgement data takes about 1.5 kB, an event 200 bytes.
pub(super) const WEIGHT: usize = 8;

/// Making room frees one eighth at once, so that it happens rarely.
pub(super) const PART: usize = 8;

#[derive(Default)]
pub(super) struct Open {
    pub(super) of: HashMap<Arc<str>, OfOne>,
    /// Total weight of all agents.
    pub(super) weight: usize,
}

impl Open {
    /// Changes one agent's entries, if it has any.
    pub(super) fn change<T>(&mut self, agent: &str, change: impl FnOnce(&mut OfOne) -> T) -> Option<T> {
        let one = self.of.get_mut(agent)?;
        let before = one.weight();
        let done = change(one);
        self.weight = self.weight.saturating_sub(before).saturating_add(one.weight());
        Some(done)
    }

    /// Makes the agent that holds most forget, until the total weight is at most `most`.
    pub(super) fn fit(&mut self, most: usize) {
        while self.weight > most {
            let full = self.of.iter().max_by_key(|(_, one)| one.weight()).map(|(agent, _)| Arc::clone(agent));
            let Some(full) = full else { return };
            let before = self.weight;
            self.change(&full, OfOne::forget_some);
            if self.weight == before {
                // only open ids are left, and those are bounded for each agent
                return;
            }
        }
    }
}
