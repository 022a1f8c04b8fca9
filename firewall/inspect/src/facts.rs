//! What is known about a message when its verdict falls: the audit record's share of the inspection.

use crate::{Code, Differs, Limited};
use semgate_contexts::{Digest, Performative};
use semgate_policies::Texts;
use std::sync::Arc;

/// Which way a message goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the caller to the agent behind the route.
    #[default]
    Request,
    /// From that agent back to the caller.
    Reply,
}

impl Direction {
    /// `request` or `reply`, as audit records and policies write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Reply => "reply",
        }
    }
}

/// What the inspection found out before its verdict. Holds identifiers only: never a payload value.
///
/// Members are empty where the verdict fell before they were known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Which way the message goes.
    pub direction: Direction,
    /// The verified sender: for a reply the replier.
    pub sender: String,
    /// The receiver: the route's, for a reply the caller.
    pub receiver: String,
    /// The binding's name, `l8` or `a2a`.
    pub protocol: &'static str,
    /// The message's own id, if it has the form of an identifier.
    pub message_id: Option<String>,
    /// The speech act.
    pub performative: Option<Performative>,
    /// The named context, if the text is a canonical URN.
    pub context: Option<String>,
    /// The digest that the authority published for the context.
    pub digest: Option<Digest>,
    /// Names of the concepts that the context defines and the message uses, in the order of the message.
    pub concepts: Vec<String>,
    /// The policies that settled the verdict, one set for each question that was asked.
    pub policies: Vec<Texts>,
    /// Tasks whose tools were withheld from a list, since their server describes them otherwise than they were signed.
    pub drifted: Vec<String>,
    /// Names that the message settled for its pair and session (F0-31).
    pub learnt: Vec<String>,
    /// The tool of MCP that is called or answers, where no context names it and the route takes such.
    pub unnamed_tool: Option<String>,
    /// Members that were taken out of the message before it was judged: JSON pointers into the message as it came, the first
    /// [`MAX_POINTERS`](semgate_message::removal::MAX_POINTERS).
    pub removed: Vec<String>,
    /// The limits that stopped it (`rate_limited`, `ambiguity_limited`).
    pub limited: Vec<Limited>,
    /// What policies took out of the reply: `concept.member`, names of the schema.
    pub redacted: Vec<String>,
    /// `gateway` where the message is the gateway's own, said in the place of its sender.
    pub said_by: Option<&'static str>,
    /// Tasks that were withheld from a list, counted by why: `not_found` for what is another's or nobody's.
    pub withheld: Vec<(Code, usize)>,
    /// Number of the generation that the verdict fell under.
    pub generation: u64,
    /// The digest of the policy set of that generation; none where nothing was asked yet, or nothing of the operator's is live.
    pub policy_digest: Option<Digest>,
    /// What the shadow set would have done otherwise.
    pub shadow: Option<Box<Differs>>,
    /// What was asked of the policies, as JSON, where it is to be kept. It alone may hold values of the message: those that the operator
    /// asked for.
    pub asked: Option<Arc<str>>,
}

impl Facts {
    /// The ids of the policies that settled the verdict, sorted, each once.
    pub fn policy_ids(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = self.policies.iter().flat_map(|ids| ids.iter()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}
