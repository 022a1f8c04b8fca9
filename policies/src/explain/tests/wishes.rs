//! What would have to be otherwise, in words.

use semgate_contexts::Performative;

use super::super::{Explanation, Part};
use super::{all_of, explained};
use crate::PolicySource;
use crate::tests::{Ask, one_file, transfer};

fn told(policies: &str, amount: &str) -> Explanation {
    explained(&one_file(policies), Ask { value: &transfer(amount), ..Ask::default() })
}

#[test]
fn of_a_range_both_ends_are_told() {
    let range = r#"@id("r") permit (principal, action, resource is payment::transfer)
        when { resource.amount.greaterThan(decimal("1.0")) && resource.amount.lessThan(decimal("5.0")) && context.direction == "request" };"#;
    assert_eq!(
        told(range, "7").to_pass,
        all_of(&[
            "so that `p.cedar#r` applies: `resource.amount` would have to stay more than 1.0; and `resource.amount` would have to be less than 5.0"
        ])
    );
    let clauses = r#"@id("r") permit (principal, action, resource is payment::transfer)
        when { resource.amount.greaterThan(decimal("1.0")) } unless { resource.amount.greaterThan(decimal("5.0")) };"#;
    assert_eq!(
        told(clauses, "0").to_pass,
        all_of(&[
            "so that `p.cedar#r` applies: `resource.amount` would have to be more than 1.0; and `resource.amount` would have to stay at most 5.0"
        ])
    );
}

#[test]
fn alternatives_within_what_is_needed_together_are_grouped() {
    let nested = r#"@id("n") permit (principal, action, resource is payment::transfer)
        when { (resource.currency == "USD" || (resource.currency == "GBP" && context.major >= 2)) && context.direction == "reply" };"#;
    let ask = Ask { urn: "payment:v1.1", value: &transfer("1"), ..Ask::default() };
    let told = explained(&one_file(nested), ask);
    assert_eq!(
        told.to_pass,
        all_of(&[
            "so that `p.cedar#n` applies: (`resource.currency` would have to be `USD` or (`resource.currency` would have to be `GBP` and `context.major` would have to be at least 2)); and `context.direction` would have to be `reply`"
        ])
    );
}

