//! The demand of a permit that a person decides first: `@approve` and the annotations beside it.

mod read;
mod trigger;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub(crate) use read::Words;
pub use trigger::{ApproveWhen, ConfidenceFloor};

/// The demand of one permit, or of a task whose signed context marks it `x-require-approval`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The policy, `file#id`; the URN and task of a signed context.
    pub policy: Arc<str>,
    /// The question to the approver: the text of `@approve`.
    pub question: Arc<str>,
    /// The people who may decide; `None` leaves it to the gateway's configuration.
    pub approvers: Option<Approvers>,
    /// Number of different people who must approve.
    pub quorum: u32,
    /// Seconds to answer; then silence denies.
    pub within: u32,
    /// People who are asked as well after so many seconds.
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

    /// The most people that one demand can ask for: more never answer in time.
    pub const MOST_QUORUM: u32 = 8;

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

impl fmt::Display for Approval {
    /// The question and every word that differs from its default, in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.question)?;
        let mut words = Vec::new();
        words.extend(self.approvers.as_ref().map(|who| format!("approvers {who}")));
        words.extend((self.quorum > 1).then(|| format!("quorum {}", self.quorum)));
        words.extend((self.within != Self::WITHIN).then(|| format!("within {}", span(self.within))));
        words.extend(
            self.escalate.as_ref().map(|one| format!("escalates after {} to {}", span(one.after), one.to)),
        );
        words.extend((self.reuse != Reuse::Never).then(|| format!("reuse {}", self.reuse)));
        words.extend(match self.reason {
            ReasonRule::Never => None,
            ReasonRule::Deny => Some("a reason to deny".to_owned()),
            ReasonRule::Always => Some("a reason always".to_owned()),
        });
        words.extend((self.assurance > Assurance::Low).then(|| format!("assurance {}", self.assurance)));
        if words.is_empty() { Ok(()) } else { write!(f, " ({})", words.join(", ")) }
    }
}

/// A number of seconds as policies write it: in the largest unit that divides it.
fn span(seconds: u32) -> String {
    match seconds {
        whole if whole % 3_600 == 0 => format!("{}h", whole / 3_600),
        whole if whole % 60 == 0 => format!("{}m", whole / 60),
        rest => format!("{rest}s"),
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
    /// One person, by the id of the card, `human://` included.
    Human(Arc<str>),
}

impl Approvers {
    /// Reads `capability:NAME`, `group:NAME` or `human://NAME`. A name has 1 to 64 letters, digits, `.`, `_` and `-`.
    ///
    /// # Errors
    /// Anything else, in words for the operator.
    pub fn parse(text: &str) -> Result<Self, String> {
        read::approvers(text)
    }
}

impl fmt::Display for Approvers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capability(name) => write!(f, "capability:{name}"),
            Self::Group(name) => write!(f, "group:{name}"),
            Self::Human(id) => f.write_str(id),
        }
    }
}

/// `@escalate("30m to group:heads")`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    /// Seconds after the request.
    pub after: u32,
    /// People who may decide from then on, besides the first.
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

impl fmt::Display for Reuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::SameAction(seconds) => write!(f, "same action {}", span(*seconds)),
            Self::Session => f.write_str("session"),
        }
    }
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

impl fmt::Display for Assurance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        })
    }
}
