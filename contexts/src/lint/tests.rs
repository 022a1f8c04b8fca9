//! Each warning on a document of its own.

use serde_json::{Value, json};

use super::*;
use crate::document::DocumentLimits;
use crate::urn::Prefix;

fn rules(document: &Value) -> Vec<(String, &'static str)> {
    let read =
        Context::check(document.to_string().as_bytes(), &Prefix::default(), &DocumentLimits::default());
    lint(&read.unwrap()).into_iter().map(|warning| (warning.pointer, warning.rule)).collect()
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

#[test]
fn what_is_answered_is_read_by_old_callers() {
    let part = json!({ "type": "object", "properties": { "a": { "enum": ["x", "y"] } }, "required": ["a"] });
    let document = json!({ "context": "urn:contexts:test:v1.0", "tasks": { "t": { "parameters": part, "results": part } } });
    let results = "/tasks/t/results".to_owned();
    assert_eq!(
        rules(&document),
        [(results.clone(), "required-answer"), (format!("{results}/properties/a"), "closed-answer")]
    );
}
