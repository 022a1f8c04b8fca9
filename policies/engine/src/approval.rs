//! The demand of a permit that a person decides first: `@approve` and the annotations beside it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The demand of one permit, or of a task whose signed context marks it `x-require-approval`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The policy, `file#id`; the URN and task of a signed context.
    pub policy: Arc<str>,
    /// The question to the approver: the text of `@approve`.
    pub question: Arc<str>,
    /// Who may decide; `None` leaves it to the gateway's configuration.
    pub approvers: Option<Approvers>,
    /// Number of different people who must approve.
    pub quorum: u32,
    /// Seconds to answer; then silence denies.
    pub within: u32,
    /// Who is asked as well after so many seconds.
    pub escalate: Option<Escalation>,
    /// How long one approval serves.
    pub reuse: Reuse,
    /// When a decision needs a written reason.
    pub reason: ReasonRule,
    /// The weakest proof of identity that counts.
    pub assurance: Assurance,
}

impl Approval {
    /// Seconds to answer, unless the policy states others.
    pub const WITHIN: u32 = 15 * 60;

    /// A demand with every default.
    pub fn new(policy: impl Into<Arc<str>>, question: impl Into<Arc<str>>) -> Self {
        Self {
            policy: policy.into(),
            question: question.into(),
            approvers: None,
            quorum: 1,
            within: Self::WITHIN,
            escalate: None,
            reuse: Reuse::Never,
            reason: ReasonRule::Never,
            assurance: Assurance::Low,
        }
    }
}

/// A set of people: `capability:treasurer`, `group:heads` or `human://bob.sre`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approvers {
    /// Everyone whose card lists this capability.
    Capability(Arc<str>),
    /// Everyone in this group.
    Group(Arc<str>),
    /// One person, by the id of the card.
    Human(Arc<str>),
}

/// `@escalate("30m to group:heads")`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    /// Seconds after the request.
    pub after: u32,
    /// Who may decide from then on, besides the first.
    pub to: Approvers,
}

/// `@reuse`: how long one approval serves the same sender, receiver and action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// One use.
    Never,
    /// `same action 10m`: any number of uses for so many seconds after the approval.
    SameAction(u32),
    /// `session`: any number of uses in the session of the first request.
    Session,
}

/// `@reason`: when a decision needs a written reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonRule {
    /// None.
    Never,
    /// A denial only.
    Deny,
    /// Every decision.
    Always,
}

/// Strength of the proof of who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Assurance {
    /// A link in a mail or a card, followed and confirmed.
    Low,
    /// A click that a chat service signed.
    Medium,
    /// The person's own client certificate.
    High,
}
