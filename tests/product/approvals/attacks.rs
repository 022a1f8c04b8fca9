//! Attacks on approvals, by name.

use serde_json::json;

use super::{House, passes_once, payment};
use crate::support::wait_for;

#[test]
fn a2h_attack_approve_a_run_b() {
    let house = House::asking("");
    house.refused("820", "approval_pending");
    let hold = house.bob().asked();
    house.bob().decide("approve", &hold);
    house.refused("8200", "approval_pending");
    assert_eq!(house.behind.received(), 0);
    passes_once(&house, "820");
}

#[test]
fn a2h_attack_approve_another_digest() {
    let house = House::asking("");
    house.refused("900", "approval_pending");
    let mut hold = house.bob().asked();
    hold["digest"] = json!(format!("sha-256:{}", "0".repeat(64)));
    assert_eq!(house.bob().decide("approve", &hold).code(), "conflict");
    house.refused("900", "approval_pending");
}

#[test]
fn a2h_attack_used_twice() {
    let house = House::asking("");
    house.refused("900", "approval_pending");
    house.bob().decide("approve", &house.bob().asked());
    let answers: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(|| house.pay("900"))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    assert!(
        answers
            .iter()
            .filter(|answer| answer.status != 200)
            .all(|answer| answer.code().starts_with("approval_"))
    );
    assert_eq!(house.behind.received(), 1);
}

#[test]
fn a2h_attack_used_after_it_lapsed() {
    let house = House::with("", "hold_seconds = 0\nuse_seconds = 1\n");
    house.refused("900", "approval_pending");
    let first = house.bob().asked();
    house.bob().decide("approve", &first);
    wait_for("the approval to lapse", || {
        house.bob().list("ended").iter().any(|hold| hold["state"] == "LAPSED").then_some(())
    });
    house.refused("900", "approval_pending");
    assert_ne!(house.bob().asked()["id"], first["id"]);
    assert_eq!(house.behind.received(), 0);
}

#[test]
fn a2h_attack_second_answer_after_a_denial() {
    let house = House::asking("");
    house.refused("900", "approval_pending");
    let hold = house.bob().asked();
    assert_eq!(house.bob().decide("deny", &hold).json()["state"], "DENIED");
    for person in ["bob.sre", "alice.eng"] {
        assert_eq!(house.person(person).decide("approve", &hold).code(), "conflict");
    }
    house.refused("900", "approval_denied");
    assert_eq!(house.behind.received(), 0);
}

#[test]
fn a2h_attack_agent_approves_itself() {
    let mut house = House::asking("");
    house.card("bob.sre", |card| card["operates"] = json!(["spiffe://semgate.test/agent/retailer-7"]));
    let agent = json!({"id": "human://eve", "profile": {"name": "Eve"}, "capabilities": ["approver"],
        "certificate": "spiffe://semgate.test/agent/retailer-7"});
    std::fs::write(house.up.dir.join("humans/eve.json"), agent.to_string()).unwrap();
    house.gateway.restart("TERM");
    house.refused("900", "approval_pending");
    // an agent without a card, the person who operates the agent, and the agent with a person's card
    let operator = house.bob();
    let hold = operator.asked();
    assert_eq!(hold["may_decide"], false);
    assert_eq!(operator.decide("approve", &hold).code(), "forbidden");
    let url = format!("https://{}", house.gateway.people);
    let path = format!("{url}/v1/approvals/{}/approve", hold["id"].as_str().unwrap());
    let body = json!({"digest": hold["digest"]}).to_string();
    for agent in ["treasurer-1", "retailer-7"] {
        assert_eq!(house.up.post(agent, &path, &[], body.as_bytes()).code(), "forbidden", "{agent}");
    }
    house.refused("900", "approval_pending");
}

#[test]
fn a2h_attack_a_caller_names_a_person_in_a_header() {
    let house = House::asking("");
    house.refused("900", "approval_pending");
    let hold = house.bob().asked();
    let path =
        format!("https://{}/v1/approvals/{}/approve", house.gateway.people, hold["id"].as_str().unwrap());
    let headers = [("semgate-person", "human://bob.sre"), ("semgate-factor", "certificate")];
    let body = json!({"digest": hold["digest"]}).to_string();
    assert_eq!(house.up.post("treasurer-1", &path, &headers, body.as_bytes()).code(), "forbidden");
}

#[test]
fn a2h_attack_policy_changed_while_pending() {
    let house = House::asking("");
    house.refused("900", "approval_pending");
    let hold = house.bob().asked();
    house.policies("@quorum(\"2\")");
    house.bob().decide("approve", &hold);
    house.refused("900", "approval_pending");
    let again = house.bob().asked();
    assert_ne!(again["id"], hold["id"]);
    house.bob().decide("approve", &again);
    house.refused("900", "approval_pending");
    house.person("alice.eng").decide("approve", &again);
    std::fs::write(
        house.up.path("/policies").join("stop.cedar"),
        "forbid (principal, action, resource is payment::transfer);\n",
    )
    .unwrap();
    house.policies("@quorum(\"2\")");
    house.refused("900", "policy_denied");
    assert_eq!(house.behind.received(), 0);
}

#[test]
fn a2h_attack_revoked_while_pending() {
    let house = House::asking("");
    house.refused("900", "approval_pending");
    house.bob().decide("approve", &house.bob().asked());
    let output = house.up.semgate(&["context", "revoke", "payment:v1.1", "--reason", "wrong"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    wait_for("the revocation", || {
        let answer = house.pay("1").json();
        (answer["code"] == "context_revoked").then_some(())
    });
    let before = house.behind.received();
    house.refused("900", "context_revoked");
    assert_eq!(house.behind.received(), before);
}

#[test]
fn a2h_attack_flood_of_messages_that_need_people() {
    let house = House::asking("");
    for amount in 0..64 {
        house.refused(&(1_000 + amount).to_string(), "approval_pending");
    }
    house.refused("2000", "rate_limited");
    // a waiting one is found again, and another sender is not affected
    house.refused("1000", "approval_pending");
    assert_eq!(house.bob().list("open").len(), 64);
}

#[test]
fn a2h_numbers_spelled_otherwise_are_the_same_action() {
    let house = House::asking("");
    house.refused("1200", "approval_pending");
    house.bob().decide("approve", &house.bob().asked());
    let answer = house.gateway.post(&payment("another-id", "1.2e3"));
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    assert_eq!(house.behind.received(), 1);
}
