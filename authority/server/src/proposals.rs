//! Proposals that wait for a second person: kept on the disk from the first person's attempt until approval or expiry.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ring::rand::SecureRandom;
use semgate_certs::encoding::to_hex;
use semgate_contexts::{ContextUrn, Line, Prefix, Version};
use semgate_policies::PublisherAct;
use semgate_statement::{Act, SignedPermission};

use self::written::Written;
use crate::disk::Reserve;
use crate::http::problem::{Code, Problem};
use crate::store::Layout;
use crate::{Limits, RunFault, disk};

mod written;

#[cfg(test)]
mod tests;

/// An act that a person asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// Change the status of a context. A proposed resumption holds the log index of the suspension that it ends, and ends no later one.
    Change { act: Act, urn: ContextUrn, reason: String, ends: Option<u64> },
    /// Raise a floor.
    Floor { line: Line, min: Version, reason: String },
    /// Have a permission logged.
    Override(Box<SignedPermission>),
    /// End the recognition of another authority at this log index, for these lines, each with its floor there, or the lowest version.
    Withdraw { recognised: String, index: u64, lines: Vec<(Line, Version)>, reason: String },
}

impl Target {
    /// The act as policies name it: a withdrawal revokes on each of its lines.
    pub fn act(&self) -> PublisherAct {
        match self {
            Self::Change { act: Act::Revoke, .. } => PublisherAct::Revoke,
            Self::Change { act: Act::Suspend, .. } => PublisherAct::Suspend,
            Self::Change { act: Act::Resume, .. } => PublisherAct::Resume,
            Self::Change { act: Act::Retire, .. } => PublisherAct::Retire,
            Self::Floor { .. } => PublisherAct::Floor,
            Self::Override(_) => PublisherAct::Override,
            Self::Withdraw { .. } => PublisherAct::Revoke,
        }
    }

    /// The same; a resumption then ends the suspension at this log index.
    pub fn ending(mut self, suspension: Option<u64>) -> Self {
        if let Self::Change { ends, .. } = &mut self {
            *ends = suspension;
        }
        self
    }

    /// The name in answers and records.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Withdraw { .. } => "withdraw",
            _ => self.act().as_str(),
        }
    }

    /// The lines that it affects, each with a version.
    pub fn versions(&self) -> Vec<(&Line, Version)> {
        match self {
            Self::Change { urn, .. } => vec![(urn.line(), urn.version())],
            Self::Floor { line, min, .. } => vec![(line, *min)],
            Self::Override(permission) => {
                let urn = &permission.unverified().urn;
                vec![(urn.line(), urn.version())]
            }
            Self::Withdraw { lines, .. } => lines.iter().map(|(line, version)| (line, *version)).collect(),
        }
    }

    /// The version, the line of a floor, or the recognised authority, as text.
    pub fn on(&self) -> &str {
        match self {
            Self::Change { urn, .. } => urn.as_str(),
            Self::Floor { line, .. } => line.as_str(),
            Self::Override(permission) => permission.unverified().urn.as_str(),
            Self::Withdraw { recognised, .. } => recognised,
        }
    }

    /// The new floor, if it raises one.
    pub fn min(&self) -> Option<Version> {
        match self {
            Self::Floor { min, .. } => Some(*min),
            _ => None,
        }
    }

    /// The stated reason.
    pub fn reason(&self) -> &str {
        match self {
            Self::Change { reason, .. } | Self::Floor { reason, .. } | Self::Withdraw { reason, .. } => {
                reason
            }
            Self::Override(permission) => &permission.unverified().reason,
        }
    }

    /// Returns true if it is the same act. Ignores the reason, and the signature bytes of a permission; the signer of a permission must be
    /// the same.
    fn is_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Change { act, urn, ends, .. }, Self::Change { act: a, urn: u, ends: e, .. }) => {
                act == a && urn == u && ends == e
            }
            (Self::Floor { line, min, .. }, Self::Floor { line: l, min: m, .. }) => line == l && min == m,
            (Self::Override(permission), Self::Override(other)) => {
                permission.unverified() == other.unverified()
            }
            (
                Self::Withdraw { recognised, index, lines, .. },
                Self::Withdraw { recognised: other, index: at, lines: others, .. },
            ) => recognised == other && index == at && lines == others,
            _ => false,
        }
    }
}

