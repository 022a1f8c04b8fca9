//! Results of LDP tasks: where they come from, how sure they claim to be, and the contracts that bound them.

use crate::support;

use std::net::SocketAddr;

use serde_json::{Value, json};
use support::gateway::{Gateway, free_address};
use support::ldp::{Client, Delegate, Route, Stage, up};
use support::ldp_envelope::{accepted, post, propose, refused, seconds_from_now, submit};
use support::{Answer, Up, ldp_own, wait_for};

/// A delegate of our own, whose result is as the instruction says: neither package reports what it used, or on whom it called.
fn as_instructed(asked: &Value, answer: &mut Value) {
    let instruction = asked.pointer("/body/input/instruction").and_then(Value::as_str).unwrap_or_default();
    let Some(provenance) = answer.pointer_mut("/body/provenance") else { return };
    let hop = json!({"delegate_id": "ldp:delegate:helper", "model_version": "1", "step": "task",
        "timestamp": asked["timestamp"], "verification_status": "unverified"});
    match instruction.split_once(' ') {
        Some(("tokens", n)) => provenance["tokens_used"] = json!(n.parse::<u64>().unwrap()),
        Some(("cents", n)) => provenance["cost_usd"] = json!(n.parse::<f64>().unwrap() / 100.0),
        Some(("hops", n)) => provenance["lineage"] = json!(vec![hop; n.parse().unwrap()]),
        Some(("sure", status)) => {
            provenance["confidence"] = json!(0.91);
            provenance["verification_status"] = json!(status);
            provenance["verified"] = json!(status != "unverified");
        }
        Some(("nested", status)) => {
            provenance["confidence"] = json!({"score": 0.91, "method": "self_report"});
            provenance["verification"] = json!({"performed": status == "passed", "status": status});
            provenance.as_object_mut().unwrap().remove("verified");
        }
        Some(("wait", millis)) => {
            std::thread::sleep(std::time::Duration::from_millis(millis.parse().unwrap()));
        }
        _ => {}
    }
}

/// A gateway before that delegate, and a session of `retailer-7`.
struct Own {
    _up: Up,
    _gateway: Gateway,
    listen: SocketAddr,
    session: String,
}

impl Own {
    fn start() -> Self {
        let (delegate, up, listen) = (ldp_own::delegate(as_instructed), up(), free_address());
        let route = Route { listen, agent: Some("retailer-7"), upstream: delegate, more: String::new() };
        let gateway = Gateway::serving(&up, listen, &route.written(&up), "");
        let mut own = Self { _up: up, _gateway: gateway, listen, session: String::new() };
        own.opens();
        own
    }

    /// From now on tasks belong to a new session, whose budget is whole.
    fn opens(&mut self) {
        self.session = accepted(&post(self.listen, &propose(&json!({}))));
    }

    fn asks(&self, instruction: &str, contract: Option<Value>) -> Answer {
        let mut message = submit(&self.session, "classify", json!({ "instruction": instruction }));
        if let Some(contract) = contract {
            message["body"]["contract"] = contract;
        }
        post(self.listen, &message)
    }

    fn refuses(&self, instruction: &str, contract: Value, code: &str) {
        let answer = self.asks(instruction, Some(contract));
        assert_eq!(refused(&answer).as_deref(), Some(code), "{instruction}: {}", answer.json());
    }

    fn passes(&self, instruction: &str, contract: Value) {
        let answer = self.asks(instruction, Some(contract));
        assert_eq!(refused(&answer), None, "{instruction}: {}", answer.json());
    }
}

/// A contract of the crate, whose failure policy lets violations pass, with these members besides.
fn contract(policy: Value, deadline: Option<i64>) -> Value {
    let mut policy_of = json!({"failure_policy": "fail_open", "safety_constraints": []});
    policy_of.as_object_mut().unwrap().extend(policy.as_object().unwrap().clone());
    let mut contract = json!({"contract_id": "c-1", "objective": "classify one text", "success_criteria": ["a label"],
        "policy": policy_of, "created_at": seconds_from_now(0)});
    if let Some(seconds) = deadline {
        contract["deadline"] = json!(seconds_from_now(seconds));
    }
    contract
}

