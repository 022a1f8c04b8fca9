//! Parts of a condition that are true for no message, or for every one, are refused although the whole could be either.

use super::{House, context, idle_today, loads, one_file, plainly, refused, shipped_contexts};

const NEVER: &str = "(a part that is never true does nothing: leave it out, or say what was meant)";
const ALWAYS: &str = "(what is true of every message asks for nothing: leave it out)";

fn typed(condition: &str) -> String {
    format!("permit (principal, action, resource is payment::transfer)\n{condition};")
}

#[test]
fn conditions_that_exclude_one_another_are_found_in_the_whole() {
    for condition in [
        "when { resource.currency == \"USD\" && resource.currency == \"EUR\" }",
        "when { resource.amount.greaterThan(decimal(\"100.0\")) && resource.amount.lessThan(decimal(\"50.0\")) }",
        "when { resource.amount == decimal(\"1.0\") && resource.amount == decimal(\"2.0\") }",
        "when { context.free_text && !context.free_text }",
        "when { context.locked == true && context.locked == false }",
        "unless { principal has credentials }",
        "when { action == Action::\"REQUEST\" && action == Action::\"QUERY\" }",
        "when { [\"USD\", \"EUR\"].contains(resource.currency) && resource.currency == \"GBP\" }",
        "when { principal.credentials.isEmpty() && (context.locked && !principal.credentials.isEmpty()) }",
        "when { !(context.now.toTime() < duration(\"8h\") || context.locked) && duration(\"8h\") > context.now.toTime() }",
    ] {
        refused(
            &typed(condition),
            &["p.cedar:2:1: policy `p.cedar#1`: its condition is true for no message"],
        );
    }
    refused(
        &typed("when { resource.currency == \"USD\" } when { resource.currency == \"EUR\" }"),
        &["p.cedar:1:1: policy `p.cedar#1`: its conditions together are true for no message"],
    );
    for same in [
        "when { principal.credentials.isEmpty() } unless { principal.credentials.isEmpty() }",
        "when { resource.currency like \"E*\" } unless { context.locked || resource.currency like \"E*\" }",
    ] {
        refused(
            &typed(same),
            &["p.cedar:1:1: policy `p.cedar#1`: its conditions together are true for no message"],
        );
    }
    refused(
        &typed("when { context.binding == \"a2a\" && context.binding_version == \"2025-11-25\" }"),
        &[
            "p.cedar:2:63: policy `p.cedar#1`: `context.binding_version` is never `\"2025-11-25\"` (it is one of `\"0.3\"`, `\"1.0\"`)",
        ],
    );
    for condition in [
        "when { resource.amount.greaterThan(decimal(\"50.0\")) && resource.amount.lessThan(decimal(\"100.0\")) }",
        "when { resource.currency == \"USD\" || resource.currency == \"EUR\" }",
        "when { resource.currency != \"USD\" && resource.currency != \"EUR\" }",
        "when { principal.credentials.isEmpty() || !principal.credentials.isEmpty() && context.locked }",
        "when { resource.currency like \"E*\" } unless { context.locked && resource.currency like \"E*\" }",
        "when { context.binding == \"a2a\" && context.binding_version == \"0.3\" }",
        "when { context.binding == \"l8\" && context.binding_version == \"\" }",
    ] {
        loads(&typed(condition));
    }
}

#[test]
fn a_part_that_is_never_true_is_named_although_the_whole_can_be() {
    refused(
        &typed("when { context.locked || (resource.currency == \"USD\" && resource.currency == \"EUR\") }"),
        &[&format!(
            "p.cedar:2:57: policy `p.cedar#1`: `resource.currency == \"EUR\"` is true for no message that comes to it {NEVER}"
        )],
    );
    refused(
        &typed("unless {\n  context.locked &&\n  !context.locked }"),
        &[&format!(
            "p.cedar:4:4: policy `p.cedar#1`: `!context.locked` is true for no message that comes to it {NEVER}"
        )],
    );
    refused(
        &typed("unless { resource is travel::bookFlight }"),
        &[&format!(
            "p.cedar:2:10: policy `p.cedar#1`: `resource is travel::bookFlight` is true for no message that comes to it {NEVER}"
        )],
    );
    // who is in a group, and which version comes, may be another tomorrow; what is written out is meant
    loads(&typed("unless { context.major == 1 && context.minor >= 7 }"));
    loads(&typed("when { true }"));
    loads(&typed("when { context.locked || false }"));
    loads(
        "permit (principal == Agent::\"spiffe://semgate.test/agent/retailer-7\", action, resource is payment::transfer) unless { principal in Group::\"planners\" };",
    );
}

#[test]
fn what_is_true_of_every_message_is_named() {
    refused(
        &typed("when { resource.currency != \"USD\" || resource.currency != \"EUR\" }"),
        &[&format!(
            "p.cedar:2:8: policy `p.cedar#1`: `(resource.currency != \"USD\") || (resource.currency != \"EUR\")` is true for every message {ALWAYS}"
        )],
    );
    refused(
        &typed("when { context.locked || principal has credentials }"),
        &[&format!(
            "p.cedar:2:26: policy `p.cedar#1`: `principal has credentials` is true for every message {ALWAYS}"
        )],
    );
    // a guard against what another version may bring is no mistake
    loads(&typed("when { resource has amount && resource.amount.greaterThan(decimal(\"1.0\")) }"));
    loads(&typed("when { !(resource has amount) || resource.amount.greaterThan(decimal(\"1.0\")) }"));
}

