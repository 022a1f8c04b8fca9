//! Fault: the policy commands typed by the built-in library, whatever the gateway knew.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::support::gateway::{Gateway, Scripted};
use super::support::policies::{REPLY, message, replies, revision, under};
use super::support::{Up, wait_for};
use super::{semgate, shown, word};

/// A context that no library has.
fn publish_weather(up: &Up) {
    let object = |member: &str| json!({"type": "object", "properties": {member: {"type": "string", "maxLength": 64}}, "required": [member], "additionalProperties": false});
    let document = json!({"context": "urn:contexts:weather:v1.0", "tasks": {"forecast": {"parameters": object("city"), "results": object("sky")}}});
    let file = up.dir.join("weather.json");
    std::fs::write(&file, document.to_string()).unwrap();
    let (status, _, errors) = shown(&up.semgate(&["context", "publish", word(&file)]));
    assert_eq!(status, 0, "{errors}");
}

/// A case of a payment under a version, and the code that it expects.
fn cases(policies: &Path, version: &str, expect: &str) -> PathBuf {
    let content = json!({"concept_type": "transfer", "sender_id": "a", "receiver_id": "b", "amount": 5, "currency": "USD"});
    let sent: serde_json::Value =
        serde_json::from_str(&under(&format!("payment:{version}"), &content)).unwrap();
    let case = json!([{"shows": "a payment", "sender": "retailer-7", "receiver": "wholesaler-1", "message": sent, "expect": expect}]);
    let folder = policies.join("cases");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("payment.json"), case.to_string()).unwrap();
    folder
}

#[test]
fn fault_4_policies_are_typed_by_what_the_gateway_knows() {
    let up = Up::start();
    publish_weather(&up);
    let permit = "permit (principal in Group::\"partners\", action, resource is weather::forecast);\npermit (principal in Group::\"partners\", action, resource is payment::transfer);\n";
    let policies = revision(&up, "weather", &[("weather.cedar", permit.to_owned()), replies()]);
    let (dir, config) = (word(&policies).to_owned(), up.path("/firewall_config"));
    let config = word(&config);

    // without a gateway: by the library, and the command says so
    let (status, faults, errors) = shown(&semgate(&["policy", "check", &dir]));
    assert!(status == 1 && faults.contains("weather"), "{faults}{errors}");
    let by = "typed by the built-in library, 14 contexts; the gateway may know others: add `--config firewall.toml`";
    assert!(errors.lines().any(|line| line == by), "{errors}");

    // with it: by the followers' memory
    wait_for("the gateway to know the new context", || {
        (shown(&semgate(&["policy", "check", &dir, "--config", config])).0 == 0).then_some(())
    });
    let (_, _, errors) = shown(&semgate(&["policy", "check", &dir, "--config", config]));
    let by = format!("typed by what the gateway of `{config}` knows of ");
    assert!(errors.starts_with(&by) && errors.trim_end().ends_with("15 contexts"), "{errors}");
    let (status, matrix, _) = shown(&semgate(&["policy", "matrix", &dir, "--config", config]));
    assert!(status == 0 && matrix.contains("weather::forecast"), "{matrix}");

    // or by the authority itself
    let roots = up.path("/roots");
    let text = std::fs::read_to_string(config).unwrap();
    let key = text.lines().find_map(|line| line.strip_prefix("log_key = ")).unwrap().trim_matches('"');
    let authority = ["--authority", up.text("/authority_url"), "--roots", word(&roots), "--log-key", key];
    let served = semgate(&[&["policy", "matrix", &dir][..], &authority].concat());
    assert_eq!((shown(&served).1, shown(&served).0), (matrix, 0), "{}", shown(&served).2);

    // a revoked version and a floor count as in the gateway
    let v2 = cases(&policies, "v2.0", "context_revoked");
    let file = up.dir.join("weather.json");
    let (_, played, _) = shown(&semgate(&["policy", "test", word(&v2), "--context", word(&file)]));
    assert!(played.contains("expected context_revoked, got permitted"), "{played}");
    assert!(
        up.semgate(&["context", "revoke", "payment:v2.0", "--reason", "wrong rounding"]).status.success()
    );
    wait_for("the gateway to know the revocation", || {
        semgate(&["policy", "test", word(&v2), "--config", config]).status.success().then_some(())
    });
    assert!(semgate(&[&["policy", "test", word(&v2)][..], &authority].concat()).status.success());
    let v1 = cases(&policies, "v1.0", "context_below_floor");
    let (status, played, errors) = shown(&semgate(&["policy", "test", word(&v1), "--config", config]));
    assert_eq!(status, 0, "{played}{errors}");

    // a file counts beside them, in a line of the authority
    let words = ["policy", "check", &dir, "--config", config, "--context", word(&file)];
    assert_eq!(shown(&semgate(&words)).0, 0);
}

#[test]
fn fault_4_a_state_without_contexts_is_no_good_verdict() {
    let up = Up::start();
    let text = std::fs::read_to_string(up.path("/firewall_config")).unwrap();
    let config = up.dir.join("fresh.toml");
    std::fs::write(&config, text.replace("state = \"firewall\"", "state = \"fresh\"")).unwrap();
    let (status, _, errors) = shown(&semgate(&["policy", "check", "--config", word(&config)]));
    assert!(status == 1 && errors.contains("remembers no context of semgate.test"), "{errors}");
    assert!(errors.contains("hint: start the gateway once"), "{errors}");
    assert!(!up.dir.join("fresh").exists(), "a check writes nothing");
}

#[test]
fn fault_4_explain_needs_the_configuration_alone() {
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let gateway = Gateway::before(&up, behind.address, "[audit_values]\n");
    let answer =
        gateway.post(&message(&json!({"concept": "current_decision", "item_id": "beer", "quantity": 1})));
    assert_eq!(answer.status, 200);
    let id = answer.header("semgate-decision").unwrap();
    wait_for("the records", || {
        let text = std::fs::read_to_string(&gateway.audit).ok()?;
        (text.matches(&id).count() == 2).then_some(())
    });
    let config = gateway.audit.parent().unwrap().with_extension("toml");
    let words = ["policy", "explain", "--decision", &id, "--config", word(&config)];
    let (status, explained, errors) = shown(&semgate(&words));
    assert!(status == 0 && explained.contains("supplyChain::current_decision"), "{explained}{errors}");
    let (status, _, errors) = shown(&semgate(&["policy", "explain", "--decision", &id]));
    assert!(status == 2 && errors.contains("its log with `--audit` or `--config`"), "{errors}");
}
