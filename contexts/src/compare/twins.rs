//! The rule `case`: in an open object no member may differ from a declared one only in case.

use super::formula::{Atom, FALSE, Id, Scope, TRUE};
use super::read::{Emitted, Pair, Reader};
use crate::case;
use crate::term::FieldType;
use serde_json::Value;

/// That an instance has no such member, at any depth, and that it has one; nothing where no object of the side is open.
pub(super) fn twins(reader: &mut Reader<'_>, side: &Emitted, root: &Value, fields: &FieldType) -> Pair {
    let schemas = || side.definitions.values().chain([root]);
    let mut names = Vec::new();
    if schemas().any(is_open) || has_twins(schemas(), &mut names) {
        of_type(reader, fields)
    } else {
        (TRUE, FALSE)
    }
}

fn of_type(reader: &mut Reader<'_>, fields: &FieldType) -> Pair {
    match fields.present() {
        FieldType::Array(items) => {
            let (none, some) = of_type(reader, items);
            if none == TRUE {
                return (TRUE, FALSE);
            }
            reader.arena.atoms(Atom::Items(0, none), Atom::SomeItem(0, some))
        }
        FieldType::Record(fields) if !fields.is_empty() => {
            let folded: Vec<String> = fields.keys().map(|name| fold(name)).collect();
            let within = reader.own_pattern(&format!("^(?:{})$", folded.join("|")));
            let names = fields.keys().cloned().collect();
            let scope = Scope { within: Some(within), names, patterns: std::collections::BTreeSet::new() };
            let mut parts =
                vec![reader.arena.atoms(Atom::Every(scope.clone(), FALSE), Atom::SomeMember(scope, TRUE))];
            for (name, field) in fields {
                let (none, some) = of_type(reader, &field.kind);
                if none != TRUE {
                    parts.push(reader.member(name, none, some));
                }
            }
            let none: Vec<Id> = parts.iter().map(|part| part.0).collect();
            let some: Vec<Id> = parts.iter().map(|part| part.1).collect();
            let (none, some) = (reader.arena.and(none), reader.arena.or(some));
            reader.arena.pair(none, some)
        }
        _ => (TRUE, FALSE),
    }
}

/// A pattern for the name in any case.
fn fold(name: &str) -> String {
    let mut pattern = String::new();
    for c in name.chars() {
        match case::variants(c) {
            [] => pattern.push_str(&regex_syntax::escape(&c.to_string())),
            together => {
                pattern.push('[');
                pattern.extend(together);
                pattern.push(']');
            }
        }
    }
    pattern
}

fn is_open(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            map.contains_key("patternProperties")
                || ["additionalProperties", "unevaluatedProperties"]
                    .iter()
                    .any(|keyword| map.get(*keyword).is_some_and(|schema| schema != &Value::Bool(false)))
                || map.values().any(is_open)
        }
        Value::Array(list) => list.iter().any(is_open),
        _ => false,
    }
}

/// Whether two names of members differ only in case.
fn has_twins<'v>(schemas: impl Iterator<Item = &'v Value>, names: &mut Vec<&'v str>) -> bool {
    let mut open: Vec<&Value> = schemas.collect();
    while let Some(schema) = open.pop() {
        match schema {
            Value::Object(map) => {
                if let Some(Value::Object(properties)) = map.get("properties") {
                    names.extend(properties.keys().map(String::as_str));
                }
                open.extend(map.values());
            }
            Value::Array(list) => open.extend(list),
            _ => {}
        }
    }
    names.sort_unstable();
    names.dedup();
    let mut folded: Vec<String> = names.iter().map(|name| name.chars().map(case::fold).collect()).collect();
    folded.sort_unstable();
    folded.windows(2).any(|pair| pair.first() == pair.last())
}
