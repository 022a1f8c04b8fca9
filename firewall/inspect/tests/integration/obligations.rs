//! What policies ask for beyond letting a message pass: approvals, limits, members that are taken out of replies.

use crate::common;
#[path = "../../../../policies/engine/benches/many/mod.rs"]
mod many;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use common::{NOW, agent, base, generation_with, inspector, library, route, say, supply_chain, view};
use semgate_inspect::{Code, Direction, Inspector, Now, Quota, Sent, Shadow, ShadowCounts, Would, Written};
use semgate_policies::{Keep, Policies, PolicyLimits, PolicySource};

/// The shipped agents and policies, and these.
fn house(policies: &str) -> Inspector {
    inspector(generation_with(view(&mut library()), &source(policies, None), &[]))
}

#[test]
fn what_needs_an_approval_is_refused_as_that_and_names_the_policy_to_the_operator_alone() {
    let inspector = house(
        r#"@id("ask") @approve("the planner on duty") @notice("planners approve decisions")
        permit (principal, action, resource is supplyChain::current_decision);"#,
    );
    let refusal = say(&inspector, &route("l8"), "retailer-7", supply_chain(), NOW).unwrap_err();
    assert_eq!((refusal.code(), refusal.code().status()), (Code::ApprovalRequired, 403));
    assert_eq!(refusal.hint(), "planners approve decisions");
    assert!(refusal.facts().policy_ids().contains(&"own.cedar#ask"), "{:?}", refusal.facts());
    assert!(refusal.detail().contains("own.cedar#ask") && refusal.detail().contains("the planner on duty"));
    for outside in [refusal.reason(), refusal.hint()] {
        assert!(!outside.contains("own.cedar") && !outside.contains("on duty"), "{outside}");
    }
}

#[test]
fn what_is_denied_anyway_is_not_said_to_need_an_approval() {
    let inspector = house(
        r#"@approve("somebody") permit (principal, action, resource is supplyChain::current_decision);
        @notice("not today") forbid (principal, action, resource is supplyChain::current_decision) when { true };"#,
    );
    let refusal = say(&inspector, &route("l8"), "retailer-7", supply_chain(), NOW).unwrap_err();
    assert_eq!((refusal.code(), refusal.hint()), (Code::PolicyDenied, "not today"));
}

/// The supply-chain message with its decision alone.
fn decision() -> Vec<u8> {
    let mut message: serde_json::Value = serde_json::from_slice(&supply_chain()).unwrap();
    let content = message["content"].as_object_mut().unwrap();
    content.retain(|_, concept| concept.to_string().contains("current_decision"));
    assert_eq!(content.len(), 1);
    serde_json::to_vec(&message).unwrap()
}

fn later(ms: u64) -> Now {
    Now { monotonic_ms: NOW.monotonic_ms + ms, ..NOW }
}

/// The shipped agents and policies, these, and this `limits.json`.
fn source(policies: &str, limits: Option<&str>) -> PolicySource {
    let mut source = PolicySource::shipped();
    // a file without a policy is a fault
    if !policies.is_empty() {
        source.files.push(("own.cedar".to_owned(), policies.to_owned()));
    }
    source.limits = limits.map(|text| text.as_bytes().to_vec());
    source
}

fn with_limits(limits: &str) -> Inspector {
    inspector(generation_with(view(&mut library()), &source("", Some(limits)), &[]))
}

/// The message of the retailer, said by another.
fn by(name: &str, message: &[u8]) -> Vec<u8> {
    String::from_utf8(message.to_vec()).unwrap().replace("retailer-7", name).into_bytes()
}

fn names(quotas: &[Quota]) -> Vec<&str> {
    quotas.iter().map(|quota| &*quota.name).collect()
}

const DECISIONS: &str = r#"@id("few") @limit("2/minute") @notice("two decisions a minute")
    permit (principal, action, resource is supplyChain::current_decision);"#;

