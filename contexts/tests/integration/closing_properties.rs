//! Properties of compiled shapes over random schemas and random content: closing only narrows, no stranger gets in at
//! any depth, and nothing panics. Cases: `SEMGATE_FUZZ_CASES` (default 256).

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use semgate_contexts::json::{self, Limits};
use semgate_contexts::{Context, DocumentLimits, Prefix, library};
use serde_json::{Value, json};

/// A member that no schema names.
const STRANGER: &str = "stranger";

fn cases() -> ProptestConfig {
    let cases = std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(256);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn scalar_schema() -> BoxedStrategy<Value> {
    prop_oneof![
        Just(json!({ "type": "string", "maxLength": 3 })),
        Just(json!({ "type": "string", "x-code-list": "letters" })),
        Just(json!({ "type": "string", "maxLength": 9, "x-free-text": true })),
        Just(json!({ "type": "integer", "minimum": 0 })),
        Just(json!({ "type": "number", "multipleOf": 0.0001 })),
        Just(json!({ "type": ["boolean", "null"] })),
        Just(json!({ "enum": ["x", 1, null] })),
        Just(json!({ "const": "x" })),
        Just(json!({ "$ref": "#/$defs/tree" })),
        Just(json!({ "$ref": "#/$defs/open_part", "required": ["a"] })),
    ]
    .boxed()
}

/// Schemas for tests of a value: no marks, types not needed.
fn test_schema() -> BoxedStrategy<Value> {
    let names = prop::sample::select(vec!["a", "b", "c"]);
    let inner = json!({ "type": "object", "properties": { "a": { "type": "object", "properties": { "b": { "type": "string" } } } } });
    prop_oneof![
        names.clone().prop_map(|name| json!({ "required": [name] })),
        names.clone().prop_map(|name| json!({ "properties": { name: { "type": "object", "properties": { "a": { "type": "string" } } } } })),
        names.prop_map(move |name| json!({ "properties": { name: inner } })),
        Just(json!({ "maxProperties": 1 })),
    ]
    .boxed()
}

fn without_marks(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => map
            .iter()
            .filter(|(name, _)| !name.starts_with("x-"))
            .map(|(name, value)| (name.clone(), without_marks(value)))
            .collect(),
        Value::Array(list) => list.iter().map(without_marks).collect(),
        other => other.clone(),
    }
}

/// Schemas of objects that never open anything.
fn object_schema() -> BoxedStrategy<Value> {
    let leaf = prop::collection::btree_map(prop::sample::select(vec!["a", "b", "c"]), scalar_schema(), 0..3)
        .prop_map(|members| json!({ "type": "object", "properties": members }));
    leaf.prop_recursive(4, 24, 3, |inner| {
        let names = prop::sample::select(vec!["a", "b", "c"]);
        let value = prop_oneof![
            3 => scalar_schema(),
            3 => inner.clone(),
            1 => inner.clone().prop_map(|items| json!({ "type": "array", "items": items, "maxItems": 4 })),
        ];
        let plain = prop::collection::btree_map(names.clone(), value, 1..4)
            .prop_map(|members| json!({ "type": "object", "properties": members }));
        let pair = || prop::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            4 => plain.clone(),
            1 => pair().prop_map(|parts| json!({ "type": "object", "allOf": parts })),
            1 => pair().prop_map(|parts| json!({ "type": "object", "anyOf": parts })),
            1 => pair().prop_map(|parts| json!({ "type": "object", "oneOf": parts })),
            1 => (plain.clone(), test_schema(), inner.clone())
                .prop_map(|(mut base, test, then)| { base["if"] = test; base["then"] = then; base }),
            1 => (plain.clone(), test_schema(), inner.clone())
                .prop_map(|(mut base, test, other)| { base["if"] = test; base["else"] = other; base }),
            1 => (plain.clone(), inner.clone())
                .prop_map(|(mut base, not)| { base["not"] = without_marks(&not); base }),
            1 => (plain.clone(), names, inner.clone())
                .prop_map(|(mut base, name, part)| { base["dependentSchemas"] = json!({ name: part }); base }),
            1 => (plain, inner).prop_map(|(mut base, part)| { base["patternProperties"] = json!({ "^p": part }); base }),
        ]
    })
    .boxed()
}

