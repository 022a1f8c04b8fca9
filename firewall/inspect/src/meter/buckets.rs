//! Token buckets by key in a bounded table: GCRA over several buckets at once, all or none.
//!
//! A bucket is one number: the time at which it is full again. A full bucket holds no information and is
//! forgotten. No other bucket is ever forgotten, so overflowing the table gains nobody a fresh budget.
//!
//! Keys are 128 bits of two keyed hashes, so long names of agents take no more memory.

use super::quota::{Left, Quota};
use semgate_policies::{Rate, RateKey};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, hash_map::RandomState},
    hash::{BuildHasher, BuildHasherDefault, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// 64 locks: a few dozen cores seldom compete for one.
const SHARDS: usize = 64;
/// Minimum interval between sweeps of a full shard, so that a flood of new keys cannot keep it sweeping.
const SWEEP_EVERY_MS: u64 = 100;
/// Tolerance between cores. They read one monotonic clock, but calls can overtake each other. A bucket is
/// forgotten only this long after it is full.
const SKEW_NS: u64 = 5_000_000_000;
/// Wait for a new bucket when the table is full.
const NO_ROOM: Duration = Duration::from_secs(1);

/// Key of a bucket.
pub(crate) type Key = u128;

/// Charge of a message to one bucket.
#[derive(Clone, Debug)]
pub(crate) struct Charge {
    pub key: Key,
    pub rate: Rate,
    pub cost: u64,
    /// Public name of the limit.
    pub name: Arc<str>,
    /// Budget or policy, with kind and key, for the operator.
    pub by: Arc<str>,
    pub kind: &'static str,
    pub per: RateKey,
    /// Hint for the caller if this limit stops the message.
    pub hint: Option<Arc<str>>,
}

/// Reason why a message may not spend.
#[derive(Debug)]
pub(crate) struct Exhausted {
    /// Wait until the same message could pass, if it ever can.
    pub wait: Duration,
    /// True if the charge exceeds a full bucket: no wait helps.
    pub never: bool,
    /// Every limit that concerns the message, with the remaining units of those that stop it.
    pub quotas: Vec<Quota>,
    /// Positions of the charges that stop it; empty if the table has no room for a new bucket.
    pub short: Vec<usize>,
}

/// All buckets, shared by all cores.
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

/// Identity hasher: a key is already a hash.
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

/// Every slot of the shard holds a bucket that is not full.
struct Full;

impl Buckets {
    /// A table for this many buckets that are not full, rounded up to a multiple of the number of shards.
    pub fn new(buckets: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect(),
            keys: [RandomState::new(), RandomState::new()],
            room: buckets.div_ceil(SHARDS).max(1),
        }
    }

    /// The key of a bucket, from everything that distinguishes it.
    pub(crate) fn key(&self, of: impl Hash) -> Key {
        let [high, low] = &self.keys;
        u128::from(high.hash_one(&of)) << 64 | u128::from(low.hash_one(&of))
    }

    /// Spends all charges or none.
    ///
    /// # Errors
    /// [`Exhausted`]: some bucket holds too little, or there is no room for a new one.
    pub(crate) fn take(&self, charges: &[Charge], now_ms: u64) -> Result<Vec<Quota>, Exhausted> {
        let now = nanos(now_ms);
        let mut shards = self.lock(charges);
        let (mut after, mut short) = (Vec::with_capacity(charges.len()), Vec::new());
        let (mut wait, mut never) = (0, false);
        for (n, charge) in charges.iter().enumerate() {
            let shard = shards.get_mut(&shard_of(charge.key)).ok_or(Full);
            let full_at = match shard.and_then(|shard| shard.full_at(charge.key, now_ms, self.room)) {
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
            if let Some(shard) = shards.get_mut(&shard_of(charge.key)) {
                shard.full_at.insert(charge.key, *then);
            }
        }
        Ok(charges
            .iter()
            .zip(after)
            .map(|(charge, (_, then))| charge.quota(Some(charge.left(then - now))))
            .collect())
    }

    /// Gives back the charges of a message that did not pass in the end.
    pub(crate) fn give_back(&self, charges: &[Charge]) {
        let mut shards = self.lock(charges);
        for charge in charges {
            let full_at =
                shards.get_mut(&shard_of(charge.key)).and_then(|shard| shard.full_at.get_mut(&charge.key));
            if let Some(full_at) = full_at {
                *full_at = full_at.saturating_sub(charge.step().saturating_mul(charge.cost));
            }
        }
    }

    /// Locks the shards of all charges, in one fixed order that prevents deadlock.
    fn lock(&self, charges: &[Charge]) -> BTreeMap<usize, MutexGuard<'_, Shard>> {
        let places: BTreeSet<usize> = charges.iter().map(|charge| shard_of(charge.key)).collect();
        let locked = |at: usize| {
            // after a panic the shard still holds valid numbers
            let shard = self.shards.get(at)?.lock().unwrap_or_else(PoisonError::into_inner);
            Some((at, shard))
        };
        places.into_iter().filter_map(locked).collect()
    }

    /// Number of remembered buckets.
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
    /// The time at which the bucket is full; 0 for a new one, once there is room for it.
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
    /// Returns true if the charge exceeds a full bucket.
    pub(super) fn is_never_paid(&self) -> bool {
        self.cost > u64::from(self.rate.burst)
    }

    /// Nanoseconds to regain one unit.
    fn step(&self) -> u64 {
        u64::from(self.rate.per.seconds()) * 1_000_000_000 / u64::from(self.rate.count.max(1))
    }

    /// Nanoseconds to regain the full bucket.
    fn most(&self) -> u64 {
        self.step().saturating_mul(u64::from(self.rate.burst))
    }

    /// Remaining units of a bucket that is full again after this time.
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

fn shard_of(key: Key) -> usize {
    usize::try_from((key >> 64) % (SHARDS as u128)).unwrap_or_default()
}

fn nanos(ms: u64) -> u64 {
    ms.saturating_mul(1_000_000)
}

#[cfg(test)]
mod tests;
