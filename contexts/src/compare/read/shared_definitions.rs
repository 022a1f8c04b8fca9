//! Definitions that both sides share.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Emitted;

/// Names of definitions that are equal on both sides, with every definition and code list that they lead to. Each definition
/// is walked once, and each reference followed once, however long the chains are.
pub(super) fn of(sides: [&Emitted; 2]) -> BTreeSet<&str> {
    let [old, new] = sides;
    if old.codes != new.codes {
        return BTreeSet::new();
    }
    let mut shared: BTreeSet<&str> = old
        .definitions
        .iter()
        .filter(|(name, schema)| new.definitions.get(*name) == Some(schema))
        .map(|(name, _)| name.as_str())
        .collect();
    // the names that refer to each definition, and the definitions that differ
    let mut named_by: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for name in &shared {
        for reference in old.definitions.get(*name).map(references).unwrap_or_default() {
            named_by.entry(reference).or_default().push(name);
        }
    }
    let mut apart: Vec<&str> = named_by.keys().copied().filter(|name| !shared.contains(name)).collect();
    while let Some(name) = apart.pop() {
        for by in named_by.remove(name).unwrap_or_default() {
            if shared.remove(by) {
                apart.push(by);
            }
        }
    }
    shared
}

/// The definitions that a schema names directly.
fn references(schema: &Value) -> Vec<&str> {
    let (mut named, mut open) = (Vec::new(), vec![schema]);
    while let Some(schema) = open.pop() {
        match schema {
            Value::Object(map) => {
                let own = map.get("$ref").and_then(Value::as_str);
                named.extend(own.and_then(|text| text.strip_prefix("#/$defs/")));
                open.extend(map.values());
            }
            Value::Array(list) => open.extend(list),
            _ => {}
        }
    }
    named
}
