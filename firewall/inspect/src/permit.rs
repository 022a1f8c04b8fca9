//! The leave to forward: the only values that a gateway may send onwards.

mod reply;

use crate::{
    arrived::{Arrived, Outgoing},
    belongs::things,
    case::{Case, Peer},
    clarify::{Question, answerable},
    dialogue::Asking,
    facts::Facts,
    learnt::{InSession, OfPair},
    meter::{Metered, Quota},
    once::AnswerRight,
    owners::{About, Kind},
    rounds::Meaning,
    route::Route,
    subscriptions::Subscription,
    turn::Step,
};
use bytes::Bytes;
use semgate_contexts::{Digest, Version};
use semgate_message::{Asked, Binding, Call, OwnThread, RpcId, a2a::Operation, mcp};
use std::{borrow::Cow, sync::Arc};

pub use reply::{ReplyPermit, Written};

/// Something the caller should know although the message passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The context is deprecated; `newest` is the newest version that counts today, if there is a newer one.
    Deprecated {
        /// The newest version of the line that is valid.
        newest: Option<Version>,
    },
}

/// Leave to forward one request, once. It owns the bytes that were checked, the destination and the number of the
/// generation that it was given under. It cannot be cloned, built outside this crate, or spent twice.
///
/// ```compile_fail,E0382
/// # fn twice(permit: semgate_inspect::Permit) {
/// let first = permit.spend();
/// let again = permit.spend();
/// # }
/// ```
///
/// ```compile_fail,E0308
/// # fn copy(permit: &semgate_inspect::Permit) -> semgate_inspect::Permit {
/// permit.clone() // clones the reference: a permit has no `Clone`
/// # }
/// ```
///
/// ```compile_fail,E0451
/// # fn forge(arrived: semgate_inspect::Arrived) -> semgate_inspect::Permit {
/// semgate_inspect::Permit { arrived }
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a permit that is not spent forwards nothing"]
pub struct Permit {
    arrived: Arrived,
    fresh_until: u64,
    notice: Option<Notice>,
    sent: Sent,
}

/// A permit without the bytes that it is for, while those are still borrowed.
pub(crate) struct Leave {
    fresh_until: u64,
    notice: Option<Notice>,
    sent: Sent,
}

/// Proof that the questions of a message were counted: its permit was given back for it.
#[derive(Debug)]
pub(crate) struct Counted(());

/// What a spent permit leaves behind: against it the reply is judged. It goes from stage to stage, so it is no larger than a pointer.
#[derive(Clone, Debug)]
pub struct Sent(Box<Told>);

/// What is known of a message that was let pass.
#[derive(Clone, Debug)]
pub struct Told {
    pub(crate) route: Arc<Route>,
    pub(crate) caller: Peer,
    /// The context of the reply: the request's, or that of the task that the request asks about.
    pub(crate) about: Arc<About>,
    pub(crate) rpc_id: Option<RpcId>,
    pub(crate) call: Call,
    pub(crate) asked: Option<Asked>,
    pub(crate) mcp: Option<mcp::Asked>,
    /// The request named no context: it is about a default one of the route.
    pub(crate) by_default: bool,
    /// How often the server had said that its tools changed when this was asked.
    pub(crate) tool_changes: u64,
    /// The tasks and conversations that the request points at.
    pub(crate) threads: Vec<(Kind, String)>,
    /// The push configurations, as `task/configuration`.
    pub(crate) pushes: Vec<String>,
    /// The task and the conversation that the request itself is in.
    pub(crate) own: (Option<String>, Option<String>),
    /// What the request does to the turns.
    pub(crate) step: Option<Arc<Step>>,
    /// Of a request for a list, what it asked with for which page, and its size.
    pub(crate) page: (Option<String>, Option<i64>),
    /// The session of the request, and what was settled in it: replies may say it too.
    pub(crate) session: Option<InSession>,
    pub(crate) settled: Arc<OfPair>,
    /// What the request settles once the agent behind took it.
    pub(crate) settles: Vec<Meaning>,
    /// Questions that the context answers, where the gateway is to answer them.
    pub(crate) questions: Vec<Question>,
    /// Kept while a request of MCP outside of sessions waits for its answer: it may be cancelled so long.
    pub(crate) under_way: Option<Arc<()>>,
    /// The id that a request of MCP has in its session.
    pub(crate) asking: Option<Arc<Asking>>,
    /// Taken by whoever answers a request of MCP.
    pub(crate) right: AnswerRight,
    /// What a SUBSCRIBE opened; it ends with the last copy of this.
    pub(crate) subscription: Option<Subscription>,
    /// The token of the push configuration that the request sets, or that a notification was sent under.
    pub(crate) delivery: Option<Arc<str>>,
    /// What is left to the caller of the limits that concern the request.
    pub(crate) quotas: Vec<Quota>,
    pub(crate) facts: Facts,
}

