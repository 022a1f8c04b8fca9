//! The signatures of each key, so that all can be taken back when the key turns out to be compromised.

use crate::root::Suspects;
use crate::statement::Act;
use semgate_certs::{Chain, KeyId, SignerId, Thumbprint};
use std::collections::{BTreeMap, BTreeSet};

/// Signers of a log prefix. Eight bytes for each publish statement of a key (sixteen if document and statement have two keys).
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct SignerHistory {
    /// Publish statements whose document or statement the key signed, in rising order.
    published: BTreeMap<Thumbprint, Vec<u64>>,
    /// The last resume of each context that was not suspended since: its log index and key.
    resumed: BTreeMap<u64, (u64, Thumbprint)>,
    /// The keys of the introduced certificates, each with those of its issuers.
    keys: BTreeMap<Thumbprint, Vec<KeyId>>,
    /// Compromised keys, each with the first index that is not believed.
    suspects: Suspects,
}

impl SignerHistory {
    pub(super) fn published(&mut self, index: u64, keys: [Option<Thumbprint>; 2]) {
        for key in keys.into_iter().flatten() {
            let all = self.published.entry(key).or_default();
            if all.last() != Some(&index) {
                all.push(index);
            }
        }
    }

    pub(super) fn changed(&mut self, act: Act, of: u64, at: u64, key: Option<Thumbprint>) {
        match (act, key) {
            (Act::Resume, Some(key)) => {
                self.resumed.insert(of, (at, key));
            }
            (Act::Resume | Act::Suspend | Act::Revoke, _) => {
                self.resumed.remove(&of);
            }
            (Act::Retire, _) => {}
        }
    }

    /// Registers the keys behind a certificate. The certificate is the preimage of its name, so there is only one answer.
    pub(super) fn introduce(&mut self, chain: &Chain) {
        self.keys.entry(chain.thumbprint()).or_insert_with(|| chain.signer_id().keys().to_vec());
    }

    pub(super) fn is_introduced(&self, key: &Thumbprint) -> bool {
        self.keys.contains_key(key)
    }

    /// Returns true if the certificates of signers must be known from now on.
    pub(super) fn must_be_introduced(&self) -> bool {
        self.suspects.has_keys()
    }

    /// Returns true if a signer of an accepted statement was not introduced.
    pub(super) fn has_strangers(&self) -> bool {
        let resumed = self.resumed.values().map(|(_, key)| key);
        self.published.keys().chain(resumed).any(|key| !self.is_introduced(key))
    }

    /// The first index at which this certificate's key is not believed.
    pub(super) fn since(&self, key: &Thumbprint) -> Option<u64> {
        let keys = self.keys.get(key).map(Vec::as_slice).unwrap_or_default();
        self.suspects.since(&[*key], keys)
    }

    pub(super) fn since_of(&self, signer: &SignerId) -> Option<u64> {
        self.suspects.of(signer)
    }

    pub(super) fn is_known(&self, certificate: &Thumbprint, key: Option<&KeyId>, from: u64) -> bool {
        self.suspects.covers(certificate, key, from)
    }

    /// Marks a key; returns the published indexes that become INVALID, and the contexts that it resumed.
    pub(super) fn compromise(
        &mut self,
        certificate: Thumbprint,
        key: Option<KeyId>,
        from: u64,
    ) -> (BTreeSet<u64>, Vec<u64>) {
        self.suspects.insert(certificate, key, from);
        let by_key = self.keys.iter().filter(|(_, keys)| key.is_some_and(|key| keys.contains(&key)));
        let certificates: BTreeSet<Thumbprint> =
            by_key.map(|(certificate, _)| *certificate).chain([certificate]).collect();
        let all = certificates.iter().filter_map(|one| self.published.get(one)).flatten().copied();
        let published = all.filter(|index| *index >= from).collect();
        let by = |(_, (at, by)): &(&u64, &(u64, Thumbprint))| certificates.contains(by) && *at >= from;
        let resumed = self.resumed.iter().filter(by).map(|(of, _)| *of).collect();
        (published, resumed)
    }
}
