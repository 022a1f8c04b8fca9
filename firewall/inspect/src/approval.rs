//! Approvals by people: the action of a message, and the demands that keep it waiting.

use std::sync::Arc;

use semgate_approvals::{Action, ActionInstance};
use semgate_contexts::Digest;
use semgate_policies::{Approval, Obligations};
use semgate_protocol::Instance;

use crate::{
    Arrived, Code, Refusal,
    conform::{Conformed, Definition, without},
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
    /// Adds the demands of an instance's permits. Returns true if there are any.
    pub(crate) fn add(
        &mut self,
        definition: &Definition<'_>,
        instance: &Instance<'_>,
        obligations: &Obligations,
    ) -> bool {
        let Some(refusal) = required(definition, instance, obligations) else { return false };
        self.refusal.get_or_insert(refusal);
        for demand in obligations.iter().filter_map(|one| one.approve.as_deref()) {
            if !self.demands.contains(demand) {
                self.demands.push(demand.clone());
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

/// The refusal for an obligation to ask a person.
pub(crate) fn required(
    definition: &Definition<'_>,
    instance: &Instance<'_>,
    obligations: &Obligations,
) -> Option<Refusal> {
    let mut asked = obligations.iter().filter_map(|one| Some((one, one.approve.as_ref()?)));
    let (obligation, demand) = asked.next()?;
    let reason = format!(
        "`{}` with {} to this receiver needs the approval of a person",
        definition.term.name(),
        instance.performative.as_str()
    );
    let hint = obligation.notice.as_deref().unwrap_or("ask the operator and quote the decision id");
    let detail = format!("policy `{}` asks: {}", obligation.policy, demand.question);
    Some(Refusal::new(Code::ApprovalRequired, reason).with_hint(hint).with_detail(detail))
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

/// The session of a message, for approvals that serve one session.
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
        value: instance.object.to_value_without(without(instance)),
    });
    Some(Action {
        sender: Arc::clone(case.sender_key()),
        receiver: case.receiver.into(),
        binding: case.route.binding.as_str().into(),
        context: resolved.about().digest.to_string().into(),
        performative: resolved.message().performative.as_str().into(),
        instances: instances.collect(),
    })
}
