//! One round of following: from a poll of the head to the last document that it made necessary.
//!
//! [`Follower::plan`] looks at what is there and names the first thing that is missing; each answer adds one thing and
//! plans again. So the order of the judgements is the order of the steps in `plan`, and nothing is judged twice with
//! different bytes.

use super::looked::Listings;
use super::reference::{Needs, Waiting};
use super::state::{Document, Pinned, Published, Tiles};
use super::{FollowFault, Follower, Request, judge};
use crate::head::MAX_AHEAD;
use crate::listing::{Listed, Span};
use crate::tiles::{ProofFault, TilePath, TileSource, check_consistency, leaf_hashes};
use crate::trust::Trust;
use semgate_contexts::{ContextUrn, Line, Version};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// What a request is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Want {
    Head,
    /// What changed since the accepted head, of a log of this size, in place of the newest one.
    Delta(u64),
    Tile(TilePath),
    Shard(usize),
    Floors,
    /// What these entries publish.
    Page(Span),
    Listing,
    Trust,
    Bundle(TilePath),
    Document(ContextUrn),
}

impl Want {
    /// The word for it in faults.
    pub(super) fn what(&self) -> &'static str {
        match self {
            Want::Head => "head",
            Want::Delta(_) => "delta",
            Want::Tile(_) => "tile",
            Want::Shard(_) => "status shard",
            Want::Floors => "floors",
            Want::Page(_) => "page of the listing",
            Want::Listing => "listing",
            Want::Trust => "trust document",
            Want::Bundle(_) => "entry bundle",
            Want::Document(_) => "signed context",
        }
    }
}

/// What is under way.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// The request that waits for its answer.
    pub(super) asked: Option<(Request, Want)>,
    pub(super) requests: u64,
    /// Documents and bundles in a row that nothing came back for.
    pub(super) unanswered: u32,
    /// How often it was started again because the authority moved on under it.
    pub(super) restarts: u32,
    /// What came back belongs to a newer head: poll it before anything is held against the authority.
    pub(super) restart: bool,
    /// The head of this round; that of the state once it is accepted.
    pub(super) candidate: Option<Pinned>,
    pub(super) accepted: bool,
    /// A head that was refused, for evidence.
    pub(super) refused_head: Option<Vec<u8>>,
    pub(super) etag: Option<String>,
    pub(super) tiles: Tiles,
    /// Tiles that the last proof asked for and that were not fetched yet: it is tried again when all are here.
    pub(super) missing: Vec<TilePath>,
    /// Partial tiles that are gone: the full ones are asked for in their place.
    pub(super) full: BTreeSet<TilePath>,
    pub(super) shards: HashMap<[u8; 32], Arc<Vec<u8>>>,
    pub(super) floors: Option<BTreeMap<Line, Version>>,
    pub(super) listings: Listings,
    /// Documents that wait; each for the one that waits after it, the last for one that is being fetched.
    pub(super) waiting: Vec<Waiting>,
    pub(super) trust_fetched: bool,
    /// The head did not verify by the keys that are known: what the root says is fetched first.
    pub(super) keys_first: bool,
    /// The certificates that were known before some were fetched for a head that is not accepted yet.
    pub(super) trust_before: Option<Trust>,
    /// The statements of the root were fetched in this round.
    pub(super) root_fetched: bool,
    pub(super) learnt: Option<super::root::Learnt>,
    /// Entries of wanted bundles, by index.
    pub(super) entries: HashMap<u64, Vec<u8>>,
    /// Verified publish statements that wait for the head to be accepted.
    pub(super) found: Published,
    /// When pages, entries and documents of the accepted head began to be fetched.
    pub(super) loading_since: Option<u64>,
    /// Something of the state changed that the view does not show yet.
    pub(super) dirty: bool,
    /// Something failed that a later round should try again.
    pub(super) incomplete: bool,
}

/// How often a round is started again. The second head is newer than what came back; only a busy authority needs more.
const MAX_RESTARTS: u32 = 3;

impl Round {
    /// Asks for a new start instead of a fault, as long as that may help.
    pub(super) fn may_restart(&mut self) {
        self.restart = self.restarts < MAX_RESTARTS;
    }

    /// The first of some missing tiles; the others follow.
    pub(super) fn fetch(&mut self, tiles: Vec<TilePath>) -> Option<Want> {
        self.missing = tiles;
        self.missing.pop().map(Want::Tile)
    }

    /// The round that starts again, with what does not depend on the head. Documents that wait are judged again like those that come.
    pub(super) fn again(self) -> Round {
        Round {
            requests: self.requests,
            restarts: self.restarts + 1,
            tiles: self.tiles,
            shards: self.shards,
            listings: self.listings.again(),
            waiting: self.waiting,
            ..Round::default()
        }
    }
}