fn content() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(json!("x")),
        Just(json!("y")),
        Just(json!("long text")),
        Just(json!("tab\t")),
        Just(json!(1)),
        Just(json!(0.3)),
        Just(json!(-1)),
        Just(json!(0.00001)),
        Just(json!(null)),
        Just(json!(true)),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let names = prop_oneof![12 => prop::sample::select(vec!["a", "b", "c", "p1"]), 1 => Just(STRANGER)];
        prop_oneof![
            5 => prop::collection::btree_map(names, inner.clone(), 0..4).prop_map(|members| json!(members)),
            1 => prop::collection::vec(inner, 0..3).prop_map(Value::Array),
        ]
    })
    .boxed()
}

fn document(schema: &Value) -> Value {
    json!({
        "context": "urn:contexts:t:v1.0",
        "concepts": { "c": schema },
        "codes": { "letters": ["x", "y", "z"] },
        "$defs": {
            "tree": { "type": "object", "properties": { "a": { "type": "string" }, "b": { "$ref": "#/$defs/tree" } } },
            "open_part": { "type": "object", "properties": { "a": { "type": "string" } } },
        },
    })
}

fn holds_stranger(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(name, value)| name == STRANGER || holds_stranger(value)),
        Value::Array(list) => list.iter().any(holds_stranger),
        _ => false,
    }
}

/// What plain JSON Schema, by the same crate on its own tree, says of the schema as it is written.
fn plainly_accepts(document: &Value, schema: &Value, value: &Value) -> bool {
    let mut whole = schema.clone();
    whole["$defs"] = document["$defs"].clone();
    let options =
        jsonschema::options().with_draft(jsonschema::Draft::Draft202012).should_validate_formats(true);
    options.build(&whole).unwrap().is_valid(value)
}

/// Whether our shape takes the value; never panics.
fn accepts(shape: &semgate_contexts::Shape, value: &Value) -> bool {
    let text = value.to_string();
    let read = json::read(text.as_bytes(), &Limits::default()).unwrap();
    let Some(object) = read.as_object() else { return false };
    shape.has_free_text(object);
    shape.conform(object, None).is_ok()
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn closing_only_narrows_and_lets_no_stranger_in(
        schema in object_schema(),
        contents in prop::collection::vec(content(), 24),
    ) {
        let document = document(&schema);
        let context = Context::check(document.to_string().as_bytes(), &Prefix::default(), &DocumentLimits::default());
        let Ok(context) = context else { return Ok(()) };
        let shape = context.term("c").unwrap().shapes().next().unwrap();
        for value in contents.iter().filter(|value| value.is_object()) {
            if accepts(shape, value) {
                prop_assert!(plainly_accepts(&document, &schema, value), "{schema} takes {value}");
                prop_assert!(!holds_stranger(value), "{schema} takes {value}");
            }
        }
    }

    #[test]
    fn shipped_shapes_take_no_more_than_plain_json_schema_does(value in content(), pick in 0_usize..6) {
        let (_, bytes) = library::all()[pick];
        let document: Value = serde_json::from_slice(bytes).unwrap();
        let context = Context::check(bytes, &Prefix::default(), &DocumentLimits::default()).unwrap();
        for shape in context.shapes() {
            prop_assert!(!accepts(shape, &value) || plainly_accepts(&document, shape.schema(), &value));
        }
    }

    #[test]
    fn fuzz_documents_of_random_bytes_and_mutations(
        pick in 0_usize..6,
        noise in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut bytes = library::all()[pick].1.to_vec();
        for (at, byte) in noise {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let checked = Context::check(&bytes, &Prefix::default(), &DocumentLimits::default());
        if let Ok(context) = checked {
            prop_assert!(Context::from_canonical(context.bytes(), &Prefix::default(), &DocumentLimits::default(), &|_| None).is_ok());
        }
    }
}

#[test]
fn the_generator_makes_schemas_that_compile_and_contents_that_fit() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut compiled, mut accepted) = (0, 0);
    for _ in 0..200 {
        let schema = object_schema().new_tree(&mut runner).unwrap().current();
        let document = document(&schema);
        let checked =
            Context::check(document.to_string().as_bytes(), &Prefix::default(), &DocumentLimits::default());
        let Ok(context) = checked else { continue };
        compiled += 1;
        for _ in 0..20 {
            let value = content().new_tree(&mut runner).unwrap().current();
            accepted += usize::from(accepts(context.term("c").unwrap().shapes().next().unwrap(), &value));
        }
    }
    assert!(compiled > 120, "{compiled} of 200 compile");
    assert!(accepted > 60, "{accepted} contents fit");
}
