//! The account of each agent. It is charged for everything scarce that the agent's requests take. Charged are connections,
//! requests in flight, arrivals by cost, bytes held and records of refusals. An agent's use never reduces the share of
//! another agent.
//!
//! An account lives from an agent's first connection until it has no charges left. [`turns`] shares out the processor.

mod arrivals;
mod bytes;
mod refused;
mod repeats;
pub(crate) mod turns;

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use semgate_inspect::{Code, Now, Refusal};

use crate::config::Limits;

use arrivals::Arrivals;
use bytes::Total;
use refused::RefusedTasks;
use repeats::Repeats;

pub(crate) use arrivals::{Rate, TooOften, cost};
pub(crate) use bytes::NoRoom;
pub(crate) use repeats::Recording;

/// Agents with an account: about 16 MiB. An active agent keeps its account; if all are active, a new agent is refused.
const METERED_AGENTS: usize = 65_536;

/// With 64 locks, a few dozen cores seldom contend for the same one.
const SHARDS: usize = 64;
/// Fraction of all held bytes that one agent may hold: an eighth. Seven compromised agents still leave room for the others.
const SHARE: usize = 8;

/// The accounts of all agents, for all cores.
pub(crate) struct Accounts {
    shared: Arc<Common>,
    hasher: RandomState,
    shards: Vec<Mutex<HashMap<Arc<str>, Arc<Account>>>>,
    /// Maximum number of accounts in one shard.
    room: usize,
}

/// The bounds of every account, and the totals of all accounts.
struct Common {
    bounds: ArcSwap<Bounds>,
    held: Total,
}

/// Bounds of one account, and of the bytes of all.
struct Bounds {
    connections: usize,
    requests: usize,
    bytes: usize,
    bytes_of_all: usize,
    rate: Arc<Rate>,
}

impl Bounds {
    fn of(limits: &Limits) -> Self {
        Self {
            connections: limits.connections_per_agent,
            requests: limits.requests_per_agent,
            bytes: limits.held_bytes / SHARE,
            bytes_of_all: limits.held_bytes,
            rate: Arc::new(Rate::new(limits.rate_per_second, limits.rate_burst)),
        }
    }
}

/// Every account belongs to an active agent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoAccount;

/// The agent has reached its limit on connections or on requests in flight.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

/// The account of one agent.
pub(crate) struct Account {
    common: Arc<Common>,
    agent: Arc<str>,
    connections: AtomicUsize,
    requests: AtomicUsize,
    held: AtomicUsize,
    arrivals: Arrivals,
    repeats: Mutex<Repeats>,
    /// Keys that the agent asked to be listed.
    filings: Mutex<Repeats<()>>,
    refused: Mutex<RefusedTasks>,
}

impl Accounts {
    pub(crate) fn new(limits: &Limits) -> Self {
        let shared = Common { bounds: ArcSwap::from_pointee(Bounds::of(limits)), held: Total::default() };
        Self {
            shared: Arc::new(shared),
            hasher: RandomState::new(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            room: METERED_AGENTS.div_ceil(SHARDS),
        }
    }

    /// Takes other bounds. Charges stay; whoever is above a new bound gets nothing more until it is below.
    pub(crate) fn rebound(&self, limits: &Limits) {
        self.shared.bounds.store(Arc::new(Bounds::of(limits)));
    }

    /// The account of `agent`. An account without charges makes room for a new one.
    ///
    /// # Errors
    /// [`NoAccount`].
    pub(crate) fn of(&self, agent: &Arc<str>, now: Now) -> Result<Arc<Account>, NoAccount> {
        let at = usize::try_from(self.hasher.hash_one(agent) % (SHARDS as u64)).unwrap_or_default();
        let mut shard = locked(self.shards.get(at).ok_or(NoAccount)?);
        if let Some(account) = shard.get(agent) {
            return Ok(Arc::clone(account));
        }
        if shard.len() >= self.room {
            shard.retain(|_, account| Arc::strong_count(account) > 1 || account.is_active(now));
        }
        if shard.len() >= self.room {
            return Err(NoAccount);
        }
        let account = Arc::new(Account {
            common: Arc::clone(&self.shared),
            agent: Arc::clone(agent),
            connections: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            arrivals: Arrivals::default(),
            repeats: Mutex::default(),
            filings: Mutex::default(),
            refused: Mutex::default(),
        });
        shard.insert(Arc::clone(agent), Arc::clone(&account));
        Ok(account)
    }

    /// Bytes held for all agents.
    pub(crate) fn held(&self) -> usize {
        self.shared.held.now()
    }

    /// The limit on arrivals, as callers read it.
    pub(crate) fn rate(&self) -> Arc<Rate> {
        Arc::clone(&self.shared.bounds.load().rate)
    }

    /// Takes the counts of unrecorded refusals, one second after the last of their kind.
    pub(crate) fn unrecorded(&self, now: Now) -> Vec<(Arc<str>, Code, u64)> {
        let mut all = Vec::new();
        for shard in &self.shards {
            for account in locked(shard).values() {
                let counts = locked(&account.repeats).overdue(now.monotonic_ms);
                all.extend(counts.into_iter().map(|(code, count)| (Arc::clone(&account.agent), code, count)));
            }
        }
        all
    }
}

/// Locks and ignores poisoning: the counters stay valid if a thread panics while it holds the lock.
fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds one, unless the count has reached `most`.
fn enter(count: &AtomicUsize, most: usize) -> Result<(), TooMany> {
    let more = |count: usize| (count < most).then_some(count.saturating_add(1));
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map(drop).map_err(|_| TooMany)
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("agent", &self.agent).finish_non_exhaustive()
    }
}

