//! Open requests between a client and a server of MCP 2025-11-25, in both directions.
//!
//! A client's answer passes only if the server asked, and is judged as the answer to exactly that request.
//! Another request may resume an interrupted stream. An answer on it is matched with the earlier request in
//! the same session.

mod agent;
mod ids;

pub(crate) use ids::{Asking, NotFree};

use crate::{
    Refusal, Sent, answer_right,
    owners::Scope,
    turn::{Proposal, Side},
};
use agent::{ByClient, ByServer, DeliveredEvent, OfOne, Open, PART, UnderWay, WEIGHT};
use ids::text;
use semgate_contexts::Digest;
use semgate_protocol::{RpcId, mcp::Operation};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
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
            Self::Nothing => "the stream answers a request that is not open in this session",
            Self::Elsewhere => "the stream answers a request that waits for its answer on its own exchange",
        })
    }
}

/// The id that a client's request takes in its session.
pub(crate) struct WantedId<'i> {
    pub key: SessionKey,
    pub id: &'i RpcId,
    /// True if the upstream agent keeps its callers apart.
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
