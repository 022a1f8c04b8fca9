//! Schemas without `type`, arrays without `items`, listed arrays and objects: their meaning in JSON Schema, closing kept.

use serde_json::{Value, json};

use super::tests::{compile_schema, fits, member};
use super::{CompiledSchema, SchemaFault};

fn compiled(schema: Value) -> CompiledSchema {
    compile_schema(member(schema)).unwrap()
}

fn takes(compiled: &CompiledSchema, values: &[Value]) {
    for value in values {
        assert_eq!(fits(compiled, json!({ "m": value })), Ok(()), "{value}");
    }
}

fn refuses(compiled: &CompiledSchema, values: &[Value], rule: &str) {
    for value in values {
        let fault = fits(compiled, json!({ "m": value })).unwrap_err();
        assert!(fault.ends_with(rule), "{value}: {fault}");
    }
}

fn anything() -> Vec<Value> {
    vec![json!(null), json!(true), json!(1.5), json!("x"), json!([{ "a": 1 }]), json!({ "a": { "b": [] } })]
}

#[test]
fn a_schema_without_type_takes_what_json_schema_takes() {
    takes(&compiled(json!({})), &anything());
    takes(&compiled(json!({ "description": "whatever the caller likes" })), &anything());
    let short = compiled(json!({ "maxLength": 2 }));
    takes(&short, &anything());
    refuses(&short, &[json!("long")], " maxLength");
    let bounded = compiled(json!({ "minimum": 3, "maxItems": 1 }));
    takes(&bounded, &[json!("x"), json!(3), json!([1]), json!({ "a": 1 })]);
    refuses(&bounded, &[json!(2)], " minimum");
    refuses(&bounded, &[json!([1, 2])], " maxItems");
}

#[test]
fn a_schema_without_type_that_declares_members_is_closed() {
    let declares = compiled(json!({ "properties": { "a": { "type": "integer" } } }));
    takes(&declares, &[json!("x"), json!([]), json!({ "a": 1 })]);
    refuses(&declares, &[json!({ "b": 1 })], " additionalProperties");
    let composed = compiled(
        json!({ "if": { "required": ["a"] }, "then": { "properties": { "a": { "type": "integer" } } } }),
    );
    takes(&composed, &[json!("x"), json!({ "a": 1 })]);
    refuses(&composed, &[json!({ "a": 1, "b": 1 })], " unevaluatedProperties");
    let asks = compiled(json!({ "required": ["a"] }));
    takes(&asks, &[json!("x"), json!({ "a": 1, "b": 2 })]);
    refuses(&asks, &[json!({ "b": 2 })], " required");
}

#[test]
fn an_array_without_items_takes_any_items() {
    takes(&compiled(json!({ "type": "array" })), &[json!([]), json!([1, "x", { "a": [null] }])]);
    let first = compiled(json!({ "type": "array", "prefixItems": [{ "type": "string" }] }));
    takes(&first, &[json!(["x", 1, {}])]);
    refuses(&first, &[json!([1])], " type");
    let some = compiled(json!({ "type": ["array", "null"], "contains": { "const": 1 } }));
    takes(&some, &[json!(null), json!([{}, 1])]);
    refuses(&some, &[json!([{}])], " contains");
}

#[test]
fn listed_arrays_and_objects_are_equal_member_by_member() {
    let listed = compiled(json!({ "enum": ["a", [1, 2], { "x": { "y": 1 } }] }));
    takes(&listed, &[json!("a"), json!([1, 2]), json!([1.0, 2e0]), json!({ "x": { "y": 1 } })]);
    refuses(&listed, &[json!([2, 1]), json!([1]), json!({ "x": { "y": 2 } })], " enum");
    let one = compiled(json!({ "const": { "a": 1, "b": [] } }));
    takes(&one, &[json!({ "b": [], "a": 1 })]);
    refuses(&one, &[json!({ "a": 1, "b": [1] }), json!({ "a": 1 }), json!([])], " const");
    let typed = compiled(json!({ "type": "object", "const": { "a": 1 }, "required": ["a"] }));
    takes(&typed, &[json!({ "a": 1 })]);
}

#[test]
fn the_whole_content_can_be_a_listed_object() {
    let root =
        compile_schema(json!({ "type": "object", "enum": [{ "a": 1 }, { "a": 2, "b": "x" }] })).unwrap();
    assert_eq!(fits(&root, json!({ "a": 2, "b": "x" })), Ok(()));
    assert_eq!(fits(&root, json!({ "a": 2 })), Err(" enum".to_owned()));
}

#[test]
fn closing_leaves_listed_objects_in_branches_as_they_are_and_never_widens() {
    let union = compiled(json!({ "anyOf": [
        { "const": { "a": 1 } },
        { "type": "object", "properties": { "b": { "type": "string" } } },
    ] }));
    takes(&union, &[json!({ "a": 1 }), json!({ "b": "x" })]);
    refuses(&union, &[json!({ "a": 1, "c": 1 })], " unevaluatedProperties");
    // what the schema says of other members holds of listed ones, as in plain JSON Schema
    let beside = compiled(json!({ "const": { "a": 1 }, "additionalProperties": { "type": "string" } }));
    refuses(&beside, &[json!({ "a": 1 })], " type");
    let around = compiled(
        json!({ "allOf": [{ "const": { "a": 1 } }], "unevaluatedProperties": { "type": "string" } }),
    );
    refuses(&around, &[json!({ "a": 1 })], " unevaluatedProperties");
}

#[test]
fn listed_values_are_counted_as_work() {
    let row: Vec<u64> = (0..100).collect();
    let rows: Vec<Value> = (0..6).map(|first| json!([first, row])).collect();
    assert!(matches!(
        compile_schema(member(json!({ "enum": rows }))).unwrap_err().1,
        SchemaFault::Work { .. }
    ));
    assert!(compile_schema(member(json!({ "enum": rows[..4] }))).is_ok());
}

#[test]
fn free_text_where_a_schema_says_nothing_is_as_below_true() {
    let free = |schema: Value| compiled(schema).free_text.anywhere();
    assert!(!free(json!({})) && !free(json!(true)) && !free(json!({ "minLength": 1 })));
    assert!(free(json!({ "anyOf": [{}, { "type": "string", "maxLength": 9, "x-free-text": true }] })));
}

#[test]
fn attack_a_name_that_a_branch_lists_takes_no_free_text_beside_another_branch() {
    let a = json!({ "properties": { "a": { "type": "integer" } }, "required": ["a"] });
    for listed in [
        json!({ "const": { "note": "standard" } }),
        json!({ "enum": [{ "note": "standard" }, { "note": "express" }] }),
        json!({ "allOf": [{ "const": { "note": "standard" } }] }),
    ] {
        let schema = compiled(json!({ "type": "object", "anyOf": [a, listed] }));
        takes(
            &schema,
            &[json!({ "a": 1 }), json!({ "note": "standard" }), json!({ "a": 1, "note": "standard" })],
        );
        refuses(&schema, &[json!({ "a": 1, "note": "any free text" })], "/note enum");
    }
    // a part that declares the member, or takes any, says what it holds
    for other in [
        json!({ "properties": { "note": { "type": "string", "maxLength": 9 } }, "required": ["note"] }),
        json!({ "type": "object", "additionalProperties": { "type": "string" } }),
    ] {
        let schema =
            compiled(json!({ "type": "object", "anyOf": [other, { "const": { "note": "standard" } }] }));
        takes(&schema, &[json!({ "note": "other" }), json!({ "note": "standard" })]);
    }
}