#[test]
fn a_limit_of_a_policy_counts_what_it_let_pass_for_each_agent_and_names_neither_policy_nor_numbers() {
    let inspector = house(DECISIONS);
    let route = route("l8");
    for left in [1, 0] {
        let permit = say(&inspector, &route, "retailer-7", decision(), NOW).unwrap();
        let [quota] = permit.quotas() else { panic!("{:?}", permit.quotas()) };
        assert_eq!((quota.most, quota.window, quota.left.unwrap().units), (2, 60, left));
        assert!(quota.name.starts_with("policy-") && !quota.name.contains("few"), "{}", quota.name);
    }
    let refusal = say(&inspector, &route, "retailer-7", decision(), NOW).unwrap_err();
    assert_eq!((refusal.code(), refusal.retry_after()), (Code::RateLimited, Some(Duration::from_secs(30))));
    assert_eq!(refusal.hint(), "two decisions a minute");
    assert!(refusal.detail().contains("own.cedar#few"));
    assert_eq!(refusal.quotas()[0].left.unwrap().more_in, Some(30));
    assert!(
        !refusal.reason().contains("own.cedar") && !refusal.reason().contains('2'),
        "{}",
        refusal.reason()
    );
    assert!(refusal.facts().policy_ids().contains(&"own.cedar#few"));
    // another agent has two of its own, and this one has other things to say
    let _ = say(&inspector, &route, "treasurer-1", by("treasurer-1", &decision()), NOW).unwrap();
    let _ = say(&inspector, &route, "retailer-7", base("question"), NOW).unwrap();
    let _ = say(&inspector, &route, "retailer-7", decision(), later(30_000)).unwrap();
}

#[test]
fn what_is_refused_costs_nothing() {
    let inspector = house(&format!(
        r#"{DECISIONS} forbid (principal, action, resource is supplyChain::current_decision) when {{ resource.quantity > 1000 }};"#
    ));
    let route = route("l8");
    let denied = String::from_utf8(decision()).unwrap().replace("120", "5000");
    for _ in 0..50 {
        let refusal = say(&inspector, &route, "retailer-7", denied.clone(), NOW).unwrap_err();
        assert_eq!(refusal.code(), Code::PolicyDenied, "{refusal}");
    }
    for _ in 0..2 {
        let _ = say(&inspector, &route, "retailer-7", decision(), NOW).unwrap();
    }
}

#[test]
fn a_message_that_one_budget_stops_is_paid_by_none() {
    let inspector = with_limits(
        r#"{"costs": [{"line": "supplyChain", "concept": "current_decision", "cost": 3}],
            "budgets": [
                {"name": "wide", "limit": "100/minute"},
                {"name": "decisions", "limit": "7/minute", "per": "concept", "of": [{"line": "supplyChain"}]}]}"#,
    );
    let route = route("l8");
    for (wide, decisions) in [(97, 4), (94, 1)] {
        let permit = say(&inspector, &route, "retailer-7", decision(), NOW).unwrap();
        let left: Vec<_> = permit.quotas().iter().map(|quota| quota.left.unwrap().units).collect();
        assert_eq!((names(permit.quotas()), left), (vec!["wide", "decisions"], vec![wide, decisions]));
    }
    for _ in 0..50 {
        let refusal = say(&inspector, &route, "retailer-7", decision(), NOW).unwrap_err();
        assert_eq!(refusal.code(), Code::RateLimited);
        assert_eq!(refusal.quotas()[0].left, None, "only what stopped it says when to come back");
        assert_eq!(refusal.quotas()[1].left.unwrap().units, 1);
        assert_eq!(refusal.detail(), "`decisions`");
    }
    let permit = say(&inspector, &route, "retailer-7", base("question"), NOW).unwrap();
    assert_eq!(names(permit.quotas()), ["ambiguity", "wide"]);
    assert_eq!(permit.quotas()[1].left.unwrap().units, 93, "fifty refusals cost nothing");
}

