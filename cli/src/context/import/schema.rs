//! Schemas of others in the profile of contexts.

use semgate_contexts::schema::FORMATS;
use serde_json::{Map, Value, json};

use super::{Draft, task_name};

/// Keywords that say something to readers only, in the standard, and that the profile does not know.
const SAYS_NOTHING: [&str; 6] =
    ["contentEncoding", "contentMediaType", "contentSchema", "$schema", "$id", "$anchor"];

/// Keywords of the profile that hold no schema.
const PLAIN: [&str; 32] = [
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
    "required",
    "dependentRequired",
    "title",
    "description",
    "$comment",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "multipleOf",
    "format",
    "pattern",
    "x-free-text",
    "x-code-list",
    "$ref",
];

/// Whether a text is a word of schemas alone, which says nothing to anybody who reads a tool's definition.
pub(super) fn is_plain(word: &str) -> bool {
    const MORE: [&str; 6] = [
        "$defs",
        "definitions",
        "additionalItems",
        "x-mcp-header",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2020-12/schema",
    ];
    PLAIN.contains(&word) || SAYS_NOTHING.contains(&word) || MORE.contains(&word)
}

/// The name of the definition that a reference names, if it names one beside it.
pub(super) fn referred(to: &str) -> Option<&str> {
    let inner = to.strip_prefix("#/$defs/").or_else(|| to.strip_prefix("#/definitions/"));
    inner.filter(|inner| !inner.contains('/'))
}

/// What is being brought over.
struct Keep<'d> {
    draft: &'d mut Draft,
    task: &'d str,
    /// Where it stands.
    at: String,
}

/// The schema of one side of a task. Without one nothing is taken but an empty object.
pub(super) fn keep(draft: &mut Draft, task: &str, side: &str, given: Option<Value>) -> Value {
    let Some(Value::Object(map)) = given else { return json!({"type": "object"}) };
    let mut keep = Keep { draft, task, at: format!("{task}/{side}") };
    for name in ["$defs", "definitions"] {
        if let Some(Value::Object(definitions)) = map.get(name) {
            for (key, schema) in definitions {
                let own = keep.definition(key);
                let kept = keep.below(key, schema);
                keep.draft.definitions.insert(own, kept);
            }
        }
    }
    keep.schema(&map)
}

impl Keep<'_> {
    fn definition(&self, name: &str) -> String {
        let side = if self.at.contains("/results") { "results_" } else { "" };
        task_name(&format!("{}_{side}{name}", self.task))
    }

    fn warn(&mut self, what: &str) {
        let text = format!("`{}`: {what}", self.at);
        if !self.draft.warnings.contains(&text) {
            self.draft.warnings.push(text);
        }
    }

    fn below(&mut self, name: &str, schema: &Value) -> Value {
        let before = self.at.clone();
        self.at = format!("{before}/{name}");
        let kept = match schema {
            Value::Object(map) => self.schema(map),
            Value::Bool(_) => schema.clone(),
            _ => {
                self.warn("is no schema, so nothing is taken");
                Value::Bool(false)
            }
        };
        self.at = before;
        kept
    }

    fn schema(&mut self, map: &Map<String, Value>) -> Value {
        let annotations = ["title", "description", "default", "examples", "deprecated", "$comment"];
        if map.keys().all(|name| annotations.contains(&name.as_str())) {
            self.warn("takes anything: narrow it");
            return Value::Bool(true);
        }
        let mut out = Map::new();
        for (name, value) in map {
            self.keyword(name, value, &mut out);
        }
        let text = out.get("type").is_some_and(|kind| kind == "string");
        let bounded = ["enum", "const", "pattern", "format", "maxLength", "x-code-list", "$ref"];
        if text && !bounded.iter().any(|bound| out.contains_key(*bound)) {
            self.warn(
                "is text without a bound: give it a pattern, a code list, or `x-free-text` with `maxLength`",
            );
        }
        if out.get("additionalProperties") == Some(&Value::Bool(true)) {
            self.warn("is an open object: members that nobody named pass");
        }
        Value::Object(out)
    }

    fn keyword(&mut self, name: &str, value: &Value, out: &mut Map<String, Value>) {
        let name_of = |name: &str| name.to_owned();
        match (name, value) {
            ("$defs" | "definitions", _) => {}
            ("$ref", Value::String(to)) => match referred(to) {
                Some(inner) => {
                    let own = self.definition(inner);
                    out.insert(name_of(name), Value::from(format!("#/$defs/{own}")));
                }
                None => {
                    self.warn("refers to something else than a definition beside it, so nothing is taken");
                    out.insert("not".to_owned(), Value::Bool(true));
                }
            },
            ("format", Value::String(format)) if !FORMATS.contains(&format.as_str()) => {
                self.warn("has a format that is not asserted: it is left out");
            }
            ("x-mcp-header", Value::String(header)) => {
                out.insert("$comment".to_owned(), Value::from(format!("mcp-header {header}")));
            }
            ("additionalItems", _) => {
                self.warn("has `additionalItems` of an older draft, so nothing is taken");
                out.insert("not".to_owned(), Value::Bool(true));
            }
            ("$schema", Value::String(_)) => {}
            _ if SAYS_NOTHING.contains(&name) => self.warn(&format!("`{}` is left out", task_name(name))),
            ("properties" | "patternProperties" | "dependentSchemas", Value::Object(members)) => {
                let kept = members.iter().map(|(key, schema)| (key.clone(), self.below(key, schema)));
                let kept: Map<String, Value> = kept.collect();
                out.insert(name_of(name), Value::Object(kept));
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(parts)) => {
                let kept =
                    parts.iter().enumerate().map(|(n, schema)| self.below(&format!("{name}/{n}"), schema));
                let kept: Vec<Value> = kept.collect();
                out.insert(name_of(name), Value::Array(kept));
            }
            (
                "additionalProperties"
                | "unevaluatedProperties"
                | "propertyNames"
                | "items"
                | "contains"
                | "not"
                | "if"
                | "then"
                | "else",
                schema,
            ) => {
                let kept = self.below(name, schema);
                out.insert(name_of(name), kept);
            }
            _ if PLAIN.contains(&name) => drop(out.insert(name_of(name), value.clone())),
            _ => self
                .warn(&format!("`{}` is a keyword that says nothing here: it is left out", task_name(name))),
        }
    }
}
