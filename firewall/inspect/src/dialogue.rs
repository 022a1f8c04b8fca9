//! What is under way between a client and a server of MCP 2025-11-25: the requests of either side that are not answered yet.
//!
//! A client's answer counts only if the server asked, and is judged as the answer to exactly that. A stream that was cut may be
//! resumed by another request, so what is answered on it is matched with what was asked before, in the same session.

use crate::{
    Sent,
    turn::{Proposal, Side},
};
use semgate_message::{RpcId, mcp::Operation};
use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// Where something was asked. Ids of two sessions never meet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    route: String,
    session: Option<String>,
}

impl Place {
    fn of(sent: &Sent) -> Self {
        Self { route: sent.route.name.clone(), session: session(sent).map(str::to_owned) }
    }

    fn is(&self, route: &str, session: Option<&str>) -> bool {
        self.route == route && self.session.as_deref() == session
    }
}

/// The session that a request was made in.
pub(crate) fn session(sent: &Sent) -> Option<&str> {
    sent.call.mcp.as_deref().and_then(|head| head.session.as_deref())
}

/// A request of a server.
struct ByServer {
    place: Place,
    id: RpcId,
    operation: Operation,
    /// Answered once: taken by who answers, closed when that was delivered, and open again when it was not.
    question: Arc<Proposal>,
}

/// A request of a client in a session, with what its answer is judged against.
struct ByClient {
    place: Place,
    id: RpcId,
    sent: Sent,
}

/// A request of a client outside of sessions, for as long as it waits for its answer.
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

/// An event whose id a client was told, so that it can ask for what comes after it.
struct Told {
    place: Place,
    event: Box<str>,
}

#[derive(Default)]
struct OfOne {
    by_server: VecDeque<ByServer>,
    by_client: VecDeque<ByClient>,
    told: VecDeque<Told>,
    under_way: VecDeque<UnderWay>,
}

impl OfOne {
    fn is_idle(&self) -> bool {
        let waits = |one: &UnderWay| one.waits.strong_count() > 0;
        self.by_server.is_empty() && self.by_client.is_empty() && !self.under_way.iter().any(waits)
    }

    /// How much is held, in events; a request weighs as much as [`WEIGHT`] of them.
    fn weight(&self) -> usize {
        let small = self.told.len().saturating_add(self.under_way.len());
        (self.by_server.len() + self.by_client.len()).saturating_mul(WEIGHT).saturating_add(small)
    }

    /// Forgets a part of the oldest, of what there is most of.
    fn forget_some(&mut self) {
        let (server, client, told) =
            (self.by_server.len() * WEIGHT, self.by_client.len() * WEIGHT, self.told.len());
        let under_way = self.under_way.len();
        if under_way >= told.max(server).max(client) {
            self.under_way.drain(..under_way.div_ceil(PART));
        } else if told >= server && told >= client {
            self.told.drain(..told.div_ceil(PART));
        } else if client >= server {
            self.by_client.drain(..self.by_client.len().div_ceil(PART));
        } else {
            self.by_server.drain(..self.by_server.len().div_ceil(PART));
        }
    }
}

/// What a request weighs in events: it is kept with all that its answer is judged against, some 1.5 kB, an event in 200 bytes.
const WEIGHT: usize = 8;

/// Where room is made, an eighth goes at once, so that it is not made for every one that comes.
const PART: usize = 8;

/// How much is remembered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Requests of one agent in each direction.
    pub each: usize,
    /// Events that one agent was told.
    pub events: usize,
    /// Requests of all agents in both directions, as which eight events count.
    pub all: usize,
    /// Agents.
    pub agents: usize,
}

/// All of it, for all cores: of each agent so many in each direction, of which the oldest is forgotten first, and where all are
/// full the oldest of the agent that holds most; so no agent pushes out another's while it holds as much itself. What is forgotten cannot be answered
/// any more.
pub(crate) struct Dialogues {
    bounds: Bounds,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    of: HashMap<Arc<str>, OfOne>,
    /// The weight of all.
    weight: usize,
}

impl Open {
    /// Changes what one agent has under way, if it has anything.
    fn change<T>(&mut self, agent: &str, change: impl FnOnce(&mut OfOne) -> T) -> Option<T> {
        let one = self.of.get_mut(agent)?;
        let before = one.weight();
        let done = change(one);
        self.weight = self.weight.saturating_sub(before).saturating_add(one.weight());
        Some(done)
    }

    /// Until no more than this is held, who holds most forgets.
    fn fit(&mut self, most: usize) {
        while self.weight > most {
            let full = self.of.iter().max_by_key(|(_, one)| one.weight()).map(|(agent, _)| Arc::clone(agent));
            let Some(full) = full else { return };
            self.change(&full, OfOne::forget_some);
        }
    }
}

/// Nothing of this id is open, or it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotOpen;

