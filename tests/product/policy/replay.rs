//! `policy explain` and `policy replay`: what was decided, and what other policies would decide.

use super::support::gateway::{Gateway, Scripted};
use super::support::{Up, wait_for};
use super::{change, copied, policy, rules, word};
use serde_json::{Value, json};

fn message(context: &str, performative: &str, content: &Value) -> String {
    json!({
        "protocol": "L8/1.0", "message_id": "m-1", "performative": performative, "sender_id": "retailer-7",
        "receiver_id": "wholesaler-1", "context": format!("urn:contexts:{context}"), "content": content,
    })
    .to_string()
}

fn payment(amount: u64) -> String {
    let transfer = json!({"concept_type": "transfer", "sender_id": "acct-secret", "receiver_id": "acct-2", "amount": amount, "currency": "USD"});
    message("payment:v1.1", "REQUEST", &transfer)
}

fn paper() -> String {
    let content = json!({
        "my_decision": {"concept_type": "current_decision", "item_id": "beer", "quantity": 120},
        "my_flexibility": {"concept_type": "decision_contingency", "if_condition_text": "demand increases", "then_change_text": "order more"},
    });
    message("supplyChain:v1.0", "INFORM", &content)
}

#[test]
fn replay_says_exactly_which_recorded_decision_another_payment_policy_would_change() {
    let up = Up::start();
    // cases may lie below a live directory
    std::fs::create_dir(up.path("/policies").join("cases")).unwrap();
    std::fs::write(up.path("/policies").join("cases/none.json"), "no JSON").unwrap();
    let behind = Scripted::answering(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec());
    let keep = "[audit_values]\n\"payment::transfer.amount\" = \"values\"\n";
    let gateway = Gateway::before(&up, behind.address, keep);
    for (body, status) in [(paper(), 204), (payment(120), 204), (payment(9_000), 204), (payment(12_000), 403)]
    {
        assert_eq!(gateway.post(&body).status, status, "{body}");
    }
    let asked: Vec<Value> = wait_for("the records", || {
        let text = std::fs::read_to_string(&gateway.audit).ok()?;
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = whole.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let asked: Vec<Value> = lines.filter(|line| line["asked"].is_object()).collect();
        (asked.len() == 4).then_some(asked)
    });
    let text = std::fs::read_to_string(&gateway.audit).unwrap();
    assert!(
        !text.contains("acct-secret") && !text.contains("demand"),
        "values that nobody asked for: {text}"
    );
    let of_amount = |amount: u64| {
        let is = |line: &&Value| line["asked"]["questions"][0]["values"]["amount"] == json!(amount);
        asked.iter().find(is).unwrap()["decision_id"].as_str().unwrap()
    };
    let log = word(&gateway.audit);

    let (status, shown, errors) = policy(&["replay", log, "--policies", word(&rules()), "--fail-on-change"]);
    assert_eq!(status, 0, "the same policies change nothing: {shown}{errors}");
    assert!(shown.starts_with("0 would change, 4 would not, 0 cannot be decided"), "{shown}");

    let candidate = copied();
    change(&candidate.path().join("payment.cedar"), "decimal(\"10000.0\")", "decimal(\"5000.0\")");
    let words = ["replay", log, "--policies", word(candidate.path()), "--fail-on-change", "--json"];
    let (status, shown, errors) = policy(&words);
    let report: Value = serde_json::from_str(&shown).unwrap_or_else(|e| panic!("{e}: {shown}{errors}"));
    let changed = report["changed"].as_array().unwrap();
    assert_eq!((status, changed.len()), (1, 1), "{report}");
    assert_eq!(changed[0]["decision_id"], of_amount(9_000));
    assert_eq!((&changed[0]["then"], &changed[0]["now"]), (&json!("permitted"), &json!("denied")));
    assert_eq!(changed[0]["then_by"], json!(["lines.cedar#transfers"]));
    assert_eq!(changed[0]["now_by"], json!(["payment.cedar#high-value"]));

    // back again: what was denied would pass
    let candidate = copied();
    change(&candidate.path().join("payment.cedar"), "decimal(\"10000.0\")", "decimal(\"20000.0\")");
    let (_, shown, _) = policy(&["replay", log, "--policies", word(candidate.path())]);
    let line = format!(
        "{} spiffe://semgate.test/agent/retailer-7 payment::transfer: denied by payment.cedar#high-value -> permitted by lines.cedar#transfers",
        of_amount(12_000)
    );
    assert!(shown.lines().next() == Some(&line), "{shown}");

    // a candidate that reads what was not kept is not guessed at
    let candidate = copied();
    let euros =
        "forbid (principal, action, resource is payment::transfer) when { resource.currency == \"EUR\" };\n";
    std::fs::write(candidate.path().join("euros.cedar"), euros).unwrap();
    let gate = ["replay", log, "--policies", word(candidate.path()), "--fail-on-change"];
    let (status, shown, errors) = policy(&gate);
    assert_eq!(status, 3, "a gate does not pass on what it cannot tell: {shown}");
    assert!(errors.contains("2 decision(s) cannot be decided"), "{errors}");
    assert_eq!(policy(&[&gate[..], &["--allow-undecided"]].concat()).0, 0);
    assert!(
        shown.contains("cannot be decided: it depends on values that were not kept: resource.currency"),
        "{shown}"
    );
    assert!(
        shown.contains("0 would change, 2 would not, 2 cannot be decided"),
        "12000 is denied whatever it is in: {shown}"
    );

    let id = of_amount(12_000);
    let (status, shown, errors) =
        policy(&["explain", "--decision", id, "--audit", log, "--policies", word(&rules())]);
    assert_eq!(status, 0, "{errors}");
    for line in [
        "refused (policy_denied), as it was decided; explained by the policies named here",
        "    forbid payment.cedar#high-value (payment.cedar:6:1)",
        "      payment.cedar:13:1 when resource.amount.greaterThan(decimal(\"10000.0\")): true",
        "      payment.cedar:14:1 unless principal.credentials.contains(\"high-value-authorized\"): false",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "no `{line}` in:\n{shown}");
    }
    // which set decided is said first
    let digest =
        |dir: &std::path::Path| semgate_policies::PolicySource::read_dir(dir).unwrap().digest().to_string();
    let (decided, other) = (digest(&up.path("/policies")), digest(candidate.path()));
    let explain = |dir: &std::path::Path| {
        let (_, shown, _) = policy(&["explain", "--decision", id, "--audit", log, "--policies", word(dir)]);
        shown.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        explain(&up.path("/policies")),
        format!("explained by the policies that decided it, {decided}")
    );
    assert!(
        explain(candidate.path()).starts_with(&format!(
            "these are not the policies that decided it: it was decided by {decided}, and is explained by {other},"
        )),
        "{}",
        explain(candidate.path())
    );
    let (status, _, errors) = policy(&["explain", "--decision", "none", "--audit", log]);
    assert!(status == 1 && !errors.is_empty(), "{errors}");
}

