//! Handshakes that wait for their LOCK.

use crate::HandshakeFault;
use crate::limits::{MAX_WAITING, MAX_WAITING_OF_ONE};
use crate::responder::PendingLock;
use semgate_certs::SpiffeId;
use semgate_contexts::Digest;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Waiting handshakes by the digest of the SELECT. Bounded, for one peer and in all.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    all: Mutex<HashMap<Digest, PendingLock>>,
}

impl Pending {
    /// Remembers a handshake until its LOCK comes. A peer that opens many loses its own oldest; those of other peers are
    /// never dropped for it.
    pub(crate) fn wait(&self, waiting: PendingLock, now: u64) -> Result<(), HandshakeFault> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let of_peer = all.values().filter(|other| other.from() == waiting.from()).count();
        if of_peer >= MAX_WAITING_OF_ONE || all.len() >= MAX_WAITING {
            all.retain(|_, other| other.until() >= now);
        }
        if of_peer >= MAX_WAITING_OF_ONE {
            let own = all.iter().filter(|(_, other)| other.from() == waiting.from());
            let oldest = own.min_by_key(|(_, other)| other.until()).map(|(id, _)| *id);
            oldest.map(|id| all.remove(&id));
        }
        if all.len() >= MAX_WAITING {
            return Err(HandshakeFault::Busy);
        }
        all.insert(waiting.id(), waiting);
        Ok(())
    }

    /// The handshake with this SELECT. One that waits for another agent counts as none and stays: a stranger's LOCK ends no
    /// handshake.
    pub(crate) fn take(&self, select: &Digest, peer: &SpiffeId) -> Result<PendingLock, HandshakeFault> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = all.get(select).is_some_and(|waiting| waiting.from() == peer);
        waits.then(|| all.remove(select)).flatten().ok_or(HandshakeFault::NotOpen)
    }

    /// The digests of SELECT and HELLO of the only handshake.
    #[cfg(test)]
    pub(crate) fn only(&self) -> (Digest, Digest) {
        let all = self.all.lock().unwrap();
        let (select, waiting) = all.iter().next().unwrap();
        (*select, waiting.hello.digest)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.all.lock().unwrap().len()
    }
}
