//! What is never true is so in whatever order and form it is written, and what can be true is so too.

use super::{faults, loads};
use crate::{Policies, PolicyLimits};

fn forbid(scope: &str, condition: &str) -> String {
    format!(
        "permit (principal, action, resource);\nforbid (principal, action, {scope}) when {{ {condition} }};"
    )
}

/// Each with its parts in both orders.
#[track_caller]
fn never(scope: &str, parts: &[&str]) {
    let back: Vec<&str> = parts.iter().rev().copied().collect();
    for parts in [parts, &back] {
        let text = forbid(scope, &parts.join(" && "));
        let told = faults(&text);
        assert!(told.len() == 1 && told[0].contains("true for no message"), "{text}\n{told:?}");
    }
}

/// The same, and on one side of `||` it does nothing.
#[track_caller]
fn never_in_parts(scope: &str, parts: &[&str]) {
    never(scope, parts);
    let back: Vec<&str> = parts.iter().rev().copied().collect();
    for parts in [parts, &back] {
        let text = forbid(scope, &format!("context.locked || ({})", parts.join(" && ")));
        let told = faults(&text);
        assert!(told.len() == 1 && told[0].contains("no message that comes to it"), "{text}\n{told:?}");
    }
}

const PAYMENT: &str = "resource is payment::transfer";
const FLIGHT: &str = "resource is travel::bookFlight";

#[test]
fn what_is_refused_in_one_order_is_refused_in_the_other() {
    never_in_parts(PAYMENT, &["resource.sender_id != \"x\"", "[\"x\"].contains(resource.sender_id)"]);
    never(PAYMENT, &["!(resource.sender_id like \"x*\")", "[\"xa\", \"xb\"].contains(resource.sender_id)"]);
    never(
        PAYMENT,
        &["(resource.sender_id == \"a\" || resource.sender_id == \"b\")", "resource.sender_id == \"c\""],
    );
    never(FLIGHT, &["context.now.toTime() > duration(\"1h\")", "resource.date == context.now"]);
    for condition in [
        "resource.sender_id != \"x\" && [\"x\", \"y\"].contains(resource.sender_id)",
        "[\"x\", \"y\"].contains(resource.sender_id) && resource.sender_id != \"x\"",
        "(resource.sender_id == \"a\" || resource.sender_id == \"b\") && resource.sender_id == \"b\"",
        "resource.sender_id like \"a*\" && resource.sender_id like \"*b\" && resource.sender_id != \"ab\"",
    ] {
        loads(&forbid(PAYMENT, condition));
    }
    loads(&forbid(FLIGHT, "context.now.toTime() >= duration(\"0h\") && resource.date == context.now"));
}

/// Refused in both orders, whatever is told of it.
#[track_caller]
fn refused(parts: [&str; 2]) {
    for [one, other] in [parts, [parts[1], parts[0]]] {
        let text = forbid("resource", &format!("({one}) && ({other})"));
        assert_eq!(faults(&text).len(), 1, "{text}\n{:?}", faults(&text));
    }
}

#[test]
fn bug_what_one_side_says_of_the_line_the_type_or_the_major_counted_in_one_order() {
    refused(["context.line == \"travel\"", "resource has amount"]);
    refused(["context.binding_version == \"\"", "context.binding == \"mcp\""]);
    refused(["resource has amount && resource has quantity", "context.major == 1"]);
    for condition in [
        "resource has amount && context.major == 1",
        "resource has amount && context.line == \"payment\"",
        "{a: context.binding} != {a: \"l8\"} && resource is payment::transfer",
        "context.binding != \"a2a\" && context.line == \"mcp\"",
        "(resource has amount || context.locked) && context.line == \"payment\"",
    ] {
        loads(&forbid("resource", condition));
    }
}

