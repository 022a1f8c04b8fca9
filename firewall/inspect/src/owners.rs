//! Whose is it? Tasks, conversations, push configurations and sessions that an agent keeps, and who owns each.
//!
//! An agent behind the gateway sees one peer, so it cannot keep its callers apart by itself. The gateway therefore remembers
//! who was first told of a task, and answers everybody else as if there were none. It also remembers the context that a task
//! was begun under, since a later read of it names none.

mod delivery;
mod holding;
mod journal;
mod pages;
mod scope;
mod store;

pub use delivery::Delivery;
pub(crate) use delivery::named;
pub use journal::{Journal, Owned, OwnedFault};
pub(crate) use pages::{Listing, Pages};
pub use scope::Scope;

use crate::InspectLimits;
use crate::turn::{Pairs, Proposal};
use semgate_contexts::{ContextUrn, Digest, Prefix};
use semgate_message::OwnThread;
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};
use store::Store;

/// What kind of thing is owned. Ids of two kinds never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An A2A task.
    Task,
    /// An A2A context id, which holds messages and tasks together.
    Conversation,
    /// A push configuration; its id is `task/configuration`, since the agent numbers them within a task.
    Push,
    /// An MCP session.
    Session,
    /// What a server of MCP gave a caller to give back with the same request (`requestState`); its id is a digest, see `round`.
    Round,
    /// Where notifications of one push configuration go; its id is the token that the agent was given.
    Delivery,
}

/// The signed context that a thing was begun under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Its URN.
    pub urn: ContextUrn,
    /// The digest that its authority published.
    pub digest: Digest,
}

/// There is no such thing, or it is another's: the answer is one and the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotOwned;

impl fmt::Display for NotOwned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is nothing of this id that is this agent's")
    }
}

impl std::error::Error for NotOwned {}

/// Who owns what, for all cores. Bounded for each owner and in all; what was not used for longest is forgotten first. One owner never pushes
/// out another's while it holds as much itself; and no agent, by what it names, what the same owner has at another agent, while it keeps as
/// much of that owner's itself. What is forgotten is found by nobody.
pub struct Owners {
    store: Mutex<Store>,
    pages: Pages<Listing>,
    pairs: Pairs,
    journal: OnceLock<Box<dyn Journal>>,
}

impl Owners {
    /// An empty memory of at most `each` things of one agent and `all` things, with the other bounds by default.
    pub fn new(each: usize, all: usize) -> Self {
        Self::with_limits(&InspectLimits {
            owned_by_one: each,
            owned_by_all: all,
            ..InspectLimits::default()
        })
    }

    /// An empty memory.
    pub fn with_limits(limits: &InspectLimits) -> Self {
        Self {
            store: Mutex::new(Store::new(limits.owned_by_one, limits.owned_by_all)),
            pages: Pages::new(limits.pages_of_one, limits.metered_agents),
            pairs: Pairs::new(limits.proposals_of_one, limits.proposals_of_all),
            journal: OnceLock::new(),
        }
    }

    /// Tells `journal` of everything that is learnt or forgotten from now on. The first one given stays.
    ///
    /// # Errors
    /// The journal that came second is given back.
    pub fn tell(&self, journal: Box<dyn Journal>) -> Result<(), Box<dyn Journal>> {
        self.journal.set(journal)
    }

    /// Everything that is remembered, what was not used for longest first: what [`Owners::import`] reads.
    pub fn export(&self) -> Vec<Owned> {
        self.locked().all()
    }

