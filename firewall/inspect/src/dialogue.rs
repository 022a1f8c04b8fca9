//! What is under way between a client and a server of MCP 2025-11-25: the requests of either side that are not answered yet.
//!
//! A client's answer counts only if the server asked, and is judged as the answer to exactly that. A stream that was cut may be
//! resumed by another request, so what is answered on it is matched with what was asked before, in the same session.

use crate::Sent;
use semgate_message::{RpcId, mcp::Operation};
use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
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
    /// It was answered, which happens once.
    answered: bool,
}

/// A request of a client in a session, with what its answer is judged against.
struct ByClient {
    place: Place,
    id: RpcId,
    sent: Sent,
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
}

impl OfOne {
    fn is_idle(&self) -> bool {
        self.by_server.is_empty() && self.by_client.is_empty()
    }
}

/// All of it, for all cores: of each agent so many in each direction, of which the oldest is forgotten first, so no agent
/// pushes out another's. What is forgotten cannot be answered any more.
pub(crate) struct Dialogues {
    each: usize,
    events: usize,
    agents: usize,
    open: Mutex<HashMap<Arc<str>, OfOne>>,
}

/// Nothing of this id is open, or it was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotOpen;

/// There is no room for another agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl Dialogues {
    /// At most `each` requests of one agent in each direction, `events` events that it was told, and `agents` agents.
    pub(crate) fn new(each: usize, events: usize, agents: usize) -> Self {
        Self { each, events, agents, open: Mutex::new(HashMap::new()) }
    }

    /// A request of the server may pass to who sent `sent`. The newest of an id is the one that is answered.
    ///
    /// # Errors
    /// [`Full`]: the answer could not be told from one to nothing.
    pub(crate) fn server_asks(&self, sent: &Sent, id: RpcId, operation: Operation) -> Result<(), Full> {
        let place = Place::of(sent);
        let mut all = self.locked();
        let one = self.room(&mut all, sent)?;
        one.by_server.retain(|open| open.id != id || open.place != place);
        one.by_server.push_back(ByServer { place, id, operation, answered: false });
        if one.by_server.len() > self.each {
            one.by_server.pop_front();
        }
        Ok(())
    }

    /// What the server asked of this agent under the id. `again` finds what was answered, too: the same answer is judged a
    /// second time.
    ///
    /// # Errors
    /// [`NotOpen`].
    pub(crate) fn open(
        &self,
        at: (&str, &str, Option<&str>),
        id: &RpcId,
        again: bool,
    ) -> Result<Operation, NotOpen> {
        let (route, agent, session) = at;
        let all = self.locked();
        let one = all.get(agent).ok_or(NotOpen)?;
        let of = |open: &&ByServer| open.id == *id && open.place.is(route, session);
        let found = one.by_server.iter().find(of).ok_or(NotOpen)?;
        if found.answered && !again { Err(NotOpen) } else { Ok(found.operation) }
    }

    /// The client's answer may pass, and no other after it.
    ///
    /// # Errors
    /// [`NotOpen`] if another was faster.
    pub(crate) fn answer(&self, at: (&str, &str, Option<&str>), id: &RpcId) -> Result<(), NotOpen> {
        let (route, agent, session) = at;
        let mut all = self.locked();
        let one = all.get_mut(agent).ok_or(NotOpen)?;
        let of = |open: &&mut ByServer| open.id == *id && open.place.is(route, session);
        let found = one.by_server.iter_mut().find(of).ok_or(NotOpen)?;
        if std::mem::replace(&mut found.answered, true) { Err(NotOpen) } else { Ok(()) }
    }

    /// The server takes a request of its own back.
    pub(crate) fn withdrawn(&self, sent: &Sent, id: &RpcId) {
        let place = Place::of(sent);
        if let Some(one) = self.locked().get_mut(sent.caller.id()) {
            one.by_server.retain(|open| open.id != *id || open.place != place);
        }
    }

    /// A request of the client in a session may pass. Without room it can be answered on its own stream only.
    pub(crate) fn client_asks(&self, sent: &Sent, id: RpcId) {
        let place = Place::of(sent);
        let mut all = self.locked();
        let Ok(one) = self.room(&mut all, sent) else { return };
        one.by_client.retain(|open| open.id != id || open.place != place);
        one.by_client.push_back(ByClient { place, id, sent: sent.clone() });
        if one.by_client.len() > self.each {
            one.by_client.pop_front();
        }
    }

    /// What the client asked under the id in the session of this stream.
    pub(crate) fn asked(&self, stream: &Sent, id: &RpcId) -> Option<Sent> {
        let place = Place::of(stream);
        let all = self.locked();
        let of = |open: &&ByClient| open.id == *id && open.place == place;
        all.get(stream.caller.id())?.by_client.iter().find(of).map(|open| open.sent.clone())
    }

    /// The server answered a request of the client.
    pub(crate) fn answered(&self, sent: &Sent, id: &RpcId) {
        if session(sent).is_none() {
            return;
        }
        let place = Place::of(sent);
        if let Some(one) = self.locked().get_mut(sent.caller.id()) {
            one.by_client.retain(|open| open.id != *id || open.place != place);
        }
    }

    /// An event of this id went to the client in its session. Without room nothing can be resumed after it.
    pub(crate) fn tell(&self, sent: &Sent, event: &str) {
        if session(sent).is_none() {
            return;
        }
        let place = Place::of(sent);
        let mut all = self.locked();
        let Ok(one) = self.room(&mut all, sent) else { return };
        if one.told.iter().any(|told| *told.event == *event && told.place == place) {
            return;
        }
        one.told.push_back(Told { place, event: event.into() });
        if one.told.len() > self.events {
            one.told.pop_front();
        }
    }

    /// Whether this agent was told of an event of this id in its session.
    pub(crate) fn was_told(&self, at: (&str, &str, Option<&str>), event: &str) -> bool {
        let (route, agent, session) = at;
        let of = |told: &Told| *told.event == *event && told.place.is(route, session);
        self.locked().get(agent).is_some_and(|one| one.told.iter().any(of))
    }

    /// A session is over, and with it what was open in it.
    pub(crate) fn ended(&self, sent: &Sent) {
        let place = Place::of(sent);
        let mut all = self.locked();
        let Some(one) = all.get_mut(sent.caller.id()) else { return };
        one.by_server.retain(|open| open.place != place);
        one.by_client.retain(|open| open.place != place);
        one.told.retain(|told| told.place != place);
        if one.is_idle() && one.told.is_empty() {
            all.remove(sent.caller.id());
        }
    }

    fn room<'a>(&self, all: &'a mut HashMap<Arc<str>, OfOne>, sent: &Sent) -> Result<&'a mut OfOne, Full> {
        if all.len() >= self.agents && !all.contains_key(sent.caller.id()) {
            all.retain(|_, one| !one.is_idle());
            if all.len() >= self.agents {
                return Err(Full);
            }
        }
        Ok(all.entry(Arc::clone(sent.caller.key())).or_default())
    }

    /// A thread that panicked while it held the lock left whole entries: each change is one call.
    fn locked(&self) -> MutexGuard<'_, HashMap<Arc<str>, OfOne>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Dialogues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "requests under way of {} agents", self.locked().len())
    }
}
