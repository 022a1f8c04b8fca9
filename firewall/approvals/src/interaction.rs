//! An agent's own request to a person (F1-13 to F1-21).

use std::sync::Arc;

use semgate_contexts::canonical::{CanonicalFault, jcs};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::HumanId;

/// The kind of an interaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum InteractionKind {
    /// Yes or no to an action; silence denies.
    Permission,
    /// One of the offered options.
    Clarification,
    /// Data that fits the requested schema.
    Solicitation,
    /// News without an answer.
    Notification,
}

impl InteractionKind {
    /// The paper's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Permission => "PERMISSION",
            Self::Clarification => "CLARIFICATION",
            Self::Solicitation => "SOLICITATION",
            Self::Notification => "NOTIFICATION",
        }
    }
}

/// An agent's request to one person. Every text in it is the agent's: renderers show it as data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interaction {
    /// Verified id of the agent that asks.
    pub sender: Arc<str>,
    /// The person.
    pub target: HumanId,
    /// The kind.
    #[serde(rename = "type")]
    pub kind: InteractionKind,
    /// One line.
    pub summary: String,
    /// The text, shown without markup.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// Offered options of a clarification.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// JSON Schema of the requested data of a solicitation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_input: Option<Value>,
    /// True for data that is delivered once and never stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// The reason that the agent gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The events that led here, as the agent describes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Task and arguments that the permission is about, if the agent states them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Value>,
    /// Address that learns when the request is over, on the operator's list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<String>,
    /// The interaction that this one follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responds_to: Option<String>,
}

impl Interaction {
    /// The canonical form, which people see and the digest covers.
    ///
    /// # Errors
    /// A number beyond 2^53 − 1.
    pub fn canonical(&self) -> Result<String, CanonicalFault> {
        let bytes = jcs(&json!(self))?;
        String::from_utf8(bytes).map_err(|_| CanonicalFault::Serialiser)
    }
}
