//! The whole, through the running binary: what an operator and an agent see.

use crate::support;

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{SEMGATE, Up, wait_for};

const DECISION: &str = r#"{"item_id":"beer","quantity":120}"#;
const TRANSFER: &str = r#"{"sender_id":"acct-1","receiver_id":"acct-2","amount":100,"currency":"USD"}"#;

#[test]
fn the_demo_plays_the_papers_scenes_and_every_verdict_is_right() {
    let output = Command::new(SEMGATE).arg("demo").output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{shown}{}", String::from_utf8_lossy(&output.stderr));
    for code in [
        "policy_denied",
        "concept_undefined",
        "context_untrusted",
        "context_below_floor",
        "ambiguity_limited",
        "context_revoked",
        "duplicate_key",
    ] {
        assert!(shown.contains(code), "no scene ends in `{code}`:\n{shown}");
    }
    assert!(!shown.contains("WRONG"), "{shown}");
    // what it revokes stays revoked, so it plays nowhere twice
    let used = tempfile::tempdir().unwrap();
    std::fs::write(used.path().join("up.json"), "{}").unwrap();
    let again = Command::new(SEMGATE).arg("demo").arg("--dir").arg(used.path()).output().unwrap();
    let why = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(!again.status.success() && why.contains("is not empty"), "{why}");
}