#[test]
fn every_record_of_a_decision_is_explained_and_so_is_what_a_permit_asks_a_human() {
    let up = Up::start();
    let asks = "@id(\"large\") @approve(\"the treasurer signs these\") permit (principal in Group::\"partners\", action == Action::\"REQUEST\", \
                resource is payment::transfer) when { resource.amount.greaterThan(decimal(\"500.0\")) };\n";
    std::fs::write(up.path("/policies").join("large.cedar"), asks).unwrap();
    let told = json!({"protocol": "L8/1.0", "message_id": "m-2", "performative": "INFORM", "sender_id": "wholesaler-1",
        "receiver_id": "retailer-7", "context": "urn:contexts:supplyChain:v1.0",
        "content": {"concept": "current_decision", "item_id": "beer", "quantity": 2}});
    let behind = Scripted::saying(told.to_string());
    let keep = "[audit_values]\n\"payment::transfer.amount\" = \"values\"\n";
    let gateway = Gateway::before(&up, behind.address, keep);
    assert_eq!(gateway.post(&paper()).status, 200);
    let refused = gateway.post(&payment(900));
    assert_eq!((refused.status, refused.code().as_str()), (202, "approval_pending"));
    let records: Vec<Value> = wait_for("the records", || {
        let text = std::fs::read_to_string(&gateway.audit).ok()?;
        let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        lines.iter().any(|line| line["code"] == "approval_pending").then_some(lines)
    });
    let decision = |code: &Value| {
        records.iter().find(|line| line["code"] == *code).unwrap()["decision_id"].as_str().unwrap()
    };
    let policies = up.path("/policies");
    let explain = |id: &str| {
        let words =
            ["explain", "--decision", id, "--audit", word(&gateway.audit), "--policies", word(&policies)];
        let (status, shown, errors) = policy(&words);
        assert_eq!(status, 0, "{errors}");
        shown
    };
    let shown = explain(decision(&Value::Null));
    let headlines: Vec<&str> = shown.lines().filter(|line| line.contains("as it was decided")).collect();
    let as_decided = "as it was decided; explained by the policies named here";
    assert_eq!(
        headlines,
        [format!("allowed, {as_decided}"), format!("reply allowed, {as_decided}")],
        "{shown}"
    );
    assert!(shown.contains("supplyChain::decision_contingency: permitted"), "{shown}");
    let shown = explain(decision(&json!("approval_pending")));
    for line in ["payment::transfer: approval", "      asks a human: the treasurer signs these"] {
        assert!(shown.lines().any(|shown| shown == line), "no `{line}` in:\n{shown}");
    }
}

