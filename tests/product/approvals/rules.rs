//! Rules of policies about people.

use serde_json::json;

use super::{House, passes_once};
use crate::support::wait_for;

#[test]
fn a2h_two_of_three() {
    let house = House::asking("@quorum(\"2\")");
    house.refused("900", "approval_pending");
    let hold = house.bob().asked();
    house.bob().decide("approve", &hold);
    house.refused("900", "approval_pending");
    assert_eq!(house.bob().decide("approve", &hold).code(), "conflict", "one person counts once");
    house.person("alice.eng").decide("approve", &hold);
    passes_once(&house, "900");
}

#[test]
fn a_person_without_the_capability_neither_sees_nor_decides() {
    let house = House::asking("@approvers(\"capability:treasurer\")");
    house.refused("900", "approval_pending");
    let hold = house.person("alice.eng").asked();
    assert!(house.bob().list("all").is_empty());
    assert_eq!(house.bob().decide("approve", &hold).code(), "not_found");
    house.person("alice.eng").decide("approve", &hold);
    passes_once(&house, "900");
}

#[test]
fn a_delegate_decides() {
    let house = House::asking("@approvers(\"human://alice.eng\")");
    house.refused("900", "approval_pending");
    let alice = house.person("alice.eng");
    let hold = alice.asked();
    let path = format!("/v1/approvals/{}/delegate", hold["id"].as_str().unwrap());
    assert_eq!(alice.post(&path, &json!({"to": "human://bob.sre"})).status, 200);
    house.bob().decide("approve", &house.bob().asked());
    passes_once(&house, "900");
}

#[test]
fn a_decision_without_a_required_reason_is_refused() {
    let house = House::asking("@reason(\"always\")");
    house.refused("900", "approval_pending");
    let hold = house.bob().asked();
    let path = format!("/v1/approvals/{}/approve", hold["id"].as_str().unwrap());
    assert_eq!(house.bob().post(&path, &json!({"digest": hold["digest"]})).code(), "reason_required");
    house.bob().decide("approve", &hold);
    passes_once(&house, "900");
}

#[test]
fn an_approval_serves_the_same_action_again_where_the_policy_says_so() {
    let house = House::asking("@reuse(\"same action 10m\")");
    house.refused("900", "approval_pending");
    house.bob().decide("approve", &house.bob().asked());
    passes_once(&house, "900");
    passes_once(&house, "900");
    house.refused("901", "approval_pending");
}

#[test]
fn a2h_escalates() {
    let house = House::asking(
        "@approvers(\"capability:kubernetes\") @approve_within(\"2m\") @escalate(\"30s to human://alice.eng\")",
    );
    house.refused("900", "approval_pending");
    assert!(house.person("alice.eng").list("open").is_empty());
    let hold = wait_for("the escalation", || house.person("alice.eng").list("open").first().cloned());
    house.person("alice.eng").decide("approve", &hold);
    passes_once(&house, "900");
}
