//! The outcome of an analysis.

use std::fmt;

use serde_json::{Value, json};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A part of a policy, or a second permit of the same messages: it may be meant.
    Advice,
    /// True only of the agents and the clock of today.
    Warning,
    /// The policy does nothing beside these contexts.
    Fault,
}

impl Level {
    /// As JSON has it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Advice => "advice",
            Self::Warning => "warning",
            Self::Fault => "fault",
        }
    }
}

/// A proven statement about a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// It applies to no message.
    NeverApplies,
    /// Forbids deny all that it permits.
    Covered,
    /// Other policies with the same effect apply wherever it does.
    DoesNothing,
    /// A part of a condition is true for no message that comes to it.
    PartNeverTrue,
    /// A part of a condition is true for every message that comes to it.
    PartAlwaysTrue,
}

impl FindingKind {
    /// As JSON has it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NeverApplies => "never_applies",
            Self::Covered => "covered",
            Self::DoesNothing => "does_nothing",
            Self::PartNeverTrue => "part_never_true",
            Self::PartAlwaysTrue => "part_always_true",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::NeverApplies => "never applies",
            Self::Covered => "permits nothing: forbids deny everything in it",
            Self::DoesNothing => "has no effect: other policies apply wherever it does",
            Self::PartNeverTrue => "a part of its condition is never true",
            Self::PartAlwaysTrue => "a part of its condition is always true",
        }
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub level: Level,
    /// The statement.
    pub kind: FindingKind,
    /// `file#id`.
    pub policy: String,
    /// File name.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// The reason: parts of conditions, facts, or other policies; empty where none was found in time.
    pub why: String,
}

impl Finding {
    /// As one JSON object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "level": self.level.as_str(), "finding": self.kind.as_str(), "policy": self.policy,
            "file": self.file, "line": self.line, "why": self.why,
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let today = if self.level == Level::Warning { " today" } else { "" };
        write!(f, "{}:{}: policy `{}` {}{today}", self.file, self.line, self.policy, self.kind.words())?;
        if self.why.is_empty() { Ok(()) } else { write!(f, " ({})", self.why) }
    }
}

/// The findings of an analysis.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Name and version of the solver.
    pub solver: String,
    /// By file and line; of one policy the gravest first.
    pub findings: Vec<Finding>,
    /// Ids of policies about which a whole question stayed open.
    pub undecided: Vec<String>,
    /// Queries that the solver was asked.
    pub queries: u64,
    /// The time for all queries ended before they did.
    pub cut_off: bool,
    /// The solver ended, or said something that is no answer.
    pub solver_failed: bool,
}

impl Report {
    /// The gravest level of any finding.
    #[must_use]
    pub fn worst(&self) -> Option<Level> {
        self.findings.iter().map(|finding| finding.level).max()
    }

    /// True if every question was put and the solver worked. Some may be undecided all the same.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        !self.cut_off && !self.solver_failed
    }
}
