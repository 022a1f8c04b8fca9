//! Judges a request: the entry to append, or the refusal. It sees the log as it will be after the previous batch is committed.

use std::collections::HashMap;
use std::sync::Arc;

use semgate_certs::{
    Chain, ChainFault, KeyId, Roots, SpiffeId, Suspect, Thumbprint, Usage, VerifiedLeaf, verify_chain,
};
use semgate_contexts::{ContextUrn, Line, Version};
use semgate_statement::{
    Act, Anchors, Checkpoint, Entry, JwsFault, OwnStatement, Replay, ReplayFault, RootAct, SignedPermission,
    SignedStatement, Statement, StatementFault, VerifiedStatement,
};

use super::{Consent, Request, Sequencer};
use crate::http::problem::{Code, Problem, reference_counts};

/// The verdict on a request.
pub(super) enum Judgement {
    /// An entry is to be appended.
    New(Box<Entry>),
    /// It was logged before, at this index.
    Known(u64),
}

/// Chains verified within this second: a batch uses the same few again and again, and each costs three signature checks.
#[derive(Default)]
pub(crate) struct VerifiedLeaves {
    at: u64,
    leaves: HashMap<(Thumbprint, Usage), (Chain, Arc<VerifiedLeaf>)>,
}

impl VerifiedLeaves {
    /// The result of [`verify_chain`], cached for the second.
    fn leaf(
        &mut self,
        chain: &Chain,
        roots: &Roots,
        usage: Usage,
        at: u64,
    ) -> Result<Arc<VerifiedLeaf>, ChainFault> {
        if at != self.at {
            self.leaves.clear();
            self.at = at;
        }
        let key = (chain.thumbprint(), usage);
        if let Some((_, leaf)) = self.leaves.get(&key).filter(|(known, _)| known == chain) {
            return Ok(Arc::clone(leaf));
        }
        let leaf = Arc::new(verify_chain(chain, roots, usage, at)?);
        self.leaves.insert(key, (chain.clone(), Arc::clone(&leaf)));
        Ok(leaf)
    }
}

impl Sequencer {
    /// Judges a request and signs its statement. Writes nothing and does not change the ledger.
    pub(super) fn judge(&mut self, request: &Request, consent: Consent) -> Result<Judgement, Problem> {
        let judged = match request {
            Request::Publish { statement, chains, seen, references, .. } => {
                self.judge_publish(statement, chains, *seen, references)
            }
            Request::Conflict { .. } => Err(Code::UrnTaken.into()),
            Request::Change { act, urn, reason, ends } => {
                self.judge_change(*act, *ends, urn, reason, consent)
            }
            Request::Floor { line, min, reason } => self.judge_floor(line, *min, reason, consent),
            Request::Withdraw { recognised, index, lines, reason } => {
                self.judge_withdraw(recognised, *index, lines, reason, consent)
            }
            Request::Override { by, permission } => self.judge_override(by, permission, consent),
            Request::Root(signed) => self.judge_root(signed),
        }?;
        if let Judgement::New(entry) = &judged {
            self.check_capacity(request, entry.bytes().len())?;
        }
        Ok(judged)
    }

    fn judge_publish(
        &mut self,
        own: &OwnStatement,
        chains: &[Chain],
        seen: u64,
        references: &[ContextUrn],
    ) -> Result<Judgement, Problem> {
        let at = self.time();
        let signed = own.signed();
        match self.ledger.replay().check_by(at, signed.unverified(), signed.key()) {
            Ok(()) => {
                if let Statement::Publish { urn, .. } = signed.unverified()
                    && self.ledger.published_since(urn, seen)
                {
                    return Err(Code::VersionRaced.into());
                }
                references.iter().try_for_each(|other| self.counts(other))?;
                // Every reader judges the document's chain at `logged_at`, so it must hold then and not only at the check.
                for chain in chains {
                    let leaf = self.verified.leaf(chain, self.anchors.roots(), Usage::Context, at);
                    let leaf = leaf.map_err(|fault| Problem::new(Code::SignatureInvalid, fault))?;
                    if self.ledger.replay().compromised(leaf.signer_id()).is_some() {
                        return Err(Problem::new(Code::SignatureInvalid, ReplayFault::SignerCompromised));
                    }
                }
                self.entry(at, own, chains)
            }
            Err(ReplayFault::PublishedTwice { index }) => Ok(Judgement::Known(index)),
            Err(fault @ ReplayFault::SecondDigest) => Err(Problem::new(Code::UrnTaken, fault)),
            Err(fault @ ReplayFault::SignerCompromised) => Err(Problem::new(Code::SignatureInvalid, fault)),
            Err(fault @ ReplayFault::LineDiffersInCase) => Err(Problem::new(Code::LineCaseTaken, fault)),
            Err(fault @ ReplayFault::LineRecognised) => Err(Problem::new(Code::LineRecognised, fault)),
            Err(fault) => Err(Problem::new(Code::Internal, fault)),
        }
    }

