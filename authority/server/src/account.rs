//! Accounts: everything that a peer holds at the public address is charged to one owner.
//!
//! A verified certificate owns the account of its SPIFFE id; every other peer owns the account of its network. A share of the connections
//! and streams is reserved for verified peers. So no number of strangers keeps a revocation or a poll out.

mod handshake;
mod network;
mod refusals;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use handshake::Handshake;
use handshake::Handshakes;
pub(crate) use network::Network;
pub(crate) use refusals::{RecordedFor, Refusals};

use crate::Limits;

/// Divisor for the part of connections and streams that strangers never take. A quarter of the default connections is 4,096: the gateways
/// of a large fleet, each with a stream and a poll.
const VERIFIED_PART: usize = 4;
/// Divisor for the part of connections reserved for unfinished handshakes. A handshake takes milliseconds, so an eighth of the default
/// serves some thousands a second, even across an ocean.
const HANDSHAKE_PART: usize = 8;

/// The owner of an account.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    /// The SPIFFE id of a verified certificate.
    Verified(Arc<str>),
    /// The network of a peer without one.
    Stranger(Network),
}

impl Owner {
    /// The account of a SPIFFE id whose certificate was verified.
    pub fn verified(id: &str) -> Self {
        Self::Verified(id.into())
    }

    fn is_stranger(&self) -> bool {
        matches!(self, Self::Stranger(_))
    }
}

/// A scarce thing that a peer holds for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScarceResource {
    /// A connection after its handshake.
    Connection,
    /// A stream of heads.
    Stream,
    /// A submission, from its headers to its answer.
    Submission,
}

impl ScarceResource {
    const ALL: [ScarceResource; 3] = [Self::Connection, Self::Stream, Self::Submission];
}

/// The bound that a peer reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excess {
    /// Everything is in use.
    All,
    /// Strangers hold all of their share; verified peers have more.
    Strangers,
    /// The account holds all of its share.
    Account,
}

impl Excess {
    /// The metrics label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Strangers => "strangers",
            Self::Account => "account",
        }
    }
}

/// The bounds of one scarce thing, each a count.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    all: usize,
    strangers: usize,
    verified_account: usize,
    stranger_account: usize,
}

impl Bounds {
    fn of(scarce: ScarceResource, limits: &Limits) -> Self {
        let share = |whole: usize| (whole / limits.account_share.max(1)).max(1);
        match scarce {
            ScarceResource::Connection => {
                let all = limits.connections.saturating_sub(handshakes(limits));
                Self {
                    all,
                    strangers: all.saturating_sub(limits.connections / VERIFIED_PART).max(1),
                    verified_account: share(limits.connections),
                    stranger_account: limits.address_connections,
                }
            }
            // a connection carries one stream at a time, so the bounds of an account are those of its connections
            ScarceResource::Stream => Self {
                all: limits.followers,
                strangers: limits.followers - limits.followers / VERIFIED_PART,
                verified_account: usize::MAX,
                stranger_account: usize::MAX,
            },
            ScarceResource::Submission => Self {
                all: limits.queue,
                strangers: 0,
                verified_account: share(limits.queue),
                stranger_account: 0,
            },
        }
    }
}

/// Handshakes that may be under way at once.
fn handshakes(limits: &Limits) -> usize {
    (limits.connections / HANDSHAKE_PART).max(1)
}

/// The counts of one scarce thing.
#[derive(Debug, Default, Clone, Copy)]
struct Held {
    all: usize,
    strangers: usize,
}

#[derive(Debug, Default)]
struct Balances {
    accounts: HashMap<Owner, [usize; ScarceResource::ALL.len()]>,
    held: [Held; ScarceResource::ALL.len()],
    handshakes: Handshakes,
}

/// Every account of an authority.
#[derive(Debug)]
pub(crate) struct Accounts {
    bounds: [Bounds; ScarceResource::ALL.len()],
    handshakes: usize,
    books: Mutex<Balances>,
}

impl Accounts {
    /// Empty accounts under these bounds.
    pub fn new(limits: &Limits) -> Arc<Self> {
        let bounds = ScarceResource::ALL.map(|scarce| Bounds::of(scarce, limits));
        Arc::new(Self { bounds, handshakes: handshakes(limits), books: Mutex::default() })
    }

    fn balances(&self) -> MutexGuard<'_, Balances> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Charges one unit to an account, until the returned charge is dropped.
    ///
    /// # Errors
    /// The bound that was reached; nothing is charged.
    pub fn charge(self: &Arc<Self>, owner: &Owner, scarce: ScarceResource) -> Result<Charge, Excess> {
        let mut books = self.balances();
        let books = &mut *books;
        let at = scarce as usize;
        let (Some(bounds), Some(held)) = (self.bounds.get(at), books.held.get_mut(at)) else {
            return Err(Excess::All);
        };
        let stranger = owner.is_stranger();
        let most = if stranger { bounds.stranger_account } else { bounds.verified_account };
        let own = books.accounts.get(owner).and_then(|account| account.get(at)).copied().unwrap_or_default();
        if own >= most {
            return Err(Excess::Account);
        }
        if stranger && held.strangers >= bounds.strangers {
            return Err(Excess::Strangers);
        }
        if held.all >= bounds.all {
            return Err(Excess::All);
        }
        held.all += 1;
        held.strangers += usize::from(stranger);
        if let Some(own) = books.accounts.entry(owner.clone()).or_default().get_mut(at) {
            *own += 1;
        }
        Ok(Charge { accounts: Arc::clone(self), owner: owner.clone(), scarce })
    }
}

/// One unit that an account holds; given back on drop.
#[must_use]
#[derive(Debug)]
pub(crate) struct Charge {
    accounts: Arc<Accounts>,
    owner: Owner,
    scarce: ScarceResource,
}

impl Charge {
    /// The owner of the account.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let at = self.scarce as usize;
        let mut books = self.accounts.balances();
        if let Some(held) = books.held.get_mut(at) {
            held.all = held.all.saturating_sub(1);
            held.strangers = held.strangers.saturating_sub(usize::from(self.owner.is_stranger()));
        }
        // drop empty accounts, so that those of strangers do not add up
        let Some(account) = books.accounts.get_mut(&self.owner) else { return };
        if let Some(own) = account.get_mut(at) {
            *own = own.saturating_sub(1);
        }
        if account.iter().all(|own| *own == 0) {
            books.accounts.remove(&self.owner);
        }
    }
}
