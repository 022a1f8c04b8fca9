//! Permits: the only values that a gateway may forward.

mod reply;
mod sent;

use crate::{
    answer_right::AnswerRight,
    arrived::{Arrived, Outgoing},
    clarify::answerable,
    conform::names_another,
    dialogues::Live,
    facts::Facts,
    inspection::{Inspection, Turn},
    mcp_session::{Asking, McpSessions},
    meter::{Metered, Quota},
    owners::Kind,
    ownership::things,
    route::Route,
    subscriptions::Subscription,
    turn::Step,
};
use bytes::Bytes;
use semgate_approvals::Approved;
use semgate_contexts::Version;
use semgate_protocol::{Asked, Call, Message, RpcId, SessionRef, a2a::Operation, mcp};
use std::{borrow::Cow, sync::Arc};

pub use reply::{ReplyPermit, Written};
pub use sent::Sent;
pub(crate) use sent::{ListPage, Proposed, RequestFacts};

/// A remark for the caller of a message that passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The context is deprecated. `newest` is the newest usable version today, if there is a newer one.
    Deprecated {
        /// Newest valid version of the line.
        newest: Option<Version>,
    },
}

/// Permission to forward one request, once.
///
/// It owns the checked bytes, the destination and the number of its generation. It cannot be cloned, built
/// outside this crate, or spent twice.
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

/// A permit without its bytes, while those are still borrowed.
pub(crate) struct PermitDraft {
    fresh_until: u64,
    notice: Option<Notice>,
    sent: Sent,
}

/// Proof that a message was counted: its permit was given back.
#[derive(Debug)]
pub(crate) struct Counted(());

impl PermitDraft {
    /// The permit of a message that passed every stage, without its bytes.
    pub(crate) fn of(
        metered: &Metered<'_, '_>,
        step: Option<Arc<Step>>,
        subscription: Option<Subscription>,
    ) -> Self {
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
            sent: Sent::of(RequestFacts {
                route: Arc::clone(case.route),
                caller: case.sender.clone(),
                about: Arc::clone(resolved.about()),
                rpc_id: message.rpc_id.clone(),
                call: case.call.clone(),
                asked,
                mcp: message.mcp.clone(),
                by_default: message.claims.is_empty(),
                names_another: names_another(case, message),
                tool_changes: tool_changes(case, message.mcp.as_ref()),
                threads,
                pushes,
                own: (own.task.map(str::to_owned), own.context.map(str::to_owned)),
                step,
                page: ListPage { token: page.token.map(str::to_owned), size: page.size },
                session: resolved.session(),
                settled: Arc::clone(case.settled),
                settles: metered.decided().conformed().settles().to_vec(),
                questions: answerable(metered.decided()),
                under_way: None,
                asking: None,
                right: answerable_once(message.mcp.as_ref()),
                subscription,
                delivery: None,
                approved: case.approved.cloned(),
                live: live(case, message),
                proposed: Proposed::of(message),
                quotas: metered.quotas().to_vec(),
                facts: metered.facts(),
            }),
        }
    }

    /// The id of a request in an MCP session. Its answer may come on another stream.
    fn asks_in_session(&self) -> Option<(&RpcId, &Sent)> {
        let asked = self.sent.mcp.as_ref().filter(|asked| asked.version.has_sessions())?;
        crate::mcp_session::session(&self.sent)?;
        Some((asked.rpc_id.as_ref()?, &self.sent))
    }

    /// The id of an MCP request outside of sessions.
    fn asks_alone(&self) -> Option<&RpcId> {
        let asked = self.sent.mcp.as_ref().filter(|_| crate::mcp_session::session(&self.sent).is_none())?;
        asked.rpc_id.as_ref()
    }

    /// Keeps everything recorded when the request was first permitted: its proposal step, subscription, answer
    /// right, limits, push configuration, and the holds on its id.
    pub(crate) fn renewing(mut self, before: Sent) -> Self {
        let before = *before.0;
        let sent = &mut self.sent;
        sent.step = before.step;
        sent.quotas = before.quotas;
        sent.subscription = before.subscription;
        sent.under_way = before.under_way;
        sent.right = before.right;
        sent.asking = before.asking;
        sent.delivery = before.delivery;
        self
    }

    /// Records the request as open until its answer, and holds its id in its session.
    pub(crate) fn opening(mut self, mcp_sessions: &McpSessions, asking: Option<Arc<Asking>>) -> Self {
        if let Some((id, sent)) = self.asks_in_session() {
            mcp_sessions.client_asks(sent, id.clone());
        }
        self.sent.under_way = self.asks_alone().map(|id| mcp_sessions.under_way(&self.sent, id.clone()));
        self.sent.asking = asking;
        self
    }

    /// The permit for the bytes that the message was parsed from.
    pub(crate) fn over(self, arrived: Arrived) -> Permit {
        let Self { fresh_until, notice, sent } = self;
        Permit { arrived, fresh_until, notice, sent }
    }
}