#[test]
fn an_ambiguous_question_that_a_budget_stops_is_not_counted_as_one() {
    let inspector =
        with_limits(r#"{"budgets": [{"name": "few", "limit": "1/minute", "of": [{"line": "snl"}]}]}"#);
    let route = route("l8");
    let _ = say(&inspector, &route, "retailer-7", base("question"), NOW).unwrap();
    for _ in 0..50 {
        let refusal = say(&inspector, &route, "retailer-7", base("question"), later(1)).unwrap_err();
        assert_eq!(refusal.code(), Code::RateLimited);
    }
    let permit = say(&inspector, &route, "retailer-7", base("question"), later(60_000)).unwrap();
    assert_eq!(permit.quotas()[0].left.unwrap().units, 8, "two of ten were asked");
}

#[test]
fn a_reload_keeps_what_was_spent_of_what_did_not_change() {
    let limits = |more: &str| format!(r#"{{"budgets": [{{"name": "few", "limit": "2/hour"}}{more}]}}"#);
    let inspector = with_limits(&limits(""));
    let route = route("l8");
    for _ in 0..2 {
        let _ = say(&inspector, &route, "retailer-7", decision(), NOW).unwrap();
    }
    let same = source(
        "// a comment\npermit (principal == Agent::\"spiffe://semgate.test/agent/courier-5\", action, resource is travel::bookFlight);",
        Some(&limits(r#", {"name": "other", "limit": "9/day"}"#)),
    );
    inspector.swap(generation_with(view(&mut library()), &same, &[]));
    let refusal = say(&inspector, &route, "retailer-7", decision(), NOW).unwrap_err();
    assert_eq!((refusal.code(), names(refusal.quotas())), (Code::RateLimited, vec!["few", "other"]));
    let changed = source("", Some(&limits("").replace("2/hour", "3/hour")));
    inspector.swap(generation_with(view(&mut library()), &changed, &[]));
    let permit = say(&inspector, &route, "retailer-7", decision(), NOW).unwrap();
    assert_eq!(permit.quotas()[0].left.unwrap().units, 2, "another limit is another bucket");
}

/// Without `@id` a policy is named by its place, and a policy above it moved its limit to another bucket: whoever had spent all of it had all of
/// it again, and what the new one let pass was counted where the old one had been.
#[test]
fn attack_a_policy_that_is_put_above_one_without_an_id_gives_its_limit_anew() {
    let limited =
        r#"@limit("2/hour") permit (principal, action, resource is supplyChain::current_decision);"#;
    let above = r#"@limit("2/hour") permit (principal, action, resource is payment::transfer);"#;
    let inspector = house(limited);
    let route = route("l8");
    for _ in 0..2 {
        let _ = say(&inspector, &route, "retailer-7", decision(), NOW).unwrap();
    }
    let moved = format!("{above}\n@notice(\"two an hour\") // one that says more\n{limited}");
    for set in [moved, format!("// as it was\n{limited}")] {
        inspector.swap(generation_with(view(&mut library()), &source(&set, None), &[]));
        let refusal = say(&inspector, &route, "retailer-7", decision(), NOW).unwrap_err();
        assert_eq!(refusal.code(), Code::RateLimited, "{set}");
        let _ = say(&inspector, &route, "treasurer-1", by("treasurer-1", &decision()), NOW).unwrap();
    }
    // one that says something else is another, and of two that say the same each counts by itself
    let other = format!("{limited}\n{}", limited.replace("2/hour", "9/hour"));
    inspector.swap(generation_with(view(&mut library()), &source(&other, None), &[]));
    assert!(say(&inspector, &route, "retailer-7", decision(), NOW).is_err());
    let twice = format!("{limited}\n{limited}");
    let inspector = house(&twice);
    let permit = say(&inspector, &route, "retailer-7", decision(), NOW).unwrap();
    let left: Vec<u64> = permit.quotas().iter().map(|quota| quota.left.unwrap().units).collect();
    assert_eq!(left, [1, 1]);
}

#[test]
fn a_renewed_permit_is_not_paid_twice_and_still_says_what_is_left() {
    let inspector = house(DECISIONS);
    let route = route("l8");
    let permit = say(&inspector, &route, "retailer-7", decision(), NOW).unwrap();
    inspector.swap(generation_with(view(&mut library()), &source(DECISIONS, None), &[]));
    let permit = inspector.renew(permit, NOW).unwrap();
    assert_eq!((permit.generation(), permit.quotas()[0].left.unwrap().units), (2, 1));
    let _ = say(&inspector, &route, "retailer-7", decision(), NOW).unwrap();
    assert!(say(&inspector, &route, "retailer-7", decision(), NOW).is_err());
}

#[test]
fn more_than_a_budget_holds_is_told_so_and_a_free_message_costs_nothing() {
    let inspector = with_limits(
        r#"{"costs": [{"performative": "QUERY", "cost": 0}], "budgets": [{"name": "one", "limit": "1/day"}]}"#,
    );
    let route = route("l8");
    for n in 0..9 {
        let permit = say(&inspector, &route, "retailer-7", base("question"), later(n)).unwrap();
        assert_eq!(names(permit.quotas()), ["ambiguity"], "a query is free");
    }
    let mut two: serde_json::Value = serde_json::from_slice(&decision()).unwrap();
    let one = two["content"].as_object().unwrap().values().next().unwrap().clone();
    two["content"] = serde_json::json!({"a": one, "b": one});
    let refusal = say(&inspector, &route, "retailer-7", serde_json::to_vec(&two).unwrap(), NOW).unwrap_err();
    assert_eq!(refusal.code(), Code::RateLimited);
    assert!(refusal.hint().contains("send less in one message"), "{}", refusal.hint());
    assert!(refusal.never_passes() && refusal.retry_after().is_none(), "no wait helps");
    assert_eq!(refusal.detail(), "it can never pass: `one` holds 1 and this costs 2");
    assert_eq!(refusal.facts().limited[0].again_in, None);
    let _ = say(&inspector, &route, "retailer-7", decision(), NOW).unwrap();
}

const REDACTS: &str = r#"@id("reference") @redact("booking_reference")
    permit (principal, action, resource is travel::bookFlight_results)
    when { context.direction == "reply" && context.receiver == Agent::"spiffe://semgate.test/agent/retailer-7" };"#;

fn flight(from: &str) -> Vec<u8> {
    serde_json::json!({
        "protocol": "L8/1.0", "message_id": "m-1", "performative": "REQUEST", "sender_id": from,
        "receiver_id": "wholesaler-1", "context": "urn:contexts:travel:v2.1",
        "content": {"task": "bookFlight", "origin_code": "LAX", "dest_code": "JFK", "date": "2025-11-04"},
    })
    .to_string()
    .into_bytes()
}

fn booked(to: &str) -> String {
    serde_json::json!({
        "protocol": "L8/1.0", "message_id": "r-1", "performative": "INFORM", "sender_id": "wholesaler-1", "receiver_id": to,
        "context": "urn:contexts:travel:v2.1",
        "content": {"task": "bookFlight", "status": "confirmed", "booking_reference": "SECRET7"},
    })
    .to_string()
}

fn asked(inspector: &Inspector, from: &str) -> Sent {
    say(inspector, &route("l8"), from, flight(from), NOW).unwrap().spend().1
}

#[test]
fn what_a_policy_redacts_is_not_in_the_bytes_of_the_reply_and_the_rest_is() {
    let inspector = house(REDACTS);
    let sent = asked(&inspector, "retailer-7");
    let permit = inspector
        .inspect_reply(&sent, &agent("wholesaler-1"), 200, Bytes::from(booked("retailer-7")), NOW)
        .unwrap();
    assert_eq!(permit.written(), Written::ByGateway);
    assert_eq!(permit.facts().redacted, ["bookFlight.booking_reference"]);
    assert!(permit.facts().policy_ids().contains(&"own.cedar#reference"));
    let (_, bytes) = permit.spend();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert!(!text.contains("SECRET7") && !text.contains("booking_reference"), "{text}");
    let mut expected: serde_json::Value = serde_json::from_str(&booked("retailer-7")).unwrap();
    expected["content"].as_object_mut().unwrap().remove("booking_reference");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), expected);
}

/// The live policies are these, and those decide beside them.
fn beside(live: &str, shadow: &str) -> (Inspector, Arc<ShadowCounts>) {
    let counts = Arc::new(ShadowCounts::default());
    let shadow = common::policies(&source(shadow, None), &view(&mut library()));
    let generation = generation_with(view(&mut library()), &source(live, None), &[]);
    (inspector(generation.with_shadow(Some(Shadow::new(shadow, 1, Arc::clone(&counts))))), counts)
}

#[test]
fn a_shadow_set_that_takes_other_members_out_of_a_reply_differs() {
    let reference = "bookFlight.booking_reference";
    let wants = format!(
        r#"{REDACTS} @id("wants") forbid (principal, action, resource is travel::bookFlight_results)
        when {{ context.direction == "reply" && resource has booking_reference && resource.booking_reference like "SECRET*" }};"#
    );
    for (what, live, shadow, would, redacted) in [
        ("it stops", REDACTS, "", Some(Would::Redact), None),
        ("it begins", "", REDACTS, Some(Would::Redact), Some(reference)),
        ("both do", REDACTS, REDACTS, None, None),
        ("neither does", "", "", None, None),
        ("it denies what the live set took out before", REDACTS, wants.as_str(), Some(Would::Deny), None),
    ] {
        let (inspector, counts) = beside(live, shadow);
        let sent = asked(&inspector, "retailer-7");
        let (before, body) = (counts.asked(), Bytes::from(booked("retailer-7")));
        let permit = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, body, NOW).unwrap();
        let told = permit.facts().shadow.as_deref();
        assert_eq!(told.map(|differs| differs.would), would, "{what}");
        let gone: Vec<&str> = told.iter().flat_map(|differs| &differs.redacted).map(String::as_str).collect();
        assert_eq!(gone, redacted.into_iter().collect::<Vec<_>>(), "{what}");
        assert_eq!(counts.asked() - before, 1, "{what}: one message, however often it is looked at");
        let counted =
            |(direction, one, count)| direction == Direction::Reply && Some(one) == would && count == 1;
        assert_eq!(counts.differed().any(counted), would.is_some(), "{what}");
    }
}

#[test]
fn a_shadow_set_is_asked_of_a_reply_of_which_the_live_one_leaves_what_fits_no_schema() {
    let document = serde_json::json!({"context": "urn:contexts:weights:v1.0", "tasks": {"weigh": {
        "parameters": {"type": "object"}, "performatives": ["REQUEST", "INFORM"],
        "results": {"type": "object", "minProperties": 1,
            "properties": {"grams": {"type": "integer"}, "how": {"type": "string"}}}}}});
    let asks = r#"permit (principal in Group::"partners", action, resource is weights::weigh);"#;
    let permits = format!(
        r#"{asks} @id("told") permit (principal in Group::"repliers", action, resource is weights::weigh_results);"#
    );
    let redacts = format!(
        r#"{asks} @redact("how") permit (principal in Group::"repliers", action, resource is weights::weigh_results)
        when {{ context.direction == "reply" }};"#
    );
    let message = |from: &str, to: &str, performative: &str, content: serde_json::Value| {
        serde_json::json!({"protocol": "L8/1.0", "message_id": "m-1", "performative": performative, "sender_id": from,
            "receiver_id": to, "context": "urn:contexts:weights:v1.0", "content": content})
        .to_string()
    };
    for (what, shadow, would) in [
        ("it takes nothing out", &permits, Some(Would::Permit)),
        ("it does the same", &redacts, None),
        ("it denies", &asks.to_owned(), Some(Would::Deny)),
    ] {
        let mut authority = library();
        authority.publish(&serde_json::to_vec(&document).unwrap());
        let view = view(&mut authority);
        let [live, shadow] = [&redacts, shadow].map(|text| common::policies(&source(text, None), &view));
        let shadow = Shadow::new(shadow, 1, Arc::default());
        let generation = generation_with(view, &PolicySource::shipped(), &[]).with_policies(live).unwrap();
        let inspector = inspector(generation.with_shadow(Some(shadow)));
        let asked = message("retailer-7", "wholesaler-1", "REQUEST", serde_json::json!({"task": "weigh"}));
        let (_, sent) = say(&inspector, &route("l8, all lines"), "retailer-7", asked, NOW).unwrap().spend();
        let content = serde_json::json!({"task": "weigh", "how": "SECRET7"});
        let body = Bytes::from(message("wholesaler-1", "retailer-7", "INFORM", content));
        let refusal = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, body, NOW).unwrap_err();
        assert_eq!(
            (refusal.code(), refusal.cause()),
            (Code::ReplyRefused, Some(Code::ContentInvalid)),
            "{what}"
        );
        let told = refusal.facts().shadow.as_deref();
        assert_eq!(told.map(|differs| differs.would), would, "{what}");
        assert!(!format!("{refusal:?}").contains("SECRET7"), "{what}");
    }
}

