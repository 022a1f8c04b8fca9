//! Task states, and the artifact pieces that events bring.

use super::Version;
use crate::claim::Row;
use semgate_contexts::{
    Performative::{self, Accept, Agree, CounterPropose, Inform, Propose, Query, Refuse, Reject},
    PerformativeSet,
};

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Taken on.
    Submitted,
    /// Being worked on.
    Working,
    /// Waits for more from the caller.
    InputRequired,
    /// Waits for the caller to prove a right.
    AuthRequired,
    /// Done.
    Completed,
    /// Broken off by a fault.
    Failed,
    /// Broken off because it was asked for.
    Canceled,
    /// Not taken on.
    Rejected,
    /// The agent does not know; a word of 0.3 only.
    Unknown,
}

impl State {
    const ALL: [(Self, &'static str, &'static str); 9] = [
        (Self::Submitted, "submitted", "TASK_STATE_SUBMITTED"),
        (Self::Working, "working", "TASK_STATE_WORKING"),
        (Self::InputRequired, "input-required", "TASK_STATE_INPUT_REQUIRED"),
        (Self::AuthRequired, "auth-required", "TASK_STATE_AUTH_REQUIRED"),
        (Self::Completed, "completed", "TASK_STATE_COMPLETED"),
        (Self::Failed, "failed", "TASK_STATE_FAILED"),
        (Self::Canceled, "canceled", "TASK_STATE_CANCELED"),
        (Self::Rejected, "rejected", "TASK_STATE_REJECTED"),
        (Self::Unknown, "unknown", ""),
    ];

    /// Reads the name that a version has for it, byte for byte.
    pub fn parse(text: &str, version: Version) -> Option<Self> {
        Self::ALL.into_iter().find_map(|(state, old, new)| {
            let name = if version == Version::V03 { old } else { new };
            (!name.is_empty() && name == text).then_some(state)
        })
    }

    /// Returns true for a final state.
    pub const fn ends(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// `docs/spec/a2a-binding.md`, performatives: what a state says, and what the metadata of its message may choose instead.
    pub(super) fn row(self) -> Row {
        let row = |default: Performative, others: &[Performative]| Row {
            default,
            allowed: others.iter().fold(PerformativeSet::EMPTY.with(default), |set, one| set.with(*one)),
        };
        match self {
            Self::Submitted | Self::Working => row(Agree, &[Inform]),
            Self::Rejected => row(Refuse, &[Reject, Inform]),
            Self::InputRequired => row(Query, &[Propose, CounterPropose, Inform]),
            Self::AuthRequired => row(Query, &[]),
            Self::Completed => row(Inform, &[Agree, Accept, Reject, Refuse]),
            Self::Failed | Self::Canceled => row(Inform, &[Refuse]),
            Self::Unknown => row(Inform, &[]),
        }
    }
}

/// A piece of an artifact that an event of a stream brings. Its texts are the `text` instances of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'j> {
    /// The task.
    pub task: &'j str,
    /// The artifact within the task.
    pub artifact: &'j str,
    /// True if the piece is appended to the artifact so far. Such a piece holds no data part.
    pub append: bool,
    /// True for the last piece.
    pub last: bool,
}
