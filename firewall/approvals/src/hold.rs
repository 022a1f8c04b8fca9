//! One request to a person, with its whole life.

use std::sync::Arc;

use semgate_contexts::CanonicalFault;
use semgate_policies::{Approval, Approvers, Assurance, ReasonRule, Reuse};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Action, ActionDigest, HoldId, HumanCard, HumanId, HumanRegistry, Interaction, InteractionKind};

/// The state of a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum HoldState {
    /// On disk; nobody knows of it yet.
    Pending,
    /// A channel accepted it for at least one person.
    Sent,
    /// A person looked at it.
    Seen,
    /// Enough people agreed.
    Approved,
    /// A person refused.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// The sender or a new policy withdrew it.
    Cancelled,
    /// It could not be put to anybody.
    Failed,
    /// The approved action was forwarded.
    Used,
    /// The approval was not used in time.
    Lapsed,
}

impl HoldState {
    /// Returns true while a person can still answer.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Sent | Self::Seen)
    }
}

/// The question's content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A message that the gateway holds.
    Action(Action),
    /// A question of an agent.
    Interaction(Box<Interaction>),
}

impl Subject {
    /// The canonical form, which people see and the digest covers.
    ///
    /// # Errors
    /// A number beyond 2^53 − 1.
    pub fn canonical(&self) -> Result<String, CanonicalFault> {
        match self {
            Self::Action(action) => action.canonical(),
            Self::Interaction(interaction) => interaction.canonical(),
        }
    }
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Yes; for other kinds than a permission: answered.
    #[serde(alias = "TRUE", alias = "ALLOW")]
    Approved,
    /// No.
    #[serde(alias = "FALSE", alias = "DENY")]
    Denied,
}

/// Proof of a person's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Factor {
    /// Client certificate at the gateway.
    Certificate,
    /// Client certificate at a console.
    ConsoleCertificate,
    /// A login at an identity provider, at a console.
    ConsoleLogin,
    /// A one-time link into a console.
    ConsoleLink,
    /// A click that Slack signed.
    Slack,
    /// A link in a message that only the person got.
    Link,
}

impl Factor {
    /// Strength of the proof.
    pub const fn assurance(self) -> Assurance {
        match self {
            Self::Certificate | Self::ConsoleCertificate => Assurance::High,
            Self::ConsoleLogin | Self::Slack => Assurance::Medium,
            Self::ConsoleLink | Self::Link => Assurance::Low,
        }
    }
}

/// One person's answer (F1-23).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The person.
    pub human_id: HumanId,
    /// Yes or no.
    pub decision: Verdict,
    /// The chosen option, exactly as offered (F1-24).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected_option: Option<String>,
    /// The requested data; never there for secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// The person's words.
    pub feedback: Option<String>,
    /// The proof of identity.
    pub factor: Factor,
    /// Time of the answer.
    pub decided_at: u64,
    /// Signed statement of the gateway over all of this and the digest, as a compact JWS.
    #[serde(default)]
    pub evidence: String,
}

impl Decision {
    /// The claims that the gateway signs: person, decision, action, time and proof of identity.
    pub fn statement(&self, hold: &Hold) -> Value {
        json!({
            "interaction_id": hold.id, "digest": hold.digest, "human_id": self.human_id, "decision": self.decision,
            "selected_option": self.selected_option, "data": self.data, "feedback": self.feedback,
            "factor": self.factor, "assurance": self.factor.assurance(), "iat": self.decided_at,
        })
    }
}

/// A person passed a request on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    /// The giver, who may decide by the policy's own words.
    pub from: HumanId,
    /// The taker, who may decide in the giver's name.
    pub to: HumanId,
}

/// The people of the moment.
pub(crate) struct People<'r> {
    pub(crate) registry: &'r HumanRegistry,
    /// The set that decides where a demand names nobody.
    pub(crate) default: &'r Approvers,
}

/// One request to a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hold {
    /// Its name.
    pub id: HoldId,
    /// Its content.
    pub subject: Subject,
    /// URN of the context of a held message.
    pub urn: Option<Arc<str>>,
    /// Canonical form of the content.
    pub canonical: Arc<str>,
    /// Digest of the canonical form.
    pub digest: ActionDigest,
    /// Every demand of the policies; all must be met.
    pub demands: Vec<Approval>,
    /// Session of the first request, for `@reuse("session")`.
    pub session: Option<Arc<str>>,
    /// Decision id of the first message.
    pub decision_id: Arc<str>,
    /// Generation of policies and status that asked.
    pub generation: u64,
    /// Time of the request.
    pub opened_at: u64,
    /// Last second to answer.
    pub expires_at: u64,
    /// Last second to use an approval.
    pub use_by: Option<u64>,
    /// The state.
    pub state: HoldState,
    /// Reason of the end, for holds that no person ended.
    pub ended: Option<String>,
    /// Every answer, in order.
    pub decisions: Vec<Decision>,
    /// Delegations, in order.
    pub delegations: Vec<Delegation>,
    /// Seconds of the latest escalation; later approvers up to it may decide too.
    pub escalated: u32,
    /// Number of forwarded messages.
    pub uses: u32,
}

