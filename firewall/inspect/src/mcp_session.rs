//! Open requests between a client and a server of MCP 2025-11-25, in both directions.
//!
//! A client's answer passes only if the server asked, and is judged as the answer to exactly that request.
//! Another request may resume an interrupted stream. An answer on it is matched with the earlier request in
//! the same session.

mod ids;

pub(crate) use ids::{Asking, NotFree};

use crate::{
    Refusal, Sent, answer_right,
    owners::Scope,
    turn::{Proposal, Side},
};
use ids::{Ids, text};
use semgate_contexts::Digest;
use semgate_protocol::{RpcId, mcp::Operation};
use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// Where a request was made: upstream agent and session, whatever the route. Ids of two sessions never meet.
/// Ids of one session belong to one server, which tells its answers apart by id alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SessionKey {
    scope: Scope<'static>,
    session: Option<String>,
}

/// Upstream agent, client and session.
pub(crate) type At<'a> = (Scope<'a>, &'a str, Option<&'a str>);

impl SessionKey {
    pub(crate) fn new(scope: &Scope<'_>, session: Option<&str>) -> Self {
        Self { scope: scope.kept(), session: session.map(str::to_owned) }
    }

    fn of(sent: &Sent) -> Self {
        Self::new(&sent.route.scope(), session(sent))
    }

    fn is(&self, scope: &Scope<'_>, session: Option<&str>) -> bool {
        self.scope == *scope && self.session.as_deref() == session
    }
}

/// The session of a request.
pub(crate) fn session(sent: &Sent) -> Option<&str> {
    sent.call.mcp.as_deref().and_then(|head| head.session.as_deref())
}

/// A request from a server.
struct ByServer {
    key: SessionKey,
    id: RpcId,
    operation: Operation,
    /// Digest of the question. A resumed stream may repeat it.
    digest: Digest,
    /// The pending answer: taken while in delivery, closed after it, open again if delivery fails.
    question: Arc<Proposal>,
}

/// A client's request in a session, with the data to judge its answer.
struct ByClient {
    key: SessionKey,
    id: RpcId,
    sent: Sent,
}

impl ByClient {
    /// Returns true if the request was answered and the answer cannot come again.
    fn is_settled(&self) -> bool {
        self.sent.right.is_settled()
    }
}

/// A client's request outside of sessions, while it waits for its answer.
struct UnderWay {
    receiver: Box<str>,
    id: RpcId,
    waits: Weak<()>,
}

impl UnderWay {
    fn is(&self, receiver: &str, id: &RpcId) -> bool {
        self.waits.strong_count() > 0 && self.id == *id && *self.receiver == *receiver
    }
}

/// An event id that a client received and may resume after.
struct DeliveredEvent {
    key: SessionKey,
    event: Box<str>,
    /// Position among the events and answers of this agent.
    at: u64,
}

#[derive(Default)]
struct OfOne {
    by_server: VecDeque<ByServer>,
    by_client: VecDeque<ByClient>,
    delivered: VecDeque<DeliveredEvent>,
    under_way: VecDeque<UnderWay>,
    ids: Ids,
    /// Number of events and answers.
    counted: u64,
}

impl OfOne {
    fn is_idle(&self) -> bool {
        let waits = |one: &UnderWay| one.waits.strong_count() > 0;
        self.by_server.is_empty()
            && self.by_client.iter().all(ByClient::is_settled)
            && self.ids.is_idle()
            && !self.under_way.iter().any(waits)
    }

    /// Weight in events; a request weighs [`WEIGHT`] events.
    fn weight(&self) -> usize {
        let small = self.delivered.len().saturating_add(self.under_way.len()).saturating_add(self.ids.len());
        (self.by_server.len() + self.by_client.len()).saturating_mul(WEIGHT).saturating_add(small)
    }

