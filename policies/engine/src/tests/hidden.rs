//! Members that a newer version hides from policies, and the ways in which a policy asks for one.

use std::sync::Arc;

use semgate_contexts::Context;

use super::versions::{ONE_AGENT, X_TEXT, inform, load, note};
use super::{House, one_file};
use crate::{PolicyLimits, PolicySource, Verdict};

const B: &str = r#""b":{"type":"boolean"}"#;
const A_INT: &str = r#""a":{"type":"integer"}"#;
const A_EITHER: &str = r#""a":{"type":["integer","string"],"maxLength":9}"#;

/// Conditions that hold for a note with the member `a`.
const ASKS: [&str; 9] = [
    "resource has a || resource has b",
    "(if context.major == 1 then resource else resource) has a || resource has b",
    "{x: resource}.x has a || resource has b",
    "{x: {y: resource}}.x.y has a || resource has b",
    "(if context.major == 1 then {x: resource} else {x: resource}).x has a || resource has b",
    "{x: if resource has b then resource else resource}.x has a || resource has b",
    "(if resource has a then 1 else 2) == 1 || resource has b",
    "[if resource has a then 1 else 2].contains(1) || resource has b",
    "(principal in (if resource has a then Agent::\"spiffe://semgate.test/agent/retailer-7\" else Agent::\"spiffe://semgate.test/agent/retailer-7\")) || resource has b",
];

fn versions(inner: fn(&str) -> String) -> [Arc<Context>; 2] {
    [note("demo:v1.0", &inner(A_INT), ""), note("demo:v1.1", &inner(A_EITHER), "")]
}

fn flat(a: &str) -> String {
    format!("{a},{B}")
}

fn nested(a: &str) -> String {
    format!(r#""r":{{"type":"object","properties":{{{a},{B}}},"additionalProperties":false}}"#)
}

/// The newer version is left out, and the older message is still denied.
fn still_fires(condition: &str, [older, newer]: [Arc<Context>; 2], value: &str) {
    let policies = format!(
        "permit (principal, action, resource); forbid (principal, action, resource is demo::note) when {{ {condition} }};"
    );
    let house =
        load(&policies, vec![Arc::clone(&older)]).unwrap_or_else(|why| panic!("{condition}: {why:?}"));
    let stated = inform(&house, "demo:v1.0", value);
    assert!(matches!(stated, Verdict::Denied { .. }), "{condition}: {stated:?}");
    let source = PolicySource { entities: ONE_AGENT.into(), ..one_file(&policies) };
    let both = [older, newer];
    let next = house.policies.reload(&source, &both, &PolicyLimits::default()).unwrap();
    let left_out: Vec<String> = next.left_out().iter().map(ToString::to_string).collect();
    assert!(
        matches!(&left_out[..], [one] if one.starts_with("`urn:contexts:demo:v1.1` is left out")),
        "{condition}: {left_out:?}"
    );
    let house = House { contexts: both.to_vec(), policies: next };
    let stated = inform(&house, "demo:v1.0", value);
    assert!(matches!(stated, Verdict::Denied { .. }), "{condition}: {stated:?}");
}

#[test]
fn attack_a_version_that_hides_a_member_does_not_silence_a_forbid_that_asks_for_it_by_a_detour() {
    for condition in ASKS {
        still_fires(condition, versions(flat), r#"{"a":7}"#);
    }
}

#[test]
fn attack_a_member_that_is_hidden_further_inside_does_not_silence_a_forbid() {
    for condition in [
        "resource has r && resource.r has a",
        "resource has r && {x: resource.r}.x has a",
        "{x: resource}.x has r.a",
        "resource has r && (if context.major == 1 then resource.r else resource.r) has a",
    ] {
        still_fires(condition, versions(nested), r#"{"r":{"a":7}}"#);
    }
}

#[test]
fn a_detour_to_a_member_that_nothing_hides_leaves_no_version_out() {
    let [older, newer] =
        [note("demo:v1.0", &flat(A_INT), ""), note("demo:v1.1", &format!("{},{X_TEXT}", flat(A_INT)), "")];
    let policies = "permit (principal, action, resource); forbid (principal, action, resource is demo::note) when { {x: resource}.x has a };";
    let house = load(policies, vec![older, newer]).unwrap();
    assert!(house.policies.left_out().is_empty());
    let stated = inform(&house, "demo:v1.0", r#"{"a":7}"#);
    assert!(matches!(stated, Verdict::Denied { .. }), "{stated:?}");
}
