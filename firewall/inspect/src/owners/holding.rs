//! Things of one owner, grouped by the agent that keeps them. One agent's things never cost those of another.

use super::Kind;
use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

/// Key of one thing.
#[derive(Clone)]
pub(super) struct Slot {
    pub scope: Arc<str>,
    pub kind: Kind,
    pub id: Arc<str>,
}

/// Things by the number of their last use.
type Order = BTreeMap<u64, Slot>;

/// Things of one owner. Tenants of one agent count together, since an agent can name things in any of its
/// tenants.
#[derive(Default)]
pub(super) struct Holding {
    len: usize,
    /// Things by the agent that keeps them; no entry is empty.
    agents: BTreeMap<Arc<str>, Order>,
}

impl Holding {
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Things at this agent, least recently used first.
    pub(super) fn at(&self, agent: &str) -> impl Iterator<Item = &Slot> {
        self.agents.get(agent).into_iter().flat_map(Order::values)
    }

    /// All things with the numbers of their last use, agent by agent.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, &Slot)> {
        self.agents.values().flatten().map(|(used, slot)| (*used, slot))
    }

    /// The thing to forget for a new one of `agent`: the least recently used of the agent that keeps most. In
    /// a tie, `agent` itself gives one up.
    pub(super) fn least_missed(&self, agent: &str) -> Option<&Slot> {
        let by_size = |(name, order): &(&Arc<str>, &Order)| {
            (order.len(), ***name == *agent, Reverse(order.keys().next().copied()))
        };
        let (_, fullest) = self.agents.iter().max_by_key(by_size)?;
        fullest.values().next()
    }

    pub(super) fn insert(&mut self, agent: &str, used: u64, slot: Slot) {
        let order = match self.agents.get_mut(agent) {
            Some(order) => order,
            None => self.agents.entry(Arc::from(agent)).or_default(),
        };
        if order.insert(used, slot).is_none() {
            self.len += 1;
        }
    }

    /// Moves a thing from the use number `before` to `used`.
    pub(super) fn touch(&mut self, agent: &str, before: u64, used: u64) {
        if let Some(order) = self.agents.get_mut(agent)
            && let Some(slot) = order.remove(&before)
        {
            order.insert(used, slot);
        }
    }

    pub(super) fn remove(&mut self, agent: &str, used: u64) -> Option<Slot> {
        let order = self.agents.get_mut(agent)?;
        let slot = order.remove(&used)?;
        if order.is_empty() {
            self.agents.remove(agent);
        }
        self.len -= 1;
        Some(slot)
    }
}
