//! Contexts from OpenAPI 3.0 and 3.1: each operation is a task.
//!
//! The parameters of a task hold the parameters of the operation by name, and the request body as `body`. The results hold the body of
//! a successful answer as `body`. `docs/spec/import.md` has the table.

mod operations;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::draft::Naming;
use crate::fault::ImportFault;
use crate::names;
use crate::refs::Targets;
use crate::schema::{Habits, Translator};
use crate::terms::{ContextDraft, Terms};
use operations::{Input, Operation, operations};

/// The wanted parts of a description.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// Operations, by `operationId`, or as `GET /path`. Empty for all, unless schemas are named.
    pub operations: Vec<String>,
    /// Names of `components/schemas` that become concepts.
    pub schemas: Vec<String>,
}

/// The advice for a source that is too large.
const CHOOSE: &str = "choose operations with `--operation`, or schemas with `--only`";

/// Drafts a context from a description of an interface.
///
/// # Errors
/// No OpenAPI 3.0 or 3.1, an unknown choice, nothing to draft, or a draft that is too large.
pub fn draft(source: &Value, choice: &Choice, naming: &Naming<'_>) -> Result<ContextDraft, ImportFault> {
    let old = match source.get("openapi").and_then(Value::as_str) {
        Some(version) if version.starts_with("3.0") => true,
        Some(version) if version.starts_with("3.1") => false,
        _ if source.get("swagger").is_some() => {
            return Err(
                ImportFault::new("a description of Swagger 2.0").hint("convert it to OpenAPI 3 first")
            );
        }
        _ => return Err(ImportFault::new("no description of OpenAPI 3.0 or 3.1")),
    };
    let mut terms = Terms::default();
    let all = operations(source, &mut terms);
    let wanted = wanted(all, choice)?;
    let schemas = choice.schemas.iter().map(|name| schema_pointer(source, name));
    let schemas = schemas.collect::<Result<Vec<String>, _>>()?;
    let starts: Vec<&str> =
        wanted.iter().flat_map(Operation::pointers).chain(schemas.iter().map(String::as_str)).collect();
    let mut used = BTreeSet::new();
    let mut name = |pointer: &str, part: &str| names::shared(part, pointer, &mut used);
    let roots: Vec<&Value> = starts.iter().filter_map(|pointer| source.pointer(pointer)).collect();
    // a schema that becomes a concept is a target of references too
    let targets = Targets::of(source, roots, &mut name);
    let mut translator =
        Translator::new(source, targets, Habits { alone: old, foreign: true, nullable: old });
    let translated = translator.all(&starts).map_err(ImportFault::new)?;
    terms.take(&mut translator);
    let mut schemas_in_order = translated.into_iter();
    tasks(&wanted, &mut schemas_in_order, &mut terms);
    for (name, schema) in choice.schemas.iter().zip(schemas_in_order) {
        terms.concept(&names::shared(name, name, &mut BTreeSet::new()), schema);
    }
    terms.remark("", "parameters of an operation are members by name, and bodies are the member `body`: how they are written into a request is left out, and so are security and servers");
    terms.finish(naming, CHOOSE)
}

/// The title of a description.
#[must_use]
pub fn title(source: &Value) -> Option<&str> {
    source.pointer("/info/title").and_then(Value::as_str)
}

fn schema_pointer(source: &Value, name: &str) -> Result<String, ImportFault> {
    let pointer = format!("/components/schemas/{}", operations::escaped(name));
    if source.pointer(&pointer).is_some() {
        return Ok(pointer);
    }
    let all = source.pointer("/components/schemas").and_then(Value::as_object);
    let known: Vec<&str> = all.into_iter().flat_map(Map::keys).take(24).map(String::as_str).collect();
    Err(ImportFault::new(format_args!("the source has no schema `{name}`"))
        .hint(format_args!("it has {}", known.join(", "))))
}

fn wanted(all: Vec<Operation>, choice: &Choice) -> Result<Vec<Operation>, ImportFault> {
    if choice.operations.is_empty() {
        return Ok(if choice.schemas.is_empty() { all } else { Vec::new() });
    }
    for name in &choice.operations {
        if !all.iter().any(|one| one.is(name)) {
            let known: Vec<&str> = all.iter().take(24).map(|one| one.label.as_str()).collect();
            return Err(ImportFault::new(format_args!(
                "the source has no operation `{name}` that a task can say"
            ))
            .hint(format_args!("it has {}", known.join(", "))));
        }
    }
    Ok(all.into_iter().filter(|one| choice.operations.iter().any(|name| one.is(name))).collect())
}

/// Adds a task for each operation, from the schemas at its pointers.
fn tasks(wanted: &[Operation], schemas: &mut impl Iterator<Item = Value>, terms: &mut Terms) {
    let labels = names::tasks(wanted.iter().map(|one| one.label.as_str()));
    for operation in wanted {
        let mut next = || schemas.next().unwrap_or(Value::Bool(false));
        let mut members = Map::new();
        for input in &operation.inputs {
            let schema = if input.pointer.is_some() { next() } else { Value::Bool(true) };
            members.insert(input.member.clone(), schema);
        }
        let required: Vec<&str> = operation
            .inputs
            .iter()
            .filter(|input| input.required)
            .map(|input: &Input| input.member.as_str())
            .collect();
        let mut parameters = json!({"type": "object", "description": operation.words});
        if let Value::Object(parameters) = &mut parameters {
            if operation.words.is_empty() {
                parameters.remove("description");
            }
            if !members.is_empty() {
                parameters.insert("properties".to_owned(), Value::Object(members));
            }
            if !required.is_empty() {
                parameters.insert("required".to_owned(), json!(required));
            }
        }
        let bodies: Vec<Value> = operation.answers.iter().map(|_| next()).collect();
        let results = match bodies.as_slice() {
            [] => json!({"type": "object"}),
            [one] if operation.always_answers => {
                json!({"type": "object", "properties": {"body": one}, "required": ["body"]})
            }
            [one] => json!({"type": "object", "properties": {"body": one}}),
            several => json!({"type": "object", "properties": {"body": {"anyOf": several}}}),
        };
        if let Some(name) = labels.get(operation.label.as_str()) {
            terms.tasks.insert(name.clone(), json!({"parameters": parameters, "results": results}));
        }
    }
}

#[cfg(test)]
mod tests;
