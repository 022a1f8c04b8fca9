//! Tests of `openness`.

use super::SchemaNode;
use serde_json::{Value, json};

fn open(schema: &Value) -> bool {
    let document = json!({"$defs": {
        "closed": {"type": "object", "properties": {"a": {}}},
        "open": {"type": "object", "additionalProperties": true},
        "circle": {"$ref": "#/$defs/circle"},
    }});
    SchemaNode::new(&document, schema).open()
}

#[test]
fn an_object_is_closed_unless_it_says_otherwise() {
    for schema in [
        json!({"type": "object", "properties": {"a": {}}, "required": ["a"], "x-performatives": []}),
        json!({"type": "object", "properties": {}, "additionalProperties": false}),
        json!({"$ref": "#/$defs/closed"}),
        json!({"allOf": [{"$ref": "#/$defs/closed"}, {"properties": {"b": {}}}], "unevaluatedProperties": false}),
        json!({"properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"minProperties": 2}]}),
        json!({"oneOf": [{"properties": {"b": {}}}, {}, true]}),
    ] {
        assert!(!open(&schema), "{schema}");
    }
    for schema in [
        json!(true),
        json!({"additionalProperties": true}),
        json!({"additionalProperties": {"type": "integer"}}),
        json!({"unevaluatedProperties": true}),
        json!({"patternProperties": {"^a": {}}}),
        json!({"$ref": "#/$defs/open"}),
        json!({"$ref": "#/$defs/circle"}),
        json!({"$ref": "#/$defs/none"}),
        json!({"$ref": "urn:contexts:other:v1.0"}),
        json!({"allOf": [{"$ref": "#/$defs/open"}]}),
        json!({"oneOf": [{"properties": {"b": {}}, "additionalProperties": true}, {}]}),
        json!({"if": {}, "then": {"properties": {"b": {}}}}),
        json!({"dependentSchemas": {"a": {"properties": {"b": {}}}}}),
    ] {
        assert!(open(&schema), "{schema}");
    }
}

#[test]
fn members_and_items_are_found_through_references() {
    let document = json!({"$defs": {"list": {"items": {"type": "object"}}}});
    let schema = json!({"allOf": [{"properties": {"l": {"$ref": "#/$defs/list"}}}], "properties": {"m": {}}});
    let node = SchemaNode::new(&document, &schema);
    assert!(node.member("m").is_some() && node.member("x").is_none());
    assert!(node.member("l").unwrap().items().is_some());
    let twice = json!({"allOf": [{"properties": {"m": {}}}], "properties": {"m": {}}});
    assert!(SchemaNode::new(&document, &twice).member("m").is_none());
}
