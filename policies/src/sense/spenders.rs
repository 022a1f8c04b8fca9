//! Who could ever say a request that a budget counts.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::facts::Where;
use super::implied::Given;
use super::shadow::{Who, key};
use super::{World, may_be_asked, named, scope};
use crate::check::Texts;

impl Texts<'_> {
    /// The agents, by position, whom some permit could let request something, by who is in which group today: whom its scope and its conditions
    /// name, whatever else they ask. `None` where that may be anybody, as of a permit that names nobody.
    pub fn may_request(&self, world: &World<'_>) -> Option<BTreeSet<u32>> {
        let (mut all, mut whole) = (BTreeSet::new(), HashSet::<Who>::new());
        for written in self.each().filter(|written| written.permits()) {
            let who = key(written).map(|(who, _)| who);
            // of a large group that many permits name it is asked once
            if who.as_ref().is_some_and(|who| whole.contains(who)) || !may_be_asked(written, world) {
                continue;
            }
            world.steps().begin();
            let scope = Where { sender: named(written, world), ..scope(written, world).here() };
            let named = scope.sender.can_be.clone();
            // one that could never apply is a fault of its own, and as good as about those whom its scope names
            let there = Given::of(&written.judged, scope, world).map(|given| given.there.sender.can_be);
            let senders = there.unwrap_or_else(|| named.clone())?;
            all.extend(senders.iter());
            if named.is_some_and(|named| Arc::ptr_eq(&named, &senders)) {
                whole.extend(who);
            }
        }
        Some(all)
    }
}
