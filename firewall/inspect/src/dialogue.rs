//! What is under way between a client and a server of MCP 2025-11-25: the requests of either side that are not answered yet.
//!
//! A client's answer counts only if the server asked, and is judged as the answer to exactly that. A stream that was cut may be
//! resumed by another request, so what is answered on it is matched with what was asked before, in the same session.

mod ids;

pub(crate) use ids::{Asking, NotFree};

use crate::{
    Refusal, Sent, once,
    owners::Scope,
    turn::{Proposal, Side},
};
use ids::{Ids, text};
use semgate_contexts::Digest;
use semgate_message::{RpcId, mcp::Operation};
use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// Where something was asked: the agent behind, whatever the route to it, and the session. Ids of two sessions never meet, and those of
/// one session are one server's, which tells its answers apart by nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    scope: Scope<'static>,
    session: Option<String>,
}

/// Whose, where: the agent behind, the client and the session.
pub(crate) type At<'a> = (Scope<'a>, &'a str, Option<&'a str>);

impl Place {
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

/// The session that a request was made in.
pub(crate) fn session(sent: &Sent) -> Option<&str> {
    sent.call.mcp.as_deref().and_then(|head| head.session.as_deref())
}

/// A request of a server.
struct ByServer {
    place: Place,
    id: RpcId,
    operation: Operation,
    /// Which question it is: a stream that is resumed may say it again.
    said: Digest,
    /// Answered once: taken by who answers, closed when that was delivered, and open again when it was not.
    question: Arc<Proposal>,
}

/// A request of a client in a session, with what its answer is judged against.
struct ByClient {
    place: Place,
    id: RpcId,
    sent: Sent,
}

impl ByClient {
    /// Whether it was answered, and the answer cannot come again.
    fn is_settled(&self) -> bool {
        self.sent.right.is_settled()
    }
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
    /// Its place in the order of what was told and answered.
    at: u64,
}

#[derive(Default)]
struct OfOne {
    by_server: VecDeque<ByServer>,
    by_client: VecDeque<ByClient>,
    told: VecDeque<Told>,
    under_way: VecDeque<UnderWay>,
    ids: Ids,
    /// How much was told and answered.
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

    /// How much is held, in events; a request weighs as much as [`WEIGHT`] of them.
    fn weight(&self) -> usize {
        let small = self.told.len().saturating_add(self.under_way.len()).saturating_add(self.ids.len());
        (self.by_server.len() + self.by_client.len()).saturating_mul(WEIGHT).saturating_add(small)
    }

    /// Forgets a part of the oldest, of what there is most of.
    fn forget_some(&mut self) {
        let (server, client, told) =
            (self.by_server.len() * WEIGHT, self.by_client.len() * WEIGHT, self.told.len());
        let under_way = self.under_way.len();
        if self.ids.answered_ones() > told.max(server).max(client).max(under_way) {
            self.forget_answered();
        } else if under_way >= told.max(server).max(client) {
            self.under_way.drain(..under_way.div_ceil(PART));
        } else if told >= server && told >= client {
            self.told.drain(..told.div_ceil(PART));
        } else if client >= server {
            self.by_client.drain(..self.by_client.len().div_ceil(PART));
        } else {
            self.by_server.drain(..self.by_server.len().div_ceil(PART));
        }
    }

    /// Forgets ids that were answered. What was told before in their sessions is not gone on after any more, so that none of their
    /// answers comes again.
    fn forget_answered(&mut self) {
        for (place, at) in self.ids.forget_answered() {
            self.told.retain(|told| told.place != place || told.at > at);
        }
    }

    /// Makes room for one more id: of those that were answered, else of a whole session but this one, which is over then.
    fn make_room(&mut self, place: &Place, over: &dyn Fn(&Scope<'_>, &str)) -> Result<(), NotFree> {
        self.ids.forget_unsent();
        if self.ids.answered_ones() > 0 {
            self.forget_answered();
        }
        if self.ids.has_room() {
            return Ok(());
        }
        let oldest = self.ids.oldest_but(place).cloned().ok_or(NotFree::Full)?;
        self.end(&oldest);
        if let Some(session) = &oldest.session {
            over(&oldest.scope, session);
        }
        Ok(())
    }

    fn end(&mut self, place: &Place) {
        self.by_server.retain(|open| open.place != *place);
        self.by_client.retain(|open| open.place != *place);
        self.told.retain(|told| told.place != *place);
        self.ids.end(place);
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
    /// Ids of requests of one agent in its sessions.
    pub ids: usize,
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
            let before = self.weight;
            self.change(&full, OfOne::forget_some);
            if self.weight == before {
                // nothing but ids that are open: those are bounded for each agent
                return;
            }
        }
    }
}

/// Nothing of this id is open, or it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotOpen;

/// Why an answer does not pass on the stream of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotHere {
    /// Nothing is open under its id in the session: it was never asked, or was answered.
    Nothing,
    /// The exchange of its request still waits for it.
    Elsewhere,
}

