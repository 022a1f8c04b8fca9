//! What a reply names, and what its caller owns elsewhere.

use super::*;
use semgate_inspect::{InspectLimits, Owners, Scope, owners::About};
use std::sync::Arc;

/// A reply of the wholesaler that refers to so many tasks that nobody has heard of.
fn referring(count: usize) -> Bytes {
    let tasks: Vec<String> = (0..count).map(|n| format!("z-{n}")).collect();
    let parts =
        json!([{"data": {"task": "bookFlight", "status": "confirmed", "booking_reference": "AB12CD"}}]);
    let said = json!({"messageId": "h-1", "role": "ROLE_AGENT", "parts": parts, "referenceTaskIds": tasks});
    Bytes::from(changed("a2a task reply", json!({"result": {"task": {"history": [said]}}})))
}

fn about(inspector: &Inspector) -> Arc<About> {
    begin(inspector, "retailer-7");
    inspector.owners().about(&route("a2a").scope(), Kind::Task, "t-1").unwrap()
}

fn owns(owners: &Owners, at: &Scope<'_>, ids: &[(Kind, String)]) {
    for (kind, id) in ids {
        assert_eq!(owners.owner(at, *kind, id).as_deref(), Some(agent("retailer-7").id()), "{kind:?} {id}");
    }
}

#[test]
fn attack_a_reply_makes_the_gateway_forget_what_its_caller_owns_at_another_agent() {
    let limits = InspectLimits { owned_by_one: 16, ..InspectLimits::default() };
    let inspector = Inspector::new(limits, world("day"));
    let about = about(&inspector);
    let courier = common::agent_id("courier-5");
    let (elsewhere, caller) = (Scope::new(&courier, None), Arc::from(agent("retailer-7").id()));
    let mut things: Vec<(Kind, String)> = (0..6).map(|n| (Kind::Task, format!("d-{n}"))).collect();
    things.extend([(Kind::Conversation, "deal".to_owned()), (Kind::Session, "s-1".to_owned())]);
    inspector.owners().claim(&elsewhere, &caller, &things, &about, None).unwrap();
    for _ in 0..2 {
        let sent = asked(&inspector, "retailer-7", base("a2a flight"));
        let replier = agent("wholesaler-1");
        let _ = inspector.inspect_reply(&sent, &replier, 200, referring(100), NOW).unwrap();
        owns(inspector.owners(), &elsewhere, &things);
    }
    assert_eq!(inspector.owners().len(), 16, "the bound of one caller is what it was");
    let other: Arc<str> = Arc::from(agent("treasurer-1").id());
    inspector.owners().claim(&elsewhere, &other, &things[6..7], &about, None).unwrap_err();
}

#[test]
fn attack_a_reply_that_names_thousands_of_tasks() {
    let inspector = inspector(world("day"));
    let replied = |reply: Bytes| {
        let sent = asked(&inspector, "retailer-7", base("a2a flight"));
        inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, reply, NOW).map(drop)
    };
    // beside t-1 and c-1
    replied(referring(510)).unwrap();
    let before = inspector.owners().len();
    for count in [511, 4_200] {
        let refusal = replied(referring(count)).unwrap_err();
        assert_eq!((refusal.code(), refusal.cause()), (Code::UpstreamInvalid, Some(Code::TooComplex)));
    }
    assert_eq!(inspector.owners().len(), before, "nothing of them is owned");
    let tasks: Vec<String> = (0..600).map(|n| format!("t-{n}")).collect();
    let request = json!({"params": {"message": {"referenceTaskIds": tasks}}});
    let refusal =
        say(&inspector, &route("a2a"), "retailer-7", changed("a2a flight", request), NOW).unwrap_err();
    assert_eq!(refusal.code(), Code::TooComplex);
}
