//! The check of a value under `x-embedding`, and what policies see of it.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::fixed::Fixed;
use super::space::{self, Metric, Space};
use super::{ModelName, References};
use crate::json::{Json, Number};

/// The reason that a value is no vector of a member. Its text is the rule of the refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorFault {
    /// Neither an array nor `{"model", "vector"}`; or an array alone where several models are possible.
    Form,
    /// A model that the member does not list.
    Model,
    /// Another model than the session chose.
    Session,
    /// Another number of components than the model has.
    Dimensions,
    /// A text such as `NaN` or `Infinity` in the place of a number.
    NotFinite,
    /// `null` in the place of a number.
    Null,
    /// Another value in the place of a number.
    NotANumber,
    /// A vector of zeroes where the metric is the cosine, or one of another length than 1 where it is normalized.
    Norm,
}

impl VectorFault {
    /// The rule, such as `x-embedding-dimensions`.
    #[must_use]
    pub const fn rule(self) -> &'static str {
        match self {
            Self::Form => "x-embedding-form",
            Self::Model => "x-embedding-model",
            Self::Session => "x-embedding-session",
            Self::Dimensions => "x-embedding-dimensions",
            Self::NotFinite => "x-embedding-finite",
            Self::Null => "x-embedding-null",
            Self::NotANumber => "x-embedding-number",
            Self::Norm => "x-embedding-norm",
        }
    }

    /// The correction, in words for the sender; `None` for a rule of another keyword.
    #[must_use]
    pub fn advice(rule: &str) -> Option<&'static str> {
        Some(match rule {
            "x-embedding-form" => "send the vector as `{\"model\": NAME, \"vector\": [numbers]}`",
            "x-embedding-model" => "embed with a model that the context lists for this member",
            "x-embedding-session" => {
                "embed with the model that this session chose, or negotiate a session with the other model"
            }
            "x-embedding-dimensions" => "send as many numbers as the context states for the model",
            "x-embedding-finite" => "a vector holds finite numbers: NaN and Infinity are no values of it",
            "x-embedding-null" => "a vector holds a number in every place: some encoders write NaN as `null`",
            "x-embedding-number" => "a vector holds numbers alone",
            "x-embedding-norm" => {
                "send a vector that is not all zeroes, of the length 1 where the context says `normalized`"
            }
            _ => return None,
        })
    }
}

impl fmt::Display for VectorFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule())
    }
}

/// The type of a member under `x-embedding`: the spaces of its vectors, and the reference vectors of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorType {
    spaces: Arc<[Space]>,
    /// Arrays alone are taken, since the schema says `"type": "array"`.
    bare: bool,
    references: Arc<References>,
}

impl VectorType {
    /// The type that a schema with `x-embedding` describes.
    ///
    /// # Errors
    /// The demand on the keyword.
    pub(crate) fn of(value: &Value, bare: bool, references: Arc<References>) -> Result<Self, &'static str> {
        let spaces = space::read(value)?;
        if bare && spaces.len() > 1 {
            return Err(
                "of one model beside `\"type\": \"array\"`: a vector of several models is `{\"model\", \"vector\"}`",
            );
        }
        Ok(Self { spaces: spaces.into(), bare, references })
    }

    /// The type of arrays of one space.
    pub(super) fn alone(space: Space) -> Self {
        Self { spaces: [space].into(), bare: true, references: Arc::default() }
    }

    /// The spaces, in the order of the document.
    #[must_use]
    pub fn spaces(&self) -> &[Space] {
        &self.spaces
    }

    /// The names of the reference vectors that vectors of this member can be compared with, sorted.
    pub fn reference_names(&self) -> impl Iterator<Item = &str> {
        self.references
            .names()
            .filter(|name| self.spaces.iter().any(|space| self.references.has(name, space.model)))
    }

    /// Checks a value: form, model, length, numbers, norm, in this order. `session` is the one model that the message may use; `charge` is
    /// called before each component and ends the check when it is false.
    ///
    /// # Errors
    /// The first [`VectorFault`].
    pub(crate) fn judge(
        &self,
        value: &Json<'_>,
        session: Option<ModelName>,
        charge: impl Fn() -> bool,
    ) -> Result<(), VectorFault> {
        let (space, components) = self.parts(value)?;
        if session.is_some_and(|session| session != space.model) {
            return Err(VectorFault::Session);
        }
        if components.len() != usize::from(space.dimensions) {
            return Err(VectorFault::Dimensions);
        }
        for component in components {
            match component {
                _ if !charge() => return Err(VectorFault::Form),
                Json::Number(_) => {}
                Json::Null => return Err(VectorFault::Null),
                Json::String(text) if is_not_finite(text) => return Err(VectorFault::NotFinite),
                _ => return Err(VectorFault::NotANumber),
            }
        }
        let fixed = Fixed::of(numbers(components));
        let directed = space.metric != Metric::Cosine || !fixed.is_zero();
        if directed && (!space.normalized || fixed.is_unit()) { Ok(()) } else { Err(VectorFault::Norm) }
    }

    fn parts<'v, 'j>(&self, value: &'v Json<'j>) -> Result<(&Space, &'v [Json<'j>]), VectorFault> {
        match value {
            Json::Array(components) => match &*self.spaces {
                [space] => Ok((space, components)),
                _ => Err(VectorFault::Form),
            },
            Json::Object(members) if !self.bare && members.len() == 2 => {
                let model = members.get("model").and_then(Json::as_str).ok_or(VectorFault::Form)?;
                let components = members.get("vector").and_then(Json::as_array).ok_or(VectorFault::Form)?;
                let space = self.spaces.iter().find(|space| space.model.as_str() == model);
                Ok((space.ok_or(VectorFault::Model)?, components))
            }
            _ => Err(VectorFault::Form),
        }
    }

    /// The model of a value that was checked; `None` for any other.
    #[must_use]
    pub fn model(&self, value: &Json<'_>) -> Option<ModelName> {
        self.parts(value).ok().map(|(space, _)| space.model)
    }

    /// The similarity of a checked value to each reference vector of its own model, by name: −1000 to 1000, by the metric of the model.
    /// Empty for a value that is no vector of this member. Nothing is compared across models.
    #[must_use]
    pub fn similarities(&self, value: &Json<'_>) -> Vec<(&str, i64)> {
        let Ok((space, components)) = self.parts(value) else { return Vec::new() };
        if components.len() != usize::from(space.dimensions) || self.references.is_empty() {
            return Vec::new();
        }
        let own = Fixed::of(numbers(components));
        let measure = |other: &Fixed| match space.metric {
            Metric::Cosine => own.cosine(other),
            Metric::Dot => own.dot(other),
            Metric::Euclidean => own.closeness(other),
        };
        self.references.of(space.model).map(|(name, other)| (name, measure(other))).collect()
    }
}

/// The numbers among these values.
fn numbers<'v>(components: &'v [Json<'v>]) -> impl Iterator<Item = &'v Number<'v>> + Clone {
    components.iter().filter_map(Json::as_number)
}

/// Returns true for the texts that encoders write in the place of a number that is not finite.
fn is_not_finite(text: &str) -> bool {
    let bare = text.trim_start_matches(['+', '-']);
    ["nan", "inf", "infinity"].iter().any(|known| bare.eq_ignore_ascii_case(known))
}
