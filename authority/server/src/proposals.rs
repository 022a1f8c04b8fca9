//! What waits for a second person: kept on the disk from the first person's attempt until the second agrees or it is too late.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ring::rand::SecureRandom;
use semgate_contexts::{ContextUrn, Line, Prefix, Version};
use semgate_policies::PublisherAct;
use semgate_statement::statement::check_reason;
use semgate_statement::{Act, SignedPermission};
use serde::{Deserialize, Serialize};

use crate::disk::Reserve;
use crate::http::problem::{Code, Problem};
use crate::store::Layout;
use crate::{Limits, RunFault, disk};

#[cfg(test)]
mod tests;

/// What somebody wants to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// Change the status of a context; of a proposed resumption, where the suspension is in the log that it ends, and no later one.
    Change { act: Act, urn: ContextUrn, reason: String, ends: Option<u64> },
    /// Raise a floor.
    Floor { line: Line, min: Version, reason: String },
    /// Have a permission logged.
    Override(Box<SignedPermission>),
    /// End the recognition of another authority that is at this index of the log, for these lines, each with its floor there, or the lowest
    /// version.
    Withdraw { recognised: String, index: u64, lines: Vec<(Line, Version)>, reason: String },
}

impl Target {
    /// What policies call it: a withdrawal takes back what was said of each of its lines.
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

    /// The same, of a resumption about the suspension at this index of the log.
    pub fn ending(mut self, suspension: Option<u64>) -> Self {
        if let Self::Change { ends, .. } = &mut self {
            *ends = suspension;
        }
        self
    }

    /// What callers and records call it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Withdraw { .. } => "withdraw",
            _ => self.act().as_str(),
        }
    }

    /// The lines that it is about, each with a version.
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

    /// The version, the line of a floor, or the authority that was recognised, as text.
    pub fn on(&self) -> &str {
        match self {
            Self::Change { urn, .. } => urn.as_str(),
            Self::Floor { line, .. } => line.as_str(),
            Self::Override(permission) => permission.unverified().urn.as_str(),
            Self::Withdraw { recognised, .. } => recognised,
        }
    }

    /// The floor, where it is one.
    pub fn min(&self) -> Option<Version> {
        match self {
            Self::Floor { min, .. } => Some(*min),
            _ => None,
        }
    }

    /// Why.
    pub fn reason(&self) -> &str {
        match self {
            Self::Change { reason, .. } | Self::Floor { reason, .. } | Self::Withdraw { reason, .. } => {
                reason
            }
            Self::Override(permission) => &permission.unverified().reason,
        }
    }

    /// Whether it is the same, whatever the reason that is given for it, and of what is permitted, where the same person signed both, whatever
    /// the bytes of the signatures.
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

/// One that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// 32 lower-case hex digits, drawn at random.
    pub id: String,
    /// Who proposed it: a SPIFFE id.
    pub by: String,
    /// Unix seconds.
    pub at: u64,
    /// The first second at which it is too late.
    pub until: u64,
    pub target: Target,
}

/// A proposal as it lies on the disk.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: String,
    by: String,
    at: u64,
    until: u64,
    act: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    urn: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    permission: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recognised: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index: Option<u64>,
    /// Each as `line:v1.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<Vec<String>>,
}

impl Written {
    fn of(proposal: &Proposal) -> Self {
        let Proposal { id, by, at, until, target } = proposal.clone();
        let mut written = Self {
            id,
            by,
            at,
            until,
            act: target.name().to_owned(),
            urn: None,
            line: None,
            min: None,
            reason: None,
            permission: None,
            recognised: None,
            index: None,
            lines: None,
        };
        match target {
            Target::Change { urn, reason, ends, .. } => {
                written.index = ends;
                (written.urn, written.reason) = (Some(urn.as_str().to_owned()), Some(reason));
            }
            Target::Floor { line, min, reason } => {
                (written.line, written.min) = (Some(line.as_str().to_owned()), Some(min.to_string()));
                written.reason = Some(reason);
            }
            Target::Override(permission) => written.permission = Some(permission.as_str().to_owned()),
            Target::Withdraw { recognised, index, lines, reason } => {
                (written.recognised, written.reason) = (Some(recognised), Some(reason));
                written.index = Some(index);
                let lines = lines.iter().map(|(line, version)| format!("{}:{version}", line.as_str()));
                written.lines = Some(lines.collect());
            }
        }
        written
    }

    fn read(self, prefix: &Prefix) -> Option<Proposal> {
        let target = match self.withdrawal() {
            Some(target) => target,
            None => self.about_one(prefix)?,
        };
        Some(Proposal { id: self.id, by: self.by, at: self.at, until: self.until, target })
    }

    fn withdrawal(&self) -> Option<Target> {
        let named = (self.act.as_str(), &self.recognised, self.index, &self.lines);
        let ("withdraw", Some(recognised), Some(index), Some(lines)) = named else { return None };
        let lines = lines.iter().map(|text| {
            let (line, version) = text.rsplit_once(':')?;
            Some((Line::parse(line).ok()?, Version::parse(version).ok()?))
        });
        let reason = check_reason(self.reason.as_deref()?).ok()?.to_owned();
        Some(Target::Withdraw {
            recognised: recognised.clone(),
            index,
            lines: lines.collect::<Option<Vec<_>>>()?,
            reason,
        })
    }

