//! Accepts a head, publishes the resulting view, and writes it to disk.

use super::persistence::Part;
use super::round::Overlay;
use super::state::{Document, Pinned, Tiles};
use super::{FollowFault, Follower, Round, judge};
use crate::status::{Status, StatusList};
use crate::tiles::{TilePath, leaf_hashes};
use semgate_certs::encoding::to_hex;
use semgate_contexts::{Line, Version};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The file that validates all others: written last.
pub(super) const HEAD: &str = "head.json";
/// Indexes seen INVALID in heads that were refused for another reason.
pub(super) const INVALID: &str = "invalid.json";
/// Certificates for building chains.
pub(super) const TRUST: &str = "trust.json";

impl Follower {
    /// Makes the candidate the accepted head: its statuses and floors apply at once.
    pub(super) fn accept(&mut self, round: &mut Round, now: u64) -> Result<(), FollowFault> {
        let (Some(candidate), Some(floors)) = (round.candidate.clone(), round.floors.clone()) else {
            return Err(FollowFault::Unasked);
        };
        let list = judge::statuses(&candidate.head, |sha256| round.shards.get(sha256).cloned(), &self.state)?;
        let named: BTreeSet<[u8; 32]> = candidate.head.head().shards.iter().map(|s| s.sha256).collect();
        self.memory.begin();
        if self.takes_away(&candidate, &list, &floors) {
            self.memory.spend_reserve();
        }
        self.adopt_anchors(round, now);
        self.state.shards = std::mem::take(&mut round.shards);
        self.state.shards.retain(|sha256, _| named.contains(sha256));
        self.state.statuses = list;
        self.state.floors = floors;
        self.settle_invalid(now);
        self.state.known.append(&mut round.published);
        self.state.head = Some(candidate);
        self.state.complete = true;
        self.etag = round.etag.take();
        round.accepted = true;
        self.keep_scan(round, now);
        self.state.scan.version_missing = false;
        round.dirty = false;
        self.show();
        // the chains of unlisted signers were dropped, and may be asked for once more
        round.trust_fetched = false;
        self.save(round, true, now);
        Ok(())
    }

    /// Returns true if a head changes a status, a floor or the statements of the root. Such changes may spend the reserve on disk, and
    /// publications may not.
    fn takes_away(&self, candidate: &Pinned, list: &StatusList, floors: &BTreeMap<Line, Version>) -> bool {
        let counted = |pinned: &Pinned| pinned.head.head().root_statements;
        let recognised = self.state.anchors.recognised().map(|one| one.index);
        let mut known = self.state.known.values().map(|known| known.index).chain(recognised);
        self.state.head.as_ref().map(counted) != Some(counted(candidate))
            || *floors != self.state.floors
            || known.any(|index| list.get(index) != self.state.status(index))
    }

    /// Drops indexes seen INVALID in a refused head once the accepted list has them as INVALID. If it has not, they stay INVALID here, and
    /// the authority is at fault.
    fn settle_invalid(&mut self, now: u64) {
        let statuses = &self.state.statuses;
        self.state.invalid.retain(|index| statuses.get(*index) != Some(Status::Invalid));
        let returned: Vec<u64> = self.state.invalid.iter().copied().collect();
        for index in returned {
            self.reports.add(None, FollowFault::Unrevoked { index }, None, now);
        }
    }

    /// Revokes known contexts that a verified list shows as INVALID, even if the rest of its head is refused.
    pub(super) fn revoke_now(&mut self, round: &mut Round, list: &StatusList, now: u64) {
        // a withdrawn recognition ends as a revoked context does
        let recognised = self.state.anchors.recognised().map(|one| one.index);
        let newly: Vec<u64> = self
            .state
            .known
            .values()
            .map(|known| known.index)
            .chain(recognised)
            .filter(|i| {
                list.get(*i) == Some(Status::Invalid) && self.state.status(*i) != Some(Status::Invalid)
            })
            .collect();
        if newly.is_empty() {
            return;
        }
        let complete = self.memory.begin();
        self.memory.spend_reserve();
        self.state.invalid.extend(newly);
        self.show();
        // only `remember` writes a memory that lacks more than this
        let written =
            self.write_invalid().and_then(|()| if complete { Ok(self.memory.done()?) } else { Ok(()) });
        if let Err(fault) = written {
            round.incomplete = true;
            self.unwritten(fault, now);
        }
    }

    fn write_invalid(&mut self) -> Result<(), FollowFault> {
        let invalid: Vec<u64> = self.state.invalid.iter().copied().collect();
        let bytes = crate::format::write(&serde_json::json!({ "invalid": invalid }))
            .map_err(|_| FollowFault::Memory(std::io::ErrorKind::InvalidData))?;
        Ok(self.memory.write_changed(INVALID, &bytes)?)
    }

    /// Ends a round, good or bad: publishes and stores the verified state. Repeats a failed write.
    pub(super) fn settle(&mut self, round: &mut Round, now: u64) {
        let changed = std::mem::take(&mut round.dirty);
        if changed {
            self.memory.begin();
            self.show();
        }
        let failed = self.state.complete && !self.memory.is_complete();
        self.save(round, changed || failed, now);
    }

    /// Writes the state, or only the position if nothing else changed.
    fn save(&mut self, round: &mut Round, changed: bool, now: u64) {
        let saved = if changed { self.remember(round) } else { self.remember_scan() };
        if let Err(fault) = saved {
            self.unwritten(fault, now);
        }
    }

