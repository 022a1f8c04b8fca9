//! The action that a person approves, and its digest.

use std::sync::Arc;

use semgate_contexts::Digest;
use semgate_contexts::canonical::{CanonicalFault, jcs};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The digest of an action: SHA-256 over its canonical form (RFC 8785).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActionDigest(Digest);

impl ActionDigest {
    /// The digest of this canonical form.
    pub(crate) fn of(canonical: &str) -> Self {
        Self(Digest::of(canonical.as_bytes()))
    }

    /// Reads `sha-256:` and 64 lower-case hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        Digest::parse(text).ok().map(Self)
    }
}

impl std::fmt::Display for ActionDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for ActionDigest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ActionDigest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("must be a `sha-256:` digest"))
    }
}

/// One concept instance of an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionInstance {
    /// Name of the concept or task.
    pub concept: String,
    /// Its content without the naming member.
    pub value: Value,
}

/// Everything in a message that a schema judged and a policy decided on (F1-25).
///
/// Ids, times, the session lock and the bytes' spelling are left out: a client that tries again sends others. Two messages with
/// one action have one digest, so `12000` and `12000.0` are the same amount.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Action {
    /// Verified id of the sender.
    pub sender: Arc<str>,
    /// Id of the receiver.
    pub receiver: Arc<str>,
    /// Name of the binding.
    pub binding: Arc<str>,
    /// Digest of the signed context document.
    pub context: Arc<str>,
    /// Performative of the message.
    pub performative: Arc<str>,
    /// Every instance, in message order.
    pub instances: Vec<ActionInstance>,
    /// Other things that the message means: the proposal that it answers, its task and conversation, and those it refers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refers: Vec<String>,
}

impl Action {
    /// The canonical form, which people see and the digest covers.
    ///
    /// # Errors
    /// A number beyond 2^53 − 1, which no judged message holds.
    pub fn canonical(&self) -> Result<String, CanonicalFault> {
        let bytes = jcs(&json!(self))?;
        String::from_utf8(bytes).map_err(|_| CanonicalFault::Serialiser)
    }

    /// The digest of the canonical form.
    ///
    /// # Errors
    /// As [`Action::canonical`].
    pub fn digest(&self) -> Result<ActionDigest, CanonicalFault> {
        Ok(ActionDigest::of(&self.canonical()?))
    }
}