    fn about_one(&self, prefix: &Prefix) -> Option<Target> {
        Some(match (self.act.as_str(), &self.urn, &self.line, &self.min, &self.permission) {
            ("override", None, None, None, Some(text)) => {
                Target::Override(Box::new(SignedPermission::read(text.as_bytes(), prefix).ok()?))
            }
            ("floor", None, Some(line), Some(min), None) => Target::Floor {
                line: Line::parse(line).ok()?,
                min: Version::parse(min).ok()?,
                reason: check_reason(self.reason.as_deref()?).ok()?.to_owned(),
            },
            // one that does not say which suspension it ends would end any
            ("resume", ..) if self.index.is_none() => return None,
            (act, Some(urn), None, None, None) => Target::Change {
                act: Act::parse(act)?,
                urn: ContextUrn::parse(urn, prefix).ok()?,
                reason: check_reason(self.reason.as_deref()?).ok()?.to_owned(),
                ends: self.index,
            },
            _ => return None,
        })
    }
}

/// Everything that waits.
#[derive(Debug)]
pub(crate) struct Proposals {
    dir: PathBuf,
    most: usize,
    most_of_one: usize,
    lifetime: u64,
    /// A proposal of a revocation takes from the reserved room, as the revocation does.
    reserve: Arc<Reserve>,
    waiting: Mutex<BTreeMap<String, Proposal>>,
}

impl Proposals {
    /// Those of a state directory. A file that is none of ours, or damaged, is told and proposes nothing.
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
                None => tracing::error!("`{}` is no proposal of this authority", path.display()),
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

    /// What waits now; what is too late is removed.
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

    /// Keeps what somebody proposes; what another person proposed already is answered as it is while it `stands`, and is replaced where
    /// whoever proposed it may not do it any more.
    ///
    /// # Errors
    /// The same person proposed it before, too many wait, of everybody or of this person, or the disk.
    pub fn propose(
        &self,
        by: &str,
        target: Target,
        now: u64,
        random: &dyn SecureRandom,
        stands: impl Fn(&Proposal) -> bool,
    ) -> Result<Proposal, Problem> {
        let mut waiting = self.waiting(now);
        // who proposes a permission signed it, so that of another person is another one
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
            let detail =
                format!("{} proposals of `{by}` wait, and one person may have no more", self.most_of_one);
            return Err(Problem::new(Code::ProposalsFull, detail));
        }
        let mut drawn = [0; 16];
        random.fill(&mut drawn).map_err(|_| Problem::new(Code::Internal, "no randomness"))?;
        let id: String = drawn.iter().map(|byte| format!("{byte:02x}")).collect();
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

    /// The proposal of this id, for this person to agree to.
    ///
    /// # Errors
    /// There is none, or not any longer; or it is this person's own.
    pub fn find(&self, id: &str, by: &str, now: u64) -> Result<Proposal, Problem> {
        let waiting = self.waiting(now);
        let proposal = waiting.get(id).ok_or(Code::ProposalUnknown)?;
        if proposal.by == by { Err(same_person(proposal)) } else { Ok(proposal.clone()) }
    }

    /// All that waits, by id.
    pub fn all(&self, now: u64) -> Vec<Proposal> {
        self.waiting(now).values().cloned().collect()
    }

    /// Takes one out for good, before the act is asked for: after this returns it waits nowhere, also not after a crash, so that nothing
    /// is ever done twice by one agreement. Whoever wants it again, because it came to nothing, proposes it anew.
    ///
    /// # Errors
    /// Another agreement took it, or the disk does not let it go; then nothing may be done by it.
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

    /// Takes one back in that was spent, where it is certain that nothing was done by it and nothing will be. Where the disk does not take it
    /// it is told, and has to be proposed anew.
    pub fn put_back(&self, proposal: &Proposal) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match self.write(proposal) {
            Ok(()) => drop(waiting.insert(proposal.id.clone(), proposal.clone())),
            Err(_) => {
                tracing::error!("the proposal `{}` is lost, though nothing was done by it", proposal.id)
            }
        }
    }

    /// Forgets one that never can be carried out.
    pub fn forget(&self, id: &str) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        self.forget_file(id);
    }

    fn forget_file(&self, id: &str) {
        let path = self.dir.join(format!("{id}.json"));
        // one that stays behind is too late, or its maker may not do it, and it is found to be so
        if let Err(e) = std::fs::remove_file(&path) {
            tracing::warn!("`{}` could not be removed: {e}", path.display());
        }
    }
}

fn same_person(proposal: &Proposal) -> Problem {
    let detail = format!("`{}` proposed it, and another person has to agree", proposal.by);
    let shown = serde_json::json!(proposal.id);
    Problem::new(Code::SecondPersonRequired, detail).with("proposal", shown)
}
