//! The terms of a handshake: offers, features, minimums.

#[cfg(test)]
mod tests;

use crate::limits::{MAX_FEATURE_BYTES, MAX_FEATURES};
use semgate_contexts::{ContextUrn, Digest, Line, Version};
use std::fmt;

/// Names of features, sorted by their bytes and each once, so that a set has one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features(Vec<Box<str>>);

/// A list is no set of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeaturesFault {
    /// More than [`MAX_FEATURES`].
    TooMany,
    /// A name is empty, too long, or holds more than letters, digits, `.`, `_`, `:`, `/` and `-`.
    Name,
    /// Not in the order of their bytes, or one is present twice.
    Order,
}

impl fmt::Display for FeaturesFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooMany => "there are more features than the limit",
            Self::Name => "the name of a feature is not valid",
            Self::Order => "features are not sorted by bytes without repetition",
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

    /// The first feature that the other does not have.
    pub fn missing_from(&self, other: &Self) -> Option<&str> {
        self.iter().find(|name| !other.iter().any(|theirs| theirs == *name))
    }
}

fn is_feature(name: &str) -> bool {
    (1..=MAX_FEATURE_BYTES).contains(&name.len())
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
