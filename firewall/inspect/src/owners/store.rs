//! The bounded memory behind [`super::Owners`]: found by route, kind and id; forgotten by owner and age.

use super::{About, Kind, Owned};
use crate::turn::Side;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

pub(super) struct Store {
    each: usize,
    all: usize,
    len: usize,
    /// The number of the last use, which orders them.
    used: u64,
    routes: HashMap<Arc<str>, HashMap<Kind, Entries>>,
    agents: HashMap<Arc<str>, BTreeMap<u64, Place>>,
    /// How much each agent holds, least first.
    shares: BTreeSet<(usize, Arc<str>)>,
}

/// By id.
type Entries = HashMap<Arc<str>, Entry>;

struct Entry {
    owner: Arc<str>,
    about: Arc<About>,
    used: u64,
    /// Whose proposal is open in it.
    open: Option<Side>,
}

#[derive(Clone)]
struct Place {
    route: Arc<str>,
    kind: Kind,
    id: Arc<str>,
}

impl Store {
    pub(super) fn new(each: usize, all: usize) -> Self {
        Self {
            each: each.max(1),
            all: all.max(1),
            len: 0,
            used: 0,
            routes: HashMap::new(),
            agents: HashMap::new(),
            shares: BTreeSet::new(),
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) fn find(&self, route: &str, kind: Kind, id: &str) -> Option<(Arc<str>, Arc<About>)> {
        let entry = self.routes.get(route)?.get(&kind)?.get(id)?;
        Some((Arc::clone(&entry.owner), Arc::clone(&entry.about)))
    }

    /// It is about this from now on.
    pub(super) fn settle(&mut self, route: &str, kind: Kind, id: &str, about: Arc<About>) {
        let entries = self.routes.get_mut(route).and_then(|kinds| kinds.get_mut(&kind));
        if let Some(entry) = entries.and_then(|entries| entries.get_mut(id)) {
            entry.about = about;
        }
    }

    /// Whose proposal is open in it.
    pub(super) fn open(&self, route: &str, kind: Kind, id: &str) -> Option<Side> {
        self.routes.get(route)?.get(&kind)?.get(id)?.open
    }

    pub(super) fn set_open(&mut self, route: &str, kind: Kind, id: &str, open: Option<Side>) {
        let entries = self.routes.get_mut(route).and_then(|kinds| kinds.get_mut(&kind));
        if let Some(entry) = entries.and_then(|entries| entries.get_mut(id)) {
            entry.open = open;
        }
    }

    /// Makes it the last one to be forgotten.
    pub(super) fn touch(&mut self, route: &str, kind: Kind, id: &str) {
        let used = self.used + 1;
        let entries = self.routes.get_mut(route).and_then(|kinds| kinds.get_mut(&kind));
        let Some(entry) = entries.and_then(|entries| entries.get_mut(id)) else { return };
        let before = std::mem::replace(&mut entry.used, used);
        if let Some(order) = self.agents.get_mut(&entry.owner)
            && let Some(place) = order.remove(&before)
        {
            order.insert(used, place);
        }
        self.used = used;
    }

    /// Remembers something new; returns what was forgotten for it.
    pub(super) fn put(
        &mut self,
        route: &str,
        kind: Kind,
        id: &str,
        owner: &Arc<str>,
        about: Arc<About>,
    ) -> Option<Owned> {
        let gone = self.make_room(owner);
        self.used += 1;
        let used = self.used;
        let route = match self.routes.get_key_value(route) {
            Some((known, _)) => Arc::clone(known),
            None => Arc::from(route),
        };
        let place = Place { route: Arc::clone(&route), kind, id: Arc::from(id) };
        let owner = match self.agents.get_key_value(owner) {
            Some((known, _)) => Arc::clone(known),
            None => Arc::clone(owner),
        };
        let entry = Entry { owner: Arc::clone(&owner), about, used, open: None };
        let entries = self.routes.entry(route).or_default().entry(kind).or_default();
        entries.insert(Arc::clone(&place.id), entry);
        let order = self.agents.entry(Arc::clone(&owner)).or_default();
        let held = order.len();
        order.insert(used, place);
        self.shares.remove(&(held, Arc::clone(&owner)));
        self.shares.insert((held + 1, owner));
        self.len += 1;
        gone
    }

    /// An agent at its own bound gives up its own; when all is full, the one who holds most does, the newcomer before others.
    fn make_room(&mut self, owner: &Arc<str>) -> Option<Owned> {
        let held = self.agents.get(owner).map_or(0, BTreeMap::len);
        if held < self.each && self.len < self.all {
            return None;
        }
        let (most, fullest) = self.shares.last()?;
        let giver = if held >= self.each || held >= *most { owner } else { fullest };
        let place = self.agents.get(giver)?.values().next()?.clone();
        self.remove(&place.route, place.kind, &place.id)
    }

    /// Forgets one; returns what it was.
    pub(super) fn remove(&mut self, route: &str, kind: Kind, id: &str) -> Option<Owned> {
        let entry = self.routes.get_mut(route)?.get_mut(&kind)?.remove(id)?;
        self.len -= 1;
        if let Some(order) = self.agents.get_mut(&entry.owner) {
            let held = order.len();
            order.remove(&entry.used);
            self.shares.remove(&(held, Arc::clone(&entry.owner)));
            if order.is_empty() {
                self.agents.remove(&entry.owner);
            } else {
                self.shares.insert((held - 1, Arc::clone(&entry.owner)));
            }
        }
        Some(Owned::of(route, kind, id, &entry.owner, &entry.about))
    }

    /// All, what was not used for longest first.
    pub(super) fn all(&self) -> Vec<Owned> {
        let mut order: Vec<(u64, &Arc<str>, &Place)> = Vec::with_capacity(self.len);
        for (owner, places) in &self.agents {
            order.extend(places.iter().map(|(used, place)| (*used, owner, place)));
        }
        order.sort_unstable_by_key(|(used, _, _)| *used);
        let owned = |(_, owner, place): (u64, &Arc<str>, &Place)| {
            let (_, about) = self.find(&place.route, place.kind, &place.id)?;
            Some(Owned::of(&place.route, place.kind, &place.id, owner, &about))
        };
        order.into_iter().filter_map(owned).collect()
    }
}
