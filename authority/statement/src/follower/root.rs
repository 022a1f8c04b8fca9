//! Statements of the root in a round. They are fetched when a head counts more of them than are known, or cannot be verified without them.
//! Then they are verified by the keys accepted before, proved to be in the log of the head, and only then accepted.

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

/// Statements of the root that a round verified and did not accept yet.
#[derive(Clone, Debug)]
pub(super) struct NewAnchors {
    anchors: Anchors,
    entries: Vec<RootEntry>,
}

impl Follower {
    /// The anchors that judge this round.
    pub(super) fn anchors<'a>(&'a self, round: &'a Round) -> &'a Anchors {
        round.new_anchors.as_ref().map_or(&self.state.anchors, |learnt| &learnt.anchors)
    }

    /// Returns true if a head that fails under the known keys may verify under newer ones from the root.
    pub(super) fn may_be_newer_keys(&self, round: &Round, fault: &FollowFault) -> bool {
        let FollowFault::Head(fault) = fault else { return false };
        // a new root with the old name gives a bad signature instead of an unknown issuer
        let keys = matches!(
            fault,
            HeadFault::Checkpoint(CheckpointFault::Signature)
                | HeadFault::Jws(JwsFault::Chain(
                    ChainFault::UnknownIssuer | ChainFault::BadSignature | ChainFault::IssuerNotListed
                ))
        );
        keys && !round.root_fetched
    }

    /// Verifies the statements of the root in a trust document, and judges the head again under them.
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

    /// Checks that exactly the statements counted by the head are known, and that those of this round are in its log. Returns the missing
    /// requests.
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

    /// Accepts the verified statements. If an issuing certificate left the list, or an awaited one joined it, judges everything again.
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

    /// At start: verifies the remembered statements of the root again, up to the size of the remembered head. Drops those that fail.
    ///
    /// Errors: the keys that identify the remembered head, if there are any. An earlier version stored statements with a gap before the
    /// list that it began at; all of them must be fetched again.
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

    /// Indexes of everything that was accepted from the log: published contexts and statements of the root.
    pub(super) fn proved_indexes(&self) -> Vec<u64> {
        let root = self.state.trust.root().iter().map(|entry| entry.index);
        let mut all: Vec<u64> = self.state.known.values().map(|known| known.index).chain(root).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Refuses a verified head that a compromised key signed.
    pub(super) fn check_feed(
        &self,
        round: &Round,
        head: &crate::head::VerifiedHead,
    ) -> Result<(), FollowFault> {
        judge::feed(head, self.anchors(round))
    }
}