    /// Checks that a context to which a new document refers counts at this place of the log. It may have been revoked since the check of
    /// the document, even in the same batch.
    fn counts(&self, other: &ContextUrn) -> Result<(), Problem> {
        let replay = self.ledger.replay();
        let status = replay.published(other).and_then(|published| replay.statuses().get(published.index));
        reference_counts(other, status)
    }

    fn judge_change(
        &mut self,
        act: Act,
        ends: Option<u64>,
        urn: &ContextUrn,
        reason: &str,
        consent: Consent,
    ) -> Result<Judgement, Problem> {
        let replay = self.ledger.replay();
        let index = replay.published(urn).ok_or(Code::ContextUnknown)?.index;
        let at = self.time();
        let statement = Statement::Change { act, urn: urn.clone(), index, reason: reason.to_owned() };
        let done_before = match replay.check(at, &statement) {
            Ok(()) if act == Act::Resume => {
                let suspension = self.ledger.act_at(index, Act::Suspend);
                if ends.is_some() && ends != suspension {
                    let detail = "it was suspended again after the resumption was proposed";
                    return Err(Problem::new(Code::TransitionRefused, detail));
                }
                return self.by_status_key(at, statement, consent).map_err(|problem| match problem.code {
                    // the proposal is the end of this suspension
                    Code::SecondPersonRequired => problem.with(SUSPENSION, suspension.into()),
                    _ => problem,
                });
            }
            Ok(()) => return self.by_status_key(at, statement, consent),
            Err(ReplayFault::Revoked) => act == Act::Revoke,
            Err(ReplayFault::SuspendedAlready | ReplayFault::RetiredAlready) => true,
            // Resumed and not suspended since: a repeated act. Never suspended: nothing to resume.
            Err(ReplayFault::NotSuspended) => self.ledger.act_at(index, act).is_some(),
            Err(fault) => return Err(Problem::new(Code::TransitionRefused, fault)),
        };
        match (done_before, self.ledger.act_at(index, act), replay.check(at, &statement)) {
            (true, Some(known), _) => Ok(Judgement::Known(known)),
            (_, _, Err(fault)) => Err(Problem::new(Code::TransitionRefused, fault)),
            (_, _, Ok(())) => Err(Code::Internal.into()),
        }
    }

    fn judge_floor(
        &mut self,
        line: &Line,
        min: Version,
        reason: &str,
        consent: Consent,
    ) -> Result<Judgement, Problem> {
        let replay = self.ledger.replay();
        let at = self.time();
        let statement = Statement::Floor { line: line.clone(), min, reason: reason.to_owned() };
        match replay.check(at, &statement) {
            Ok(()) => self.by_status_key(at, statement, consent),
            Err(fault @ ReplayFault::FloorNotRaised) => {
                match (replay.floors().get(line), self.ledger.floor_at(line)) {
                    (Some(floor), Some(known)) if *floor == min => Ok(Judgement::Known(known)),
                    _ => Err(Problem::new(Code::FloorLowered, fault)),
                }
            }
            Err(fault @ ReplayFault::FloorAboveVersions) => Err(Problem::new(Code::FloorUnpublished, fault)),
            Err(fault) => Err(Problem::new(Code::Internal, fault)),
        }
    }

    /// The kill switch of a recognition; a repeated one is the same statement.
    fn judge_withdraw(
        &mut self,
        recognised: &str,
        meant: u64,
        lines: &[Line],
        reason: &str,
        consent: Consent,
    ) -> Result<Judgement, Problem> {
        if let Some(known) = self.ledger.withdrawn_at(recognised) {
            return Ok(Judgement::Known(known));
        }
        let at = self.time();
        let known = self.ledger.replay().recognition(recognised);
        let (index, known) = known.ok_or(Code::RecognitionUnknown)?;
        if index != meant || known != lines {
            return Err(recognised_again());
        }
        let lines = lines.to_vec();
        let (recognised, reason) = (recognised.to_owned(), reason.to_owned());
        let statement = Statement::Withdraw { recognised, index, lines, reason };
        let checked = self.ledger.replay().check(at, &statement);
        checked.map_err(|fault| Problem::new(Code::Internal, fault))?;
        self.by_status_key(at, statement, consent)
    }

