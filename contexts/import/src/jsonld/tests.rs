use super::*;
use crate::draft::Naming;
use crate::rdf::{self, Format};
use semgate_contexts::{DocumentLimits, Prefix, library};

fn context(document: &Value) -> Context {
    Context::check(document.to_string().as_bytes(), &Prefix::default(), &DocumentLimits::default()).unwrap()
}

fn again(export: &Export, line: &str, version: &str) -> Value {
    let bytes = export.document.to_string();
    let naming = Naming { line, version, title: "" };
    rdf::draft(bytes.as_bytes(), Format::JsonLd, &[], &naming).unwrap().document
}

/// A schema without what an export drops by its own words, and what an import writes another way.
fn bare(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.get("additionalProperties") == Some(&Value::Bool(false)) {
                map.remove("additionalProperties");
            }
            for word in ["title", "$comment", "default", "examples"] {
                map.remove(word);
            }
            if let Some(Value::Array(names)) = map.get_mut("required") {
                names.sort_by_key(Value::to_string);
            }
            map.values_mut().for_each(bare);
        }
        Value::Array(items) => items.iter_mut().for_each(bare),
        _ => {}
    }
}

fn example() -> Value {
    json!({
        "context": "urn:contexts:shop:v1.0", "title": "Shop",
        "concepts": {
            "order": {"type": "object", "description": "One order.", "required": ["sku", "lines"], "x-performatives": ["INFORM"], "properties": {
                "sku": {"type": "string", "pattern": "^[A-Z]{3}$", "maxLength": 3},
                "note": {"type": "string", "x-free-text": true, "maxLength": 200},
                "made": {"type": "string", "format": "date-time", "maxLength": 64},
                "price": {"type": "number", "minimum": 0, "multipleOf": 0.01},
                "count": {"type": "integer", "minimum": 1, "maximum": 9},
                "kind": {"type": "string", "enum": ["a", "b"]},
                "port": {"type": "string", "x-code-list": "ports"},
                "lines": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}, "minItems": 1, "maxItems": 5},
                "parent": {"$ref": "#/concepts/order"}
            }}
        },
        "tasks": {"ship": {"performatives": ["INFORM", "REQUEST"], "x-require-approval": "Ship it?",
            "parameters": {"type": "object", "required": ["order"], "properties": {"order": {"$ref": "#/concepts/order"}}},
            "results": {"type": "object", "properties": {"done": {"type": "boolean"}}}}},
        "codes": {"ports": ["RTM", "HAM"]},
        "relations": [{"subject": "order", "relation": "part_of", "object": "ship"},
                      {"subject": "order", "relation": "same_as", "object": "https://schema.org/Order"}]
    })
}

#[test]
fn an_export_comes_back_as_the_same_terms_codes_and_relations() {
    let (original, mut expected) = (context(&example()), example());
    let export = export(&original);
    let mut back = again(&export, "shop", "v1.0");
    bare(&mut expected);
    bare(&mut back);
    for member in ["concepts", "tasks", "codes", "relations"] {
        assert_eq!(back[member], expected[member], "{member}");
    }
}

#[test]
fn required_members_are_relations_of_the_graph() {
    let graph = export(&context(&example())).document;
    let nodes = graph["@graph"].as_array().unwrap();
    let ship = nodes.iter().find(|node| node["@id"] == "urn:contexts:shop:v1.0#ship").unwrap();
    assert_eq!(ship["dcterms:requires"], json!(["urn:contexts:shop:v1.0#ship/order"]));
    assert_eq!(ship["sh:property"][0]["sh:minCount"], 1);
}

#[test]
fn every_shipped_context_is_json_ld_and_names_what_it_does_not_say() {
    for (_, document) in library::all() {
        let value: Value = serde_json::from_slice(document).unwrap();
        let context = context(&value);
        let export = export(&context);
        let bytes = export.document.to_string();
        let quads = oxjsonld::JsonLdParser::new().for_slice(&bytes).collect::<Result<Vec<_>, _>>().unwrap();
        assert!(quads.len() > context.terms().count(), "{}", context.urn());
        let text = value.to_string();
        for keyword in ["patternProperties", "oneOf", "uniqueItems", "propertyNames"] {
            if text.contains(&format!("\"{keyword}\"")) {
                let named = export
                    .remarks
                    .iter()
                    .any(|one| one.what.contains(keyword) || one.what.contains("several types"));
                assert!(named, "{}: {keyword}: {:#?}", context.urn(), export.remarks);
            }
        }
    }
}
