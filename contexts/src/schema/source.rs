//! The schemas of one document as they are written, and their properties that need no instance.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Parts, SchemaFault};
use crate::vectors::References;

/// Types of JSON as bits; an integral number is `INTEGER`, any other `FRACTION`.
pub(crate) mod types {
    pub(crate) const NULL: u8 = 1;
    pub(crate) const BOOLEAN: u8 = 2;
    pub(crate) const INTEGER: u8 = 4;
    pub(crate) const FRACTION: u8 = 8;
    pub(crate) const STRING: u8 = 16;
    pub(crate) const ARRAY: u8 = 32;
    pub(crate) const OBJECT: u8 = 64;
    pub(crate) const NUMBER: u8 = INTEGER | FRACTION;
    pub(crate) const ALL: u8 = 127;

    pub(crate) fn named(name: &str) -> Option<u8> {
        Some(match name {
            "null" => NULL,
            "boolean" => BOOLEAN,
            "integer" => INTEGER,
            "number" => NUMBER,
            "string" => STRING,
            "array" => ARRAY,
            "object" => OBJECT,
            _ => return None,
        })
    }

    /// The types in the keyword `type`.
    pub(crate) fn keyword(value: &serde_json::Value) -> u8 {
        use serde_json::Value;
        let types = |name: &Value| name.as_str().and_then(named).unwrap_or(0);
        match value {
            Value::Array(names) => names.iter().fold(0, |all, name| all | types(name)),
            name => types(name),
        }
    }
}

/// Keywords that apply one list of subschemas to the same value.
pub(super) const IN_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords that apply one subschema to the same value.
pub(super) const IN_PLACE_ONE: [&str; 4] = ["not", "if", "then", "else"];

/// The targets of a document's references, with results computed for each target.
pub(super) struct Source<'d> {
    pub(super) defs: &'d Map<String, Value>,
    pub(super) concepts: &'d Map<String, Value>,
    pub(super) codes: &'d BTreeMap<String, Vec<String>>,
    types: RefCell<HashMap<String, u8>>,
    guards: RefCell<HashMap<String, bool>>,
    declaring: RefCell<HashMap<String, bool>>,
    sets: RefCell<HashMap<String, Arc<BTreeSet<String>>>>,
    /// The reference vectors, once they are read.
    references: OnceCell<Arc<References>>,
}

/// The result for a key, made at the first question for it.
fn once<T: Clone>(known: &RefCell<HashMap<String, T>>, key: &str, make: impl FnOnce() -> T) -> T {
    if let Some(known) = known.borrow().get(key) {
        return known.clone();
    }
    let made = make();
    known.borrow_mut().insert(key.to_owned(), made.clone());
    made
}

impl<'d> Source<'d> {
    pub(super) fn new(parts: &Parts<'d>) -> Self {
        let (types, guards, declaring) = (RefCell::default(), RefCell::default(), RefCell::default());
        let (defs, concepts, codes) = (parts.defs, parts.concepts, parts.codes);
        let (sets, references) = (RefCell::default(), OnceCell::new());
        Source { defs, concepts, codes, types, guards, declaring, sets, references }
    }

    /// Adds the reference vectors of the document, before any type is described.
    pub(super) fn refer(&self, references: Arc<References>) {
        self.references.get_or_init(|| references);
    }

    /// The reference vectors of the document.
    pub(super) fn references(&self) -> Arc<References> {
        self.references.get().map(Arc::clone).unwrap_or_default()
    }

    /// The codes of a list, one copy for all places that have them.
    pub(super) fn code_set(&self, name: &str) -> Option<Arc<BTreeSet<String>>> {
        let codes = self.codes.get(name)?;
        Some(once(&self.sets, name, || Arc::new(codes.iter().cloned().collect())))
    }

