//! Starts from disk: verifies everything again, as if fetched. Leaves out and reports failures.

use super::accept::{HEAD, INVALID, TRUST, tile_name, tile_of_name};
use super::persistence::Part;
use super::round::Overlay;
use super::state::{Document, Pinned, PublishedContexts, Tiles};
use super::{FollowFault, Follower, judge};
use crate::durable::TEMPORARY;
use crate::entry::Entry;
use crate::floors::{FloorsDocument, MAX_FLOORS_BYTES};
use crate::format::{Members, limits};
use crate::head::{Head, MAX_AHEAD, MAX_HEAD_BYTES, TYPE, VerifiedHead};
use crate::jws::General;
use crate::listing::ListedContext;
use crate::root::Anchors;
use crate::sha256::sha256;
use crate::statement::Statement;
use crate::tiles::{MAX_ENTRY_BYTES, ProofFault, TreeHash, leaf_hashes};
use crate::trust::{MAX_TRUST_BYTES, Trust};
use semgate_certs::encoding::to_hex;
use semgate_contexts::{Context, ContextUrn};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The longest accepted list of revoked indexes: far more than are ever pending.
const MAX_INVALID_BYTES: usize = 1024 * 1024;

impl Follower {
    /// Fills the state from the memory. Without a head that verifies, nothing else counts.
    pub(super) fn recover(&mut self, now: u64) {
        let trust = self.memory.read(TRUST, MAX_TRUST_BYTES).ok().flatten();
        let trust = trust.map(|bytes| Trust::read(&bytes, self.config.roots.limits()));
        // the keys that the head is judged by: without the statements of the root, the configured ones
        let root = match &trust {
            Some(Ok(trust)) => self.recover_root(trust, self.remembered_size()),
            _ => Ok(()),
        };
        match self.recover_head(root.as_ref().err().map_or(&self.state.anchors, |kept| kept)) {
            Ok(Some(pinned)) => self.state.head = Some(pinned),
            Ok(None) => return,
            Err(()) => return self.damaged(HEAD, now),
        }
        match trust {
            Some(Ok(trust)) if root.is_ok() => self.state.trust.merge(trust),
            _ => self.lost(TRUST, now),
        }
        let counted = self.state.head.as_ref().map(|pinned| pinned.head.head().root_statements);
        // statements of the root were dropped: the head still protects against rollbacks, and lets nothing pass before another one is
        // accepted
        let keys = counted == Some(self.state.anchors.number());
        if !keys {
            self.lost(TRUST, now);
        }
        let complete = self.recover_shards().is_some() & self.recover_floors().is_some();
        if !complete {
            self.damaged("shards or floors", now);
        }
        let memory_complete = self.memory.is_complete();
        if !memory_complete {
            self.reports.add(None, FollowFault::NotWhole, None, now);
        }
        self.state.complete = keys && complete && self.recover_quorum(now).is_some() && memory_complete;
        self.recover_tiles();
        self.recover_entries(now);
        self.recover_documents(now);
        self.forget_foreign();
        self.recover_invalid(now);
        self.recover_scan(now);
    }

    pub(super) fn damaged(&mut self, part: &'static str, now: u64) {
        self.reports.add(None, FollowFault::Damaged { part }, None, now);
    }

    /// Records that a part of the memory was dropped: missing contexts may still be published.
    fn lost(&mut self, part: &'static str, now: u64) {
        self.state.partial = true;
        self.damaged(part, now);
    }

    /// The log size of the remembered head, not verified yet: the end for reading earlier files.
    fn remembered_size(&self) -> u64 {
        let bytes = self.memory.read(HEAD, MAX_HEAD_BYTES).ok().flatten().unwrap_or_default();
        let jws = General::read(&bytes, TYPE, &self.config.roots, MAX_HEAD_BYTES).ok();
        let head = jws.and_then(|jws| Head::read(jws.unverified_payload()).ok());
        head.map_or(0, |head| head.seq)
    }

    /// Judges the head's chain at its issue time, as when it was accepted; its lifetime bounds its use.
    fn recover_head(&self, anchors: &Anchors) -> Result<Option<Pinned>, ()> {
        let Some(bytes) = self.memory.read(HEAD, MAX_HEAD_BYTES).map_err(|_| ())? else { return Ok(None) };
        let jws = General::read(&bytes, TYPE, &self.config.roots, MAX_HEAD_BYTES).map_err(|_| ())?;
        let issued_at = Head::read(jws.unverified_payload()).map_err(|_| ())?.issued_at;
        let rules = judge::head_rules(&self.config, anchors);
        let head = VerifiedHead::verify(&bytes, &rules, issued_at).map_err(|_| ())?;
        Ok(Some(Pinned { bytes, head }))
    }

    /// A head accepted under a smaller quorum keeps its revocations, and lets nothing pass.
    fn recover_quorum(&mut self, now: u64) -> Option<()> {
        let pinned = self.state.head.as_ref()?;
        let latest = self.state.not_before(now).saturating_add(MAX_AHEAD);
        match self.config.quorum.judge(&pinned.head.head().checkpoint, latest) {
            Ok(_) => Some(()),
            Err(fault) => {
                self.reports.add(None, FollowFault::Cosignatures(fault), None, now);
                None
            }
        }
    }