impl Account {
    /// The agent's id.
    pub(crate) fn agent(&self) -> &Arc<str> {
        &self.agent
    }

    /// Returns true while the account still limits its agent and must be kept.
    fn is_active(&self, now: Now) -> bool {
        let now_ms = now.monotonic_ms;
        self.arrivals.is_active(now_ms)
            || locked(&self.repeats).is_active(now_ms)
            || locked(&self.filings).is_active(now_ms)
    }

    /// Remembers the refusal of a task of this agent on a route.
    pub(crate) fn refuse_task(&self, route: &str, task: &str, refusal: &Refusal, now: Now) {
        locked(&self.refused).add(route, task, refusal, now.monotonic_ms);
    }

    /// The refusal of a task of this agent, for a while.
    pub(crate) fn refused_task(&self, route: &str, task: &str, now: Now) -> Option<Refusal> {
        locked(&self.refused).of(route, task, now.monotonic_ms)
    }

    /// True from an eighth of the connections, or of the bytes, that the account may have.
    pub(crate) fn is_busy(&self) -> bool {
        let bounds = self.common.bounds.load();
        let is_above = |count: &AtomicUsize, most: usize| count.load(Ordering::Relaxed) >= most / SHARE;
        is_above(&self.connections, bounds.connections) || is_above(&self.held, bounds.bytes)
    }

    /// Counts one more connection until the value is dropped. The connection holds `buffers` bytes.
    ///
    /// # Errors
    /// [`TooMany`], also if there is no room for its buffers.
    pub(crate) fn connect(self: &Arc<Self>, buffers: usize) -> Result<Connection, TooMany> {
        enter(&self.connections, self.common.bounds.load().connections)?;
        let connection = Connection { charge: Charge::new(self), counted: true };
        connection.charge.hold(buffers).map_err(|NoRoom| TooMany)?;
        Ok(connection)
    }

    /// Counts a connection of the only sender of a plain listener, who may use every place.
    ///
    /// # Errors
    /// [`TooMany`] if there is no room for its buffers.
    pub(crate) fn connect_alone(self: &Arc<Self>, buffers: usize) -> Result<Connection, TooMany> {
        let charge = Charge::new(self);
        charge.hold(buffers).map_err(|NoRoom| TooMany)?;
        Ok(Connection { charge, counted: false })
    }

    /// Charges the arrival of a request.
    ///
    /// # Errors
    /// [`TooOften`], with the time after which another request would pass. Nothing is charged then.
    pub(crate) fn arrive(&self, now: Now) -> Result<(), TooOften> {
        self.arrivals.arrive(&self.common.bounds.load().rate, now.monotonic_ms)
    }

    /// Adds an unrecorded refusal, and the `others` that it stood for, to the count of a later record.
    pub(crate) fn not_recorded(&self, code: Code, others: u64, now: Now) {
        locked(&self.repeats).put_back(code, others.saturating_add(1), now.monotonic_ms);
    }

