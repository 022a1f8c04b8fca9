//! Closing: from schemas as they are written to schemas that the validator compiles.
//!
//! Plain JSON Schema takes any member that nothing forbids. Here an object takes only members that a schema names, unless
//! `additionalProperties` or `unevaluatedProperties` opens it. Closing only ever narrows: the schema as written accepts
//! everything that the closed schema accepts. So every subschema is emitted in one of three modes:
//!
//! - `Closed`: it alone looks at its value. An object schema gets `additionalProperties: false`, or, where it is
//!   composed (`$ref` beside others, `allOf`, `anyOf`, `oneOf`, `if`, `dependentSchemas`),
//!   `unevaluatedProperties: false`.
//! - `Open`: it is one part of a composition that is closed as a whole; the values inside it are closed.
//! - `Plain`: its failure can make content acceptable (`not`, `if`, one of `oneOf`, `contains`), so nothing in it may
//!   be narrowed. Where such a part also vouches for members (`if`, `oneOf`), its `Open` form is demanded besides.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::check::is_bare;
use super::fault::LocatedFault;
use super::pattern::dots_spelt_out;
use super::source::{Source, branches, count, named, types};
use super::vocabulary::is_annotation;
use super::{SchemaFault, SchemaLimits, pointer};
use crate::vectors::{ModelName, VectorType, equivalent};

/// The mode in which a subschema is emitted; see the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Closed,
    Open,
    Plain,
}

/// Maps schemas by their patterns in the engine's form: see [`dots_spelt_out`]. If two patterns become one, the schemas of
/// both apply.
fn by_patterns(named: Value) -> Value {
    let mut out = Map::new();
    let Value::Object(named) = named else { return named };
    for (pattern, schema) in named {
        let pattern = dots_spelt_out(&pattern).into_owned();
        let schema = match out.remove(&pattern) {
            Some(other) => json!({ "allOf": [other, schema] }),
            None => schema,
        };
        out.insert(pattern, schema);
    }
    Value::Object(out)
}

impl Mode {
    /// The mode of a subschema for a value inside.
    fn inside(self) -> Mode {
        if self == Mode::Plain { Mode::Plain } else { Mode::Closed }
    }

    /// The mode of a part of a composition.
    fn part(self) -> Mode {
        if self == Mode::Plain { Mode::Plain } else { Mode::Open }
    }

    fn letter(self) -> char {
        match self {
            Mode::Closed => 'c',
            Mode::Open => 'o',
            Mode::Plain => 'p',
        }
    }
}

type Emitted = Result<Value, LocatedFault>;

/// Emits the schemas of one document; definitions are emitted when they are first referred to.
pub(super) struct Emitter<'s, 'd> {
    source: &'s Source<'d>,
    limits: &'s SchemaLimits,
    done: BTreeMap<String, Value>,
    wanted: Vec<(String, Mode, bool)>,
    path: Vec<String>,
    nodes: u64,
    /// True inside `if`, which may test for an object that no value fits.
    testing: bool,
    /// Faults of closing, where they are kept instead of ending the work.
    collected: Option<Vec<LocatedFault>>,
    /// Plain JSON Schema stands in the place of `x-embedding`, and holds these models apart.
    comparing: Option<&'s [ModelName]>,
}

impl<'s, 'd> Emitter<'s, 'd> {
    pub(super) fn new(source: &'s Source<'d>, limits: &'s SchemaLimits) -> Self {
        let (done, wanted, path) = (BTreeMap::new(), Vec::new(), Vec::new());
        Emitter {
            source,
            limits,
            done,
            wanted,
            path,
            nodes: 0,
            testing: false,
            collected: None,
            comparing: None,
        }
    }

    /// The same, which goes on after a fault of closing.
    pub(super) fn keeping_faults(self) -> Self {
        Emitter { collected: Some(Vec::new()), ..self }
    }

    /// The same for a comparison, which knows the keywords of JSON Schema.
    pub(super) fn for_comparison(self, apart: &'s [ModelName]) -> Self {
        Emitter { comparing: Some(apart), ..self }
    }

    /// The faults that were kept.
    pub(super) fn faults(self) -> Vec<LocatedFault> {
        self.collected.unwrap_or_default()
    }

    /// The closed form of the schema at `path`.
    pub(super) fn root(&mut self, schema: &Value, path: &[&str]) -> Emitted {
        self.path = path.iter().map(|segment| (*segment).to_owned()).collect();
        let emitted = self.emit(schema, Mode::Closed)?;
        while let Some((reference, mode, testing)) = self.wanted.pop() {
            let target = self
                .source
                .resolve(&reference)
                .map_err(|fault| LocatedFault { path: pointer(&self.path), fault })?;
            self.path = reference.trim_start_matches("#/").split('/').map(str::to_owned).collect();
            self.testing = testing;
            let emitted = self.emit(target, mode)?;
            self.done.insert(key(&reference, mode), emitted);
        }
        self.testing = false;
        Ok(emitted)
    }

