//! Changes of a book, as they are written to disk.

use serde::{Deserialize, Serialize};

use crate::{Decision, Hold, HoldId, HumanId, HumanStatus, Verdict};

/// An end that no person decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum End {
    /// Nobody answered in time.
    Expired,
    /// The sender or a new policy withdrew it.
    Cancelled,
    /// It could not be put to anybody.
    Failed,
    /// The approval was not used in time.
    Lapsed,
}

/// One change. Applying the same events in the same order gives the same book.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// A new hold.
    Opened(Box<Hold>),
    /// A channel accepted the request for a person.
    Sent {
        /// The hold.
        id: HoldId,
        /// The person.
        human: HumanId,
    },
    /// A person got a link with a single-use token.
    Linked {
        /// The hold.
        id: HoldId,
        /// The person.
        human: HumanId,
        /// The answer that the link offers.
        verdict: Verdict,
        /// Hash of the token; the token itself is kept nowhere.
        hash: String,
    },
    /// A person looked at it.
    Seen {
        /// The hold.
        id: HoldId,
        /// The person.
        human: HumanId,
    },
    /// A person decided.
    Decided {
        /// The hold.
        id: HoldId,
        /// The decision, with the gateway's signature.
        decision: Box<Decision>,
        /// True if every demand is met now; then `use_by` is set.
        settled: bool,
        /// Last second to use the approval.
        use_by: Option<u64>,
    },
    /// A person passed it on.
    Delegated {
        /// The hold.
        id: HoldId,
        /// From whom.
        from: HumanId,
        /// To whom.
        to: HumanId,
    },
    /// The later approvers may decide too.
    Escalated {
        /// The hold.
        id: HoldId,
        /// Seconds of the escalation.
        after: u32,
    },
    /// It ended without a decision.
    Ended {
        /// The hold.
        id: HoldId,
        /// How.
        end: End,
        /// Why, for operators.
        why: String,
    },
    /// The approved action is about to be forwarded.
    Used {
        /// The hold.
        id: HoldId,
        /// Decision id of the forwarded message.
        decision_id: String,
    },
    /// A person's availability changed.
    Status {
        /// The person.
        human: HumanId,
        /// The new status.
        status: HumanStatus,
    },
}

impl Event {
    /// The hold that changes; none for changes of people.
    pub fn hold(&self) -> Option<&HoldId> {
        match self {
            Self::Opened(hold) => Some(&hold.id),
            Self::Sent { id, .. }
            | Self::Linked { id, .. }
            | Self::Seen { id, .. }
            | Self::Decided { id, .. }
            | Self::Delegated { id, .. }
            | Self::Escalated { id, .. }
            | Self::Ended { id, .. }
            | Self::Used { id, .. } => Some(id),
            Self::Status { .. } => None,
        }
    }
}
