//! The work of patterns: what a document may cause at worst, and what a message may take.

use serde_json::{Value, json};

use super::tests::{compile_schema, member};
use super::*;
use crate::document::{Context, DocumentLimits};
use crate::term::InstanceFault;
use crate::urn::Prefix;
use crate::{DocumentFault, json};

/// A pattern without a table, of some 300 states.
const HEAVY: &str = "(?:[a-y]?){110}\\b[0-9]{2}";

fn fault(schema: Value) -> SchemaFault {
    compile_schema(schema).unwrap_err().1
}

fn needs_length(fault: &SchemaFault) -> bool {
    matches!(fault, SchemaFault::KeywordValue { keyword, must } if keyword == "pattern" && must.contains("\"maxLength\": 262144"))
}

fn document(concepts: &Value, defs: &Value) -> Vec<u8> {
    json!({ "context": "urn:contexts:t:v1.0", "concepts": concepts, "$defs": defs }).to_string().into_bytes()
}

fn within(context: &Context, content: &Value) -> (Result<(), InstanceFault>, u64) {
    let (text, budget) = (content.to_string(), WorkBudget::of_message());
    let read = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
    let shape = context.term("c").unwrap().shapes().next().unwrap();
    (shape.conform_within(read.as_object().unwrap(), None, &budget), budget.spent())
}

#[test]
fn a_pattern_needs_a_length_beside_it_wherever_it_stands() {
    let bare = json!({ "type": "string", "pattern": "^a$" });
    for schema in [
        bare.clone(),
        json!({ "type": "string", "maxLength": 9, "allOf": [bare] }),
        json!({ "type": "string", "maxLength": 9, "not": { "pattern": "^a$" } }),
        json!({ "type": "object", "additionalProperties": true, "propertyNames": { "pattern": "^a$" } }),
        json!({ "type": "array", "items": bare, "contains": bare }),
    ] {
        let why = fault(member(schema.clone()));
        assert!(needs_length(&why), "{schema}: {why}");
    }
    let unused = document(&json!({ "c": { "type": "object" } }), &json!({ "d": { "pattern": "^a$" } }));
    let refused = Context::check(&unused, &Prefix::default(), &DocumentLimits::default()).unwrap_err();
    assert!(
        matches!(&refused, DocumentFault::Schema { path, fault } if path == "/$defs/d" && needs_length(fault)),
        "{refused}"
    );
    compile_schema(member(json!({ "type": "string", "pattern": "^a$", "maxLength": 262_144 }))).unwrap();
}

/// A minor version cannot bound what the one before it did not, so what is published goes on counting.
#[test]
fn a_published_document_without_a_length_is_read_within_the_bounds() {
    let published = |pattern: &str| {
        let schema = member(json!({ "type": "string", "pattern": pattern }));
        let bytes =
            json!({ "concepts": { "c": schema }, "context": "urn:contexts:t:v1.0", "title": "two\nlines" });
        let bytes = crate::canonical::jcs(&bytes).unwrap();
        Context::from_canonical(&bytes, &Prefix::default(), &DocumentLimits::default(), &|_| None)
    };
    let context = published("^[a-z]+$").unwrap();
    assert_eq!(within(&context, &json!({ "m": "a".repeat(262_000) })).0, Ok(()));
    let refused = published(HEAVY).unwrap_err();
    assert!(
        matches!(refused, DocumentFault::Schema { fault: SchemaFault::Steps { steps, .. }, .. } if steps > 50_000_000),
        "{refused}"
    );
}

#[test]
fn attack_a_pattern_of_many_states_beside_a_long_string_is_refused() {
    let heavy = |most: u64| json!({ "type": "string", "pattern": HEAVY, "maxLength": most });
    let why = fault(member(heavy(104_000)));
    assert!(matches!(why, SchemaFault::Steps { limit, .. } if limit == WorkBudget::MESSAGE / 4), "{why}");
    // several on one value count together, through references too
    compile_schema(member(heavy(90))).unwrap();
    for schema in [
        json!({ "type": "string", "allOf": [heavy(90), heavy(90), heavy(90)] }),
        json!({ "type": "string", "anyOf": [heavy(90), { "not": { "anyOf": [heavy(90), heavy(90)] } }] }),
    ] {
        assert!(matches!(fault(member(schema.clone())), SchemaFault::Steps { .. }), "{schema}");
    }
}

#[test]
fn attack_patterns_of_names_are_counted_with_each_member() {
    let named =
        |pattern: &str| json!({ "type": "object", "patternProperties": { pattern: { "type": "integer" } } });
    compile_schema(member(named("^[a-z]{1,64}$"))).unwrap();
    let why = fault(member(named(HEAVY)));
    assert!(matches!(why, SchemaFault::Steps { steps, .. } if steps > 750_000), "{why}");
}

