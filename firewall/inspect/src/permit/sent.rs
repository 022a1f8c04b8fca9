//! The remains of a spent permit.

use crate::{
    answer_right::AnswerRight,
    clarify::Question,
    dialogues::Live,
    facts::Facts,
    inspection::Peer,
    mcp_session::Asking,
    meter::Quota,
    negotiated_terms::{InSession, OfPair},
    owners::{About, Kind},
    route::Route,
    subscriptions::Subscription,
    term_negotiation::Meaning,
    turn::Step,
};
use semgate_approvals::Approved;
use semgate_contexts::Digest;
use semgate_protocol::{
    Asked, Binding, Call, Echo, Message, OwnThread, PayloadMode, RpcId, SessionStep, a2a::Operation, mcp,
};
use std::sync::Arc;

/// The remains of a spent permit, which the reply is judged against. Boxed, since it moves from stage to
/// stage.
#[derive(Clone, Debug)]
pub struct Sent(pub(super) Box<RequestFacts>);

/// Facts about a permitted request.
#[derive(Clone, Debug)]
pub struct RequestFacts {
    pub(crate) route: Arc<Route>,
    pub(crate) caller: Peer,
    /// Context of the reply: the request's, or that of the task in question.
    pub(crate) about: Arc<About>,
    pub(crate) rpc_id: Option<RpcId>,
    pub(crate) call: Call,
    pub(crate) asked: Option<Asked>,
    pub(crate) mcp: Option<mcp::Asked>,
    /// True if the request named no context and got the route's default.
    pub(crate) by_default: bool,
    /// True if the request names a concept other than the route's for content without a name.
    pub(crate) names_another: bool,
    /// Announced tool changes of the server at the time of the request.
    pub(crate) tool_changes: u64,
    /// Tasks and conversations that the request names.
    pub(crate) threads: Vec<(Kind, String)>,
    /// Push configurations, as `task/configuration`.
    pub(crate) pushes: Vec<String>,
    /// Task and conversation of the request itself.
    pub(crate) own: (Option<String>, Option<String>),
    /// Proposal step of the request.
    pub(crate) step: Option<Arc<Step>>,
    /// Page of a list request.
    pub(crate) page: ListPage,
    /// Session of the request, which its replies share.
    pub(crate) session: Option<InSession>,
    pub(crate) settled: Arc<OfPair>,
    /// Terms to settle once the upstream agent accepts the request.
    pub(crate) settles: Vec<Meaning>,
    /// Questions that the gateway can answer from the context.
    pub(crate) questions: Vec<Question>,
    /// Handle of an MCP request outside of sessions: while it lives, the request may be cancelled.
    pub(crate) under_way: Option<Arc<()>>,
    /// Hold on the id of an MCP request in its session.
    pub(crate) asking: Option<Arc<Asking>>,
    /// Right to answer an MCP request, taken by its answer.
    pub(crate) right: AnswerRight,
    /// Subscription opened by a SUBSCRIBE. It ends with the last copy.
    pub(crate) subscription: Option<Subscription>,
    /// Token of the push configuration that the request sets, or that a notification came under.
    pub(crate) delivery: Option<Arc<str>>,
    /// Approval by people, to be used before the request is forwarded.
    pub(crate) approved: Option<Approved>,
    /// Session and task of the request.
    pub(crate) live: Live,
    /// The terms of the session that the request proposes.
    pub(crate) proposed: Option<Proposed>,
    /// Remaining limits of the caller.
    pub(crate) quotas: Vec<Quota>,
    pub(crate) facts: Facts,
}

/// The terms of a proposed session.
#[derive(Clone, Debug)]
pub(crate) struct Proposed {
    pub(crate) modes: Vec<PayloadMode>,
    /// The longest life without use, in seconds.
    pub(crate) ttl: Option<u64>,
    /// The lock beside the claimed context; none if the proposal claims none.
    pub(crate) claims: Option<Option<String>>,
}

impl Proposed {
    pub(crate) fn of(message: &Message<'_>) -> Option<Self> {
        let SessionStep::Propose(terms) = &message.dialogue.step else { return None };
        let claims = message.claims.first().map(|claim| claim.lock.map(str::to_owned));
        Some(Self { modes: terms.modes.clone(), ttl: terms.ttl, claims })
    }
}

