//! Vector spaces: a model with its dimensions and its metric, as a context names them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::ModelName;

/// The most dimensions of a vector: common models have 256 to 4,096.
pub const MAX_DIMENSIONS: u16 = 4_096;

/// Models of one member, and of one document: as many as one handshake could offer beside other features.
pub(crate) const MAX_MODELS: usize = 16;

/// The measure of how close two vectors of one model are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// The cosine of the angle: a vector of zeroes has none, so it is refused.
    Cosine,
    /// The dot product.
    Dot,
    /// The Euclidean distance.
    Euclidean,
}

/// The space of one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Space {
    /// The model.
    pub model: ModelName,
    /// Components of each vector, 1 to [`MAX_DIMENSIONS`].
    pub dimensions: u16,
    /// Its metric.
    pub metric: Metric,
    /// Every vector has the length 1: the square of its length lies within 0.999 … 1.001.
    pub normalized: bool,
}

/// Every space of a document, by its model.
pub(crate) type Spaces = BTreeMap<ModelName, Space>;

/// The demand on the value of `x-embedding`.
pub(super) const MUST: &str = "`{\"model\", \"dimensions\", \"metric\"}` with 1 to 4,096 dimensions, the metric `cosine`, `dot` or `euclidean`, and optionally \
     `\"normalized\": true`; or a list of 1 to 16 of these, each of another model";

impl Space {
    fn read(value: &Value) -> Option<Self> {
        let map = value.as_object()?;
        if map.keys().any(|name| !["model", "dimensions", "metric", "normalized"].contains(&name.as_str())) {
            return None;
        }
        let dimensions = u16::try_from(map.get("dimensions")?.as_u64()?).ok()?;
        Some(Self {
            model: ModelName::parse(map.get("model")?.as_str()?).ok()?,
            dimensions: Some(dimensions).filter(|count| (1..=MAX_DIMENSIONS).contains(count))?,
            metric: match map.get("metric")?.as_str()? {
                "cosine" => Metric::Cosine,
                "dot" => Metric::Dot,
                "euclidean" => Metric::Euclidean,
                _ => return None,
            },
            normalized: map.get("normalized").map_or(Some(false), Value::as_bool)?,
        })
    }

    /// Plain JSON Schema for a vector of this space. Of normalized vectors it takes one alone: spaces are compared by name, so any stands
    /// for all. It takes one alone of a model among `apart`, another one for each of them.
    fn vector(&self, apart: &[ModelName]) -> Value {
        let own = apart.iter().position(|model| *model == self.model);
        if self.normalized || own.is_some() {
            let mut one = vec![json!(0); usize::from(self.dimensions)];
            if let Some(first) = one.first_mut() {
                // two documents have at most 32 models, so the length stays near enough to 1
                *first = own.map_or(json!(1), |index| json!(1.0 + (index + 1) as f64 / 1_000_000.0));
            }
            return json!({ "const": one });
        }
        let length = self.dimensions;
        let mut schema =
            json!({ "type": "array", "items": { "type": "number" }, "minItems": length, "maxItems": length });
        if let (Metric::Cosine, Some(map)) = (self.metric, schema.as_object_mut()) {
            map.insert("contains".to_owned(), json!({ "not": { "const": 0 } }));
        }
        schema
    }

    /// The space in words for people.
    #[must_use]
    pub fn words(&self) -> String {
        let metric = match self.metric {
            Metric::Cosine => "cosine",
            Metric::Dot => "dot",
            Metric::Euclidean => "euclidean",
        };
        let normalized = if self.normalized { ", normalized" } else { "" };
        format!("{} dimensions, {metric}{normalized}", self.dimensions)
    }
}

/// The spaces of the value of an `x-embedding`.
///
/// # Errors
/// The demand on it.
pub(crate) fn read(value: &Value) -> Result<Vec<Space>, &'static str> {
    let spaces: Option<Vec<Space>> = match value {
        Value::Array(list) if list.len() <= MAX_MODELS => list.iter().map(Space::read).collect(),
        one => Space::read(one).map(|space| vec![space]),
    };
    let spaces = spaces.filter(|spaces| !spaces.is_empty()).ok_or(MUST)?;
    let models: std::collections::BTreeSet<ModelName> = spaces.iter().map(|space| space.model).collect();
    if models.len() == spaces.len() { Ok(spaces) } else { Err(MUST) }
}

/// Plain JSON Schema in the place of `x-embedding`, by which two versions are compared. It accepts what the keyword accepts, except that
/// one normalized vector stands for all. So does one vector of each model `apart`: by it a comparison sees the models of vectors that do not
/// name theirs.
pub(crate) fn equivalent(spaces: &[Space], bare: bool, apart: &[ModelName]) -> Value {
    let named = spaces.iter().map(|space| {
        let members = json!({ "model": { "const": space.model.as_str() }, "vector": space.vector(apart) });
        json!({ "type": "object", "properties": members, "required": ["model", "vector"], "additionalProperties": false })
    });
    let alone = || spaces.first().filter(|_| spaces.len() == 1).map(|space| space.vector(apart));
    let branches: Vec<Value> =
        if bare { alone().into_iter().collect() } else { alone().into_iter().chain(named).collect() };
    Value::Object(Map::from_iter([("anyOf".to_owned(), Value::Array(branches))]))
}
