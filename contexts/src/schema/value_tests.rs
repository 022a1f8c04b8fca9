//! What is said about values: paths and rules, equality, the hidden member.

use serde_json::json;

use super::tests::{compile_schema, fits, member};
use crate::json;

#[test]
fn paths_name_only_what_the_schema_names() {
    let compiled = compile_schema(json!({ "type": "object", "properties": { "m~/x": { "type": "string" } },
        "additionalProperties": { "type": "array", "items": { "type": "string" } } }))
    .unwrap();
    assert_eq!(fits(&compiled, json!({ "my secret": ["a", 5] })), Err("/*/1 type".to_owned()));
    assert_eq!(fits(&compiled, json!({ "m~/x": 5 })), Err("/m~0~1x type".to_owned()));
}

#[test]
fn messages_of_faults_hold_nothing_of_the_content() {
    let compiled = compile_schema(member(json!({ "type": "string", "maxLength": 3 }))).unwrap();
    let read = json::read(br#"{"m":"my secret"}"#, &json::Limits::default()).unwrap();
    let fault = compiled.validator.conform(read.as_object().unwrap(), None).unwrap_err();
    assert_eq!(fault.to_string(), "`/m` does not fit the rule `maxLength`");
}

#[test]
fn the_member_that_names_the_type_is_not_seen() {
    let compiled = compile_schema(
        json!({ "type": "object", "properties": { "a": { "type": "string" } }, "maxProperties": 1 }),
    )
    .unwrap();
    let read = json::read(br#"{"concept":"c","a":"x"}"#, &json::Limits::default()).unwrap();
    let object = read.as_object().unwrap();
    assert_eq!(compiled.validator.conform(object, Some("concept")), Ok(()));
    assert_eq!(compiled.validator.conform(object, None).unwrap_err().path, "");
}

#[test]
fn unique_items_compare_by_meaning() {
    let unique = json!({ "type": "array", "items": true, "maxItems": 4, "uniqueItems": true });
    let compiled = compile_schema(member(unique)).unwrap();
    let verdict = |text: &str| {
        let read = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
        compiled.validator.conform(read.as_object().unwrap(), None).map_err(|fault| fault.rule)
    };
    for text in
        [r#"{"m":[1,1.0]}"#, r#"{"m":[{"a":1,"b":[2]},{"b":[2.0],"a":1}]}"#, r#"{"m":["a","\u0061"]}"#]
    {
        assert_eq!(verdict(text), Err("uniqueItems".to_owned()), "{text}");
    }
    for text in [r#"{"m":[1,true,"1",null]}"#, r#"{"m":[{"a":1},{"a":2},[1],[2]]}"#, r#"{"m":[]}"#] {
        assert_eq!(verdict(text), Ok(()), "{text}");
    }
}

#[test]
fn a_member_that_may_not_be_is_reported_as_false() {
    let compiled = compile_schema(json!({ "type": "object", "properties": { "a": false } })).unwrap();
    assert_eq!(fits(&compiled, json!({ "a": 1 })), Err("/a false".to_owned()));
}

#[test]
fn numbers_equal_to_a_constant_are_equal_however_written() {
    let compiled = compile_schema(member(json!({ "enum": [120, 0.5, "120"] }))).unwrap();
    for text in [r#"{"m":120}"#, r#"{"m":120.0}"#, r#"{"m":1.2e2}"#, r#"{"m":5e-1}"#, r#"{"m":"120"}"#] {
        let read = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
        assert_eq!(compiled.validator.conform(read.as_object().unwrap(), None), Ok(()), "{text}");
    }
    assert_eq!(fits(&compiled, json!({ "m": 121 })), Err("/m enum".to_owned()));
}