#[test]
fn what_a_forbid_would_then_refuse_is_not_advised() {
    let transfers = "(principal, action, resource is payment::transfer)";
    let forbid = format!(
        r#"@id("f") forbid {transfers} when {{ resource.currency == "USD" && context.direction == "request" }};"#
    );
    let all = |permits: &str| told(&format!("{permits}\n{forbid}"), "7").to_pass;
    let either = format!(
        r#"@id("p") permit {transfers} when {{ context.direction == "reply" || resource.currency == "USD" }};"#
    );
    let reply = "so that `p.cedar#p` applies: `context.direction` would have to be `reply`";
    assert_eq!(all(&either), all_of(&[reply]), "of two ways the other");
    let two = format!(
        r#"@id("p") permit {transfers} when {{ context.direction == "reply" }}; @id("q") permit {transfers} when {{ resource.currency == "USD" }};"#
    );
    assert_eq!(all(&two), all_of(&[reply]), "of two permits the other");
    let one = format!(r#"@id("p") permit {transfers} when {{ resource.currency == "USD" }};"#);
    assert_eq!(
        all(&one),
        all_of(&[
            "so that `p.cedar#p` applies: `resource.currency` would have to be `USD`",
            "so that `p.cedar#f` still does not apply: `context.direction` would have to be other than `request`"
        ]),
        "where there is no other way, what a forbid would refuse is told with what keeps that from applying"
    );
    for (condition, stands) in [
        (r#"resource.currency like "U*""#, true),
        (r#"["GBP", "USD"].contains(resource.currency)"#, true),
        (r#"resource.currency != "GBP" && resource.currency != "EUR""#, true),
        (r#"resource.currency == "GBP""#, false),
    ] {
        let forbid = format!(
            r#"@id("f") forbid {transfers} when {{ {condition} && context.direction == "request" }};"#
        );
        let told = told(&format!("{one}\n{forbid}"), "7").to_pass;
        let forbids = told.all.iter().any(|way| way.contains("`p.cedar#f` still does not apply"));
        assert_eq!(forbids, stands, "{condition}: {told:?}");
    }
}

#[test]
fn a_forbid_without_a_condition_is_told_as_that() {
    let permit = "permit (principal, action, resource is payment::transfer);\n";
    let all = format!(
        "{permit}@id(\"f\") forbid (principal, action, resource is payment::transfer) when {{ true }};\n"
    );
    assert!(told(&all, "1").to_pass.all[0].starts_with("`p.cedar#f` would have to be another: "));
    let one = format!(
        "{permit}@id(\"f\") forbid (principal, action == Action::\"REQUEST\", resource is payment::transfer);\n"
    );
    assert_eq!(
        told(&one, "1").to_pass,
        all_of(&["so that `p.cedar#f` does not apply: the performative must not be `REQUEST`"])
    );
}

#[test]
fn policies_that_need_the_same_are_told_together() {
    let guarded = |id: &str, action: &str| {
        format!(
            "@id(\"{id}\") permit (principal, action == Action::\"{action}\", resource is payment::transfer) \
             when {{ context has session && context.session.expires > context.now }};\n"
        )
    };
    let source = ["a", "b", "c"].map(|id| guarded(id, "REQUEST")).concat();
    let told = told(&source, "1");
    assert_eq!(told.to_pass.one_of, [""; 0]);
    let [one] = told.to_pass.all.as_slice() else { panic!("{:?}", told.to_pass) };
    assert!(one.starts_with("so that `p.cedar#a`, `p.cedar#b` or `p.cedar#c` applies: "), "{one}");
}

#[test]
fn what_a_policy_obliges_to_is_told_with_it() {
    let limited = r#"@id("l") @limit("10/minute") @limit_key("pair") permit (principal, action, resource is payment::transfer);"#;
    let told = told(limited, "1");
    assert_eq!(
        (told.policies[0].part, told.policies[0].limit.as_deref()),
        (Part::Decided, Some("10/minute, counted for the sender and pair"))
    );
    let redacts = r#"@redact("booking_reference") permit (principal, action, resource is travel::bookFlight_results) when { context.direction == "reply" };"#;
    let ask = Ask {
        action: Performative::Inform,
        urn: "travel:v2.1",
        term: "bookFlight",
        value: r#"{"status":"confirmed","booking_reference":"SECRET7"}"#,
        direction: "reply",
        ..Ask::default()
    };
    assert_eq!(explained(&one_file(redacts), ask).policies[0].redacts, ["booking_reference"]);
}

#[test]
fn of_many_forbids_that_ask_for_the_same_members_the_ways_are_told_together() {
    let transfers = "(principal, action, resource is payment::transfer)";
    let mut text = format!("permit {transfers};\n");
    let currencies = ["AUD", "CAD", "CHF", "CNY", "DKK", "GBP", "JPY", "NOK", "NZD", "SEK"];
    for at in 1..=60 {
        let currency = currencies[at % 10];
        text += &format!(
            "@id(\"f{at}\") forbid {transfers} when {{ resource.amount.greaterThan(decimal(\"{at}.0\")) && (resource.currency != \"{currency}\" || \
             resource.amount.lessThan(decimal(\"{at}.5\")) || context.receiver in Group::\"planners\") }};\n"
        );
    }
    let told = told(&text, "70").to_pass;
    let first = told.one_of.first().map(String::as_str).unwrap_or_default();
    assert!(first.starts_with("so that `p.cedar#f1`, `p.cedar#f2`, "), "{told:?}");
    assert!(
        first.ends_with(" and `p.cedar#f60` do not apply: `resource.amount` would have to be at most 1.0"),
        "{told:?}"
    );
}

#[test]
fn where_there_are_more_ways_than_can_be_told_some_are_and_it_is_said() {
    let transfers = "(principal, action, resource is payment::transfer)";
    let held = |at: usize| format!("principal.credentials.contains(\"c{at}\")");
    let mut text = format!("permit {transfers};\n");
    for at in 0..10 {
        text +=
            &format!("@id(\"f{at}\") forbid {transfers} unless {{ {} || {} }};\n", held(at), held(at + 10));
    }
    let names: Vec<String> = (0..20).map(|at| format!("\"c{at}\"")).collect();
    let entities = format!("{{\"agents\":[],\"credentials\":[{}]}}", names.join(","));
    let source = PolicySource { entities: entities.into_bytes(), ..one_file(&text) };
    let told = explained(&source, Ask { value: &transfer("1"), ..Ask::default() }).to_pass;
    assert!(told.more && told.one_of.is_empty(), "{told:?}");
    assert_eq!(told.all.len(), 10, "one for each forbid: {told:?}");
    assert!(told.all[0].ends_with("the sender would have to hold the credential `c0`"), "{told:?}");
    assert!(told.all[9].ends_with("`c9`; or the sender would have to hold the credential `c19`"), "{told:?}");
}
