//! How many connections of a listener each agent has, so that one agent cannot hold them all.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Open connections of each agent on one listener of one core; only agents that have some are in it.
#[derive(Debug)]
pub(crate) struct Agents {
    most: usize,
    open: RefCell<HashMap<Arc<str>, usize>>,
}

/// The agent has as many connections as it may.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

impl Agents {
    /// `most` is what one agent may have here.
    pub(crate) fn new(most: usize) -> Rc<Self> {
        Rc::new(Self { most, open: RefCell::default() })
    }

    /// Counts one more connection of `agent` until the value is dropped.
    ///
    /// # Errors
    /// [`TooMany`].
    pub(crate) fn enter(self: &Rc<Self>, agent: &Arc<str>) -> Result<Place, TooMany> {
        let mut open = self.open.borrow_mut();
        let count = open.get(agent).copied().unwrap_or(0);
        if count >= self.most {
            return Err(TooMany);
        }
        open.insert(Arc::clone(agent), count.saturating_add(1));
        Ok(Place { agents: Rc::clone(self), agent: Arc::clone(agent) })
    }
}

/// One connection of one agent.
#[derive(Debug)]
pub(crate) struct Place {
    agents: Rc<Agents>,
    agent: Arc<str>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.agents.open.borrow_mut();
        match open.get_mut(&self.agent) {
            Some(count) if *count > 1 => *count = count.saturating_sub(1),
            _ => drop(open.remove(&self.agent)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_at_its_bound_waits_for_one_to_end_and_another_agent_does_not() {
        let agents = Agents::new(2);
        let (one, two): (Arc<str>, Arc<str>) = (Arc::from("one"), Arc::from("two"));
        let first = agents.enter(&one).unwrap();
        let second = agents.enter(&one).unwrap();
        assert_eq!(agents.enter(&one).unwrap_err(), TooMany);
        assert!(agents.enter(&two).is_ok());
        drop(first);
        let third = agents.enter(&one).unwrap();
        assert_eq!(agents.enter(&one).unwrap_err(), TooMany);
        drop((second, third));
        assert!(agents.open.borrow().is_empty(), "who has none takes no memory");
    }
}