#[test]
fn a_candidate_that_stops_redacting_a_reply_is_a_change() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("audit.jsonl");
    let (_, travel) =
        semgate_contexts::library::all().iter().find(|(name, _)| name.contains("travel")).unwrap();
    let urn = "urn:contexts:travel:v2.1";
    let context = semgate_contexts::Context::check(
        travel,
        &semgate_contexts::Prefix::default(),
        &semgate_contexts::DocumentLimits::default(),
    );
    let digest = context.unwrap().digest().to_string();
    let question = json!({"context": urn, "digest": digest, "shape": "bookFlight_results", "learnt": false, "performative": "INFORM",
        "verdict": "permitted", "policies": ["own.cedar#no-reference"], "free_text": false, "values": {}, "digests": {}, "unkept": ["status"]});
    let around = json!({"now": 1, "protocol_version": "", "session_expires": null, "message_bytes": 9, "concepts": 1, "ambiguous": 0,
        "sender_shows": {}, "receiver_shows": {}});
    let record = |redacted: &[&str]| {
        json!({"n": 1, "decision_id": "d", "sender": "spiffe://semgate.test/agent/wholesaler-1", "receiver": "spiffe://semgate.test/agent/retailer-7",
            "protocol": "l8", "direction": "reply", "redacted": redacted, "asked": {"around": around, "questions": [question]}})
    };
    let replay = |redacted: &[&str]| {
        std::fs::write(&log, format!("{}\n", record(redacted))).unwrap();
        policy(&["replay", word(&log), "--policies", word(&rules()), "--fail-on-change"])
    };
    let (status, shown, errors) = replay(&["bookFlight.booking_reference"]);
    let line = "d spiffe://semgate.test/agent/wholesaler-1 travel::bookFlight_results: permitted by own.cedar#no-reference, without \
                bookFlight.booking_reference -> permitted by lines.cedar#reply-travel";
    assert_eq!((status, shown.lines().next()), (1, Some(line)), "{shown}{errors}");
    let (status, shown, errors) = replay(&[]);
    assert!(status == 0 && shown.starts_with("0 would change, 1 would not"), "{shown}{errors}");
}

#[test]
fn a_gate_does_not_pass_on_a_log_of_which_nothing_can_be_replayed() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("audit.jsonl");
    let record = json!({"n": 1, "decision_id": "x", "verdict": "permitted"});
    for text in [String::new(), format!("{record}\n")] {
        std::fs::write(&log, text).unwrap();
        let rules = rules();
        let words = ["replay", word(&log), "--policies", word(&rules)];
        let (status, _, errors) = policy(&[&words[..], &["--fail-on-change", "--allow-undecided"]].concat());
        assert_eq!(status, 3, "{errors}");
        assert!(
            errors.contains("nothing could be replayed: no record of the log holds what was asked"),
            "{errors}"
        );
        assert_eq!(policy(&words).0, 0, "without the gate it is a report");
    }
}

