//! Plain conditions say what Cedar says, and leave to it what is not plain.

use cedar_policy::{Context, Entities, EvalResult, Request, RestrictedExpression, eval_expression};
use proptest::prelude::*;
use semgate_contexts::json;

use super::*;
use crate::kinds::Attribute;
use crate::rewrite::{self, Condition};

fn plain(conditions: &str) -> (Option<Plain>, cedar_policy::Expression) {
    let policy = format!("permit (principal, action, resource) {conditions};");
    let clauses = crate::parse::clauses(&policy.parse().unwrap()).unwrap();
    let Some(Condition::Expression { expression, plain }) = rewrite::condition(&clauses) else {
        panic!("an expression")
    };
    (plain, expression)
}

fn shape() -> Attributes {
    let members = [
        ("text", Some(Kind::String), false),
        ("count", Some(Kind::Long), false),
        ("amount", Some(Kind::Decimal), true),
        ("hidden", None, false),
    ];
    let members = members
        .map(|(name, kind, nullable)| (name.to_owned(), Attribute { kind, required: false, nullable }));
    Attributes { members: members.into_iter().collect(), open: false }
}

fn asked(conditions: &str, instance: &str) -> Option<bool> {
    let read = json::read(instance.as_bytes(), &json::Limits::default()).unwrap();
    let Json::Object(object) = &read else { panic!("an object") };
    plain(conditions).0.unwrap().holds(&shape(), object, Some("typ"))
}

#[test]
fn a_comparison_with_a_member_is_plain() {
    for (conditions, instance, expected) in [
        ("when { resource.count > 10 }", r#"{"count": 11}"#, Some(true)),
        ("when { resource.count > 10 }", r#"{"count": 1e1}"#, Some(false)),
        ("when { 10 > resource.count }", r#"{"count": 9.0}"#, Some(true)),
        ("unless { resource.count != -3 }", r#"{"count": -3}"#, Some(true)),
        (
            "when { resource.amount.greaterThan(decimal(\"10000.0\")) }",
            r#"{"amount": 10000.0001}"#,
            Some(true),
        ),
        ("when { resource.amount.greaterThan(decimal(\"10000.0\")) }", r#"{"amount": 10000}"#, Some(false)),
        ("when { resource.amount == decimal(\"0.5\") }", r#"{"amount": 5e-1}"#, Some(true)),
        ("when { resource.text == \"a\" }", r#"{"text": "\u0061"}"#, Some(true)),
        ("when { resource has text && resource.text == \"a\" }", "{}", Some(false)),
        (
            "when { resource has amount || resource.count <= 1 }",
            r#"{"amount": null, "count": 1}"#,
            Some(true),
        ),
        ("when { resource has hidden }", r#"{"hidden": 1}"#, Some(false)),
        ("when { !(resource has typ) }", r#"{"typ": "a"}"#, Some(true)),
    ] {
        assert_eq!(asked(conditions, instance), expected, "{conditions} of {instance}");
    }
}

#[test]
fn what_is_not_there_or_of_another_type_is_left_to_cedar() {
    for (conditions, instance) in [
        ("when { resource.count > 10 }", "{}"),
        ("when { resource.count > 10 }", r#"{"count": 1.5}"#),
        ("when { resource.count > 10 }", r#"{"count": "11"}"#),
        ("when { resource.amount > 10 }", r#"{"amount": null}"#),
        ("when { resource.amount > 10 }", r#"{"amount": 0.00001}"#),
        ("when { resource.text == 10 }", r#"{"text": "10"}"#),
        ("when { resource.count == \"10\" }", r#"{"count": 10}"#),
        ("when { resource has text && resource.count > 1 }", r#"{"text": "a"}"#),
    ] {
        assert_eq!(asked(conditions, instance), None, "{conditions} of {instance}");
    }
}

#[test]
fn other_forms_are_not_plain() {
    for condition in [
        "context.free_text",
        "context.major == 1",
        "resource.count == resource.other",
        "resource.count + 1 == 2",
        "resource.text like \"a*\"",
        "resource.items.contains(1)",
        "resource.inner.count > 1",
        "resource has inner.count",
        "resource.count > 1 && principal in Group::\"g\"",
        "[resource.count] == [1]",
        "resource == context.receiver",
        "resource.count == resource.count",
        "1 == 1",
        "\"a\" < resource.text",
    ] {
        assert_eq!(plain(&format!("when {{ {condition} }}")).0, None, "{condition}");
    }
}

fn conditions() -> impl Strategy<Value = String> {
    let op = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let number = (op, -2_i64..3, any::<bool>()).prop_map(|(op, with, turned)| {
        if turned { format!("{with} {op} resource.count") } else { format!("resource.count {op} {with}") }
    });
    let text = (prop::sample::select(vec!["==", "!="]), "[ab]{0,1}")
        .prop_map(|(op, with)| format!("resource.text {op} \"{with}\""));
    let has = prop::sample::select(vec!["text", "count"]).prop_map(|name| format!("resource has {name}"));
    prop_oneof![number, text, has].prop_recursive(3, 12, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} && {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} || {b})")),
            inner.prop_map(|a| format!("!({a})")),
        ]
    })
}

proptest! {
    #[test]
    fn fuzz_a_plain_condition_says_what_cedar_says(
        condition in conditions(), unless in any::<bool>(),
        count in prop::option::of(-2_i64..3), text in prop::option::of("[ab]{0,1}"),
    ) {
        let (plain, expression) = plain(&format!("{} {{ {condition} }}", if unless { "unless" } else { "when" }));
        let instance = serde_json::json!({"count": count, "text": text});
        let mut instance = instance.as_object().unwrap().clone();
        instance.retain(|_, value| !value.is_null());
        let instance = serde_json::to_vec(&instance).unwrap();
        let read = json::read(&instance, &json::Limits::default()).unwrap();
        let Json::Object(object) = &read else { panic!("an object") };
        let count = count.map(|n| (super::member_name("count"), RestrictedExpression::new_long(n)));
        let text = text.map(|text| (super::member_name("text"), RestrictedExpression::new_string(text)));
        let context = Context::from_pairs(count.into_iter().chain(text)).unwrap();
        let uid = |text: &str| text.parse().unwrap();
        let request =
            Request::new(uid("A::\"a\""), uid("Action::\"a\""), uid("A::\"a\""), context, None).unwrap();
        let cedar = match eval_expression(&request, &Entities::empty(), &expression) {
            Ok(EvalResult::Bool(holds)) => Some(holds),
            Ok(_) => panic!("a boolean"),
            // what is not there is Cedar's to tell
            Err(_) => None,
        };
        prop_assert_eq!(plain.unwrap().holds(&shape(), object, None), cedar);
    }
}
