//! Definitions that both sides share.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Emitted;

/// Names of definitions that are equal on both sides, with everything that they lead to and the code lists that they name.
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
    loop {
        let apart: Vec<&str> = shared
            .iter()
            .copied()
            .filter(|name| {
                let named = old.definitions.get(*name).map(references).unwrap_or_default();
                named.iter().any(|reference| !shared.contains(reference))
            })
            .collect();
        if apart.is_empty() {
            return shared;
        }
        shared.retain(|name| !apart.contains(name));
    }
}

/// The definitions that a schema names directly.
fn references(schema: &Value) -> Vec<&str> {
    match schema {
        Value::Object(map) => {
            let own = map.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix("#/$defs/"));
            own.into_iter().chain(map.values().flat_map(references)).collect()
        }
        Value::Array(list) => list.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}