#[test]
fn what_several_alternatives_leave_together_is_judged_and_each_branch_of_if() {
    let sender = |name: &str| format!("resource.sender_id == \"{name}\"");
    let either = |a: &str, b: &str| format!("({} || {})", sender(a), sender(b));
    never(PAYMENT, &[&either("a", "b"), &either("c", "d")]);
    let branch = format!("(if context.locked then {} else {})", sender("a"), sender("b"));
    never(PAYMENT, &[&branch, &sender("c")]);
    never(PAYMENT, &[&branch, "!context.locked", &sender("a")]);
    never(PAYMENT, &["(context.locked || context.free_text)", "!context.locked", "!context.free_text"]);
    for condition in [
        format!("{} && {}", either("a", "b"), either("b", "c")),
        format!("{branch} && {}", sender("b")),
        format!("{branch} && {}", either("b", "c")),
        "(context.locked || resource.sender_id == \"a\") && !context.locked".to_owned(),
    ] {
        loads(&forbid(PAYMENT, &condition));
    }
}

#[test]
fn who_sends_and_what_is_done_is_judged_in_whichever_form_it_is_asked() {
    let of = |who: &str, condition: &str| {
        format!("permit ({who}, action, resource is travel::bookFlight) when {{ {condition} }};")
    };
    let retailer = "principal == Agent::\"spiffe://semgate.test/agent/retailer-7\"";
    for (who, condition) in [
        (retailer, "principal is Agent in Group::\"planners\""),
        (retailer, "[Agent::\"spiffe://semgate.test/agent/courier-5\"].contains(principal)"),
        (retailer, "!([Agent::\"spiffe://semgate.test/agent/retailer-7\"].contains(principal))"),
        (
            "principal",
            "context.receiver is Agent in Group::\"planners\" && [Agent::\"spiffe://semgate.test/agent/retailer-7\"].contains(context.receiver)",
        ),
        ("principal", "[Action::\"REQUEST\"].contains(action) && action == Action::\"QUERY\""),
        ("principal", "action == Action::\"QUERY\" && [Action::\"REQUEST\"].contains(action)"),
    ] {
        let text = of(who, condition);
        // by who is in a group it is told, and the set loads
        let told = match super::House::with(&text) {
            Err(faults) => faults,
            Ok(house) => house.policies.warnings().iter().map(ToString::to_string).collect(),
        };
        assert!(told.len() == 1 && told[0].contains("true for no message"), "{text}\n{told:?}");
    }
    for (who, condition) in [
        (retailer, "principal is Agent in Group::\"partners\""),
        (retailer, "[Agent::\"spiffe://semgate.test/agent/retailer-7\"].contains(principal)"),
        ("principal", "[Action::\"REQUEST\"].contains(action) && context.line == \"travel\""),
        ("principal", "context.receiver is Agent in Group::\"repliers\""),
    ] {
        loads(&of(who, condition));
    }
    let covered = |forbid: &str| {
        let text = format!(
            "permit (principal in Group::\"partners\", action, resource is payment::transfer);\npermit (principal in Group::\"partners\", action, resource is travel::bookFlight);\nforbid (principal, action, resource is travel::bookFlight) when {{ {forbid} }};"
        );
        super::House::with(&text).map_or_else(
            |faults| faults,
            |house| house.policies.warnings().iter().map(ToString::to_string).collect(),
        )
    };
    for forbid in [
        "principal in Group::\"partners\"",
        "principal is Agent in Group::\"partners\"",
        "principal in [Group::\"partners\", Group::\"planners\"]",
    ] {
        let told = covered(forbid);
        assert!(told.len() == 1 && told[0].contains("it permits nothing"), "{forbid}: {told:?}");
    }
    assert_eq!(covered("principal is Agent in Group::\"planners\""), Vec::<String>::new());
}