#[test]
fn a_member_that_records_could_never_keep_is_told_of_and_no_check_passes_with_it() {
    let up = Up::start();
    let behind = Scripted::answering(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec());
    let keep = "[audit_values]\n\"payment::transfer.amuont\" = \"values\"\n\"paymnt::transfer.amount\" = \"digests\"\n\"payment::transfer.currency\" = \"values\"\n[floors]\npaiment = \"v2.0\"\n";
    let gateway = Gateway::before(&up, behind.address, keep);
    let wrong = [
        "`payment::transfer.amuont`: `payment::transfer` has no member `amuont` (did you mean `amount`?)",
        "`paymnt::transfer.amount`: no context has the type `paymnt::transfer` (`transfer` is known as `payment::transfer`)",
    ];
    let status = super::support::plain_get(&format!("http://{}/status", gateway.admin)).json();
    let nothing = "no context has the line `paiment`, so its floor has no effect (did you mean `payment`?)";
    let mut warnings = wrong.map(|why| format!("audit_values: {why}")).to_vec();
    warnings.push(format!("floors: {nothing}"));
    assert_eq!(status["policies"]["warnings"], json!(warnings), "{status}");
    let warned = |line: &str| line.contains("WARN") && line.contains("paiment");
    wait_for("the floor of no line in the log too", || gateway.log().lines().any(warned).then_some(()));
    // it judges messages all the same, and keeps what there is
    assert_eq!(gateway.post(&payment(120)).status, 204);
    let config = gateway.audit.parent().unwrap().with_extension("toml");
    let check = || {
        let words = ["firewall", "check", "--config", config.to_str().unwrap()];
        std::process::Command::new(super::support::SEMGATE).args(words).output().unwrap()
    };
    let output = check();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{errors}");
    for why in wrong {
        assert!(errors.contains(why), "{errors}");
    }
    let text = std::fs::read_to_string(&config).unwrap();
    let good = text.replace("amuont", "amount").replace("\"paymnt::transfer.amount\" = \"digests\"\n", "");
    std::fs::write(&config, good).unwrap();
    let output = check();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains(&format!("warning: `[floors]`: {nothing}")), "a line may come later: {errors}");
}

#[test]
fn a_sender_whom_no_policy_lets_use_a_line_is_told_to_the_operator_with_the_permits_that_come_near() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("message.json");
    let body = payment(12).replace("\"retailer-7\"", "\"spiffe://semgate.test/agent/nobody\"");
    std::fs::write(&file, body).unwrap();
    let words = [
        "explain",
        "--message",
        word(&file),
        "--sender",
        "spiffe://semgate.test/agent/nobody",
        "--receiver",
        "wholesaler-1",
    ];
    let (status, shown, errors) = policy(&[&words[..], &["--policies", word(&rules())]].concat());
    assert_eq!(status, 0, "{errors}");
    assert!(shown.starts_with("policy_denied"), "{shown}");
    for line in [
        "payment::transfer: denied",
        "    permit lines.cedar#transfers (lines.cedar:26:1)",
        "      scope: the sender would have to be in the group `partners`",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "no `{line}` in:\n{shown}");
    }
}

