//! Credentials that an agent shows, besides those that `entities.json` gives it: each has a name in a space of its own and an end.

use std::fmt;
use std::sync::Arc;

use semgate_contexts::Digest;

/// The beginning of names that were read from a verified certificate.
pub const CERTIFICATE_SPACE: &str = "cert:";

/// The beginning of names that a token vouches for.
pub const TOKEN_SPACE: &str = "token:";

/// Returns true if a name belongs to what agents show, so that `entities.json` must not give it: nothing that an operator wrote down can pass
/// for something that was verified, nor the other way round.
#[must_use]
pub fn is_shown(name: &str) -> bool {
    name.starts_with(CERTIFICATE_SPACE) || name.starts_with(TOKEN_SPACE)
}

/// The credentials that an agent shows beyond its identity, from its certificate and from a token. Cheap to clone.
///
/// A credential is held up to the second at which it expires, and not at that second.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Credentials(Option<Arc<Held>>);

#[derive(PartialEq, Eq, Hash)]
struct Held {
    /// Sorted by name; each name once.
    names: Box<[(Box<str>, u64)]>,
    digest: u128,
}

/// The seconds within which the same of some credentials are held: from the first on, before the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub from: u64,
    pub until: u64,
}

impl Window {
    /// Any time.
    pub const ALWAYS: Self = Self { from: 0, until: u64::MAX };

    /// Returns true if a time is within it.
    pub const fn holds(self, now: u64) -> bool {
        self.from <= now && now < self.until
    }

    /// The credentials within both.
    pub fn and(self, other: Self) -> Self {
        Self { from: self.from.max(other.from), until: self.until.min(other.until) }
    }
}

impl Credentials {
    /// None.
    pub const NONE: Self = Self(None);

    /// These, each with the second (since the Unix epoch) from which on it is no longer held. Of a name that comes twice the earlier
    /// end counts.
    pub fn new(names: impl IntoIterator<Item = (String, u64)>) -> Self {
        let names = names.into_iter().map(|(name, until)| (name.into_boxed_str(), until));
        let mut names: Vec<(Box<str>, u64)> = names.collect();
        names.sort();
        names.dedup_by(|later, first| later.0 == first.0);
        if names.is_empty() {
            return Self::NONE;
        }
        let mut bytes = Vec::new();
        for (name, until) in &names {
            bytes.extend_from_slice(&(name.len() as u64).to_be_bytes());
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(&until.to_be_bytes());
        }
        let digest = Digest::of(&bytes).as_bytes().first_chunk().copied().map_or(0, u128::from_be_bytes);
        Self(Some(Arc::new(Held { names: names.into(), digest })))
    }

    /// These and others.
    #[must_use]
    pub fn and(&self, others: &Self) -> Self {
        match (&self.0, &others.0) {
            (_, None) => self.clone(),
            (None, _) => others.clone(),
            (Some(own), Some(more)) => {
                Self::new(own.names.iter().chain(&more.names).map(|(name, until)| (name.to_string(), *until)))
            }
        }
    }

    /// Every name with its end, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().flat_map(|held| &held.names).map(|(name, until)| (&**name, *until))
    }

    /// The names that are held at a time.
    pub fn held(&self, now: u64) -> impl Iterator<Item = &str> {
        self.iter().filter(move |(_, until)| now < *until).map(|(name, _)| name)
    }

    /// Returns true if there is none, held or not.
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Tells any two apart that differ in a name or an end; 0 for none.
    pub(crate) fn digest(&self) -> u128 {
        self.0.as_ref().map_or(0, |held| held.digest)
    }

    /// The time around `now` in which none of them ends.
    pub(crate) fn window(&self, now: u64) -> Window {
        let mut window = Window::ALWAYS;
        for (_, until) in self.iter() {
            if until <= now {
                window.from = window.from.max(until);
            } else {
                window.until = window.until.min(until);
            }
        }
        window
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests;
