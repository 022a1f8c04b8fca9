//! What one owner holds, apart by the agent that keeps it: so that what one agent names costs nothing that another keeps.

use super::Kind;
use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

/// Where one thing is found.
#[derive(Clone)]
pub(super) struct Place {
    pub scope: Arc<str>,
    pub kind: Kind,
    pub id: Arc<str>,
}

/// By the number of their last use.
type Order = BTreeMap<u64, Place>;

/// The places of one owner's things. Tenants of one agent count together: whoever names things in one can in the others.
#[derive(Default)]
pub(super) struct Holding {
    len: usize,
    /// By the agent that keeps them; none is empty.
    agents: BTreeMap<Arc<str>, Order>,
}

impl Holding {
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// What this agent keeps, what was not used for longest first.
    pub(super) fn at(&self, agent: &str) -> impl Iterator<Item = &Place> {
        self.agents.get(agent).into_iter().flat_map(Order::values)
    }

    /// All with the numbers of their last use, agent by agent.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, &Place)> {
        self.agents.values().flatten().map(|(used, place)| (*used, place))
    }

    /// What is given up for a new thing of `agent`: of the agent that keeps most what was not used for longest; of `agent` itself while it keeps
    /// as much as any other.
    pub(super) fn least_missed(&self, agent: &str) -> Option<&Place> {
        let by_size = |(name, order): &(&Arc<str>, &Order)| {
            (order.len(), ***name == *agent, Reverse(order.keys().next().copied()))
        };
        let (_, fullest) = self.agents.iter().max_by_key(by_size)?;
        fullest.values().next()
    }

    pub(super) fn insert(&mut self, agent: &str, used: u64, place: Place) {
        let order = match self.agents.get_mut(agent) {
            Some(order) => order,
            None => self.agents.entry(Arc::from(agent)).or_default(),
        };
        if order.insert(used, place).is_none() {
            self.len += 1;
        }
    }

    /// What was used last at `before` was at `used`.
    pub(super) fn touch(&mut self, agent: &str, before: u64, used: u64) {
        if let Some(order) = self.agents.get_mut(agent)
            && let Some(place) = order.remove(&before)
        {
            order.insert(used, place);
        }
    }

    pub(super) fn remove(&mut self, agent: &str, used: u64) -> Option<Place> {
        let order = self.agents.get_mut(agent)?;
        let place = order.remove(&used)?;
        if order.is_empty() {
            self.agents.remove(agent);
        }
        self.len -= 1;
        Some(place)
    }
}
