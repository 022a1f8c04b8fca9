//! Contexts whose patterns cost too much, through the running binary: refused where they are published, and bounded where they
//! are not.

use std::time::{Duration, Instant};

use crate::support::{Answer, Up, wait_for};
use serde_json::{Map, Value, json};

/// A pattern that is matched by its states, of which it has some 330.
const HEAVY: &str = "(?:[a-y]?){110}\\b[0-9]{2}";

/// A thread may be held for five milliseconds by a message; a binary without optimisation, on a machine that does other things, takes
/// two hundred times as long. Unbounded the same message took nine seconds of an optimised one.
const PATIENCE: Duration = Duration::from_secs(1);

/// A document of a hundred members with a pattern each, one of them different from the others by its number.
fn heavy(most: u64) -> String {
    let pattern = |n: u32| json!({"type": "string", "maxLength": most, "pattern": format!("{HEAVY}|^{n}$")});
    let members: Map<String, Value> = (0..100).map(|n| (format!("m{n}"), pattern(n))).collect();
    let concept = json!({"type": "object", "properties": members});
    json!({"context": "urn:contexts:heavy:v1.0", "concepts": {"report": concept}}).to_string()
}

fn publish(up: &Up, document: &str) -> (bool, String) {
    let file = up.dir.join("heavy.json");
    std::fs::write(&file, document).unwrap();
    let published = up.semgate(&["context", "publish", file.to_str().unwrap()]);
    (published.status.success(), String::from_utf8_lossy(&published.stderr).into_owned())
}

fn post(up: &Up, context: &str, content: Value) -> (Answer, Duration) {
    let body = json!({
        "protocol": "L8/1.0", "message_id": "m-1", "performative": "INFORM", "sender_id": "retailer-7",
        "receiver_id": up.text("/sample_agent/id"), "context": context, "content": content,
    });
    let began = Instant::now();
    let answer = up.post("retailer-7", up.text("/gateway/l8"), &[], body.to_string().as_bytes());
    (answer, began.elapsed())
}

#[test]
fn attack_a_document_of_slow_patterns_is_refused_and_the_worst_that_is_not_ends_at_the_budget() {
    let up = Up::start();
    let without = heavy(0).replace("\"maxLength\":0,", "");
    let (published, why) = publish(&up, &without);
    assert!(!published && why.contains("used together with `maxLength`") && why.contains("262144"), "{why}");
    let (published, why) = publish(&up, &heavy(104_000));
    assert!(!published && why.contains("steps, more than 750000"), "{why}");
    // as long as the bound on one value lets it be
    let most = (1..500).rev().find(|most| {
        let limits = semgate_contexts::DocumentLimits::default();
        let prefix = semgate_contexts::Prefix::default();
        semgate_contexts::Context::check(heavy(*most).as_bytes(), &prefix, &limits).is_ok()
    });
    let most = most.unwrap();
    assert!(most > 50, "{most}");
    let (published, why) = publish(&up, &heavy(most));
    assert!(published, "{why}");
    let policy = r#"permit(principal == Agent::"spiffe://semgate.test/agent/retailer-7", action, resource is heavy::report);"#;
    std::fs::write(up.path("/policies").join("heavy.cedar"), policy).unwrap();
    // one value is judged
    let one = |text: &str| json!({"concept": "report", "m0": text});
    wait_for("the policy to be live", || {
        let answer = post(&up, "urn:contexts:heavy:v1.0", one("a 12")).0;
        (answer.status == 202).then_some(())
    });
    // every member as long as it may be, and not in ASCII, where the table would do
    let long = format!("é{} 12", "a".repeat(usize::try_from(most).unwrap() - 4));
    let all = |text: &str| {
        let members: Map<String, Value> = (0..100).map(|n| (format!("m{n}"), json!(text))).collect();
        let mut content = json!({"concept": "report"});
        content.as_object_mut().unwrap().extend(members);
        content
    };
    for _ in 0..6 {
        let (answer, took) = post(&up, "urn:contexts:heavy:v1.0", all(&long));
        assert_eq!((answer.status, answer.code().as_str()), (400, "too_complex"));
        assert!(took < PATIENCE, "{took:?}");
        let problem = answer.json();
        assert!(problem["detail"].as_str().unwrap().contains("work limit"), "{problem}");
    }
    // the sender is refused for its message, and nobody else for anything
    let decision = json!({"concept": "current_decision", "item_id": "beer", "quantity": 120});
    let (answer, took) = post(&up, "urn:contexts:supplyChain:v1.0", decision);
    assert_eq!(answer.status, 200);
    assert!(took < PATIENCE, "{took:?}");
    assert!(up.audit().iter().any(|record| record["code"] == "too_complex"), "the refusal is recorded");
}
