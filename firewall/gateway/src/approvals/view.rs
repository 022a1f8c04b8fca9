//! A hold as people and consoles see it.

use semgate_approvals::{ApprovalFault, Hold, HumanCard, Subject};
use semgate_policies::Approvers;
use serde_json::{Value, json};

use super::Desk;

impl Desk {
    /// The JSON of a hold for this person.
    pub(super) fn show(&self, hold: &Hold, card: &HumanCard) -> Value {
        let (why_not, last) = self.read(|book| {
            let closed = (!hold.state.is_open()).then_some(ApprovalFault::Closed);
            let decided = hold.decisions.iter().any(|one| one.human_id == card.id);
            let why = closed.or(decided.then_some(ApprovalFault::DecidedBefore)).or(book.why_not(hold, card));
            let last = book
                .last_approved(hold)
                .map(|(canonical, at)| json!({"canonical": canonical, "decided_at": at}));
            (why, last)
        });
        let (action, interaction) = match &hold.subject {
            Subject::Action(action) => (json!(action), Value::Null),
            Subject::Interaction(interaction) => (Value::Null, json!(interaction)),
        };
        json!({
            "id": hold.id, "state": hold.state, "kind": hold.kind(), "digest": hold.digest, "canonical": hold.canonical,
            "action": action, "interaction": interaction, "context_urn": hold.urn, "demands": demands(hold),
            "opened_at": hold.opened_at, "expires_at": hold.expires_at, "use_by": hold.use_by, "ended": hold.ended,
            "decisions": decisions(hold), "may_decide": why_not.is_none(), "why_not": why_not.map(|why| why.to_string()),
            "last_approved": last, "delegated_to": hold.delegated_to, "escalated": hold.escalated,
            "generation": hold.generation, "decision_id": hold.decision_id, "uses": hold.uses,
        })
    }
}

fn demands(hold: &Hold) -> Vec<Value> {
    let each = hold.demands.iter().map(|demand| {
        json!({
            "policy": demand.policy, "question": demand.question, "approvers": demand.approvers.as_ref().map(people),
            "quorum": demand.quorum, "within": demand.within, "reuse": demand.reuse, "reason": demand.reason,
            "assurance": demand.assurance,
            "escalate": demand.escalate.as_ref().map(|to| json!({"after": to.after, "to": people(&to.to)})),
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

/// A set of people, as policies write it.
fn people(approvers: &Approvers) -> String {
    match approvers {
        Approvers::Capability(name) => format!("capability:{name}"),
        Approvers::Group(name) => format!("group:{name}"),
        Approvers::Human(id) => id.to_string(),
    }
}
