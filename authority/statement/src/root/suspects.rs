//! Compromised keys, by every name that they were given.

use semgate_certs::{KeyId, SignerId, Thumbprint};
use std::collections::BTreeMap;

/// Each name with the first log index that is not believed.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Suspects {
    certificates: BTreeMap<Thumbprint, u64>,
    keys: BTreeMap<KeyId, u64>,
}

impl Suspects {
    /// Adds a key under its certificate's name and its own; the earlier index counts.
    pub(crate) fn insert(&mut self, certificate: Thumbprint, key: Option<KeyId>, from: u64) {
        let known = self.certificates.entry(certificate).or_insert(from);
        *known = (*known).min(from);
        if let Some(key) = key {
            let known = self.keys.entry(key).or_insert(from);
            *known = (*known).min(from);
        }
    }

    /// The first index at which a signer is not believed; none if it is not compromised.
    pub(crate) fn since(&self, certificates: &[Thumbprint], keys: &[KeyId]) -> Option<u64> {
        let certificates = certificates.iter().filter_map(|one| self.certificates.get(one));
        let keys = keys.iter().filter_map(|one| self.keys.get(one));
        certificates.chain(keys).min().copied()
    }

    /// Does the same for all the names of a signer.
    pub(crate) fn of(&self, signer: &SignerId) -> Option<u64> {
        self.since(signer.certificates(), signer.keys())
    }

    /// Returns true if this is known already, from this index or an earlier one.
    pub(crate) fn covers(&self, certificate: &Thumbprint, key: Option<&KeyId>, from: u64) -> bool {
        let since = match key {
            Some(key) => self.keys.get(key),
            None => self.certificates.get(certificate),
        };
        since.is_some_and(|since| *since <= from)
    }

    /// Returns true if anything is named.
    pub(crate) fn has_any(&self) -> bool {
        !self.certificates.is_empty()
    }

    /// Returns true if any key itself is named, so that the certificates of signers must be at hand.
    pub(crate) fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }
}
