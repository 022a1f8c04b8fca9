//! What will hurt later: parts of a document that are allowed, and that a next minor version or a policy will trip over.

use serde_json::{Map, Value};

use crate::document::Context;
use crate::schema::{each_schema, pointer};
use crate::term::TermKind;

/// One warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// JSON Pointer into the document.
    pub pointer: String,
    /// A stable name: see `docs/spec/compatibility.md`.
    pub rule: &'static str,
    /// What will hurt, and what to write instead.
    pub what: &'static str,
}

/// Strings that are bounded by what else is said of them.
const BOUNDING: [&str; 6] = ["maxLength", "enum", "const", "x-code-list", "$ref", "pattern"];

/// Formats whose texts are short.
const SHORT: [&str; 6] = ["date", "uuid", "ipv4", "ipv6", "hostname", "time"];

/// Everything in a document that will hurt later, in its order.
#[must_use]
pub fn lint(context: &Context) -> Vec<Warning> {
    let mut found = Vec::new();
    let Ok(mut document) = serde_json::from_slice::<Value>(context.bytes()) else { return found };
    for term in context.terms() {
        match term.kind() {
            TermKind::Concept => {
                let path = ["concepts", term.name()].map(str::to_owned);
                schema(document.pointer_mut(&pointer(&path)), &path, false, &mut found);
            }
            TermKind::Task => {
                for (part, answers) in [("parameters", false), ("results", true)] {
                    let path = ["tasks", term.name(), part].map(str::to_owned);
                    schema(document.pointer_mut(&pointer(&path)), &path, answers, &mut found);
                }
            }
        }
    }
    let names: Vec<String> = document
        .get("$defs")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, _)| name.clone())
        .collect();
    for name in names {
        let path = ["$defs".to_owned(), name];
        schema(document.pointer_mut(&pointer(&path)), &path, false, &mut found);
    }
    found
}

fn schema(schema: Option<&mut Value>, path: &[String], answers: bool, found: &mut Vec<Warning>) {
    let Some(schema) = schema else { return };
    let mut path = path.to_vec();
    let walked: Result<(), std::convert::Infallible> = each_schema(schema, &mut path, &mut |map, path| {
        if !path.iter().any(|segment| matches!(segment.as_str(), "if" | "not" | "contains" | "propertyNames"))
        {
            one(map, path, answers, found);
        }
        Ok(())
    });
    let Ok(()) = walked;
}

fn one(map: &Map<String, Value>, path: &[String], answers: bool, found: &mut Vec<Warning>) {
    let has = |keyword: &str| map.contains_key(keyword);
    let is = |kind: &str| match map.get("type") {
        Some(Value::String(one)) => one == kind,
        Some(Value::Array(list)) => list.iter().any(|one| one == kind),
        _ => false,
    };
    let mut warn = |rule, what| found.push(Warning { pointer: pointer(path), rule, what });
    let short = map.get("format").and_then(Value::as_str).is_some_and(|format| SHORT.contains(&format));
    if is("string") && !short && !BOUNDING.iter().any(|keyword| has(keyword)) {
        warn(
            "unbounded-string",
            "a string without `maxLength`: a bound can never be set in a later minor version",
        );
    }
    // without `items: false` more may follow what `prefixItems` names
    let closed = has("prefixItems") && map.get("items") == Some(&Value::Bool(false));
    if is("array") && !has("maxItems") && !has("const") && !closed {
        warn(
            "unbounded-array",
            "an array without `maxItems`: a bound can never be set in a later minor version",
        );
    }
    if is("number") && !has("multipleOf") && !has("enum") && !has("const") {
        warn(
            "number-unseen",
            "a number without `multipleOf`: policies cannot see it; a multiple of 0.0001 they can",
        );
    }
    if answers && map.get("enum").and_then(Value::as_array).is_some_and(|list| list.len() > 1) {
        warn(
            "closed-answer",
            "a list in what is answered: a later minor version can add no value to it, since old callers read it",
        );
    }
    if answers && has("required") {
        warn("required-answer", "required in what is answered: a later minor version can never leave it out");
    }
    let opened = ["additionalProperties", "unevaluatedProperties"];
    if opened.iter().any(|keyword| map.get(*keyword).is_some_and(|schema| schema != &Value::Bool(false))) {
        warn(
            "open-object",
            "an open object: a later minor version can name no member without breaking what was sent under that name",
        );
    }
    if has("oneOf") {
        warn("one-of", "`oneOf`: a later branch that overlaps breaks what fits both; `anyOf` grows safely");
    }
    if map.get("x-free-text") == Some(&Value::Bool(true)) && answers {
        warn(
            "free-text-answer",
            "free text in what is answered: its `maxLength` can never be raised in a later minor version",
        );
    }
}

#[cfg(test)]
mod tests;