    /// Forgets an eighth of the oldest entries of the largest kind.
    fn forget_some(&mut self) {
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
    fn forget_answered(&mut self) {
        for (key, at) in self.ids.forget_answered() {
            self.delivered.retain(|delivered| delivered.key != key || delivered.at > at);
        }
    }

    /// Makes room for one more id. Drops answered ids first, else ends the least recently used other session.
    fn make_room(&mut self, key: &SessionKey, over: &dyn Fn(&Scope<'_>, &str)) -> Result<(), NotFree> {
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

    fn end(&mut self, key: &SessionKey) {
        self.by_server.retain(|open| open.key != *key);
        self.by_client.retain(|open| open.key != *key);
        self.delivered.retain(|delivered| delivered.key != *key);
        self.ids.end(key);
    }
}

/// Weight of a request in events. A request with its judgement data takes about 1.5 kB, an event 200 bytes.
const WEIGHT: usize = 8;

/// Making room frees one eighth at once, so that it happens rarely.
const PART: usize = 8;

/// Bounds of the memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Requests of one agent in each direction.
    pub each: usize,
    /// Events that one agent received.
    pub events: usize,
    /// Requests of all agents in both directions; eight events count as one request.
    pub all: usize,
    /// Ids of requests of one agent in its sessions.
    pub ids: usize,
    /// Agents.
    pub agents: usize,
}

/// Open requests of all agents, shared by all cores.
///
/// Bounded for each agent and direction, where the oldest goes first. When all is full, the agent that holds
/// most loses its oldest. No agent therefore displaces another that holds less. A forgotten request can no
/// longer be answered.
pub(crate) struct McpSessions {
    bounds: Bounds,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    of: HashMap<Arc<str>, OfOne>,
    /// Total weight of all agents.
    weight: usize,
}

impl Open {
    /// Changes one agent's entries, if it has any.
    fn change<T>(&mut self, agent: &str, change: impl FnOnce(&mut OfOne) -> T) -> Option<T> {
        let one = self.of.get_mut(agent)?;
        let before = one.weight();
        let done = change(one);
        self.weight = self.weight.saturating_sub(before).saturating_add(one.weight());
        Some(done)
    }

    /// Makes the agent that holds most forget, until the total weight is at most `most`.
    fn fit(&mut self, most: usize) {
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

/// No request of this id is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotOpen;

/// Reason why an answer does not pass on a session stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotHere {
    /// No request of this id is open in the session: nobody sent it, or it was answered.
    Nothing,
    /// The request's own exchange still waits for the answer.
    Elsewhere,
}

impl NotHere {
    /// The refusal that leaves the answer out. The stream goes on.
    pub(crate) fn refusal(self) -> Refusal {
        answer_right::withheld(match self {
            Self::Nothing => "the stream answers what is not open in this session",
            Self::Elsewhere => "the stream answers what waits for its answer on its own exchange",
        })
    }
}

/// The id that a client's request takes in its session.
pub(crate) struct WantedId<'i> {
    pub key: SessionKey,
    pub id: &'i RpcId,
    /// True if the agent behind the gateway keeps its callers apart.
    pub apart: bool,
}

/// There is no room for another agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl McpSessions {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self { bounds, open: Mutex::new(Open::default()) }
    }

    /// Records a request of the server to the caller of `sent`. `said` is the digest of the request, which a
    /// resumed stream may repeat.
    ///
    /// # Errors
    /// [`NotFree::Used`]: another request is open under the id, so an answer would be ambiguous.
    /// [`NotFree::Full`]: the request cannot be recorded, so its answer could not be matched.
    pub(crate) fn server_asks(
        &self,
        sent: &Sent,
        id: RpcId,
        operation: Operation,
        digest: Digest,
    ) -> Result<(), NotFree> {
        let (key, each) = (SessionKey::of(sent), self.bounds.each);
        self.add(sent, |one| {
            let is = |open: &ByServer| text(&open.id) == text(&id) && open.key == key;
            if let Some(open) = one.by_server.iter().find(|open| is(open) && !open.question.is_over()) {
                return if open.digest == digest && open.id == id { Ok(()) } else { Err(NotFree::Used) };
            }
            one.by_server.retain(|open| !is(open));
            if one.by_server.len() >= each {
                let over = one.by_server.iter().position(|open| open.question.is_over());
                let other = || one.by_server.iter().position(|open| open.key != key);
                let gone = over.or_else(other).ok_or(NotFree::Full)?;
                one.by_server.remove(gone);
            }
            let question = Proposal::new(Side::Agent, None);
            one.by_server.push_back(ByServer { key, id, operation, digest, question });
            Ok(())
        })
        .map_err(|Full| NotFree::Full)?
    }

    /// The operation that the server requested under the id. `again` also finds answered requests, for
    /// judging the same answer a second time.
    ///
    /// # Errors
    /// [`NotOpen`].
    pub(crate) fn asks(&self, at: At<'_>, id: &RpcId, again: bool) -> Result<Operation, NotOpen> {
        self.find(
            at,
            id,
            |open| {
                if open.question.is_open() || again { Ok(open.operation) } else { Err(NotOpen) }
            },
        )
    }