#[test]
fn a_call_of_a_tool_over_mcp_is_explained_by_the_context_that_its_route_pins() {
    let rules = copied();
    let (file, tools) = (rules.path().join("call.json"), rules.path().join("tools.json"));
    let whole = json!({"type": "integer"});
    let pin = format!("mcp-tool add sha-256:{}", "0".repeat(64));
    let parameters = json!({"$comment": pin, "type": "object", "properties": {"a": whole, "b": whole}, "required": ["a", "b"],
        "additionalProperties": false});
    let results = json!({"type": "object", "properties": {"sum": whole}, "required": ["sum"], "additionalProperties": false});
    let document = json!({"context": "urn:contexts:acme.tools:v1.0", "tasks": {"add": {"parameters": parameters, "results": results,
        "performatives": ["REQUEST", "INFORM"]}}});
    std::fs::write(&tools, document.to_string()).unwrap();
    let permit = "@id(\"adds\") permit (principal in Group::\"partners\", action == Action::\"REQUEST\", resource is acme::tools::add)\n\
                  when { context.binding == \"mcp\" && resource.a < 1000 };\n";
    std::fs::write(rules.path().join("tools.cedar"), permit).unwrap();
    let explain = |a: u32, more: &[&str]| {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {"a": a, "b": 2}}});
        std::fs::write(&file, call.to_string()).unwrap();
        let words = [
            "explain",
            "--message",
            word(&file),
            "--sender",
            "retailer-7",
            "--receiver",
            "wholesaler-1",
            "--protocol",
            "mcp",
        ];
        let beside = ["--policies", word(rules.path()), "--context", word(&tools)];
        policy(&[&words[..], &beside, more].concat())
    };
    let (status, shown, errors) = explain(1, &["--pinned", "acme.tools:v1.0"]);
    assert_eq!(status, 0, "{errors}");
    assert!(shown.starts_with("permitted\n\nacme::tools::add: permitted\n"), "{shown}");
    for line in [
        "    permit tools.cedar#adds (tools.cedar:1:1)",
        "      tools.cedar:2:1 when context.binding == \"mcp\": true",
        "      tools.cedar:2:1 when resource.a < 1000: true",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "no `{line}` in:\n{shown}");
    }
    let (status, shown, _) =
        explain(1000, &["--pinned", "acme.tools:v1.0", "--binding-version", "2025-11-25"]);
    assert!(status == 0 && shown.starts_with("policy_denied") && shown.contains("came near"), "{shown}");
    assert!(shown.contains("resource.a") && shown.contains(": false"), "{shown}");
    // without it the call names no context
    let (_, shown, errors) = explain(1, &[]);
    assert!(shown.starts_with("context_missing"), "{shown}{errors}");
}

#[test]
fn a_message_is_explained_with_the_policies_that_decided_and_what_would_have_to_change() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("message.json");
    let explain = |body: &str| {
        std::fs::write(&file, body).unwrap();
        let words = [
            "explain",
            "--message",
            word(&file),
            "--sender",
            "retailer-7",
            "--receiver",
            "wholesaler-1",
            "--policies",
        ];
        policy(&[&words[..], &[word(&rules())]].concat())
    };
    let (status, shown, errors) = explain(&payment(12_000));
    assert_eq!(status, 0, "{errors}");
    assert!(shown.starts_with("policy_denied"), "{shown}");
    let condition = "when resource.amount.greaterThan(decimal(\"10000.0\")): true";
    assert!(shown.contains(condition), "{shown}");
    assert!(shown.contains("  applies too:\n    permit lines.cedar#transfers"), "{shown}");
    let (_, shown, _) = explain(&payment(12));
    assert!(shown.starts_with("permitted"), "{shown}");
    let (_, shown, _) = explain(&payment(12).replace("USD", "no code"));
    assert!(
        shown.starts_with("content_invalid") && shown.contains("no policy condition was evaluated"),
        "{shown}"
    );
}

