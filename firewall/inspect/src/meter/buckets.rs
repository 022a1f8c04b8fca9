//! Token buckets by key, in a bounded table: GCRA, as governor has it, but over several buckets at once, all or none.
//!
//! A bucket is one number: when it is full again. So one that is full says nothing and is forgotten; no other ever is, and nobody gets
//! a fresh budget by making the table overflow. Keys are 128 bits of two keyed hashes: their size does not depend on how long the
//! names are that agents bring along.

use super::quota::{Left, Quota};
use semgate_policies::{Rate, RateKey};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, hash_map::RandomState},
    hash::{BuildHasher, BuildHasherDefault, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// 64 locks: with a few dozen cores two of them seldom want the same one.
const SHARDS: usize = 64;
/// A full shard is swept at most this often, so that a flood of new keys cannot keep it busy sweeping.
const SWEEP_EVERY_MS: u64 = 100;
/// Cores read one monotonic clock, but one call can overtake another: a bucket is forgotten only this long after it is full.
const SKEW_NS: u64 = 5_000_000_000;
/// How long a newcomer waits that there is no room for.
const NO_ROOM: Duration = Duration::from_secs(1);

/// Which bucket.
pub(crate) type Key = u128;

/// What a message spends from one bucket.
#[derive(Clone, Debug)]
pub(crate) struct Charge {
    pub key: Key,
    pub rate: Rate,
    pub cost: u64,
    /// What the limit is called to outsiders.
    pub name: Arc<str>,
    /// For the operator: which budget or policy it is, of which kind, and what it is counted for.
    pub by: Arc<str>,
    pub kind: &'static str,
    pub per: RateKey,
    /// What outsiders read when it is this one that stops them.
    pub hint: Option<Arc<str>>,
}

/// Why a message may not spend.
#[derive(Debug)]
pub(crate) struct Exhausted {
    /// When the same message could pass, if it ever can.
    pub wait: Duration,
    /// More than a full bucket holds: no wait helps.
    pub never: bool,
    /// Every limit that concerns it, with what is left of those that stop it.
    pub quotas: Vec<Quota>,
    /// Positions of the charges that stop it; empty where there is no room for a newcomer.
    pub short: Vec<usize>,
}

/// All buckets, for all cores.
pub struct Buckets {
    shards: Vec<Mutex<Shard>>,
    keys: [RandomState; 2],
    room: usize,
}

#[derive(Default)]
struct Shard {
    /// Nanoseconds of the monotonic clock at which the bucket is full again.
    full_at: HashMap<Key, u64, BuildHasherDefault<Low>>,
    swept_ms: Option<u64>,
}

/// A key is a hash already.
#[derive(Default)]
struct Low(u64);

impl Hasher for Low {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(low) = bytes.first_chunk::<8>() {
            self.0 = u64::from_le_bytes(*low);
        }
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = u64::try_from(key & u128::from(u64::MAX)).unwrap_or_default();
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Every place of the shard is taken by a bucket that is not full.
struct Full;

impl Buckets {
    /// Room for so many buckets that are not full, rounded up to a multiple of the number of shards.
    pub fn new(buckets: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect(),
            keys: [RandomState::new(), RandomState::new()],
            room: buckets.div_ceil(SHARDS).max(1),
        }
    }

    /// The key of whatever tells one bucket from all others.
    pub(crate) fn key(&self, of: impl Hash) -> Key {
        let [high, low] = &self.keys;
        u128::from(high.hash_one(&of)) << 64 | u128::from(low.hash_one(&of))
    }

    /// Spends all of it or nothing.
    ///
    /// # Errors
    /// [`Exhausted`]: some bucket does not hold enough, or there is no room for a new one.
    pub(crate) fn take(&self, charges: &[Charge], now_ms: u64) -> Result<Vec<Quota>, Exhausted> {
        let now = nanos(now_ms);
        let mut shards = self.lock(charges);
        let (mut after, mut short) = (Vec::with_capacity(charges.len()), Vec::new());
        let (mut wait, mut never) = (0, false);
        for (n, charge) in charges.iter().enumerate() {
            let found = shards.get_mut(&place(charge.key)).ok_or(Full);
            let full_at = match found.and_then(|shard| shard.full_at(charge.key, now_ms, self.room)) {
                Ok(full_at) => full_at.max(now),
                Err(Full) => return Err(no_room(charges)),
            };
            let then = full_at.saturating_add(charge.step().saturating_mul(charge.cost));
            let missing = (then - now).saturating_sub(charge.most());
            if missing > 0 {
                short.push(n);
                wait = wait.max(missing);
                never |= charge.is_never_paid();
            }
            after.push((full_at, then));
        }
        if !short.is_empty() {
            let left = |(n, (charge, (full_at, _))): (usize, (&Charge, &(u64, u64)))| {
                charge.quota(short.contains(&n).then(|| charge.left(full_at - now)))
            };
            let quotas = charges.iter().zip(&after).enumerate().map(left).collect();
            return Err(Exhausted { wait: Duration::from_nanos(wait), never, quotas, short });
        }
        for (charge, (_, then)) in charges.iter().zip(&after) {
            if let Some(shard) = shards.get_mut(&place(charge.key)) {
                shard.full_at.insert(charge.key, *then);
            }
        }
        Ok(charges
            .iter()
            .zip(after)
            .map(|(charge, (_, then))| charge.quota(Some(charge.left(then - now))))
            .collect())
    }

    /// Gives back what was spent for a message that did not pass in the end.
    pub(crate) fn give_back(&self, charges: &[Charge]) {
        let mut shards = self.lock(charges);
        for charge in charges {
            let full_at =
                shards.get_mut(&place(charge.key)).and_then(|shard| shard.full_at.get_mut(&charge.key));
            if let Some(full_at) = full_at {
                *full_at = full_at.saturating_sub(charge.step().saturating_mul(charge.cost));
            }
        }
    }

    /// The shards of all charges, locked in one order everywhere, so that no two messages wait for each other.
    fn lock(&self, charges: &[Charge]) -> BTreeMap<usize, MutexGuard<'_, Shard>> {
        let places: BTreeSet<usize> = charges.iter().map(|charge| place(charge.key)).collect();
        let locked = |at: usize| {
            // a thread that panicked while it held the lock left numbers that are still numbers
            let shard = self.shards.get(at)?.lock().unwrap_or_else(PoisonError::into_inner);
            Some((at, shard))
        };
        places.into_iter().filter_map(locked).collect()
    }

    /// How many buckets are remembered.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().unwrap().full_at.len()).sum()
    }
}

