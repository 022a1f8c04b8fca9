//! A bounded map by agent, in shards with one lock each.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// 64 locks: a few dozen cores seldom compete for one.
const SHARDS: usize = 64;

/// Minimum interval between sweeps of a full shard, so that a flood of new agents cannot keep it sweeping.
const SWEEP_EVERY_MS: u64 = 100;

pub(super) struct Shards<V> {
    shards: Vec<Mutex<Shard<V>>>,
    hasher: RandomState,
    room: usize,
}

pub(super) struct Shard<V> {
    agents: HashMap<Arc<str>, V>,
    swept_ms: Option<u64>,
}

/// Every slot holds an agent that is still active.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full;

impl<V: Default> Shards<V> {
    /// A map for this many agents, rounded up to a multiple of the number of shards.
    pub(super) fn new(agents: usize) -> Self {
        Self {
            shards: (0..SHARDS)
                .map(|_| Mutex::new(Shard { agents: HashMap::new(), swept_ms: None }))
                .collect(),
            hasher: RandomState::new(),
            room: agents.div_ceil(SHARDS).max(1),
        }
    }

    /// Runs `use_it` on the entry of the agent, or on a default value for a new one once there is room. Only
    /// idle agents are forgotten to make room.
    pub(super) fn with<T>(
        &self,
        agent: &Arc<str>,
        now_ms: u64,
        idle: impl Fn(&V) -> bool,
        use_it: impl FnOnce(&mut V) -> T,
    ) -> Result<T, Full> {
        let mut shard = self.shard(agent)?;
        if let Some(known) = shard.agents.get_mut(agent) {
            return Ok(use_it(known));
        }
        shard.has_room(self.room, now_ms, idle)?;
        Ok(use_it(shard.agents.entry(Arc::clone(agent)).or_default()))
    }

    /// Reads the entry of the agent, if there is one. A new agent without room is an error, as in [`Shards::with`].
    pub(super) fn read<T>(
        &self,
        agent: &Arc<str>,
        now_ms: u64,
        idle: impl Fn(&V) -> bool,
        read: impl FnOnce(&V) -> T,
    ) -> Result<Option<T>, Full> {
        let mut shard = self.shard(agent)?;
        if let Some(known) = shard.agents.get(agent) {
            return Ok(Some(read(known)));
        }
        shard.has_room(self.room, now_ms, idle).map(|()| None)
    }

    fn shard(&self, agent: &Arc<str>) -> Result<MutexGuard<'_, Shard<V>>, Full> {
        let hash = usize::try_from(self.hasher.hash_one(agent) % (SHARDS as u64)).unwrap_or_default();
        self.shards.get(hash).map(lock).ok_or(Full)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).agents.len()).sum()
    }
}

impl<V> Shard<V> {
    /// Makes room for another agent.
    fn has_room(&mut self, room: usize, now_ms: u64, idle: impl Fn(&V) -> bool) -> Result<(), Full> {
        if self.agents.len() >= room {
            self.sweep(now_ms, idle);
        }
        if self.agents.len() >= room { Err(Full) } else { Ok(()) }
    }

    fn sweep(&mut self, now_ms: u64, idle: impl Fn(&V) -> bool) {
        if self.swept_ms.is_some_and(|last| now_ms < last.saturating_add(SWEEP_EVERY_MS)) {
            return;
        }
        self.swept_ms = Some(now_ms);
        self.agents.retain(|_, known| !idle(known));
    }
}

/// Takes the lock, also after a panic: the numbers are still valid.
fn lock<V>(shard: &Mutex<Shard<V>>) -> MutexGuard<'_, Shard<V>> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
