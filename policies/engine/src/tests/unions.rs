//! Unions, enums and null: what a policy sees of them, and that no branch hides anything that another shows.

use std::sync::Arc;

use semgate_contexts::{Context, Performative};

use super::{Ask, House, RETAILER, context, denied, one_file, permitted};
use crate::{PolicySource, Verdict, schema_text};

const ONE_AGENT: &str =
    r#"{"agents":[{"id":"spiffe://semgate.test/agent/retailer-7","groups":[],"credentials":[]}]}"#;

/// A context with one concept `note` of this schema.
fn note(schema: &str) -> Arc<Context> {
    context(&format!(r#"{{"context":"urn:contexts:t:v1.0","concepts":{{"note":{schema}}}}}"#))
}

fn typed(schema: &str) -> String {
    let text = schema_text(&[note(schema)]).unwrap();
    let at = text.find("entity note").unwrap();
    let one_line = text[at..].split(';').next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    one_line.replace("__cedar::", "").replace('"', "")
}

fn load(policies: &str, schema: &str) -> Result<House, Vec<String>> {
    House::load(&PolicySource { entities: ONE_AGENT.into(), ..one_file(policies) }, vec![note(schema)])
}

fn ask(house: &House, value: &str) -> Verdict {
    house.ask(Ask {
        sender: RETAILER,
        action: Performative::Inform,
        urn: "t:v1.0",
        term: "note",
        value,
        ..Ask::default()
    })
}

const PAID: &str = r#"{"type":"object","properties":{"by":{"type":"string","maxLength":9}},"required":["by"],"oneOf":[
    {"properties":{"by":{"const":"card"},"number":{"type":"string","maxLength":30}},"required":["number"]},
    {"properties":{"by":{"const":"iban"},"iban":{"type":"string","maxLength":30}},"required":["iban"]}]}"#;

