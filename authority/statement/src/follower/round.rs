//! One round of following: from a poll of the head to the last document that it requires.
//!
//! [`Follower::plan`] examines the state and names the first missing part; each answer adds one part and plans again. So the order of the
//! judgements is the order of the steps in `plan`, and nothing is judged twice with different bytes.

use super::reference::{Needs, WaitingDocument};
use super::scan::Listings;
use super::state::{Document, Pinned, PublishedContexts, Tiles};
use super::{FollowFault, Follower, Request, judge};
use crate::head::MAX_AHEAD;
use crate::listing::{ListedContext, Span};
use crate::tiles::{ProofFault, TilePath, TileSource, check_consistency, leaf_hashes};
use crate::trust::Trust;
use semgate_contexts::{ContextUrn, Line, Version};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The purpose of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum FetchTarget {
    Head,
    /// The delta since the accepted head, from a log of this size, in place of the newest head.
    Delta(u64),
    Tile(TilePath),
    Shard(usize),
    Floors,
    /// The publications of these entries.
    Page(Span),
    Listing,
    Trust,
    Bundle(TilePath),
    Document(ContextUrn),
}

impl FetchTarget {
    /// Its name in faults.
    pub(super) fn what(&self) -> &'static str {
        match self {
            FetchTarget::Head => "head",
            FetchTarget::Delta(_) => "delta",
            FetchTarget::Tile(_) => "tile",
            FetchTarget::Shard(_) => "status shard",
            FetchTarget::Floors => "floors",
            FetchTarget::Page(_) => "page of the listing",
            FetchTarget::Listing => "listing",
            FetchTarget::Trust => "trust document",
            FetchTarget::Bundle(_) => "entry bundle",
            FetchTarget::Document(_) => "signed context",
        }
    }
}

/// The round under way.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// The request that waits for its answer.
    pub(super) pending: Option<(Request, FetchTarget)>,
    pub(super) requests: u64,
    /// Consecutive documents and bundles without an answer.
    pub(super) unanswered: u32,
    /// Number of restarts because the authority moved on.
    pub(super) restarts: u32,
    /// True if an answer belongs to a newer head: poll that head before accusing the authority.
    pub(super) restart: bool,
    /// The head of this round; once accepted, the one in the state.
    pub(super) candidate: Option<Pinned>,
    pub(super) accepted: bool,
    /// A refused head, for evidence.
    pub(super) refused_head: Option<Vec<u8>>,
    pub(super) etag: Option<String>,
    pub(super) tiles: Tiles,
    /// Tiles that the last proof needs and that are not fetched yet; it is repeated when all are here.
    pub(super) missing: Vec<TilePath>,
    /// Partial tiles that are gone: the full ones are requested in their place.
    pub(super) full: BTreeSet<TilePath>,
    pub(super) shards: HashMap<[u8; 32], Arc<Vec<u8>>>,
    pub(super) floors: Option<BTreeMap<Line, Version>>,
    pub(super) listings: Listings,
    /// Waiting documents; each for the one after it, the last for one that is being fetched.
    pub(super) waiting: Vec<WaitingDocument>,
    pub(super) trust_fetched: bool,
    /// True if the head did not verify under the known keys: statements of the root are fetched first.
    pub(super) keys_first: bool,
    /// The certificates known before some were fetched for a head that is not accepted yet.
    pub(super) trust_before: Option<Trust>,
    /// The statements of the root were fetched in this round.
    pub(super) root_fetched: bool,
    pub(super) new_anchors: Option<super::root::NewAnchors>,
    /// Entries of wanted bundles, by index.
    pub(super) entries: HashMap<u64, Vec<u8>>,
    /// Verified publish statements that wait for the acceptance of the head.
    pub(super) published: PublishedContexts,
    /// Start of loading pages, entries and documents of the accepted head.
    pub(super) loading_since: Option<u64>,
    /// True if the state changed and the view does not show it yet.
    pub(super) dirty: bool,
    /// True if something failed that a later round should repeat.
    pub(super) incomplete: bool,
}

/// Most restarts of a round. The second head is newer than the answer; only a busy authority needs more.
const MAX_RESTARTS: u32 = 3;

impl Round {
    /// Asks for a restart instead of a fault, as long as that may help.
    pub(super) fn may_restart(&mut self) {
        self.restart = self.restarts < MAX_RESTARTS;
    }

    /// The first of some missing tiles; the others follow.
    pub(super) fn fetch(&mut self, tiles: Vec<TilePath>) -> Option<FetchTarget> {
        self.missing = tiles;
        self.missing.pop().map(FetchTarget::Tile)
    }

    /// The restarted round, with the parts that do not depend on the head. Waiting documents are judged again like new ones.
    pub(super) fn again(self) -> Round {
        Round {
            requests: self.requests,
            restarts: self.restarts + 1,
            tiles: self.tiles,
            shards: self.shards,
            listings: self.listings.for_retry(),
            waiting: self.waiting,
            ..Round::default()
        }
    }
}

