//! Relations and labels: documents good and bad, and what a text means.

use serde_json::{Value, json};

use super::*;
use crate::compare::{CompareLimits, Verdict, compare};
use crate::document::{DocumentFault, DocumentLimits};
use crate::library;
use crate::urn::Prefix;

fn check(document: &Value) -> Result<Context, DocumentFault> {
    Context::check(document.to_string().as_bytes(), &Prefix::default(), &DocumentLimits::default())
}

fn shipped(name: &str) -> Context {
    let (_, bytes) = library::all().iter().find(|(known, _)| *known == name).unwrap();
    Context::check(bytes, &Prefix::default(), &DocumentLimits::default()).unwrap()
}

fn with(member: &str, value: Value) -> Result<Context, DocumentFault> {
    let mut document: Value = serde_json::from_slice(shipped("travel-v2.1").bytes()).unwrap();
    document[member] = value;
    check(&document)
}

fn refused_at(read: Result<Context, DocumentFault>) -> String {
    match read {
        Err(fault @ (DocumentFault::Member { .. } | DocumentFault::TooMany { .. })) => {
            fault.path().unwrap().to_owned()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn relations_between_names_of_the_document_are_kept_in_its_canonical_bytes() {
    let relations = json!([
        {"subject": "bookFlight/date", "relation": "part_of", "object": "bookFlight"},
        {"subject": "bookFlight/dest_code", "relation": "requires", "object": "bookFlight/origin_code"},
        {"subject": "bookFlight", "relation": "same_as", "object": "https://schema.org/FlightReservation"},
    ]);
    let context = with("relations", relations.clone()).unwrap();
    assert_eq!(context.relations().len(), 3);
    assert_eq!(context.relations()[1].kind, RelationKind::Requires);
    let bytes: Value = serde_json::from_slice(context.bytes()).unwrap();
    assert_eq!(bytes["relations"], relations);
    let again =
        Context::from_canonical(context.bytes(), &Prefix::default(), &DocumentLimits::default(), &|_| None);
    assert_eq!(again.unwrap().relations(), context.relations());
    assert_eq!(context.retired().relations(), context.relations());
}

#[test]
fn a_relation_that_names_nothing_of_the_document_refuses_it() {
    let one = |subject: &str, relation: &str, object: &str| {
        with("relations", json!([{"subject": subject, "relation": relation, "object": object}]))
    };
    for (subject, relation, object, member) in [
        ("bookTrain", "part_of", "bookFlight", "/subject"),
        ("bookFlight/seat", "part_of", "bookFlight", "/subject"),
        ("bookFlight/status", "part_of", "bookFlight", "/subject"), // of the results
        ("https://schema.org/Flight", "same_as", "bookFlight", "/subject"),
        ("bookFlight", "requires", "https://schema.org/Flight", "/object"),
        ("bookFlight", "same_as", "no IRI", "/object"),
        ("bookFlight", "same_as", "https://a b", "/object"),
        ("bookFlight", "same_as", "https://a\u{202e}", "/object"),
        ("bookFlight", "same_as", ":rest", "/object"),
        ("bookFlight", "same_as", "urn:", "/object"),
        ("bookFlight", "likes", "bookFlight/date", "/relation"),
        ("bookFlight", "requires", "bookFlight", ""),
    ] {
        let at = refused_at(one(subject, relation, object));
        assert_eq!(at, format!("/relations/0{member}"), "{subject} {relation} {object}");
    }
    let long = format!("urn:{}", "x".repeat(600));
    assert_eq!(refused_at(one("bookFlight", "same_as", &long)), "/relations/0/object");
}

#[test]
fn relations_are_a_closed_bounded_list_without_repetition() {
    let one = json!({"subject": "bookFlight/date", "relation": "part_of", "object": "bookFlight"});
    for (value, at) in [
        (json!({}), "/relations"),
        (json!([]), "/relations"),
        (json!([1]), "/relations/0"),
        (json!([one, one]), "/relations/1"),
        (json!([{"subject": "bookFlight", "relation": "part_of"}]), "/relations/0/object"),
        (json!([{"subject": 1, "relation": "part_of", "object": "bookFlight"}]), "/relations/0/subject"),
        (json!([{"subject": "a", "relation": "part_of", "object": "b", "why": ""}]), "/relations/0/why"),
    ] {
        assert_eq!(refused_at(with("relations", value)), at);
    }
    let many: Vec<Value> = (0..257)
        .map(|n| json!({"subject": "bookFlight", "relation": "same_as", "object": format!("urn:{n}")}))
        .collect();
    assert!(with("relations", many[..256].into()).is_ok());
    assert_eq!(refused_at(with("relations", many.into())), "/relations");
}

#[test]
fn requires_follows_from_required_without_being_written() {
    let derived = shipped("travel-v2.1").derived_relations();
    let objects: Vec<&str> = derived.iter().map(|one| one.object.as_str()).collect();
    assert_eq!(objects, ["bookFlight/date", "bookFlight/dest_code", "bookFlight/origin_code"]);
    assert!(derived.iter().all(|one| one.subject == "bookFlight" && one.kind == RelationKind::Requires));
}

#[test]
fn a_minor_version_may_change_relations_and_labels_freely() {
    let (old, new) = (shipped("travel-v2.1"), shipped("travel-v2.2"));
    for (old, new) in [(&old, &new), (&new, &old)] {
        let comparison = compare(old, new, &CompareLimits::default());
        assert_eq!(comparison.verdict, Verdict::Compatible, "{:?}", comparison.parts);
    }
}

#[test]
fn labels_name_codes_of_a_list_of_the_document() {
    for (value, at) in [
        (json!([]), "/labels"),
        (json!({"harbours": {"New York": ["JFK"]}}), "/labels/harbours"),
        (json!({"airports": {}}), "/labels/airports"),
        (json!({"airports": {"New York": []}}), "/labels/airports/New York"),
        (json!({"airports": {"New York": "JFK"}}), "/labels/airports/New York"),
        (json!({"airports": {"New York": ["JFK", "JFK"]}}), "/labels/airports/New York"),
        (json!({"airports": {"New York": ["XXX"]}}), "/labels/airports/New York"),
        (json!({"airports": {"": ["JFK"]}}), "/labels/airports/"),
        (json!({"airports": {" New York": ["JFK"]}}), "/labels/airports/ New York"),
        (json!({"airports": {"New\u{200b}York": ["JFK"]}}), "/labels/airports/New\u{200b}York"),
        (json!({"airports": {"New York": ["JFK"], "new  york": ["LGA"]}}), "/labels/airports/new  york"),
    ] {
        assert_eq!(refused_at(with("labels", value)), at);
    }
}

#[test]
fn f0_27_new_york_means_its_three_airports_in_the_order_of_the_label() {
    let context = shipped("travel-v2.2");
    let parameter = Parameter::of(&context, "dest_code").unwrap();
    for text in ["New York", "new york", " NEW\u{a0}  York "] {
        let meaning = context.meaning(&parameter, text, &[]).unwrap();
        assert_eq!((meaning.codes, meaning.ground), (vec!["JFK", "LGA", "EWR"], Ground::Label), "{text}");
    }
    let meaning = context.meaning(&parameter, "jfk", &[]).unwrap();
    assert_eq!((meaning.codes, meaning.ground), (vec!["JFK"], Ground::Code));
    for text in ["", "New", "York", "New York!", "Old York"] {
        assert_eq!(context.meaning(&parameter, text, &[]), None, "{text}: nothing is guessed");
    }
}

#[test]
fn labels_of_a_newer_version_serve_an_older_one_with_its_own_codes_only() {
    let (old, new) = (shipped("travel-v2.1"), shipped("travel-v2.2"));
    let parameter = Parameter::of(&old, "dest_code").unwrap();
    assert_eq!(old.meaning(&parameter, "New York", &[]), None);
    assert_eq!(old.meaning(&parameter, "New York", &[&new]).unwrap().codes, ["JFK", "LGA", "EWR"]);
    let mut fewer: Value = serde_json::from_slice(old.bytes()).unwrap();
    fewer["codes"]["airports"] = json!(["EWR", "JFK"]);
    let fewer = check(&fewer).unwrap();
    let parameter = Parameter::of(&fewer, "dest_code").unwrap();
    assert_eq!(fewer.meaning(&parameter, "New York", &[&new]).unwrap().codes, ["JFK", "EWR"]);
}
