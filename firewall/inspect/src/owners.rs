//! Whose is it? Tasks, conversations, push configurations and sessions that an agent keeps, and who owns each.
//!
//! An agent behind the gateway sees one peer, so it cannot keep its callers apart by itself. The gateway therefore remembers
//! who was first told of a task, and answers everybody else as if there were none. It also remembers the context that a task
//! was begun under, since a later read of it names none.

mod journal;
mod store;

pub use journal::{Journal, Owned, OwnedFault};

use crate::turn::Side;
use semgate_contexts::{ContextUrn, Digest, Prefix};
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

/// Who owns what, for all cores. Bounded for each agent and in all; what was not used for longest is forgotten first, and
/// one agent never pushes out another's while it holds as much itself. What is forgotten is found by nobody.
pub struct Owners {
    store: Mutex<Store>,
    journal: OnceLock<Box<dyn Journal>>,
}

impl Owners {
    /// An empty memory of at most `each` things of one agent and `all` things.
    pub fn new(each: usize, all: usize) -> Self {
        Self { store: Mutex::new(Store::new(each, all)), journal: OnceLock::new() }
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
            let owner: Arc<str> = Arc::from(record.owner.as_str());
            match store.find(&record.route, record.kind, &record.id) {
                // a later record of the same thing tells what it is about by now
                Some((known, _)) if known == owner => {
                    store.settle(&record.route, record.kind, &record.id, Arc::new(about));
                }
                Some(_) => {}
                None => {
                    store.put(&record.route, record.kind, &record.id, &owner, Arc::new(about));
                    taken += 1;
                }
            }
        }
        Ok(taken)
    }

    /// What this agent's thing is about.
    ///
    /// # Errors
    /// [`NotOwned`]: it is unknown, or another's.
    pub fn of(&self, route: &str, owner: &str, kind: Kind, id: &str) -> Result<Arc<About>, NotOwned> {
        let mut store = self.locked();
        match store.find(route, kind, id) {
            Some((known, about)) if &*known == owner => {
                store.touch(route, kind, id);
                Ok(about)
            }
            _ => Err(NotOwned),
        }
    }

    /// What a thing is about, whoever owns it; `None` if it is unknown.
    pub fn about(&self, route: &str, kind: Kind, id: &str) -> Option<Arc<About>> {
        self.locked().find(route, kind, id).map(|(_, about)| about)
    }

    /// Who owns a thing, for what an agent sends by itself (a push notification); `None` if it is unknown.
    pub fn owner(&self, route: &str, kind: Kind, id: &str) -> Option<Arc<str>> {
        self.locked().find(route, kind, id).map(|(owner, _)| owner)
    }

    /// Whether none of these is another's. What is unknown is nobody's yet.
    ///
    /// # Errors
    /// [`NotOwned`] if one belongs to another agent.
    pub fn free(&self, route: &str, owner: &str, things: &[(Kind, impl AsRef<str>)]) -> Result<(), NotOwned> {
        let store = self.locked();
        free(&store, route, owner, things)
    }

    /// Makes all of these things the agent's that are nobody's yet, or none if one is another's. One of its own that was begun
    /// under the protocol's context alone (a text, say) is about `about` from now on; `protocol` is that context.
    ///
    /// # Errors
    /// [`NotOwned`] if one belongs to another agent; then nothing is remembered.
    pub fn claim(
        &self,
        route: &str,
        owner: &Arc<str>,
        things: &[(Kind, impl AsRef<str>)],
        about: &Arc<About>,
        protocol: Option<&ContextUrn>,
    ) -> Result<(), NotOwned> {
        let mut store = self.locked();
        free(&store, route, owner, things)?;
        self.take(&mut store, route, owner, things, (about, protocol));
        Ok(())
    }

    /// Remembers what is unknown, whoever owns the rest: for an agent that keeps its callers apart by itself.
    pub fn learn(
        &self,
        route: &str,
        owner: &Arc<str>,
        things: &[(Kind, impl AsRef<str>)],
        about: &Arc<About>,
        protocol: Option<&ContextUrn>,
    ) {
        let mut store = self.locked();
        self.take(&mut store, route, owner, things, (about, protocol));
    }

    /// Whose proposal is open in one of these.
    pub(crate) fn open(&self, route: &str, things: &[(Kind, impl AsRef<str>)]) -> Option<Side> {
        if things.is_empty() {
            return None;
        }
        let store = self.locked();
        things.iter().find_map(|(kind, id)| store.open(route, *kind, id.as_ref()))
    }

    /// Says of all of these whose proposal is open in them. It is not kept over a restart: a proposal is then made again.
    pub(crate) fn set_open(&self, route: &str, things: &[(Kind, impl AsRef<str>)], open: Option<Side>) {
        if things.is_empty() {
            return;
        }
        let mut store = self.locked();
        for (kind, id) in things {
            store.set_open(route, *kind, id.as_ref(), open);
        }
    }

    /// Forgets a thing that its agent has ended: a deleted push configuration, a closed session.
    pub fn forget(&self, route: &str, kind: Kind, id: &str) {
        let mut store = self.locked();
        let gone = store.remove(route, kind, id);
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
        route: &str,
        owner: &Arc<str>,
        things: &[(Kind, impl AsRef<str>)],
        (about, protocol): (&Arc<About>, Option<&ContextUrn>),
    ) {
        for (kind, id) in things {
            let id = id.as_ref();
            if let Some((_, known)) = store.find(route, *kind, id) {
                store.touch(route, *kind, id);
                if Some(&known.urn) != protocol || known.urn == about.urn {
                    continue;
                }
                store.settle(route, *kind, id, Arc::clone(about));
                if let Some(journal) = self.journal.get() {
                    journal.learnt(&Owned::of(route, *kind, id, owner, about));
                }
                continue;
            }
            let gone = store.put(route, *kind, id, owner, Arc::clone(about));
            self.forgotten(gone);
            if let Some(journal) = self.journal.get() {
                journal.learnt(&Owned::of(route, *kind, id, owner, about));
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

fn free(store: &Store, route: &str, owner: &str, things: &[(Kind, impl AsRef<str>)]) -> Result<(), NotOwned> {
    let foreign =
        |kind: Kind, id: &str| store.find(route, kind, id).is_some_and(|(known, _)| &*known != owner);
    if things.iter().any(|(kind, id)| foreign(*kind, id.as_ref())) { Err(NotOwned) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