/// Tiles of this round before those of the rounds before; remembers which were looked at.
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
    /// The next thing that this round needs; none when it is done.
    pub(super) fn plan(&mut self, round: &mut Round, now: u64) -> Result<Option<Want>, FollowFault> {
        if round.candidate.is_none() {
            let keys_first = round.keys_first && !round.root_fetched;
            return Ok(Some(if keys_first { Want::Trust } else { self.first_want(now) }));
        }
        if let Some(tile) = round.missing.pop() {
            return Ok(Some(Want::Tile(tile)));
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
                    Err(fault) if may_heal(&fault) && self.look_anew(round, now) => continue,
                    judged => judged?,
                }
                self.accept(round, now)?;
                continue;
            }
            match self.plan_waiting(round, now) {
                Needs::Nothing => {
                    return Ok(self.plan_documents(now).or_else(|| self.plan_turn(round, now)));
                }
                Needs::Fetch(want) => return Ok(Some(want)),
                Needs::Entry(listed) => round.listings.lines.push(listed),
            }
        }
    }

    /// Consistency, statuses and floors of a head that is not accepted yet.
    fn plan_head(&mut self, round: &mut Round, now: u64) -> Result<Option<Want>, FollowFault> {
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
            return Ok(Some(Want::Shard(missing)));
        }
        let list = judge::statuses(&candidate.head, |sha256| round.shards.get(sha256).cloned(), &self.state)?;
        if let Err(fault) = self.judge_cosignatures(&candidate, now) {
            // Witnesses that are away must not keep a revocation from anyone.
            self.revoke_now(round, &list, now);
            return Err(fault);
        }
        if round.floors.is_none() {
            // Revocations never wait for anything else.
            self.revoke_now(round, &list, now);
            return Ok(Some(Want::Floors));
        }
        if self.judge_floors(round).is_err_and(|f| may_heal(&f)) {
            self.revoke_now(round, &list, now);
            return Ok(None);
        }
        self.judge_floors(round)?;
        self.accept(round, now)?;
        Ok(None)
    }

    /// That what was accepted before is a prefix of the candidate's log, and every known entry is in it.
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

    /// That enough witnesses saw this log. What was accepted of the same size and root was seen by them before.
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
        judge::floors_have_versions(floors, &self.config, &self.state.known, &round.found)
    }

    /// What a log that has grown lists, page by page, and each wanted line of it from the log itself.
    fn plan_entries(&mut self, round: &mut Round, now: u64) -> Result<Option<Want>, FollowFault> {
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
        self.looked_through(round, now);
        if !round.accepted && self.judge_floors(round).is_ok() {
            // what it waited for was listed: a head does not wait for the rest
            return Ok(None);
        }
        Ok(self.plan_listing(round, size, now))
    }

    /// One line of the listing: what it still needs, or none once it was judged.
    fn plan_entry(
        &mut self,
        round: &mut Round,
        candidate: &Pinned,
        listed: &Listed,
        now: u64,
    ) -> Result<Option<Want>, FollowFault> {
        let checkpoint = candidate.head.checkpoint();
        let Some(bytes) = round.entries.get(&listed.index).cloned() else {
            let path = TilePath::entries_holding(listed.index, checkpoint.size);
            return Ok(path.map(Want::Bundle));
        };
        let tiles = Overlay { fresh: &round.tiles, old: &self.state.tiles, used: RefCell::default() };
        let proved = match leaf_hashes(&[listed.index], checkpoint.size, checkpoint.root, &tiles) {
            Ok(hashes) => hashes,
            Err(ProofFault::Missing(tiles)) => return Ok(round.fetch(tiles)),
            Err(fault) => return Err(FollowFault::Tiles(fault)),
        };
        let proved = proved.first().copied().ok_or(FollowFault::Tiles(ProofFault::OutOfRange))?;
        if self.needs_trust(round, &bytes) {
            return Ok(Some(Want::Trust));
        }
        let judged =
            judge::entry(listed, &bytes, proved, &self.state.trust, self.anchors(round), &self.config)
                .and_then(|known| {
                    judge::fits_known(&listed.urn, &known, &self.state.known, &round.found).map(|()| known)
                });
        match judged {
            Ok(known) => {
                let known_already =
                    self.state.known.contains_key(&listed.urn) || round.found.contains_key(&listed.urn);
                if !known_already
                    && self.state.known.len() + round.found.len() >= self.config.limits.max_contexts
                {
                    return Err(FollowFault::TooManyContexts);
                }
                if !known_already {
                    round.found.insert(listed.urn.clone(), known);
                }
                if round.accepted {
                    self.state.known.append(&mut round.found);
                    round.dirty = true;
                }
            }
            Err(fault) => self.refuse_entry(round, listed, &bytes, fault, now),
        }
        Ok(None)
    }

    /// Whether the signer of an entry is unknown and the trust document was not asked for in this round.
    fn needs_trust(&self, round: &Round, bytes: &[u8]) -> bool {
        if round.trust_fetched {
            return false;
        }
        crate::entry::Entry::read(bytes, &self.config.prefix)
            .is_ok_and(|entry| entry.signed().key().is_some_and(|key| self.state.trust.chain(&key).is_none()))
    }

    /// The next document to fetch, in the order of the log: what a document refers to was published before it. Those that failed come after
    /// those that were not asked for yet, so that none of them keeps another from being loaded. Those of revoked contexts too: they let nothing pass, but the policies that name their
    /// line are typed by them, and a revocation must not take every other policy down with it.
    fn plan_documents(&self, now: u64) -> Option<Want> {
        let wanted = self.state.known.iter().filter_map(|(urn, known)| match &known.document {
            Document::Wanted => Some(((false, known.index), urn)),
            Document::Failed { retry_at, .. } if *retry_at <= now => Some(((true, known.index), urn)),
            Document::Loaded(_)
            | Document::NoRoom { .. }
            | Document::Refused { .. }
            | Document::Failed { .. } => None,
        });
        wanted.min().map(|(_, urn)| Want::Document(urn.clone()))
    }
}

/// Floors that may be right once the versions of this head are known.
fn may_heal(fault: &FollowFault) -> bool {
    matches!(fault, FollowFault::FloorAboveVersions { .. })
}
