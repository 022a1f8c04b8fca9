//! Warnings: parts of a document that are allowed, but that a next minor version or a policy will trip over.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::document::Context;
use crate::schema::{each_schema, pointer};
use crate::term::{NAMING_MEMBERS, Term, TermKind};

/// One warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// JSON Pointer into the document.
    pub pointer: String,
    /// A stable name: see `docs/spec/compatibility.md`.
    pub rule: &'static str,
    /// The consequence, and the form to write instead.
    pub what: &'static str,
}

/// Keywords that bound a string.
const BOUNDING: [&str; 6] = ["maxLength", "enum", "const", "x-code-list", "$ref", "pattern"];

/// Formats whose texts are short.
const SHORT: [&str; 6] = ["date", "uuid", "ipv4", "ipv6", "hostname", "time"];

/// Bounds that reduce what passes.
const BOUNDS: [&str; 11] = [
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minProperties",
    "maxProperties",
];

/// Keywords whose subschema may invert: accepting more there may let less pass, or change nothing.
const TURNED: [&str; 4] = ["if", "not", "contains", "propertyNames"];

/// Keywords that add demands on the same value.
const COMPOSED: [&str; 8] = ["allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "$ref"];

/// The parties that rely on a schema. A schema that both sides of a task refer to has both.
#[derive(Debug, Clone, Copy, Default)]
struct Sides {
    /// Callers that send it: all that passes now must pass later.
    accepts: bool,
    /// Callers that read it: all that passes later must pass now.
    answers: bool,
}

impl Sides {
    const ACCEPTS: Self = Self { accepts: true, answers: false };
    const ANSWERS: Self = Self { accepts: false, answers: true };

    /// Adds these; returns true if any is new.
    fn add(&mut self, more: Self) -> bool {
        let new = (more.accepts && !self.accepts) || (more.answers && !self.answers);
        *self = Self { accepts: self.accepts || more.accepts, answers: self.answers || more.answers };
        new
    }
}

/// Every warning of a document, in its order.
#[must_use]
pub fn lint(context: &Context) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let Ok(mut document) = serde_json::from_slice::<Value>(context.bytes()) else { return warnings };
    let mut roots = Vec::new();
    for term in context.terms() {
        let name = term.name().to_owned();
        match term.kind() {
            TermKind::Concept => roots.push((vec!["concepts".to_owned(), name], Sides::ACCEPTS)),
            TermKind::Task => {
                for (part, sides) in [("parameters", Sides::ACCEPTS), ("results", Sides::ANSWERS)] {
                    roots.push((vec!["tasks".to_owned(), name.clone(), part.to_owned()], sides));
                }
            }
        }
    }
    warnings.extend(context.terms().flat_map(naming));
    plain_vectors(&mut document, &roots);
    let reached = reachable_schemas(&mut document, &roots);
    let defs = document.get("$defs").and_then(Value::as_object).into_iter().flatten();
    // no party relies on an unreferenced definition, until something refers to it
    roots.extend(defs.map(|(name, _)| (vec!["$defs".to_owned(), name.clone()], Sides::default())));
    for (path, own) in roots {
        let mut sides = reached.get(&path).copied().unwrap_or(own);
        if !sides.answers {
            sides.accepts = true;
        }
        schemas(&mut document, &path, &mut |map, path| lint_schema(map, path, sides, &mut warnings));
    }
    warnings
}

/// Takes the array around a vector away: `x-embedding` bounds it, and policies never see its numbers.
fn plain_vectors(document: &mut Value, roots: &[(Vec<String>, Sides)]) {
    let definitions = document.get("$defs").and_then(Value::as_object).into_iter().flatten();
    let definitions: Vec<_> = definitions.map(|(name, _)| vec!["$defs".to_owned(), name.clone()]).collect();
    for path in roots.iter().map(|(path, _)| path).chain(&definitions) {
        let Some(schema) = document.pointer_mut(&pointer(path)) else { continue };
        let walked: Result<(), std::convert::Infallible> =
            each_schema(schema, &mut Vec::new(), &mut |map, _| {
                if map.contains_key("x-embedding") {
                    map.retain(|name, _| name != "type" && name != "items");
                }
                Ok(())
            });
        let Ok(()) = walked;
    }
}

/// Members of a term that native L8 and A2A read as the name of its type.
fn naming(term: &Term) -> impl Iterator<Item = Warning> {
    let section = if term.kind() == TermKind::Concept { "concepts" } else { "tasks" };
    let sides: &[&str] = if term.kind() == TermKind::Concept { &[""] } else { &["parameters", "results"] };
    sides.iter().zip(term.shapes()).filter_map(move |(side, shape)| {
        let member = NAMING_MEMBERS.iter().find(|member| shape.declares(member))?;
        let path = [section, term.name(), side, "properties", member];
        let path: Vec<&str> = path.into_iter().filter(|segment| !segment.is_empty()).collect();
        Some(Warning {
            pointer: pointer(&path),
            rule: "names-its-type",
            what: "this member names the type of content in native L8 and A2A: as an argument it passes only in MCP",
        })
    })
}

