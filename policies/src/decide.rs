//! One question, one verdict.

use std::fmt;
use std::sync::Arc;

use semgate_contexts::{Context, Performative, Shape, json};

/// May this sender say this concept instance to this receiver?
///
/// The instance has been read by the strict reader and conforms to its schema; `decide` relies on both.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The verified SPIFFE id of the sender (in a reply: of the replier).
    pub sender: &'a str,
    /// The SPIFFE id of the receiver (in a reply: of the one who asked).
    pub receiver: &'a str,
    /// The performative.
    pub action: Performative,
    /// The context that *defines* the concept: for control vocabulary used under `payment`, that of `snl`.
    pub context: &'a Context,
    /// The side of the term that this performative reads.
    pub shape: &'a Shape,
    /// The instance.
    pub value: &'a json::Object<'a>,
    /// The member that named the type and is no part of the content.
    pub without: Option<&'a str>,
    /// `l8`, `a2a` …
    pub binding: &'a str,
    /// `request` or `reply`.
    pub direction: &'a str,
}

/// Ids of policies, `file#id`; cheap to clone.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct PolicyIds(pub(crate) Arc<[Arc<str>]>);

impl PolicyIds {
    /// The ids, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|id| &**id)
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True for a denial that no `forbid` caused: nothing permitted it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for PolicyIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The answer to a [`Question`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// At least one `permit` and no `forbid` applies.
    Permitted {
        /// The permits that applied.
        policies: PolicyIds,
    },
    /// Nothing permits it, or something forbids it (`policy_denied`).
    Denied {
        /// The forbids that applied; empty when nothing permitted it.
        policies: PolicyIds,
        /// What those forbids say to outsiders (their `@notice` annotation), and why if no policy was asked.
        notices: PolicyIds,
    },
    /// A policy could not be evaluated (`policy_error`): Cedar would skip it, which could turn a refusal into a pass.
    Errored {
        /// The policies that could not be evaluated.
        policies: PolicyIds,
        /// For the operator's record; no payload value in it.
        why: Arc<str>,
    },
    /// A number that policies see lies outside Cedar's bounds (`content_invalid`).
    Untypable {
        /// JSON Pointer of the number within the instance.
        path: String,
    },
}

/// Proof that some policy could let this sender use some concept of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineUse(pub(crate) ());

/// No policy could let this sender use any concept of the line, known or not (`policy_denied`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoPolicy;

impl fmt::Display for NoPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no policy lets this sender use the line")
    }
}

impl std::error::Error for NoPolicy {}
