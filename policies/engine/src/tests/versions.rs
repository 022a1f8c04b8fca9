//! Versions of one line as one type, or as several, and contexts that are left out alone.

use std::sync::Arc;

use semgate_contexts::{Context, Performative};

use super::{Ask, House, RETAILER, context, one_file, permitted, shipped_contexts, transfer};
use crate::{Policies, PolicyLimits, PolicySource, Verdict, schema_text};

/// A context with one concept `note` of these properties.
pub(super) fn note(urn: &str, properties: &str, required: &str) -> Arc<Context> {
    concept(urn, "note", properties, required, "false")
}

fn concept(urn: &str, name: &str, properties: &str, required: &str, open: &str) -> Arc<Context> {
    context(&format!(
        r#"{{"context":"urn:contexts:{urn}","concepts":{{"{name}":{{"type":"object","properties":{{{properties}}},
           "required":[{required}],"additionalProperties":{open}}}}}}}"#
    ))
}

pub(super) const X_INT: &str = r#""x":{"type":"integer"}"#;
pub(super) const X_TEXT: &str = r#""x":{"type":"string","maxLength":9}"#;
pub(super) const Y_INT: &str = r#""y":{"type":"integer"}"#;

pub(super) const ONE_AGENT: &str =
    r#"{"agents":[{"id":"spiffe://semgate.test/agent/retailer-7","groups":[],"credentials":[]}]}"#;

pub(super) fn load(policies: &str, contexts: Vec<Arc<Context>>) -> Result<House, Vec<String>> {
    let source = PolicySource { entities: ONE_AGENT.into(), ..one_file(policies) };
    House::load(&source, contexts)
}

fn left_out(house: &House) -> Vec<String> {
    house.policies.left_out().iter().map(ToString::to_string).collect()
}

pub(super) fn inform<'a>(house: &House, urn: &'a str, value: &'a str) -> Verdict {
    house.ask(Ask {
        sender: RETAILER,
        action: Performative::Inform,
        urn,
        term: "note",
        value,
        ..Ask::default()
    })
}

#[test]
fn the_shipped_schema_is_what_docs_policy_md_says() {
    let schema = schema_text(&shipped_contexts()).unwrap();
    for part in [
        "entity Agent in [Group] = {\"credentials\": Set<String>, \"trust_domain\": String};",
        "namespace payment {",
        "entity transfer = {\"amount\": decimal, \"currency\": String, \"receiver_id\": String, \"sender_id\": String};",
        "\"quantity\": Long",
        "entity bookFlight_results",
        "\"receiver\": Agent",
    ] {
        assert!(
            schema.contains(part) || flat(&schema).contains(&flat(part)),
            "`{part}` is not in:\n{schema}"
        );
    }
    assert!(!schema.contains("confidence_score"), "other numbers are not visible");
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<String>().replace('"', "").replace("__cedar::", "")
}

