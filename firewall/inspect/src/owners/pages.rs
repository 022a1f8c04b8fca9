//! List pages that an agent received.
//!
//! The upstream agent makes the page tokens. A token may name another caller's task, and guessed tokens could
//! probe for tasks. The gateway therefore accepts a token only from the agent that received it.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The caller's own tasks that a listing has covered, and whether each was shown. Two continuations of one
/// page share it.
#[derive(Debug, Default)]
pub(crate) struct Listing(Mutex<HashMap<Box<str>, bool>>);

impl Listing {
    /// Adds covered tasks, each with a flag for shown ones.
    pub(crate) fn saw<'t>(&self, tasks: impl IntoIterator<Item = (&'t str, bool)>) {
        let mut seen = self.seen();
        for (task, shown) in tasks {
            *seen.entry(Box::from(task)).or_default() |= shown;
        }
    }

    /// Number of tasks shown.
    pub(crate) fn shown(&self) -> usize {
        self.seen().values().filter(|shown| **shown).count()
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, HashMap<Box<str>, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Page<L> {
    scope: String,
    token: String,
    listing: Arc<L>,
}

#[derive(Default)]
struct Reader<L> {
    pages: VecDeque<Page<L>>,
    /// Number of the last use.
    used: u64,
}

/// Pages with their listings, bounded per agent and in agents. A forgotten listing starts again.
pub(crate) struct Pages<L> {
    each: usize,
    agents: usize,
    all: Mutex<(Agents<L>, u64)>,
}

type Agents<L> = HashMap<Arc<str>, Reader<L>>;

impl<L: Default> Pages<L> {
    pub(crate) fn new(each: usize, agents: usize) -> Self {
        Self { each: each.max(1), agents: agents.max(1), all: Mutex::default() }
    }

    /// The listing of a page token that the agent received. Scopes keep their tokens apart.
    pub(crate) fn find(&self, scope: &str, owner: &str, token: &str) -> Option<Arc<L>> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = all.0.get(owner)?;
        let page = reader.pages.iter().rev().find(|page| page.token == token && page.scope == scope)?;
        Some(Arc::clone(&page.listing))
    }

    /// Records the next page token of the listing for the agent.
    pub(crate) fn tell(&self, scope: &str, owner: &Arc<str>, token: &str, listing: &Arc<L>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let (agents, used) = &mut *all;
        *used += 1;
        if agents.len() >= self.agents && !agents.contains_key(owner) {
            let oldest =
                agents.iter().min_by_key(|(_, reader)| reader.used).map(|(owner, _)| Arc::clone(owner));
            oldest.and_then(|owner| agents.remove(&owner));
        }
        let reader = agents.entry(Arc::clone(owner)).or_default();
        reader.used = *used;
        reader.pages.retain(|page| page.token != token || page.scope != scope);
        if reader.pages.len() >= self.each {
            reader.pages.pop_front();
        }
        let page = Page { scope: scope.to_owned(), token: token.to_owned(), listing: Arc::clone(listing) };
        reader.pages.push_back(page);
    }
}