#[test]
fn attack_a_message_too_large_to_be_kept_blocks_no_gate_and_who_is_disabled_is_named() {
    let around = json!({
        "now": 1_800_000_000, "protocol_version": "", "session_expires": null, "message_bytes": 300, "concepts": 1, "ambiguous": 0,
        "sender_shows": {}, "receiver_shows": {},
    });
    let contexts = semgate_contexts::library::all().iter().map(|(_, bytes)| {
        use semgate_contexts::{Context, DocumentLimits, Prefix};
        Context::check(bytes, &Prefix::default(), &DocumentLimits::default()).unwrap()
    });
    let mut payments = contexts.filter(|one| one.urn().as_str() == "urn:contexts:payment:v1.1");
    let digest = payments.next().unwrap().digest().to_string();
    let question = json!({
        "context": "urn:contexts:payment:v1.1", "digest": digest, "shape": "transfer", "learnt": false, "performative": "REQUEST",
        "verdict": "permitted", "policies": ["lines.cedar#transfers"], "free_text": false,
        "values": {"amount": 120}, "digests": {}, "unkept": ["currency", "receiver_id", "sender_id"],
    });
    let record = |n: usize, asked: &Value| {
        let record = json!({
            "n": n, "decision_id": format!("d{n}"), "sender": "spiffe://semgate.test/agent/retailer-7",
            "receiver": "spiffe://semgate.test/agent/wholesaler-1", "protocol": "l8", "direction": "request", "asked": asked,
        });
        format!("{record}\n")
    };
    let small = record(1, &json!({"around": around, "questions": [question]}));
    let large = record(2, &json!({"too_large": 70_000}));
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("audit.jsonl");
    let gate = |text: &str, policies: &std::path::Path| {
        std::fs::write(&log, text).unwrap();
        policy(&["replay", word(&log), "--policies", word(policies), "--fail-on-change"])
    };
    let (status, shown, errors) = gate(&format!("{small}{large}"), &rules());
    assert_eq!(status, 0, "{shown}{errors}");
    let told = "0 would change, 1 would not, 0 cannot be decided; 1 record(s) do not hold what was asked\n";
    assert_eq!(shown, told, "{errors}");
    // a reply without a concept, as older versions recorded it
    let nothing = record(3, &json!({"around": {}, "questions": []}));
    let (status, shown, errors) = gate(&format!("{small}{nothing}"), &rules());
    assert_eq!((status, &*shown), (0, told), "{errors}");
    let (status, _, errors) = gate(&large, &rules());
    assert_eq!(status, 3, "a gate does not pass on nothing");
    assert!(errors.contains("no record of the log holds what was asked"), "{errors}");

    let candidate = copied();
    let id = "\"id\": \"spiffe://semgate.test/agent/retailer-7\",";
    change(&candidate.path().join("entities.json"), id, &format!("{id} \"disabled\": true,"));
    let (status, shown, errors) = gate(&small, candidate.path());
    assert_eq!(status, 1, "{shown}{errors}");
    let told =
        "permitted by lines.cedar#transfers -> denied: `spiffe://semgate.test/agent/retailer-7` is disabled";
    assert!(shown.lines().next().is_some_and(|line| line.ends_with(told)), "{shown}");
}

#[test]
fn a_set_with_a_forbid_that_covers_a_permit_is_explained_and_one_that_does_not_parse_is_not() {
    let up = Up::start();
    let keep = "[audit_values]\n\"payment::transfer.amount\" = \"values\"\n";
    let behind = Scripted::answering(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec());
    let gateway = Gateway::before(&up, behind.address, keep);
    assert_eq!(gateway.post(&payment(120)).status, 204);
    let live = up.path("/policies");
    let stop = "@id(\"stop\") forbid (principal, action, resource is payment::transfer);\n";
    std::fs::write(live.join("stop.cedar"), stop).unwrap();
    wait_for("the stop", || (gateway.post(&payment(120)).status == 403).then_some(()));
    let denied = wait_for("the record", || {
        let text = std::fs::read_to_string(&gateway.audit).ok()?;
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.rev().find(|line| line["code"] == "policy_denied")
    });
    let id = denied["decision_id"].as_str().unwrap();
    let message = up.dir.join("message.json");
    std::fs::write(&message, payment(120)).unwrap();
    let (log, live) = (word(&gateway.audit), word(&live));
    let sent = ["--sender", "retailer-7", "--receiver", "wholesaler-1"];
    let decided = ["explain", "--decision", id, "--audit", log, "--policies", live];
    let asked = [&["explain", "--message", word(&message), "--policies", live][..], &sent].concat();
    for (words, shows) in [
        (&decided[..], "forbid stop.cedar#stop"),
        (&asked, "forbid stop.cedar#stop"),
        (&["matrix", live], "payment::transfer"),
        (&["replay", log, "--policies", live], "cannot be decided"),
    ] {
        let (status, shown, errors) = policy(words);
        assert_eq!(status, 0, "{shown}{errors}");
        assert!(shown.contains(shows), "{shown}");
    }
    // what would be live nowhere is explained by nobody
    std::fs::write(std::path::Path::new(live).join("stop.cedar"), "forbid (").unwrap();
    for words in [&decided[..], &asked, &["matrix", live]] {
        let (status, _, errors) = policy(words);
        assert!(status == 1 && errors.contains("this policy set would not be loaded"), "{errors}");
    }
}