#[test]
fn ldp_attack_contract_depth_and_deadline() {
    let own = Own::start();
    let depth = |most: u64| contract(json!({"max_delegation_depth": most}), None);
    own.passes("hops 0", depth(0));
    own.passes("hops 2", depth(2));
    // whatever the contract says about failures
    own.refuses("hops 1", depth(0), "reply_refused");
    own.refuses("hops 3", depth(2), "reply_refused");
    let until = |seconds| contract(json!({}), Some(seconds));
    own.passes("wait 1", until(30));
    own.refuses("in time", until(-1), "policy_denied");
    own.refuses("wait 2500", until(1), "reply_refused");
    for unreadable in [json!("soon"), json!(7)] {
        let mut contract = until(30);
        contract["deadline"] = unreadable;
        own.refuses("in time", contract, "malformed");
    }
}

#[test]
fn ldp_contract_of_the_rust_client_is_kept() {
    let delegate = Delegate::rust(&json!({}));
    let stage = Stage::before(&delegate, |_| String::new());
    let mut client = Client::rust(&stage.url(), &json!({}));
    let mut ends = |contract: Value| {
        client.does(&json!({"do": "invoke", "skill": "classify", "input": {"instruction": "x"}, "contract": contract}));
        client.does(&json!({"do": "status"}))
    };
    let kept = ends(json!({"deadline": 60}));
    assert_eq!(kept["status"], "completed", "{kept}");
    // directly this client lets the violation pass, for its failure policy is open
    let late = ends(json!({"deadline": -60}));
    assert_eq!(
        (&late["status"], &late["error"]["code"]),
        (&json!("failed"), &json!("policy_denied")),
        "{late}"
    );
}

#[test]
fn ldp_budget_runs_out() {
    let mut own = Own::start();
    let tokens = |most: i64| contract(json!({"budget": {"max_tokens": most}}), None);
    let usd = |most: f64| contract(json!({"budget": {"max_cost_usd": most}}), None);
    own.passes("tokens 60", tokens(100));
    own.passes("tokens 40", tokens(100));
    own.refuses("tokens 1", tokens(100), "policy_denied");
    own.opens();
    own.refuses("tokens 101", tokens(100), "reply_refused");
    own.opens();
    own.passes("cents 5", usd(0.05));
    own.opens();
    own.refuses("cents 6", usd(0.05), "reply_refused");
    own.opens();
    own.refuses("no report", tokens(100), "reply_refused");
    own.refuses("tokens 1", tokens(-1), "malformed");
}

#[test]
fn ldp_unverified_confidence_is_marked_or_withheld() {
    let delegate = Delegate::python(&json!({"confidence": 0.91}));
    let stage = Stage::before(&delegate, |_| String::new());
    let direct = Client::python(&delegate.url(), &json!({})).classifies();
    assert_eq!(direct["provenance"]["confidence"], 0.91);
    let through = Client::python(&stage.url(), &json!({})).classifies();
    assert!(through["provenance"].is_object(), "{through}");
    assert_eq!(through["provenance"]["confidence"], Value::Null, "{through}");
    assert_eq!(through["provenance"]["verified"], false);
    assert_eq!(through["output"]["label"], "positive");
    // the record names what was removed
    wait_for("the record", || {
        let records = std::fs::read_to_string(&stage.gateway.audit).unwrap();
        records.contains("/body/provenance/confidence").then_some(())
    });
}

#[test]
fn ldp_confidence_that_another_verified_passes() {
    let own = Own::start();
    let confidence = |instruction: &str| {
        let answer = own.asks(instruction, None);
        assert_eq!(refused(&answer), None, "{instruction}: {}", answer.json());
        answer.json()["body"]["provenance"]["confidence"].clone()
    };
    for verified in ["sure peer_verified", "sure tool_verified", "sure human_verified"] {
        assert_eq!(confidence(verified), 0.91, "{verified}");
    }
    for unverified in ["sure unverified", "sure self_verified", "nested failed", "nested none"] {
        assert_eq!(confidence(unverified), Value::Null, "{unverified}");
    }
    assert_eq!(confidence("nested passed")["score"], 0.91, "the shape of the paper");
}
