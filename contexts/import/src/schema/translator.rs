//! One pass over the schemas of a document.

use std::collections::BTreeSet;

use semgate_contexts::json;
use semgate_contexts::schema::FORMATS;
use serde_json::{Map, Value, json};

use super::older::merge;
use super::{
    ANNOTATIONS, BEYOND, Habits, NOWHERE, PLAIN, SAYS_NOTHING, SILENT, TESTS, Translated, legible, shown,
};
use crate::refs::{self, Targets};
use crate::remark::Remark;

/// The part of a schema in the one around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaPart {
    /// It judges its value alone.
    Whole,
    /// One of several alternatives for a value.
    Branch,
    /// One of several demands on a value.
    Demand,
}

impl SchemaPart {
    fn of(keyword: &str) -> Self {
        match keyword {
            "anyOf" | "oneOf" => Self::Branch,
            "allOf" | "not" | "if" | "then" | "else" | "dependentSchemas" | "dependencies" => Self::Demand,
            _ => Self::Whole,
        }
    }
}

/// Schemas of one document on their way into the profile.
pub(crate) struct Translator<'d> {
    root: &'d Value,
    targets: Targets,
    pub(crate) habits: Habits,
    /// JSON Pointer into the original document.
    pub(crate) at: String,
    /// Tests (`not`, `if`, `contains`, `propertyNames`) around the current schema.
    pub(crate) tests: usize,
    /// The part that the current schema has in the one around it.
    pub(super) part: SchemaPart,
    /// Remarks, each once.
    pub remarks: Vec<Remark>,
    /// References that lead to the definitions.
    pub references: BTreeSet<String>,
    /// The translated targets of references.
    pub definitions: Map<String, Value>,
    /// Code lists made of long enumerations.
    pub codes: Map<String, Value>,
}