/// The parties that rely on each named schema, by path, directly or through references.
fn reachable_schemas(document: &mut Value, roots: &[(Vec<String>, Sides)]) -> BTreeMap<Vec<String>, Sides> {
    let mut reached: BTreeMap<Vec<String>, Sides> = BTreeMap::new();
    let mut waiting = roots.to_vec();
    while let Some((path, sides)) = waiting.pop() {
        if !reached.entry(path.clone()).or_default().add(sides) {
            continue;
        }
        schemas(document, &path, &mut |map, _| {
            let target = map.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix("#/"));
            waiting.extend(target.map(|target| (target.split('/').map(str::to_owned).collect(), sides)));
        });
    }
    reached
}

/// The action on a schema and its path.
type Visit<'v> = dyn FnMut(&Map<String, Value>, &[String]) + 'v;

/// All schemas at and below a path for which accepting more lets more pass.
fn schemas(document: &mut Value, path: &[String], visit: &mut Visit<'_>) {
    let Some(schema) = document.pointer_mut(&pointer(path)) else { return };
    let walked: Result<(), std::convert::Infallible> =
        each_schema(schema, &mut path.to_vec(), &mut |map, path| {
            if !path.iter().any(|segment| TURNED.contains(&segment.as_str())) {
                visit(map, path);
            }
            Ok(())
        });
    let Ok(()) = walked;
}

fn lint_schema(map: &Map<String, Value>, path: &[String], sides: Sides, warnings: &mut Vec<Warning>) {
    let mut warn = |rule, what| warnings.push(Warning { pointer: pointer(path), rule, what });
    if is(map, "number") && !["multipleOf", "enum", "const"].iter().any(|keyword| map.contains_key(*keyword))
    {
        warn("number-unseen", "a number without `multipleOf`: policies see only multiples of 0.0001");
    }
    if sides.accepts {
        warn_accepted(map, &mut warn);
    }
    if sides.answers {
        warn_answered(map, path, &mut warn);
    }
}

fn is(map: &Map<String, Value>, kind: &str) -> bool {
    match map.get("type") {
        Some(Value::String(one)) => one == kind,
        Some(Value::Array(list)) => list.iter().any(|one| one == kind),
        _ => false,
    }
}

/// Returns true if an object may have members that it does not name.
fn is_open(map: &Map<String, Value>) -> bool {
    ["additionalProperties", "unevaluatedProperties"]
        .iter()
        .any(|keyword| map.get(*keyword).is_some_and(|schema| schema != &Value::Bool(false)))
}

/// Warns about content from callers: a later minor version can take nothing back.
fn warn_accepted(map: &Map<String, Value>, warn: &mut dyn FnMut(&'static str, &'static str)) {
    let has = |keyword: &str| map.contains_key(keyword);
    let short = map.get("format").and_then(Value::as_str).is_some_and(|format| SHORT.contains(&format));
    if is(map, "string") && !short && !BOUNDING.iter().any(|keyword| has(keyword)) {
        warn(
            "unbounded-string",
            "a string without `maxLength`: a bound can never be set in a later minor version",
        );
    }
    // without `items: false`, more items may follow those of `prefixItems`
    let closed = has("prefixItems") && map.get("items") == Some(&Value::Bool(false));
    if is(map, "array") && !has("maxItems") && !has("const") && !closed {
        warn(
            "unbounded-array",
            "an array without `maxItems`: a bound can never be set in a later minor version",
        );
    }
    if is_open(map) {
        warn(
            "open-object",
            "an open object: a later minor version cannot restrict a member that senders may already use",
        );
    }
    if has("oneOf") {
        warn(
            "one-of",
            "`oneOf`: a later branch that overlaps rejects values that fit both; `anyOf` grows safely",
        );
    }
}

/// Warns about content for callers: a later minor version can add nothing.
fn warn_answered(
    map: &Map<String, Value>,
    path: &[String],
    warn: &mut dyn FnMut(&'static str, &'static str),
) {
    let has = |keyword: &str| map.contains_key(keyword);
    if has("enum") || has("x-code-list") {
        warn(
            "closed-answer",
            "a list in an answer: a later minor version cannot add a value, since old callers read it",
        );
    }
    if has("anyOf") || has("oneOf") {
        warn(
            "closed-answer",
            "branches in an answer: a later minor version cannot add one that accepts more, since old callers read it",
        );
    }
    // where it is one of several schemas for a value, the schema around it states if it is closed
    let alone = path.first().is_some_and(|section| section == "tasks")
        && !COMPOSED.iter().any(|keyword| has(keyword) || path.iter().any(|segment| segment == keyword));
    if alone && (is(map, "object") || has("properties")) && !is_open(map) {
        warn(
            "closed-answer",
            "a closed object in an answer: a later minor version cannot add a member, since old callers read it; an open object can grow",
        );
    }
    if has("required") {
        warn("required-answer", "required in an answer: a later minor version can never leave it out");
    }
    if map.get("x-free-text") == Some(&Value::Bool(true)) {
        warn(
            "free-text-answer",
            "free text in an answer: its `maxLength` can never be raised in a later minor version",
        );
    } else if BOUNDS.iter().any(|keyword| has(keyword)) {
        warn(
            "bound-answer",
            "a bound in an answer: it can never be widened in a later minor version, since old callers read it",
        );
    }
}

#[cfg(test)]
mod tests;