/// The session and task of a request, which may have begun the task.
fn live(case: &Inspection<'_>, message: &Message<'_>) -> Live {
    let live = case.live.cloned().unwrap_or_default();
    // a renewed permit keeps the task of the first, though its session may be closed by now
    if case.turn == Turn::Again {
        return live;
    }
    let (Some(dialogue), Some(task)) = (&live.dialogue, message.threads.begins) else { return live };
    let named = SessionRef { session: Some(&dialogue.id), task: Some(task) };
    case.state.dialogues.live(&case.route.scope(), case.sender.id(), named, case.now.monotonic_ms)
}

/// The right to answer an MCP request that has an id.
fn answerable_once(asked: Option<&mcp::Asked>) -> AnswerRight {
    let id = asked.and_then(|asked| asked.rpc_id.as_ref());
    id.map_or_else(AnswerRight::default, |_| AnswerRight::new())
}

/// Announced tool changes of the server, for a tool list request; 0 for other requests.
fn tool_changes(case: &Inspection<'_>, asked: Option<&mcp::Asked>) -> u64 {
    match asked {
        Some(asked) if asked.operation == mcp::Operation::ListTools => {
            case.state.tools.changes(&case.route.receiver)
        }
        _ => 0,
    }
}

impl Permit {
    pub(crate) fn sent_mut(&mut self) -> &mut Sent {
        &mut self.sent
    }

    /// Number of the generation in force when the permit was given.
    pub fn generation(&self) -> u64 {
        self.sent.facts.generation
    }

    /// The only destination of the bytes.
    pub fn destination(&self) -> &Arc<Route> {
        &self.sent.route
    }

    /// Protocol facts read from the request head.
    pub fn call(&self) -> &Call {
        &self.arrived.call
    }

    /// The requested operation of A2A.
    pub fn operation(&self) -> Option<Operation> {
        self.sent.operation()
    }

    /// Facts for the audit record.
    pub fn facts(&self) -> &Facts {
        &self.sent.facts
    }

    /// Remark for the caller.
    pub fn notice(&self) -> Option<&Notice> {
        self.notice.as_ref()
    }

    /// Approval by people that has to be used before the permit is spent.
    pub fn approved(&self) -> Option<&Approved> {
        self.sent.approved.as_ref()
    }

    /// Remaining limits of the caller, for the head of its answer.
    pub fn quotas(&self) -> &[Quota] {
        &self.sent.quotas
    }

    /// The right to answer the request. An error of the gateway has to take it too.
    pub fn right(&self) -> AnswerRight {
        self.sent.right.clone()
    }

    /// Bytes to forward.
    pub fn body(&self) -> &Bytes {
        &self.arrived.body
    }

    /// Number of bytes to forward.
    pub fn len(&self) -> usize {
        self.arrived.body.len()
    }

    /// Returns true for a request without a body.
    pub fn is_empty(&self) -> bool {
        self.arrived.body.is_empty()
    }

    /// The last second at which the status behind the permit is fresh.
    pub fn fresh_until(&self) -> u64 {
        self.fresh_until
    }

    /// Spends the permit. Returns the head and exact bytes that were checked, and the data to judge the
    /// reply.
    pub fn spend(self) -> (Outgoing, Sent) {
        if let Some(step) = &self.sent.step {
            step.delivered();
        }
        if let Some(asking) = &self.sent.asking {
            asking.sent();
        }
        let Arrived { call, body, judged } = self.arrived;
        (Outgoing { call, body, judged }, self.sent)
    }

    pub(crate) fn sent(&self) -> &Sent {
        &self.sent
    }

    /// The remains of a request that sets a push configuration, for
    /// [`Inspector::declined`](crate::Inspector::declined) if it is never forwarded.
    pub fn sets_push(&self) -> Option<Sent> {
        self.sent.delivery.is_some().then(|| self.sent.clone())
    }

    /// Gives the permit back unused. The proposal that the message would have answered is open again.
    pub fn give_back(self) -> Sent {
        self.sent.undelivered();
        self.sent
    }

    /// Gives the permit back for renewal.
    pub(crate) fn into_counted(self) -> (Arrived, Sent, Counted) {
        (self.arrived, self.sent, Counted(()))
    }
}