impl Leave {
    /// What a message that passed every stage leaves to its bytes.
    pub(crate) fn of(metered: &Metered<'_, '_>, step: Option<Arc<Step>>) -> Self {
        let resolved = metered.decided().resolved();
        let (case, message) = (resolved.case(), resolved.message());
        let asked = message.operation.map(|operation| Asked {
            operation,
            version: case.call.version,
            form: case.call.form,
            rpc_id: message.rpc_id.clone(),
        });
        let owned = |(kind, id): (Kind, Cow<'_, str>)| (kind, id.into_owned());
        let (mut threads, mut pushes) = (Vec::new(), Vec::new());
        for (kind, id) in things(&message.threads, None).into_iter().map(owned) {
            if kind == Kind::Push { pushes.push(id) } else { threads.push((kind, id)) }
        }
        let (own, page) = (message.threads.own, message.threads.page.unwrap_or_default());
        Self {
            fresh_until: resolved.fresh_until(),
            notice: resolved.notice().cloned(),
            sent: Sent::of(Told {
                route: Arc::clone(case.route),
                caller: case.sender.clone(),
                about: Arc::clone(resolved.about()),
                rpc_id: message.rpc_id.clone(),
                call: case.call.clone(),
                asked,
                mcp: message.mcp.clone(),
                by_default: message.claims.is_empty(),
                tool_changes: tool_changes(case, message.mcp.as_ref()),
                threads,
                pushes,
                own: (own.task.map(str::to_owned), own.context.map(str::to_owned)),
                step,
                page: (page.token.map(str::to_owned), page.size),
                session: resolved.session(),
                settled: Arc::clone(case.settled),
                settles: metered.decided().conformed().settles().to_vec(),
                questions: answerable(metered.decided()),
                under_way: None,
                asking: None,
                right: answerable_once(message.mcp.as_ref()),
                subscription: None,
                delivery: None,
                quotas: metered.quotas().to_vec(),
                facts: metered.facts(),
            }),
        }
    }

    /// The id of a request in a session of MCP, whose answer may come on another stream.
    pub(crate) fn asks_in_session(&self) -> Option<(&RpcId, &Sent)> {
        let asked = self.sent.mcp.as_ref().filter(|asked| asked.version.has_sessions())?;
        crate::dialogue::session(&self.sent)?;
        Some((asked.rpc_id.as_ref()?, &self.sent))
    }

    pub(crate) fn sent(&self) -> &Sent {
        &self.sent
    }

    /// The id of a request of MCP outside of sessions.
    pub(crate) fn asks_alone(&self) -> Option<&RpcId> {
        let asked = self.sent.mcp.as_ref().filter(|_| crate::dialogue::session(&self.sent).is_none())?;
        asked.rpc_id.as_ref()
    }

    /// What it does to the turns it did when the message was let pass first.
    pub(crate) fn keep_turn(&mut self, step: Option<Arc<Step>>) {
        self.sent.step = step;
    }

    /// What was left when the message was let pass first.
    pub(crate) fn counted(mut self, quotas: Vec<Quota>) -> Self {
        self.sent.quotas = quotas;
        self
    }

    /// What the message opened when it was let pass first.
    pub(crate) fn subscribed(mut self, subscription: Option<Subscription>) -> Self {
        self.sent.subscription = subscription;
        self
    }

    /// What is kept while the request waits for its answer.
    pub(crate) fn waiting(mut self, under_way: Option<Arc<()>>) -> Self {
        self.sent.under_way = under_way;
        self
    }

    /// The right to answer the message that was let pass first.
    pub(crate) fn answered_by(mut self, right: AnswerRight) -> Self {
        self.sent.right = right;
        self
    }

    /// The id that the request has in its session.
    pub(crate) fn asking(mut self, asking: Option<Arc<Asking>>) -> Self {
        self.sent.asking = asking;
        self
    }

    /// The push configuration that the message sets.
    pub(crate) fn delivering(mut self, delivery: Option<Arc<str>>) -> Self {
        self.sent.delivery = delivery;
        self
    }

    /// The leave for the bytes that the message was parsed from.
    pub(crate) fn over(self, arrived: Arrived) -> Permit {
        let Self { fresh_until, notice, sent } = self;
        Permit { arrived, fresh_until, notice, sent }
    }
}

/// The right to answer a request of MCP that has an id.
fn answerable_once(asked: Option<&mcp::Asked>) -> AnswerRight {
    let id = asked.and_then(|asked| asked.rpc_id.as_ref());
    id.map_or_else(AnswerRight::default, |_| AnswerRight::new())
}

/// Of a request for a list of tools: how often the server had said that they changed. Of no meaning for others.
fn tool_changes(case: &Case<'_>, asked: Option<&mcp::Asked>) -> u64 {
    match asked {
        Some(asked) if asked.operation == mcp::Operation::ListTools => {
            case.tools.changes(&case.route.receiver)
        }
        _ => 0,
    }
}

impl Permit {
    pub(crate) fn sent_mut(&mut self) -> &mut Sent {
        &mut self.sent
    }