    /// Reports that the memory could not be written, once for each cause.
    pub(super) fn unwritten(&mut self, fault: FollowFault, now: u64) {
        let kind = match &fault {
            FollowFault::Memory(kind) => *kind,
            _ => std::io::ErrorKind::InvalidData,
        };
        if self.memory.fail(kind) {
            self.reports.add(None, fault, None, now);
        }
    }

    /// Writes everything that is not on disk yet, the head last. Then removes unused files, and writes how far the log was looked through.
    fn remember(&mut self, round: &mut Round) -> Result<(), FollowFault> {
        let Some(pinned) = self.state.head.clone() else { return Ok(()) };
        self.keep_tiles(round);
        let mut keep = Vec::new();
        for (part, files) in self.files()? {
            let names: BTreeSet<String> = files.iter().map(|(name, _)| name.clone()).collect();
            for (name, bytes) in files {
                self.memory.write_part(part, &name, &bytes)?;
            }
            keep.push((part, names));
        }
        // Certificates that no known statement needs are not stored, so that no authority can make this grow.
        let known = self.state.known.values().chain(round.published.values());
        let signers = known.flat_map(|k| [k.entry.signed().key(), Some(k.signer)]).flatten();
        self.state.trust.keep_only(&signers.collect());
        let trust = self.state.trust.to_bytes().map_err(FollowFault::Trust)?;
        self.memory.write_changed(TRUST, &trust)?;
        self.memory.write_changed(HEAD, &pinned.bytes)?;
        // Replaces a damaged list of revocations only once the head that makes up for it is on disk.
        self.write_invalid()?;
        // Without a status list this is what an earlier process wrote, and that may lack something.
        if self.state.complete {
            self.memory.done()?;
        }
        for (part, names) in keep {
            self.memory.keep_only(part, &names);
        }
        let documents =
            self.state.known.values().filter(|known| matches!(known.document, Document::Loaded(_)));
        self.memory.keep_only(Part::Contexts, &documents.map(|known| known.digest.hex()).collect());
        self.remember_scan()
    }

    /// All files that the accepted head needs, by kind.
    #[expect(clippy::type_complexity, reason = "named files by kind, taken apart at once by the one caller")]
    fn files(&self) -> Result<Vec<(Part, Vec<(String, Vec<u8>)>)>, FollowFault> {
        let floors = crate::floors::FloorsDocument {
            authority: self.config.authority.clone(),
            floors: self.state.floors.clone(),
        };
        let floors = floors.to_bytes().map_err(FollowFault::Floors)?;
        let floors_name = to_hex(crate::sha256::sha256(&floors));
        let shards = self.state.shards.iter().map(|(sha256, list)| (to_hex(sha256), list.to_vec()));
        let tiles = self.state.tiles.iter().map(|(path, bytes)| (tile_name(path), bytes.clone()));
        let entries =
            self.state.known.values().map(|k| (format!("{}.json", k.index), k.entry.bytes().to_vec()));
        Ok(vec![
            (Part::Shards, shards.collect()),
            (Part::Floors, vec![(floors_name, floors)]),
            (Part::Tiles, tiles.collect()),
            (Part::Entries, entries.collect()),
        ])
    }

    /// Keeps those tiles that prove the known entries under the accepted root.
    fn keep_tiles(&mut self, round: &mut Round) {
        let Some(pinned) = &self.state.head else { return };
        let checkpoint = pinned.head.checkpoint();
        let indexes = self.proved_indexes();
        let tiles = Overlay { fresh: &round.tiles, old: &self.state.tiles, used: RefCell::default() };
        if leaf_hashes(&indexes, checkpoint.size, checkpoint.root, &tiles).is_err() {
            return;
        }
        let used = tiles.used.into_inner();
        let retained: Tiles = used
            .into_iter()
            .filter_map(|path| {
                let bytes = round.tiles.get(&path).or_else(|| self.state.tiles.get(&path))?;
                Some((path, bytes.clone()))
            })
            .collect();
        self.state.tiles = retained;
    }

    /// Stores the two contradicting heads.
    pub(super) fn evidence(&self, round: &Round, fault: &FollowFault) -> Option<PathBuf> {
        let contradicts = matches!(
            fault,
            FollowFault::Equivocation { .. }
                | FollowFault::Fork { .. }
                | FollowFault::Unrevoked { .. }
                | FollowFault::Rollback { .. }
                | FollowFault::RootWithdrawn { .. }
        );
        let had = self.state.head.as_ref().filter(|_| contradicts)?;
        let offered = round.refused_head.as_ref().or(round.candidate.as_ref().map(|c| &c.bytes))?;
        let files = [("accepted-head.json", had.bytes.as_slice()), ("offered-head.json", offered.as_slice())];
        self.keep(fault, &files)
    }

    /// Stores evidence of a fault, if its kind has a place left; returns the directory.
    pub(super) fn keep(&self, fault: &FollowFault, files: &[(&str, &[u8])]) -> Option<PathBuf> {
        let limits = &self.config.limits;
        let most = match fault {
            FollowFault::Rollback { .. } => limits.max_rollbacks,
            _ => limits.max_evidence,
        };
        self.memory.evidence(fault.as_str(), files, most)
    }
}

/// A tile's name on disk: its path with underscores.
pub(super) fn tile_name(path: &TilePath) -> String {
    path.to_string().trim_start_matches("/tile/").replace('/', "_")
}

/// The tile of such a name.
pub(super) fn tile_of_name(name: &str) -> Option<TilePath> {
    TilePath::parse(&format!("/tile/{}", name.replace('_', "/"))).ok()
}
