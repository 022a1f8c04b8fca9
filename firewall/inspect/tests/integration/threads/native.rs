//! Turns over native L8, which has no conversations: between two agents, under a line (F0-08).

use super::{NOW, agent, changed, common::world, inspector, route, say};
use bytes::Bytes;
use semgate_inspect::{Code, Inspector, Permit, Refusal, Sent};
use serde_json::json;

/// What `retailer-7` says over native L8.
fn over_l8(inspector: &Inspector, performative: &str) -> Result<Permit, Refusal> {
    under(inspector, performative, "msg-0001")
}

/// The same under this `message_id`.
fn under(inspector: &Inspector, performative: &str, id: &str) -> Result<Permit, Refusal> {
    let body = changed("supply chain", json!({"performative": performative, "message_id": id}));
    say(inspector, &route("l8"), "retailer-7", body, NOW)
}

/// `wholesaler-1` proposes under this `message_id`.
fn proposes(inspector: &Inspector, id: &str) {
    let (_, sent) = over_l8(inspector, "QUERY").unwrap().spend();
    let reply = changed("supply chain reply", json!({"performative": "PROPOSE", "message_id": id}));
    let _ =
        inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, Bytes::from(reply), NOW).unwrap().spend();
}

/// Why it is out of turn.
fn unanswered(outcome: Result<Permit, Refusal>) -> String {
    let refusal = outcome.unwrap_err();
    assert_eq!(refusal.code(), Code::OutOfTurn);
    refusal.reason().to_owned()
}

/// What `wholesaler-1` answers over native L8.
fn answers_l8(
    inspector: &Inspector,
    sent: &Sent,
    performative: &str,
) -> Result<semgate_inspect::ReplyPermit, Refusal> {
    let reply = Bytes::from(changed("supply chain reply", json!({"performative": performative})));
    inspector.inspect_reply(sent, &agent("wholesaler-1"), 200, reply, NOW)
}

#[test]
fn attack_f0_08_an_answer_over_native_l8_to_what_nobody_proposed() {
    let inspector = inspector(world("day"));
    for says in ["ACCEPT", "REJECT", "COUNTER_PROPOSE"] {
        let refusal = over_l8(&inspector, says).unwrap_err();
        assert_eq!(refusal.code(), Code::OutOfTurn, "{says}");
        assert!(refusal.hint().contains("in this line of contexts"), "{}", refusal.hint());
        let (_, sent) = over_l8(&inspector, "INFORM").unwrap().spend();
        let refusal = answers_l8(&inspector, &sent, says).unwrap_err();
        assert_eq!((refusal.code(), refusal.cause()), (Code::ReplyRefused, Some(Code::OutOfTurn)), "{says}");
        let mut stream = inspector.stream(&sent);
        let event = Bytes::from(changed("supply chain reply", json!({"performative": says})));
        let refusal =
            inspector.inspect_event(&sent, &mut stream, &agent("wholesaler-1"), event, NOW).unwrap_err();
        assert_eq!(refusal.cause(), Some(Code::OutOfTurn), "{says} in a stream");
    }
    let (_, own) = over_l8(&inspector, "PROPOSE").unwrap().spend();
    assert_eq!(over_l8(&inspector, "ACCEPT").unwrap_err().code(), Code::OutOfTurn, "one's own");
    let _ = answers_l8(&inspector, &own, "ACCEPT").unwrap().spend();
    let twice = answers_l8(&inspector, &own, "REJECT").unwrap_err();
    assert_eq!(twice.cause(), Some(Code::OutOfTurn), "answered");
}

#[test]
fn f0_08_each_proposal_over_native_l8_is_answered_once_by_the_other_side_of_its_pair() {
    let inspector = inspector(world("day"));
    proposes(&inspector, "p-1");
    proposes(&inspector, "p-2");
    let other = changed("supply chain", json!({"performative": "ACCEPT", "sender_id": "treasurer-1"}));
    let refusal = say(&inspector, &route("l8"), "treasurer-1", other, NOW).unwrap_err();
    assert_eq!(refusal.code(), Code::OutOfTurn, "another agent");
    // not delivered, so that it is open again
    drop(under(&inspector, "ACCEPT", "re-p-1").unwrap());
    let (_, sent) = under(&inspector, "COUNTER_PROPOSE", "re-p-1").unwrap().spend();
    let _ = answers_l8(&inspector, &sent, "ACCEPT").unwrap().spend();
    let held = over_l8(&inspector, "REJECT").unwrap();
    assert_eq!(over_l8(&inspector, "ACCEPT").unwrap_err().code(), Code::OutOfTurn, "both are answered");
    let _ = held.spend();
    assert_eq!(over_l8(&inspector, "ACCEPT").unwrap_err().code(), Code::OutOfTurn);
}

