use super::*;
use crate::{Context, DocumentLimits, Prefix, json};
use serde_json::json;

/// The strings of an instance that a schema leaves free, with their positions.
fn loose(schema: Value, content: &str) -> Result<Vec<String>, TooManyLooks> {
    let document =
        json!({"context": "urn:contexts:t:v1.0", "concepts": {"c": schema}, "codes": {"list": ["a", "b"]}});
    let context =
        Context::check(document.to_string().as_bytes(), &Prefix::default(), &DocumentLimits::default())
            .unwrap();
    let read = json::read(content.as_bytes(), &json::Limits::default()).unwrap();
    let shape = context.term("c").unwrap().shapes().next().unwrap();
    let mut seen = Vec::new();
    let spared = Spared { member: Some("concept"), object: &|object| object.get("spared").is_some() };
    shape.each_loose_text(read.as_object().unwrap(), &spared, |at, text| {
        seen.push(format!("{}={text}", at.join(".")));
    })?;
    Ok(seen)
}

fn of(properties: Value) -> Value {
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

#[test]
fn attack_prose_stands_in_a_string_that_is_bounded_in_length_alone() {
    let string = |more: Value| {
        let mut schema = json!({"type": "string", "maxLength": 99});
        schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        loose(of(json!({"x": schema})), r#"{"concept":"c","x":"a"}"#).unwrap()
    };
    assert_eq!(string(json!({})), ["x=a"]);
    assert_eq!(string(json!({"x-free-text": true})), ["x=a"]);
    for tied in [
        json!({"pattern": "^a$"}),
        json!({"enum": ["a"]}),
        json!({"const": "a"}),
        json!({"x-code-list": "list"}),
        json!({"format": "date"}),
    ] {
        assert!(string(tied.clone()).is_empty(), "{tied}");
    }
}

#[test]
fn attack_prose_stands_in_values_and_names_of_which_a_schema_says_nothing() {
    let any = of(json!({"data": true, "map": {"type": "object", "additionalProperties": true},
        "list": {"type": "array", "maxItems": 9}}));
    let seen = loose(
        any,
        r#"{"data":{"k1":["v1",{"k2":"v2"}]},"map":{"k3":"v3","k4":{"spared":"no"}},"list":["v4",1]}"#,
    );
    let expected = [
        "data=k1",
        "data.*.*=v1",
        "data.*.*=k2",
        "data.*.*.*=v2",
        "map=k3",
        "map.*=v3",
        "map=k4",
        "list.*=v4",
    ];
    assert_eq!(seen.unwrap(), expected);
    let names = json!({"type": "object", "propertyNames": {"pattern": "^k", "maxLength": 9}, "additionalProperties": {"enum": ["v"]}});
    assert!(loose(of(json!({"m": names})), r#"{"m":{"k":"v"}}"#).unwrap().is_empty());
}

#[test]
fn attack_one_branch_of_a_union_ties_a_string_that_another_leaves_free() {
    let (tied, free) = (
        json!({"type": "string", "maxLength": 9, "pattern": "^a$"}),
        json!({"type": "string", "maxLength": 9}),
    );
    let content = r#"{"x":"a"}"#;
    let both = json!([of(json!({"x": tied})), of(json!({"x": free}))]);
    assert_eq!(loose(of(json!({"x": {"anyOf": [tied, free]}})), content).unwrap(), ["x=a"]);
    assert_eq!(loose(json!({"type": "object", "anyOf": both}), content).unwrap(), ["x=a"]);
    let inside = json!({"type": "object", "properties": {"y": tied}, "additionalProperties": false});
    let freed = json!({"type": "object", "properties": {"y": free}, "additionalProperties": false});
    let nested = json!({"type": "object", "anyOf": [of(json!({"x": inside})), of(json!({"x": freed}))]});
    assert_eq!(loose(nested, r#"{"x":{"y":"a"}}"#).unwrap(), ["x.y=a"]);
    // a demand that holds in any case ties it, whatever the branches leave free
    let surely = json!({"type": "object", "properties": {"x": tied}, "anyOf": [{"required": ["x"]}, {"required": ["z"]}],
        "additionalProperties": false});
    assert!(loose(surely, content).unwrap().is_empty());
    assert!(loose(of(json!({"x": {"anyOf": [tied, {"type": "integer"}]}})), content).unwrap().is_empty());
    // a pattern for other members ties no listed one
    let others = json!({"type": "object", "properties": {"x": free}, "additionalProperties": tied});
    assert_eq!(loose(others, content).unwrap(), ["x=a"]);
}

#[test]
fn attack_many_branches_look_at_many_values_so_that_no_string_is_found() {
    let branch = |n: usize| {
        of(
            json!({"kind": {"const": n}, "x": {"type": "array", "maxItems": 999, "items": {"type": "string", "maxLength": n + 1}}}),
        )
    };
    let many = json!({"type": "object", "anyOf": (0..90).map(branch).collect::<Vec<_>>()});
    let items = |n: usize| format!(r#"{{"x":[{}]}}"#, vec![r#""a""#; n].join(","));
    assert_eq!(loose(many.clone(), &items(20)).unwrap().len(), 20);
    assert_eq!(loose(many, &items(900)), Err(TooManyLooks));
}
