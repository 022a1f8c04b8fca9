//! Each warning on a document of its own.

use serde_json::{Value, json};

use super::*;
use crate::compare::{CompareLimits, Verdict, compare};
use crate::document::DocumentLimits;
use crate::urn::Prefix;

fn rules(document: &Value) -> Vec<(String, &'static str)> {
    lint(&read(document)).into_iter().map(|warning| (warning.pointer, warning.rule)).collect()
}

fn concept(member: Value) -> Value {
    json!({ "context": "urn:contexts:test:v1.0", "concepts": { "c": { "type": "object", "properties": { "m": member } } } })
}

#[test]
fn each_thing_that_will_hurt_is_named_where_it_stands() {
    let at = "/concepts/c/properties/m";
    for (member, rule) in [
        (json!({ "type": "string" }), "unbounded-string"),
        (json!({ "type": ["string", "null"], "minLength": 1 }), "unbounded-string"),
        (json!({ "type": "array", "items": { "type": "boolean" } }), "unbounded-array"),
        (json!({ "type": "number", "minimum": 0 }), "number-unseen"),
        (json!({ "type": "object", "additionalProperties": { "type": "boolean" } }), "open-object"),
        (json!({ "oneOf": [{ "type": "boolean" }, { "type": "null" }] }), "one-of"),
    ] {
        assert_eq!(rules(&concept(member)), [(at.to_owned(), rule)]);
    }
    for member in [
        json!({ "type": "string", "maxLength": 5 }),
        json!({ "type": "string", "format": "date" }),
        json!({ "enum": ["a", "b"] }),
        json!({ "type": "array", "items": true, "maxItems": 5 }),
        json!({ "type": "array", "prefixItems": [{ "type": "boolean" }], "items": false }),
        json!({ "type": "number", "multipleOf": 0.01 }),
        json!({ "type": "integer" }),
        json!({ "type": "object", "properties": { "a": { "type": "boolean" } }, "required": ["a"] }),
    ] {
        assert_eq!(rules(&concept(member.clone())), [], "{member}");
    }
}

/// A document with a task that takes nothing and answers with one member, and these definitions and codes beside it.
fn answer(minor: u8, member: &Value, beside: &Value) -> Value {
    let mut document = json!({ "context": format!("urn:contexts:test:v1.{minor}"), "tasks": { "t": {
        "parameters": { "type": "object", "properties": {} },
        "results": { "type": "object", "properties": { "m": member } } } } });
    for (name, value) in beside.as_object().unwrap() {
        document[name] = value.clone();
    }
    document
}

fn read(document: &Value) -> Context {
    Context::check(
        document.to_string().as_bytes(),
        &Prefix::default(),
        &DocumentLimits::default().published(),
    )
    .unwrap()
}

fn verdict(old: &Value, new: &Value) -> Verdict {
    compare(&read(old), &read(new), &CompareLimits::default()).verdict
}

const RESULTS: &str = "/tasks/t/results";

/// What is said of a member of results, beside that the results are a closed object.
fn warnings_of(document: &Value) -> Vec<(String, &'static str)> {
    let mut all = rules(document);
    let closed = all.iter().position(|one| *one == (RESULTS.to_owned(), "closed-answer")).unwrap();
    all.remove(closed);
    all
}

/// "A bound can never be set", "no member can be named": of what is answered both can be done.
#[test]
fn what_was_said_of_results_was_false() {
    for (before, after) in [
        (json!({ "type": "string" }), json!({ "type": "string", "maxLength": 5 })),
        (
            json!({ "type": "array", "items": { "type": "boolean" } }),
            json!({ "type": "array", "items": { "type": "boolean" }, "maxItems": 5 }),
        ),
        (
            json!({ "type": "object", "additionalProperties": { "type": "boolean" } }),
            json!({ "type": "object", "additionalProperties": { "type": "boolean" }, "properties": { "a": { "const": true } } }),
        ),
    ] {
        let (old, new) = (answer(0, &before, &json!({})), answer(1, &after, &json!({})));
        assert_eq!((warnings_of(&old), verdict(&old, &new)), (vec![], Verdict::Compatible), "{before}");
        let (old, new) = (concept(before.clone()), concept(after));
        assert_eq!((rules(&old).len(), verdict(&old, &new)), (1, Verdict::Breaking), "{before}");
    }
}