impl std::fmt::Debug for Buckets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("buckets")
    }
}

impl Shard {
    /// When the bucket is full; 0 for one that is not remembered, once there is room for it.
    fn full_at(&mut self, key: Key, now_ms: u64, room: usize) -> Result<u64, Full> {
        if let Some(full_at) = self.full_at.get(&key) {
            return Ok(*full_at);
        }
        if self.full_at.len() >= room {
            self.sweep(now_ms);
        }
        if self.full_at.len() >= room { Err(Full) } else { Ok(0) }
    }

    fn sweep(&mut self, now_ms: u64) {
        if self.swept_ms.is_some_and(|last| now_ms < last.saturating_add(SWEEP_EVERY_MS)) {
            return;
        }
        self.swept_ms = Some(now_ms);
        let now = nanos(now_ms);
        self.full_at.retain(|_, full_at| full_at.saturating_add(SKEW_NS) >= now);
    }
}

impl Charge {
    /// It is more than a full bucket holds.
    pub(super) fn is_never_paid(&self) -> bool {
        self.cost > u64::from(self.rate.burst)
    }

    /// Nanoseconds in which one unit comes back.
    fn step(&self) -> u64 {
        u64::from(self.rate.per.seconds()) * 1_000_000_000 / u64::from(self.rate.count.max(1))
    }

    /// Nanoseconds in which all of it comes back.
    fn most(&self) -> u64 {
        self.step().saturating_mul(u64::from(self.rate.burst))
    }

    /// What is left of a bucket that is full again after so long.
    fn left(&self, full_in: u64) -> Left {
        let step = self.step().max(1);
        let units = self.most().saturating_sub(full_in) / step;
        let more = (full_in > 0).then(|| {
            let next = self.most().saturating_sub(step.saturating_mul(units + 1));
            full_in.saturating_sub(next).div_ceil(1_000_000_000)
        });
        Left { units, more_in: more }
    }

    fn quota(&self, left: Option<Left>) -> Quota {
        Quota {
            name: Arc::clone(&self.name),
            most: u64::from(self.rate.burst),
            window: self.rate.window(),
            left,
        }
    }
}

fn no_room(charges: &[Charge]) -> Exhausted {
    let quotas = charges.iter().map(|charge| charge.quota(None)).collect();
    Exhausted { wait: NO_ROOM, never: false, quotas, short: Vec::new() }
}

fn place(key: Key) -> usize {
    usize::try_from((key >> 64) % (SHARDS as u128)).unwrap_or_default()
}

fn nanos(ms: u64) -> u64 {
    ms.saturating_mul(1_000_000)
}

#[cfg(test)]
mod tests;
