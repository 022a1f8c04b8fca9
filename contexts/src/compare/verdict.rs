//! The results of a comparison.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use crate::performative::Performative;
use crate::schema::ContentFault;
use crate::urn::{ContextUrn, Version};

/// The verdict on a part: does everything that one version accepts pass the other?
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It does, proved for all content and not by trial.
    Compatible,
    /// Not decided; the reason names the construct. Treat it as breaking.
    Unknown,
    /// It does not, and there is content that shows it.
    Breaking,
}

impl Verdict {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Compatible => "compatible",
            Verdict::Unknown => "unknown",
            Verdict::Breaking => "breaking",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The party that must go on understanding a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Content from callers, a concept or parameters: the newer one must accept all that the older accepts.
    Accepts,
    /// Content for callers, results: the older one must accept all that the newer accepts.
    Answers,
}

impl Role {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Accepts => "accepts",
            Role::Answers => "answers",
        }
    }
}

/// Content that shows a break.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Witness {
    /// The content: an object that the one accepts and the other refuses.
    #[serde(rename = "witness")]
    pub content: Value,
    /// The performative under which it is so.
    pub performative: Performative,
    /// The location and the rule of the other's refusal.
    pub refused: ContentFault,
}

/// One difference, described; it decides nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// JSON Pointer into the documents.
    pub pointer: String,
    /// The difference, in plain words.
    pub what: String,
}

/// One part of two documents, compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// JSON Pointer into the documents: `/concepts/NAME`, `/tasks/NAME/parameters`, `/tasks/NAME/results`,
    /// `/tasks/NAME/x-require-approval`.
    pub pointer: String,
    /// The party that must go on understanding it.
    pub role: Role,
    /// The verdict on this part.
    pub verdict: Verdict,
    /// The reason, in plain words; for Unknown the construct that stopped the search.
    pub reason: String,
    /// Content that shows a break. A part that is Breaking has this or [`Part::described`], no other has either.
    #[serde(flatten)]
    pub witness: Option<Witness>,
    /// Content that shows a break and is too large to be written, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub described: Option<String>,
    /// The differences inside, as far as they can be named member by member.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// Two contexts, compared part by part.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The older one.
    pub old: ContextUrn,
    /// The newer one.
    pub new: ContextUrn,
    /// All parts of both, concepts first, by name; then the tasks that require approval.
    pub parts: Vec<Part>,
    /// The gravest verdict of all parts.
    pub verdict: Verdict,
    /// The lowest version number that the newer one may have beside the older one: the next minor if everything is compatible, the
    /// next major otherwise.
    pub next: Version,
}

impl Comparison {
    /// The parts that are not compatible, breaking ones first.
    pub fn obstacles(&self) -> impl Iterator<Item = &Part> {
        let of = |verdict| self.parts.iter().filter(move |part| part.verdict == verdict);
        of(Verdict::Breaking).chain(of(Verdict::Unknown))
    }

    /// As JSON (`docs/spec/compatibility.md`).
    #[must_use]
    pub fn to_value(&self) -> Value {
        json!({
            "old": self.old.as_str(),
            "new": self.new.as_str(),
            "verdict": self.verdict,
            "next_version": self.next.to_string(),
            "parts": self.parts,
        })
    }
}

impl Part {
    /// As JSON (`docs/spec/compatibility.md`).
    #[must_use]
    pub fn to_value(&self) -> Value {
        json!(self)
    }
}