impl Translator<'_> {
    pub fn new(root: &Value, targets: Targets, habits: Habits) -> Translator<'_> {
        Translator {
            root,
            targets,
            habits,
            at: String::new(),
            tests: 0,
            part: SchemaPart::Whole,
            remarks: Vec::new(),
            references: BTreeSet::new(),
            definitions: Map::new(),
            codes: Map::new(),
        }
    }

    /// Translates the definitions, and then the schemas at these pointers.
    ///
    /// # Errors
    /// A keyword with an assertion that the profile cannot express; never where schemas are foreign.
    pub fn all(&mut self, starts: &[&str]) -> Translated<Vec<Value>> {
        let targets: Vec<_> =
            self.targets.iter().map(|(at, name)| (at.to_owned(), name.to_owned())).collect();
        for (pointer, name) in targets {
            let Some(target) = self.root.pointer(&pointer) else { continue };
            (self.at, self.part) = (pointer, SchemaPart::Whole);
            let translated = self.schema(target)?;
            self.definitions.insert(name, translated);
        }
        let root = self.root;
        let start = |pointer: &&str| {
            self.at = (*pointer).to_owned();
            match (self.habits.foreign, self.targets.at(pointer), root.pointer(pointer)) {
                (true, Some(name), _) => Ok(json!({ "$ref": format!("#/$defs/{name}") })),
                (_, _, Some(schema)) => self.schema(schema),
                (_, _, None) => Ok(Value::Bool(false)),
            }
        };
        starts.iter().map(start).collect()
    }

    pub(crate) fn warn(&mut self, what: &str) {
        let remark = Remark { at: self.at.clone(), what: what.to_owned() };
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    /// A rule that no context can express: an error, or a schema that accepts nothing.
    fn beyond(&mut self, what: &str, out: &mut Map<String, Value>) -> Translated {
        if !self.habits.foreign {
            return Err(what.to_owned());
        }
        self.warn(what);
        out.insert("$ref".to_owned(), Value::from(NOWHERE));
        Ok(())
    }

    /// The schema below the current one; a reference if it is the target of one.
    pub(crate) fn below(&mut self, segments: &[&str], schema: &Value) -> Translated<Value> {
        let before = (self.at.clone(), self.tests, self.part);
        let keyword = segments.first().copied().unwrap_or_default();
        let is_test = TESTS.contains(&keyword);
        self.part = SchemaPart::of(keyword);
        self.tests = self.tests.saturating_add(usize::from(is_test));
        for segment in segments {
            self.at = format!("{}/{}", self.at, segment.replace('~', "~0").replace('/', "~1"));
        }
        let translated = match self.targets.at(&self.at) {
            Some(name) => Ok(json!({ "$ref": format!("#/$defs/{name}") })),
            None => self.schema(schema),
        };
        if translated.is_ok() {
            (self.at, self.tests, self.part) = before;
        }
        translated
    }

    pub(crate) fn schema(&mut self, schema: &Value) -> Translated<Value> {
        let map = match schema {
            Value::Object(map) => map,
            Value::Bool(_) => return Ok(schema.clone()),
            _ => {
                self.warn("is not a schema");
                return Ok(Value::Null);
            }
        };
        if map.keys().all(|name| ANNOTATIONS.contains(&name.as_str())) {
            self.warn("takes anything: narrow it");
            return Ok(Value::Bool(true));
        }
        if let Some(reference) = map.get("$ref")
            && reference.as_str().is_none_or(|to| refs::resolve(self.root, to).is_none())
        {
            self.warn("refers to something else than a schema of this tool");
            return Ok(json!({ "$ref": NOWHERE }));
        }
        let mut out = Map::new();
        let alone = self.habits.alone && map.contains_key("$ref");
        for (name, value) in map {
            if alone && name != "$ref" && !ANNOTATIONS.contains(&name.as_str()) {
                continue;
            }
            self.keyword(map, name, value, &mut out)?;
        }
        self.bound_pattern(&mut out);
        if self.habits.foreign && !out.contains_key("$ref") {
            return Ok(self.settle(map, out));
        }
        self.remark(&out);
        Ok(Value::Object(out))
    }

    /// Bounds a pattern's length, as the profile demands, by that of the longest string of a message: so that refuses nothing.
    fn bound_pattern(&mut self, out: &mut Map<String, Value>) {
        if out.contains_key("pattern") && !out.contains_key("maxLength") {
            let most = json::Limits::default().max_string_bytes;
            out.insert("maxLength".to_owned(), Value::from(most));
            self.warn(&format!("has a pattern without a length: `maxLength` {most} is added, lower it"));
        }
    }

    fn remark(&mut self, out: &Map<String, Value>) {
        let text = out.get("type").is_some_and(|kind| kind == "string");
        let bounded = ["enum", "const", "pattern", "format", "maxLength", "x-code-list", "$ref"];
        if text && !bounded.iter().any(|bound| out.contains_key(*bound)) {
            self.warn(
                "is text without a bound: give it a pattern, a code list, or `x-free-text` with `maxLength`",
            );
        }
        if out.get("additionalProperties") == Some(&Value::Bool(true)) {
            self.warn("is an open object: unnamed members pass");
        }
    }

    fn keyword(
        &mut self,
        map: &Map<String, Value>,
        name: &str,
        value: &Value,
        out: &mut Map<String, Value>,
    ) -> Translated {
        match (name, value) {
            ("$defs" | "definitions" | "$schema", _) => {}
            _ if self.habits.foreign && SILENT.contains(&name) => {}
            ("$ref", Value::String(to)) => self.reference(to, out),
            ("format", Value::String(format)) if !FORMATS.contains(&format.as_str()) => {
                self.warn("has a format that is not asserted: it is left out");
            }
            ("x-mcp-header", Value::String(header)) => {
                out.insert("$comment".to_owned(), Value::from(format!("mcp-header {header}")));
            }
            ("items", Value::Array(_)) if map.contains_key("prefixItems") => {
                self.beyond("`items` and `prefixItems` are two tuples in one schema", out)?;
            }
            ("items", Value::Array(items)) => self.tuple(map, items, out)?,
            // without a tuple in `items` it asserts nothing
            ("additionalItems", _) => {}
            ("dependencies", Value::Object(members)) => self.dependencies(members, out)?,
            ("exclusiveMinimum" | "exclusiveMaximum", Value::Bool(exclusive)) => {
                let bound = map.get(if name == "exclusiveMinimum" { "minimum" } else { "maximum" });
                if let Some(bound) = bound.filter(|_| *exclusive) {
                    out.insert(name.to_owned(), bound.clone());
                }
            }
            _ if BEYOND.contains(&name) => {
                self.beyond(&format!("`{name}` asserts a rule that no context can express"), out)?;
            }
            _ if SAYS_NOTHING.contains(&name) => self.warn(&format!("`{}` is left out", shown(name))),
            _ => self.schemas_and_values(name, value, out)?,
        }
        Ok(())
    }

    /// A keyword that holds schemas, or a plain value.
    fn schemas_and_values(&mut self, name: &str, value: &Value, out: &mut Map<String, Value>) -> Translated {
        match (name, value) {
            ("properties" | "patternProperties" | "dependentSchemas", Value::Object(members)) => {
                let translated =
                    members.iter().map(|(key, schema)| Ok((key.clone(), self.below(&[name, key], schema)?)));
                let translated = translated.collect::<Translated<Map<String, Value>>>()?;
                merge(out, name, translated);
            }
            ("dependentRequired", Value::Object(members)) => merge(out, name, members.clone()),
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(parts)) => {
                let translated = self.list(name, parts)?;
                out.insert(name.to_owned(), translated);
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
                let translated = self.below(&[name], schema)?;
                out.insert(name.to_owned(), translated);
            }
            ("title" | "description" | "$comment", Value::String(text)) => {
                let shown = legible(text);
                if shown.len() != text.len() {
                    self.warn(&format!("`{name}` holds invisible characters: they are left out"));
                }
                out.insert(name.to_owned(), Value::from(shown));
            }
            _ if PLAIN.contains(&name) => drop(out.insert(name.to_owned(), value.clone())),
            _ => self.warn(&format!("`{}` is a keyword without effect here: it is left out", shown(name))),
        }
        Ok(())
    }

    fn reference(&mut self, to: &str, out: &mut Map<String, Value>) {
        let name = refs::resolve(self.root, to).and_then(|(at, _)| self.targets.at(&at).map(str::to_owned));
        if let Some(name) = name {
            self.references.insert(to.to_owned());
            out.insert("$ref".to_owned(), Value::from(format!("#/$defs/{name}")));
        }
    }

    pub(super) fn list(&mut self, name: &str, parts: &[Value]) -> Translated<Value> {
        let parts = parts.iter().enumerate();
        parts.map(|(n, schema)| self.below(&[name, &n.to_string()], schema)).collect()
    }
}