    fn recover_shards(&mut self) -> Option<()> {
        let pinned = self.state.head.clone()?;
        for shard in &pinned.head.head().shards {
            let max = usize::try_from(crate::status::shard_bytes(shard.entries)).ok()?;
            let list = self.memory.read_part(Part::Shards, &shard.hex(), max).ok()??;
            if sha256(&list) != shard.sha256 {
                return None;
            }
            self.memory.verified(Part::Shards, shard.hex());
            self.state.shards.insert(shard.sha256, Arc::new(list));
        }
        let list = |sha256: &[u8; 32]| self.state.shards.get(sha256).cloned();
        self.state.statuses = judge::statuses(&pinned.head, list, &self.state).ok()?;
        Some(())
    }

    fn recover_floors(&mut self) -> Option<()> {
        let named = self.state.head.as_ref()?.head.head().floors;
        let bytes = self.memory.read_part(Part::Floors, &to_hex(named), MAX_FLOORS_BYTES).ok()??;
        if sha256(&bytes) != named {
            return None;
        }
        self.state.floors = FloorsDocument::read(&bytes).ok()?.floors;
        self.memory.verified(Part::Floors, to_hex(named));
        Some(())
    }

    /// Tiles are not trusted either: they must hash to the root when entries are proved. A missing one shows there too.
    fn recover_tiles(&mut self) {
        for name in self.memory.names(Part::Tiles).unwrap_or_default() {
            let bytes = self.memory.read_part(Part::Tiles, &name, 256 * 32).ok().flatten();
            if let (Some(path), Some(bytes)) = (tile_of_name(&name), bytes) {
                self.state.tiles.insert(path, bytes);
            }
        }
    }

    /// Publish statements: read, verified, and proved to be in the log of the head. All or none, because one bad tile spoils every proof.
    fn recover_entries(&mut self, now: u64) {
        let Some(pinned) = self.state.head.clone() else { return };
        let checkpoint = pinned.head.checkpoint();
        let read = self.read_entries(checkpoint.size, now);
        let indexes: Vec<u64> = read.iter().map(|(index, _)| *index).collect();
        let root = self.state.trust.root().iter().map(|entry| entry.index);
        let all: Vec<u64> = indexes.iter().copied().chain(root).collect();
        let Ok(proved) = self.prove_from_disk(&all, checkpoint) else {
            self.state.tiles.clear();
            self.lost("tiles", now);
            return;
        };
        let mut known = PublishedContexts::new();
        for ((index, bytes), leaf) in read.into_iter().zip(proved) {
            let entry = Entry::read(&bytes, &self.config.prefix).ok();
            let listed = entry.as_ref().and_then(|entry| listed_as(entry, index));
            let judged = listed.as_ref().and_then(|listed| {
                let new = judge::logged(&bytes, leaf, &self.config.prefix)
                    .and_then(|entry| judge::entry(listed, entry, &self.state.trust, &self.state.anchors))
                    .ok()?;
                judge::fits_known(&listed.urn, &new, &known, &PublishedContexts::new()).ok()?;
                Some(new)
            });
            match (listed, judged) {
                (Some(listed), Some(new)) => {
                    self.memory.verified(Part::Entries, format!("{index}.json"));
                    known.insert(listed.urn, new);
                }
                _ => self.lost("entries", now),
            }
        }
        self.state.known = known;
    }

    /// The files of publish statements, by index. Leaves out those past the log of the head, whose own head was never written, and
    /// incomplete ones.
    fn read_entries(&mut self, size: u64, now: u64) -> Vec<(u64, Vec<u8>)> {
        let Ok(names) = self.memory.names(Part::Entries) else {
            self.lost("entries", now);
            return Vec::new();
        };
        let mut read = Vec::new();
        for name in names.iter().filter(|name| !name.ends_with(TEMPORARY)) {
            let index = name.strip_suffix(".json").and_then(|n| n.parse::<u64>().ok());
            let bytes = self.memory.read_part(Part::Entries, name, MAX_ENTRY_BYTES).ok().flatten();
            match (index, bytes) {
                (Some(index), _) if index >= size => {}
                (Some(index), Some(bytes)) => read.push((index, bytes)),
                _ => self.lost("entries", now),
            }
        }
        read
    }

    /// Proves leaves from the tiles on disk; drops unused tiles, because nothing vouches for them.
    fn prove_from_disk(
        &mut self,
        indexes: &[u64],
        checkpoint: &crate::checkpoint::Checkpoint,
    ) -> Result<Vec<TreeHash>, ProofFault> {
        let fresh = Tiles::new();
        let tiles = Overlay { fresh: &fresh, old: &self.state.tiles, used: RefCell::default() };
        let proved = leaf_hashes(indexes, checkpoint.size, checkpoint.root, &tiles)?;
        let used = tiles.used.into_inner();
        self.state.tiles.retain(|path, _| used.contains(path));
        for path in self.state.tiles.keys() {
            self.memory.verified(Part::Tiles, tile_name(path));
        }
        Ok(proved)
    }

