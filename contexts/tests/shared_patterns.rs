//! Patterns of definitions that many terms share are compiled for each of them: a small document must not take much memory.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use semgate_contexts::{Context, DocumentFault, DocumentLimits, Prefix, SchemaFault};
use serde_json::{Map, Value, json};

/// The most memory that this process ever had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn patterns_that_many_terms_share_are_bounded_as_often_as_they_are_compiled() {
    let patterned =
        |n: usize| json!({"type": "string", "pattern": format!("^([a-z]{{10}}[0-9]{{9}}x{n}){{20}}$")});
    let members: Map<String, Value> = (0..64).map(|n| (format!("m{n}"), patterned(n))).collect();
    let term = json!({"type": "object", "properties": {"m": {"$ref": "#/$defs/d"}}});
    let concepts: Map<String, Value> = (0..256).map(|n| (format!("c{n}"), term.clone())).collect();
    let defs = json!({"d": {"type": "object", "properties": members}});
    let document = json!({"context": "urn:contexts:t:v1.0", "$defs": defs, "concepts": concepts}).to_string();
    let before = peak();
    let checked = Context::check(document.as_bytes(), &Prefix::default(), &DocumentLimits::default());
    let took = peak() - before;
    assert!(took < 160 * 1024, "{took} KiB for a document of {} bytes", document.len());
    let Err(DocumentFault::Schema { fault: SchemaFault::Limit { what, .. }, .. }) = checked else {
        unreachable!("a document with 16,384 patterns to be compiled")
    };
    assert_eq!(what, "compiled patterns");
}