/// A waiting proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// 32 lower-case hex digits, drawn at random.
    pub id: String,
    /// SPIFFE id of the proposer.
    pub by: String,
    /// Unix seconds.
    pub at: u64,
    /// The second at which it expires.
    pub until: u64,
    pub target: Target,
}

/// All waiting proposals.
#[derive(Debug)]
pub(crate) struct Proposals {
    dir: PathBuf,
    most: usize,
    most_of_one: usize,
    lifetime: u64,
    /// A proposed revocation takes from the reserved room, as the revocation does.
    reserve: Arc<Reserve>,
    waiting: Mutex<BTreeMap<String, Proposal>>,
}

impl Proposals {
    /// Loads those of a state directory. A foreign or damaged file is reported and ignored.
    pub fn open(
        layout: &Layout,
        limits: &Limits,
        prefix: &Prefix,
        reserve: Arc<Reserve>,
    ) -> Result<Self, RunFault> {
        let mut waiting = BTreeMap::new();
        for name in disk::list(&layout.proposals)? {
            let path = layout.proposals.join(&name);
            let bytes = disk::read(&path)?.unwrap_or_default();
            let read = serde_json::from_slice::<Written>(&bytes).ok().and_then(|one| one.read(prefix));
            match read.filter(|one| name == format!("{}.json", one.id)) {
                Some(proposal) => drop(waiting.insert(proposal.id.clone(), proposal)),
                None => tracing::error!("`{}` is not a proposal of this authority", path.display()),
            }
        }
        Ok(Self {
            dir: layout.proposals.clone(),
            most: limits.proposals,
            most_of_one: (limits.proposals / limits.account_share.max(1)).max(1),
            lifetime: limits.proposal_lifetime.as_secs(),
            reserve,
            waiting: Mutex::new(waiting),
        })
    }

