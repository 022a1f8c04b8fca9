//! Tests of `example`.

use semgate_contexts::{Context, DocumentLimits, Prefix, json, library};

use super::*;

#[test]
fn instances_of_shipped_concepts_conform() {
    let mut made = 0;
    for (name, bytes) in library::all() {
        let context = Context::check(bytes, &Prefix::default(), &DocumentLimits::default()).unwrap();
        let document: Value = serde_json::from_slice(context.bytes()).unwrap();
        for shape in context.terms().flat_map(semgate_contexts::Term::shapes) {
            let Some(value) = instance(&document, shape.schema()) else { continue };
            let bytes = value.to_string().into_bytes();
            let read = json::read(&bytes, &json::Limits::default()).unwrap();
            let object = read.as_object().unwrap_or_else(|| panic!("{name}: {value}"));
            shape.conform(object, None).unwrap_or_else(|why| panic!("{name}: {value}: {why}"));
            made += 1;
        }
    }
    assert!(made > 10, "{made}");
}

#[test]
fn a_schema_that_asks_for_more_than_kinds_and_lists_has_none() {
    let schema = serde_json::json!({"type": "string", "pattern": "^[A-Z]{3}$", "maxLength": 3});
    assert_eq!(instance(&Value::Null, &schema), None);
}