    /// The definitions that emitted schemas refer to, under their emitted names.
    pub(super) fn definitions(self) -> BTreeMap<String, Value> {
        self.done
    }

    fn fail<T>(&self, fault: SchemaFault) -> Result<T, LocatedFault> {
        Err(LocatedFault { path: pointer(&self.path), fault })
    }

    fn emit(&mut self, schema: &Value, mode: Mode) -> Emitted {
        self.nodes += 1;
        if self.nodes > self.limits.max_compiled_nodes {
            return self.fail(SchemaFault::Limit {
                what: "compiled schemas",
                limit: self.limits.max_compiled_nodes,
            });
        }
        let Value::Object(map) = schema else { return Ok(schema.clone()) };
        if let Some(value) = map.get("x-embedding") {
            return Ok(self.vector(map, value, mode));
        }
        let mut out = Map::new();
        let mut besides = Vec::new();
        let referring = mode == Mode::Closed && is_reference_alone(map);
        for (name, value) in map {
            self.path.push(name.clone());
            match name.as_str() {
                name if is_annotation(name) => {}
                "$ref" => {
                    let target = if referring { Mode::Closed } else { mode.part() };
                    out.insert(name.clone(), self.reference(value, target));
                }
                "x-free-text" if mode != Mode::Plain && value == &Value::Bool(true) => {
                    out.insert(name.clone(), value.clone());
                }
                "x-code-list" if mode != Mode::Plain => {
                    out.insert(name.clone(), value.clone());
                }
                "x-free-text" | "x-code-list" => {}
                _ => self.applicator(name, value, mode, &mut out, &mut besides)?,
            }
            self.path.pop();
        }
        self.condition(map, mode, &mut out)?;
        if !besides.is_empty() {
            let all = out.entry("allOf").or_insert_with(|| json!([]));
            if let Value::Array(all) = all {
                all.append(&mut besides);
            }
        }
        if mode == Mode::Closed && !referring {
            if self.source.opens(schema) && out.is_empty() {
                return Ok(Value::Bool(true));
            }
            let closed = self.close(schema, map, &mut out);
            match (closed, &mut self.collected) {
                (Err(fault), Some(kept)) => kept.push(fault),
                (closed, _) => closed?,
            }
        }
        Ok(Value::Object(out))
    }

    /// The schema of a vector. Its keyword judges the whole value; `properties` vouches for the members of the form with a model.
    fn vector(&self, map: &Map<String, Value>, value: &Value, mode: Mode) -> Value {
        let bare = is_bare(map);
        let types = if bare { json!("array") } else { json!(["array", "object"]) };
        let members = json!({ "model": true, "vector": true });
        match (VectorType::of(value, bare, self.source.references()), self.comparing) {
            (Ok(vector), Some(apart)) => equivalent(vector.spaces(), bare, apart),
            (Ok(_), None) if mode != Mode::Plain => {
                json!({ "type": types, "properties": members, "x-embedding": value })
            }
            _ => json!({ "type": types, "properties": members }),
        }
    }

    fn applicator(
        &mut self,
        name: &str,
        value: &Value,
        mode: Mode,
        out: &mut Map<String, Value>,
        besides: &mut Vec<Value>,
    ) -> Result<(), LocatedFault> {
        let emitted = match name {
            "properties" => self.named(value, mode.inside())?,
            "patternProperties" => by_patterns(self.named(value, mode.inside())?),
            "pattern" => Value::String(dots_spelt_out(value.as_str().unwrap_or_default()).into_owned()),
            "dependentSchemas" => self.named(value, mode.part())?,
            "allOf" | "anyOf" => self.list(value, mode.part())?,
            "prefixItems" => self.list(value, mode.inside())?,
            "items" | "additionalProperties" | "unevaluatedProperties" => self.emit(value, mode.inside())?,
            "contains" | "propertyNames" | "not" => self.emit(value, Mode::Plain)?,
            "if" | "then" | "else" => return Ok(()),
            "oneOf" => {
                let plain = self.list(value, Mode::Plain)?;
                if mode != Mode::Plain {
                    let open = self.list(value, Mode::Open)?;
                    if open != plain {
                        besides.push(json!({ "anyOf": open }));
                    }
                }
                plain
            }
            "maxLength" | "minLength" | "maxItems" | "minItems" | "maxContains" | "minContains"
            | "maxProperties" | "minProperties" => count(value).into(),
            _ => value.clone(),
        };
        out.insert(name.to_owned(), emitted);
        Ok(())
    }

    fn named(&mut self, value: &Value, mode: Mode) -> Emitted {
        let mut out = Map::new();
        for (name, schema) in value.as_object().into_iter().flatten() {
            self.path.push(name.clone());
            out.insert(name.clone(), self.emit(schema, mode)?);
            self.path.pop();
        }
        Ok(Value::Object(out))
    }

    fn list(&mut self, value: &Value, mode: Mode) -> Emitted {
        let mut out = Vec::new();
        for (index, schema) in value.as_array().into_iter().flatten().enumerate() {
            self.path.push(index.to_string());
            out.push(self.emit(schema, mode)?);
            self.path.pop();
        }
        Ok(Value::Array(out))
    }