/// There is no room for another agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl Dialogues {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self { bounds, open: Mutex::new(Open::default()) }
    }

    /// A request of the server may pass to who sent `sent`. The newest of an id is the one that is answered.
    ///
    /// # Errors
    /// [`Full`]: the answer could not be told from one to nothing.
    pub(crate) fn server_asks(&self, sent: &Sent, id: RpcId, operation: Operation) -> Result<(), Full> {
        let (place, each) = (Place::of(sent), self.bounds.each);
        self.add(sent, |one| {
            one.by_server.retain(|open| open.id != id || open.place != place);
            let question = Proposal::new(Side::Agent, None);
            one.by_server.push_back(ByServer { place, id, operation, question });
            if one.by_server.len() > each {
                one.by_server.pop_front();
            }
        })
    }

    /// What the server asked of this agent under the id. `again` finds what was answered, too: the same answer is judged a
    /// second time.
    ///
    /// # Errors
    /// [`NotOpen`].
    pub(crate) fn asks(
        &self,
        at: (&str, &str, Option<&str>),
        id: &RpcId,
        again: bool,
    ) -> Result<Operation, NotOpen> {
        self.find(
            at,
            id,
            |found| {
                if found.question.is_open() || again { Ok(found.operation) } else { Err(NotOpen) }
            },
        )
    }

    /// The question itself, which the client's answer takes if it may pass.
    ///
    /// # Errors
    /// [`NotOpen`].
    pub(crate) fn question(
        &self,
        at: (&str, &str, Option<&str>),
        id: &RpcId,
    ) -> Result<Arc<Proposal>, NotOpen> {
        self.find(at, id, |found| Ok(Arc::clone(&found.question)))
    }

    fn find<T>(
        &self,
        (route, agent, session): (&str, &str, Option<&str>),
        id: &RpcId,
        read: impl FnOnce(&ByServer) -> Result<T, NotOpen>,
    ) -> Result<T, NotOpen> {
        let all = self.locked();
        let one = all.of.get(agent).ok_or(NotOpen)?;
        let of = |open: &&ByServer| open.id == *id && open.place.is(route, session);
        read(one.by_server.iter().find(of).ok_or(NotOpen)?)
    }

    /// The server takes a request of its own back.
    pub(crate) fn withdrawn(&self, sent: &Sent, id: &RpcId) {
        let place = Place::of(sent);
        self.locked().change(sent.caller.id(), |one| {
            one.by_server.retain(|open| open.id != *id || open.place != place);
        });
    }

    /// A request of the client in a session may pass. Without room it can be answered on its own stream only.
    pub(crate) fn client_asks(&self, sent: &Sent, id: RpcId) {
        let (place, each) = (Place::of(sent), self.bounds.each);
        let _ = self.add(sent, |one| {
            one.by_client.retain(|open| open.id != id || open.place != place);
            one.by_client.push_back(ByClient { place, id, sent: sent.clone() });
            if one.by_client.len() > each {
                one.by_client.pop_front();
            }
        });
    }

    /// A request of the client outside of sessions may pass, and is under way for as long as what this gives is kept. Without room it cannot be
    /// cancelled.
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

    /// Whether a request of this id is under way from this agent to this receiver outside of sessions, and from no other: the receiver
    /// could not tell them apart.
    pub(crate) fn is_under_way(&self, (receiver, agent): (&str, &str), id: &RpcId) -> bool {
        let all = self.locked();
        let has = |one: &OfOne| one.under_way.iter().any(|one| one.is(receiver, id));
        let mut who = all.of.iter().filter(|(_, one)| has(one)).map(|(agent, _)| &**agent);
        who.next() == Some(agent) && who.next().is_none()
    }

    /// What the client asked under the id in the session of this stream.
    pub(crate) fn asked(&self, stream: &Sent, id: &RpcId) -> Option<Sent> {
        let place = Place::of(stream);
        let all = self.locked();
        let of = |open: &&ByClient| open.id == *id && open.place == place;
        all.of.get(stream.caller.id())?.by_client.iter().find(of).map(|open| open.sent.clone())
    }

    /// The server answered a request of the client.
    pub(crate) fn answered(&self, sent: &Sent, id: &RpcId) {
        if session(sent).is_none() {
            return;
        }
        let place = Place::of(sent);
        self.locked().change(sent.caller.id(), |one| {
            one.by_client.retain(|open| open.id != *id || open.place != place);
        });
    }

    /// An event of this id went to the client in its session. Without room nothing can be resumed after it.
    pub(crate) fn tell(&self, sent: &Sent, event: &str) {
        if session(sent).is_none() {
            return;
        }
        let (place, most) = (Place::of(sent), self.bounds.events);
        let _ = self.add(sent, |one| {
            if one.told.iter().any(|told| *told.event == *event && told.place == place) {
                return;
            }
            one.told.push_back(Told { place, event: event.into() });
            if one.told.len() > most {
                one.told.pop_front();
            }
        });
    }

    /// Whether this agent was told of an event of this id in its session.
    pub(crate) fn was_told(&self, at: (&str, &str, Option<&str>), event: &str) -> bool {
        let (route, agent, session) = at;
        let of = |told: &Told| *told.event == *event && told.place.is(route, session);
        self.locked().of.get(agent).is_some_and(|one| one.told.iter().any(of))
    }

    /// A session is over, and with it what was open in it.
    pub(crate) fn ended(&self, sent: &Sent) {
        let place = Place::of(sent);
        let mut all = self.locked();
        let left = all.change(sent.caller.id(), |one| {
            one.by_server.retain(|open| open.place != place);
            one.by_client.retain(|open| open.place != place);
            one.told.retain(|told| told.place != place);
            one.weight()
        });
        if left == Some(0) {
            all.of.remove(sent.caller.id());
        }
    }

    /// Adds to what one agent has under way, within the bounds.
    fn add(&self, sent: &Sent, add: impl FnOnce(&mut OfOne)) -> Result<(), Full> {
        let agent = sent.caller.key();
        let mut all = self.locked();
        if all.of.len() >= self.bounds.agents && !all.of.contains_key(agent) {
            all.of.retain(|_, one| !one.is_idle());
            all.weight = all.of.values().map(OfOne::weight).sum();
            if all.of.len() >= self.bounds.agents {
                return Err(Full);
            }
        }
        all.of.entry(Arc::clone(agent)).or_default();
        all.change(agent, add);
        all.fit(self.bounds.all.saturating_mul(WEIGHT));
        Ok(())
    }

    /// A thread that panicked while it held the lock left whole entries: each change is one call.
    fn locked(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Dialogues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "requests under way of {} agents", self.locked().of.len())
    }
}

#[cfg(test)]
mod tests;
