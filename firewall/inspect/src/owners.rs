//! Ownership of an agent's tasks, conversations, push configurations and sessions.
//!
//! An upstream agent sees one peer, the gateway, so it cannot keep its callers apart. The gateway records the
//! first caller that learns of a task. It answers every other caller as if the task did not exist.
//!
//! It also records the context that a task was begun under, since later reads name none.

mod deliveries;
mod delivery;
mod holding;
mod journal;
mod pages;
mod scope;
mod store;

pub(crate) use deliveries::DeliveryTarget;
pub use delivery::Delivery;
pub(crate) use delivery::named;
pub use journal::{Journal, Owned, OwnedFault};
pub(crate) use pages::{Listing, Pages};
pub use scope::Scope;

use crate::InspectLimits;
use crate::turn::{Pairs, Proposal};
use semgate_contexts::{ContextUrn, Digest, Prefix};
use semgate_protocol::OwnThread;
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};
use store::Store;

/// Kind of an owned thing. Ids of two kinds never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An A2A task.
    Task,
    /// An A2A context id, which groups messages and tasks.
    Conversation,
    /// A push configuration with the id `task/configuration`: the agent numbers configurations within a task.
    Push,
    /// An MCP session.
    Session,
    /// A `requestState` that an MCP server gave a caller to return with the same request. The id is a digest.
    Round,
    /// Delivery target of one push configuration. The id is the token given to the agent.
    Delivery,
}

/// The signed context that a thing was begun under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// URN of the context.
    pub urn: ContextUrn,
    /// Digest published by its authority.
    pub digest: Digest,
}

/// The thing does not exist, or belongs to another agent. Both give the same answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotOwned;

impl fmt::Display for NotOwned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this agent owns nothing with this id")
    }
}

impl std::error::Error for NotOwned {}

/// Owners of all things, shared by all cores.
///
/// Bounded per owner and in total; the least recently used thing is forgotten first. An owner never displaces
/// the things of another that holds less. For one owner, an agent never displaces things at another agent
/// that keeps fewer.
///
/// A forgotten thing is unknown to everybody.
pub struct Owners {
    store: Mutex<Store>,
    pages: Pages<Listing>,
    pairs: Pairs,
    journal: OnceLock<Box<dyn Journal>>,
    deliveries_by_one: usize,
}

/// The context of new things, and that of the protocol alone.
#[derive(Clone, Copy)]
struct Under<'u> {
    about: &'u Arc<About>,
    protocol: Option<&'u ContextUrn>,
}

impl Owners {
    /// An empty memory of at most `each` things per owner and `all` things in total, with default bounds
    /// otherwise.
    pub fn new(each: usize, all: usize) -> Self {
        Self::with_limits(&InspectLimits {
            owned_by_one: each,
            owned_by_all: all,
            ..InspectLimits::default()
        })
    }

    /// An empty memory with these bounds.
    pub fn with_limits(limits: &InspectLimits) -> Self {
        Self {
            store: Mutex::new(Store::new(limits.owned_by_one, limits.owned_by_all)),
            pages: Pages::new(limits.pages_of_one, limits.metered_agents),
            pairs: Pairs::new(limits.proposals_of_one, limits.proposals_of_all),
            journal: OnceLock::new(),
            deliveries_by_one: limits.deliveries_by_one,
        }
    }

    /// Sets the journal of all later changes. The first journal stays.
    ///
    /// # Errors
    /// Returns a second journal to the caller.
    pub fn tell(&self, journal: Box<dyn Journal>) -> Result<(), Box<dyn Journal>> {
        self.journal.set(journal)
    }

    /// Everything remembered, least recently used first, as [`Owners::import`] reads it.
    pub fn export(&self) -> Vec<Owned> {
        self.locked().all()
    }

    /// Imports records of an earlier run, exported or from its journal. Known things keep their owner, and
    /// the journal is not called. Returns the number of new things.
    ///
    /// # Errors
    /// [`OwnedFault`] at the first unreadable record. The records before it were imported.
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
                // a later record of the same thing has its current context
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

    /// The context of a thing that this agent owns.
    ///
    /// # Errors
    /// [`NotOwned`]: the thing is unknown, or another agent's.
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

