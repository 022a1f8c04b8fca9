//! Patterns and definitions that many terms share are compiled once: a document must not take more memory than it counts as.

use crate::memory::{alone, peak};
use semgate_contexts::{Context, DocumentLimits, Prefix};
use serde_json::{Map, Value, json};

/// 64 patterns in one definition that 256 concepts refer to.
fn document(version: u32) -> Vec<u8> {
    let patterned = |n: usize| {
        let pattern = format!("^([a-z]{{10}}[0-9]{{9}}x{n}y{version}){{20}}$");
        json!({"type": "string", "maxLength": 500, "pattern": pattern})
    };
    let members: Map<String, Value> = (0..64).map(|n| (format!("m{n}"), patterned(n))).collect();
    let term = json!({"type": "object", "properties": {"m": {"$ref": "#/$defs/d"}}});
    let concepts: Map<String, Value> = (0..256).map(|n| (format!("c{n}"), term.clone())).collect();
    let defs = json!({"d": {"type": "object", "properties": members}});
    let urn = format!("urn:contexts:t:v{version}.0");
    json!({"context": urn, "$defs": defs, "concepts": concepts}).to_string().into_bytes()
}

#[test]
fn attack_documents_of_shared_patterns_take_no_more_memory_than_they_count_as() {
    if !alone("shared_patterns::attack_documents_of_shared_patterns_take_no_more_memory_than_they_count_as") {
        return;
    }
    let check = |n| Context::check(&document(n), &Prefix::default(), &DocumentLimits::default()).unwrap();
    // what compiling takes for a moment is there once
    drop(check(1));
    let before = peak();
    let kept: Vec<Context> = (2..10).map(check).collect();
    let took = (peak() - before) * 1024;
    let counted: u64 = kept.iter().map(Context::compiled_bytes).sum();
    assert!(took < 2 * counted, "{took} bytes, counted as {counted}");
    assert!(counted / 8 < 16 << 20, "{} bytes each", counted / 8);
    let retired: Vec<Context> = kept.iter().map(Context::retired).collect();
    let kept_bytes: u64 = retired.iter().map(Context::compiled_bytes).sum();
    assert!(
        retired.iter().all(Context::is_retired) && kept_bytes < counted * 2 / 3,
        "{kept_bytes} of {counted}"
    );
}