/// Tiles of this round before those of earlier rounds; records their use.
pub(super) struct Overlay<'a> {
    pub(super) fresh: &'a Tiles,
    pub(super) old: &'a Tiles,
    pub(super) used: RefCell<BTreeSet<TilePath>>,
}

impl TileSource for Overlay<'_> {
    fn tile(&self, path: &TilePath) -> Option<Vec<u8>> {
        self.used.borrow_mut().insert(*path);
        self.fresh.get(path).or_else(|| self.old.get(path)).cloned()
    }
}

impl Follower {
    /// The next request of this round; none when it is done.
    pub(super) fn plan(&mut self, round: &mut Round, now: u64) -> Result<Option<FetchTarget>, FollowFault> {
        if round.candidate.is_none() {
            let keys_first = round.keys_first && !round.root_fetched;
            return Ok(Some(if keys_first { FetchTarget::Trust } else { self.first_want(now) }));
        }
        if let Some(tile) = round.missing.pop() {
            return Ok(Some(FetchTarget::Tile(tile)));
        }
        if !round.accepted
            && let Some(want) = self.plan_head(round, now)?
        {
            return Ok(Some(want));
        }
        loop {
            if let Some(want) = self.plan_entries(round, now)? {
                return Ok(Some(want));
            }
            if !round.accepted {
                // The floors waited for versions that a listing might show, and none did.
                match self.judge_floors(round) {
                    Err(fault) if may_heal(&fault) && self.rescan(round, now) => continue,
                    judged => judged?,
                }
                self.accept(round, now)?;
                continue;
            }
            match self.plan_waiting(round, now) {
                Needs::Nothing => {
                    return Ok(self.plan_documents(now).or_else(|| self.plan_refresh(round, now)));
                }
                Needs::Fetch(want) => return Ok(Some(want)),
                Needs::Entry(listed) => round.listings.lines.push(listed),
            }
        }
    }

    /// Consistency, statuses and floors of a head that is not accepted yet.
    fn plan_head(&mut self, round: &mut Round, now: u64) -> Result<Option<FetchTarget>, FollowFault> {
        let Some(candidate) = round.candidate.clone() else { return Ok(None) };
        match self.prove_prefix(round, &candidate) {
            Ok(()) => {}
            Err(ProofFault::Missing(tiles)) => return Ok(round.fetch(tiles)),
            Err(ProofFault::NotAPrefix) => {
                let had = self.state.head.as_ref().map_or(0, |pinned| pinned.head.head().seq);
                return Err(FollowFault::Fork { had, offered: candidate.head.head().seq });
            }
            Err(fault) => return Err(FollowFault::Tiles(fault)),
        }
        if let Some(want) = self.plan_root(round, &candidate)? {
            return Ok(Some(want));
        }
        let Some(candidate) = round.candidate.clone() else { return Ok(None) };
        let shards = &candidate.head.head().shards;
        let missing = shards.iter().position(|s| !round.shards.contains_key(&s.sha256));
        if let Some(missing) = missing {
            return Ok(Some(FetchTarget::Shard(missing)));
        }
        let list = judge::statuses(&candidate.head, |sha256| round.shards.get(sha256).cloned(), &self.state)?;
        if let Err(fault) = self.judge_cosignatures(&candidate, now) {
            // Absent witnesses must not delay a revocation.
            self.revoke_now(round, &list, now);
            return Err(fault);
        }
        if round.floors.is_none() {
            // Revocations never wait for anything else.
            self.revoke_now(round, &list, now);
            return Ok(Some(FetchTarget::Floors));
        }
        if self.judge_floors(round).is_err_and(|f| may_heal(&f)) {
            self.revoke_now(round, &list, now);
            return Ok(None);
        }
        self.judge_floors(round)?;
        self.accept(round, now)?;
        Ok(None)
    }

    /// Proves that the accepted log is a prefix of the candidate's, and that every known entry is in it.
    fn prove_prefix(&self, round: &Round, candidate: &Pinned) -> Result<(), ProofFault> {
        let checkpoint = candidate.head.checkpoint();
        let tiles = Overlay { fresh: &round.tiles, old: &self.state.tiles, used: RefCell::default() };
        if let Some(had) = &self.state.head {
            let had = had.head.checkpoint();
            if (had.size, had.root) == (checkpoint.size, checkpoint.root) {
                return Ok(());
            }
            check_consistency(had.size, had.root, checkpoint.size, checkpoint.root, &tiles)?;
        }
        leaf_hashes(&self.proved_indexes(), checkpoint.size, checkpoint.root, &tiles).map(|_| ())
    }

    /// Checks that enough witnesses saw this log. They saw an accepted log of the same size and root before.
    fn judge_cosignatures(&self, candidate: &Pinned, now: u64) -> Result<(), FollowFault> {
        let seen = |pinned: &Pinned| (pinned.head.checkpoint().size, pinned.head.checkpoint().root);
        let had = self.state.head.as_ref().filter(|_| self.state.complete);
        if had.is_some_and(|had| seen(had) == seen(candidate)) {
            return Ok(());
        }
        let latest = self.state.not_before(now).saturating_add(MAX_AHEAD);
        let judged = self.config.quorum.judge(&candidate.head.head().checkpoint, latest);
        judged.map(|_| ()).map_err(FollowFault::Cosignatures)
    }