    /// `if` decides as it is written. Where it passes, the members that it vouches for must also be closed inside.
    fn condition(
        &mut self,
        map: &Map<String, Value>,
        mode: Mode,
        out: &mut Map<String, Value>,
    ) -> Result<(), LocatedFault> {
        let Some(condition) = map.get("if") else { return Ok(()) };
        let plain = self.emit(condition, Mode::Plain)?;
        let mut then = map.get("then").map(|schema| self.emit(schema, mode.part())).transpose()?;
        if mode != Mode::Plain {
            let before = std::mem::replace(&mut self.testing, true);
            let open = self.emit(condition, Mode::Open)?;
            self.testing = before;
            if open != plain {
                then = Some(match then {
                    Some(then) => json!({ "allOf": [open, then] }),
                    None => open,
                });
            }
        }
        out.insert("if".to_owned(), plain);
        if let Some(then) = then {
            out.insert("then".to_owned(), then);
        }
        if let Some(otherwise) = map.get("else") {
            let otherwise = self.emit(otherwise, mode.part())?;
            out.insert("else".to_owned(), otherwise);
        }
        Ok(())
    }

    fn reference(&mut self, value: &Value, mode: Mode) -> Value {
        let reference = value.as_str().unwrap_or_default();
        let key = key(reference, mode);
        if !self.done.contains_key(&key) {
            // Holds the place, so that a recursive definition is emitted once.
            self.done.insert(key.clone(), Value::Bool(false));
            self.wanted.push((reference.to_owned(), mode, self.testing));
        }
        Value::String(format!("#/$defs/{key}"))
    }

    /// Refuses a closed object that requires a member without naming it: no value would fit.
    fn declared(&self, map: &Map<String, Value>, out: &Map<String, Value>) -> Result<(), LocatedFault> {
        let mut required = branches(map, "required").filter_map(Value::as_str);
        match required.find(|name| named(out, "properties").all(|(known, _)| known != name)) {
            Some(name) if is_closed(map) => {
                self.fail(SchemaFault::Undeclared { name: name.chars().take(64).collect() })
            }
            _ => Ok(()),
        }
    }

    /// Declares the members of objects in `enum` and `const` with their listed values. So closing leaves these objects as
    /// they are listed, and takes nothing else under their names.
    fn declare_listed(&self, schema: &Value, out: &mut Map<String, Value>) {
        let listed = self.source.listed_members(schema);
        if listed.is_empty() {
            return;
        }
        if let Value::Object(properties) = out.entry("properties").or_insert_with(|| json!({})) {
            for (name, values) in listed {
                properties.entry(name).or_insert(values);
            }
        }
    }

    /// Closes objects. An object that is open by default is opened explicitly, so that the comparison sees it.
    fn close(
        &self,
        schema: &Value,
        map: &Map<String, Value>,
        out: &mut Map<String, Value>,
    ) -> Result<(), LocatedFault> {
        let taken = self.source.types(schema);
        if taken & types::ARRAY != 0 && !self.source.guards_arrays(schema) {
            out.insert("items".to_owned(), Value::Bool(true));
        }
        let opened = map.contains_key("additionalProperties") || map.contains_key("unevaluatedProperties");
        if taken & types::OBJECT == 0 {
            return Ok(());
        }
        if self.source.opens(schema) {
            if !opened {
                out.insert("additionalProperties".to_owned(), Value::Bool(true));
            }
            return Ok(());
        }
        let composed = ["$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"];
        let composed = composed.iter().any(|keyword| map.contains_key(*keyword));
        if !opened {
            self.declare_listed(schema, out);
        }
        if !composed && !self.testing {
            self.declared(map, out)?;
        }
        if !opened {
            let keyword = if composed { "unevaluatedProperties" } else { "additionalProperties" };
            out.insert(keyword.to_owned(), Value::Bool(false));
        }
        Ok(())
    }
}

/// Returns true if an object that is not composed takes only the members in `properties`.
fn is_closed(map: &Map<String, Value>) -> bool {
    let shut = |keyword: &str| map.get(keyword).is_none_or(|schema| schema == &Value::Bool(false));
    shut("additionalProperties")
        && shut("unevaluatedProperties")
        && named(map, "patternProperties").next().is_none()
}

/// Returns true if the schema holds only a reference.
fn is_reference_alone(map: &Map<String, Value>) -> bool {
    map.contains_key("$ref") && map.keys().all(|name| name == "$ref" || is_annotation(name))
}

/// The emitted name of a definition: names hold no `.`, so these do not collide.
fn key(reference: &str, mode: Mode) -> String {
    let mark = mode.letter();
    match reference.strip_prefix("#/$defs/") {
        Some(name) => format!("{mark}.{name}"),
        None => format!("{mark}.concept.{}", reference.rsplit('/').next().unwrap_or_default()),
    }
}