#[test]
fn each_rule_of_what_is_answered_speaks_of_a_step_that_breaks() {
    let none = json!({});
    let codes = |list: &[&str]| json!({ "codes": { "currency": list } });
    let defs = |list: &[&str]| json!({ "$defs": { "d": { "enum": list } } });
    let open = json!({ "type": "object", "properties": { "a": { "type": "boolean" } }, "additionalProperties": true });
    let mut more = open.clone();
    more["required"] = json!(["a"]);
    let at = "/tasks/t/results/properties/m";
    for (rule, place, before, after, beside, beside_after) in [
        (
            "closed-answer",
            at,
            json!({ "enum": ["a"] }),
            json!({ "enum": ["a", "b"] }),
            none.clone(),
            none.clone(),
        ),
        (
            "closed-answer",
            at,
            json!({ "type": "string", "x-code-list": "currency" }),
            json!({ "type": "string", "x-code-list": "currency" }),
            codes(&["a"]),
            codes(&["a", "b"]),
        ),
        (
            "closed-answer",
            "/$defs/d",
            json!({ "$ref": "#/$defs/d" }),
            json!({ "$ref": "#/$defs/d" }),
            defs(&["a"]),
            defs(&["a", "b"]),
        ),
        (
            "closed-answer",
            at,
            json!({ "anyOf": [{ "type": "boolean" }] }),
            json!({ "anyOf": [{ "type": "boolean" }, { "type": "null" }] }),
            none.clone(),
            none.clone(),
        ),
        (
            "closed-answer",
            at,
            json!({ "type": "object", "properties": {} }),
            json!({ "type": "object", "properties": { "a": { "type": "boolean" } } }),
            none.clone(),
            none.clone(),
        ),
        ("required-answer", at, more, open, none.clone(), none.clone()),
        (
            "bound-answer",
            at,
            json!({ "type": "string", "maxLength": 5 }),
            json!({ "type": "string", "maxLength": 6 }),
            none.clone(),
            none.clone(),
        ),
        (
            "bound-answer",
            at,
            json!({ "type": "integer", "minimum": 1 }),
            json!({ "type": "integer", "minimum": 0 }),
            none.clone(),
            none.clone(),
        ),
        (
            "bound-answer",
            at,
            json!({ "type": "string", "pattern": "^a$" }),
            json!({ "type": "string", "pattern": "^[ab]$" }),
            none.clone(),
            none.clone(),
        ),
        (
            "free-text-answer",
            at,
            json!({ "type": "string", "maxLength": 5, "x-free-text": true }),
            json!({ "type": "string", "maxLength": 6, "x-free-text": true }),
            none.clone(),
            none.clone(),
        ),
    ] {
        let old = answer(0, &before, &beside);
        assert_eq!(warnings_of(&old), [(place.to_owned(), rule)], "{before}");
        assert_eq!(verdict(&old, &answer(1, &after, &beside_after)), Verdict::Breaking, "{before}");
    }
}

#[test]
fn a_definition_that_both_sides_reach_has_the_warnings_of_both() {
    let part = json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d" } } });
    let document = json!({ "context": "urn:contexts:test:v1.0", "tasks": { "t": { "parameters": part, "results": part } },
        "$defs": { "d": { "anyOf": [{ "$ref": "#/$defs/e" }, { "type": "null" }] }, "e": { "type": "array", "items": { "enum": ["x"] } } } });
    let expected = [
        (RESULTS, "closed-answer"),
        ("/$defs/d", "closed-answer"),
        ("/$defs/e", "unbounded-array"),
        ("/$defs/e/items", "closed-answer"),
    ];
    assert_eq!(rules(&document), expected.map(|(at, rule)| (at.to_owned(), rule)));
    let concept = json!({ "context": "urn:contexts:test:v1.0", "concepts": { "c": { "type": "object", "properties": { "a": { "type": "string", "minLength": 1 } } } },
        "tasks": { "t": { "parameters": { "type": "object", "properties": {} }, "results": { "$ref": "#/concepts/c" } } } });
    let at = "/concepts/c/properties/a".to_owned();
    assert_eq!(rules(&concept), [(at.clone(), "unbounded-string"), (at, "bound-answer")]);
}

#[test]
fn a_member_that_names_types_in_native_l8_is_warned_of_and_taken() {
    let text = json!({ "type": "object", "properties": { "task": { "type": "string", "maxLength": 9 } } });
    let document = json!({ "context": "urn:contexts:test:v1.0", "concepts": { "c": text },
        "tasks": { "t": { "parameters": text, "results": { "type": "object", "additionalProperties": true } } } });
    let expected = [
        ("/concepts/c/properties/task", "names-its-type"),
        ("/tasks/t/parameters/properties/task", "names-its-type"),
    ];
    assert_eq!(rules(&document), expected.map(|(at, rule)| (at.to_owned(), rule)));
}