impl Hold {
    /// The agent that asked.
    pub fn sender(&self) -> &Arc<str> {
        match &self.subject {
            Subject::Action(action) => &action.sender,
            Subject::Interaction(interaction) => &interaction.sender,
        }
    }

    /// The kind of the question. A held message asks for a permission.
    pub fn kind(&self) -> InteractionKind {
        match &self.subject {
            Subject::Action(_) => InteractionKind::Permission,
            Subject::Interaction(interaction) => interaction.kind,
        }
    }

    /// Returns true if the person may decide under this demand by the policy's own words.
    pub(crate) fn admits_itself(&self, demand: &Approval, card: &HumanCard, default: &Approvers) -> bool {
        let first = card.is_in(demand.approvers.as_ref().unwrap_or(default));
        let later = demand.escalate.as_ref();
        first || later.is_some_and(|to| to.after <= self.escalated && card.is_in(&to.to))
    }

    /// The person whose vote a decision is under this demand: the decider, or whoever delegated to the decider. None if the
    /// decider may not decide, or if one of the two stands behind the sender.
    pub(crate) fn voter<'r>(
        &self,
        demand: &Approval,
        human: &HumanId,
        people: &People<'r>,
    ) -> Option<&'r HumanId> {
        let may = |id: &HumanId| {
            let card = people.registry.get(id).filter(|card| !card.stands_behind(self.sender()))?;
            self.admits_itself(demand, card, people.default).then_some(&card.id)
        };
        let decider = people.registry.get(human).filter(|card| !card.stands_behind(self.sender()))?;
        let givers = self.delegations.iter().filter(|one| one.to == decider.id);
        may(&decider.id).or_else(|| givers.map(|one| &one.from).find_map(may))
    }

    /// Seconds of the next escalation.
    pub(crate) fn next_escalation(&self) -> Option<u32> {
        let after = self.demands.iter().filter_map(|demand| demand.escalate.as_ref()).map(|one| one.after);
        after.filter(|after| *after > self.escalated).min()
    }

    /// Time of the next escalation.
    pub(crate) fn escalates_at(&self) -> Option<u64> {
        self.next_escalation().map(|after| self.opened_at.saturating_add(after.into()))
    }

    /// Returns true if digest and canonical form are those of the content.
    pub fn is_whole(&self) -> bool {
        self.subject.canonical().is_ok_and(|canonical| *canonical == *self.canonical)
            && ActionDigest::of(&self.canonical) == self.digest
    }

    /// Returns true if enough signed approvals of different people stand behind the state, whoever they are today.
    pub fn is_backed(&self) -> bool {
        let given = self.decisions.iter().filter(|decision| decision.decision == Verdict::Approved);
        let people: std::collections::BTreeSet<&HumanId> = given.map(|decision| &decision.human_id).collect();
        let quorum = self.demands.iter().map(|demand| demand.quorum).max().unwrap_or(1);
        let needed = matches!(self.state, HoldState::Approved | HoldState::Used | HoldState::Lapsed);
        !needed || people.len() >= usize::try_from(quorum).unwrap_or(usize::MAX)
    }

    /// Returns true if a decision of this kind needs a reason.
    pub(crate) fn needs_reason(&self, verdict: Verdict) -> bool {
        self.demands.iter().any(|demand| match demand.reason {
            ReasonRule::Always => true,
            ReasonRule::Deny => verdict == Verdict::Denied,
            ReasonRule::Never => false,
        })
    }

    /// Returns true if the approvals meet every demand under the people of today. A giver and all delegates are one vote.
    pub(crate) fn meets(&self, people: &People<'_>) -> bool {
        let given = || self.decisions.iter().filter(|decision| decision.decision == Verdict::Approved);
        self.demands.iter().all(|demand| {
            let strong = given().filter(|decision| decision.factor.assurance() >= demand.assurance);
            let votes = strong.filter_map(|decision| self.voter(demand, &decision.human_id, people));
            let votes: std::collections::BTreeSet<&HumanId> = votes.collect();
            votes.len() >= usize::try_from(demand.quorum).unwrap_or(usize::MAX)
        })
    }

    /// The reuse that every demand allows.
    pub(crate) fn reuse(&self) -> Reuse {
        let strictest = |one: Reuse, other: Reuse| match (one, other) {
            (Reuse::Never, _) | (_, Reuse::Never) => Reuse::Never,
            (Reuse::SameAction(a), Reuse::SameAction(b)) => Reuse::SameAction(a.min(b)),
            (Reuse::SameAction(a), Reuse::Session) | (Reuse::Session, Reuse::SameAction(a)) => {
                Reuse::SameAction(a)
            }
            (Reuse::Session, Reuse::Session) => Reuse::Session,
        };
        let reuse = self.demands.iter().map(|demand| demand.reuse).reduce(strictest);
        // a message without a session has none to share
        reuse.filter(|reuse| *reuse != Reuse::Session || self.session.is_some()).unwrap_or(Reuse::Never)
    }
}