    /// Decides whether a request to list a key is logged by itself.
    pub(crate) fn filing(&self, now: Now) -> Recording {
        locked(&self.filings).refusal((), now.monotonic_ms)
    }

    /// Decides the form of a refusal's record.
    pub(crate) fn refusal(&self, code: Code, now: Now) -> Recording {
        locked(&self.repeats).refusal(code, now.monotonic_ms)
    }
}

/// One connection of an agent.
pub(crate) struct Connection {
    charge: Charge,
    counted: bool,
}

impl Connection {
    /// Holds `bytes` more for buffers.
    ///
    /// # Errors
    /// [`TooMany`] if there is no room for them.
    pub(crate) fn buffer(&self, bytes: usize) -> Result<(), TooMany> {
        self.charge.hold(bytes).map_err(|NoRoom| TooMany)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.counted {
            self.charge.0.account.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// A request's charges to its agent's account, until the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Charge(Rc<Taken>);

#[derive(Debug)]
struct Taken {
    account: Arc<Account>,
    in_flight: Cell<bool>,
    held: Cell<usize>,
    /// Units charged beyond its arrival.
    owed: Cell<u64>,
}

impl Charge {
    /// Creates a charge that holds nothing yet.
    pub(crate) fn new(account: &Arc<Account>) -> Self {
        Self(Rc::new(Taken {
            account: Arc::clone(account),
            in_flight: Cell::new(false),
            held: Cell::new(0),
            owed: Cell::new(0),
        }))
    }

    /// Counts the request among those in flight.
    ///
    /// # Errors
    /// [`TooMany`].
    pub(crate) fn enter(&self) -> Result<(), TooMany> {
        enter(&self.0.account.requests, self.0.account.common.bounds.load().requests)?;
        self.0.in_flight.set(true);
        Ok(())
    }

    /// Charges the request `cost` units beyond its arrival, less the units already charged. The account owes any units that
    /// the bucket lacks, and its next arrivals wait for them.
    pub(crate) fn owe(&self, cost: u64, now: Now) {
        let more = cost.saturating_sub(self.0.owed.get());
        self.0.owed.set(self.0.owed.get().saturating_add(more));
        let Account { arrivals, common, .. } = &*self.0.account;
        arrivals.owe(&common.bounds.load().rate, more, now.monotonic_ms);
    }

    /// Holds `bytes` more.
    ///
    /// # Errors
    /// [`NoRoom`] if the agent's share or the total is exhausted. Nothing more is held then.
    pub(crate) fn hold(&self, bytes: usize) -> Result<(), NoRoom> {
        let Account { common, held, .. } = &*self.0.account;
        let bounds = common.bounds.load();
        let more = |held: usize| held.checked_add(bytes).filter(|held| *held <= bounds.bytes);
        held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map_err(|_| NoRoom)?;
        if let Err(NoRoom) = common.held.take(bytes, bounds.bytes_of_all) {
            held.fetch_sub(bytes, Ordering::Relaxed);
            return Err(NoRoom);
        }
        self.0.held.set(self.0.held.get().saturating_add(bytes));
        Ok(())
    }

    /// Releases `bytes`, at most the number that it holds.
    pub(crate) fn release(&self, bytes: usize) {
        let bytes = bytes.min(self.0.held.get());
        self.0.held.set(self.0.held.get().saturating_sub(bytes));
        self.0.account.held.fetch_sub(bytes, Ordering::Relaxed);
        self.0.account.common.held.give_back(bytes);
    }

    /// Holds exactly `bytes`.
    ///
    /// # Errors
    /// [`NoRoom`]; the bytes held stay unchanged.
    pub(crate) fn hold_only(&self, bytes: usize) -> Result<(), NoRoom> {
        let held = self.0.held.get();
        if bytes > held {
            return self.hold(bytes.saturating_sub(held));
        }
        self.release(held.saturating_sub(bytes));
        Ok(())
    }

    /// Number of bytes held.
    pub(crate) fn held(&self) -> usize {
        self.0.held.get()
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if self.in_flight.get() {
            self.account.requests.fetch_sub(1, Ordering::Relaxed);
        }
        let held = self.held.get();
        self.account.held.fetch_sub(held, Ordering::Relaxed);
        self.account.common.held.give_back(held);
    }
}
