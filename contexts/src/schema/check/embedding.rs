//! `x-embedding`: the schema of a vector says nothing else about its value, and one model has one space in a document.

use serde_json::{Map, Value, json};

use super::{Checked, Checker};
use crate::schema::vocabulary::is_annotation;
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

    /// The spaces that the schemas checked so far name.
    pub(in crate::schema) fn spaces(&self) -> &Spaces {
        &self.spaces
    }
}

/// Returns true if the schema takes arrays alone.
pub(in crate::schema) fn is_bare(map: &Map<String, Value>) -> bool {
    map.contains_key("type")
}
