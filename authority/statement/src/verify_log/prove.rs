//! Makes proofs from served files: fetches tiles, authenticates them against the head's checkpoint, and turns them into lists of hashes.

use super::{Fetch, LogFault, ServedHead, fetch_head, get, pages, tile};
use crate::follower::FollowerConfig;
use crate::head::VerifiedHead;
use crate::proof::{ContinuationProof, TextProofFault, TlogProof, prove_entry};
use crate::tiles::{
    MAX_BUNDLE_BYTES, ProofFault, TILE_WIDTH, TilePath, TreeHash, consistency_proof, decode_bundle,
    inclusion_proof, root_of_prefix,
};
use crate::trust::{MAX_TRUST_BYTES, Trust};
use semgate_contexts::{ContextUrn, Prefix};
use std::collections::HashMap;

/// Makes proofs under one verified head.
pub struct Prover<'a> {
    fetch: &'a mut dyn Fetch,
    config: &'a FollowerConfig,
    head: VerifiedHead,
    root_threshold: u64,
    tiles: HashMap<TilePath, Vec<u8>>,
}

impl<'a> Prover<'a> {
    /// Fetches the head and verifies it at `now`, in seconds since the epoch.
    pub fn new(
        fetch: &'a mut dyn Fetch,
        config: &'a FollowerConfig,
        now: u64,
    ) -> Result<Prover<'a>, LogFault> {
        let ServedHead { head, anchors, .. } = fetch_head(fetch, config, now)?;
        Ok(Prover { fetch, config, head, root_threshold: anchors.threshold(), tiles: HashMap::new() })
    }

    /// Entries under the head.
    pub fn size(&self) -> u64 {
        self.head.checkpoint().size
    }

    /// Number of root keys that speak for the root as of the head.
    pub fn root_threshold(&self) -> u64 {
        self.root_threshold
    }

    /// The log index of a context in the listing. The proof shows the entry there.
    pub fn index_of(&mut self, urn: &ContextUrn) -> Result<u64, LogFault> {
        let size = self.size();
        pages::find(self.fetch, self.config, size, urn)?.ok_or(LogFault::Unpublished)
    }

    /// The entry at an index and its proof. The extra data holds the entry and the chain of its signer; for a statement of the root, the
    /// entry alone. Errors: [`LogFault::PastEnd`] if the log has no such entry.
    pub fn inclusion(&mut self, index: u64) -> Result<(Vec<u8>, TlogProof), LogFault> {
        let size = self.size();
        let past_end = || LogFault::PastEnd { at: index, size };
        if index >= size {
            return Err(past_end());
        }
        let path = TilePath::entries_holding(index, size).ok_or_else(past_end)?;
        let (bytes, width) = tile(self.fetch, path, MAX_BUNDLE_BYTES)?;
        let entries =
            decode_bundle(&bytes, width).map_err(|fault| LogFault::Tile { path: path.to_string(), fault })?;
        let within = usize::try_from(index % u64::from(TILE_WIDTH)).map_err(|_| past_end())?;
        let entry = entries.get(within).ok_or_else(past_end)?.to_vec();
        let trust = get(self.fetch, "/v1/trust", MAX_TRUST_BYTES)?;
        let trust = Trust::read(&trust, self.config.roots.limits()).map_err(LogFault::Trust)?;
        let key = signer(&entry, &self.config.prefix, index)?;
        let chain = key.map(|key| trust.chain(&key).ok_or(LogFault::SignerMissing)).transpose()?;
        let checkpoint = self.head.checkpoint().clone();
        let note = self.head.head().checkpoint.clone();
        let hashes =
            self.with_tiles(|tiles| inclusion_proof(index, checkpoint.size, checkpoint.root, tiles))?;
        let proof = prove_entry(&entry, chain, index, hashes, &note).map_err(LogFault::Proof)?;
        Ok((entry, proof))
    }

    /// The proof that the head's checkpoint continues the tree of its first `old` entries; and that tree's root. Errors:
    /// [`LogFault::PastEnd`] if the log is smaller.
    pub fn continuation(&mut self, old: u64) -> Result<(ContinuationProof, TreeHash), LogFault> {
        let (size, root) = (self.size(), self.head.checkpoint().root);
        if old > size {
            return Err(LogFault::PastEnd { at: old, size });
        }
        let note = self.head.head().checkpoint.clone();
        let hashes = self.with_tiles(|tiles| consistency_proof(old, size, root, tiles))?;
        let old_root = self.with_tiles(|tiles| root_of_prefix(old, size, root, tiles))?;
        Ok((ContinuationProof { old, hashes, checkpoint: note }, old_root))
    }

    fn with_tiles<T>(
        &mut self,
        make: impl Fn(&HashMap<TilePath, Vec<u8>>) -> Result<T, ProofFault>,
    ) -> Result<T, LogFault> {
        with_tiles(self.fetch, &mut self.tiles, make)
    }
}

/// Fetches tiles until none is missing. Each repeated call asks for new tiles, and a tree has only so many above one entry.
pub(super) fn with_tiles<T>(
    fetch: &mut dyn Fetch,
    tiles: &mut HashMap<TilePath, Vec<u8>>,
    make: impl Fn(&HashMap<TilePath, Vec<u8>>) -> Result<T, ProofFault>,
) -> Result<T, LogFault> {
    loop {
        let missing = match make(tiles) {
            Err(ProofFault::Missing(missing)) => missing,
            other => return other.map_err(|fault| LogFault::Proof(TextProofFault::Proof(fault))),
        };
        for path in missing {
            let (mut bytes, _) = tile(fetch, path, u64::from(TILE_WIDTH) * 32)?;
            let wanted = path.width() as usize * 32;
            if bytes.len() < wanted {
                return Err(LogFault::TileDiffers { path: path.to_string() });
            }
            bytes.truncate(wanted);
            tiles.insert(path, bytes);
        }
    }
}

/// The signer whose chain vouches for an entry; none for entries of root keys, which are configured.
fn signer(entry: &[u8], prefix: &Prefix, index: u64) -> Result<Option<semgate_certs::Thumbprint>, LogFault> {
    let entry =
        crate::entry::Entry::read(entry, prefix).map_err(|fault| LogFault::Statement { index, fault })?;
    Ok(entry.signed().key())
}