#[test]
fn members_of_the_branches_of_a_union_are_optional_and_whoever_has_one_shows_it() {
    assert_eq!(typed(PAID), "entity note = { by: String, iban?: String, number?: String }");
    let house = load(
        "permit (principal, action, resource);\n\
         @id(\"f\") forbid (principal, action, resource is t::note) when { resource has number && resource.number like \"4*\" };",
        PAID,
    )
    .unwrap();
    assert_eq!(ask(&house, r#"{"by":"card","number":"4711"}"#), denied(&["p.cedar#f"], &[]));
    assert_eq!(ask(&house, r#"{"by":"card","number":"5711"}"#), permitted(&["p.cedar#1"]));
    assert_eq!(ask(&house, r#"{"by":"iban","iban":"4"}"#), permitted(&["p.cedar#1"]));
    // The other branch cannot carry it: the context refuses that, before policies are asked.
    let shape = house.context("t:v1.0").shapes().next().unwrap();
    for smuggled in [
        r#"{"by":"iban","iban":"x","number":"4711"}"#,
        r#"{"by":"iban","iban":"x","number":4711}"#,
        r#"{"by":"card","number":4711}"#,
    ] {
        let read = semgate_contexts::json::read(smuggled.as_bytes(), &Default::default()).unwrap();
        assert!(shape.conform(read.as_object().unwrap(), None).is_err(), "{smuggled}");
    }
}

#[test]
fn a_member_that_branches_type_differently_is_seen_by_no_policy_and_one_that_asks_for_it_is_told_so() {
    let schema = r#"{"type":"object","anyOf":[
        {"properties":{"n":{"type":"string","maxLength":9},"a":{"type":"boolean"}}},
        {"properties":{"n":{"type":"integer"},"a":{"type":"boolean"}}}]}"#;
    assert_eq!(typed(schema), "entity note = { a?: Bool }");
    let faults =
        load("forbid (principal, action, resource is t::note) when { resource.n == \"1\" };", schema);
    let faults = faults.err().unwrap().join("\n");
    assert!(faults.contains("`n` is not visible to policies"), "{faults}");
}

#[test]
fn where_a_branch_may_carry_anything_no_member_of_a_branch_is_shown() {
    for open in [
        r#"{"additionalProperties":true}"#,
        r#"{"patternProperties":{"^n":{"type":"integer"}}}"#,
        r#"{"if":{"properties":{"a":{"const":true}}},"then":{"properties":{"n":{"type":"integer"}}}}"#,
    ] {
        let schema = format!(
            r#"{{"type":"object","properties":{{"a":{{"type":"boolean"}}}},"anyOf":[{{"properties":{{"n":{{"type":"string","maxLength":9}}}}}},{open}]}}"#
        );
        assert_eq!(typed(&schema), "entity note = { a?: Bool }", "{open}");
    }
}

#[test]
fn what_only_one_of_two_unions_names_is_typed_by_all_that_may_carry_it() {
    let text = r#"{"type":"string","maxLength":9}"#;
    let one = format!(
        r#"{{"type":"object","anyOf":[{{"properties":{{"n":{text}}}}},{{"properties":{{"m":{text}}}}}],
            "oneOf":[{{"properties":{{"n":{{"type":"integer"}}}},"required":["n"]}},{{"properties":{{"k":{text}}},"required":["k"]}}]}}"#
    );
    assert_eq!(typed(&one), "entity note = { k?: String, m?: String }");
    // What the object itself leaves open, a branch types only if each does.
    let base = |second: &str| {
        format!(
            r#"{{"type":"object","properties":{{"n":true}},"anyOf":[{{"properties":{{"n":{text}}}}},{second}]}}"#
        )
    };
    assert_eq!(typed(&base(r#"{"properties":{"m":{"type":"boolean"}}}"#)), "entity note = { m?: Bool }");
    let each = base(r#"{"properties":{"n":{"type":"string","enum":["x"]}}}"#);
    assert_eq!(typed(&each), "entity note = { n?: String }");
}

#[test]
fn alternatives_of_one_type_are_that_type() {
    let schema = r#"{"type":"object","properties":{
        "ip":{"anyOf":[{"type":"string","format":"ipv4"},{"type":"string","format":"ipv6"}]},
        "when":{"oneOf":[{"type":"string","format":"date"},{"type":"string","format":"date-time"}]},
        "sum":{"anyOf":[{"type":"integer"},{"type":"number","multipleOf":0.01}]},
        "code":{"anyOf":[{"const":"a"},{"const":"b"}]},
        "list":{"type":["array","null"],"items":{"type":"string","maxLength":9}},
        "holes":{"type":"array","items":{"type":["string","null"],"maxLength":9}},
        "memo":{"type":["string","null"],"maxLength":9},
        "any":{"type":["string","integer"],"maxLength":9},
        "none":{"type":"null"}}}"#;
    let expected = "entity note = { code?: String, ip?: ipaddr, list?: Set<String>, memo?: String, sum?: decimal, when?: String }";
    assert_eq!(typed(schema), expected);
}

#[test]
fn a_union_of_one_version_is_no_hole_for_the_other() {
    let first = context(
        r#"{"context":"urn:contexts:t:v1.0","concepts":{"note":{"type":"object","properties":{"n":{"type":"string","maxLength":9}}}}}"#,
    );
    let other = |schema: &str| {
        context(&format!(r#"{{"context":"urn:contexts:t:v2.0","concepts":{{"note":{schema}}}}}"#))
    };
    // Closed: what its branches name is known, so an absent `n` is absent.
    let closed = other(
        r#"{"type":"object","oneOf":[{"properties":{"m":{"type":"integer"}},"required":["m"]},{"properties":{"k":{"type":"integer"}},"required":["k"]}]}"#,
    );
    let text = schema_text(&[Arc::clone(&first), closed]).unwrap();
    assert!(text.contains("entity note") && !text.contains("namespace t::v1"), "{text}");
    let open = other(
        r#"{"type":"object","oneOf":[{"properties":{"m":{"type":"integer"}},"required":["m"],"additionalProperties":true},{"properties":{"k":{"type":"integer"}},"required":["k"]}]}"#,
    );
    let text = schema_text(&[Arc::clone(&first), open]).unwrap();
    assert!(text.contains("namespace t::v1") && text.contains("namespace t::v2"), "{text}");
}

#[test]
fn a_shape_too_large_to_be_told_counts_as_one_that_may_carry_anything() {
    let first = context(
        r#"{"context":"urn:contexts:t:v1.0","concepts":{"note":{"type":"object","properties":{"amount":{"type":"integer"}}}}}"#,
    );
    // Definitions that unfold past the bound: nothing is said of any member, `amount` among them.
    let mut defs: Vec<String> = (0..12)
        .map(|n| {
            let next = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, n + 1);
            format!(r#""d{n}":{{"type":"object","properties":{{"l":{next},"r":{next}}}}}"#)
        })
        .collect();
    defs.push(r#""d12":{"type":"string"}"#.to_owned());
    let huge = context(&format!(
        r##"{{"context":"urn:contexts:t:v2.0","$defs":{{{}}},"concepts":{{"note":{{"type":"object","properties":{{"amount":{{"type":"integer"}},"x":{{"$ref":"#/$defs/d0"}}}}}}}}}}"##,
        defs.join(",")
    ));
    let text = schema_text(&[first, huge]).unwrap();
    assert!(text.contains("namespace t::v1") && text.contains("namespace t::v2"), "{text}");
}

/// What a schema gives as `default` is what it says of a member that is not there; nothing puts it there.
#[test]
fn a_default_is_not_there_for_a_policy() {
    let document = r#"{"context":"urn:contexts:t:v1.0","concepts":{"c":{"type":"object","properties":{
        "n":{"type":"integer","default":5},"s":{"type":"object","properties":{"m":{"type":"string","default":"x"}},"additionalProperties":false}},
        "required":["s"],"additionalProperties":false}}}"#;
    let text = "@id(\"there\") permit (principal, action, resource is t::c) when { resource has n || resource.s has m };\n\
                @id(\"absent\") permit (principal, action, resource is t::c) when { !(resource has n) && !(resource.s has m) };";
    let house = House::load(&one_file(text), vec![context(document)]).unwrap();
    let ask = |value| {
        house.ask(Ask { urn: "t:v1.0", term: "c", value, action: Performative::Inform, ..Ask::default() })
    };
    assert_eq!(ask(r#"{"s":{}}"#), permitted(&["p.cedar#absent"]));
    assert_eq!(ask(r#"{"n":5,"s":{}}"#), permitted(&["p.cedar#there"]));
    assert_eq!(ask(r#"{"s":{"m":"x"}}"#), permitted(&["p.cedar#there"]));
}
