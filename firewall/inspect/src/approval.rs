//! Approvals by people: the action of a message, and the demands that keep it waiting.

use std::sync::Arc;

use semgate_approvals::{Action, ActionInstance};
use semgate_contexts::Digest;
use semgate_policies::{Approval, Obligations, Question, demands};
use semgate_protocol::{Instance, Vocabulary};

use crate::{
    Arrived, Code, Refusal,
    conform::{Conformed, Definition, without},
    inspection::Turn,
    meter::StepSession,
    owners::Kind,
};

/// Everything needed to ask people about a refused message (`approval_required`), and to judge it again afterwards.
#[derive(Clone, Debug)]
pub struct NeedsApproval {
    /// The action, which the approval will cover.
    pub action: Action,
    /// URN of the context.
    pub urn: Arc<str>,
    /// Every demand of the policies.
    pub demands: Vec<Approval>,
    /// Session of the message: that of its lock, its conversation or its MCP session.
    pub session: Option<Arc<str>>,
    /// Generation that asked.
    pub generation: u64,
    /// The message, to be judged again.
    pub arrived: Option<Arrived>,
}

impl PartialEq for NeedsApproval {
    /// Two requests are equal if they ask the same about the same action.
    fn eq(&self, other: &Self) -> bool {
        self.action == other.action && self.demands == other.demands
    }
}

impl Eq for NeedsApproval {}

/// The demands so far of a message's permits, and the refusal without an approval.
#[derive(Debug, Default)]
pub(crate) struct Demands {
    demands: Vec<Approval>,
    refusal: Option<Refusal>,
}

impl Demands {
    /// Adds the demands about a permitted instance. Returns true if there are any.
    pub(crate) fn add(
        &mut self,
        definition: &Definition<'_>,
        question: &Question<'_>,
        obligations: &Obligations,
        steps: &dyn Fn() -> u64,
    ) -> bool {
        let all = demands(question, obligations, steps);
        let Some(refusal) = required(definition, question, obligations, &all) else { return false };
        self.refusal.get_or_insert(refusal);
        for demand in all {
            if !self.demands.contains(&demand) {
                self.demands.push((*demand).clone());
            }
        }
        true
    }

    /// The refusal of a message that people have not approved; none if they have, or need not.
    pub(crate) fn unmet(self, conformed: &Conformed<'_, '_>) -> Option<Refusal> {
        let refusal = self.refusal?;
        let Some(approved) = conformed.case().approved else {
            return Some(refusal.needing(self.demands));
        };
        let covered = action(conformed)
            .and_then(|action| action.digest().ok())
            .is_some_and(|digest| approved.covers(digest, &self.demands));
        (!covered).then(|| refusal.needing(self.demands))
    }
}

/// The refusal for demands to ask a person; none without any.
pub(crate) fn required(
    definition: &Definition<'_>,
    question: &Question<'_>,
    obligations: &Obligations,
    demands: &[Arc<Approval>],
) -> Option<Refusal> {
    let demand = demands.first()?;
    let reason = format!(
        "`{}` with {} to this receiver needs the approval of a person",
        definition.term.name(),
        question.action.as_str()
    );
    let notice =
        obligations.iter().find(|one| one.policy == demand.policy).and_then(|one| one.notice.as_deref());
    let hint = notice.unwrap_or("ask the operator and quote the decision id");
    let detail = format!("policy `{}` asks: {}", demand.policy, demand.question);
    Some(Refusal::new(Code::ApprovalRequired, reason).with_hint(hint).with_detail(detail))
}

/// The permitted steps of the sender in the session of this message, itself not among them.
pub(crate) fn steps(conformed: &Conformed<'_, '_>) -> u64 {
    let case = conformed.case();
    let so_far = case.state.meters.steps().count(&step_session(conformed), case.now.monotonic_ms);
    // a message that is judged again was counted when it passed first
    so_far.saturating_sub(u64::from(matches!(case.turn, Turn::Again | Turn::EventAgain)))
}

/// The session that a message's steps are counted in.
pub(crate) fn step_session(conformed: &Conformed<'_, '_>) -> StepSession {
    let case = conformed.case();
    match session(conformed) {
        Some(session) => case.state.meters.steps().of_session(case.sender_key(), &session),
        None => case.state.meters.steps().of_route(case.sender_key(), &case.route.name),
    }
}

/// Completes a refusal with the action to ask about. A reply is never held, so its refusal stays as it is.
pub(crate) fn asking(refusal: Refusal, conformed: &Conformed<'_, '_>) -> Refusal {
    let case = conformed.case();
    let demands = refusal.demands().to_vec();
    if demands.is_empty() || case.direction != crate::Direction::Request {
        return refusal;
    }
    let Some(action) = action(conformed) else { return refusal };
    let resolved = conformed.resolved();
    refusal.with_approval(NeedsApproval {
        action,
        urn: resolved.named().urn().to_string().into(),
        demands,
        session: session(conformed),
        generation: case.generation.number(),
        arrived: None,
    })
}

/// The session of a message, for approvals that serve one session and for `@steps`.
pub(crate) fn session(conformed: &Conformed<'_, '_>) -> Option<Arc<str>> {
    let resolved = conformed.resolved();
    let message = resolved.message();
    let lock = resolved.session().map(|session| format!("lock {}", Digest::of(&session.id)));
    let conversation = || message.threads.own.context.map(|id| format!("conversation {id}"));
    let of_mcp = || {
        let head = resolved.case().call.mcp.as_deref()?;
        head.session.as_ref().map(|id| format!("mcp {id}"))
    };
    lock.or_else(conversation).or_else(of_mcp).map(Arc::from)
}

/// The action of a message: everything that a schema judged.
fn action(conformed: &Conformed<'_, '_>) -> Option<Action> {
    let (case, resolved) = (conformed.case(), conformed.resolved());
    let instances = conformed.instances().map(|(definition, instance)| ActionInstance {
        concept: definition.origin.name(definition.term),
        value: value(instance),
    });
    Some(Action {
        sender: Arc::clone(case.sender_key()),
        receiver: case.receiver.into(),
        binding: case.route.binding.as_str().into(),
        context: resolved.about().digest.to_string().into(),
        performative: resolved.message().performative.as_str().into(),
        instances: instances.collect(),
        refers: refers(conformed),
    })
}

/// Content without what clients choose anew for each try: the naming member, and `_meta` of MCP.
fn value(instance: &Instance<'_>) -> serde_json::Value {
    let mut value = instance.object.to_value_without(without(instance));
    if instance.of != Vocabulary::Context
        && let Some(members) = value.as_object_mut()
    {
        members.remove("_meta");
    }
    value
}

/// Everything outside the content that changes the meaning of a message: the proposal that it answers, and the task and
/// conversation that it belongs to.
fn refers(conformed: &Conformed<'_, '_>) -> Vec<String> {
    let resolved = conformed.resolved();
    let message = resolved.message();
    let answers = resolved.answers().map(|_| format!("proposal {}", message.message_id));
    let own = message.threads.own;
    let task = own.task.map(|id| format!("task {id}"));
    let conversation = own.context.map(|id| format!("conversation {id}"));
    let others = crate::ownership::things(&message.threads, None).into_iter();
    // pushes and sessions of MCP belong to the caller's connection
    let others = others.filter(|(kind, _)| *kind == Kind::Task).map(|(_, id)| format!("task {id}"));
    let mut all: Vec<String> = answers.into_iter().chain(task).chain(conversation).chain(others).collect();
    all.dedup();
    all
}