#[test]
fn attack_a_message_of_many_heavy_values_ends_at_its_budget() {
    let items = json!({ "type": "string", "pattern": HEAVY, "maxLength": 90 });
    let schema = json!({ "type": "object", "properties": { "m": { "type": "array", "items": items } } });
    let bytes = document(&json!({ "c": schema }), &json!({}));
    let context = Context::check(&bytes, &Prefix::default(), &DocumentLimits::default()).unwrap();
    let fits = format!("é{}12", "a".repeat(80)).replace("a12", "a 12");
    let (judged, spent) = within(&context, &json!({ "m": [fits] }));
    assert!(judged == Ok(()) && spent > 50_000, "{judged:?} {spent}");
    let (judged, spent) = within(&context, &json!({ "m": vec![fits; 1_000] }));
    assert_eq!((judged, spent), (Err(InstanceFault::Spent), WorkBudget::MESSAGE));
}

/// Each of these took more than five milliseconds with no pattern in it.
#[test]
fn attack_wide_schemas_end_at_the_budget_too() {
    let branches: Vec<Value> = (0..200)
        .map(|n| json!({ "type": "object", "properties": { "a": { "const": n } }, "required": ["a"], "additionalProperties": true }))
        .collect();
    let list = |items: Value| json!({ "type": "object", "properties": { "m": { "type": "array", "items": items } } });
    let unique = json!({ "type": "array", "uniqueItems": true, "maxItems": 256, "items": true });
    let mails: Vec<Value> = (0..100).map(|_| json!({ "format": "email" })).collect();
    let pairs: Vec<Value> = (0..256).map(Value::from).collect();
    for (schema, content) in [
        (list(json!({ "anyOf": branches })), json!({ "m": vec![json!({ "a": 199 }); 6_000] })),
        (list(unique), json!({ "m": vec![json!(pairs); 70] })),
        (
            list(json!({ "type": "string", "allOf": mails })),
            json!({ "m": vec!["someone@example.org"; 19_000] }),
        ),
    ] {
        let bytes = document(&json!({ "c": schema }), &json!({}));
        let context = Context::check(&bytes, &Prefix::default(), &DocumentLimits::default()).unwrap();
        assert_eq!(within(&context, &content), (Err(InstanceFault::Spent), WorkBudget::MESSAGE));
    }
}

/// Messages of agents, as large as a message may be.
#[test]
fn the_largest_messages_of_plain_schemas_stay_within_the_budget() {
    let list = |items: Value| json!({ "type": "object", "properties": { "m": { "type": "array", "items": items } } });
    let iban = json!({ "type": "string", "pattern": "^[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}$", "maxLength": 34 });
    let line = json!({ "type": "object", "required": ["sku", "amount"], "properties": {
        "sku": { "type": "string", "maxLength": 20, "pattern": "^[A-Z0-9-]+$" },
        "amount": { "type": "number", "multipleOf": 0.01 }, "day": { "type": "string", "format": "date" },
    } });
    let order = json!({ "sku": "AB-1234", "amount": 12.5, "day": "2024-01-01" });
    let text = json!({ "type": "string", "x-free-text": true, "maxLength": 10_000 });
    let base64 = json!({ "type": "string", "pattern": "^[A-Za-z0-9+/_-]*={0,2}$", "maxLength": 262_144 });
    for (items, content) in [
        (iban, vec![json!("DE89370400440532013000"); 19_000]),
        (line, vec![order; 4_800]),
        (text, vec![json!("é".repeat(5_000)); 100]),
        (base64, vec![json!("A".repeat(260_000)); 4]),
    ] {
        let bytes = document(&json!({ "c": list(items.clone()) }), &json!({}));
        let context = Context::check(&bytes, &Prefix::default(), &DocumentLimits::default()).unwrap();
        let (judged, spent) = within(&context, &json!({ "m": content }));
        assert_eq!(judged, Ok(()), "{items}: {spent}");
    }
}

#[test]
fn attack_words_for_readers_hold_no_characters_that_nobody_sees() {
    for unseen in ["\n", "\t", "\u{202e}", "\u{2066}", "\u{e0041}", "\u{85}"] {
        let word = format!("pay{unseen}ment");
        for keyword in ["title", "description", "$comment"] {
            let why = fault(member(json!({ "type": "string", "maxLength": 3, keyword: word })));
            assert!(matches!(&why, SchemaFault::KeywordValue { keyword: k, .. } if k == keyword), "{why}");
        }
        for part in ["title", "description"] {
            let document = json!({ "context": "urn:contexts:t:v1.0", "concepts": { "c": { "type": "object" } }, part: word });
            let refused = Context::check(
                document.to_string().as_bytes(),
                &Prefix::default(),
                &DocumentLimits::default(),
            )
            .unwrap_err();
            assert!(
                matches!(&refused, DocumentFault::Member { path, what } if path == &format!("/{part}") && what.contains("bidirectional")),
                "{refused}"
            );
        }
    }
    compile_schema(member(json!({ "type": "string", "title": "Zürich, 東京, \u{1f600}" }))).unwrap();
}