    /// Documents of known statements, in log order, so that references come first. A document without a statement shows that the statement
    /// is missing.
    fn recover_documents(&mut self, now: u64) {
        let there = self.memory.names(Part::Contexts).unwrap_or_default();
        let known: BTreeSet<String> = self.state.known.values().map(|known| known.digest.hex()).collect();
        let orphan = |name: &String| !known.contains(name) && !name.ends_with(TEMPORARY);
        if !self.state.partial && there.iter().any(orphan) {
            self.lost("entries", now);
        }
        let mut in_order: Vec<(u64, ContextUrn)> =
            self.state.known.iter().map(|(urn, known)| (known.index, urn.clone())).collect();
        in_order.sort();
        let mut damaged = 0;
        for (_, urn) in in_order {
            damaged += u32::from(self.recover_document(&urn, &there).is_err());
        }
        if damaged > 0 {
            self.damaged("contexts", now);
        }
    }

    /// Recovers one document. A missing one is fetched in the next round, and its referrers are judged again then.
    fn recover_document(&mut self, urn: &ContextUrn, there: &BTreeSet<String>) -> Result<(), ()> {
        let known = self.state.known.get(urn).ok_or(())?;
        let name = known.digest.hex();
        if !there.contains(&name) {
            return Ok(());
        }
        let max = crate::context::MAX_SIGNED_BYTES;
        let bytes = self.memory.read_part(Part::Contexts, &name, max).ok().flatten().ok_or(())?;
        let judged =
            judge::document(&bytes, known, &self.state.known, self.state.anchors.roots(), &self.config)
                .map_err(drop)?;
        if let judge::JudgedDocument::Good(context, signer, chain) = judged
            && self.has_room(urn, &context)
            && let Some(known) = self.state.known.get_mut(urn)
        {
            known.load(context, &signer);
            self.state.retire();
            self.state.trust.insert(chain);
            self.memory.verified(Part::Contexts, name);
        }
        Ok(())
    }

    /// Returns true if a document finds room. The configuration may leave less room than when the document was written.
    fn has_room(&mut self, urn: &ContextUrn, context: &Context) -> bool {
        let Err(fault) = self.state.room_for(context, self.config.limits.max_compiled_bytes) else {
            return true;
        };
        if let Some(known) = self.state.known.get_mut(urn) {
            known.document = Document::NoRoom { why: Arc::from(fault.to_string()) };
        }
        false
    }

    /// Drops contexts outside the authority's lines without a referrer: the lines may have changed. While a document of the lines is
    /// missing, its references are unknown, and nothing is dropped.
    fn forget_foreign(&mut self) {
        let lines = &self.config.lines;
        let mut referred = BTreeSet::new();
        for (_, known) in self.state.known.iter().filter(|(urn, _)| lines.holds(urn.line()).is_some()) {
            let Document::Loaded(context) = &known.document else { return };
            referred.extend(context.references().iter().map(|other| other.urn().clone()));
        }
        self.state.known.retain(|urn, _| lines.holds(urn.line()).is_some() || referred.contains(urn));
    }

    /// Indexes that must stay INVALID. They can only take away: a forged one revokes, and cannot lift a revocation.
    fn recover_invalid(&mut self, now: u64) {
        match self.memory.read(INVALID, MAX_INVALID_BYTES) {
            Ok(Some(bytes)) => match read_invalid(&bytes) {
                Some(invalid) => {
                    let recognised = self.state.anchors.recognised().map(|one| one.index);
                    let known: BTreeSet<u64> =
                        self.state.known.values().map(|k| k.index).chain(recognised).collect();
                    let size = self.state.head.as_ref().map_or(0, |pinned| pinned.head.head().seq);
                    // A dropped context comes back, and must come back revoked.
                    let counts = |i: &u64| known.contains(i) || (self.state.partial && *i < size);
                    self.state.invalid = invalid.into_iter().filter(counts).collect();
                }
                None => self.lost_revocations(now),
            },
            Ok(None) => {}
            Err(_) => self.lost_revocations(now),
        }
    }

    /// The revoked contexts are unknown: all are stale until a head is accepted.
    fn lost_revocations(&mut self, now: u64) {
        self.state.complete = false;
        self.damaged(INVALID, now);
    }
}

/// The listing line of a publish statement.
fn listed_as(entry: &Entry, index: u64) -> Option<ListedContext> {
    match entry.unverified() {
        Statement::Publish { urn, digest, .. } => Some(ListedContext {
            urn: urn.clone(),
            digest: *digest,
            index,
            status: crate::status::Status::Valid,
        }),
        _ => None,
    }
}

fn read_invalid(bytes: &[u8]) -> Option<BTreeSet<u64>> {
    let json = semgate_contexts::json::read(bytes, &limits(MAX_INVALID_BYTES)).ok()?;
    let members = Members::closed(&json, &["invalid"], &[]).ok()?;
    members.integers("invalid").ok().map(|indexes| indexes.into_iter().collect())
}