#[test]
fn what_policies_do_not_see_is_redacted_like_any_other_member() {
    let document = serde_json::json!({"context": "urn:contexts:weights:v1.0", "tasks": {"weigh": {
        "parameters": {"type": "object"}, "performatives": ["REQUEST", "INFORM"],
        "results": {"type": "object", "properties": {"grams": {"type": "integer"},
            "how": {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "exact": {"type": "number"}}}}}});
    let policies = r#"permit (principal in Group::"partners", action, resource is weights::weigh);
        @redact("how, exact") permit (principal in Group::"repliers", action, resource is weights::weigh_results)
        when { context.direction == "reply" };"#;
    let message = |from: &str, to: &str, performative: &str, content: serde_json::Value| {
        serde_json::json!({"protocol": "L8/1.0", "message_id": "m-1", "performative": performative, "sender_id": from,
            "receiver_id": to, "context": "urn:contexts:weights:v1.0", "content": content})
    };
    let mut authority = library();
    authority.publish(&serde_json::to_vec(&document).unwrap());
    let view = view(&mut authority);
    let live = common::policies(&source(policies, None), &view);
    let generation = generation_with(view, &PolicySource::shipped(), &[]).with_policies(live).unwrap();
    let inspector = inspector(generation);
    for how in [serde_json::json!("SECRET7"), serde_json::json!(7)] {
        let asked = message("retailer-7", "wholesaler-1", "REQUEST", serde_json::json!({"task": "weigh"}));
        let route = route("l8, all lines");
        let (_, sent) = say(&inspector, &route, "retailer-7", asked.to_string(), NOW).unwrap().spend();
        let content = serde_json::json!({"task": "weigh", "grams": 3, "how": how, "exact": 1.123_456_7});
        let mut reply = message("wholesaler-1", "retailer-7", "INFORM", content);
        let body = Bytes::from(reply.to_string());
        let permit = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, body, NOW).unwrap();
        assert_eq!(permit.facts().redacted, ["weigh.exact", "weigh.how"]);
        let left: serde_json::Value = serde_json::from_slice(&permit.spend().1).unwrap();
        reply["content"]
            .as_object_mut()
            .unwrap()
            .retain(|name, _| !["how", "exact"].contains(&name.as_str()));
        assert_eq!(left, reply);
    }
}