    /// The pending question, which the client's answer takes if it may pass.
    ///
    /// # Errors
    /// [`NotOpen`].
    pub(crate) fn question(&self, at: At<'_>, id: &RpcId) -> Result<Arc<Proposal>, NotOpen> {
        self.find(at, id, |open| Ok(Arc::clone(&open.question)))
    }

    fn find<T>(
        &self,
        (scope, agent, session): At<'_>,
        id: &RpcId,
        read: impl FnOnce(&ByServer) -> Result<T, NotOpen>,
    ) -> Result<T, NotOpen> {
        let all = self.locked();
        let one = all.of.get(agent).ok_or(NotOpen)?;
        let of = |open: &&ByServer| open.id == *id && open.key.is(&scope, session);
        read(one.by_server.iter().find(of).ok_or(NotOpen)?)
    }

    /// Removes a request that the server withdrew.
    pub(crate) fn withdrawn(&self, sent: &Sent, id: &RpcId) {
        let key = SessionKey::of(sent);
        self.locked().change(sent.caller.id(), |one| {
            one.by_server.retain(|open| open.id != *id || open.key != key);
        });
    }

    /// Reserves an id for a client's request in a session.
    ///
    /// No other request of the session can use the id until the request is answered and the answer cannot
    /// come again. The id is also free once the request is known to be unsent.
    ///
    /// `still` checks the ownership of the session after the id is taken. Sessions of an agent that keeps its
    /// callers apart are never ended for room. `over` receives a session that was.
    ///
    /// # Errors
    /// [`NotFree`].
    pub(crate) fn asking(
        &self,
        agent: &Arc<str>,
        wanted: WantedId<'_>,
        still: impl FnOnce() -> bool,
        over: &dyn Fn(&Scope<'_>, &str),
    ) -> Result<Arc<Asking>, NotFree> {
        let (bound, WantedId { key, id, apart }) = (self.bounds.ids, wanted);
        let take = |one: &mut OfOne| {
            let (ids, delivered) = (&mut one.ids, &one.delivered);
            ids.bound(bound);
            let replayed =
                |at: u64| delivered.iter().any(|delivered| delivered.at < at && delivered.key == key);
            ids.free(&key, id, replayed)?;
            if !one.ids.has_room() {
                one.make_room(&key, over)?;
            }
            // a session is ended for room under this same lock, so `still` sees it
            if still() { Ok(one.ids.take(key, id, apart)) } else { Err(NotFree::Over) }
        };
        let mut all = self.locked();
        self.room(&mut all, agent).map_err(|Full| NotFree::Full)?;
        let taken = all.change(agent, take).unwrap_or(Err(NotFree::Full));
        all.fit(self.bounds.all.saturating_mul(WEIGHT));
        taken
    }

    /// Returns true if a request of this agent uses the id in the session.
    pub(crate) fn is_used(&self, agent: &str, key: &SessionKey, id: &RpcId) -> bool {
        self.locked().of.get(agent).is_some_and(|one| one.ids.is_used(key, id))
    }

    /// Frees an answered id that the gateway took in the client's place.
    pub(crate) fn free(&self, agent: &str, key: &SessionKey, id: &RpcId) {
        self.locked().change(agent, |one| {
            one.ids.forget(key, id);
            one.by_client.retain(|open| open.id != *id || open.key != *key);
        });
    }

    /// Records a permitted client request in a session. Without room, only the request's own stream can
    /// answer it.
    pub(crate) fn client_asks(&self, sent: &Sent, id: RpcId) {
        let (key, each) = (SessionKey::of(sent), self.bounds.each);
        let _ = self.add(sent, |one| {
            one.by_client.retain(|open| !open.is_settled() && (open.id != id || open.key != key));
            one.by_client.push_back(ByClient { key, id, sent: sent.clone() });
            if one.by_client.len() > each {
                one.by_client.pop_front();
            }
        });
    }

    /// Records a permitted client request outside of sessions, until the returned handle is dropped. Without
    /// room the request cannot be cancelled.
    pub(crate) fn under_way(&self, sent: &Sent, id: RpcId) -> Arc<()> {
        let (waits, each) = (Arc::new(()), self.bounds.each);
        let _ = self.add(sent, |one| {
            one.under_way.retain(|one| one.waits.strong_count() > 0);
            let receiver = sent.route.receiver.as_str().into();
            one.under_way.push_back(UnderWay { receiver, id, waits: Arc::downgrade(&waits) });
            if one.under_way.len() > each {
                one.under_way.pop_front();
            }
        });
        waits
    }

    /// Returns true if this agent alone has a request of this id under way to the receiver outside of
    /// sessions. The receiver could not tell two of them apart.
    pub(crate) fn is_under_way(&self, receiver: &str, agent: &str, id: &RpcId) -> bool {
        let all = self.locked();
        let has = |one: &OfOne| one.under_way.iter().any(|one| one.is(receiver, id));
        let mut who = all.of.iter().filter(|(_, one)| has(one)).map(|(agent, _)| &**agent);
        who.next() == Some(agent) && who.next().is_none()
    }

    /// The client's request under the id, in the session of this stream.
    ///
    /// The answer passes on another stream once the request's own exchange is over, or if this stream resumes
    /// one.
    ///
    /// # Errors
    /// [`NotHere`].
    pub(crate) fn asked(&self, stream: &Sent, id: &RpcId) -> Result<Sent, NotHere> {
        let key = SessionKey::of(stream);
        let all = self.locked();
        let of = |open: &&ByClient| open.id == *id && open.key == key;
        let one = all.of.get(stream.caller.id()).ok_or(NotHere::Nothing)?;
        let open = one.by_client.iter().find(of).filter(|_| one.ids.is_used(&key, id));
        let open = open.ok_or(NotHere::Nothing)?;
        if one.ids.is_held(&key, id) && !stream.resumes() {
            return Err(NotHere::Elsewhere);
        }
        Ok(open.sent.clone())
    }

    /// Records the server's answer to a client request.
    pub(crate) fn answered(&self, sent: &Sent, id: &RpcId) {
        if session(sent).is_none() {
            return;
        }
        let key = SessionKey::of(sent);
        self.locked().change(sent.caller.id(), |one| {
            one.counted += 1;
            let resumable = one.delivered.iter().any(|delivered| delivered.key == key);
            one.ids.answered(&key, id, resumable.then_some(one.counted));
        });
    }

    /// Records an event that the client received in its session. Without room no stream can resume after it.
    pub(crate) fn tell(&self, sent: &Sent, event: &str) {
        if session(sent).is_none() {
            return;
        }
        let (key, most) = (SessionKey::of(sent), self.bounds.events);
        let _ = self.add(sent, |one| {
            if one.delivered.iter().any(|delivered| *delivered.event == *event && delivered.key == key) {
                return;
            }
            one.counted += 1;
            one.delivered.push_back(DeliveredEvent { key, event: event.into(), at: one.counted });
            if one.delivered.len() > most {
                one.delivered.pop_front();
            }
        });
    }

    /// Returns true if this agent received the event in its session.
    pub(crate) fn was_told(&self, at: At<'_>, event: &str) -> bool {
        let (scope, agent, session) = at;
        let of = |delivered: &DeliveredEvent| *delivered.event == *event && delivered.key.is(&scope, session);
        self.locked().of.get(agent).is_some_and(|one| one.delivered.iter().any(of))
    }

    /// Ends a session with everything open in it.
    pub(crate) fn ended(&self, sent: &Sent) {
        let key = SessionKey::of(sent);
        let mut all = self.locked();
        let left = all.change(sent.caller.id(), |one| {
            one.end(&key);
            one.weight()
        });
        if left == Some(0) {
            all.of.remove(sent.caller.id());
        }
    }

    /// Adds to one agent's entries, within the bounds.
    fn add<T>(&self, sent: &Sent, add: impl FnOnce(&mut OfOne) -> T) -> Result<T, Full> {
        let agent = sent.caller.key();
        let mut all = self.locked();
        self.room(&mut all, agent)?;
        let added = all.change(agent, add).ok_or(Full);
        all.fit(self.bounds.all.saturating_mul(WEIGHT));
        added
    }

    /// Makes room for the agent among all agents.
    fn room(&self, all: &mut Open, agent: &Arc<str>) -> Result<(), Full> {
        if all.of.len() >= self.bounds.agents && !all.of.contains_key(agent) {
            all.of.retain(|_, one| !one.is_idle());
            all.weight = all.of.values().map(OfOne::weight).sum();
            if all.of.len() >= self.bounds.agents {
                return Err(Full);
            }
        }
        all.of.entry(Arc::clone(agent)).or_default();
        Ok(())
    }

    /// Takes the lock, also after a panic: each change is one call, so entries are whole.
    fn locked(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for McpSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "requests under way of {} agents", self.locked().of.len())
    }
}

#[cfg(test)]
mod tests;
