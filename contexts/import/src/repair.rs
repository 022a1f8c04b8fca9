//! The part of a document that `false`, which accepts nothing, may replace, and the parts that schemas reach.

use std::collections::BTreeSet;

use semgate_contexts::DocumentFault;
use serde_json::{Map, Value};

/// Names that schemas refer to, through definitions too.
#[derive(Debug, Default)]
pub(crate) struct Reached {
    pub definitions: BTreeSet<String>,
    pub codes: BTreeSet<String>,
}

/// All that these schemas refer to.
pub(crate) fn reached<'v>(
    roots: impl Iterator<Item = &'v Value>,
    definitions: &'v Map<String, Value>,
) -> Reached {
    let mut all = Reached::default();
    let mut waiting: Vec<&Value> = roots.collect();
    while let Some(value) = waiting.pop() {
        match value {
            Value::Object(map) => {
                if let Some(name) =
                    map.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix("#/$defs/"))
                    && all.definitions.insert(name.to_owned())
                {
                    waiting.extend(definitions.get(name));
                }
                if let Some(list) = map.get("x-code-list").and_then(Value::as_str) {
                    all.codes.insert(list.to_owned());
                }
                waiting.extend(map.values());
            }
            Value::Array(items) => waiting.extend(items),
            _ => {}
        }
    }
    all
}

/// The schemas inside keywords that turn.
fn turned<'v>(value: &'v Value, into: &mut Vec<&'v Value>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                if TURNING.contains(&key.as_str()) {
                    into.push(inner);
                } else {
                    turned(inner, into);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| turned(item, into)),
        _ => {}
    }
}

/// Keywords that may accept more when a schema inside accepts less; `contains` does so beside `maxContains`.
const TURNING: [&str; 4] = ["not", "if", "oneOf", "contains"];

/// The place to replace by `false`: the faulty schema, or the one around it if narrowing the inner one would accept more. `None` if that is
/// the whole side of the task.
pub(crate) fn replaceable(fault: &DocumentFault, document: &Value) -> Option<String> {
    let DocumentFault::Schema { path, .. } = fault else { return None };
    let pieces: Vec<&str> = path.split('/').collect();
    let within = match pieces.get(1..3)? {
        ["tasks", _] => 4,
        ["$defs" | "concepts", _] => 3,
        _ => return None,
    };
    if pieces.get(1) == Some(&"$defs") && turns(document, pieces.get(2)?) {
        return None;
    }
    let (mut nearest, mut named) = (within, false);
    for (at, piece) in pieces.iter().enumerate().skip(within) {
        if !named && TURNING.contains(piece) {
            break;
        }
        // names stand below these, and no keywords
        named = !named && matches!(*piece, "properties" | "patternProperties" | "dependentSchemas");
        nearest = at.saturating_add(1);
    }
    let path = pieces.get(..nearest)?.join("/");
    let can_stand = |schema: &Value| schema.is_object() || schema.is_boolean() || schema.is_null();
    let is_schema = document.pointer(&path).is_some_and(can_stand);
    let is_term = pieces.get(1) != Some(&"$defs");
    (is_schema && !(is_term && nearest <= within)).then_some(path)
}

/// True if the draft may accept more when this definition accepts less.
fn turns(document: &Value, definition: &str) -> bool {
    let mut roots = Vec::new();
    turned(document, &mut roots);
    let none = Map::new();
    let definitions = document.get("$defs").and_then(Value::as_object).unwrap_or(&none);
    reached(roots.into_iter(), definitions).definitions.contains(definition)
}