#[test]
fn a_record_of_a_reply_with_two_instances_says_of_which_one_a_member_was_taken() {
    let keep = Keep::new(BTreeMap::new(), 1 << 14);
    let inspector = house(REDACTS).with_kept(keep);
    let sent = asked(&inspector, "retailer-7");
    let mut reply: serde_json::Value = serde_json::from_str(&booked("retailer-7")).unwrap();
    let one = reply["content"].clone();
    let mut other = one.clone();
    other.as_object_mut().unwrap().remove("booking_reference");
    reply["content"] = serde_json::json!({"first": other, "second": one});
    let body = Bytes::from(reply.to_string());
    let permit = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, body, NOW).unwrap();
    assert_eq!(permit.facts().redacted, ["bookFlight.booking_reference"]);
    let kept: serde_json::Value = serde_json::from_str(permit.facts().asked.as_deref().unwrap()).unwrap();
    let redacted: Vec<_> =
        kept["questions"].as_array().unwrap().iter().map(|one| one["redacted"].clone()).collect();
    assert_eq!(redacted, [serde_json::json!([]), serde_json::json!(["booking_reference"])]);
    // a reply that nothing was taken out of says nothing of it
    let sent = asked(&inspector, "treasurer-1");
    let body = Bytes::from(booked("treasurer-1"));
    let permit = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, body, NOW).unwrap();
    assert!(!permit.facts().asked.as_deref().unwrap().contains("redacted"));
}

