//! How many of something each agent holds, so that one agent cannot hold them all: connections of a listener, and requests in flight.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// 64 locks: with a few dozen cores two of them seldom want the same one.
const SHARDS: usize = 64;

/// What each agent holds; only agents that hold some are in it.
#[derive(Debug)]
pub(crate) struct Agents {
    most: usize,
    hasher: RandomState,
    shards: Vec<Arc<Shard>>,
}

#[derive(Debug, Default)]
struct Shard(Mutex<HashMap<Arc<str>, usize>>);

/// The agent holds as many as it may.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

impl Agents {
    /// `most` is what one agent may hold.
    pub(crate) fn new(most: usize) -> Self {
        let shards = (0..SHARDS).map(|_| Arc::default()).collect();
        Self { most, hasher: RandomState::new(), shards }
    }

    /// Counts one more of `agent` until the value is dropped.
    ///
    /// # Errors
    /// [`TooMany`].
    pub(crate) fn enter(&self, agent: &Arc<str>) -> Result<Place, TooMany> {
        let at = usize::try_from(self.hasher.hash_one(agent) % (SHARDS as u64)).unwrap_or_default();
        let shard = self.shards.get(at).ok_or(TooMany)?;
        let mut held = shard.locked();
        match held.get_mut(agent) {
            Some(count) if *count >= self.most => return Err(TooMany),
            Some(count) => *count += 1,
            None => drop(held.insert(Arc::clone(agent), 1)),
        }
        Ok(Place { shard: Arc::clone(shard), agent: Arc::clone(agent) })
    }
}

impl Shard {
    /// A thread that panicked while it held the lock left numbers that are still numbers.
    fn locked(&self) -> MutexGuard<'_, HashMap<Arc<str>, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One that an agent holds.
#[derive(Debug)]
pub(crate) struct Place {
    shard: Arc<Shard>,
    agent: Arc<str>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.shard.locked();
        match held.get_mut(&self.agent) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(held.remove(&self.agent)),
        }
    }
}

/// A request in flight, from its head to the end of its answer, or of the socket that it opened: until the last clone is dropped.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight {
    _place: Option<Rc<Place>>,
}

impl InFlight {
    /// One of an agent, counted among its others.
    ///
    /// # Errors
    /// [`TooMany`].
    pub(crate) fn begin(all: &Agents, agent: &Arc<str>) -> Result<Self, TooMany> {
        Ok(Self { _place: Some(Rc::new(all.enter(agent)?)) })
    }

    /// One of the only sender of a listener, who may have every place.
    pub(crate) fn uncounted() -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(agents: &Agents) -> usize {
        agents.shards.iter().map(|shard| shard.locked().len()).sum()
    }

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
        assert_eq!(counted(&agents), 0, "who has none takes no memory");
    }

    #[test]
    fn a_request_is_in_flight_until_the_last_that_needs_it_is_done() {
        let agents = Agents::new(1);
        let one: Arc<str> = Arc::from("one");
        let begun = InFlight::begin(&agents, &one).unwrap();
        let socket = begun.clone();
        drop(begun);
        assert_eq!(InFlight::begin(&agents, &one).unwrap_err(), TooMany);
        drop(socket);
        assert!(InFlight::begin(&agents, &one).is_ok());
        assert_eq!(counted(&agents), 0);
    }

    #[test]
    fn agents_on_several_threads_are_counted_together() {
        let agents = Agents::new(8);
        let one: Arc<str> = Arc::from("one");
        let places: Vec<Place> = std::thread::scope(|scope| {
            let enter = || (0..8).filter_map(|_| agents.enter(&one).ok()).collect::<Vec<_>>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(enter)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(places.len(), 8);
    }
}