/// Page token and page size of a list request.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListPage {
    pub(crate) token: Option<String>,
    pub(crate) size: Option<i64>,
}

impl std::ops::Deref for Sent {
    type Target = RequestFacts;

    fn deref(&self) -> &RequestFacts {
        &self.0
    }
}

impl std::ops::DerefMut for Sent {
    fn deref_mut(&mut self) -> &mut RequestFacts {
        &mut self.0
    }
}

impl Sent {
    pub(crate) fn of(facts: RequestFacts) -> Self {
        Self(Box::new(facts))
    }

    /// Undoes the request's proposal step and frees its id. An answered proposal is open again, and a new one
    /// was never made.
    ///
    /// Call it only if no byte of the request reached the upstream agent. In doubt the proposal stays
    /// answered, so that none is accepted twice.
    pub fn undelivered(&self) {
        if let Some(step) = &self.step {
            step.undelivered();
        }
        if let Some(asking) = &self.asking {
            asking.never_sent();
        }
    }

    /// The right to answer the request. An error of the gateway has to take it too.
    pub fn right(&self) -> &AnswerRight {
        &self.right
    }

    /// Returns true if the request resumes an MCP session stream after an event.
    pub(crate) fn resumes(&self) -> bool {
        let verb = self.call.mcp.as_deref().map(|head| &head.verb);
        matches!(verb, Some(mcp::Verb::Open { last_event: Some(_) }))
    }

    /// The task that the request is about, if any.
    pub(crate) fn asked_task(&self) -> Option<&str> {
        self.threads.iter().find(|(kind, _)| *kind == Kind::Task).map(|(_, id)| id.as_str())
    }

    pub(crate) fn own(&self) -> OwnThread<'_> {
        OwnThread { task: self.own.0.as_deref(), context: self.own.1.as_deref() }
    }

    /// Route of the request.
    pub fn route(&self) -> &Arc<Route> {
        &self.route
    }

    /// Sender of the request and reader of the reply.
    pub fn caller(&self) -> &Peer {
        &self.caller
    }

    /// JSON-RPC id that answers must repeat, for JSON-RPC bindings.
    pub fn rpc_id(&self) -> Option<&RpcId> {
        self.rpc_id.as_ref()
    }

    /// Request data for reading an A2A answer.
    pub fn asked(&self) -> Option<&Asked> {
        self.asked.as_ref()
    }

    /// Request data for reading an MCP answer; none for a message without an answer.
    pub fn mcp(&self) -> Option<&mcp::Asked> {
        self.mcp.as_ref()
    }

    /// Returns true for an MCP message without an answer: a notification, a client's answer, or the end of a
    /// session. A success keeps its status and loses its body.
    pub fn is_unanswered(&self) -> bool {
        self.call.mcp.is_some() && self.mcp.is_none()
    }

    /// Returns true if the request opens the stream of an MCP session, which may stay silent for long.
    pub fn opens_session_stream(&self) -> bool {
        self.mcp.as_ref().is_some_and(|asked| asked.rpc_id.is_none())
    }

    /// Returns true if the MCP request subscribes to changes. Its stream may stay silent for long.
    pub fn listens(&self) -> bool {
        self.mcp.as_ref().is_some_and(|asked| asked.operation == mcp::Operation::Listen)
    }

    /// Returns true if the request ends an MCP session.
    pub fn ends_session(&self) -> bool {
        self.call.mcp.as_deref().is_some_and(|head| head.verb == mcp::Verb::End)
    }

    /// Returns true if the request names an MCP session.
    pub fn in_session(&self) -> bool {
        crate::mcp_session::session(self).is_some()
    }

    /// The requested operation of A2A.
    pub fn operation(&self) -> Option<Operation> {
        self.asked.as_ref().map(|asked| asked.operation)
    }

    /// Texts of the request that an answer of the gateway repeats, in bindings that have them.
    pub fn echo(&self) -> Option<&Echo> {
        self.facts.echo.as_deref()
    }

    /// Binding of the request.
    pub fn binding(&self) -> Binding {
        self.route.binding
    }

    /// Digest of the context that replies are judged under.
    pub fn digest(&self) -> &Digest {
        &self.about.digest
    }

    /// Remaining limits of the caller, for the head of its answer and for nobody else.
    pub fn quotas(&self) -> &[Quota] {
        &self.quotas
    }

    /// Facts of the request, for the audit record and for refusals after sending.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }
}
