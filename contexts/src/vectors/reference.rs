//! Reference vectors: the member `references` of a document, a vector of a named model for a concept, a task or a code.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::ModelName;
use super::fixed::Fixed;
use super::judge::VectorType;
use super::space::Spaces;
use crate::json::{self, Limits};

/// Every reference vector of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct References {
    /// By name, then by model.
    vectors: BTreeMap<String, BTreeMap<ModelName, Fixed>>,
}

/// The reason that a reference vector is refused, with the names that lead to it.
#[derive(Debug)]
pub(crate) struct ReferenceFault {
    pub(crate) path: [String; 2],
    pub(crate) must: &'static str,
}

impl References {
    /// Reads the member: `{NAME: {MODEL: [numbers]}}`, each vector of a model that some schema of the document names, and checked like
    /// a value of a message.
    ///
    /// # Errors
    /// The first fault.
    pub(crate) fn read(section: &Map<String, Value>, spaces: &Spaces) -> Result<Self, ReferenceFault> {
        let mut vectors = BTreeMap::new();
        for (name, models) in section {
            let mut of_name = BTreeMap::new();
            for (model, vector) in models.as_object().into_iter().flatten() {
                let path = || [name.clone(), model.chars().take(64).collect()];
                let read =
                    one(model, vector, spaces).map_err(|must| ReferenceFault { path: path(), must })?;
                of_name.insert(read.0, read.1);
            }
            vectors.insert(name.clone(), of_name);
        }
        Ok(Self { vectors })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.vectors.is_empty()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.vectors.keys().map(String::as_str)
    }

    pub(super) fn has(&self, name: &str, model: ModelName) -> bool {
        self.vectors.get(name).is_some_and(|models| models.contains_key(&model))
    }

    /// Every vector with its name and model, as text that is equal exactly for equal vectors.
    pub(crate) fn texts(&self) -> BTreeMap<[&str; 2], String> {
        let each = self.vectors.iter().flat_map(|(name, models)| {
            models.iter().map(move |(model, vector)| ([name.as_str(), model.as_str()], format!("{vector:?}")))
        });
        each.collect()
    }

    /// The vectors of one model, by name.
    pub(super) fn of(&self, model: ModelName) -> impl Iterator<Item = (&str, &Fixed)> {
        self.vectors.iter().filter_map(move |(name, models)| Some((name.as_str(), models.get(&model)?)))
    }
}

const UNKNOWN: &str = "by a model that an `x-embedding` of the document names";
const UNFIT: &str = "a vector of its model: of its dimensions, of numbers, not all zeroes for `cosine`, and of the length 1 where `normalized`";

fn one(model: &str, vector: &Value, spaces: &Spaces) -> Result<(ModelName, Fixed), &'static str> {
    let model = ModelName::parse(model).map_err(|_| UNKNOWN)?;
    let space = *spaces.get(&model).ok_or(UNKNOWN)?;
    // a number of a canonical document has one text, so its digits are the same for every reader
    let text = vector.to_string();
    let json = json::read(text.as_bytes(), &Limits::default()).map_err(|_| UNFIT)?;
    VectorType::alone(space).judge(&json, None, || true).map_err(|_| UNFIT)?;
    let numbers = json.as_array().unwrap_or_default();
    Ok((model, Fixed::of(numbers.iter().filter_map(json::Json::as_number))))
}