    /// Takes what another run exported or its journal was told. What is already here stays its owner's; the journal is not
    /// told. Returns how many were new.
    ///
    /// # Errors
    /// [`OwnedFault`] at the first record that cannot be read; those before it were taken.
    pub fn import(
        &self,
        records: impl IntoIterator<Item = Owned>,
        prefix: &Prefix,
    ) -> Result<usize, OwnedFault> {
        let mut store = self.locked();
        let mut taken = 0;
        for record in records {
            let about = record.about(prefix)?;
            let delivery = record.delivery.clone().map(Arc::from);
            let owner: Arc<str> = Arc::from(record.owner.as_str());
            let scope = record.scope();
            match store.find(&scope, record.kind, &record.id) {
                // a later record of the same thing tells what it is about by now
                Some((known, _)) if known == owner => {
                    store.settle(&scope, record.kind, &record.id, Arc::new(about));
                }
                Some(_) => {}
                None => {
                    store.put(&scope, record.kind, &record.id, &owner, Arc::new(about));
                    taken += 1;
                }
            }
            if let Some(delivery) = delivery {
                store.set_delivery(&scope, &record.id, delivery);
            }
        }
        Ok(taken)
    }

    /// What this agent's thing is about.
    ///
    /// # Errors
    /// [`NotOwned`]: it is unknown, or another's.
    pub fn of(&self, scope: &Scope<'_>, owner: &str, kind: Kind, id: &str) -> Result<Arc<About>, NotOwned> {
        let mut store = self.locked();
        match store.find(scope, kind, id) {
            Some((known, about)) if &*known == owner => {
                store.touch(scope, kind, id);
                Ok(about)
            }
            _ => Err(NotOwned),
        }
    }

    /// What a thing is about, whoever owns it; `None` if it is unknown.
    pub fn about(&self, scope: &Scope<'_>, kind: Kind, id: &str) -> Option<Arc<About>> {
        self.locked().find(scope, kind, id).map(|(_, about)| about)
    }

    /// Who owns a thing, for what an agent sends by itself (a push notification); `None` if it is unknown.
    pub fn owner(&self, scope: &Scope<'_>, kind: Kind, id: &str) -> Option<Arc<str>> {
        self.locked().find(scope, kind, id).map(|(owner, _)| owner)
    }

    /// Whether none of these is another's. What is unknown is nobody's yet.
    ///
    /// # Errors
    /// [`NotOwned`] if one belongs to another agent.
    pub fn free(
        &self,
        scope: &Scope<'_>,
        owner: &str,
        things: &[(Kind, impl AsRef<str>)],
    ) -> Result<(), NotOwned> {
        let store = self.locked();
        free(&store, scope, owner, things)
    }

    /// Makes all of these things the agent's that are nobody's yet, or none if one is another's. One of its own that was begun
    /// under the protocol's context alone (a text, say) is about `about` from now on; `protocol` is that context.
    ///
    /// # Errors
    /// [`NotOwned`] if one belongs to another agent; then nothing is remembered.
    pub fn claim(
        &self,
        scope: &Scope<'_>,
        owner: &Arc<str>,
        things: &[(Kind, impl AsRef<str>)],
        about: &Arc<About>,
        protocol: Option<&ContextUrn>,
    ) -> Result<(), NotOwned> {
        let mut store = self.locked();
        free(&store, scope, owner, things)?;
        self.take(&mut store, scope, owner, things, (about, protocol));
        Ok(())
    }

    /// Remembers what is unknown, whoever owns the rest: for an agent that keeps its callers apart by itself.
    pub fn learn(
        &self,
        scope: &Scope<'_>,
        owner: &Arc<str>,
        things: &[(Kind, impl AsRef<str>)],
        about: &Arc<About>,
        protocol: Option<&ContextUrn>,
    ) {
        let mut store = self.locked();
        self.take(&mut store, scope, owner, things, (about, protocol));
    }

    /// What was proposed last in a task; in none, or in one where nothing was, what was in the conversation outside of other tasks.
    pub(crate) fn proposal(&self, scope: &Scope<'_>, own: OwnThread<'_>) -> Option<Arc<Proposal>> {
        let OwnThread { task, context } = own;
        if task.is_none() && context.is_none() {
            return None;
        }
        let store = self.locked();
        task.and_then(|id| store.proposal(scope, Kind::Task, id)).or_else(|| {
            let found = store.proposal(scope, Kind::Conversation, context?)?;
            found.belongs_to(task).then_some(found)
        })
    }

