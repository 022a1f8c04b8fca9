//! A member that nothing has is an error wherever in a policy it stands, and so is a line that there is not.

use super::{House, context, faults, loads, one_file, shipped_contexts};
use crate::{Policies, PolicyLimits};

#[track_caller]
fn refused(text: &str, expected: &str) {
    let expected = format!("p.cedar:{expected}");
    assert_eq!(super::plainly(faults(text), &[&expected]), [&*expected], "{text}");
}

const AMUONT: &str = "policy `p.cedar#1`: attribute `amuont` on entity type `payment::transfer` not found (did you mean `amount`?)";

#[test]
fn a_misspelt_field_behind_has_fails_closed_in_unless_or_and_not() {
    for (condition, column) in [
        ("unless { resource has amuont && resource.amuont.greaterThan(decimal(\"10000.0\")) }", 10),
        ("unless { resource.currency == \"USD\" && !(resource has amuont) }", 42),
        (
            "when { resource.currency == \"USD\" || (resource has amuont && resource.amuont.greaterThan(decimal(\"1.0\"))) }",
            39,
        ),
        ("when { !(resource has amuont) }", 10),
        ("when { if context.locked then resource has amuont else context.free_text }", 31),
        ("when { context.locked || (resource.currency == \"USD\" && resource has \"amuont\") }", 57),
        ("when { resource has amuont }", 8),
        (
            "when { context.free_text } unless { resource has amuont && resource.amuont.lessThan(decimal(\"1.0\")) }",
            37,
        ),
    ] {
        for effect in ["permit", "forbid"] {
            let text = format!("{effect} (principal, action, resource is payment::transfer)\n{condition};");
            refused(&text, &format!("2:{column}: {AMUONT}"));
        }
    }
}

#[test]
fn a_misspelt_circumstance_or_attribute_of_an_agent_is_named_with_what_was_meant() {
    for (condition, expected) in [
        (
            "unless { context has sesion && context.locked }",
            "2:10: policy `p.cedar#1`: attribute `sesion` in context not found (did you mean `session`?)",
        ),
        (
            "unless { context.locked && context has session && context.session has expire }",
            "2:51: policy `p.cedar#1`: attribute `expire` in `context.session` not found (did you mean `expires`?)",
        ),
        (
            "unless { principal has credential }",
            "2:10: policy `p.cedar#1`: attribute `credential` on entity type `Agent` not found (a credential is asked as in `principal.credentials.contains(\"auditor\")`, and a group as in `principal in Group::\"partners\"`)",
        ),
        (
            "unless { context.receiver has trustdomain }",
            "2:10: policy `p.cedar#1`: attribute `trustdomain` on entity type `Agent` not found (did you mean `trust_domain`?)",
        ),
        (
            "when { context.locked || context.scores has text_lenght }",
            "2:26: policy `p.cedar#1`: attribute `text_lenght` in `context.scores` not found (did you mean `text_length`?)",
        ),
    ] {
        refused(
            &format!("permit (principal, action, resource is payment::transfer)\n{condition};"),
            expected,
        );
    }
}

#[test]
fn where_the_resource_is_open_some_type_that_it_can_be_must_have_the_field() {
    refused(
        "forbid (principal, action, resource)\nunless { resource has amuont && resource.amuont.greaterThan(decimal(\"1.0\")) };",
        "2:10: policy `p.cedar#1`: attribute `amuont` on any entity type that `resource` can be here not found (did you mean `amount`?)",
    );
    refused(
        "permit (principal, action, resource)\nwhen { context.locked || (resource is payment::transfer && resource has quantity) };",
        "2:60: policy `p.cedar#1`: attribute `quantity` on entity type `payment::transfer` not found (it has `amount`, `currency`, `receiver_id`, `sender_id`)",
    );
    loads(
        "forbid (principal, action, resource) when { resource has amount && resource.amount.greaterThan(decimal(\"1.0\")) };",
    );
    loads(
        "permit (principal, action, resource) when { resource is payment::transfer && resource.currency == \"EUR\" };",
    );
}