#[test]
fn f0_08_of_several_proposals_over_native_l8_an_answer_says_which_it_is_for() {
    let inspector = inspector(world("day"));
    proposes(&inspector, "p-1");
    proposes(&inspector, "p-2");
    let refusal = over_l8(&inspector, "ACCEPT").unwrap_err();
    assert_eq!(refusal.code(), Code::OutOfTurn);
    assert!(refusal.reason().contains("the other agent has several open"), "{}", refusal.reason());
    assert!(refusal.hint().contains("`re-`"), "{}", refusal.hint());
    let _ = under(&inspector, "ACCEPT", "re-p-1").unwrap().spend();
    let why = unanswered(under(&inspector, "REJECT", "re-p-1"));
    assert!(why.contains("the other side has none open"), "and not the other one in its place: {why}");
    let _ = over_l8(&inspector, "ACCEPT").unwrap().spend();
}

#[test]
fn attack_an_accept_over_native_l8_that_is_sent_twice_answers_another_proposal() {
    let inspector = inspector(world("day"));
    proposes(&inspector, "p-1");
    let _ = under(&inspector, "ACCEPT", "a-1").unwrap().spend();
    proposes(&inspector, "p-2");
    let why = unanswered(under(&inspector, "ACCEPT", "a-1"));
    assert!(why.contains("was sent before"), "{why}");
    let _ = under(&inspector, "ACCEPT", "a-2").unwrap().spend();
}

#[test]
fn attack_f0_08_a_proposal_over_native_l8_that_was_never_handed_on_is_accepted() {
    let inspector = inspector(world("day"));
    let (_, sent) = over_l8(&inspector, "QUERY").unwrap().spend();
    drop(answers_l8(&inspector, &sent, "PROPOSE").unwrap());
    assert_eq!(over_l8(&inspector, "ACCEPT").unwrap_err().code(), Code::OutOfTurn);
}

#[test]
fn attack_a_propose_over_native_l8_that_is_sent_again_is_accepted_again() {
    let inspector = inspector(world("day"));
    proposes(&inspector, "p-1");
    let _ = under(&inspector, "ACCEPT", "re-p-1").unwrap().spend();
    proposes(&inspector, "p-1");
    let why = unanswered(under(&inspector, "ACCEPT", "re-p-1"));
    assert!(why.contains("was sent before"), "{why}");
    let why = unanswered(under(&inspector, "REJECT", "a-2"));
    assert!(why.contains("the other side has none open"), "{why}");
}

#[test]
fn attack_one_propose_over_native_l8_that_is_under_way_twice_is_accepted_and_rejected() {
    let inspector = inspector(world("day"));
    let sent = [(); 2].map(|()| under(&inspector, "PROPOSE", "p-1").unwrap().spend().1);
    let _ = answers_l8(&inspector, &sent[0], "ACCEPT").unwrap().spend();
    let refusal = answers_l8(&inspector, &sent[1], "REJECT").unwrap_err();
    assert_eq!((refusal.code(), refusal.cause()), (Code::ReplyRefused, Some(Code::OutOfTurn)));
}

#[test]
fn attack_a_propose_over_native_l8_that_is_sent_again_in_vain_takes_back_the_one_that_arrived() {
    let inspector = inspector(world("day"));
    let _ = under(&inspector, "PROPOSE", "p-1").unwrap().spend();
    drop(under(&inspector, "PROPOSE", "p-1").unwrap());
    under(&inspector, "PROPOSE", "p-1").unwrap().spend().1.undelivered();
    let (_, sent) = over_l8(&inspector, "QUERY").unwrap().spend();
    let _ = answers_l8(&inspector, &sent, "ACCEPT").unwrap().spend();
}

#[test]
fn attack_of_two_accepts_at_once_over_native_l8_the_loser_answers_another_proposal() {
    let inspector = inspector(world("day"));
    let ids = ["p-1", "p-2", "p-3"];
    ids.iter().for_each(|id| proposes(&inspector, id));
    let codes: Vec<_> = std::thread::scope(|scope| {
        let accept = || under(&inspector, "ACCEPT", "re-p-3").map(|permit| drop(permit.spend()));
        let racers: Vec<_> = (0..6).map(|_| scope.spawn(accept)).collect();
        racers
            .into_iter()
            .filter_map(|racer| racer.join().unwrap().err())
            .map(|refusal| refusal.code())
            .collect()
    });
    assert_eq!(codes, [Code::OutOfTurn; 5], "one of six");
    for id in ["re-p-1", "re-p-2"] {
        let _ = under(&inspector, "ACCEPT", id).unwrap().spend();
    }
}

