//! Namespaces that two lines could have: who has one keeps it, and nobody is handed the permits of another.

use std::sync::Arc;

use semgate_contexts::Context;

use super::versions::{ONE_AGENT, X_INT, X_TEXT, Y_INT, inform, note};
use super::{House, one_file, permitted};
use crate::{Policies, PolicyLimits, PolicySource, Verdict, untyped};

/// About the line `shop.v2`, or major 2 of the line `shop`.
const ONE_NAME: &str = "permit (principal, action, resource is shop::v2::note);";
const OPEN: &str = "permit (principal, action, resource);";

fn source(policies: &str) -> PolicySource {
    PolicySource { entities: ONE_AGENT.into(), ..one_file(policies) }
}

fn first(policies: &str, contexts: &[Arc<Context>]) -> Result<Policies, Vec<String>> {
    let report = |faults: Vec<crate::PolicyFault>| faults.iter().map(ToString::to_string).collect();
    Policies::load(&source(policies), contexts, &PolicyLimits::default()).map_err(report)
}

fn left_out(policies: &Policies) -> Vec<String> {
    policies.left_out().iter().map(ToString::to_string).collect()
}

fn ask(policies: Policies, contexts: &[Arc<Context>], urn: &str, value: &str) -> Verdict {
    inform(&House { contexts: contexts.to_vec(), policies }, urn, value)
}

fn shop(version: &str, x: &str) -> Arc<Context> {
    note(&format!("shop:{version}"), x, "")
}

fn child() -> Arc<Context> {
    note("shop.v2:v1.0", Y_INT, "")
}

