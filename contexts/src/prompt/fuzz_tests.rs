//! Prompts of random documents.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::reader_tests::Read;
use super::tests::{is_of, published};
use super::*;

fn config() -> ProptestConfig {
    let cases = std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: cases.unwrap_or(64), ..ProptestConfig::default() }
}

/// Names of members: mostly hostile.
fn member() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,6}", "\\PC{1,12}", "[\"\\\\\n\r\t#:,/\\[\\] `(){}]{1,12}", Just("a".repeat(300))]
}

fn leaf() -> impl Strategy<Value = Value> {
    let text = prop_oneof!["\\PC{0,30}", "[\"\\\\\n#<>\u{202e}\u{0}]{0,20}"];
    (text, 0..6u8).prop_map(|(text, kind)| match kind {
        0 => json!({"type": "string", "description": text, "maxLength": 9}),
        1 => json!({"type": "integer", "title": text, "minimum": -3}),
        2 => json!({"type": ["string", "null"], "x-code-list": "l", "description": text}),
        3 => json!({"type": "string", "enum": [text, "other"]}),
        4 => json!({"type": "array", "maxItems": 3, "items": {"$ref": "#/$defs/d"}}),
        _ => json!({"type": "boolean"}),
    })
}

fn object() -> impl Strategy<Value = Value> {
    let members = proptest::collection::btree_map(member(), leaf(), 1..6);
    members.prop_map(|members| {
        let required: Vec<&String> = members.keys().take(2).collect();
        json!({"type": "object", "required": required, "properties": members})
    })
}

fn document() -> impl Strategy<Value = Value> {
    let codes = proptest::collection::btree_set("\\PC{1,20}|[A-Z]{3}", 1..60);
    let concepts = proptest::collection::btree_map("[a-zA-Z][a-zA-Z0-9_]{0,9}", object(), 1..6);
    (concepts, object(), codes, "\\PC{0,80}").prop_map(|(concepts, definition, codes, text)| {
        let concepts: Map<String, Value> = concepts.into_iter().collect();
        json!({
            "context": "urn:contexts:t:v1.0", "title": text, "concepts": concepts,
            "codes": {"l": codes}, "$defs": {"d": definition},
        })
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn fuzz_prompts_of_random_documents_hold_only_what_is_in_them(document in document(), tokens in 100..3_000u32) {
        let bytes = crate::canonical::jcs_of_document(&document).unwrap();
        let limits = crate::document::DocumentLimits::default();
        if Context::from_canonical(&bytes, &crate::urn::Prefix::default(), &limits, &|_| None).is_err() {
            return Ok(());
        }
        let context = published(&document);
        if let Ok(prompt) = render(&context, PromptStatus::Valid, Budget::of(tokens).unwrap()) {
            prop_assert!(Budget::count(&prompt) <= tokens as usize);
            is_of(&Read::of(&prompt), &context);
        }
    }
}
