//! What each key signed, so that all of it can be taken back when the key turns out to be compromised.

use crate::statement::Act;
use semgate_certs::Thumbprint;
use std::collections::BTreeMap;

/// Signers of a log prefix. Eight bytes for each publish statement of a key (sixteen where document and statement have two).
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Signed {
    /// Publish statements whose document or statement the key signed, in rising order.
    published: BTreeMap<Thumbprint, Vec<u64>>,
    /// The last resume of each context that is not suspended again since: where it stands, and by which key.
    resumed: BTreeMap<u64, (u64, Thumbprint)>,
    /// Compromised keys, each with the first index that is not believed.
    compromised: BTreeMap<Thumbprint, u64>,
}

impl Signed {
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

    pub(super) fn since(&self, key: &Thumbprint) -> Option<u64> {
        self.compromised.get(key).copied()
    }

    /// Marks a key; answers the published indexes that it takes along.
    pub(super) fn compromise(&mut self, key: Thumbprint, from: u64) -> Vec<u64> {
        self.compromised.insert(key, from);
        let all = self.published.get(&key).map(Vec::as_slice).unwrap_or_default();
        all.iter().copied().filter(|index| *index >= from).collect()
    }

    /// Contexts whose last resume was by this key, at `from` or later.
    pub(super) fn resumed_by(&self, key: &Thumbprint, from: u64) -> Vec<u64> {
        let by = |(_, (at, by)): &(&u64, &(u64, Thumbprint))| by == key && *at >= from;
        self.resumed.iter().filter(by).map(|(of, _)| *of).collect()
    }
}