#[test]
fn an_attribute_is_required_only_if_every_version_requires_it() {
    let versions = || {
        vec![
            note("demo:v1.0", X_INT, "\"x\""),
            note("demo:v1.1", &format!("{X_INT},{Y_INT}"), "\"x\""),
            note("demo:v2.0", &format!("{X_INT},{Y_INT}"), "\"x\",\"y\""),
        ]
    };
    assert!(
        load("permit (principal, action, resource is demo::note) when { resource.x > 1 };", versions())
            .is_ok()
    );
    // At first load nobody can tell which came last: the versions without `y` are left out. After that, a policy that does
    // not fit the live contexts is the one that is wrong.
    let wrong = "permit (principal, action, resource is demo::note) when { resource.y > 1 };";
    let first = load(wrong, versions()).unwrap();
    assert_eq!(left_out(&first).len(), 2, "{:?}", left_out(&first));
    let house = load("permit (principal, action, resource is demo::note);", versions()).unwrap();
    let source = PolicySource { files: one_file(wrong).files, entities: ONE_AGENT.into(), limits: None };
    let faults = house.policies.reload(&source, &versions(), &PolicyLimits::default()).unwrap_err();
    let faults = faults.iter().map(ToString::to_string).collect::<String>();
    assert!(faults.contains("optional attribute `y`"), "{faults}");
    let behind =
        "permit (principal, action, resource is demo::note) when { !(resource has y) || resource.y > 1 };";
    let source = PolicySource { files: one_file(behind).files, ..source };
    let faults = house.policies.reload(&source, &versions(), &PolicyLimits::default()).unwrap_err();
    let faults = faults.iter().map(ToString::to_string).collect::<String>();
    assert!(faults.contains("optional attribute `y`"), "behind `!(… has y) ||`: {faults}");
    let house = load(
        "permit (principal, action, resource is demo::note) when { resource has y && resource.y > 1 };",
        versions(),
    );
    let house = house.unwrap();
    assert_eq!(inform(&house, "demo:v2.0", r#"{"x":1,"y":2}"#), permitted(&["p.cedar#1"]));
    assert_ne!(inform(&house, "demo:v1.0", r#"{"x":1}"#), permitted(&["p.cedar#1"]));
}

#[test]
fn majors_that_disagree_on_a_type_are_told_apart() {
    let versions = || {
        vec![
            note("demo:v1.0", X_INT, "\"x\""),
            note("demo:v1.1", X_INT, "\"x\""),
            note("demo:v2.0", X_TEXT, "\"x\""),
        ]
    };
    let house = load(
        r#"permit (principal, action, resource is demo::v1::note) when { resource.x > 1 };
           permit (principal, action, resource is demo::v2::note) when { resource.x == "a" };"#,
        versions(),
    )
    .unwrap();
    assert_eq!(left_out(&house), [""; 0]);
    assert_eq!(inform(&house, "demo:v1.1", r#"{"x":2}"#), permitted(&["p.cedar#1"]));
    assert_eq!(inform(&house, "demo:v2.0", r#"{"x":"a"}"#), permitted(&["p.cedar#2"]));
    let line = semgate_contexts::Line::parse("demo").unwrap();
    assert!(house.policies.may_use_line(RETAILER, &line).is_ok());
    let faults = load("permit (principal, action, resource is demo::note2);", versions()).err().unwrap();
    assert!(faults[0].contains("unrecognized entity type"), "{faults:?}");
}

#[test]
fn a_version_that_would_split_a_type_in_use_is_left_out_alone() {
    let policies = "permit (principal, action, resource is demo::note) when { resource.x > 1 };";
    let contexts = vec![
        note("demo:v2.0", X_TEXT, "\"x\""),
        note("demo:v1.0", X_INT, "\"x\""),
        note("other:v1.0", X_INT, ""),
    ];
    let house = load(policies, contexts).unwrap();
    assert_eq!(left_out(&house).len(), 1);
    assert!(
        left_out(&house)[0]
            .starts_with("`urn:contexts:demo:v2.0` is left out: it would make a policy invalid: ")
    );
    assert_eq!(inform(&house, "demo:v1.0", r#"{"x":2}"#), permitted(&["p.cedar#1"]));
    assert!(matches!(inform(&house, "demo:v2.0", r#"{"x":"a"}"#), Verdict::Errored { .. }));
}

#[test]
fn several_versions_that_would_invalidate_policies_are_left_out_and_the_rest_goes_live() {
    let policies = "permit (principal, action, resource is demo::note) when { resource.x > 1 };
                    permit (principal, action, resource is third::note) when { resource.x > 1 };";
    let contexts = vec![
        note("demo:v1.0", X_INT, "\"x\""),
        note("demo:v2.0", X_TEXT, "\"x\""),
        note("third:v1.0", X_INT, "\"x\""),
        note("third:v1.1", X_INT, ""),
    ];
    let house = load(policies, contexts).unwrap();
    let out = left_out(&house);
    assert_eq!(out.len(), 2, "{out:?}");
    assert!(
        out[0].starts_with("`urn:contexts:demo:v2.0`") && out[1].starts_with("`urn:contexts:third:v1.1`"),
        "{out:?}"
    );
}

#[test]
fn beside_a_version_that_splits_a_type_only_the_policy_that_is_wrong_is_told() {
    let good = "permit (principal, action, resource is demo::note) when { resource.x > 1 };
                forbid (principal, action, resource is demo::note) when { resource.x > 9 };
                permit (principal, action == Action::\"INFORM\", resource is demo::note);";
    let wrong =
        "permit (principal, action, resource is demo::note)\nwhen { resource has xx && resource.xx > 1 };";
    let contexts = || vec![note("demo:v1.0", X_INT, "\"x\""), note("demo:v3.0", X_TEXT, "\"x\"")];
    let house = load(good, contexts()).unwrap();
    assert!(left_out(&house)[0].starts_with("`urn:contexts:demo:v3.0` is left out"));
    for policies in [format!("{good}\n{wrong}"), format!("{wrong}\n{good}")] {
        let faults = load(&policies, contexts()).err().unwrap();
        assert_eq!(faults.len(), 1, "{faults:#?}");
        assert!(faults[0].contains("policy is impossible"), "{faults:#?}");
    }
}

#[test]
fn bug_a_hint_offered_members_that_policies_do_not_see() {
    let contexts =
        vec![note("demo:v1.0", "\"x\":{\"type\":\"integer\"},\"dbl\":{\"type\":\"number\"}", "\"x\"")];
    let policy = |condition: &str| {
        format!("permit (principal, action, resource is demo::note) when {{ {condition} }};")
    };
    let faults = load(&policy("resource.dbl > 1"), contexts.clone()).err().unwrap();
    assert!(faults[0].contains("`dbl` is not visible to policies"), "{faults:#?}");
    let faults = load(&policy("resource.weight > 1"), contexts).err().unwrap();
    assert_eq!(faults.len(), 1, "{faults:#?}");
    assert!(faults[0].ends_with("attribute `weight` on entity type `demo::note` not found"), "{faults:#?}");
}

/// So many lines that have nothing to do with it.
pub(super) fn crowd(lines: usize) -> Vec<Arc<Context>> {
    (0..lines).map(|n| note(&format!("l{n}:v1.0"), X_INT, "\"x\"")).collect()
}

#[test]
fn what_goes_is_sought_in_the_lines_that_invalid_policies_are_about_and_in_no_other() {
    let scoped = "permit (principal, action, resource is demo::note) when { resource.x > 1 };";
    let open = "permit (principal, action, resource) when { resource.x > 1 };";
    let few = PolicyLimits { max_left_out_tries: 4, ..PolicyLimits::default() };
    for policies in [scoped, open] {
        let mut contexts = crowd(60);
        contexts.extend([note("demo:v1.0", X_INT, "\"x\""), note("demo:v2.0", X_TEXT, "\"x\"")]);
        let source =
            PolicySource { files: one_file(policies).files, entities: ONE_AGENT.into(), limits: None };
        let loaded = Policies::load(&source, &contexts, &few).unwrap_or_else(|faults| panic!("{faults:?}"));
        assert_eq!(loaded.left_out().iter().map(|left| left.urn.short()).collect::<Vec<_>>(), ["demo:v2.0"]);
        // what no document is to blame for is tried with none
        let mistyped = policies.replace("resource.x", "resource.xx");
        let source = PolicySource { files: one_file(&mistyped).files, ..source };
        let none = PolicyLimits { max_left_out_tries: 0, ..few.clone() };
        let faults = Policies::load(&source, &contexts, &none).unwrap_err();
        assert!(faults[0].to_string().contains("policy `p.cedar#1`"), "{faults:?}");
    }
}

#[test]
fn attack_documents_of_several_lines_never_keep_a_policy_about_every_type_from_loading() {
    let policies = "permit (principal, action, resource) when { resource has x && resource.x > 1 };";
    let mut contexts = crowd(5);
    contexts.extend(["demo", "other", "third"].map(|line| note(&format!("{line}:v3.0"), X_TEXT, "\"x\"")));
    let house = load(policies, contexts).unwrap();
    let out: Vec<_> = house.policies.left_out().iter().map(|left| left.urn.short()).collect();
    assert_eq!(out, ["demo:v3.0", "other:v3.0", "third:v3.0"]);
    assert_eq!(inform(&house, "l3:v1.0", r#"{"x":2}"#), permitted(&["p.cedar#1"]));
}

#[test]
#[ignore = "a measurement: one bad document among a thousand"]
fn how_long_one_bad_document_among_a_thousand_takes() {
    for policies in [
        "permit (principal, action, resource is demo::note) when { resource.x > 1 };",
        "permit (principal, action, resource) when { resource.x > 1 };",
    ] {
        let mut contexts = crowd(998);
        contexts.extend([note("demo:v1.0", X_INT, "\"x\""), note("demo:v2.0", X_TEXT, "\"x\"")]);
        let source =
            PolicySource { files: one_file(policies).files, entities: ONE_AGENT.into(), limits: None };
        let began = std::time::Instant::now();
        let loaded = Policies::load(&source, &contexts, &PolicyLimits::default());
        eprintln!(
            "{:?}: {:?}",
            began.elapsed(),
            loaded.map(|one| one.left_out().len()).map_err(|all| all.len())
        );
    }
}

#[test]
fn a_new_document_beside_live_policies_is_the_one_that_goes() {
    let policies = "permit (principal, action, resource is demo::note) when { resource.x > 1 };";
    let house = load(policies, vec![note("demo:v1.0", X_INT, "\"x\"")]).unwrap();
    let source = PolicySource { files: one_file(policies).files, entities: ONE_AGENT.into(), limits: None };
    let both = [note("demo:v1.0", X_INT, "\"x\""), note("demo:v1.1", &format!("{X_INT},{Y_INT}"), "")];
    let next = house.policies.reload(&source, &both, &PolicyLimits::default()).unwrap();
    assert_eq!(next.left_out().iter().map(|left| left.urn.short()).collect::<Vec<_>>(), ["demo:v1.1"]);
}

#[test]
fn attack_documents_below_and_above_the_versions_in_use_never_keep_the_policies_from_loading() {
    let policies = "permit (principal, action, resource is demo::note) when { resource.x > 1 };
                    permit (principal, action, resource is third::note) when { resource.x > 1 };";
    let contexts = vec![
        note("demo:v0.8", X_TEXT, "\"x\""),
        note("demo:v0.9", X_TEXT, "\"x\""),
        note("demo:v1.0", X_INT, "\"x\""),
        note("demo:v9.0", r#""x":{"type":"number"}"#, "\"x\""),
        note("demo:v9.1", r#""x":{"type":"boolean"}"#, "\"x\""),
        note("third:v0.0", r#""x":{"type":"boolean"}"#, "\"x\""),
        note("third:v1.0", X_INT, "\"x\""),
    ];
    let house = load(policies, contexts);
    let house = house.unwrap_or_else(|faults| panic!("{faults:?}"));
    let out: Vec<_> = house.policies.left_out().iter().map(|left| left.urn.short()).collect();
    assert!(!out.iter().any(|urn| urn.ends_with("v1.0")), "{out:?}");
    assert_eq!(inform(&house, "demo:v1.0", r#"{"x":2}"#), permitted(&["p.cedar#1"]));
    assert_eq!(inform(&house, "third:v1.0", r#"{"x":2}"#), permitted(&["p.cedar#2"]));
    for urn in ["demo:v0.8", "demo:v0.9"] {
        assert!(matches!(inform(&house, urn, r#"{"x":"a"}"#), Verdict::Errored { .. }));
    }
}

#[test]
fn a_minor_version_that_contradicts_its_major_is_left_out_where_a_policy_reads_the_member() {
    let contexts = || vec![note("demo:v1.1", X_TEXT, "\"x\""), note("demo:v1.0", X_INT, "\"x\"")];
    let house = load("permit (principal, action, resource is demo::note);", contexts()).unwrap();
    assert_eq!(left_out(&house), [""; 0]);
    let reads = "permit (principal, action, resource is demo::note) when { resource.x > 1 };";
    let house = load(reads, contexts()).unwrap();
    let out = left_out(&house);
    assert!(out.len() == 1 && out[0].starts_with("`urn:contexts:demo:v1.1` is left out"), "{out:?}");
    assert_eq!(inform(&house, "demo:v1.0", r#"{"x":2}"#), permitted(&["p.cedar#1"]));
    assert!(matches!(inform(&house, "demo:v1.1", r#"{"x":"a"}"#), Verdict::Errored { .. }));
}

#[test]
fn what_a_version_hides_from_policies_never_passes_for_absent() {
    // v1's `x` is a number that policies do not see: were both one type, `resource has x` would be false for it.
    let hidden = r#""x":{"type":"number"}"#;
    let policies = "permit (principal, action, resource);
                    forbid (principal, action, resource is demo::note) when { resource has x && resource.x > 1 };";
    let contexts = vec![note("demo:v1.0", hidden, ""), note("demo:v2.0", X_INT, "")];
    let faults = load(policies, contexts).map(|house| left_out(&house));
    match faults {
        Ok(out) => assert!(out[0].contains("urn:contexts:demo:v1.0"), "{out:?}"),
        Err(faults) => assert!(faults[0].contains("demo::v2::note"), "{faults:?}"),
    }
}

#[test]
fn an_open_object_never_hides_what_another_version_names() {
    let contexts = vec![
        concept("demo:v1.0", "note", X_INT, "\"x\"", "true"),
        note("demo:v1.1", &format!("{X_INT},{Y_INT}"), "\"x\""),
    ];
    let forbids = "permit (principal, action, resource); forbid (principal, action, resource is demo::note) when { resource has y && resource.y > 1 };";
    let house = load(forbids, contexts).unwrap();
    let out = left_out(&house);
    assert!(out.len() == 1 && out[0].starts_with("`urn:contexts:demo:v1.0` is left out"), "{out:?}");
    let stated = inform(&house, "demo:v1.0", r#"{"x":1,"y":2}"#);
    assert!(matches!(stated, Verdict::Errored { .. }), "{stated:?}");
    let stated = inform(&house, "demo:v1.1", r#"{"x":1,"y":2}"#);
    assert!(matches!(stated, Verdict::Denied { .. }), "{stated:?}");
}

#[test]
fn names_that_would_be_the_same_to_policies_are_refused_one_by_one() {
    let split = [note("demo:v1.0", X_INT, "\"x\""), note("demo:v2.0", X_TEXT, "\"x\"")];
    let taken = note("demo.v1:v1.0", X_INT, "\"x\"");
    let contexts = split.into_iter().chain([taken]).collect();
    let house = load("permit (principal, action, resource);", contexts).unwrap();
    let out = left_out(&house);
    assert!(out.len() == 2 && out[0].contains("`demo::v1`") && out[0].contains("`demo.v1`"), "{out:?}");
    let both = context(
        r#"{"context":"urn:contexts:demo:v1.0","concepts":{"in":{"type":"object","properties":{}},
           "in_":{"type":"object","properties":{}}}}"#,
    );
    let other = note("other:v1.0", X_INT, "");
    let house = load("permit (principal, action, resource is other::note);", vec![both, other]).unwrap();
    assert!(left_out(&house)[0].contains("would both be `demo::in_` to policies"), "{:?}", left_out(&house));
}

#[test]
fn words_of_cedar_are_spoken_with_an_underscore() {
    let contexts = vec![
        concept("in.is:v1.0", "Agent", X_INT, "\"x\"", "false"),
        concept(
            "acme.if-then.3d:v1.0",
            "String",
            r#""like":{"type":"integer"},"a b":{"type":"boolean"}"#,
            "\"like\"",
            "false",
        ),
    ];
    let house = load(
        r#"permit (principal, action, resource is in_::is_::Agent_) when { resource.x == 1 };
           permit (principal, action, resource is acme::if_then::_3d::String_)
             when { resource["like"] == 1 && (if resource has "a b" then resource["a b"] else true) };"#,
        contexts,
    )
    .unwrap();
    let ask = |urn, term, value| {
        house.ask(Ask { action: Performative::Inform, urn, term, value, ..Ask::default() })
    };
    assert_eq!(ask("in.is:v1.0", "Agent", r#"{"x":1}"#), permitted(&["p.cedar#1"]));
    assert_eq!(ask("acme.if-then.3d:v1.0", "String", r#"{"like":1,"a b":true}"#), permitted(&["p.cedar#2"]));
    assert_ne!(ask("acme.if-then.3d:v1.0", "String", r#"{"like":1,"a b":false}"#), permitted(&["p.cedar#2"]));
}

#[test]
fn every_name_that_cedar_might_keep_for_itself_loads() {
    let names = [
        "true",
        "false",
        "if",
        "then",
        "else",
        "in",
        "is",
        "like",
        "has",
        "Agent",
        "Group",
        "Action",
        "Bool",
        "Boolean",
        "Long",
        "String",
        "Set",
        "Record",
        "Entity",
        "Extension",
        "decimal",
        "ipaddr",
        "datetime",
        "duration",
        "principal",
        "action",
        "resource",
        "context",
        "permit",
        "forbid",
        "when",
        "unless",
        "namespace",
        "entity",
        "type",
    ];
    for name in names {
        let house = load(
            "permit (principal, action, resource);",
            vec![concept("demo:v1.0", name, X_INT, "", "false")],
        );
        let house = house.unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
        assert_eq!(left_out(&house), [""; 0], "{name}");
    }
}

#[test]
fn nested_records_and_sets_are_seen() {
    let properties = r#""o":{"type":"object","properties":{"n":{"type":"integer"},"d":{"type":"number","multipleOf":0.01}},
        "required":["n"],"additionalProperties":false},"l":{"type":"array","items":{"type":"string","maxLength":5},"maxItems":5}"#;
    let house = load(
        r#"permit (principal, action, resource is demo::note)
             when { resource.o.n == 3 && resource.o has d && resource.o.d.lessThan(decimal("1.5")) && resource.l.contains("a") };"#,
        vec![note("demo:v1.0", properties, "\"o\",\"l\"")],
    )
    .unwrap();
    let yes = permitted(&["p.cedar#1"]);
    assert_eq!(inform(&house, "demo:v1.0", r#"{"o":{"n":3.0,"d":1.49},"l":["b","a"]}"#), yes);
    for no in [
        r#"{"o":{"n":3,"d":1.5},"l":["a"]}"#,
        r#"{"o":{"n":3},"l":["a"]}"#,
        r#"{"o":{"n":3,"d":1},"l":[]}"#,
        r#"{"o":{"n":4,"d":1},"l":["a"]}"#,
    ] {
        assert_ne!(inform(&house, "demo:v1.0", no), yes, "{no}");
    }
}

#[test]
fn another_document_of_the_same_name_is_left_out() {
    let contexts = vec![note("demo:v1.0", X_INT, ""), note("demo:v1.0", Y_INT, "")];
    let house = load("permit (principal, action, resource is demo::note);", contexts).unwrap();
    assert_eq!(
        left_out(&house),
        ["`urn:contexts:demo:v1.0` is left out: another document of the same name and version"]
    );
}

#[test]
fn a_context_that_the_policies_do_not_know_is_an_error_and_not_a_denial() {
    let known = House::shipped();
    let unknown = note("demo:v1.0", X_INT, "");
    let shape = unknown.term("note").unwrap().side(Performative::Inform).unwrap();
    let value = transfer("1");
    let ask = Ask { value: &value, ..Ask::default() };
    let verdict = known.question(ask, |question| {
        known.policies.decide(&crate::Question { context: &unknown, shape, ..*question })
    });
    assert!(matches!(verdict, Verdict::Errored { .. }), "{verdict:?}");
}

#[test]
fn without_any_context_policies_for_concepts_do_not_load() {
    let faults = Policies::load(&PolicySource::shipped(), &[], &PolicyLimits::default()).unwrap_err();
    let expected = "no known context has types of `payment`";
    assert!(faults.iter().any(|fault| fault.to_string().contains(expected)), "{faults:?}");
}
