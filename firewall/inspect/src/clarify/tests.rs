//! What a context says about parameters.

use super::*;
use semgate_contexts::{DocumentLimits, Prefix};
use serde_json::{Value, json};

fn context(document: &Value) -> Context {
    Context::check(document.to_string().as_bytes(), &Prefix::default(), &DocumentLimits::default()).unwrap()
}

fn shop() -> Context {
    let coded = |list: &str| json!({"type": "string", "x-code-list": list});
    context(&json!({
        "context": "urn:contexts:shop:v1.0",
        "concepts": {
            "order": {"type": "object", "properties": {
                "colour": coded("colours"),
                "size": coded("sizes"),
                "lines": {"type": "array", "maxItems": 9, "items": {"type": "object", "properties": {
                    "finish": {"type": "array", "maxItems": 9, "items": coded("finishes")},
                }}},
            }},
            "shoe": {"type": "object", "properties": {
                "size": coded("shoe_sizes"), "colour": coded("colours"), "finish": {"type": "string", "maxLength": 9},
            }},
        },
        "tasks": {"buy": {
            "parameters": {"type": "object", "properties": {"amount": {"type": "integer"}}},
            "results": {"type": "object", "properties": {"receipt": {"type": "string", "maxLength": 9}}},
        }},
        "codes": {"colours": ["red", "blue"], "sizes": ["S", "M"], "shoe_sizes": ["42", "43"], "finishes": ["matt"]},
    }))
}

#[test]
fn a_parameter_is_a_member_at_any_depth_of_what_asks() {
    let shop = shop();
    let known = |name: &str| Parameter::of(&shop, name).is_some();
    for name in ["colour", "size", "lines", "finish", "amount"] {
        assert!(known(name), "{name}");
    }
    for name in ["receipt", "buy", "order", "Colour", "colours", ""] {
        assert!(!known(name), "{name}");
    }
}

#[test]
fn a_parameter_has_one_list_only_if_every_member_of_its_name_does() {
    let shop = shop();
    let list = |name: &str| Parameter::of(&shop, name).unwrap().list();
    assert_eq!(list("colour"), Some("colours"));
    assert_eq!(list("size"), None, "two lists");
    assert_eq!(list("finish"), None, "one of them takes any text");
    assert_eq!(list("amount"), None);
}