    /// The schema that a reference names. Targets are `#/$defs/NAME` and `#/concepts/NAME` of the same document; a schema of
    /// another context is a definition here (`borrow`).
    pub(super) fn resolve(&self, reference: &str) -> Result<&'d Value, SchemaFault> {
        let target = if let Some(name) = reference.strip_prefix("#/$defs/") {
            self.defs.get(name)
        } else if let Some(name) = reference.strip_prefix("#/concepts/") {
            self.concepts.get(name)
        } else {
            return Err(SchemaFault::Reference { why: "must be `#/$defs/NAME` or `#/concepts/NAME`" });
        };
        target.ok_or(SchemaFault::Reference { why: "names nothing in this document" })
    }

    /// The types that a schema can take at most. References in place must not form cycles.
    pub(super) fn types(&self, schema: &Value) -> u8 {
        let Value::Object(map) = schema else {
            return if schema == &Value::Bool(false) { 0 } else { types::ALL };
        };
        let mut mask = types::ALL;
        if let Some(wanted) = map.get("type") {
            mask &= types::keyword(wanted);
        }
        if let Some(Value::Array(values)) = map.get("enum") {
            mask &= values.iter().fold(0, |all, value| all | type_of(value));
        }
        if let Some(value) = map.get("const") {
            mask &= type_of(value);
        }
        if map.contains_key("x-code-list") {
            mask &= types::STRING;
        }
        if map.contains_key("x-embedding") {
            mask &= types::ARRAY | types::OBJECT;
        }
        if let Some(Value::String(reference)) = map.get("$ref") {
            let target = || self.resolve(reference).map_or(types::ALL, |target| self.types(target));
            mask &= once(&self.types, reference, target);
        }
        for branch in branches(map, "allOf") {
            mask &= self.types(branch);
        }
        for union in ["anyOf", "oneOf"] {
            if map.contains_key(union) {
                mask &= branches(map, union).fold(0, |all, branch| all | self.types(branch));
            }
        }
        mask
    }

    /// Returns true if a schema that alone looks at its value takes objects with any members, as the schema `true` does. It
    /// takes values of every type, and no part of it declares a member. References in place must not form cycles.
    pub(super) fn opens(&self, schema: &Value) -> bool {
        schema == &Value::Bool(true) || (self.types(schema) == types::ALL && !self.declares(schema))
    }

    /// Returns true if the schema, or a part of it that looks at the same value, declares a member of an object.
    fn declares(&self, schema: &Value) -> bool {
        let Value::Object(map) = schema else { return false };
        ["properties", "patternProperties"].iter().any(|keyword| named(map, keyword).next().is_some())
            || in_place(map).any(|part| self.declares(part))
            || map.get("$ref").and_then(Value::as_str).is_some_and(|reference| {
                let target = || self.resolve(reference).is_ok_and(|target| self.declares(target));
                once(&self.declaring, reference, target)
            })
    }

    /// The members that closing declares for objects listed in `enum` and `const`, in the schema and in every part that may
    /// vouch for members. Each has its listed values, or any value where another part declares the member or may take it.
    pub(super) fn listed_members(&self, schema: &Value) -> BTreeMap<String, Value> {
        let (mut listed, mut declared, mut seen) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        // a list in the schema itself holds of every object
        let mut free = ["enum", "const"].iter().any(|keyword| schema.get(*keyword).is_some());
        let mut open = vec![schema];
        while let Some(schema) = open.pop() {
            let Value::Object(map) = schema else { continue };
            let values = branches(map, "enum").chain(map.get("const"));
            for (name, value) in values.filter_map(Value::as_object).flatten() {
                let known: &mut Vec<Value> = listed.entry(name.clone()).or_default();
                if !known.contains(value) {
                    known.push(value.clone());
                }
            }
            declared.extend(named(map, "properties").map(|(name, _)| name.as_str()));
            let opened = |keyword: &str| map.get(keyword).is_some_and(|inside| inside != &Value::Bool(false));
            free |= opened("patternProperties")
                || opened("additionalProperties")
                || opened("unevaluatedProperties");
            open.extend(
                in_place(map).filter(|part| map.get("not").is_none_or(|not| !std::ptr::eq(*part, not))),
            );
            if let Some(Value::String(reference)) = map.get("$ref")
                && seen.insert(reference)
            {
                open.extend(self.resolve(reference).ok());
            }
        }
        let one = |(name, values): (String, Vec<Value>)| match free || declared.contains(name.as_str()) {
            true => (name, Value::Bool(true)),
            false => (name, json!({ "enum": values })),
        };
        listed.into_iter().map(one).collect()
    }

    /// Returns true if every array that the schema takes is held to some `items`.
    pub(super) fn guards_arrays(&self, schema: &Value) -> bool {
        let Value::Object(map) = schema else { return true };
        map.contains_key("items")
            || map.get("$ref").and_then(Value::as_str).is_some_and(|reference| {
                let target = || self.resolve(reference).is_ok_and(|target| self.guards_arrays(target));
                once(&self.guards, reference, target)
            })
            || branches(map, "allOf").any(|branch| branch.is_object() && self.guards_arrays(branch))
            || ["anyOf", "oneOf"].iter().any(|union| {
                map.contains_key(*union)
                    && branches(map, union)
                        .all(|branch| self.types(branch) & types::ARRAY == 0 || self.guards_arrays(branch))
            })
    }
}

/// The subschemas of a keyword that holds a list of them.
pub(super) fn branches<'v>(map: &'v Map<String, Value>, keyword: &str) -> impl Iterator<Item = &'v Value> {
    map.get(keyword).and_then(Value::as_array).into_iter().flatten()
}

/// The subschemas of a keyword that maps names to them.
pub(super) fn named<'v>(
    map: &'v Map<String, Value>,
    keyword: &str,
) -> impl Iterator<Item = (&'v String, &'v Value)> {
    map.get(keyword).and_then(Value::as_object).into_iter().flatten()
}

/// A count of a schema, `maxLength` and its like; one beyond 64 bits is as many as there are.
pub(super) fn count(value: &Value) -> Option<u64> {
    let large = || value.as_f64().is_some_and(|count| count > crate::json::MAX_INTEGER as f64);
    value.as_u64().or_else(|| large().then_some(u64::MAX))
}

/// Returns true if `enum` or `const` lists an object.
pub(super) fn lists_objects(map: &Map<String, Value>) -> bool {
    branches(map, "enum").chain(map.get("const")).any(Value::is_object)
}

/// Every subschema that looks at the same value, except the target of `$ref`.
pub(super) fn in_place(map: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    IN_PLACE_LISTS
        .iter()
        .flat_map(|keyword| branches(map, keyword))
        .chain(IN_PLACE_ONE.iter().filter_map(|keyword| map.get(*keyword)))
        .chain(named(map, "dependentSchemas").map(|(_, schema)| schema))
}

fn type_of(value: &Value) -> u8 {
    match value {
        Value::Null => types::NULL,
        Value::Bool(_) => types::BOOLEAN,
        Value::Number(number) if number.is_f64() => {
            if number.as_f64().is_some_and(|number| number.fract() == 0.0) {
                types::INTEGER
            } else {
                types::FRACTION
            }
        }
        Value::Number(_) => types::INTEGER,
        Value::String(_) => types::STRING,
        Value::Array(_) => types::ARRAY,
        Value::Object(_) => types::OBJECT,
    }
}
