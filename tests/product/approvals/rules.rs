//! Rules of policies about people.

use serde_json::json;

use super::{House, passes_once};
use crate::support::people::Person;
use crate::support::{Answer, Up, wait_for};

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

/// The paper's agent, at the listener of the running house.
fn restart(up: &Up, service: &str, confidence: f64) -> Answer {
    let body = json!({"protocol": "L8/1.0", "message_id": "m-1", "performative": "REQUEST", "sender_id": "sre-bot-1",
        "receiver_id": "wholesaler-1", "context": "urn:contexts:devops:v1.0",
        "content": {"task": "patchConfig", "file": "deployment.yaml", "change": service, "confidence_score": confidence}});
    up.post("sre-bot-1", up.text("/gateway/l8"), &[], body.to_string().as_bytes())
}

/// A house whose policies ask about patches in these words.
fn patches(temporary: &tempfile::TempDir, words: &str) -> Up {
    let dir = temporary.path().join("semgate");
    Up::start_in(&dir).stop();
    let path = dir.join("policies/devops.cedar");
    let text = std::fs::read_to_string(&path).unwrap();
    let asks = format!("@id(\"patches\")\n@approve(\"is this the right file?\")\n{words}");
    std::fs::write(&path, text.replace("@id(\"patches\")", &asks)).unwrap();
    let config = dir.join("firewall.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("[approvals]\n", "[approvals]\nhold_seconds = 0\n")).unwrap();
    Up::start_in(&dir)
}

#[test]
fn a_confidence_below_the_floor_is_put_to_a_person() {
    let temporary = tempfile::tempdir().unwrap();
    let up = patches(&temporary, "@confidence(\"confidence_score 0.8\")");
    assert_eq!(restart(&up, "raise the limit", 0.8).status, 200);
    assert_eq!(restart(&up, "raise the limit", 0.79).code(), "approval_pending");
}

#[test]
fn many_steps_of_one_session_are_put_to_a_person() {
    let temporary = tempfile::tempdir().unwrap();
    let up = patches(&temporary, "@steps(\"3\")");
    for step in 0..3 {
        assert_eq!(restart(&up, &format!("step {step}"), 1.0).status, 200);
    }
    assert_eq!(restart(&up, "step 4", 1.0).code(), "approval_pending");
    let bob = Person::at(&up, "bob.sre", crate::support::address(up.text("/people_url")).parse().unwrap());
    bob.decide("approve", &bob.asked());
    assert_eq!(restart(&up, "step 4", 1.0).status, 200);
    assert_eq!(restart(&up, "step 5", 1.0).status, 200, "the count begins again");
}

#[test]
fn a_task_marked_in_its_context_is_put_to_a_person() {
    let temporary = tempfile::tempdir().unwrap();
    let up = patches(&temporary, "");
    let body = json!({"protocol": "L8/1.0", "message_id": "m-1", "performative": "REQUEST", "sender_id": "sre-bot-1",
        "receiver_id": "wholesaler-1", "context": "urn:contexts:devops:v1.0",
        "content": {"task": "rolloutRestart", "service": "checkout-service", "cluster": "production"}});
    let answer = up.post("sre-bot-1", up.text("/gateway/l8"), &[], body.to_string().as_bytes());
    assert_eq!(answer.code(), "approval_pending");
    let bob = Person::at(&up, "bob.sre", crate::support::address(up.text("/people_url")).parse().unwrap());
    assert_eq!(bob.asked()["demands"][0]["question"], "restarts a production service");
}
