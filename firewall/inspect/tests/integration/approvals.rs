//! Whom policies and contexts ask: unsure instances, long sessions, tasks whose context requires approval.

use std::sync::Arc;

use semgate_approvals::{
    Answer, Approved, Asked, Book, BookSettings, Factor, HoldId, HumanCard, HumanId, HumanRegistry, Question,
    Reply, Subject, Verdict,
};
use semgate_inspect::{Code, Inspector, NeedsApproval, Now, Peer, Permit, Refusal, Route};
use semgate_policies::{Approvers, PolicySource};

use crate::common::{
    NOW, agent, changed, generation_with, inspector, library, route, say, supply_chain, view,
};

fn house(policies: &str) -> Inspector {
    let mut source = PolicySource::shipped();
    source.files.push(("own.cedar".to_owned(), policies.to_owned()));
    inspector(generation_with(view(&mut library()), &source, &[]))
}

fn asked(said: Result<Permit, Refusal>) -> Box<NeedsApproval> {
    let mut refusal = said.unwrap_err();
    assert_eq!(refusal.code(), Code::ApprovalRequired, "{refusal}");
    refusal.take_approval().unwrap()
}

/// People approve what is asked.
fn approved(needs: NeedsApproval) -> Approved {
    let human = HumanId::parse("human://bob.sre").unwrap();
    let card = r#"{"id":"human://bob.sre","profile":{"name":"Bob"},"capabilities":["approver"]}"#;
    let card: HumanCard = serde_json::from_str(card).unwrap();
    let registry = HumanRegistry::new([card]).unwrap();
    let settings = BookSettings { approvers: Approvers::Capability("approver".into()), use_seconds: 300 };
    let mut book = Book::new(settings);
    let question = || Question {
        subject: Subject::Action(needs.action.clone()),
        urn: Some(Arc::clone(&needs.urn)),
        demands: needs.demands.clone(),
        session: needs.session.clone(),
        decision_id: "d".into(),
        generation: needs.generation,
    };
    let Asked::Opens(id, events) = book.ask(question(), HoldId::of(1), &registry, NOW.unix).unwrap() else {
        panic!()
    };
    events.iter().for_each(|event| book.apply(event));
    let reply = Reply { verdict: Verdict::Approved, option: None, data: None, reason: Some("fine".into()) };
    let digest = needs.action.digest().unwrap();
    let answer = Answer { id: id.clone(), digest, human, factor: Factor::Certificate, reply };
    let decision = book.decide(&answer, &registry, NOW.unix).unwrap();
    let event = book.settle(&id, decision, &registry).unwrap();
    book.apply(&event);
    match book.ask(question(), HoldId::of(2), &registry, NOW.unix).unwrap() {
        Asked::Approved(approved) => approved,
        other => panic!("{other:?}"),
    }
}

fn later(ms: u64) -> Now {
    Now { monotonic_ms: NOW.monotonic_ms + ms, ..NOW }
}

const UNSURE: &str = r#"@id("unsure") @approve("what was seen is not sure") @approvers("group:planners") @confidence("confidence_score 0.8")
    permit (principal, action, resource is supplyChain::local_observation);"#;

#[test]
fn a_message_below_the_floor_of_confidence_needs_a_person_and_one_at_it_passes() {
    let inspector = house(UNSURE);
    let sure = |score: serde_json::Value| {
        changed("supply chain", serde_json::json!({"content": {"my_reasoning": {"confidence_score": score}}}))
    };
    let say = |body: Vec<u8>| say(&inspector, &route("l8"), "retailer-7", body, NOW);
    for passes in [serde_json::json!(0.8), serde_json::json!(1)] {
        let _ = say(sure(passes)).unwrap();
    }
    // exactly: the nearest double of both is the floor's
    let text = String::from_utf8(sure(serde_json::json!(0.8))).unwrap();
    let below = text.replace("\"confidence_score\":0.8", "\"confidence_score\":0.79999999999999999");
    assert_ne!(below, text);
    for asks in [sure(serde_json::json!(0.79)), sure(serde_json::json!(0)), below.into_bytes()] {
        let needs = asked(say(asks));
        let [demand] = &needs.demands[..] else { panic!("{:?}", needs.demands) };
        assert_eq!((&*demand.policy, &*demand.question), ("own.cedar#unsure", "what was seen is not sure"));
        assert_eq!(demand.approvers, Some(Approvers::Group("planners".into())));
    }
}