    /// The context of a thing, whoever owns it; `None` if it is unknown.
    pub fn about(&self, scope: &Scope<'_>, kind: Kind, id: &str) -> Option<Arc<About>> {
        self.locked().find(scope, kind, id).map(|(_, about)| about)
    }

    /// The owner of a thing, as a push notification needs it; `None` if it is unknown.
    pub fn owner(&self, scope: &Scope<'_>, kind: Kind, id: &str) -> Option<Arc<str>> {
        self.locked().find(scope, kind, id).map(|(owner, _)| owner)
    }

    /// Checks that no other agent owns any of these things. Unknown things have no owner yet.
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

    /// Claims all unowned things for the agent, or none if another agent owns one.
    ///
    /// A thing of its own that was begun under `protocol` alone, such as a text, moves to the context
    /// `about`.
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
        self.take(&mut store, scope, owner, things, Under { about, protocol });
        Ok(())
    }

    /// Records unknown things, whoever owns the rest. For an agent that keeps its callers apart by itself.
    pub fn learn(
        &self,
        scope: &Scope<'_>,
        owner: &Arc<str>,
        things: &[(Kind, impl AsRef<str>)],
        about: &Arc<About>,
        protocol: Option<&ContextUrn>,
    ) {
        let mut store = self.locked();
        self.take(&mut store, scope, owner, things, Under { about, protocol });
    }

    /// The last proposal in a task. Without one, the last in the conversation outside of other tasks.
    pub(crate) fn proposal(&self, scope: &Scope<'_>, own: OwnThread<'_>) -> Option<Arc<Proposal>> {
        let OwnThread { task, context } = own;
        if task.is_none() && context.is_none() {
            return None;
        }
        let store = self.locked();
        task.and_then(|id| store.proposal(scope, Kind::Task, id)).or_else(|| {
            let proposal = store.proposal(scope, Kind::Conversation, context?)?;
            proposal.belongs_to(task).then_some(proposal)
        })
    }

    /// Proposals of bindings without conversations.
    pub(crate) fn pairs(&self) -> &Pairs {
        &self.pairs
    }

    /// Records a proposal under both ids. A restart forgets it, and it has to be made again.
    pub(crate) fn propose(&self, scope: &Scope<'_>, own: OwnThread<'_>, proposal: &Arc<Proposal>) {
        let mut store = self.locked();
        for (kind, id) in ids(own) {
            store.propose(scope, kind, id, proposal);
        }
    }

    /// Records a proposal under further ids that an answer named first, unless another proposal is open
    /// there.
    pub(crate) fn attach(&self, scope: &Scope<'_>, own: OwnThread<'_>, proposal: &Arc<Proposal>) {
        let mut store = self.locked();
        for (kind, id) in ids(own) {
            let known = store.proposal(scope, kind, id);
            if known.is_none_or(|known| !known.is_open()) {
                store.propose(scope, kind, id, proposal);
            }
        }
    }

    /// Earlier pages of a listing that this agent received; `None` for a page token that it did not receive.
    pub(crate) fn listing(&self, scope: &Scope<'_>, owner: &str, token: &str) -> Option<Arc<Listing>> {
        self.pages.find(scope.key(), owner, token)
    }

    /// Grants the agent the next page token if its listing can still show tasks of its own. Returns the token
    /// with the number of those tasks, at least one.
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

    /// Forgets a thing that its agent ended: a deleted push configuration, a closed session.
    pub fn forget(&self, scope: &Scope<'_>, kind: Kind, id: &str) {
        let mut store = self.locked();
        let gone = store.remove(scope, kind, id);
        self.forgotten(gone);
    }

    /// Number of remembered things.
    pub fn len(&self) -> usize {
        self.locked().len()
    }

    /// Returns true if nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn take(
        &self,
        store: &mut Store,
        scope: &Scope<'_>,
        owner: &Arc<str>,
        things: &[(Kind, impl AsRef<str>)],
        under: Under<'_>,
    ) {
        let Under { about, protocol } = under;
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

    /// Takes the lock, also after a panic: each change is one call, so entries are whole.
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