    /// What is proposed where the binding has no conversations.
    pub(crate) fn pairs(&self) -> &Pairs {
        &self.pairs
    }

    /// This was proposed in both: one thing under two ids. It is not kept over a restart: a proposal is then made again.
    pub(crate) fn propose(&self, scope: &Scope<'_>, own: OwnThread<'_>, proposal: &Arc<Proposal>) {
        let mut store = self.locked();
        for (kind, id) in ids(own) {
            store.propose(scope, kind, id, proposal);
        }
    }

    /// What was proposed belongs to these too, where nothing else is open: an answer named them first.
    pub(crate) fn attach(&self, scope: &Scope<'_>, own: OwnThread<'_>, proposal: &Arc<Proposal>) {
        let mut store = self.locked();
        for (kind, id) in ids(own) {
            let known = store.proposal(scope, kind, id);
            if known.is_none_or(|known| !known.is_open()) {
                store.propose(scope, kind, id, proposal);
            }
        }
    }

    /// What a list that this agent was told of showed it so far; `None` for a page that it was not told of.
    pub(crate) fn listing(&self, scope: &Scope<'_>, owner: &str, token: &str) -> Option<Arc<Listing>> {
        self.pages.find(scope.key(), owner, token)
    }

    /// Whether a list can go on to show an agent something of its own, as far as is remembered; then what asks for the next page is the agent's.
    /// With it comes how many tasks of its own the listing did not come to yet, at least one.
    pub(crate) fn next_page<'t>(
        &self,
        scope: &Scope<'_>,
        owner: &Arc<str>,
        listing: &Arc<Listing>,
        token: &'t str,
    ) -> Option<(&'t str, usize)> {
        let more = {
            let seen = listing.seen();
            self.locked().own(scope, owner, Kind::Task).filter(|id| !seen.contains_key(*id)).count()
        };
        if more == 0 {
            return None;
        }
        self.pages.tell(scope.key(), owner, token, listing);
        Some((token, more))
    }

    /// Remembers where notifications under a token go; at most `most` of one owner, whose oldest is forgotten first.
    pub(crate) fn deliver(
        &self,
        scope: &Scope<'_>,
        owner: &Arc<str>,
        token: &str,
        (about, delivery): (&Arc<About>, Delivery),
        most: usize,
    ) {
        let mut store = self.locked();
        let held = store.deliveries(owner);
        for (at, token, _) in held.iter().take((held.len() + 1).saturating_sub(most.max(1))) {
            let gone = store.remove(&Scope::of_key(at), Kind::Delivery, token);
            self.forgotten(gone);
        }
        let gone = store.put(scope, Kind::Delivery, token, owner, Arc::clone(about));
        self.forgotten(gone);
        store.set_delivery(scope, token, Arc::new(delivery));
        self.told(&store, scope, token);
    }

    /// Whose notifications a token stands for, what they began under, and where they go.
    pub(crate) fn delivery(
        &self,
        scope: &Scope<'_>,
        token: &str,
    ) -> Option<(Arc<str>, Arc<About>, Arc<Delivery>)> {
        let mut store = self.locked();
        store.touch(scope, Kind::Delivery, token);
        let (owner, about) = store.find(scope, Kind::Delivery, token)?;
        Some((owner, about, store.delivery(scope, token)?))
    }

    /// The task, and where it is known the id, of the configuration that a token stands for. Nothing where there is none any more. What
    /// its owner set before under the same id is over: its token is none any more.
    ///
    /// # Errors
    /// [`NotOwned`] if it is about another task.
    pub(crate) fn bind(
        &self,
        scope: &Scope<'_>,
        token: &str,
        task: &str,
        said: Option<&str>,
    ) -> Result<(), NotOwned> {
        let mut store = self.locked();
        let Some(known) = store.delivery(scope, token) else { return Ok(()) };
        if known.task.as_deref().is_some_and(|known| known != task) {
            return Err(NotOwned);
        }
        let config = said.map(str::to_owned).or_else(|| known.config.clone());
        let bound = Delivery { task: Some(task.to_owned()), config, ..Delivery::clone(&known) };
        if bound != *known {
            store.set_delivery(scope, token, Arc::new(bound));
            self.told(&store, scope, token);
        }
        let owner = store.find(scope, Kind::Delivery, token).map(|(owner, _)| owner);
        if let (Some(config), Some(owner)) = (said, owner) {
            let before =
                |other: &str, delivery: &Delivery| other != token && delivery.is_known_as(task, config);
            self.over(&mut store, scope, &owner, before);
        }
        Ok(())
    }

    /// Ends what may be the configuration `push` (`task/configuration`) of this owner.
    pub(crate) fn undeliver(&self, scope: &Scope<'_>, owner: &str, push: &str) {
        self.over(&mut self.locked(), scope, owner, |_, delivery| delivery.is(push));
    }

    fn over(
        &self,
        store: &mut Store,
        scope: &Scope<'_>,
        owner: &str,
        which: impl Fn(&str, &Delivery) -> bool,
    ) {
        for (at, token, delivery) in store.deliveries(owner) {
            if *at == *scope.key() && which(&token, &delivery) {
                let gone = store.remove(scope, Kind::Delivery, &token);
                self.forgotten(gone);
            }
        }
    }

    fn told(&self, store: &Store, scope: &Scope<'_>, token: &str) {
        if let (Some(owned), Some(journal)) = (store.owned(scope, Kind::Delivery, token), self.journal.get())
        {
            journal.learnt(&owned);
        }
    }

    /// Forgets a thing that its agent has ended: a deleted push configuration, a closed session.
    pub fn forget(&self, scope: &Scope<'_>, kind: Kind, id: &str) {
        let mut store = self.locked();
        let gone = store.remove(scope, kind, id);
        self.forgotten(gone);
    }

    /// How many things are remembered.
    pub fn len(&self) -> usize {
        self.locked().len()
    }

    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn take(
        &self,
        store: &mut Store,
        scope: &Scope<'_>,
        owner: &Arc<str>,
        things: &[(Kind, impl AsRef<str>)],
        (about, protocol): (&Arc<About>, Option<&ContextUrn>),
    ) {
        for (kind, id) in things {
            let id = id.as_ref();
            if let Some((_, known)) = store.find(scope, *kind, id) {
                store.touch(scope, *kind, id);
                if Some(&known.urn) != protocol || known.urn == about.urn {
                    continue;
                }
                store.settle(scope, *kind, id, Arc::clone(about));
                if let Some(journal) = self.journal.get() {
                    journal.learnt(&Owned::of(scope, *kind, id, owner, about));
                }
                continue;
            }
            let gone = store.put(scope, *kind, id, owner, Arc::clone(about));
            self.forgotten(gone);
            if let Some(journal) = self.journal.get() {
                journal.learnt(&Owned::of(scope, *kind, id, owner, about));
            }
        }
    }

    fn forgotten(&self, gone: Option<Owned>) {
        if let (Some(gone), Some(journal)) = (gone, self.journal.get()) {
            journal.forgotten(&gone);
        }
    }

    /// A thread that panicked while it held the lock left whole entries: each change is one call.
    fn locked(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Owners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "owners of {} things", self.len())
    }
}

fn ids(own: OwnThread<'_>) -> impl Iterator<Item = (Kind, &str)> {
    let task = own.task.map(|id| (Kind::Task, id));
    task.into_iter().chain(own.context.map(|id| (Kind::Conversation, id)))
}

fn free(
    store: &Store,
    scope: &Scope<'_>,
    owner: &str,
    things: &[(Kind, impl AsRef<str>)],
) -> Result<(), NotOwned> {
    let foreign =
        |kind: Kind, id: &str| store.find(scope, kind, id).is_some_and(|(known, _)| &*known != owner);
    if things.iter().any(|(kind, id)| foreign(*kind, id.as_ref())) { Err(NotOwned) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