const STEPS: &str = r#"@id("loop") @approve("may it go on?") @steps("3")
    permit (principal, action, resource is supplyChain::current_decision);"#;

#[test]
fn a_loop_stops_after_its_steps_until_a_person_approved_one() {
    let (inspector, route) = (house(STEPS), route("l8"));
    let step = |now| say(&inspector, &route, "retailer-7", supply_chain(), now);
    for _ in 0..3 {
        let _ = step(NOW).unwrap();
    }
    let needs = asked(step(NOW));
    assert_eq!(&*needs.demands[0].question, "may it go on?");
    // a refused message is no step, and another agent has steps of its own
    let _ = asked(step(later(1)));
    let other = String::from_utf8(supply_chain()).unwrap().replace("retailer-7", "treasurer-1");
    let _ = say(&inspector, &route, "treasurer-1", other.into_bytes(), NOW).unwrap();
    let permit = pass(&inspector, &route, &agent("retailer-7"), *needs, later(2)).unwrap();
    assert!(permit.approved().is_some());
    for _ in 0..3 {
        let _ = step(later(3)).unwrap();
    }
    let _ = asked(step(later(3)));
    let _ = step(later(3_600_000)).unwrap();
}

/// The message again, with the approval that people gave it.
fn pass(
    inspector: &Inspector,
    route: &Arc<Route>,
    peer: &Peer,
    mut needs: NeedsApproval,
    now: Now,
) -> Result<Permit, Refusal> {
    let arrived = needs.arrived.take().unwrap();
    inspector.inspect_approved(route, peer, &approved(needs), arrived, now)
}

#[test]
fn a_step_that_is_judged_again_under_another_generation_is_counted_once() {
    let (inspector, route) = (house(STEPS), route("l8"));
    for _ in 0..2 {
        let _ = say(&inspector, &route, "retailer-7", supply_chain(), NOW).unwrap();
    }
    let permit = say(&inspector, &route, "retailer-7", supply_chain(), NOW).unwrap();
    let mut source = PolicySource::shipped();
    source.files.push(("own.cedar".to_owned(), STEPS.to_owned()));
    let _ = inspector.swap(generation_with(view(&mut library()), &source, &[]));
    let _ = inspector.renew(permit, NOW).unwrap();
    let _ = asked(say(&inspector, &route, "retailer-7", supply_chain(), NOW));
}

fn restart(sender: &str) -> Vec<u8> {
    format!(
        r#"{{"protocol":"L8/1.0","message_id":"m-1","performative":"REQUEST","sender_id":"{sender}","receiver_id":"wholesaler-1",
        "context":"urn:contexts:devops:v1.0","content":{{"task":"rolloutRestart","service":"checkout","cluster":"eu-1"}}}}"#
    )
    .into_bytes()
}

#[test]
fn a_task_whose_context_requires_approval_waits_although_policies_permit_it() {
    let (inspector, route) = (
        house("permit (principal, action, resource is supplyChain::current_decision);"),
        route("l8, all lines"),
    );
    let needs = asked(say(&inspector, &route, "sre-bot-1", restart("sre-bot-1"), NOW));
    let [demand] = &needs.demands[..] else { panic!("{:?}", needs.demands) };
    assert_eq!(&*demand.policy, "urn:contexts:devops:v1.0#rolloutRestart");
    assert_eq!((&*demand.question, &demand.approvers), ("restarts a production service", &None));
    let _ = pass(&inspector, &route, &agent("sre-bot-1"), *needs, NOW).unwrap();
}

#[test]
fn attack_an_agent_without_a_permit_asks_a_person_to_let_it_pass() {
    let (inspector, route) = (
        house("permit (principal, action, resource is supplyChain::current_decision);"),
        route("l8, all lines"),
    );
    let mut refusal = say(&inspector, &route, "retailer-7", restart("retailer-7"), NOW).unwrap_err();
    assert_eq!((refusal.code(), refusal.take_approval().is_none()), (Code::PolicyDenied, true));
}