    /// A permission of a person: given once, before its version is published, beside the published ones.
    fn judge_override(
        &mut self,
        by: &SpiffeId,
        permission: &SignedPermission,
        consent: Consent,
    ) -> Result<Judgement, Problem> {
        if let Some(known) = self.ledger.override_at(by.as_str(), permission) {
            return Ok(Judgement::Known(known));
        }
        if self.ledger.override_count() >= self.limits.overrides {
            let detail = format!("{} permissions are logged", self.limits.overrides);
            return Err(Problem::new(Code::OverridesFull, detail));
        }
        let share = self.limits.overrides.div_ceil(self.limits.account_share.max(1));
        if self.ledger.override_count_of(by.as_str()) >= share {
            let detail = format!("{share} permissions by `{by}` are logged, the limit of one person");
            return Err(Problem::new(Code::OverridesFull, detail));
        }
        let at = self.time();
        let statement = Statement::Override { by: by.clone(), permission: Box::new(permission.clone()) };
        match self.ledger.replay().check(at, &statement) {
            Ok(()) => self.by_status_key(at, statement, consent),
            Err(fault) => Err(Problem::new(Code::OverrideRefused, fault)),
        }
    }

    /// A statement of the root: the next by its number, signed by enough root keys. This authority's own keys must still count after it, so
    /// that there is always a head that verifies.
    fn judge_root(&self, signed: &SignedStatement) -> Result<Judgement, Problem> {
        let at = self.time();
        let refused = |fault: &dyn std::fmt::Display| Problem::new(Code::TrustRefused, fault);
        if let Some(known) = self.already_logged_at(signed) {
            return Ok(Judgement::Known(known));
        }
        if let Statement::Root(statement) = signed.unverified()
            && statement.authority != self.anchors.authority()
        {
            return Err(refused(&semgate_statement::root::RootFault::Authority));
        }
        self.ledger.replay().check(at, signed.unverified()).map_err(|fault| refused(&fault))?;
        self.can_withdraw(signed.unverified())?;
        self.names_a_key(signed.unverified(), at).map_err(|what| refused(&what))?;
        let entry = Entry::new(at, signed.clone()).map_err(|fault| Problem::new(Code::Internal, fault))?;
        let mut next = self.anchors.clone();
        next.accept(self.ledger.replay().size(), &entry).map_err(|fault| refused(&fault))?;
        self.still_counts(&next, at)?;
        Ok(Judgement::New(Box::new(entry)))
    }

    /// Refuses a recognition whose end the status key could not sign.
    fn can_withdraw(&self, statement: &Statement) -> Result<(), Problem> {
        let Statement::Root(root) = statement else { return Ok(()) };
        let RootAct::Recognise(recognition) = &root.act else { return Ok(()) };
        let refused = |what: String| Problem::new(Code::WithdrawalImpossible, what);
        let role = self.keys.status().ok_or_else(|| refused("there is no valid status key".to_owned()))?;
        let beyond = recognition.names().into_iter().find(|line| role.leaf.allows_line(line).is_err());
        match beyond {
            Some(line) => Err(refused(format!("the status key may not sign for `{}`", line.as_str()))),
            None => Ok(()),
        }
    }