    /// The waiting proposals; removes expired ones.
    fn waiting(&self, now: u64) -> MutexGuard<'_, BTreeMap<String, Proposal>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let late: Vec<String> =
            waiting.values().filter(|one| one.until <= now).map(|one| one.id.clone()).collect();
        for id in late {
            waiting.remove(&id);
            self.forget_file(&id);
        }
        waiting
    }

    /// Keeps a proposal. If another person proposed the same, returns that one while it `stands`, and replaces it if its proposer lost the
    /// right.
    ///
    /// # Errors
    /// The same person proposed it before; too many wait, in total or for this person; or the disk failed.
    pub fn propose(
        &self,
        by: &str,
        target: Target,
        now: u64,
        random: &dyn SecureRandom,
        stands: impl Fn(&Proposal) -> bool,
    ) -> Result<Proposal, Problem> {
        let mut waiting = self.waiting(now);
        // the proposer of a permission signed it, so that of another person differs
        let signed = matches!(target, Target::Override(_));
        let same = |one: &&Proposal| one.target.is_as(&target) && (!signed || one.by == by);
        let known = waiting.values().find(same).cloned();
        match known {
            Some(known) if known.by == by => return Err(same_person(&known)),
            Some(known) if stands(&known) => return Ok(known),
            Some(dead) => {
                waiting.remove(&dead.id);
                self.forget_file(&dead.id);
            }
            None => {}
        }
        if waiting.len() >= self.most {
            return Err(Problem::new(Code::ProposalsFull, format_args!("{} proposals wait", self.most)));
        }
        if waiting.values().filter(|one| one.by == by).count() >= self.most_of_one {
            let detail = format!("{} proposals of `{by}` wait, the limit of one person", self.most_of_one);
            return Err(Problem::new(Code::ProposalsFull, detail));
        }
        let mut drawn = [0; 16];
        random
            .fill(&mut drawn)
            .map_err(|_| Problem::new(Code::Internal, "the source of randomness failed"))?;
        let id = to_hex(drawn);
        let until = now.saturating_add(self.lifetime);
        let proposal = Proposal { id, by: by.to_owned(), at: now, until, target };
        self.write(&proposal)?;
        waiting.insert(proposal.id.clone(), proposal.clone());
        Ok(proposal)
    }

    fn write(&self, proposal: &Proposal) -> Result<(), Problem> {
        let bytes =
            serde_json::to_vec(&Written::of(proposal)).map_err(|e| Problem::new(Code::Internal, e))?;
        let path = self.dir.join(format!("{}.json", proposal.id));
        let write = || disk::write(&path, &bytes);
        let written = match proposal.target {
            Target::Override(_) => write(),
            _ => self.reserve.lend(write),
        };
        written.map_err(|fault| {
            tracing::error!("{fault}");
            Problem::from(Code::of_write(&fault))
        })
    }

    /// The proposal of this id, for this person to approve.
    ///
    /// # Errors
    /// There is none any more, or it is this person's own.
    pub fn find(&self, id: &str, by: &str, now: u64) -> Result<Proposal, Problem> {
        let waiting = self.waiting(now);
        let proposal = waiting.get(id).ok_or(Code::ProposalUnknown)?;
        if proposal.by == by { Err(same_person(proposal)) } else { Ok(proposal.clone()) }
    }

    /// All waiting proposals, by id.
    pub fn all(&self, now: u64) -> Vec<Proposal> {
        self.waiting(now).values().cloned().collect()
    }

    /// Takes one out for good, before the act is requested. After this returns it waits nowhere, even after a crash, so one approval never
    /// acts twice. If the act came to nothing, it must be proposed again.
    ///
    /// # Errors
    /// Another approval took it, or the disk failed; then nothing may be done by it.
    pub fn spend(&self, id: &str) -> Result<(), Problem> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = waiting.remove(id).ok_or(Code::ProposalUnknown)?;
        let path = self.dir.join(format!("{id}.json"));
        if let Err(e) = std::fs::remove_file(&path)
            && e.kind() != std::io::ErrorKind::NotFound
        {
            let fault = RunFault::io("removing", &path)(e);
            tracing::error!("{fault}");
            waiting.insert(spent.id.clone(), spent);
            return Err(Code::of_write(&fault).into());
        }
        disk::sync_dir(&self.dir).map_err(|fault| {
            tracing::error!("{fault}");
            Problem::from(Code::of_write(&fault))
        })
    }

    /// Puts a spent one back, if it is certain that nothing was or will be done by it. If the disk fails, that is reported, and it must be
    /// proposed again.
    pub fn put_back(&self, proposal: &Proposal) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match self.write(proposal) {
            Ok(()) => drop(waiting.insert(proposal.id.clone(), proposal.clone())),
            Err(_) => {
                tracing::error!("the proposal `{}` is lost, and it was not carried out", proposal.id)
            }
        }
    }

    /// Removes one that can never be carried out.
    pub fn forget(&self, id: &str) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        self.forget_file(id);
    }

    fn forget_file(&self, id: &str) {
        let path = self.dir.join(format!("{id}.json"));
        // a leftover file is expired, or its proposer lost the right, and is then ignored
        if let Err(e) = std::fs::remove_file(&path) {
            tracing::warn!("`{}` could not be removed: {e}", path.display());
        }
    }
}

fn same_person(proposal: &Proposal) -> Problem {
    let detail = format!("`{}` proposed it, and another person must agree", proposal.by);
    let shown = serde_json::json!(proposal.id);
    Problem::new(Code::SecondPersonRequired, detail).with("proposal", shown)
}
