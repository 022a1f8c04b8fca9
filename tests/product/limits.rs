//! Limits through the running binary: whose budget is spent, what callers read of it, and what a tired operator gets wrong.

use crate::support;

use std::process::Command;

use serde_json::{Value, json};
use support::gateway::Scripted;
use support::policies::{gateway, message, permit, replies, revision, turn};
use support::python;
use support::{Answer, Up, wait_for};

/// Three decisions an hour, and what a policy adds: five of them for each receiver.
const LIMITS: &str = r#"{"costs": [{"line": "supplyChain", "concept": "current_decision", "cost": 2}],
    "budgets": [{"name": "hourly", "limit": "6/hour"}]}"#;
const POLICY: &str = r#"@id("few") @limit("5/hour") @limit_key("pair")
    permit (principal in Group::"partners", action, resource is supplyChain::current_decision);"#;

fn say(up: &Up, agent: &str) -> Answer {
    let body = json!({
        "protocol": "L8/1.0", "message_id": "m-1", "performative": "INFORM", "sender_id": agent,
        "receiver_id": up.text("/sample_agent/id"), "context": "urn:contexts:supplyChain:v1.0",
        "content": {"concept": "current_decision", "item_id": "beer", "quantity": 120},
    });
    up.post(agent, up.text("/gateway/l8"), &[], body.to_string().as_bytes())
}

/// Both fields, by a parser that is not ours: a list of names with parameters each.
fn parsed(answer: &Answer) -> Value {
    let field = |name: &str| answer.header(name).unwrap_or_else(|| panic!("no `{name}`"));
    let output = Command::new(python::with_structured_fields())
        .arg(python::script("ratelimit_fields.py"))
        .args([field("ratelimit-policy"), field("ratelimit")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn one_agent_spends_its_budget_and_the_other_still_has_its_own() {
    let up = Up::start();
    assert_eq!(say(&up, "retailer-7").header("ratelimit"), None, "no limit, no field");
    let policies = up.path("/policies");
    std::fs::write(policies.join("few.cedar"), POLICY).unwrap();
    std::fs::write(policies.join("limits.json"), LIMITS).unwrap();
    // what is told first once the limits are live
    let first = wait_for("limits that are live", || {
        let answer = say(&up, "retailer-7");
        answer.header("ratelimit").is_some().then_some(answer)
    });
    assert_eq!(first.status, 200);
    let fields = parsed(&first);
    let (policy, left) = (&fields[0], &fields[1]);
    let named = policy[0][0].as_str().unwrap();
    assert!(named.starts_with("policy-") && named.len() == 15 && !named.contains("few"), "{fields}");
    assert_eq!(
        (&policy[0][1], &policy[1]),
        (&json!({"q": 5, "w": 3600}), &json!(["hourly", {"q": 6, "w": 3600}]))
    );
    assert_eq!((&left[0][1]["r"], &left[1][0], &left[1][1]["r"]), (&json!(4), &json!("hourly"), &json!(4)));
    assert_eq!(say(&up, "retailer-7").status, 200);
    assert_eq!(say(&up, "retailer-7").status, 200);
    let refused = say(&up, "retailer-7");
    assert_eq!((refused.status, refused.code().as_str()), (429, "rate_limited"));
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=1_200).contains(&wait), "two units come back in twenty minutes: {wait}");
    let fields = parsed(&refused);
    assert_eq!(fields[1].as_array().unwrap().len(), 1, "only what stopped it: {fields}");
    assert_eq!((&fields[1][0][0], &fields[1][0][1]["r"]), (&json!("hourly"), &json!(0)));
    assert!(wait >= fields[1][0][1]["t"].as_u64().unwrap(), "{fields}");
    let problem = refused.json();
    for text in [problem["detail"].as_str().unwrap(), problem["hint"].as_str().unwrap()] {
        assert!(!text.contains("hourly") && !text.contains("few") && !text.contains('6'), "{text}");
    }
    // the other agent's budget is whole
    let other = say(&up, "treasurer-1");
    assert_eq!(other.status, 200);
    assert_eq!(parsed(&other)[1][1], json!(["hourly", {"r": 4, "t": 600}]));
    let record =
        wait_for("the record", || up.audit().into_iter().find(|record| record["code"] == "rate_limited"));
    assert_eq!(record["sender"], "spiffe://semgate.test/agent/retailer-7");
    let limited = &record["limited"][0];
    let again = limited["again_in"].as_u64().unwrap();
    assert!(wait.abs_diff(again) <= 1, "{record}");
    assert_eq!(
        *limited,
        json!({"kind": "budget", "name": "hourly", "rate": "6/hour", "per": "agent", "cost": 2, "left": 0, "again_in": again})
    );
    explained(&up, record["decision_id"].as_str().unwrap(), again);
}

/// Nothing of what was asked is kept, and the limit is told all the same.
fn explained(up: &Up, decision: &str, again: u64) {
    let log = up.path("/audit");
    let words = ["policy", "explain", "--decision", decision, "--audit", log.to_str().unwrap(), "--policies"];
    let output = Command::new(support::SEMGATE).args(words).arg(up.path("/policies")).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    let sentence = format!(
        "  stopped by the budget `hourly` of limits.json: 6/hour, counted for the sender; it costs 2, 0 were left; it would have passed \
         {again} s later, at "
    );
    assert!(told.lines().any(|line| line.starts_with(&sentence)), "{told}");
}

#[test]
fn a_mistake_in_the_limits_is_told_by_the_check() {
    let up = Up::start();
    let policies = up.path("/policies");
    std::fs::write(policies.join("limits.json"), LIMITS.replace("6/hour", "1/hour")).unwrap();
    std::fs::write(policies.join("few.cedar"), POLICY.replace("@limit(", "@limits(")).unwrap();
    let check = |expected: &str| {
        let output =
            Command::new(support::SEMGATE).args(["policy", "check"]).arg(&policies).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!output.status.success() && told.contains(expected), "{told}");
    };
    check("few.cedar:1:12: `@limits`: no annotation of this name");
    check("did you mean `@limit`?");
    std::fs::write(policies.join("few.cedar"), POLICY).unwrap();
    check(
        "limits.json:2:36: at `/budgets/0/limit`: `hourly` holds 1 and can never pay for a message that costs 2",
    );
}

#[test]
fn fault_a_refusal_of_a_message_that_had_passed_did_not_say_what_is_left_of_its_limits() {
    let up = Up::start();
    let behind = Scripted::saying("{}".to_owned());
    let budget = r#"{"budgets": [{"name": "hourly", "limit": "6/hour"}]}"#.to_owned();
    let files = [("a.cedar", permit("a", "current_decision")), ("limits.json", budget), replies()];
    turn(&up.dir.join("current"), &revision(&up, "a", &files));
    let gateway = gateway(&up, &behind, "");
    let body = message(&json!({"d": {"concept": "current_decision", "item_id": "beer", "quantity": 120}}));
    let refused = gateway.post(&body);
    assert_eq!((refused.status, refused.code().as_str()), (502, "upstream_invalid"), "{}", refused.head);
    assert_eq!(
        refused.header("ratelimit-policy"),
        Some(r#""hourly";q=6;w=3600"#.to_owned()),
        "{}",
        refused.head
    );
    assert!(refused.header("ratelimit").unwrap().starts_with(r#""hourly";r=5"#), "{}", refused.head);
}
