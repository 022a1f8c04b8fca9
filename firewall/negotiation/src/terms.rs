//! The terms of a handshake: offers, features, minimums.

#[cfg(test)]
mod tests;

use crate::limits::{MAX_FEATURE_BYTES, MAX_FEATURES};
use semgate_contexts::{ContextUrn, Digest, Line, ModelName, Version};
use std::collections::BTreeSet;
use std::fmt;

/// Names of features, sorted by their bytes and each once, so that a set has one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features(Vec<Box<str>>);

/// A list is no set of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeaturesFault {
    /// More than [`MAX_FEATURES`].
    TooMany,
    /// A name is empty, too long, or holds more than letters, digits, `.`, `_`, `:`, `/` and `-`; or `embedding:` stands before no model.
    Name,
    /// Not in the order of their bytes, or one is present twice.
    Order,
    /// A choice with more than one embedding model.
    SeveralModels,
}

impl fmt::Display for FeaturesFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooMany => "there are more features than the limit",
            Self::Name => "the name of a feature is not valid",
            Self::Order => "features are not sorted by bytes without repetition",
            Self::SeveralModels => "the choice names more than one embedding model",
        })
    }
}

impl std::error::Error for FeaturesFault {}

impl Features {
    /// No features.
    pub fn none() -> Self {
        Self::default()
    }

    /// Takes names in the order of their bytes, each once.
    ///
    /// # Errors
    /// [`FeaturesFault`].
    pub fn sorted<'f>(names: impl IntoIterator<Item = &'f str>) -> Result<Self, FeaturesFault> {
        let mut features: Vec<Box<str>> = Vec::new();
        for name in names {
            if features.len() == MAX_FEATURES {
                return Err(FeaturesFault::TooMany);
            }
            if !is_feature(name) {
                return Err(FeaturesFault::Name);
            }
            if features.last().is_some_and(|last| &**last >= name) {
                return Err(FeaturesFault::Order);
            }
            features.push(name.into());
        }
        Ok(Self(features))
    }

    /// The names in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|name| &**name)
    }

    /// The features that both have.
    pub fn common(&self, other: &Self) -> Self {
        Self(self.0.iter().filter(|name| other.0.contains(name)).cloned().collect())
    }

    /// The features for these embedding models, for an offer.
    ///
    /// # Errors
    /// [`FeaturesFault::TooMany`] for more than [`MAX_FEATURES`].
    pub fn of_models(models: impl IntoIterator<Item = ModelName>) -> Result<Self, FeaturesFault> {
        let names: BTreeSet<String> = models.into_iter().map(|model| format!("{EMBEDDING}{model}")).collect();
        Self::sorted(names.iter().map(String::as_str))
    }

    /// The embedding models among the features, by name.
    pub fn models(&self) -> impl Iterator<Item = ModelName> {
        self.iter().filter_map(|name| ModelName::parse(name.strip_prefix(EMBEDDING)?).ok())
    }

    /// The one embedding model of a choice; `None` where none was chosen.
    ///
    /// # Errors
    /// [`FeaturesFault::SeveralModels`].
    pub fn model(&self) -> Result<Option<ModelName>, FeaturesFault> {
        let mut models = self.models();
        match (models.next(), models.next()) {
            (model, None) => Ok(model),
            _ => Err(FeaturesFault::SeveralModels),
        }
    }

    /// The same with the first embedding model alone: the choice among those that both have.
    pub(crate) fn with_one_model(self) -> Self {
        let mut chosen = false;
        let mut keep = |name: &str| !name.starts_with(EMBEDDING) || !std::mem::replace(&mut chosen, true);
        Self(self.0.into_iter().filter(|name| keep(name)).collect())
    }

    /// The first feature that the other does not have.
    pub fn missing_from(&self, other: &Self) -> Option<&str> {
        self.iter().find(|name| !other.iter().any(|theirs| theirs == *name))
    }
}

/// The beginning of a feature that names an embedding model (F0-52).
const EMBEDDING: &str = "embedding:";

fn is_feature(name: &str) -> bool {
    let model = name.strip_prefix(EMBEDDING).is_none_or(|model| ModelName::parse(model).is_ok());
    model
        && (1..=MAX_FEATURE_BYTES).contains(&name.len())
        && name.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'/' | b'-'))
}

/// A context that a party can speak. Offers hold contexts that count now and are not deprecated; their maker checks this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its URN.
    pub urn: ContextUrn,
    /// The digest that its authority published.
    pub digest: Digest,
    /// The features that the party supports beyond those of every speaker.
    pub features: Features,
}

/// The lowest version of a line that a party takes (F0-39).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minimum {
    /// The line.
    pub line: Line,
    /// The lowest version.
    pub min: Version,
}

/// The minimum that a list states for a line, in any case of letters: no authority publishes two lines that differ in case
/// alone.
pub fn minimum_of(minimums: &[Minimum], line: &Line) -> Option<Version> {
    minimums.iter().filter(|minimum| minimum.line.folds_with(line)).map(|minimum| minimum.min).max()
}