    fn judge_floors(&self, round: &Round) -> Result<(), FollowFault> {
        let floors = round.floors.as_ref().ok_or(FollowFault::FloorsSwapped)?;
        let since = self.state.head.as_ref().map_or(0, |pinned| pinned.head.head().seq);
        judge::floors_not_lowered(floors, &self.state.floors, self.anchors(round), since)?;
        judge::floors_have_versions(floors, &self.config, &self.state.known, &round.published)
    }

    /// Plans the listings of a grown log, page by page, and the proof of each wanted line from the log itself.
    fn plan_entries(&mut self, round: &mut Round, now: u64) -> Result<Option<FetchTarget>, FollowFault> {
        let Some(candidate) = round.candidate.clone() else { return Ok(None) };
        let size = candidate.head.head().seq;
        while let Some(listed) = round.listings.lines.last().cloned() {
            match self.plan_entry(round, &candidate, &listed, now)? {
                Some(want) => return Ok(Some(want)),
                None => {
                    round.entries.remove(&listed.index);
                    round.listings.lines.pop();
                }
            }
        }
        self.scan_complete(round, now);
        if !round.accepted && self.judge_floors(round).is_ok() {
            // the awaited version was listed: a head does not wait for the rest
            return Ok(None);
        }
        Ok(self.plan_listing(round, size, now))
    }

    /// One line of the listing: its next request, or none once it was judged.
    fn plan_entry(
        &mut self,
        round: &mut Round,
        candidate: &Pinned,
        listed: &ListedContext,
        now: u64,
    ) -> Result<Option<FetchTarget>, FollowFault> {
        let checkpoint = candidate.head.checkpoint();
        let Some(bytes) = round.entries.get(&listed.index).cloned() else {
            let path = TilePath::entries_holding(listed.index, checkpoint.size);
            return Ok(path.map(FetchTarget::Bundle));
        };
        let tiles = Overlay { fresh: &round.tiles, old: &self.state.tiles, used: RefCell::default() };
        let proved = match leaf_hashes(&[listed.index], checkpoint.size, checkpoint.root, &tiles) {
            Ok(hashes) => hashes,
            Err(ProofFault::Missing(tiles)) => return Ok(round.fetch(tiles)),
            Err(fault) => return Err(FollowFault::Tiles(fault)),
        };
        let proved = proved.first().copied().ok_or(FollowFault::Tiles(ProofFault::OutOfRange))?;
        if self.needs_trust(round, &bytes) {
            return Ok(Some(FetchTarget::Trust));
        }
        let judged = judge::logged(&bytes, proved, &self.config.prefix)
            .and_then(|entry| judge::entry(listed, entry, &self.state.trust, self.anchors(round)))
            .and_then(|known| {
                judge::fits_known(&listed.urn, &known, &self.state.known, &round.published).map(|()| known)
            });
        match judged {
            Ok(known) => {
                let known_already =
                    self.state.known.contains_key(&listed.urn) || round.published.contains_key(&listed.urn);
                if !known_already
                    && self.state.known.len() + round.published.len() >= self.config.limits.max_contexts
                {
                    return Err(FollowFault::TooManyContexts);
                }
                if !known_already {
                    round.published.insert(listed.urn.clone(), known);
                }
                if round.accepted {
                    self.state.known.append(&mut round.published);
                    round.dirty = true;
                }
            }
            Err(fault) => self.refuse_entry(round, listed, &bytes, fault, now),
        }
        Ok(None)
    }

    /// Returns true if the signer of an entry is unknown and the trust document was not requested in this round.
    fn needs_trust(&self, round: &Round, bytes: &[u8]) -> bool {
        if round.trust_fetched {
            return false;
        }
        crate::entry::Entry::read(bytes, &self.config.prefix)
            .is_ok_and(|entry| entry.signed().key().is_some_and(|key| self.state.trust.chain(&key).is_none()))
    }

    /// The next document to fetch, in log order, because references lead to earlier documents. Failed ones come after untried ones, so that
    /// none blocks another. Includes revoked contexts: they let nothing pass, but policies that name their line need their types.
    fn plan_documents(&self, now: u64) -> Option<FetchTarget> {
        let wanted = self.state.known.iter().filter_map(|(urn, known)| match &known.document {
            Document::Wanted => Some(((false, known.index), urn)),
            Document::Failed { retry_at, .. } if *retry_at <= now => Some(((true, known.index), urn)),
            Document::Loaded(_)
            | Document::NoRoom { .. }
            | Document::Refused { .. }
            | Document::Failed { .. } => None,
        });
        wanted.min().map(|(_, urn)| FetchTarget::Document(urn.clone()))
    }
}

/// Returns true if the floors may be right once the versions of this head are known.
fn may_heal(fault: &FollowFault) -> bool {
    matches!(fault, FollowFault::FloorAboveVersions { .. })
}
