//! The bounded memory behind [`super::Owners`]: looked up by agent, kind and id; forgotten by owner, agent
//! and age.

use super::{
    About, Delivery, Kind, Owned, Scope,
    holding::{Holding, Slot},
};
use crate::turn::Proposal;
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

pub(super) struct Store {
    each: usize,
    all: usize,
    len: usize,
    /// Number of the last use, which gives the order.
    used: u64,
    scopes: HashMap<Arc<str>, HashMap<Kind, Entries>>,
    owners: HashMap<Arc<str>, Holding>,
    /// Number of things per owner, in ascending order.
    shares: BTreeSet<(usize, Arc<str>)>,
}

/// Entries by id.
type Entries = HashMap<Arc<str>, Entry>;

struct Entry {
    owner: Arc<str>,
    about: Arc<About>,
    used: u64,
    /// The last proposal.
    proposed: Option<Arc<Proposal>>,
    /// The proposal before, in case the last one never arrives.
    before: Option<Arc<Proposal>>,
    /// Delivery target.
    delivery: Option<Arc<Delivery>>,
}

impl Entry {
    fn owned(&self, scope: &Scope<'_>, kind: Kind, id: &str) -> Owned {
        let delivery = self.delivery.as_deref().cloned().map(Box::new);
        Owned { delivery, ..Owned::of(scope, kind, id, &self.owner, &self.about) }
    }

    fn proposal(&self) -> Option<&Arc<Proposal>> {
        [&self.proposed, &self.before].into_iter().flatten().find(|proposal| !proposal.is_withdrawn())
    }
}