#[test]
fn a_major_that_would_take_the_namespace_of_a_live_line_is_left_out_and_gets_none_of_its_permits() {
    let before = [shop("v1.0", X_INT), child()];
    let live = first(ONE_NAME, &before).unwrap();
    let after = [before[0].clone(), before[1].clone(), shop("v2.0", X_TEXT)];
    let limits = PolicyLimits::default();
    let next = live.reload(&source(ONE_NAME), &after, &limits).unwrap();
    assert_eq!(
        left_out(&next),
        [
            "`urn:contexts:shop:v2.0` is left out: `shop::v2` would be its namespace in policies, which is the namespace of the line `shop.v2`"
        ]
    );
    let again = next.reload(&source(ONE_NAME), &after, &limits).unwrap();
    assert_eq!(left_out(&again), left_out(&next));
    for policies in [next, again] {
        let house = House { contexts: after.to_vec(), policies };
        let stated = |urn, value| inform(&house, urn, value);
        assert_eq!(stated("shop.v2:v1.0", r#"{"y":1}"#), permitted(&["p.cedar#1"]));
        assert!(matches!(stated("shop:v2.0", r#"{"x":"a"}"#), Verdict::Errored { .. }));
    }
}

#[test]
fn a_line_that_would_take_the_namespace_of_a_live_major_is_left_out_and_gets_none_of_its_permits() {
    let before = [shop("v1.0", X_INT), shop("v2.0", X_TEXT)];
    let live = first(ONE_NAME, &before).unwrap();
    let after = [before[0].clone(), before[1].clone(), child()];
    let limits = PolicyLimits::default();
    let next = live.reload(&source(ONE_NAME), &after, &limits).unwrap();
    assert_eq!(
        left_out(&next),
        [
            "`urn:contexts:shop.v2:v1.0` is left out: `shop::v2` would be its namespace in policies, which is the namespace of major 2 of the line `shop`"
        ]
    );
    let again = next.reload(&source(ONE_NAME), &after, &limits).unwrap();
    assert_eq!(left_out(&again), left_out(&next));
    assert_eq!(ask(again, &after, "shop:v2.0", r#"{"x":"a"}"#), permitted(&["p.cedar#1"]));
    assert!(matches!(ask(next, &after, "shop.v2:v1.0", r#"{"y":1}"#), Verdict::Errored { .. }));
}

#[test]
fn where_nobody_was_there_first_nobody_gets_the_name_whatever_the_policies_would_fit() {
    let all = [child(), shop("v2.0", X_TEXT), shop("v1.0", X_INT)];
    let faults = first(ONE_NAME, &all).unwrap_err();
    assert!(
        faults[0].contains("unrecognized entity type") && faults[0].contains("shop::v2::note"),
        "{faults:?}"
    );
    let open = first(OPEN, &all).unwrap();
    let why = left_out(&open);
    assert_eq!(why.len(), 2, "{why:?}");
    assert!(
        why[0].starts_with("`urn:contexts:shop:v2.0` is left out: `shop::v2` would be its namespace in policies, and the namespace of the line `shop.v2`, and neither came first"),
        "{why:?}"
    );
    assert!(why[1].contains("and the namespace of major 2 of the line `shop`"), "{why:?}");
    assert_eq!(ask(open, &all, "shop:v1.0", r#"{"x":1}"#), permitted(&["p.cedar#1"]));
    // what agrees has no namespace of a major
    let agreed = [child(), shop("v2.0", X_INT), shop("v1.0", X_INT)];
    assert_eq!(left_out(&first(OPEN, &agreed).unwrap()), [""; 0]);
}

#[test]
fn a_lower_version_that_comes_late_does_not_take_the_place_of_one_that_is_live() {
    let before = [shop("v1.1", X_INT)];
    let after = [shop("v1.0", X_TEXT), before[0].clone()];
    let readers = [
        "permit (principal, action, resource is shop::note) when { resource has x && resource.x < 5 };",
        "permit (principal, action, resource); forbid (principal, action, resource is shop::note) when { resource has x && resource.x > 5 };",
        "permit (principal, action, resource); forbid (principal, action, resource is shop::note) when { context.major == 3 || (resource has x && resource.x > 5) };",
    ];
    for policies in readers {
        let live = first(policies, &before).unwrap();
        let next = live.reload(&source(policies), &after, &PolicyLimits::default()).unwrap();
        assert!(
            left_out(&next)[0].starts_with("`urn:contexts:shop:v1.0` is left out"),
            "{policies}: {:?}",
            left_out(&next)
        );
        assert_eq!(left_out(&next).len(), 1);
    }
    // no policy reads the member that has two types, so policies see it in neither version
    let live = first(OPEN, &before).unwrap();
    let next = live.reload(&source(OPEN), &after, &PolicyLimits::default()).unwrap();
    assert_eq!(left_out(&next), [""; 0]);
}

#[test]
fn a_newer_version_that_hides_a_member_which_a_live_policy_reads_is_left_out() {
    let policies = "permit (principal, action, resource); forbid (principal, action, resource is shop::note) when { resource has x && resource.x > 5 };";
    let before = [shop("v1.0", X_INT)];
    let live = first(policies, &before).unwrap();
    let after = [before[0].clone(), shop("v1.1", X_TEXT)];
    let next = live.reload(&source(policies), &after, &PolicyLimits::default()).unwrap();
    assert!(left_out(&next)[0].starts_with("`urn:contexts:shop:v1.1` is left out"), "{:?}", left_out(&next));
    let verdict = ask(next, &before, "shop:v1.0", r#"{"x":9}"#);
    assert!(matches!(verdict, Verdict::Denied { .. }), "{verdict:?}");
}

#[test]
fn a_version_is_held_against_other_lines_before_it_is_published() {
    let resolved = |new: &Arc<Context>, beside: &[Arc<Context>]| -> Vec<String> {
        untyped(new, beside).iter().map(|one| one.urn.short().to_string()).collect()
    };
    assert_eq!(
        resolved(&shop("v2.0", X_TEXT), &[shop("v1.0", X_INT), child()]),
        ["shop:v2.0", "shop.v2:v1.0"]
    );
    assert_eq!(
        resolved(&child(), &[shop("v1.0", X_INT), shop("v2.0", X_TEXT)]),
        ["shop:v2.0", "shop.v2:v1.0"]
    );
    assert_eq!(resolved(&child(), &[shop("v1.0", X_INT)]), [""; 0]);
}