#[test]
fn attack_an_accept_over_native_l8_that_names_the_proposal_of_another_line_answers_the_one_of_this_line() {
    let inspector = inspector(world("day"));
    let payment = |id: &str, change: serde_json::Value| {
        let mut message = json!({"message_id": id, "context": "urn:contexts:payment:v1.1", "content": null});
        super::merge(&mut message, &change);
        let mut all: serde_json::Value = serde_json::from_slice(&changed("supply chain", message)).unwrap();
        all["content"] = json!({"concept": "transfer", "sender_id": "a", "receiver_id": "b", "amount": 5, "currency": "EUR"});
        serde_json::to_vec(&all).unwrap()
    };
    let body = payment("q-1", json!({"performative": "QUERY"}));
    let (_, sent) = say(&inspector, &route("l8"), "retailer-7", body, NOW).unwrap().spend();
    let turned = json!({"performative": "PROPOSE", "sender_id": "wholesaler-1", "receiver_id": "retailer-7"});
    let reply = Bytes::from(payment("pp-1", turned));
    let _ = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, reply, NOW).unwrap().spend();
    proposes(&inspector, "ss-1");
    let why = unanswered(under(&inspector, "ACCEPT", "re-pp-1"));
    assert!(why.contains("none of that name"), "{why}");
    let _ = under(&inspector, "ACCEPT", "re-ss-1").unwrap().spend();
}

#[test]
fn attack_an_accept_over_native_l8_that_names_a_forgotten_proposal_answers_the_one_that_is_open() {
    let inspector = inspector(world("day"));
    proposes(&inspector, "new-1");
    for says in ["ACCEPT", "REJECT", "COUNTER_PROPOSE"] {
        let refusal = under(&inspector, says, "re-old-1").unwrap_err();
        assert_eq!(refusal.code(), Code::OutOfTurn, "{says}");
        assert!(refusal.reason().contains("none of that name"), "{}", refusal.reason());
        assert!(refusal.hint().contains("forgotten"), "{}", refusal.hint());
    }
    // of a reply too, whose own request proposed
    let (_, sent) = under(&inspector, "PROPOSE", "p-1").unwrap().spend();
    let reply = |id: &str| {
        let reply = changed("supply chain reply", json!({"performative": "ACCEPT", "message_id": id}));
        inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, Bytes::from(reply), NOW)
    };
    assert_eq!(reply("re-old-1").unwrap_err().cause(), Some(Code::OutOfTurn));
    let _ = reply("re-p-1").unwrap().spend();
    let _ = under(&inspector, "ACCEPT", "re-new-1").unwrap().spend();
}

#[test]
fn two_proposals_over_native_l8_under_one_name_are_told_apart_by_nobody_and_can_be_rejected() {
    let inspector = inspector(world("day"));
    let proposes = |quantity: u32| {
        let (_, sent) = over_l8(&inspector, "QUERY").unwrap().spend();
        let mut reply: serde_json::Value =
            serde_json::from_slice(&changed("supply chain reply", json!({"message_id": "k-1"}))).unwrap();
        reply["performative"] = "PROPOSE".into();
        reply["content"] = json!({"concept": "current_decision", "item_id": "beer", "quantity": quantity});
        let reply = Bytes::from(serde_json::to_vec(&reply).unwrap());
        let _ = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, reply, NOW).unwrap().spend();
    };
    proposes(1);
    proposes(2);
    for says in ["ACCEPT", "COUNTER_PROPOSE"] {
        let refusal = under(&inspector, says, "re-k-1").unwrap_err();
        assert!(
            refusal.reason().contains("has several open under that name"),
            "{says}: {}",
            refusal.reason()
        );
        assert!(refusal.hint().starts_with("reject the name"), "{says}: {}", refusal.hint());
    }
    let _ = under(&inspector, "REJECT", "re-k-1").unwrap().spend();
    let why = unanswered(over_l8(&inspector, "ACCEPT"));
    assert!(why.contains("the other side has none open"), "both are rejected: {why}");
    proposes(3);
    let _ = under(&inspector, "ACCEPT", "re-k-1").unwrap().spend();
}

#[test]
fn attack_an_accept_over_native_l8_that_names_the_proposal_of_another_agent_answers_this_agents() {
    let inspector = inspector(world("day"));
    proposes(&inspector, "p-w");
    let courier = std::sync::Arc::new(semgate_inspect::Route {
        receiver: super::common::agent_id("treasurer-1"),
        ..(*route("l8")).clone()
    });
    let to = |performative: &str, id: &str| {
        let change =
            json!({"performative": performative, "message_id": id, "receiver_id": courier.receiver.as_str()});
        say(&inspector, &courier, "retailer-7", changed("supply chain", change), NOW)
    };
    let (_, sent) = to("QUERY", "q-1").unwrap().spend();
    let change =
        json!({"performative": "PROPOSE", "message_id": "p-c", "sender_id": courier.receiver.as_str()});
    let reply = Bytes::from(changed("supply chain reply", change));
    let _ = inspector.inspect_reply(&sent, &agent("treasurer-1"), 200, reply, NOW).unwrap().spend();
    let why = unanswered(to("ACCEPT", "re-p-w"));
    assert!(why.contains("none of that name"), "{why}");
    let _ = to("ACCEPT", "re-p-c").unwrap().spend();
    let _ = under(&inspector, "ACCEPT", "re-p-w").unwrap().spend();
}