#[test]
fn an_action_that_nothing_of_the_line_takes_is_told_whichever_says_it() {
    let permit = "permit (principal, action, resource);\n";
    for (effect, action, condition) in [
        ("forbid", "action == Action::\"SUBSCRIBE\"", "context.line == \"payment\""),
        ("forbid", "action == Action::\"SUBSCRIBE\"", "context.line like \"pay*\""),
        ("forbid", "action", "action == Action::\"SUBSCRIBE\" && context.line like \"pay*\""),
        (
            "forbid",
            "action",
            "context.line == \"payment\" && action in [Action::\"SUBSCRIBE\", Action::\"PUBLISH\"]",
        ),
        (
            "forbid",
            "action",
            "[Action::\"PUBLISH\", Action::\"SUBSCRIBE\"].contains(action) && context.line == \"payment\"",
        ),
        ("forbid", "action == Action::\"PUBLISH\"", "context.line == \"mcp\""),
        ("permit", "action == Action::\"PUBLISH\"", "context.line == \"payment\""),
    ] {
        let text = format!("{permit}{effect} (principal, {action}, resource) when {{ {condition} }};");
        let told = faults(&text);
        assert!(told.len() == 1 && told[0].contains("true for no message"), "{text}\n{told:?}");
    }
    for condition in [
        "action == Action::\"REQUEST\" && context.line == \"payment\"",
        "action == Action::\"SUBSCRIBE\" && context.line == \"mcp\"",
        "context.line == \"payment\" && action != Action::\"QUERY\"",
    ] {
        loads(&format!("{permit}forbid (principal, action, resource) when {{ {condition} }};"));
    }
}

#[test]
fn what_is_never_shown_in_a_request_or_a_reply_is_told() {
    let of = |condition: &str| {
        format!("permit (principal, action, resource is payment::transfer) when {{ {condition} }};")
    };
    for (way, asked) in [
        ("reply", "principal.credentials.contains(\"token:hr:x\")"),
        ("reply", "principal.credentials.containsAny([\"token:hr:x\", \"token:hr:y\"])"),
        ("request", "context.receiver.credentials.contains(\"cert:policy:1.2.3\")"),
        ("request", "context.receiver.credentials.contains(\"token:hr:x\")"),
    ] {
        let way = format!("context.direction == \"{way}\"");
        for condition in [format!("{way} && {asked}"), format!("{asked} && {way}")] {
            let told = faults(&of(&condition));
            assert!(told.len() == 1 && told[0].contains("true for no message"), "{condition}: {told:?}");
        }
    }
    for condition in [
        "context.direction == \"request\" && principal.credentials.contains(\"token:hr:x\")",
        "context.direction == \"reply\" && principal.credentials.contains(\"cert:policy:1.2.3\")",
        "context.direction == \"reply\" && context.receiver.credentials.contains(\"token:hr:x\")",
        "context.direction == \"reply\" && context.receiver.credentials.contains(\"cert:policy:1.2.3\")",
        "principal.credentials.contains(\"token:hr:x\")",
        "context.receiver.credentials.contains(\"token:hr:x\")",
        "context.direction == \"reply\" || principal.credentials.contains(\"token:hr:x\")",
        "context.direction == \"reply\" && !principal.credentials.contains(\"token:hr:x\")",
    ] {
        loads(&of(condition));
    }
}