impl Store {
    pub(super) fn new(each: usize, all: usize) -> Self {
        Self {
            each: each.max(1),
            all: all.max(1),
            len: 0,
            used: 0,
            scopes: HashMap::new(),
            owners: HashMap::new(),
            shares: BTreeSet::new(),
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    fn entry(&self, scope: &Scope<'_>, kind: Kind, id: &str) -> Option<&Entry> {
        self.scopes.get(scope.key())?.get(&kind)?.get(id)
    }

    fn entry_mut(&mut self, scope: &Scope<'_>, kind: Kind, id: &str) -> Option<&mut Entry> {
        self.scopes.get_mut(scope.key())?.get_mut(&kind)?.get_mut(id)
    }

    pub(super) fn find(&self, scope: &Scope<'_>, kind: Kind, id: &str) -> Option<(Arc<str>, Arc<About>)> {
        let entry = self.entry(scope, kind, id)?;
        Some((Arc::clone(&entry.owner), Arc::clone(&entry.about)))
    }

    /// Changes the context of a thing.
    pub(super) fn settle(&mut self, scope: &Scope<'_>, kind: Kind, id: &str, about: Arc<About>) {
        if let Some(entry) = self.entry_mut(scope, kind, id) {
            entry.about = about;
        }
    }

    /// The last proposal that reached the other side, or still may.
    pub(super) fn proposal(&self, scope: &Scope<'_>, kind: Kind, id: &str) -> Option<Arc<Proposal>> {
        self.entry(scope, kind, id)?.proposal().map(Arc::clone)
    }

    pub(super) fn propose(&mut self, scope: &Scope<'_>, kind: Kind, id: &str, proposal: &Arc<Proposal>) {
        if let Some(entry) = self.entry_mut(scope, kind, id) {
            entry.before = entry.proposal().map(Arc::clone);
            entry.proposed = Some(Arc::clone(proposal));
        }
    }

    /// Ids of this kind that the agent owns.
    pub(super) fn own(&self, scope: &Scope<'_>, owner: &str, kind: Kind) -> impl Iterator<Item = &str> {
        let places = self.owners.get(owner).into_iter().flat_map(|holding| holding.at(scope.agent()));
        let own = places.filter(move |slot| slot.kind == kind && *slot.scope == *scope.key());
        own.map(|slot| &*slot.id)
    }

    /// Marks a thing as most recently used.
    pub(super) fn touch(&mut self, scope: &Scope<'_>, kind: Kind, id: &str) {
        let used = self.used + 1;
        let Some(entry) = self.entry_mut(scope, kind, id) else { return };
        let owner = Arc::clone(&entry.owner);
        let before = std::mem::replace(&mut entry.used, used);
        if let Some(holding) = self.owners.get_mut(&owner) {
            holding.touch(scope.agent(), before, used);
        }
        self.used = used;
    }

    /// Adds a thing. Returns the thing that was forgotten for it.
    pub(super) fn put(
        &mut self,
        scope: &Scope<'_>,
        kind: Kind,
        id: &str,
        owner: &Arc<str>,
        about: Arc<About>,
    ) -> Option<Owned> {
        let gone = self.make_room(scope.agent(), owner);
        self.used += 1;
        let (used, agent) = (self.used, scope.agent());
        let scope: Arc<str> = match self.scopes.get_key_value(scope.key()) {
            Some((known, _)) => Arc::clone(known),
            None => Arc::from(scope.key()),
        };
        let slot = Slot { scope: Arc::clone(&scope), kind, id: Arc::from(id) };
        let owner = match self.owners.get_key_value(owner) {
            Some((known, _)) => Arc::clone(known),
            None => Arc::clone(owner),
        };
        let entry =
            Entry { owner: Arc::clone(&owner), about, used, proposed: None, before: None, delivery: None };
        let entries = self.scopes.entry(scope).or_default().entry(kind).or_default();
        entries.insert(Arc::clone(&slot.id), entry);
        let holding = self.owners.entry(Arc::clone(&owner)).or_default();
        let held = holding.len();
        holding.insert(agent, used, slot);
        self.shares.remove(&(held, Arc::clone(&owner)));
        self.shares.insert((held + 1, owner));
        self.len += 1;
        gone
    }

    /// Forgets one thing if a bound is reached.
    ///
    /// An owner at its own bound loses one. If all is full, the owner that holds most loses one; in a tie,
    /// the new owner.
    ///
    /// Among the owner's things, it takes one at the agent that keeps most; in a tie, at `agent`.
    fn make_room(&mut self, agent: &str, owner: &Arc<str>) -> Option<Owned> {
        let held = self.owners.get(owner).map_or(0, Holding::len);
        if held < self.each && self.len < self.all {
            return None;
        }
        let (most, fullest) = self.shares.last()?;
        let giver = if held >= self.each || held >= *most { owner } else { fullest };
        let slot = self.owners.get(giver)?.least_missed(agent)?.clone();
        self.remove(&Scope::of_key(&slot.scope), slot.kind, &slot.id)
    }

    /// Forgets a thing and returns its record.
    pub(super) fn remove(&mut self, scope: &Scope<'_>, kind: Kind, id: &str) -> Option<Owned> {
        let entry = self.scopes.get_mut(scope.key())?.get_mut(&kind)?.remove(id)?;
        self.len -= 1;
        if let Some(holding) = self.owners.get_mut(&entry.owner) {
            let held = holding.len();
            holding.remove(scope.agent(), entry.used);
            self.shares.remove(&(held, Arc::clone(&entry.owner)));
            if holding.len() == 0 {
                self.owners.remove(&entry.owner);
            } else {
                self.shares.insert((held - 1, Arc::clone(&entry.owner)));
            }
        }
        Some(entry.owned(scope, kind, id))
    }

    /// The record of a thing.
    pub(super) fn owned(&self, scope: &Scope<'_>, kind: Kind, id: &str) -> Option<Owned> {
        Some(self.entry(scope, kind, id)?.owned(scope, kind, id))
    }

    pub(super) fn delivery(&self, scope: &Scope<'_>, token: &str) -> Option<Arc<Delivery>> {
        self.entry(scope, Kind::Delivery, token)?.delivery.clone()
    }

    pub(super) fn set_delivery(&mut self, scope: &Scope<'_>, token: &str, delivery: Arc<Delivery>) {
        if let Some(entry) = self.entry_mut(scope, Kind::Delivery, token) {
            entry.delivery = Some(delivery);
        }
    }

    /// Scope, token and delivery of one owner, least recently used first.
    pub(super) fn deliveries(&self, owner: &str) -> Vec<(Arc<str>, Arc<str>, Arc<Delivery>)> {
        let mut places: Vec<_> = self.owners.get(owner).into_iter().flat_map(Holding::all).collect();
        places.retain(|(_, slot)| slot.kind == Kind::Delivery);
        places.sort_unstable_by_key(|(used, _)| *used);
        places
            .into_iter()
            .filter_map(|(_, slot)| {
                let delivery = self.delivery(&Scope::of_key(&slot.scope), &slot.id)?;
                Some((Arc::clone(&slot.scope), Arc::clone(&slot.id), delivery))
            })
            .collect()
    }

    /// All records, least recently used first.
    pub(super) fn all(&self) -> Vec<Owned> {
        let mut order: Vec<(u64, &Slot)> = Vec::with_capacity(self.len);
        order.extend(self.owners.values().flat_map(Holding::all));
        order.sort_unstable_by_key(|(used, _)| *used);
        let owned = |(_, slot): (u64, &Slot)| self.owned(&Scope::of_key(&slot.scope), slot.kind, &slot.id);
        order.into_iter().filter_map(owned).collect()
    }
}
