//! Tests of `rewrite`.

use super::{condition, ten_thousandths};
use crate::rewrite::Condition;

#[test]
fn literals_are_read_as_cedar_reads_them() {
    for (text, expected) in [
        ("0.0", Some(0)),
        ("-0.5", Some(-5_000)),
        ("10000.0", Some(100_000_000)),
        ("007.0001", Some(70_001)),
        ("922337203685477.5807", Some(i64::MAX)),
        ("-922337203685477.5808", Some(i64::MIN)),
        ("922337203685477.5808", None),
        ("1", None),
        ("1.", None),
        (".5", None),
        ("1.00001", None),
        ("+1.0", None),
        ("1e3.0", None),
    ] {
        assert_eq!(ten_thousandths(text), expected, "{text}");
        let literal = format!("decimal(\"{text}\")").parse().unwrap();
        let cedar = cedar_policy::eval_expression(&request(), &cedar_policy::Entities::empty(), &literal);
        assert_eq!(cedar.is_ok(), expected.is_some(), "{text}");
    }
}

fn condition_of(policy: &str) -> Option<Condition> {
    condition(&crate::parse::clauses(&policy.parse().unwrap()).unwrap())
}

fn request() -> cedar_policy::Request {
    let uid = |text: &str| text.parse().unwrap();
    let context = cedar_policy::Context::empty();
    cedar_policy::Request::new(uid("A::\"a\""), uid("Action::\"a\""), uid("A::\"a\""), context, None).unwrap()
}

#[test]
fn every_form_that_a_policy_can_hold_is_rewritten_and_the_rest_stays() {
    let text = r#"forbid (principal in Group::"g", action == Action::"INFORM", resource is a::b)
        when { if resource.x.greaterThan(decimal("1.5")) && !(resource has y) then [resource.x] == [decimal("-0.5")]
               else {d: decimal("2.0")}.d.lessThanOrEqual(resource["x"]) || resource.s like "a*" }
        unless { principal is Agent in Group::"h" || resource.x.lessThan(decimal("1.0")) || resource has r.s.t ||
                 resource.x.greaterThanOrEqual(decimal("3.0")) || -(context.major) + 1 > 2 || resource is a::c };"#;
    let expected = r#"(if context["resource.x"] > 15000 && !(context has "resource.y") then [context["resource.x"]] == [-5000]
               else {d: 20000}.d <= context["resource.x"] || context["resource.s"] like "a*")
        && !(principal is Agent in Group::"h" || context["resource.x"] < 10000 ||
                 context has "resource.r" && context["resource.r"] has s.t ||
                 context["resource.x"] >= 30000 || -(context.major) + 1 > 2 || resource is a::c)"#;
    let Some(Condition::Expression { expression: rewritten, .. }) = condition_of(text) else {
        panic!("an expression")
    };
    let expected: cedar_policy::Expression = expected.parse().unwrap();
    assert_eq!(rewritten.to_string(), expected.to_string());
}

#[test]
fn the_instance_as_a_value_stays_an_entity() {
    let condition =
        |text: &str| condition_of(&format!("permit (principal, action, resource) when {{ {text} }};"));
    for text in [
        "[resource].contains(context.receiver)",
        "{r: resource}.r.x == 1",
        "(if context.free_text then resource else resource).x == 1",
        "context == {a: 1}",
        "resource.hasTag(\"a\")",
        "decimal(context.text) == decimal(\"1.0\")",
    ] {
        assert!(condition(text).is_none(), "{text}");
    }
    for text in
        ["resource == context.receiver", "resource in Group::\"g\"", "resource is a::b in Group::\"g\""]
    {
        assert!(matches!(condition(text), Some(Condition::Expression { .. })), "{text}");
    }
    let always = condition_of("permit (principal, action, resource);");
    assert!(matches!(always, Some(Condition::Always)));
}