#[test]
fn an_event_of_a_stream_is_redacted_like_a_reply() {
    let inspector = house(REDACTS);
    let sent = asked(&inspector, "retailer-7");
    let mut stream = inspector.stream(&sent);
    let event = Bytes::from(booked("retailer-7"));
    let permit = inspector.inspect_event(&sent, &mut stream, &agent("wholesaler-1"), event, NOW).unwrap();
    assert!(!String::from_utf8_lossy(&permit.spend().1).contains("SECRET7"));
}

#[test]
fn a_reply_that_the_policy_does_not_decide_passes_byte_for_byte() {
    let inspector = house(REDACTS);
    let sent = asked(&inspector, "treasurer-1");
    let body = Bytes::from(booked("treasurer-1"));
    let permit = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, body.clone(), NOW).unwrap();
    assert_eq!((permit.written(), permit.facts().redacted.len()), (Written::ByAgent, 0));
    assert_eq!(permit.spend().1, body);
}

#[test]
fn a_reply_whose_permit_wants_what_was_taken_out_is_refused_and_not_passed_whole() {
    // decided again without the reference, nothing permits it: `reply-travel` of the shipped set is left out here
    let rules = format!(
        r#"{REDACTS} forbid (principal, action, resource is travel::bookFlight_results)
        when {{ context.direction == "reply" }} unless {{ resource has booking_reference }};"#
    );
    let inspector = house(&rules);
    let sent = asked(&inspector, "retailer-7");
    let refusal = inspector
        .inspect_reply(&sent, &agent("wholesaler-1"), 200, Bytes::from(booked("retailer-7")), NOW)
        .unwrap_err();
    assert_eq!((refusal.code(), refusal.cause()), (Code::ReplyRefused, Some(Code::PolicyDenied)));
    assert!(!format!("{refusal:?}").contains("SECRET7"));
}