    /// The generation that the permit was given under.
    pub fn generation(&self) -> u64 {
        self.sent.facts.generation
    }

    /// Where the bytes may go, and nowhere else.
    pub fn destination(&self) -> &Arc<Route> {
        &self.sent.route
    }

    /// What the head of the request settled.
    pub fn call(&self) -> &Call {
        &self.arrived.call
    }

    /// What is asked for, in A2A.
    pub fn operation(&self) -> Option<Operation> {
        self.sent.operation()
    }

    /// For the audit record.
    pub fn facts(&self) -> &Facts {
        &self.sent.facts
    }

    /// What the caller should know although the message passes.
    pub fn notice(&self) -> Option<&Notice> {
        self.notice.as_ref()
    }

    /// What is left to the caller of the limits that concern it: for the head of its answer.
    pub fn quotas(&self) -> &[Quota] {
        &self.sent.quotas
    }

    /// The right to answer the request, which an error of the gateway has to take too.
    pub fn right(&self) -> AnswerRight {
        self.sent.right.clone()
    }

    /// The bytes that will be forwarded.
    pub fn body(&self) -> &Bytes {
        &self.arrived.body
    }

    /// How many bytes will be forwarded.
    pub fn len(&self) -> usize {
        self.arrived.body.len()
    }

    /// True of a request whose path says all.
    pub fn is_empty(&self) -> bool {
        self.arrived.body.is_empty()
    }

    /// The last second at which the status is fresh that the permit rests on.
    pub fn fresh_until(&self) -> u64 {
        self.fresh_until
    }

    /// Spends the permit: head and exact bytes of what was checked, and what its reply is judged against.
    pub fn spend(self) -> (Outgoing, Sent) {
        if let Some(step) = &self.sent.step {
            step.delivered();
        }
        if let Some(asking) = &self.sent.asking {
            asking.sent();
        }
        let Arrived { call, body, .. } = self.arrived;
        (Outgoing { call, body }, self.sent)
    }

    pub(crate) fn sent(&self) -> &Sent {
        &self.sent
    }

    /// What the request leaves behind where it sets a push configuration: for [`Inspector::declined`](crate::Inspector::declined), should it never be forwarded.
    pub fn sets_push(&self) -> Option<Sent> {
        self.sent.delivery.is_some().then(|| self.sent.clone())
    }

    /// Gives the permit back, unused: what the message would have answered is open again.
    pub fn give_back(self) -> Sent {
        self.sent.undelivered();
        self.sent
    }

    /// Takes the permit back for renewal.
    pub(crate) fn into_counted(self) -> (Arrived, Sent, Counted) {
        (self.arrived, self.sent, Counted(()))
    }
}

impl std::ops::Deref for Sent {
    type Target = Told;

