//! `x-embedding`: the schema of a vector says nothing else about its value, and one model has one space in a document.

use serde_json::{Map, Value, json};

use super::{Checked, Checker, IN_A_TEST};
use crate::schema::SchemaFault;
use crate::schema::fault::LocatedFault;
use crate::schema::vocabulary::{Holds, is_annotation, keyword};
use crate::vectors::{Spaces, VectorType};

const ALONE: &str = "the only demand on its value, apart from `\"type\": \"array\"` and `\"items\": {\"type\": \"number\"}` next to it";
const ONE_SPACE: &str =
    "the same in the whole document for each model: one number of dimensions, one metric, one `normalized`";

impl Checker<'_, '_> {
    pub(super) fn embedding(&mut self, map: &Map<String, Value>, value: &Value) -> Checked {
        let expected = |name: &str, value: &Value| match name {
            "x-embedding" => true,
            "type" => value == "array",
            "items" => *value == json!({ "type": "number" }),
            _ => is_annotation(name),
        };
        if !map.iter().all(|(name, value)| expected(name, value)) {
            return self.must("x-embedding", ALONE);
        }
        let vector = match VectorType::of(value, is_bare(map), std::sync::Arc::default()) {
            Ok(vector) => vector,
            Err(must) => return self.must("x-embedding", must),
        };
        for space in vector.spaces() {
            if *self.spaces.entry(space.model).or_insert(*space) != *space {
                return self.must("x-embedding", ONE_SPACE);
            }
        }
        self.within("models in the document", self.spaces.len(), crate::vectors::MAX_MODELS)
    }

    /// Refuses a reference in a test that leads to a vector, directly or through others.
    pub(super) fn test_through(&mut self, reference: &str) -> Checked {
        let mut trail = vec![reference.to_owned()];
        let mut next = 0;
        while let Some(reference) = trail.get(next).cloned() {
            next += 1;
            if !self.without_vectors.insert(reference.clone()) {
                continue;
            }
            if self.source.resolve(&reference).is_ok_and(|target| names_a_vector(target, &mut trail)) {
                self.without_vectors.retain(|known| !trail.contains(known));
                return self
                    .fail(SchemaFault::RefusedKeyword { keyword: "x-embedding".to_owned(), why: IN_A_TEST });
            }
        }
        Ok(())
    }

    /// Returns true if no fault was found so far.
    pub(in crate::schema) fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    /// Adds a fault of the schemas as a whole.
    pub(in crate::schema) fn add(&mut self, fault: Option<LocatedFault>) {
        self.faults.extend(fault);
    }

    /// The spaces that the schemas checked so far name.
    pub(in crate::schema) fn spaces(&self) -> &Spaces {
        &self.spaces
    }
}

/// Returns true if the schema takes arrays alone.
pub(in crate::schema) fn is_bare(map: &Map<String, Value>) -> bool {
    map.contains_key("type")
}

/// Returns true if `x-embedding` stands in the schema or below it; else adds the references from there.
fn names_a_vector(schema: &Value, references: &mut Vec<String>) -> bool {
    let Value::Object(map) = schema else { return false };
    map.iter().any(|(name, value)| match (keyword(name), value) {
        (Some(Holds::Embedding), _) => true,
        (Some(Holds::Schema), schema) => names_a_vector(schema, references),
        (Some(Holds::Schemas), Value::Array(list)) => {
            list.iter().any(|schema| names_a_vector(schema, references))
        }
        (Some(Holds::NamedSchemas), Value::Object(named)) => {
            named.values().any(|schema| names_a_vector(schema, references))
        }
        (Some(Holds::Reference), Value::String(reference)) => {
            references.push(reference.clone());
            false
        }
        _ => false,
    })
}