#[test]
fn attack_one_caller_uses_up_what_an_agent_may_say_to_another() {
    let inspector = house(
        r#"@limit("1/hour") permit (principal, action, resource is travel::bookFlight_results) when { context.direction == "reply" };"#,
    );
    let answer = |caller: &str| {
        let sent = asked(&inspector, caller);
        inspector
            .inspect_reply(&sent, &agent("wholesaler-1"), 200, Bytes::from(booked(caller)), NOW)
            .map(drop)
    };
    answer("retailer-7").unwrap();
    assert_eq!(answer("retailer-7").unwrap_err().cause(), Some(Code::RateLimited));
    answer("treasurer-1").unwrap();
}

#[test]
fn a_limit_on_replies_is_the_repliers_and_tells_the_caller_nothing() {
    let inspector = house(
        r#"@limit("1/hour") permit (principal, action, resource is travel::bookFlight_results) when { context.direction == "reply" };"#,
    );
    let sent = asked(&inspector, "retailer-7");
    let answer = || {
        inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, Bytes::from(booked("retailer-7")), NOW)
    };
    let _ = answer().unwrap();
    let refusal = answer().unwrap_err();
    assert_eq!((refusal.code(), refusal.cause()), (Code::ReplyRefused, Some(Code::RateLimited)));
    assert!(refusal.quotas().is_empty() && sent.quotas().is_empty());
}

#[test]
fn the_policies_of_the_large_case_that_is_measured_load() {
    let loaded = Policies::load(&many::ten_and(3), &many::contexts_and(3), &PolicyLimits::default());
    assert_eq!(loaded.map(|policies| policies.ids().count()).map_err(|faults| format!("{faults:?}")), Ok(40));
}
