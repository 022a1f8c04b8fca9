//! A second policy set decides beside the live one: it changes no answer, and only where it differs is anything told.

use crate::support;

use serde_json::{Value, json};
use support::gateway::Scripted;
use support::policies::{
    REPLY, digest_of, gateway, message, metrics, permit, records, replies, revision, status, turn, under,
};
use support::{Up, wait_for};

fn decision(quantity: u64) -> Value {
    json!({"concept": "current_decision", "item_id": "beer", "quantity": quantity})
}

fn observation() -> Value {
    json!({"concept": "local_observation", "observed_fact_text": "rain", "confidence_score": 0.5})
}

#[test]
fn where_the_live_set_looks_at_a_reply_twice_a_difference_counts_once() {
    let up = Up::start();
    let booked = json!({"protocol": "L8/1.0", "message_id": "r-1", "performative": "INFORM", "sender_id": "wholesaler-1",
        "receiver_id": "retailer-7", "context": "urn:contexts:travel:v2.1",
        "content": {"task": "bookFlight", "status": "confirmed", "booking_reference": "SECRET7"}});
    let behind = Scripted::saying(booked.to_string());
    let asks = "@id(\"flights\") permit (principal in Group::\"partners\", action, resource is travel::bookFlight);\n";
    let redacts = "@id(\"no-reference\") @redact(\"booking_reference\") permit (principal in Group::\"repliers\", action, resource is travel::bookFlight_results)\n\
                   when { context.direction == \"reply\" };\n";
    let silent = "@id(\"silent\") forbid (principal, action, resource is travel::bookFlight_results) when { context.direction == \"reply\" };\n";
    let live = revision(&up, "live", &[("a.cedar", format!("{asks}{redacts}")), replies()]);
    turn(&up.dir.join("current"), &live);
    let shadow = revision(&up, "shadow", &[("s.cedar", format!("{asks}{silent}")), replies()]);
    turn(&up.dir.join("candidate"), &shadow);
    let more =
        "[limits]\npolicy_poll = \"20ms\"\npolicy_settle = \"10ms\"\n[shadow]\npolicies = \"candidate\"\n";
    let gateway = gateway(&up, &behind, more);
    wait_for("the shadow set", || (status(&gateway)["shadow"]["current"] == true).then_some(()));
    let flight =
        json!({"task": "bookFlight", "origin_code": "LAX", "dest_code": "JFK", "date": "2025-11-04"});
    let body = under("travel:v2.1", &flight).replace("INFORM", "REQUEST");
    for count in [1, 2] {
        let answer = gateway.post(&body);
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        assert!(!String::from_utf8_lossy(&answer.body).contains("SECRET7"));
        let line =
            format!("semgate_shadow_differences_total{{direction=\"reply\",would=\"deny\"}} {count}\n");
        let text = metrics(&gateway);
        assert!(text.contains(&line), "`{line}` in {text}");
    }
}

#[test]
fn a_shadow_set_changes_no_answer_and_only_its_differences_are_told() {
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let live = revision(&up, "live", &[("a.cedar", permit("a", "current_decision")), replies()]);
    turn(&up.dir.join("current"), &live);
    let overflow = "@id(\"overflow\") forbid (principal, action, resource is supplyChain::current_decision)\n\
                    when { resource.quantity * 9223372036854775807 == 3 };\n";
    let observations = permit("observations", "local_observation");
    let forbid = "@id(\"big\") forbid (principal in Group::\"partners\", action, resource is supplyChain::current_decision)\n\
                  when { resource.quantity == 0 };\n";
    let payments = "permit (principal in Group::\"partners\", action, resource is payment::transfer);\n";
    let text = format!("{overflow}{observations}{forbid}{}", permit("decisions", "current_decision"));
    let shadow =
        revision(&up, "shadow", &[("s.cedar", text), ("payments.cedar", payments.to_owned()), replies()]);
    let link = up.dir.join("candidate");
    turn(&link, &shadow);
    let more =
        "[limits]\npolicy_poll = \"20ms\"\npolicy_settle = \"10ms\"\n[shadow]\npolicies = \"candidate\"\n";
    let gateway = gateway(&up, &behind, more);
    let set = |name: &'static str| status(&gateway)[name].clone();
    wait_for("the shadow set", || (set("shadow")["current"] == true).then_some(()));
    assert_eq!(set("shadow")["digest"], digest_of(&shadow));
    assert_eq!(set("policies")["digest"], digest_of(&live));

    let transfer =
        json!({"concept": "transfer", "sender_id": "a", "receiver_id": "b", "amount": 1, "currency": "USD"});
    // what is said, the answer of the live set, and what the shadow set would have done
    let cases = [
        ("both permit", message(&decision(1)), 200, Value::Null),
        (
            "only the shadow denies",
            message(&decision(0)),
            200,
            json!({"would": "deny", "policies": ["s.cedar#big"]}),
        ),
        (
            "only the shadow fails",
            message(&decision(2)),
            200,
            json!({"would": "error", "policies": ["s.cedar#overflow"]}),
        ),
        (
            "only the shadow permits",
            message(&observation()),
            403,
            json!({"would": "permit", "policies": ["s.cedar#observations"]}),
        ),
        (
            "only the shadow has the line",
            under("payment:v1.1", &transfer),
            403,
            json!({"would": "use_line", "policies": []}),
        ),
        ("neither has the line", under("travel:v2.1", &decision(1)), 403, Value::Null),
    ];
    for (what, body, expected, told) in &cases {
        let answer = gateway.post(body);
        assert_eq!(answer.status, *expected, "{what}: {}", String::from_utf8_lossy(&answer.body));
        let id = answer.header("semgate-decision").unwrap();
        let record = wait_for("the record", || {
            let of =
                |record: &Value| record["decision_id"] == id.as_str() && record["direction"] == "request";
            records(&gateway).into_iter().find(of)
        });
        assert_eq!(record["shadow"], *told, "{what}: {record}");
        let live_policies = record["policies"].to_string();
        assert!(!live_policies.contains("s.cedar"), "{what}: {record}");
        assert_eq!(record["policy_digest"], digest_of(&live), "{what}");
    }
    let text = metrics(&gateway);
    for (would, count) in [("deny", 1), ("error", 1), ("permit", 1), ("use_line", 1), ("approve", 0)] {
        let line =
            format!("semgate_shadow_differences_total{{direction=\"request\",would=\"{would}\"}} {count}\n");
        assert!(text.contains(&line), "`{line}` in {text}");
    }
    let label = format!("semgate_policy_set_info{{set=\"shadow\",digest=\"{}\"}} 1", digest_of(&shadow));
    assert!(text.contains(&label), "{text}");

    // whatever becomes of the shadow set, the live one does not hear of it
    let broken = revision(&up, "broken", &[("s.cedar", permit("s", "nothing_like_it"))]);
    for target in [&broken, &up.dir.join("nowhere")] {
        turn(&link, target);
        let told =
            wait_for("the rejection", || Some(set("shadow")).filter(|told| told["faults"] != json!([])));
        assert_eq!(told["digest"], digest_of(&shadow), "the last good one stays");
        assert_ne!(told["faults"], json!([]));
        assert_eq!((&set("policies")["current"], &set("policies")["faults"]), (&json!(true), &json!([])));
        assert_eq!(gateway.post(&message(&decision(0))).status, 200);
        assert_eq!(gateway.post(&message(&observation())).status, 403);
        turn(&link, &shadow);
        wait_for("the shadow set again", || (set("shadow")["current"] == true).then_some(()));
    }
}