    fn deref(&self) -> &Told {
        &self.0
    }
}

impl std::ops::DerefMut for Sent {
    fn deref_mut(&mut self) -> &mut Told {
        &mut self.0
    }
}

impl Sent {
    pub(crate) fn of(told: Told) -> Self {
        Self(Box::new(told))
    }

    pub(crate) fn into_told(self) -> Told {
        *self.0
    }

    /// Not one byte of the request reached the agent behind: a proposal that it answered is open again, and one that it made was
    /// never made. To be said only of what is known not to have arrived; of what may have, it stays answered, so that no
    /// proposal is ever accepted twice.
    pub fn undelivered(&self) {
        if let Some(step) = &self.step {
            step.undelivered();
        }
        if let Some(asking) = &self.asking {
            asking.never_sent();
        }
    }

    /// The right to answer the request, which an error of the gateway has to take too.
    pub fn right(&self) -> &AnswerRight {
        &self.right
    }

    /// Whether the request resumes the stream of a session of MCP after an event.
    pub(crate) fn resumes(&self) -> bool {
        let verb = self.call.mcp.as_deref().map(|head| &head.verb);
        matches!(verb, Some(mcp::Verb::Open { last_event: Some(_) }))
    }

    /// The task that the request is about, where it is about one.
    pub(crate) fn asked_task(&self) -> Option<&str> {
        self.threads.iter().find(|(kind, _)| *kind == Kind::Task).map(|(_, id)| id.as_str())
    }

    pub(crate) fn own(&self) -> OwnThread<'_> {
        OwnThread { task: self.own.0.as_deref(), context: self.own.1.as_deref() }
    }

    /// The route that the request took.
    pub fn route(&self) -> &Arc<Route> {
        &self.route
    }

    /// Who sent the request and will read the reply.
    pub fn caller(&self) -> &Peer {
        &self.caller
    }

    /// The JSON-RPC id that answers must repeat, for JSON-RPC bindings.
    pub fn rpc_id(&self) -> Option<&RpcId> {
        self.rpc_id.as_ref()
    }

    /// What an answer is read against, in A2A.
    pub fn asked(&self) -> Option<&Asked> {
        self.asked.as_ref()
    }

    /// What an answer is read against, in MCP; none for what is not answered.
    pub fn mcp(&self) -> Option<&mcp::Asked> {
        self.mcp.as_ref()
    }

    /// Whether it is a message of MCP that no message answers: a notification, an answer of the client or the end of a session. A success
    /// keeps its status and loses its body.
    pub fn is_unanswered(&self) -> bool {
        self.route.binding == Binding::Mcp && self.mcp.is_none()
    }

    /// Whether the request asks for the stream of a session of MCP, which is silent for as long as nothing happens.
    pub fn opens_session_stream(&self) -> bool {
        self.mcp.as_ref().is_some_and(|asked| asked.rpc_id.is_none())
    }

    /// Whether the request asks to be told of changes, in MCP: its stream is silent for as long as there are none.
    pub fn listens(&self) -> bool {
        self.mcp.as_ref().is_some_and(|asked| asked.operation == mcp::Operation::Listen)
    }

    /// Whether the request ends a session of MCP.
    pub fn ends_session(&self) -> bool {
        self.call.mcp.as_deref().is_some_and(|head| head.verb == mcp::Verb::End)
    }

    /// Whether the request names a session of MCP.
    pub fn in_session(&self) -> bool {
        crate::dialogue::session(self).is_some()
    }

    /// What was asked for, in A2A.
    pub fn operation(&self) -> Option<Operation> {
        self.asked.as_ref().map(|asked| asked.operation)
    }

    /// The binding of the request.
    pub fn binding(&self) -> Binding {
        self.route.binding
    }

    /// The digest of the context that replies are judged under.
    pub fn digest(&self) -> &Digest {
        &self.about.digest
    }

    /// What is left to the caller of the limits that concern the request: for the head of its answer, and for nobody else.
    pub fn quotas(&self) -> &[Quota] {
        &self.quotas
    }

    /// The request's facts, for the audit record and for refusals after sending.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }
}
