//! A hold as people and consoles see it.

use semgate_approvals::{ApprovalFault, Hold, HumanCard, HumanId, Subject};
use serde_json::{Value, json};

use super::Desk;

/// Instances and characters of a summary in a list: as much as fits a line.
const LISTED_INSTANCES: usize = 8;
const LISTED_SUMMARY: usize = 200;

impl Desk {
    /// The line of a hold in a list. Its length is bounded.
    pub(super) fn summarise(&self, hold: &Hold, card: &HumanCard) -> Value {
        let may_decide = self.cannot_now(hold, card).is_none();
        let (action, interaction) = match &hold.subject {
            Subject::Action(action) => {
                let concepts = action.instances.iter().take(LISTED_INSTANCES);
                let concepts: Vec<Value> = concepts.map(|one| json!({"concept": one.concept})).collect();
                let action = json!({
                    "sender": action.sender, "receiver": action.receiver, "binding": action.binding,
                    "performative": action.performative, "instances": concepts,
                });
                (action, Value::Null)
            }
            Subject::Interaction(asked) => {
                let summary: String = asked.summary.chars().take(LISTED_SUMMARY).collect();
                let interaction = json!({
                    "sender": asked.sender, "target": asked.target, "type": asked.kind, "summary": summary,
                });
                (Value::Null, interaction)
            }
        };
        json!({
            "id": hold.id, "state": hold.state, "kind": hold.kind(), "digest": hold.digest, "action": action,
            "interaction": interaction, "context_urn": hold.urn, "opened_at": hold.opened_at,
            "expires_at": hold.expires_at, "use_by": hold.use_by, "may_decide": may_decide,
            "decision_id": hold.decision_id,
        })
    }

    /// The reason why the person may not decide a hold, whatever its state.
    pub(super) fn why_not(&self, hold: &Hold, card: &HumanCard) -> Option<ApprovalFault> {
        let registry = self.registry();
        self.read(|book| book.why_not(hold, card, &registry))
    }

    /// The reason why the person cannot decide now.
    fn cannot_now(&self, hold: &Hold, card: &HumanCard) -> Option<ApprovalFault> {
        let closed = (!hold.state.is_open()).then_some(ApprovalFault::Closed);
        let decided = hold.decisions.iter().any(|one| one.human_id == card.id);
        let decided = decided.then_some(ApprovalFault::DecidedBefore);
        closed.or(decided).or_else(|| self.why_not(hold, card))
    }

    /// The JSON of a hold for this person.
    pub(super) fn show(&self, hold: &Hold, card: &HumanCard) -> Value {
        let why_not = self.cannot_now(hold, card);
        let last = self.read(|book| {
            let last = book.last_approved(hold);
            last.map(|(canonical, at)| json!({"canonical": canonical, "decided_at": at}))
        });
        let delegated: Vec<&HumanId> = hold.delegations.iter().map(|one| &one.to).collect();
        let (action, interaction) = match &hold.subject {
            Subject::Action(action) => (json!(action), Value::Null),
            Subject::Interaction(interaction) => (Value::Null, json!(interaction)),
        };
        json!({
            "id": hold.id, "state": hold.state, "kind": hold.kind(), "digest": hold.digest, "canonical": hold.canonical,
            "action": action, "interaction": interaction, "context_urn": hold.urn, "demands": demands(hold),
            "opened_at": hold.opened_at, "expires_at": hold.expires_at, "use_by": hold.use_by, "ended": hold.ended,
            "decisions": decisions(hold), "may_decide": why_not.is_none(), "why_not": why_not.map(|why| why.to_string()),
            "last_approved": last, "delegated_to": delegated, "escalated": hold.escalated > 0,
            "generation": hold.generation, "decision_id": hold.decision_id, "uses": hold.uses,
        })
    }
}

fn demands(hold: &Hold) -> Vec<Value> {
    let each = hold.demands.iter().map(|demand| {
        json!({
            "policy": demand.policy, "question": demand.question, "approvers": demand.approvers.as_ref().map(ToString::to_string),
            "quorum": demand.quorum, "within": demand.within, "reuse": demand.reuse, "reason": demand.reason,
            "assurance": demand.assurance,
            "escalate": demand.escalate.as_ref().map(|to| json!({"after": to.after, "to": to.to.to_string()})),
        })
    });
    each.collect()
}

fn decisions(hold: &Hold) -> Vec<Value> {
    let each = hold.decisions.iter().map(|decision| {
        let mut shown = json!(decision);
        if let Some(members) = shown.as_object_mut() {
            members.insert("assurance".to_owned(), json!(decision.factor.assurance()));
        }
        shown
    });
    each.collect()
}