#[test]
fn what_was_meant_is_told_in_any_case_and_within_its_kind() {
    let typed =
        |scope: &str, condition: &str| format!("permit ({scope}, resource is payment::transfer){condition};");
    for (text, part) in [
        (typed("principal, action == Action::\"request\"", ""), "did you mean `Action::\"REQUEST\"`?"),
        (
            typed("principal == Agent::\"Retailer-7\", action", ""),
            "`retailer-7` is an alias: write `Agent::\"spiffe://",
        ),
        (format!("@Id(\"x\") {}", typed("principal, action", "")), "did you mean `@id`?"),
        (
            "deny (principal, action, resource);".to_owned(),
            "invalid policy effect: deny (did you mean `forbid`?)",
        ),
        (
            typed("principal, action", " when { resource.amount.lessThan(decimal(\"922337203685478.0\")) }"),
            "(a decimal is from `-922337203685477.5808` to `922337203685477.5807`)",
        ),
        (
            typed("principal, action", " when { context.session.expires > context.now }"),
            "(it is there under a lock only: ask `context has session &&` first)",
        ),
    ] {
        let faults = faults(&text).join("\n");
        assert!(faults.contains(part), "{part} is not in:\n{faults}");
    }
    // beside contexts that are live none is left out for it
    let source = one_file(
        "permit (principal, action, resource)\nwhen { resource.amount.lessThan(decimal(\"1.0\")) };",
    );
    let live = House::shipped();
    let open = live.policies.reload(&source, &shipped_contexts(), &PolicyLimits::default()).unwrap_err();
    let open: Vec<String> = open.iter().map(ToString::to_string).collect();
    assert_eq!(open.len(), 1, "{open:?}");
    assert!(open[0].starts_with("p.cedar:2:8: policy `p.cedar#1`: attribute `amount` is not on every entity type that `resource` can be: "));
    assert!(
        open[0].ends_with("(write `resource is …` in the scope, or ask `resource has amount &&` first)"),
        "{open:?}"
    );
}

