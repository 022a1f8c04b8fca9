//! One question, one verdict.

use std::fmt;
use std::sync::Arc;

use crate::Circumstances;
use semgate_contexts::{Context, Performative, Shape, json};

use crate::annotations::Obligation;

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
    /// Further circumstances.
    pub circumstances: Circumstances<'a>,
}

/// Sender and receiver of a message, and how it travels.
#[derive(Debug, Clone, Copy)]
pub struct Parties<'a> {
    /// The id of the sender.
    pub sender: &'a str,
    /// The id of the receiver.
    pub receiver: &'a str,
    /// The name of the binding, such as `l8`.
    pub binding: &'a str,
    /// `request` or `reply`.
    pub direction: &'a str,
}

impl Question<'_> {
    /// True if free text stands in the instance or outside of it in the message.
    #[must_use]
    pub fn has_free_text(&self) -> bool {
        self.circumstances.scores.beside > 0 || self.shape.has_free_text(self.value)
    }
}

/// Proof that some policy could permit a sender to say something of this type.
#[derive(Debug, Clone, Copy)]
pub struct MaySay(#[allow(dead_code, reason = "only this crate makes one")] pub(crate) ());

/// A short list of texts that is cheap to clone, sorted and without doubles: ids of policies (`file#id`), or notices.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Texts(Option<Arc<[Arc<str>]>>);

impl Texts {
    /// The texts, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|texts| texts.iter()).map(|text| &**text)
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |texts| texts.len())
    }

    /// True without any, as the policies of a denial that no `forbid` caused: nothing permitted it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The texts as owned strings, for a record.
    #[must_use]
    pub fn to_vec(&self) -> Vec<String> {
        self.iter().map(str::to_owned).collect()
    }
}

impl<T: Into<Arc<str>>> FromIterator<T> for Texts {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut all: Vec<Arc<str>> = texts.into_iter().map(Into::into).collect();
        all.sort();
        all.dedup();
        Self((!all.is_empty()).then(|| all.into()))
    }
}

impl fmt::Debug for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The obligations of all permits that applied, in the order of their ids. Cheap to clone.
///
/// All hold together: each limit counts, all members are taken out, and each `@approve` that asks must be answered.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Obligations(Option<Arc<[Arc<Obligation>]>>);

impl Obligations {
    /// One for each permit that applied and obliges to something.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Obligation>> {
        self.0.iter().flat_map(|all| all.iter())
    }

    /// True where nothing is asked for but to let the message pass.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl FromIterator<Arc<Obligation>> for Obligations {
    fn from_iter<I: IntoIterator<Item = Arc<Obligation>>>(obligations: I) -> Self {
        let mut all: Vec<Arc<Obligation>> = obligations.into_iter().collect();
        all.sort_by(|a, b| a.policy.cmp(&b.policy));
        Self((!all.is_empty()).then(|| all.into()))
    }
}

impl fmt::Debug for Obligations {
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
        policies: Texts,
        /// Obligations beyond letting it pass. A caller that cannot meet all of them refuses.
        obligations: Obligations,
    },
    /// Nothing permits it, or something forbids it (`policy_denied`).
    Denied {
        /// The forbids that applied; empty when nothing permitted it.
        policies: Texts,
        /// The texts of those forbids for outsiders (`@notice`), or the reason if no policy was asked.
        notices: Texts,
    },
    /// A policy could not be evaluated (`policy_error`): Cedar would skip it, which could turn a refusal into a pass.
    Errored {
        /// The policies that could not be evaluated.
        policies: Texts,
        /// For the operator's record; no payload value in it.
        why: Arc<str>,
    },
    /// A value that policies see has no equal among Cedar's values (`content_invalid`).
    Untypable {
        /// JSON Pointer of the value within the instance.
        path: String,
        /// The type without an equal value: `integer`, `decimal`, `date-time`, `duration`, `ip-address`; `type` for another type than the
        /// schema promises.
        rule: &'static str,
    },
}

impl Verdict {
    /// The policies that decided, or that could not be evaluated; empty where none was asked.
    #[must_use]
    pub fn policies(&self) -> Texts {
        match self {
            Self::Permitted { policies, .. }
            | Self::Denied { policies, .. }
            | Self::Errored { policies, .. } => policies.clone(),
            Self::Untypable { .. } => Texts::default(),
        }
    }
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
