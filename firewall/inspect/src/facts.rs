//! Facts known when a verdict falls: the inspection's part of the audit record.

use crate::{Code, Differs, Limited, Scored};
use semgate_approvals::ActionDigest;
use semgate_contexts::{Digest, Performative};
use semgate_policies::Texts;
use semgate_protocol::{Echo, trace::TraceParent};
use std::sync::Arc;

/// Direction of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the caller to the upstream agent.
    #[default]
    Request,
    /// From the upstream agent back to the caller.
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

/// Facts that the inspection established before its verdict. They hold identifiers, never payload values,
/// except in [`Facts::asked`].
///
/// Members are empty if the verdict fell before they were known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Direction of the message.
    pub direction: Direction,
    /// The verified sender; the replier for a reply.
    pub sender: String,
    /// The receiver: the route's, or the caller for a reply.
    pub receiver: String,
    /// The binding's name, `l8` or `a2a`.
    pub protocol: &'static str,
    /// The message's own id, if it is a well-formed identifier.
    pub message_id: Option<String>,
    /// Performative of the message.
    pub performative: Option<Performative>,
    /// The named context, if its URN is canonical.
    pub context: Option<String>,
    /// Digest published by the authority.
    pub digest: Option<Digest>,
    /// Concepts in message order, if the context defines them.
    pub concepts: Vec<String>,
    /// The policies that settled the verdict, one set per question.
    pub policies: Vec<Texts>,
    /// Tasks withheld from a list because their tools differ from the signed forms.
    pub drifted: Vec<String>,
    /// Names settled for the two agents and their session (F0-31).
    pub learnt: Vec<String>,
    /// The MCP tool that is called or answers, if no context names it and the route admits such tools.
    pub unnamed_tool: Option<String>,
    /// The method or operation as the protocol writes it.
    pub method: Option<&'static str>,
    /// The position in a trace, if `_meta` of MCP states one. No policy sees it.
    pub trace: Option<TraceParent>,
    /// Members removed before judgement: JSON Pointers into the message as received, at most
    /// [`MAX_POINTERS`](semgate_protocol::removal::MAX_POINTERS).
    pub removed: Vec<String>,
    /// Digest of the action that people are asked about or have approved.
    pub approval: Option<ActionDigest>,
    /// Limits that stopped the message (`rate_limited`, `ambiguity_limited`).
    pub limited: Vec<Limited>,
    /// Members that policies redacted from the reply, as `concept.member` in schema names.
    pub redacted: Vec<String>,
    /// `gateway` for the gateway's own message in place of the sender's.
    pub said_by: Option<&'static str>,
    /// Withheld tasks of a list by code: `not_found` for another agent's task, or nobody's.
    pub withheld: Vec<(Code, usize)>,
    /// Number of the generation that was in force.
    pub generation: u64,
    /// Digest of the generation's policy set; none before the first question, or if no operator policies are
    /// live.
    pub policy_digest: Option<Digest>,
    /// Difference between the shadow policy set and the live one.
    pub shadow: Option<Box<Differs>>,
    /// Scores of the text of each concept that policies read, live or shadow.
    pub scored: Vec<Scored>,
    /// Digest of the model behind these scores.
    pub scan_model: Option<Digest>,
    /// Texts of the request that its answer repeats. No record has them.
    pub echo: Option<Arc<Echo>>,
    /// Policy questions as JSON, if they are recorded. Only this field may hold message values: those that
    /// the operator selected.
    pub asked: Option<Arc<str>>,
}

impl Facts {
    /// Ids of the policies that settled the verdict, sorted and without duplicates.
    pub fn policy_ids(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = self.policies.iter().flat_map(|ids| ids.iter()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}