#[test]
fn a_member_that_no_concept_of_the_major_has_is_never_there() {
    let context = |version: &str, members: &str| {
        super::context(&format!(
            r#"{{"context":"urn:contexts:t:{version}","concepts":{{"c":{{"type":"object","properties":{{{members}}}}}}}}}"#
        ))
    };
    let told = |condition: &str| {
        let contexts = vec![
            context("v1.0", r#""n":{"type":"integer"}"#),
            context("v1.1", r#""n":{"type":"integer"},"newer":{"type":"string"}"#),
            context("v2.0", r#""n":{"type":"string"}"#),
        ];
        let text = format!("permit (principal, action, resource) when {{ {condition} }};");
        super::House::load(&super::one_file(&text), contexts).err().unwrap_or_default()
    };
    for condition in [
        "resource has newer && context.major == 2",
        "context.major == 2 && resource has newer",
        "resource has newer && context.major > 1 && context.line == \"t\"",
    ] {
        let told = told(condition);
        assert!(told.len() == 1 && told[0].contains("true for no message"), "{condition}: {told:?}");
    }
    for condition in [
        "resource has newer && context.major == 1",
        "resource has n && context.major == 2",
        "!(resource has newer) && context.major == 2",
        "resource has newer || context.major == 2",
    ] {
        assert_eq!(told(condition), Vec::<String>::new(), "{condition}");
    }
}

#[test]
fn a_time_of_day_elsewhere_is_judged_like_one_of_utc() {
    let there = "context.now.offset(duration(\"2h\"))";
    let never_there = |parts: &[&str]| {
        let parts: Vec<String> = parts.iter().map(|part| format!("{there}{part}")).collect();
        never(FLIGHT, &parts.iter().map(String::as_str).collect::<Vec<_>>());
    };
    never_there(&[".toTime() >= duration(\"18h\")", ".toTime() < duration(\"6h\")"]);
    never_there(&[".toTime().toHours() >= 8", ".toTime().toHours() < 7"]);
    never_there(&[".toTime() > duration(\"24h\")"]);
    for condition in [
        format!("{there}.toTime() >= duration(\"18h\") && context.now.toTime() < duration(\"17h\")"),
        format!(
            "{there}.toTime() >= duration(\"18h\") && context.now.offset(duration(\"3h\")).toTime() < duration(\"6h\")"
        ),
        format!("{there}.toTime() >= duration(\"18h\") || {there}.toTime() < duration(\"6h\")"),
        format!("{there}.toTime() >= duration(\"6h\") && {there}.toTime() < duration(\"18h\")"),
        format!("{there}.toDate() == datetime(\"2031-01-01\") && context.now < datetime(\"2031-01-01\")"),
    ] {
        loads(&forbid(FLIGHT, &condition));
    }
    never(
        FLIGHT,
        &[
            &format!("{there}.toDate() == datetime(\"2031-01-01\")"),
            &format!("{there}.toDate() == datetime(\"2031-01-02\")"),
        ],
    );
}

/// The types of 20 contexts were looked through for each `has`, four times, and no step was counted: a policy of 150 of them took minutes.
#[test]
fn bug_each_member_that_is_asked_for_beside_a_major_looked_through_every_type() {
    let members: Vec<String> = (0..8).map(|n| format!(r#""m{n}":{{"type":"integer"}}"#)).collect();
    let concept = |n: usize| format!(r#""c{n}":{{"type":"object","properties":{{{}}}}}"#, members.join(","));
    let concepts: Vec<String> = (0..50).map(concept).collect();
    let mut contexts: Vec<_> = (0..20)
        .map(|n| {
            super::context(&format!(
                r#"{{"context":"urn:contexts:l{n}:v1.0","concepts":{{{}}}}}"#,
                concepts.join(",")
            ))
        })
        .collect();
    contexts.push(super::context(
        r#"{"context":"urn:contexts:t:v2.0","concepts":{"c":{"type":"object","properties":{"newer":{"type":"string"}}}}}"#,
    ));
    let load = |condition: &str, limits: &PolicyLimits| {
        let text = format!("permit (principal, action, resource) when {{ {condition} }};");
        let told = Policies::load(&super::one_file(&text), &contexts, limits).err().unwrap_or_default();
        told.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let each: Vec<String> = (0..150).map(|n| format!("resource has m{}", n % 8)).collect();
    let many = format!("context.major == 1 && {}", each.join(" && "));
    assert_eq!(load(&many, &PolicyLimits::default()), [""; 0]);
    let never = "context.major == 2 && resource has m0 && resource has m1";
    let told = load(never, &PolicyLimits::default());
    assert!(told.len() == 1 && told[0].contains("true for no message"), "{told:?}");
    // a step for each type and member, of those for looking once more: past them it is taken as possible
    let few = PolicyLimits { max_policy_steps: 8_000, ..PolicyLimits::default() };
    assert_eq!(load(never, &few), [""; 0]);
}
