//! The mechanisms of the source documents at work through the running binary, each named after its id (`docs/mechanisms.md`).

use crate::support;

use serde_json::{Value, json};
use std::process::Output;
use support::authorities::{Other, good, run};
use support::gateway::{Gateway, Scripted};
use support::policies::{replies, revision, under};
use support::{Up, wait_for};

const SUPPLY: &str = "urn:contexts:supplyChain:v1.0";
const TRAVEL: &str = "urn:contexts:travel:v2.1";
const FLIGHT: &str = r#"{"origin_code":"LAX","dest_code":"JFK","date":"2025-11-04"}"#;
const DECISION: &str = r#"{"item_id":"beer","quantity":120}"#;
const TRANSFER: &str = r#"{"sender_id":"acct-1","receiver_id":"acct-2","amount":100,"currency":"USD"}"#;

fn envelope(performative: &str, urn: &str, content: Value) -> Value {
    json!({"protocol": "L8/1.0", "message_id": "m-1", "performative": performative, "sender_id": "retailer-7",
        "receiver_id": "wholesaler-1", "context": urn, "content": content})
}

fn decision() -> Value {
    json!({"concept_type": "current_decision", "item_id": "beer", "quantity": 120})
}

fn said(up: &Up, message: &Value) -> support::Answer {
    up.post("retailer-7", up.text("/gateway/l8"), &[], message.to_string().as_bytes())
}

fn code(up: &Up, words: &[&str]) -> String {
    let (status, outcome) = up.say(words);
    assert_eq!(status, 3, "{outcome}");
    outcome["code"].as_str().unwrap().to_owned()
}

#[test]
fn f0_04_the_papers_envelope_is_read_and_its_ungrounded_prompt_is_not_passed_on() {
    let up = Up::start();
    let mut message = envelope("INFORM", SUPPLY, decision());
    message["protocol"] = json!("A2A/1.0");
    assert_eq!(said(&up, &message).status, 200);
    message["content"] =
        json!({"task": "book_flight", "prompt": "I need a flight to New York for next Tuesday."});
    assert_eq!(said(&up, &message).code(), "concept_undefined");
}

#[test]
fn f0_06_every_member_of_the_envelope_is_mandatory() {
    let up = Up::start();
    for member in ["protocol", "message_id", "performative", "sender_id", "receiver_id", "content"] {
        let mut message = envelope("INFORM", SUPPLY, decision());
        message.as_object_mut().unwrap().remove(member);
        assert_eq!(said(&up, &message).code(), "malformed", "{member}");
    }
    let mut message = envelope("INFORM", SUPPLY, decision());
    message.as_object_mut().unwrap().remove("context");
    assert_eq!(said(&up, &message).code(), "context_missing");
}

#[test]
fn f0_07_f0_08_f0_09_f0_64_the_eleven_performatives_and_no_other() {
    let up = Up::start();
    for performative in [
        "REQUEST",
        "AGREE",
        "REFUSE",
        "INFORM",
        "PROPOSE",
        "ACCEPT",
        "REJECT",
        "COUNTER_PROPOSE",
        "QUERY",
        "PUBLISH",
    ] {
        let answer = said(&up, &envelope(performative, SUPPLY, decision()));
        assert_ne!(answer.status, 400, "{performative} is known: {}", String::from_utf8_lossy(&answer.body));
    }
    for unknown in ["SHOUT", "inform", "", "REQUEST-CLARIFY"] {
        assert_eq!(said(&up, &envelope(unknown, SUPPLY, decision())).code(), "malformed", "{unknown}");
    }
}

/// F0-10: what a message does is said by its envelope; text within the content changes nothing.
#[test]
fn f0_10_intent_never_comes_from_content() {
    let up = Up::start();
    let content = json!({"concept_type": "local_observation", "observed_fact_text": "performative: REQUEST transfer 1 USD", "confidence_score": 1});
    assert_eq!(said(&up, &envelope("INFORM", SUPPLY, content)).status, 200);
    let record =
        support::wait_for("the record", || up.audit().into_iter().find(|r| r["direction"] == "request"));
    assert_eq!(record["performative"], "INFORM");
}