impl NotHere {
    /// The answer is left out, and the stream goes on.
    pub(crate) fn refusal(self) -> Refusal {
        once::withheld(match self {
            Self::Nothing => "the stream answers what is not open in this session",
            Self::Elsewhere => "the stream answers what waits for its answer on its own exchange",
        })
    }
}

/// There is no room for another agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl Dialogues {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self { bounds, open: Mutex::new(Open::default()) }
    }

    /// A request of the server may pass to who sent `sent`. `said` tells one question from another: the same may come again on a
    /// stream that is resumed.
    ///
    /// # Errors
    /// [`NotFree::Used`]: another question is open under the id, and the answer to either would be judged as the answer to the other.
    /// [`NotFree::Full`]: the answer could not be told from one to nothing.
    pub(crate) fn server_asks(
        &self,
        sent: &Sent,
        id: RpcId,
        operation: Operation,
        said: Digest,
    ) -> Result<(), NotFree> {
        let (place, each) = (Place::of(sent), self.bounds.each);
        self.add(sent, |one| {
            let is = |open: &ByServer| text(&open.id) == text(&id) && open.place == place;
            if let Some(open) = one.by_server.iter().find(|open| is(open) && !open.question.is_over()) {
                return if open.said == said && open.id == id { Ok(()) } else { Err(NotFree::Used) };
            }
            one.by_server.retain(|open| !is(open));
            if one.by_server.len() >= each {
                let over = one.by_server.iter().position(|open| open.question.is_over());
                let other = || one.by_server.iter().position(|open| open.place != place);
                let gone = over.or_else(other).ok_or(NotFree::Full)?;
                one.by_server.remove(gone);
            }
            let question = Proposal::new(Side::Agent, None);
            one.by_server.push_back(ByServer { place, id, operation, said, question });
            Ok(())
        })
        .map_err(|Full| NotFree::Full)?
    }

    /// What the server asked of this agent under the id. `again` finds what was answered, too: the same answer is judged a
    /// second time.
    ///
    /// # Errors
    /// [`NotOpen`].
    pub(crate) fn asks(&self, at: At<'_>, id: &RpcId, again: bool) -> Result<Operation, NotOpen> {
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
    pub(crate) fn question(&self, at: At<'_>, id: &RpcId) -> Result<Arc<Proposal>, NotOpen> {
        self.find(at, id, |found| Ok(Arc::clone(&found.question)))
    }

    fn find<T>(
        &self,
        (scope, agent, session): At<'_>,
        id: &RpcId,
        read: impl FnOnce(&ByServer) -> Result<T, NotOpen>,
    ) -> Result<T, NotOpen> {
        let all = self.locked();
        let one = all.of.get(agent).ok_or(NotOpen)?;
        let of = |open: &&ByServer| open.id == *id && open.place.is(&scope, session);
        read(one.by_server.iter().find(of).ok_or(NotOpen)?)
    }

    /// The server takes a request of its own back.
    pub(crate) fn withdrawn(&self, sent: &Sent, id: &RpcId) {
        let place = Place::of(sent);
        self.locked().change(sent.caller.id(), |one| {
            one.by_server.retain(|open| open.id != *id || open.place != place);
        });
    }

    /// A client is about to ask under this id in a session: from now on no other request of the session has it, until that is answered and its
    /// answer cannot come again, or until what this gives is known not to have been sent. `still` is whether the session is its client's, asked once the id is
    /// taken; where callers are kept `apart` by others, none is ended. `over` ends a session, as is told who comes in it.
    ///
    /// # Errors
    /// [`NotFree`].
    pub(crate) fn asking(
        &self,
        agent: &Arc<str>,
        (place, id, apart): (Place, &RpcId, bool),
        still: impl FnOnce() -> bool,
        over: &dyn Fn(&Scope<'_>, &str),
    ) -> Result<Arc<Asking>, NotFree> {
        let bound = self.bounds.ids;
        let take = |one: &mut OfOne| {
            let (ids, told) = (&mut one.ids, &one.told);
            ids.bound(bound);
            let replayed = |at: u64| told.iter().any(|told| told.at < at && told.place == place);
            ids.free(&place, id, replayed)?;
            if !one.ids.has_room() {
                one.make_room(&place, over)?;
            }
            // whoever ends a session for room does so under this lock, and is seen here
            if still() { Ok(one.ids.take(place, id, apart)) } else { Err(NotFree::Over) }
        };
        let mut all = self.locked();
        self.room(&mut all, agent).map_err(|Full| NotFree::Full)?;
        let taken = all.change(agent, take).unwrap_or(Err(NotFree::Full));
        all.fit(self.bounds.all.saturating_mul(WEIGHT));
        taken
    }

    /// Whether a request of this agent has the id in the session.
    pub(crate) fn is_used(&self, agent: &str, place: &Place, id: &RpcId) -> bool {
        self.locked().of.get(agent).is_some_and(|one| one.ids.is_used(place, id))
    }

    /// An id that was answered, and not taken by the client itself, is its again.
    pub(crate) fn free(&self, agent: &str, place: &Place, id: &RpcId) {
        self.locked().change(agent, |one| {
            one.ids.forget(place, id);
            one.by_client.retain(|open| open.id != *id || open.place != *place);
        });
    }

    /// A request of the client in a session may pass. Without room it can be answered on its own stream only.
    pub(crate) fn client_asks(&self, sent: &Sent, id: RpcId) {
        let (place, each) = (Place::of(sent), self.bounds.each);
        let _ = self.add(sent, |one| {
            one.by_client.retain(|open| !open.is_settled() && (open.id != id || open.place != place));
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

    /// What the client asked under the id in the session of this stream. The answer passes on another stream than that of its request
    /// once that exchange is over, or if this stream resumes one.
    ///
    /// # Errors
    /// [`NotHere`].
    pub(crate) fn asked(&self, stream: &Sent, id: &RpcId) -> Result<Sent, NotHere> {
        let place = Place::of(stream);
        let all = self.locked();
        let of = |open: &&ByClient| open.id == *id && open.place == place;
        let one = all.of.get(stream.caller.id()).ok_or(NotHere::Nothing)?;
        let open = one.by_client.iter().find(of).filter(|_| one.ids.is_used(&place, id));
        let open = open.ok_or(NotHere::Nothing)?;
        if one.ids.is_held(&place, id) && !stream.resumes() {
            return Err(NotHere::Elsewhere);
        }
        Ok(open.sent.clone())
    }

    /// The server answered a request of the client.
    pub(crate) fn answered(&self, sent: &Sent, id: &RpcId) {
        if session(sent).is_none() {
            return;
        }
        let place = Place::of(sent);
        self.locked().change(sent.caller.id(), |one| {
            one.counted += 1;
            let resumable = one.told.iter().any(|told| told.place == place);
            one.ids.answered(&place, id, resumable.then_some(one.counted));
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
            one.counted += 1;
            one.told.push_back(Told { place, event: event.into(), at: one.counted });
            if one.told.len() > most {
                one.told.pop_front();
            }
        });
    }

    /// Whether this agent was told of an event of this id in its session.
    pub(crate) fn was_told(&self, at: At<'_>, event: &str) -> bool {
        let (scope, agent, session) = at;
        let of = |told: &Told| *told.event == *event && told.place.is(&scope, session);
        self.locked().of.get(agent).is_some_and(|one| one.told.iter().any(of))
    }

    /// A session is over, and with it what was open in it.
    pub(crate) fn ended(&self, sent: &Sent) {
        let place = Place::of(sent);
        let mut all = self.locked();
        let left = all.change(sent.caller.id(), |one| {
            one.end(&place);
            one.weight()
        });
        if left == Some(0) {
            all.of.remove(sent.caller.id());
        }
    }

    /// Adds to what one agent has under way, within the bounds.
    fn add<T>(&self, sent: &Sent, add: impl FnOnce(&mut OfOne) -> T) -> Result<T, Full> {
        let agent = sent.caller.key();
        let mut all = self.locked();
        self.room(&mut all, agent)?;
        let added = all.change(agent, add).ok_or(Full);
        all.fit(self.bounds.all.saturating_mul(WEIGHT));
        added
    }

    /// A place for the agent among all.
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