#[test]
fn a_member_that_some_types_lack_and_others_need_not_have_is_told_once() {
    let note = |line: &str, properties: &str| {
        context(&format!(
            r#"{{"context":"urn:contexts:{line}:v1.0","concepts":{{"note":{{"type":"object","properties":{{{properties}}},"additionalProperties":false}}}}}}"#
        ))
    };
    let contexts =
        [note("a", r#""x":{"type":"integer"}"#), note("b", r#""x":{"type":"integer"}"#), note("c", "")];
    let live = Policies::load(
        &one_file("permit (principal, action, resource);"),
        &contexts,
        &PolicyLimits::default(),
    );
    let text = "permit (principal, action, resource)\nwhen { resource.x > 1 && resource.x < 5 };";
    let faults = live.unwrap().reload(&one_file(text), &contexts, &PolicyLimits::default()).unwrap_err();
    let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let expected = "p.cedar:2:8: policy `p.cedar#1`: attribute `x` is not on every entity type that `resource` can be: 1 lack it, 2 may be \
                    without it (write `resource is …` in the scope, or ask `resource has x &&` first)";
    assert_eq!(told[0], expected, "{told:#?}");
    assert_eq!(told.iter().filter(|fault| fault.starts_with("p.cedar:2:8:")).count(), 1, "{told:#?}");
}

#[test]
fn a_line_that_no_context_has_is_named_with_what_was_meant() {
    let typed =
        |condition: &str| format!("permit (principal, action, resource is payment::transfer)\n{condition};");
    let open = |condition: &str| format!("permit (principal, action, resource)\n{condition};");
    refused(
        &typed("when { context.line == \"payments\" }"),
        "2:24: policy `p.cedar#1`: `context.line` is never `\"payments\"` (did you mean `\"payment\"`?)",
    );
    refused(
        &typed("unless { context.line == \"supplyChain\" }"),
        "2:26: policy `p.cedar#1`: `context.line` is never `\"supplyChain\"` (it is one of `\"payment\"`)",
    );
    refused(
        &open("when { context.locked || context.line == \"payment:v1\" }"),
        "2:42: policy `p.cedar#1`: `context.line` is never `\"payment:v1\"` (did you mean `\"payment\"`?)",
    );
    refused(
        &open("unless { [\"snl\", \"suplyChain\"].contains(context.line) }"),
        "2:18: policy `p.cedar#1`: `context.line` is never `\"suplyChain\"` (did you mean `\"supplyChain\"`?)",
    );
    refused(
        &open("when { context.line == \"payment\" && context.major == 7 }"),
        "2:1: policy `p.cedar#1`: its condition is true for no message",
    );
    refused(
        &open("unless { context.line == \"payment\" && context.major == 1 && context.minor == 9 }"),
        "2:61: policy `p.cedar#1`: `context.minor == 9` is true for no message that comes to it \
         (a part that is never true does nothing: leave it out, or say what was meant)",
    );
    refused(
        &open("when { context.line == \"payment\" && context.line == \"travel\" }"),
        "2:1: policy `p.cedar#1`: its condition is true for no message",
    );
    refused(
        &open("when { context.line == \"payment\" && resource has quantity }"),
        "2:37: policy `p.cedar#1`: attribute `quantity` on entity type `payment::transfer` not found (it has `amount`, `currency`, `receiver_id`, `sender_id`)",
    );
    loads(&open("when { context.line == \"payment\" && context.major == 2 }"));
    loads(&open("when { context.line == \"payment\" || context.line == \"learnt\" }"));
    loads(&typed("when { context.line == \"payment\" && context.major >= 1 }"));
    // what a version to come decides is no mistake
    loads(&typed("unless { context.major >= 3 }"));
}

#[test]
fn bug_what_was_meant_by_a_wrong_type_was_not_told_or_was_another_thing() {
    let told = |condition: &str| {
        faults(&format!("permit (principal, action, resource is payment::transfer)\nwhen {{ {condition} }};"))
            .join("; ")
    };
    let time = "(a time is written as in `datetime(\"2030-01-01T00:00:00Z\")`)";
    for (condition, expected) in [
        ("context.now > \"2026-01-01\"", format!("2:22: policy `p.cedar#1`: unexpected type: expected datetime but saw String {time}")),
        ("context.now > 2026-01-01", format!("2:8: policy `p.cedar#1`: unexpected type: expected Long but saw datetime {time}")),
        (
            "context.now.toTime() > \"8h\"",
            "2:31: policy `p.cedar#1`: unexpected type: expected duration but saw String (a length of time is written as in `duration(\"8h\")`)".to_owned(),
        ),
        (
            "context.locked == \"true\"",
            "2:8: policy `p.cedar#1`: the types Bool and String are not compatible (`true` and `false` stand without quotation marks)".to_owned(),
        ),
        (
            "resource.amount.lessThan(decimal(10000))",
            "2:41: policy `p.cedar#1`: unexpected type: expected String but saw Long (it stands in quotation marks, as in `decimal(\"10000.0\")`)".to_owned(),
        ),
        (
            "context.scores.text_lenght < 5",
            "2:8: policy `p.cedar#1`: attribute `text_lenght` in `context.scores` not found (did you mean `text_length`?)".to_owned(),
        ),
        (
            "principal in group::\"partners\"",
            "2:21: policy `p.cedar#1`: unrecognized entity type `group` (did you mean `Group`?)".to_owned(),
        ),
    ] {
        assert_eq!(told(condition), format!("p.cedar:{expected}"), "{condition}");
    }
}

#[test]
fn bug_the_name_of_a_file_decided_what_was_meant() {
    let text = "@id(\"decimal\") permit (principal, action, resource is payment::transfer)\nwhen { context.major == \"2\" };";
    let told = "p.cedar:2:8: policy `p.cedar#decimal`: the types Long and String are not compatible (a text is written in quotation marks, and a \
        number without)";
    assert_eq!(faults(text), [told]);
}

#[test]
fn bug_what_is_near_to_nothing_was_told_to_mean_another_action_each_time() {
    let text =
        "permit (principal, action in [Action::\"X\", Action::\"ZZ\"], resource is payment::transfer);";
    let told = faults(text);
    assert_eq!(told.len(), 2, "{told:?}");
    for (fault, name) in told.iter().zip(["X", "ZZ"]) {
        let why = format!("policy `p.cedar#1`: unrecognized action `Action::\"{name}\"` (there are `");
        assert!(fault.contains(&why) && fault.contains("`REQUEST`"), "{fault}");
    }
    assert!(faults(text) == told);
    let far = faults("permit (principal, action, resource) when { resource is zzzzzzzz };");
    let hint = "a message is asked for by line and concept, as in `resource is payment::transfer`";
    assert_eq!(
        far,
        [format!("p.cedar:1:57: policy `p.cedar#1`: unrecognized entity type `zzzzzzzz` ({hint})")]
    );
}

#[test]
fn bug_a_member_of_a_type_of_a_line_that_is_not_known_was_told_beside_the_line() {
    for (text, column) in [
        ("permit (principal, action, resource is supply::x) when { resource.foo == 1 };", 40),
        ("permit (principal, action, resource) when { resource is supply::x && resource.foo == 1 };", 57),
    ] {
        let told = faults(text);
        let line = format!("p.cedar:1:{column}: no context is known that has types of `supply`");
        assert!(told.len() == 1 && told[0].starts_with(&line), "{told:?}");
    }
}