#[test]
fn up_json_says_where_everything_is_and_keys_are_private() {
    let up = Up::start();
    for pointer in ["/authority_url", "/gateway/l8", "/gateway/a2a"] {
        assert!(up.text(pointer).starts_with("https://127.0.0.1:"), "{pointer}");
    }
    for pointer in ["/admin_url", "/sample_agent/url"] {
        assert!(up.text(pointer).starts_with("http://127.0.0.1:"), "{pointer}");
    }
    for name in ["retailer-7", "public-webapp-3", "treasurer-1"] {
        let key = up.path(&format!("/agents/{name}/key"));
        assert_eq!(std::fs::metadata(key).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
        let chain = std::fs::read_to_string(up.path(&format!("/agents/{name}/cert"))).unwrap();
        assert!(chain.matches("BEGIN CERTIFICATE").count() >= 2, "leaf and issuing certificate of {name}");
    }
    assert_eq!(
        up.json.pointer("/agents/treasurer-1/credentials").unwrap(),
        &json!(["high-value-authorized"])
    );
    for pointer in ["/authority_config", "/firewall_config", "/policies", "/roots"] {
        assert!(up.path(pointer).exists(), "{pointer}");
    }
    assert_eq!(support::plain_get(&format!("{}/readyz", up.text("/admin_url"))).status, 200);
}

#[test]
fn say_ends_with_0_when_allowed_and_3_when_refused_and_finds_its_record() {
    let up = Up::start();
    let (status, said) = up.say(&["supplyChain:v1.0", "current_decision", DECISION]);
    assert_eq!((status, said["verdict"].as_str()), (0, Some("ALLOWED")), "{said}");
    assert_eq!(up.received(), 1);

    let contingency = r#"{"if_condition_text":"a","then_change_text":"b"}"#;
    let (status, said) =
        up.say(&["supplyChain:v1.0", "decision_contingency", contingency, "--as", "public-webapp-3"]);
    assert_eq!((status, said["code"].as_str()), (3, Some("policy_denied")), "{said}");
    assert_eq!(said["delivered"], "no");
    assert_eq!(up.received(), 1, "nothing refused reaches the agent");

    let id = said["decision_id"].as_str().unwrap();
    let record = wait_for("the audit record", || up.audit().into_iter().find(|r| r["decision_id"] == id));
    assert_eq!(record["verdict"], "refused");
    assert_eq!(record["code"], "policy_denied");
    assert_eq!(record["sender"], "spiffe://semgate.test/agent/public-webapp-3");
    for member in [
        "time",
        "n",
        "direction",
        "receiver",
        "protocol",
        "performative",
        "context",
        "digest",
        "concepts",
        "policies",
        "generation",
        "duration_us",
    ] {
        assert!(record.get(member).is_some(), "no `{member}` in {record}");
    }
}

#[test]
fn amounts_are_compared_exactly_and_credentials_open_the_way() {
    let up = Up::start();
    let amounts = [
        ("10000", "retailer-7", 0),
        ("10000.0001", "retailer-7", 3),
        ("1.2e4", "retailer-7", 3),
        ("12000.0", "treasurer-1", 0),
    ];
    for (amount, agent, expected) in amounts {
        let transfer = TRANSFER.replace("100,", &format!("{amount},"));
        let (status, said) = up.say(&["payment:v1.1", "transfer", &transfer, "--as", agent]);
        assert_eq!(status, expected, "{amount} by {agent}: {said}");
    }
}

/// What a message may be named, and what comes of it. Each is refused before anything reaches the agent.
#[test]
fn every_bad_input_has_its_own_code_and_nothing_reaches_the_agent() {
    let up = Up::start();
    let l8 = up.text("/gateway/l8").to_owned();
    let message = |changes: &[(&str, Value)]| {
        let mut message = json!({
            "protocol": "L8/1.0", "message_id": "m-1", "performative": "INFORM", "sender_id": "retailer-7",
            "receiver_id": "wholesaler-1", "context": "urn:contexts:supplyChain:v1.0",
            "content": {"concept": "current_decision", "item_id": "beer", "quantity": 120}});
        for (name, value) in changes {
            match value {
                Value::Null => drop(message.as_object_mut().unwrap().remove(*name)),
                value => message[*name] = value.clone(),
            }
        }
        message.to_string()
    };
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let cases: Vec<(&str, String, &str)> = vec![
        ("sender is another", message(&[("sender_id", json!("treasurer-1"))]), "sender_mismatch"),
        (
            "receiver is not behind this route",
            message(&[("receiver_id", json!("bank-1"))]),
            "receiver_mismatch",
        ),
        ("no context", message(&[("context", Value::Null)]), "context_missing"),
        (
            "a version that was never published",
            message(&[("context", json!("urn:contexts:payment:v9.9"))]),
            "context_unknown",
        ),
        (
            "a line that no policy mentions",
            message(&[("context", json!("urn:contexts:weather:v1.0"))]),
            "policy_denied",
        ),
        (
            "below the floor",
            message(&[("context", json!("urn:contexts:payment:v1.0"))]),
            "context_below_floor",
        ),
        (
            "another digest",
            message(&[("digest", json!(format!("sha-256:{}", "0".repeat(64))))]),
            "context_untrusted",
        ),
        ("a lock that nobody gave", message(&[("lock", json!("abc"))]), "lock_mismatch"),
        ("an undefined concept", message(&[("content", json!({"my_mood": "happy"}))]), "concept_undefined"),
        (
            "content that does not fit",
            message(&[(
                "content",
                json!({"concept": "current_decision", "item_id": "beer", "quantity": -1}),
            )]),
            "content_invalid",
        ),
        ("a member that is not named", message(&[("cc", json!("x"))]), "malformed"),
        ("a key twice", message(&[]).replacen("{", r#"{"protocol":"L8/1.0","#, 1), "duplicate_key"),
        ("a key that differs in case", message(&[("Sender_ID", json!("retailer-7"))]), "duplicate_key"),
        ("bytes after the end", format!("{} x", message(&[])), "malformed"),
        ("a lone surrogate", message(&[]).replace("beer", r"\ud800"), "malformed"),
        ("too deep", message(&[]).replace("120", &deep), "too_deep"),
        (
            "too many nodes",
            message(&[]).replace("120", &format!("[{}1]", "1,".repeat(30_000))),
            "too_complex",
        ),
    ];
    for (what, body, code) in cases {
        let answer = up.post("retailer-7", &l8, &[], body.as_bytes());
        assert_eq!(answer.code(), code, "{what}: {}", String::from_utf8_lossy(&answer.body));
        assert!(answer.json()["hint"].is_string(), "{what}: a refusal says what to do");
        assert!(answer.header("semgate-decision").is_some(), "{what}");
    }
    assert_eq!(up.received(), 0);
}

#[test]
fn a_repeated_message_id_is_no_fault() {
    let up = Up::start();
    let l8 = up.text("/gateway/l8").to_owned();
    let body = r#"{"protocol":"A2A/1.0","message_id":"same","performative":"INFORM","sender_id":"retailer-7","receiver_id":"wholesaler-1","context":"urn:contexts:supplyChain:v1.0","content":{"concept":"current_decision","item_id":"beer","quantity":1.2e2}}"#;
    for _ in 0..2 {
        assert_eq!(up.post("retailer-7", &l8, &[], body.as_bytes()).status, 200);
    }
}

#[test]
fn a_revoked_context_is_refused_within_a_second_and_stays_revoked_across_a_restart() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("up");
    let up = Up::start_in(&dir);
    let (status, said) = up.say(&["supplyChain:v1.0", "current_decision", DECISION]);
    assert_eq!(status, 0, "{said}");
    let revoked = up.semgate(&["context", "revoke", "supplyChain:v1.0", "--reason", "test"]);
    assert!(revoked.status.success(), "{}", String::from_utf8_lossy(&revoked.stderr));
    let began = Instant::now();
    let refused = || {
        (up.say(&["supplyChain:v1.0", "current_decision", DECISION]).1["code"] == "context_revoked")
            .then_some(())
    };
    wait_for("the refusal", refused);
    // The bound of the promise is a second; a debug build on a busy machine is given five.
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    up.stop();
    let up = Up::start_in(&dir);
    assert_eq!(up.say(&["supplyChain:v1.0", "current_decision", DECISION]).1["code"], "context_revoked");
}

/// A revocation takes away its own context, not the policies of the others: also for a gateway that starts without memory.
#[test]
fn a_fresh_gateway_after_a_revocation_still_serves_every_other_context() {
    let up = Up::start();
    assert!(up.semgate(&["context", "revoke", "supplyChain:v1.0"]).status.success());
    let agent =
        support::gateway::Scripted::answering(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_vec());
    let gateway = support::gateway::Gateway::before(&up, agent.address, "");
    let message = |urn: &str, content: Value| {
        json!({"protocol": "L8/1.0", "message_id": "m", "performative": "REQUEST", "sender_id": "retailer-7",
            "receiver_id": "wholesaler-1", "context": urn, "content": content})
        .to_string()
    };
    let flight =
        json!({"task": "bookFlight", "origin_code": "LAX", "dest_code": "JFK", "date": "2025-11-04"});
    assert_eq!(gateway.post(&message("urn:contexts:travel:v2.1", flight)).status, 202);
    let decision = json!({"concept": "current_decision", "item_id": "beer", "quantity": 1});
    assert_eq!(gateway.post(&message("urn:contexts:supplyChain:v1.0", decision)).code(), "context_revoked");
}

#[test]
fn floors_rise_and_are_followed() {
    let up = Up::start();
    assert_eq!(up.say(&["payment:v1.1", "transfer", TRANSFER]).0, 0);
    let raised = up.semgate(&["context", "floor", "payment", "v2.0"]);
    assert!(raised.status.success(), "{}", String::from_utf8_lossy(&raised.stderr));
    wait_for("the refusal", || {
        (up.say(&["payment:v1.1", "transfer", TRANSFER]).1["code"] == "context_below_floor").then_some(())
    });
    assert_eq!(up.say(&["payment:v2.0", "transfer", TRANSFER]).0, 0);
    let lowered = up.semgate(&["context", "floor", "payment", "v1.0"]);
    assert!(!lowered.status.success(), "floors are never lowered");
}

#[test]
fn a_new_context_is_published_followed_and_used_once_a_policy_allows_it() {
    let up = Up::start();
    let document = up.dir.join("weather.json");
    let text = r#"{"context":"urn:contexts:weather:v1.0","concepts":{"report":{"type":"object","properties":{"celsius":{"type":"integer"}},"required":["celsius"]}},"tasks":{},"codes":{}}"#;
    std::fs::write(&document, text).unwrap();
    let published = up.semgate(&["context", "publish", document.to_str().unwrap()]);
    assert!(published.status.success(), "{}", String::from_utf8_lossy(&published.stderr));
    assert_eq!(up.say(&["weather:v1.0", "report", r#"{"celsius":3}"#]).1["code"], "policy_denied");
    let policy = r#"permit(principal == Agent::"spiffe://semgate.test/agent/retailer-7", action, resource is weather::report);"#;
    std::fs::write(up.path("/policies").join("weather.cedar"), policy).unwrap();
    wait_for("the policy to be live", || {
        (up.say(&["weather:v1.0", "report", r#"{"celsius":3}"#]).0 == 0).then_some(())
    });
    assert_eq!(up.say(&["weather:v1.0", "report", r#"{"celsius":"3"}"#]).1["code"], "content_invalid");
}

#[test]
fn a_broken_policy_never_goes_live_and_the_last_good_set_stays() {
    let up = Up::start();
    let file = up.path("/policies").join("broken.cedar");
    std::fs::write(
        &file,
        "permit(principal, action, resource is payment::transfer) when { resource.amonut > 3 };",
    )
    .unwrap();
    let check = Command::new(SEMGATE)
        .args(["policy", "check", "--solver", "none"])
        .arg(up.path("/policies"))
        .output()
        .unwrap();
    assert!(!check.status.success());
    assert!(
        String::from_utf8_lossy(&check.stdout).contains("amonut"),
        "{}",
        String::from_utf8_lossy(&check.stdout)
    );
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(up.say(&["payment:v1.1", "transfer", TRANSFER]).0, 0);
}

#[test]
fn the_gateway_does_not_start_without_policies() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("up");
    Up::start_in(&dir).stop();
    for file in std::fs::read_dir(dir.join("policies")).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_some_and(|e| e == "cedar") {
            std::fs::remove_file(file).unwrap();
        }
    }
    let output = Command::new(SEMGATE)
        .args(["firewall", "run", "--config"])
        .arg(dir.join("firewall.toml"))
        .output()
        .unwrap();
    assert!(!output.status.success());
    let shown = String::from_utf8_lossy(&output.stderr).to_lowercase();
    assert!(shown.contains("polic"), "{shown}");
}

#[test]
fn a_second_up_in_one_directory_leaves_the_first_alone() {
    let up = Up::start();
    let second = Command::new(SEMGATE).args(["up", "--dir"]).arg(&up.dir).output().unwrap();
    assert!(!second.status.success());
    assert!(String::from_utf8_lossy(&second.stderr).contains("another `up` runs"));
    assert_eq!(up.say(&["supplyChain:v1.0", "current_decision", DECISION]).0, 0);
}