    fn names_a_key(&self, statement: &Statement, at: u64) -> Result<(), &'static str> {
        let Statement::Root(root) = statement else { return Ok(()) };
        let chains = self.trust.chains().flat_map(|(_, chain)| chain.named_keys());
        let ours = self.keys.chains();
        let known: Vec<_> = chains.chain(ours.iter().flat_map(|chain| chain.named_keys())).collect();
        names_a_key(&root.act, &self.anchors, self.ledger.replay(), &known, at)
    }

    fn already_logged_at(&self, signed: &SignedStatement) -> Option<u64> {
        let before = self.ledger.root().iter().find(|before| {
            let entry = before.entry(&self.prefix);
            entry.is_ok_and(|entry| entry.unverified() == signed.unverified())
        });
        before.map(|before| before.index)
    }

    fn still_counts(&self, next: &Anchors, at: u64) -> Result<(), Problem> {
        let lost = |what: &str| {
            let detail = format!("after this statement, {what} of this authority would no longer count");
            Problem::new(Code::TrustRefused, detail)
        };
        let (note, origin) = (self.log.checkpoint().as_bytes(), self.log.verifier().name());
        Checkpoint::verify(note, next.log(), origin).map_err(|_| lost("the log key"))?;
        let feed = self.keys.feed().map_err(|fault| Problem::new(Code::Internal, fault))?;
        let chains = [
            (Usage::Feed, "the feed key", Some(feed)),
            (Usage::Status, "the status key", self.keys.status()),
        ];
        for (usage, name, role) in chains {
            let Some(role) = role else { continue };
            if verify_chain(&role.identity.chain, next.roots(), usage, at).is_err() {
                return Err(lost(name));
            }
            let compromised = next.compromised(role.leaf.signer_id()).is_some();
            if compromised && !self.keys.renews(usage, next) {
                return Err(lost(name));
            }
        }
        Ok(())
    }

    /// Signs an act with all required consents. One that waits for a second person is not signed: nobody can take a signature back.
    fn by_status_key(
        &mut self,
        at: u64,
        statement: Statement,
        consent: Consent,
    ) -> Result<Judgement, Problem> {
        let role = self.keys.status().filter(|role| at <= role.leaf.not_after());
        let role = role.ok_or_else(|| {
            Problem::new(Code::SignerUnavailable, "the status key has no valid certificate")
        })?;
        if self.ledger.replay().compromised(role.leaf.signer_id()).is_some() {
            return Err(Problem::new(Code::SignerUnavailable, "the status key is compromised"));
        }
        if consent == Consent::SecondMissing {
            // an impossible statement is not proposed
            for line in statement.lines() {
                role.leaf.allows_line(line).map_err(|fault| Problem::new(Code::LineNotDelegated, fault))?;
            }
            return Err(Code::SecondPersonRequired.into());
        }
        let own = OwnStatement::sign(statement, &role.identity, &self.keys.random)
            .map_err(|fault| Problem::unsigned(&fault))?;
        self.entry(at, &own, std::slice::from_ref(&role.identity.chain))
    }

    /// An entry that every follower accepts: it is verified by their rules before it is appended.
    fn entry(&mut self, at: u64, own: &OwnStatement, chains: &[Chain]) -> Result<Judgement, Problem> {
        self.as_followers(at, own, chains).map_err(|fault| {
            tracing::error!("an entry that followers would refuse was not appended: {fault}");
            Problem::new(Code::LineNotDelegated, fault)
        })?;
        let entry =
            Entry::new(at, own.signed().clone()).map_err(|fault| Problem::new(Code::Internal, fault))?;
        Ok(Judgement::New(Box::new(entry)))
    }

    fn as_followers(
        &mut self,
        at: u64,
        own: &OwnStatement,
        chains: &[Chain],
    ) -> Result<VerifiedStatement, StatementFault> {
        let chain = chains.iter().find(|chain| Some(chain.thumbprint()) == own.signed().key());
        let chain = chain.ok_or(JwsFault::UnknownKey)?;
        let role = own.signed().unverified().role().ok_or(StatementFault::OfTheRoot)?;
        let leaf = self.verified.leaf(chain, self.anchors.roots(), role, at);
        own.verify_under(&*leaf.map_err(JwsFault::from)?)
    }

    /// `logged_at` of the next entry: now, but never earlier than the entry before.
    fn time(&self) -> u64 {
        self.clock.now().max(self.ledger.replay().last_logged_at())
    }
}

/// Member that holds the log index of the suspension that a resumption would end.
pub(crate) const SUSPENSION: &str = "suspension";

/// The problem for a withdrawal of an older recognition.
pub(crate) fn recognised_again() -> Problem {
    Problem::new(Code::RecognitionReplaced, "it was recognised again after the withdrawal was requested")
}

/// Checks that a compromise statement names a key, and one for which it has an effect. It must not be a root key, which leaves by a trust
/// list. If the named certificate is known, the key must be its own. It must not be a key with which only a recognised authority signs.
/// Those signatures are in its own log, and count here until the recognition is withdrawn.
fn names_a_key(
    act: &RootAct,
    anchors: &Anchors,
    replay: &Replay,
    known: &[(Thumbprint, KeyId)],
    at: u64,
) -> Result<(), &'static str> {
    let RootAct::Compromised { key, spki, .. } = act else { return Ok(()) };
    let spki = spki.ok_or("the statement names a certificate and not its key: draft it again")?;
    let mut roots = anchors.roots().certificates();
    if roots.any(|der| Suspect::key_of(der) == Some(spki)) {
        return Err("the key belongs to a root, which only a trust list removes");
    }
    if known.iter().any(|(certificate, other)| certificate == key && *other != spki) {
        return Err("the key does not belong to the certificate that the statement names");
    }
    let ours = known.iter().any(|(_, other)| *other == spki);
    match !ours && recognised_by(anchors, replay, spki, at) {
        true => Err("the key belongs to a recognised authority: withdraw the recognition instead"),
        false => Ok(()),
    }
}

/// Returns true if a recognition in force at `at` certifies this key.
fn recognised_by(anchors: &Anchors, replay: &Replay, key: KeyId, at: u64) -> bool {
    let in_force = anchors.recognised().filter(|one| {
        let name = &one.recognition.recognised;
        one.recognition.until > at && replay.recognition(name).is_some_and(|(index, _)| index == one.index)
    });
    let mut certified = in_force.flat_map(|one| one.recognition.cross.iter());
    certified.any(|der| Suspect::key_of(der) == Some(key))
}

#[cfg(test)]
mod tests;
