//! Audit records of requests to people: one for each request, decision, delegation, escalation and end. The use of an approval
//! is the record of the forwarded message, linked by the same digest.

use std::sync::Arc;
use std::time::Instant;

use semgate_approvals::{End, Event, Hold, Verdict};
use semgate_inspect::{Direction, Facts};

use super::scribe::Listener;
use crate::pipeline::decision::Decisions;
use crate::pipeline::record::{Audit, Outcome, Record};

/// A listener that records every event about a hold.
pub(crate) fn recorder(audit: Audit) -> Listener {
    let decisions = Decisions::new();
    Box::new(move |event, hold| {
        let (Some((verdict, person)), Some(hold)) = (outcome(event), hold) else { return };
        let facts = facts(hold, person);
        let record = Record::of(decisions.next(), Outcome::OfPeople(verdict), facts, Instant::now());
        if audit.record(record).is_err() {
            tracing::warn!(request = %hold.id, verdict, "a request to people could not be recorded");
        }
    })
}

/// The verdict of a record, and the person who acted.
fn outcome(event: &Event) -> Option<(&'static str, Option<String>)> {
    Some(match event {
        Event::Opened(_) => ("asked", None),
        Event::Decided { decision, .. } => {
            let verdict = if decision.decision == Verdict::Approved { "approved" } else { "denied" };
            (verdict, Some(decision.human_id.to_string()))
        }
        Event::Delegated { from, .. } => ("delegated", Some(from.to_string())),
        Event::Escalated { .. } => ("escalated", None),
        Event::Ended { end, .. } => {
            let verdict = match end {
                End::Expired => "expired",
                End::Cancelled => "cancelled",
                End::Failed => "failed",
                End::Lapsed => "lapsed",
            };
            (verdict, None)
        }
        _ => return None,
    })
}

/// A request goes from the agent to people; an answer from a person to the agent.
fn facts(hold: &Arc<Hold>, person: Option<String>) -> Facts {
    let agent = hold.sender().to_string();
    let (direction, sender, receiver) = match person {
        Some(person) => (Direction::Reply, person, agent),
        None => (Direction::Request, agent, String::new()),
    };
    Facts {
        direction,
        sender,
        receiver,
        protocol: "a2h",
        context: hold.urn.as_ref().map(ToString::to_string),
        generation: hold.generation,
        approval: Some(hold.digest),
        ..Facts::default()
    }
}
