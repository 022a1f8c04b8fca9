//! Which pages of lists an agent was told of. What asks for the next page is made by the agent behind: it may name a task that is
//! another's, and by trying others one could learn which are there. So each is taken only from whom it was given to.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What a listing went through so far of the caller's own, page by page, and whether it was shown. Two that go on from one page share it.
#[derive(Debug, Default)]
pub(crate) struct Listing(Mutex<HashMap<Box<str>, bool>>);

impl Listing {
    /// It went through these, of which some are shown.
    pub(crate) fn saw<'t>(&self, tasks: impl IntoIterator<Item = (&'t str, bool)>) {
        let mut seen = self.seen();
        for (task, shown) in tasks {
            *seen.entry(Box::from(task)).or_default() |= shown;
        }
    }

    /// How many it showed.
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
struct Told<L> {
    pages: VecDeque<Page<L>>,
    /// The number of the last use.
    used: u64,
}

/// Pages with what is remembered of each listing. Bounded for each agent, and in agents; what is forgotten is a list that begins anew.
pub(crate) struct Pages<L> {
    each: usize,
    agents: usize,
    all: Mutex<(Agents<L>, u64)>,
}

type Agents<L> = HashMap<Arc<str>, Told<L>>;

impl<L: Default> Pages<L> {
    pub(crate) fn new(each: usize, agents: usize) -> Self {
        Self { each: each.max(1), agents: agents.max(1), all: Mutex::default() }
    }

    /// The listing that an agent was told of this page of, in a scope whose tokens are kept apart from others'.
    pub(crate) fn find(&self, scope: &str, owner: &str, token: &str) -> Option<Arc<L>> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let told = all.0.get(owner)?;
        let page = told.pages.iter().rev().find(|page| page.token == token && page.scope == scope)?;
        Some(Arc::clone(&page.listing))
    }

    /// The agent is told what asks for the next page of the listing.
    pub(crate) fn tell(&self, scope: &str, owner: &Arc<str>, token: &str, listing: &Arc<L>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let (agents, used) = &mut *all;
        *used += 1;
        if agents.len() >= self.agents && !agents.contains_key(owner) {
            let oldest = agents.iter().min_by_key(|(_, told)| told.used).map(|(owner, _)| Arc::clone(owner));
            oldest.and_then(|owner| agents.remove(&owner));
        }
        let told = agents.entry(Arc::clone(owner)).or_default();
        told.used = *used;
        told.pages.retain(|page| page.token != token || page.scope != scope);
        if told.pages.len() >= self.each {
            told.pages.pop_front();
        }
        let page = Page { scope: scope.to_owned(), token: token.to_owned(), listing: Arc::clone(listing) };
        told.pages.push_back(page);
    }
}
