//! Terms that two agents settle between themselves (F0-31): a name that no context defines, and its possible
//! codes.
//!
//! A term belongs to one pair of agents, one route and one session, whose id the lock carries. The memory is
//! bounded, lives in this process only, and ends with the lock.
//!
//! Nobody signed the term. It is therefore no task, hides no signed name, and passes only by a policy that
//! names `learnt::NAME`.

use crate::{Code, Refusal};
use semgate_contexts::{Context, DocumentLimits, ModelName, Prefix, Term};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

/// The member of a learnt concept, which holds one of the settled codes.
pub(crate) const VALUE: &str = "value";
/// The code list of the document that holds a learnt concept.
const LIST: &str = "options";
/// Performatives that inform or answer; none that asks for an action.
const PERFORMATIVES: [&str; 3] = ["INFORM", "PUBLISH", "AGREE"];

/// Session id, as the lock carries it.
pub(crate) type SessionId = [u8; 32];

/// A session, and the second at which its lock ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InSession {
    pub id: SessionId,
    pub until: u64,
    /// The embedding model that the session chose.
    pub model: Option<ModelName>,
}

impl InSession {
    /// The same for a message that also belongs to another session, or answers a request of it; `None` if the two chose different models.
    pub fn also_of(self, other: Option<Self>) -> Option<Self> {
        match (self.model, other.and_then(|other| other.model)) {
            (Some(own), Some(theirs)) if own != theirs => None,
            (own, theirs) => Some(Self { model: own.or(theirs), ..self }),
        }
    }
}

/// The sessions of one pair on one route.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfPair {
    sessions: BTreeMap<SessionId, Session>,
}

#[derive(Clone, Debug, Default)]
struct Session {
    until: u64,
    open: BTreeSet<String>,
    known: BTreeMap<String, Arc<Context>>,
}

/// Route, sender and receiver of the requests.
type Pair = (String, String, String);

/// All settled terms of open sessions.
#[derive(Debug)]
pub(crate) struct NegotiatedTerms {
    pairs: Mutex<HashMap<Pair, Arc<OfPair>>>,
    nothing: Arc<OfPair>,
    sessions: usize,
    concepts: usize,
}

impl OfPair {
    /// The settled definition of a name in a session.
    pub(crate) fn term(&self, session: &SessionId, name: &str) -> Option<(&Context, &Term)> {
        let context = self.sessions.get(session)?.known.get(name)?;
        context.term(name).map(|term| (&**context, term))
    }

    /// Returns `Some` if the name was asked about in the session and is not settled yet.
    pub(crate) fn asks(&self, session: &SessionId, name: &str) -> Option<()> {
        self.sessions.get(session)?.open.contains(name).then_some(())
    }
}

impl NegotiatedTerms {
    /// An empty memory with the maximum numbers of sessions and of names per session.
    pub(crate) fn new(sessions: usize, concepts: usize) -> Self {
        Self { pairs: Mutex::default(), nothing: Arc::default(), sessions, concepts }
    }

    /// The empty set of sessions.
    pub(crate) fn nothing(&self) -> &Arc<OfPair> {
        &self.nothing
    }

    /// The current sessions of a pair.
    pub(crate) fn of(&self, of: Parties<'_>) -> Arc<OfPair> {
        let pairs = self.pairs.lock().unwrap_or_else(PoisonError::into_inner);
        pairs.get(&of.pair()).map_or_else(|| Arc::clone(&self.nothing), Arc::clone)
    }

    /// Records the question about an undefined name. `None` if the name is settled or the session is full.
    pub(crate) fn open(&self, of: Parties<'_>, session: InSession, name: &str, now: u64) -> Option<()> {
        self.change(of, session, now, |held, most| {
            let known = held.known.contains_key(name);
            if known || (!held.open.contains(name) && held.open.len() + held.known.len() >= most) {
                return None;
            }
            held.open.insert(name.to_owned());
            Some(())
        })
    }

    /// Settles an open name for the rest of the session. A settled name does not change.
    pub(crate) fn learn(
        &self,
        of: Parties<'_>,
        session: InSession,
        name: &str,
        meaning: &Arc<Context>,
        now: u64,
    ) {
        let _ = self.change(of, session, now, |held, _| {
            held.open.remove(name).then(|| held.known.insert(name.to_owned(), Arc::clone(meaning)))
        });
    }

