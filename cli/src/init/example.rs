//! An instance of a concept, made from its schema, for the first message and the first test case.

use serde_json::{Map, Value, json};

/// The deepest nesting that is filled in.
const MAX_DEPTH: usize = 16;

/// Keywords that an instance made here keeps. Of others nothing is known.
const KEPT: [&str; 24] = [
    "$ref",
    "additionalProperties",
    "const",
    "default",
    "deprecated",
    "description",
    "enum",
    "examples",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "multipleOf",
    "properties",
    "required",
    "title",
    "type",
    "x-code-list",
    "x-free-text",
    "x-performatives",
];

/// An instance with every required member, or `None` where the schema asks for more than kinds, bounds and lists.
pub fn instance(document: &Value, schema: &Value) -> Option<Value> {
    of(document, schema, 0)
}

fn of(document: &Value, schema: &Value, depth: usize) -> Option<Value> {
    let kept = |key: &String| KEPT.contains(&key.as_str());
    if depth > MAX_DEPTH || !schema.as_object()?.keys().all(kept) {
        return None;
    }
    let member = |name: &str| schema.get(name);
    if let Some(reference) = member("$ref").and_then(Value::as_str) {
        return of(document, document.pointer(reference.strip_prefix('#')?)?, depth + 1);
    }
    if let Some(value) =
        member("const").or_else(|| member("enum")?.get(0)).or_else(|| member("examples")?.get(0))
    {
        return Some(value.clone());
    }
    if let Some(list) = member("x-code-list").and_then(Value::as_str) {
        return document.get("codes")?.get(list)?.get(0).cloned();
    }
    match member("type")?.as_str()? {
        "object" => {
            let names = member("required").and_then(Value::as_array).cloned().unwrap_or_default();
            let members = names.iter().map(|name| {
                let name = name.as_str()?;
                Some((name.to_owned(), of(document, schema.get("properties")?.get(name)?, depth + 1)?))
            });
            members.collect::<Option<Map<_, _>>>().map(Value::Object)
        }
        "array" => {
            let least = member("minItems").and_then(Value::as_u64).unwrap_or_default();
            let item = || of(document, member("items")?, depth + 1);
            (0..least.min(MAX_DEPTH as u64)).map(|_| item()).collect::<Option<Vec<_>>>().map(Value::Array)
        }
        "string" => text(schema),
        "integer" | "number" => {
            Some(member("minimum").or_else(|| member("maximum")).cloned().unwrap_or(json!(1)))
        }
        "boolean" => Some(json!(true)),
        "null" => Some(Value::Null),
        _ => None,
    }
}

fn text(schema: &Value) -> Option<Value> {
    let text = match schema.get("format").and_then(Value::as_str) {
        None => {
            let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(1).max(1);
            "x".repeat(usize::try_from(least.min(64)).ok()?)
        }
        Some("date") => "2026-01-31".to_owned(),
        Some("time") => "12:00:00Z".to_owned(),
        Some("date-time") => "2026-01-31T12:00:00Z".to_owned(),
        Some("email") => "a@example.org".to_owned(),
        Some("uuid") => "00000000-0000-4000-8000-000000000000".to_owned(),
        Some("uri") => "https://example.org/".to_owned(),
        Some(_) => return None,
    };
    Some(text.into())
}

#[cfg(test)]
mod tests;