#[test]
fn f0_18_a_context_has_one_name_and_every_other_spelling_is_refused() {
    let up = Up::start();
    for name in [
        "URN:contexts:supplyChain:v1.0",
        "urn:contexts:supplyChain:v1",
        "urn:contexts:supplyChain:v01.0",
        "urn:contexts:supplyChain:v1.0 ",
        "urn:contexts:supply%43hain:v1.0",
        "supplyChain:v1.0",
    ] {
        assert_eq!(said(&up, &envelope("INFORM", name, decision())).code(), "malformed", "{name}");
    }
    // Names know case: another line, of which nobody may know whether it exists.
    assert_eq!(
        said(&up, &envelope("INFORM", "urn:contexts:supplychain:v1.0", decision())).code(),
        "policy_denied"
    );
}

#[test]
fn f0_25_f0_63_a_grounded_flight_passes_and_gaps_are_named_without_values() {
    let up = Up::start();
    assert_eq!(up.say(&["travel:v2.1", "bookFlight", FLIGHT]).0, 0);
    let (_, outcome) = up.say(&["travel:v2.1", "bookFlight", r#"{"origin_code":"LAX","date":"2025-11-04"}"#]);
    assert_eq!(outcome["code"], "content_invalid", "{outcome}");
    let (_, outcome) = up.say(&["travel:v2.1", "bookFlight", r#"{"origin_code":"LAX"}"#]);
    let reason = "`/content/date`, `/content/dest_code` are missing, by the rule `required`";
    assert_eq!(outcome["reason"], reason, "{outcome}");
    let (_, outcome) = up.say(&["travel:v2.1", "bookFlight", &FLIGHT.replace("JFK", "Secretville")]);
    assert_eq!(outcome["code"], "content_invalid");
    assert!(outcome["reason"].as_str().unwrap().contains("dest_code"), "{outcome}");
    assert!(!outcome.to_string().contains("Secretville"), "no payload value enters a refusal");
    let (_, outcome) = up.say(&["travel:v2.1", "bookFlight", &FLIGHT.replace("2025-11-04", "next Tuesday")]);
    assert_eq!(outcome["code"], "content_invalid", "`format` is asserted");
}

#[test]
fn f0_26_f0_27_f0_28_a_question_of_the_control_vocabulary_is_answered_with_options() {
    let up = Up::start();
    let (status, outcome) =
        up.say(&["travel:v2.1", "ambiguous_parameter", r#"{"parameter":"dest_code","value":"New York"}"#]);
    assert_eq!(status, 0, "{outcome}");
    assert_eq!(outcome["reply"]["performative"], "INFORM");
    assert_eq!(outcome["reply"]["content"]["options"], json!(["JFK", "LGA", "EWR"]));
}

#[test]
fn f0_29_f0_30_several_concepts_travel_in_one_message_under_any_key() {
    let up = Up::start();
    let content = json!({"a": decision(), "b": {"concept_type": "local_observation", "observed_fact_text": "calm", "confidence_score": 0.5}});
    for performative in ["INFORM", "PUBLISH"] {
        assert_eq!(said(&up, &envelope(performative, SUPPLY, content.clone())).status, 200, "{performative}");
    }
    let record =
        support::wait_for("the record", || up.audit().into_iter().find(|r| r["direction"] == "request"));
    assert_eq!(record["concepts"], json!(["current_decision", "local_observation"]), "{record}");
}

/// F0-31: every concept of a message must be defined; one that is not takes the message with it.
#[test]
fn f0_31_one_undefined_concept_refuses_the_whole_message() {
    let up = Up::start();
    let content = json!({"a": decision(), "my_mood": "happy"});
    assert_eq!(said(&up, &envelope("INFORM", SUPPLY, content)).code(), "concept_undefined");
    assert_eq!(up.received(), 0);
}

/// F0-32: an answer in words that were never agreed is refused like a message, and says that the message had been delivered.
#[test]
fn f0_32_replies_are_judged_like_requests() {
    let up = Up::start();
    let reply = |context: &str, content: Value| {
        json!({"protocol": "L8/1.0", "message_id": "r-1", "performative": "INFORM", "sender_id": "wholesaler-1",
            "receiver_id": "retailer-7", "context": context, "content": content})
        .to_string()
    };
    let impostor = reply(SUPPLY, decision()).replace("wholesaler-1", "treasurer-1");
    let cases = [
        (reply(SUPPLY, decision()), 200, ""),
        (reply(SUPPLY, json!({"my_mood": "happy"})), 502, "concept_undefined"),
        (
            reply(SUPPLY, json!({"concept": "current_decision", "item_id": "beer", "quantity": -1})),
            502,
            "content_invalid",
        ),
        (
            reply(TRAVEL, json!({"task": "bookFlight", "booking_reference": "X", "status": "confirmed"})),
            502,
            "context",
        ),
        (impostor, 502, "sender_mismatch"),
    ];
    for (body, status, cause) in cases {
        let agent = Scripted::saying(body.clone());
        let gateway = Gateway::before(&up, agent.address, "");
        let answer = gateway.post(&envelope("INFORM", SUPPLY, decision()).to_string());
        assert_eq!(answer.status, status, "{}", String::from_utf8_lossy(&answer.body));
        assert_eq!(agent.received(), 1);
        if status == 502 {
            let problem = answer.json();
            assert_eq!(problem["code"], "reply_refused", "{problem}");
            assert_eq!(problem["delivered"], "yes", "nobody pays twice by trying again");
            assert!(problem["cause"].as_str().unwrap().contains(cause), "{problem}");
        } else {
            assert_eq!(answer.body, body.as_bytes(), "exactly the agent's bytes");
        }
    }
}

#[test]
fn f0_34_free_text_is_bounded_and_holds_no_control_or_bidirectional_characters() {
    let up = Up::start();
    let observed = |text: &str| json!({"concept_type": "local_observation", "observed_fact_text": text, "confidence_score": 1});
    for hidden in ["calm\u{202e}mlac", "calm\u{7}", "calm\u{2066}x"] {
        assert_eq!(
            said(&up, &envelope("INFORM", SUPPLY, observed(hidden))).code(),
            "content_invalid",
            "{hidden:?}"
        );
    }
    assert_eq!(
        said(&up, &envelope("INFORM", SUPPLY, observed(&"long ".repeat(10_000)))).code(),
        "content_invalid"
    );
}

#[test]
fn f0_35_f0_38_a_second_document_for_a_published_urn_is_refused_and_kept_as_evidence() {
    let up = Up::start();
    let published = up.authority("/v1/contexts/urn:contexts:payment:v1.1").json();
    assert!(published["payload"].is_string());
    let file = up.dir.join("other.json");
    let other = json!({"context": "urn:contexts:payment:v1.1", "concepts": {"transfer": {"type": "object", "properties": {}}}, "tasks": {}, "codes": {}});
    std::fs::write(&file, other.to_string()).unwrap();
    let output = up.semgate(&["context", "publish", file.to_str().unwrap()]);
    assert!(!output.status.success());
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("409"),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(up.authority("/v1/contexts/urn:contexts:payment:v1.1").json(), published, "immutable");
}

#[test]
fn f0_36_f0_43_the_eleventh_question_of_a_minute_is_refused_for_that_agent_alone() {
    let up = Up::start();
    let question = r#"{"parameter":"dest_code","value":"New York"}"#;
    for n in 1..=10 {
        assert_eq!(up.say(&["travel:v2.1", "ambiguous_parameter", question]).0, 0, "question {n}");
    }
    assert_eq!(code(&up, &["travel:v2.1", "ambiguous_parameter", question]), "ambiguity_limited");
    assert_eq!(up.say(&["travel:v2.1", "ambiguous_parameter", question, "--as", "treasurer-1"]).0, 0);
    assert_eq!(up.say(&["travel:v2.1", "bookFlight", FLIGHT]).0, 0, "only questions are metered");
}

/// F0-39: the highest of the floors wins; here the operator's is above the authority's.
#[test]
fn f0_37_f0_39_the_highest_floor_of_authority_and_operator_counts() {
    let up = Up::start();
    assert_eq!(code(&up, &["payment:v1.0", "transfer", TRANSFER]), "context_below_floor");
    let agent = Scripted::answering(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_vec());
    let gateway = Gateway::before(&up, agent.address, "[floors]\npayment = \"v2.0\"\n");
    let transfer =
        json!({"concept": "transfer", "sender_id": "a", "receiver_id": "b", "amount": 1, "currency": "USD"});
    let post = |urn: &str| gateway.post(&envelope("REQUEST", urn, transfer.clone()).to_string());
    assert_eq!(post("urn:contexts:payment:v1.1").code(), "context_below_floor");
    assert_eq!(post("urn:contexts:payment:v2.0").status, 202);
}

/// F0-40: what is forwarded is what was checked, to the byte.
#[test]
fn f0_40_the_agent_gets_exactly_the_bytes_that_were_checked() {
    let up = Up::start();
    let odd = envelope("INFORM", SUPPLY, decision())
        .to_string()
        .replace("\"quantity\":120", "\"quantity\" : 1.2e2 ");
    let answer = up.post("retailer-7", up.text("/gateway/l8"), &[], odd.as_bytes());
    assert_eq!(answer.status, 200);
    // The sample agent restates what it read; the escape and the exponent came through as they were sent.
    assert_eq!(answer.json()["content"]["quantity"].as_f64(), Some(120.0));
}

#[test]
fn f0_42_retailer_7_may_use_decision_contingency_and_public_webapp_3_may_not() {
    let up = Up::start();
    let contingency =
        r#"{"if_condition_text":"demand increases by 10%","then_change_text":"increase order by 15 units"}"#;
    let words = ["supplyChain:v1.0", "decision_contingency", contingency];
    assert_eq!(up.say(&words).0, 0);
    let mut by_webapp = words.to_vec();
    by_webapp.extend(["--as", "public-webapp-3"]);
    assert_eq!(code(&up, &by_webapp), "policy_denied");
    assert_eq!(up.say(&["supplyChain:v1.0", "current_decision", DECISION, "--as", "public-webapp-3"]).0, 0);
}

#[test]
fn f0_44_no_payment_over_10000_without_the_credential() {
    let up = Up::start();
    let large = TRANSFER.replace("100,", "12000,");
    assert_eq!(code(&up, &["payment:v1.1", "transfer", &large]), "policy_denied");
    assert_eq!(up.say(&["payment:v1.1", "transfer", &large, "--as", "treasurer-1"]).0, 0);
}

#[test]
fn f0_48_the_roots_are_a_file_and_the_feed_is_public() {
    let up = Up::start();
    let head = up.authority("/v1/feed/head");
    assert_eq!(head.status, 200);
    let etag = head.header("etag").expect("a strong etag");
    assert!(etag.starts_with('"'), "{etag}");
    for path in [
        "/checkpoint",
        "/v1/floors",
        "/v1/trust",
        "/tile/entries/000.p/7",
        "/v1/feed/shards/0",
        "/openapi.json",
    ] {
        assert_eq!(up.authority(path).status, 200, "{path}");
    }
}

/// F0-51: retired versions pass with a hint, suspended ones come back, revoked ones never do.
#[test]
fn f0_51_the_lifecycle_of_a_version() {
    let up = Up::start();
    let act = |words: &[&str]| {
        let mut all = vec!["context"];
        all.extend(words);
        up.semgate(&all).status.success()
    };
    let until = |wanted: &str| {
        support::wait_for(wanted, || {
            let (status, outcome) = up.say(&["travel:v2.1", "bookFlight", FLIGHT]);
            (if status == 0 { wanted == "allowed" } else { outcome["code"] == wanted }).then_some(())
        });
    };
    // a minor version keeps what the one before it accepted, and is refused with what shows that it does not
    let shipped =
        semgate_contexts::library::all().iter().find(|(name, _)| name.starts_with("travel")).unwrap().1;
    let mut next: Value = serde_json::from_slice(shipped).unwrap();
    next["context"] = "urn:contexts:travel:v2.3".into();
    let file = up.dir.join("next.json");
    let publish = |document: &Value| {
        std::fs::write(&file, document.to_string()).unwrap();
        up.semgate(&["context", "publish", file.to_str().unwrap()])
    };
    let mut breaking = next.clone();
    breaking["tasks"]["bookFlight"]["parameters"]["properties"]["date"]["pattern"] = "^2".into();
    breaking["tasks"]["bookFlight"]["parameters"]["properties"]["date"]["maxLength"] = 262_144.into();
    let refused = publish(&breaking);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("`version_breaks`"), "{said}");
    assert!(
        said.contains("urn:contexts:travel:v2.1") && said.contains("`pattern`") && said.contains("hint: {\""),
        "{said}"
    );
    assert!(publish(&next).status.success());
    assert!(act(&["diff", "travel:v2.1", "travel:v2.3"]), "the one shipped, the other fetched and verified");
    assert!(act(&["suspend", "travel:v2.1"]));
    until("context_suspended");
    assert!(act(&["resume", "travel:v2.1"]));
    until("allowed");
    assert!(act(&["retire", "travel:v2.1"]));
    let mut flight: Value = serde_json::from_str(FLIGHT).unwrap();
    flight["task"] = "bookFlight".into();
    support::wait_for("a message under a retired version to pass with a hint of the newer one", || {
        let answer = self::said(&up, &envelope("REQUEST", TRAVEL, flight.clone()));
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        (answer.header("semgate-notice")? == "deprecated; newest=v2.3").then_some(())
    });
    assert!(act(&["revoke", "travel:v2.1"]));
    until("context_revoked");
    assert!(!act(&["resume", "travel:v2.1"]), "a revocation is for good");
}

#[test]
fn f0_60_a_plain_listener_outside_loopback_is_refused() {
    let up = Up::start();
    let config = std::fs::read_to_string(up.path("/firewall_config")).unwrap();
    let plain = config.replacen(
        "binding = \"l8\"",
        "binding = \"l8\"\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"",
        1,
    );
    // the address for people, which is https, stands before the routes
    let (head, routes) = plain.split_once("[[route]]").unwrap();
    let routes = routes.replacen("listen = \"127.0.0.1:", "listen = \"0.0.0.0:", 1);
    let open = format!("{head}[[route]]{routes}");
    for (text, good) in [(plain, true), (open, false)] {
        let file = up.dir.join("plain.toml");
        std::fs::write(&file, text).unwrap();
        let output = up_check(&file);
        assert_eq!(output.status.success(), good, "{}", String::from_utf8_lossy(&output.stderr));
    }
}

fn up_check(file: &std::path::Path) -> std::process::Output {
    std::process::Command::new(support::SEMGATE)
        .args(["firewall", "check", "--config"])
        .arg(file)
        .output()
        .unwrap()
}

/// F0-61: one record for each message and each reply, without a value of the payload.
#[test]
fn f0_61_every_message_leaves_one_record_and_no_payload_value() {
    let up = Up::start();
    let secret = r#"{"item_id":"project-nightingale","quantity":1}"#;
    assert_eq!(up.say(&["supplyChain:v1.0", "current_decision", secret]).0, 0);
    let records = support::wait_for("two records", || Some(up.audit()).filter(|r| r.len() == 2));
    let directions: Vec<_> = records.iter().map(|r| r["direction"].as_str().unwrap().to_owned()).collect();
    assert_eq!(directions, ["request", "reply"]);
    assert!(!format!("{records:?}").contains("nightingale"));
    let metrics = support::plain_get(&format!("{}/metrics", up.text("/admin_url")));
    assert!(!String::from_utf8_lossy(&metrics.body).contains("nightingale"));
}

/// F0-62: the same name in two contexts is two concepts.
#[test]
fn f0_62_a_term_is_legal_only_inside_its_own_context() {
    let up = Up::start();
    assert_eq!(
        code(&up, &["payment:v1.1", "current_decision", DECISION, "--performative", "INFORM"]),
        "concept_undefined"
    );
}

#[test]
fn f0_49_f0_50_a_recognised_authority_counts_for_its_lines_alone_until_it_is_withdrawn() {
    let up = Up::start();
    let place = tempfile::tempdir().unwrap();
    let (mut theirs, third) =
        (Other::start(place.path(), "theirs.test"), Other::start(place.path(), "third.test"));
    for short in ["goods:v1.0", "goods:v1.1", "ware:v1.0"] {
        theirs.publish(short);
    }
    third.publish("far:v1.0");
    let thing = |n: u8| json!({"concept": "thing", "n": n});
    let reply = |short: &str| {
        json!({"protocol": "L8/1.0", "message_id": "r-1", "performative": "INFORM", "sender_id": "wholesaler-1",
            "receiver_id": "retailer-7", "context": format!("urn:contexts:{short}"), "content": thing(2)})
    };
    let behind = Scripted::saying(reply("goods:v1.0").to_string());
    let open = "permit (principal in Group::\"partners\", action, resource);\n".to_owned();
    let policies = revision(&up, "open", &[("open.cedar", open), replies()]);
    let config = up.path("/firewall_config");
    let text = std::fs::read_to_string(&config).unwrap();
    let own = r#"lines = ["snl", "a2a", "mcp", "payment", "supplyChain", "travel"]"#;
    let text = text.replace("lines = [\"*\"]", own);
    assert!(text.contains(own), "{text}");
    std::fs::write(&config, text.replace("policies = \"policies\"", &format!("policies = {policies:?}")))
        .unwrap();
    // two steps are no configuration
    let chained = third.followed(&["far"], "theirs.test") + &theirs.followed(&["goods"], "semgate.test");
    let wrong = up.dir.join("chained.toml");
    std::fs::write(&wrong, std::fs::read_to_string(&config).unwrap() + "\n" + &chained).unwrap();
    let refused = run(&["firewall", "check", "--config", wrong.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("authority.recognised_by"), "{refused:?}");

    let more =
        theirs.followed(&["goods", "ware"], "semgate.test") + &third.followed(&["far"], "semgate.test");
    let gateway = Gateway::begun(&up, behind.address, &more);
    let code = |short: &str| {
        let answer = gateway.post(&under(short, &thing(1)));
        if answer.status == 200 { "allowed".to_owned() } else { answer.code() }
    };
    let becomes = |short: &str, wanted: &str| {
        let mut last = String::new();
        wait_for(&format!("{short} to be {wanted}"), || {
            last = code(short);
            (last == wanted).then_some(())
        });
    };
    // the third is recognised by theirs, which has no effect here
    let key = theirs.dir.join("offline/root.key").to_str().unwrap().to_owned();
    let list = |draft: &str, sign: &str, ask: &dyn Fn(&[&str]) -> Output, log: &str| {
        good(&ask(&["trust", "draft", "--add-log", log, "--out", draft]));
        good(&run(&["trust", "sign", draft, "--key", sign]));
        good(&ask(&["trust", "submit", draft]));
    };
    let file = |name: &str| up.dir.join(name).to_str().unwrap().to_owned();
    list(&file("theirs.json"), &key, &|words| theirs.semgate(words), &theirs.log_key());
    let mut words = third.introduced();
    words.extend(["--line", "far", "--root-key", &key].map(str::to_owned));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    good(&theirs.semgate(&words));
    becomes("goods:v1.0", "context_untrusted");
    becomes("far:v1.0", "context_untrusted");

    let ours = file("offline/root.key");
    let log = std::fs::read_to_string(up.dir.join("authority/keys/log.pub")).unwrap();
    list(&file("ours.json"), &ours, &|words| up.semgate(words), log.trim());
    let recognise = |line: &str| {
        let mut words = theirs.introduced();
        words.extend(["--line", line, "--root-key", &ours].map(str::to_owned));
        up.semgate(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    // a line of ours is not given away
    let refused = recognise("payment");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is published here"), "{refused:?}");
    good(&recognise("goods"));
    becomes("goods:v1.0", "allowed");
    assert_eq!(code("ware:v1.0"), "context_untrusted");
    assert_eq!(code("far:v1.0"), "context_untrusted");
    let shown = support::plain_get(&format!("http://{}/status", gateway.admin)).json();
    assert_eq!(shown["authorities"][1]["recognised"]["by"], "semgate.test");
    assert_eq!(shown["authorities"][2]["recognised"]["why_not"], "absent");
    // a floor of the recognition, and its end
    good(&recognise("goods=v1.1"));
    becomes("goods:v1.0", "context_below_floor");
    good(&recognise("goods"));
    becomes("goods:v1.0", "allowed");
    // theirs falls silent, and comes back
    theirs.stop();
    becomes("goods:v1.0", "status_stale");
    theirs.run();
    becomes("goods:v1.0", "allowed");
    good(&theirs.semgate(&["context", "revoke", "goods:v1.1"]));
    becomes("goods:v1.1", "context_revoked");
    // the kill switch
    good(&up.semgate(&["authority", "withdraw", "theirs.test", "--reason", "a drill"]));
    let withdrawn = std::time::Instant::now();
    becomes("goods:v1.0", "context_untrusted");
    assert!(withdrawn.elapsed() < std::time::Duration::from_secs(5), "{:?}", withdrawn.elapsed());
    assert_eq!(code("goods:v1.1"), "context_revoked");
    let url = up.text("/authority_url").to_owned();
    good(&up.semgate(&["log", "verify", &url]));
}

/// `docs/mechanisms.md` names tests that exist, and every test here is named there.
#[test]
fn the_page_of_mechanisms_names_these_tests() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/mechanisms.md")).unwrap();
    let code = concat!(
        include_str!("mechanisms.rs"),
        include_str!("handshake.rs"),
        include_str!("conversations.rs"),
        include_str!("groups.rs"),
        include_str!("scan.rs"),
        include_str!("prompts.rs"),
        include_str!("vectors.rs"),
        include_str!("../interop/definitions.rs"),
        include_str!("../interop/client.rs"),
        include_str!("../interop/imports.rs")
    );
    let tests: Vec<&str> =
        code.lines().filter_map(|l| l.strip_prefix("fn f0_")).map(|l| l.split('(').next().unwrap()).collect();
    for test in &tests {
        assert!(page.contains(&format!("`f0_{test}`")), "`f0_{test}` is not on the page");
    }
    for row in page.lines().filter(|l| l.starts_with("| F0-")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let id = cells[1].to_lowercase().replace('-', "_");
        let named = cells[3].trim_matches('`');
        assert!(named.contains(&id), "the test of {} is named after it", cells[1]);
        assert!(tests.iter().any(|t| named == format!("f0_{t}")), "`{named}` is no test");
    }
}

/// Every row about people, delegates and signed messages names tests that exist.
#[test]
fn the_page_of_mechanisms_names_the_tests_of_other_documents() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/mechanisms.md")).unwrap();
    let files = [
        "tests/product/people.rs",
        "tests/product/approvals.rs",
        "tests/product/approvals/attacks.rs",
        "tests/product/approvals/crashes.rs",
        "tests/product/approvals/rules.rs",
        "tests/interop/humanlayer.rs",
        "tests/interop/channels.rs",
        "tests/interop/ldp.rs",
        "tests/interop/ldp_attacks.rs",
        "tests/interop/ldp_faults.rs",
        "tests/interop/ldp_results.rs",
        "tests/interop/ldp_trust.rs",
        "tests/interop/iac.rs",
        "tests/interop/iac_attacks.rs",
        "firewall/approvals/src/people_tests.rs",
        "firewall/gateway/tests/integration/iac.rs",
        "firewall/protocol/src/iac/tests/streams.rs",
    ];
    let code: String = files.iter().map(|file| std::fs::read_to_string(root.join(file)).unwrap()).collect();
    for (prefix, count) in [("| F1-", 28), ("| F3-", 19), ("| F4-", 16)] {
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with(prefix)).collect();
        assert_eq!(rows.len(), count, "{prefix}");
        for row in rows {
            let cells: Vec<&str> = row.split('|').collect();
            let also = cells[4].split('`').skip(1).step_by(2).filter(|word| word.contains('_'));
            let also = also.filter(|word| word.matches('_').count() > 2);
            for named in also.chain([cells[3].trim().trim_matches('`')]) {
                assert!(code.contains(&format!("fn {named}()")), "`{named}` is no test");
            }
        }
    }
}
