//! Handshakes under way. The peer is not known yet, so a new handshake is never refused: the oldest gives way to it.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::{Accounts, Charge, Excess, Network, Owner, ScarceResource};

/// Divisor for the part of the handshakes that one network may have under way. A fleet that reconnects through one NAT finishes a quarter
/// of the default, 512, in less than a second.
const NETWORK_PART: usize = 4;

/// All handshakes under way, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Handshakes {
    next: u64,
    open: BTreeMap<u64, Open>,
    networks: HashMap<Network, usize>,
}

#[derive(Debug)]
struct Open {
    network: Network,
    displace: oneshot::Sender<()>,
}

impl Handshakes {
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    fn remove(&mut self, number: u64) -> Option<Open> {
        let open = self.open.remove(&number)?;
        if let Some(count) = self.networks.get_mut(&open.network) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.networks.remove(&open.network);
            }
        }
        Some(open)
    }

    /// Returns the oldest handshake of this network if the network has used its share, else the oldest of all if there are too many.
    fn oldest(&self, network: Network, most: usize) -> Option<u64> {
        let share = (most / NETWORK_PART).max(1);
        if self.networks.get(&network).is_some_and(|count| *count >= share) {
            let mut open = self.open.iter();
            return open.find(|(_, open)| open.network == network).map(|(number, _)| *number);
        }
        let full = self.open.len() >= most;
        self.open.keys().next().copied().filter(|_| full)
    }
}

/// One handshake under way; it ends on drop.
#[must_use]
#[derive(Debug)]
pub(crate) struct Handshake {
    accounts: Arc<Accounts>,
    number: u64,
    network: Network,
    displaced: oneshot::Receiver<()>,
}

impl Accounts {
    /// Begins a handshake with a peer at this address.
    pub fn begin(self: &Arc<Self>, address: IpAddr) -> Handshake {
        let network = Network::of(address);
        let mut books = self.balances();
        let under_way = &mut books.handshakes;
        if let Some(oldest) = under_way.oldest(network, self.handshakes)
            && let Some(open) = under_way.remove(oldest)
        {
            // a handshake that has just ended ignores this
            let _ = open.displace.send(());
        }
        let (displace, displaced) = oneshot::channel();
        let number = under_way.next;
        under_way.next += 1;
        under_way.open.insert(number, Open { network, displace });
        *under_way.networks.entry(network).or_default() += 1;
        drop(books);
        Handshake { accounts: Arc::clone(self), number, network, displaced }
    }
}

impl Handshake {
    /// Waits until a newer handshake displaces this one.
    pub async fn displaced(&mut self) {
        // the sender lives as long as the handshake is under way
        let _ = (&mut self.displaced).await;
    }

    /// Ends the handshake and charges the connection to its owner: the verified SPIFFE id, else the network of the peer.
    ///
    /// # Errors
    /// The bound that was reached.
    pub fn finish(self, verified: Option<&str>) -> Result<Charge, Excess> {
        let owner = verified.map_or(Owner::Stranger(self.network), Owner::verified);
        self.accounts.charge(&owner, ScarceResource::Connection)
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.accounts.balances().handshakes.remove(self.number);
    }
}
