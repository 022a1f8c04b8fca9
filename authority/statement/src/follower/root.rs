//! Statements of the root in a round: fetched when a head names more of them than are known, or cannot be verified without them;
//! verified by the keys that were believed before; proved to be in the log of the head; and only then believed.

use super::judge;
use super::round::Overlay;
use super::state::{Document, Pinned};
use super::{FetchTarget, FollowFault, Follower, Round};
use crate::checkpoint::CheckpointFault;
use crate::head::HeadFault;
use crate::jws::JwsFault;
use crate::root::Anchors;
use crate::tiles::{ProofFault, TreeHash, leaf_hashes};
use crate::trust::{RootEntry, Trust};
use semgate_certs::ChainFault;
use std::cell::RefCell;

/// What a round learnt of the root and nobody believes yet.
#[derive(Clone, Debug)]
pub(super) struct NewAnchors {
    anchors: Anchors,
    entries: Vec<RootEntry>,
}

impl Follower {
    /// The anchors that this round judges with.
    pub(super) fn anchors<'a>(&'a self, round: &'a Round) -> &'a Anchors {
        round.new_anchors.as_ref().map_or(&self.state.anchors, |learnt| &learnt.anchors)
    }

    /// A head that does not verify by the keys that are known may verify by newer ones, which the root says.
    pub(super) fn may_be_newer_keys(&self, round: &Round, fault: &FollowFault) -> bool {
        let FollowFault::Head(fault) = fault else { return false };
        // a new root of the old one's name gives a bad signature and no unknown issuer
        let keys = matches!(
            fault,
            HeadFault::Checkpoint(CheckpointFault::Signature)
                | HeadFault::Jws(JwsFault::Chain(
                    ChainFault::UnknownIssuer | ChainFault::BadSignature | ChainFault::IssuerNotListed
                ))
        );
        keys && !round.root_fetched
    }

    /// The statements of the root in a trust document, verified; the head is judged again by what they say.
    pub(super) fn verify_root_statements(
        &mut self,
        round: &mut Round,
        trust: &Trust,
        now: u64,
    ) -> Result<(), FollowFault> {
        round.root_fetched = true;
        let size = round.candidate.as_ref().map_or(u64::MAX, |candidate| candidate.head.head().seq);
        let anchors = self.state.anchors.with_entries(trust.root(), size, &self.config.prefix);
        let anchors = anchors.map_err(FollowFault::Root)?;
        if anchors.number() > self.state.anchors.number() {
            let known = self.state.trust.root();
            let taken = usize::try_from(anchors.number()).unwrap_or(usize::MAX);
            let new = trust.root().iter().take(taken).skip(known.len());
            let entries = known.iter().chain(new).cloned().collect();
            round.new_anchors = Some(NewAnchors { anchors, entries });
        }
        if let Some(candidate) = round.candidate.take() {
            let head = self.judge_head(round, &candidate.bytes, now)?;
            round.candidate = Some(Pinned { bytes: candidate.bytes, head });
        }
        Ok(())
    }

    /// That exactly the statements that the head counts are known, and that those of this round are in its log. Answers what is missing
    /// for that.
    pub(super) fn plan_root(
        &self,
        round: &mut Round,
        candidate: &Pinned,
    ) -> Result<Option<FetchTarget>, FollowFault> {
        let (named, known) = (candidate.head.head().root_statements, self.anchors(round).number());
        let here = round.new_anchors.as_ref().map_or(self.state.trust.root(), |learnt| &learnt.entries).len();
        if named < self.state.anchors.number() {
            return Err(FollowFault::RootWithdrawn { had: self.state.anchors.number(), offered: named });
        }
        if named > known && !round.root_fetched {
            return Ok(Some(FetchTarget::Trust));
        }
        if named != known {
            round.may_restart();
            return Err(FollowFault::RootMissing { named, known });
        }
        if named != here as u64 {
            return Err(FollowFault::RootMissing { named, known: here as u64 });
        }
        let Some(learnt) = &round.new_anchors else { return Ok(None) };
        let indexes: Vec<u64> = learnt.entries.iter().map(|entry| entry.index).collect();
        let checkpoint = candidate.head.checkpoint();
        let tiles = Overlay { fresh: &round.tiles, old: &self.state.tiles, used: RefCell::default() };
        let proved = match leaf_hashes(&indexes, checkpoint.size, checkpoint.root, &tiles) {
            Ok(proved) => proved,
            Err(ProofFault::Missing(tiles)) => return Ok(round.fetch(tiles)),
            Err(fault) => return Err(FollowFault::Tiles(fault)),
        };
        for (entry, leaf) in learnt.entries.iter().zip(proved) {
            let bytes = entry.entry(&self.config.prefix).map_err(FollowFault::Statement)?;
            if TreeHash::of_leaf(bytes.bytes()) != leaf {
                return Err(FollowFault::NotInLog);
            }
        }
        Ok(None)
    }

    /// What was learnt is believed from now on. Where an issuing certificate left the list, or one came that something had waited for,
    /// everything is judged again.
    pub(super) fn adopt_anchors(&mut self, round: &mut Round, now: u64) {
        let Some(NewAnchors { anchors, entries }) = round.new_anchors.take() else { return };
        let waits = self.state.known.values().any(|known| matches!(known.document, Document::Refused { .. }));
        let again = waits || anchors.narrows(&self.state.anchors);
        self.state.anchors = anchors;
        self.state.trust.set_root(entries);
        if !again {
            return;
        }
        let retry_at = now.saturating_add(self.config.limits.retry_documents);
        let (trust, roots) = (&self.state.trust, self.state.anchors.roots());
        for known in self.state.known.values_mut() {
            known.document = judge::under(known, trust, roots, retry_at);
        }
    }

    /// At start: the statements of the root that are remembered, verified again, as far as the log of the remembered head goes. What does
    /// not hold is not believed.
    ///
    /// Errors: the keys to know the remembered head by, as far as there are any: an earlier version kept statements with a gap before the
    /// list that it began at. All of them are to be fetched anew.
    pub(super) fn recover_root(&mut self, trust: &Trust, size: u64) -> Result<(), Box<Anchors>> {
        let configured = &self.state.anchors;
        let Ok(anchors) = configured.with_entries(trust.root(), size, &self.config.prefix) else {
            let within: Vec<RootEntry> =
                trust.root().iter().filter(|entry| entry.index < size).cloned().collect();
            return Err(Box::new(
                configured.past_a_gap(&within, &self.config.prefix).unwrap_or_else(|| configured.clone()),
            ));
        };
        self.state.anchors = anchors;
        let within = trust.root().iter().take_while(|entry| entry.index < size);
        self.state.trust.set_root(within.cloned().collect());
        Ok(())
    }

    /// Everything in the log that is believed by its place: published contexts and statements of the root.
    pub(super) fn proved_indexes(&self) -> Vec<u64> {
        let root = self.state.trust.root().iter().map(|entry| entry.index);
        let mut all: Vec<u64> = self.state.known.values().map(|known| known.index).chain(root).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// A verified head that a compromised key signed is none.
    pub(super) fn check_feed(
        &self,
        round: &Round,
        head: &crate::head::VerifiedHead,
    ) -> Result<(), FollowFault> {
        judge::feed(head, self.anchors(round))
    }
}