#[test]
fn a_truth_or_a_set_that_the_schema_never_lets_be_is_named() {
    let document = context(
        r#"{"context":"urn:contexts:grid:v1.0","concepts":{"reading":{"type":"object","properties":{
            "flag":{"type":"boolean","const":true},
            "tags":{"type":"array","items":{"type":"string","enum":["red","blue"]}}},
           "required":["flag","tags"],"additionalProperties":false}}}"#,
    );
    let load = |condition: &str| {
        let text = format!("permit (principal, action, resource is grid::reading)\n{condition};");
        let mut contexts = shipped_contexts();
        contexts.push(document.clone());
        House::load(&one_file(&text), contexts).err().unwrap_or_default()
    };
    let whole = "p.cedar:2:1: policy `p.cedar#1`: its condition is true for no message";
    assert_eq!(plainly(load("when { resource.flag == false }"), &[whole]), [whole]);
    assert_eq!(plainly(load("when { !resource.flag }"), &[whole]), [whole]);
    assert_eq!(load("when { resource.flag }"), [""; 0]);
    assert_eq!(
        load("when { resource.tags == [\"green\"] }"),
        [
            "p.cedar:2:26: policy `p.cedar#1`: `resource.tags` is never `\"green\"` (it is one of `\"blue\"`, `\"red\"`)"
        ]
    );
    assert_eq!(load("when { resource.tags == [\"red\"] }"), [""; 0]);
}

#[test]
fn a_sender_who_can_never_be_whom_the_condition_asks_for_is_found() {
    let whole = "p.cedar:2:1: policy `p.cedar#1`: its condition is true for no message";
    let retailer = "permit (principal == Agent::\"spiffe://semgate.test/agent/retailer-7\", action, resource is payment::transfer)\n";
    idle_today(&format!("{retailer}when {{ principal in Group::\"planners\" }};"), &[whole]);
    refused(
        &format!("{retailer}when {{ principal == Agent::\"spiffe://semgate.test/agent/courier-5\" }};"),
        &[whole],
    );
    loads(&format!("{retailer}when {{ principal in Group::\"partners\" }};"));
}

#[test]
fn an_operation_of_a_protocol_is_never_a_reply() {
    let of = |concept: &str, condition: &str| {
        format!("permit (principal, action, resource is a2a::{concept})\nwhen {{ {condition} }};")
    };
    refused(
        &of("GetTask", "context.direction == \"reply\""),
        &[
            "p.cedar:2:29: policy `p.cedar#1`: `context.direction` is never `\"reply\"` (it is one of `\"request\"`)",
        ],
    );
    loads(&of("GetTask", "context.direction == \"request\""));
    loads(&of("AgentCard", "context.direction == \"reply\""));
    loads(&of("text", "context.direction == \"reply\""));
}

#[test]
fn bug_a_part_that_is_never_true_was_told_without_why() {
    for (condition, piece, because) in [
        (
            "when { context.locked || (resource.currency == \"USD\" && resource.currency == \"EUR\") }",
            "resource.currency == \"EUR\"",
            "`resource.currency` is `\"USD\"` by what stands before it; ",
        ),
        (
            "unless { context.locked && !context.locked }",
            "!context.locked",
            "`context.locked` is `true` by what stands before it; ",
        ),
        (
            "unless { context.line == \"payment\" && context.major == 1 && context.minor == 9 }",
            "context.minor == 9",
            "`context.minor` is one of `0`, `1`; ",
        ),
        (
            "when { context.locked || context.now.offset(duration(\"1d\")) < context.now }",
            "context.now.offset(duration(\"1d\")) < context.now",
            "`context.now` is compared with itself; ",
        ),
        (
            "when { context.locked || resource.amount.lessThan(decimal(\"0.0\")) }",
            "resource.amount.lessThan(decimal(\"0.0\"))",
            "`resource.amount` is at least `0.0`; ",
        ),
    ] {
        let told = super::faults(&typed(condition));
        let why =
            format!("`{piece}` is true for no message that comes to it ({because}a part that is never true");
        assert!(told.len() == 1 && told[0].contains(&why), "{condition}: {told:?}");
    }
}

#[test]
fn bug_a_piece_that_begins_with_a_list_or_a_choice_was_told_at_its_first_variable() {
    for (condition, column) in [
        (r#"["USD"].contains(resource.currency) && ["EUR"].contains(resource.currency)"#, 40),
        (r#"["EUR", "USD"].containsAll([resource.currency]) && resource.currency == "GBP""#, 52),
        (r#"resource.currency == "USD" && ["EUR"].containsAny([resource.currency])"#, 31),
        (
            r#"resource.currency == "USD" && (if context.locked then resource.currency == "EUR" else false)"#,
            32,
        ),
        (r#"context.locked && decimal("0.0").greaterThan(resource.amount)"#, 19),
    ] {
        let place =
            format!("p.cedar:2:{}: policy `p.cedar#1`: its condition is true for no message", column + 7);
        let told = super::faults(&typed(&format!("when {{ {condition} }}")));
        assert!(told.len() == 1 && told[0].starts_with(&place), "{condition}: {told:?}");
    }
}

#[test]
fn bug_what_a_member_is_by_what_stands_before_it_was_not_told_behind_what_keeps_it_out() {
    for (condition, because) in [
        (
            "when { context.direction == \"request\" && !(context.direction == \"reply\") }",
            "`context.direction` is `\"request\"` by what stands before it; ",
        ),
        (
            "when { context.direction == \"request\" } unless { context.direction == \"reply\" }",
            "`context.direction` is `\"request\"` by what stands before it; ",
        ),
        (
            "when { !context.locked || !(context has session) }",
            "a session is there where `context.locked` is true, and nowhere else; ",
        ),
    ] {
        let told = super::faults(&typed(condition));
        let why = format!("is true for no message that comes to it ({because}a part that is never true");
        assert!(told.len() == 1 && told[0].contains(&why), "{condition}: {told:?}");
    }
}