    /// Reopens a name that was settled with exactly this meaning, after the agent declined.
    pub(crate) fn take_back(&self, of: Parties<'_>, session: InSession, name: &str, meaning: &Arc<Context>) {
        let mut pairs = self.pairs.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pair) = pairs.get_mut(&of.pair()) else { return };
        let Some(held) = Arc::make_mut(pair).sessions.get_mut(&session.id) else { return };
        if held.known.get(name).is_some_and(|known| Arc::ptr_eq(known, meaning)) {
            held.known.remove(name);
            held.open.insert(name.to_owned());
        }
    }

    fn change<T>(
        &self,
        of: Parties<'_>,
        session: InSession,
        now: u64,
        change: impl FnOnce(&mut Session, usize) -> Option<T>,
    ) -> Option<T> {
        let mut pairs = self.pairs.lock().unwrap_or_else(PoisonError::into_inner);
        let key = of.pair();
        let known = pairs.get(&key).is_some_and(|of| of.sessions.contains_key(&session.id));
        if !known {
            self.make_room(&mut pairs, &key, now);
        }
        let mut of = pairs.get(&key).map_or_else(OfPair::default, |of| OfPair::clone(of));
        let held = of.sessions.entry(session.id).or_default();
        held.until = session.until;
        let done = change(held, self.concepts)?;
        pairs.insert(key, Arc::new(of));
        Some(done)
    }

    /// Drops ended sessions. If there is still no room, the sender that holds most loses its session that
    /// ends first.
    ///
    /// In a tie the new sender loses its own, so no agent displaces another that holds less.
    fn make_room(&self, pairs: &mut HashMap<Pair, Arc<OfPair>>, (_, newcomer, _): &Pair, now: u64) {
        let held = |pairs: &HashMap<Pair, Arc<OfPair>>| {
            let mut held: HashMap<String, usize> = HashMap::new();
            for ((_, sender, _), of) in pairs {
                *held.entry(sender.clone()).or_default() += of.sessions.len();
            }
            held
        };
        if held(pairs).values().sum::<usize>() < self.sessions {
            return;
        }
        for of in pairs.values_mut().filter(|of| of.sessions.values().any(|session| session.until <= now)) {
            Arc::make_mut(of).sessions.retain(|_, session| session.until > now);
        }
        let held = held(pairs);
        if held.values().sum::<usize>() >= self.sessions {
            let own = held.get(newcomer).copied().unwrap_or_default();
            let most = held.iter().max_by_key(|(_, held)| **held);
            let giver = most.filter(|(_, most)| **most > own).map_or(newcomer, |(giver, _)| giver);
            let ends = |of: &OfPair| of.sessions.iter().map(|(id, session)| (session.until, *id)).min();
            let first = pairs
                .iter_mut()
                .filter(|((_, sender, _), _)| sender == giver)
                .filter_map(|(_, of)| Some((ends(of)?, of)))
                .min_by_key(|(ends, _)| *ends);
            if let Some(((_, id), of)) = first {
                Arc::make_mut(of).sessions.remove(&id);
            }
        }
        pairs.retain(|_, of| !of.sessions.is_empty());
    }
}

/// The two agents of a request, and its route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parties<'p> {
    pub route: &'p str,
    pub sender: &'p str,
    pub receiver: &'p str,
}

impl Parties<'_> {
    fn pair(&self) -> Pair {
        (self.route.to_owned(), self.sender.to_owned(), self.receiver.to_owned())
    }
}

/// A concept `name` with one member that holds one of the codes. Its document is unsigned, and no message can
/// name it.
///
/// # Errors
/// `content_invalid`: no document can hold these codes.
pub(crate) fn meaning(
    name: &str,
    options: &[&str],
    prefix: &Prefix,
    path: &str,
) -> Result<Arc<Context>, Refusal> {
    let schema = json!({
        "type": "object",
        "properties": { VALUE: {"type": "string", "x-code-list": LIST} },
        "required": [VALUE],
        "additionalProperties": false,
        "x-performatives": PERFORMATIVES,
    });
    let concepts: Map<String, Value> = [(name.to_owned(), schema)].into_iter().collect();
    let urn = format!("{prefix}:learnt:v1.0");
    let document = json!({"context": urn, "concepts": concepts, "codes": { LIST: options }}).to_string();
    Context::check(document.as_bytes(), prefix, &DocumentLimits::default()).map(Arc::new).map_err(|why| {
        Refusal::new(Code::ContentInvalid, format!("`{path}` does not fit the rule `learnt`"))
            .with_hint("offer distinct codes for a name that is not in use")
            .with_detail(why.to_string())
    })
}

#[cfg(test)]
mod tests;
