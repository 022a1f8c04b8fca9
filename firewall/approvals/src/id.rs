//! Names: of a hold, and of a person.

use std::fmt;
use std::sync::Arc;

use data_encoding::BASE32_NOPAD;
use serde::{Deserialize, Serialize};

/// The name of one request to a person: 26 characters of lower-case base32, from 128 random bits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HoldId(Arc<str>);

impl HoldId {
    /// The name of these random bits.
    pub fn of(random: u128) -> Self {
        Self(BASE32_NOPAD.encode(&random.to_be_bytes()).to_ascii_lowercase().into())
    }

    /// Reads the text form.
    pub fn parse(text: &str) -> Option<Self> {
        let known = |c: u8| c.is_ascii_lowercase() || (b'2'..=b'7').contains(&c);
        (text.len() == 26 && text.bytes().all(known)).then(|| Self(text.into()))
    }

    /// The text form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HoldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for HoldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of a person, `human://bob.sre` (F1-02): labels of lower-case letters, digits and inner hyphens, joined by dots.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HumanId(Arc<str>);

/// Scheme of a person's id.
const SCHEME: &str = "human://";
/// Bytes of the name: that of a host.
const MAX_NAME: usize = 253;
/// Bytes of a label.
const MAX_LABEL: usize = 63;

impl HumanId {
    /// Reads an id; the scheme is required.
    pub fn parse(text: &str) -> Option<Self> {
        let name = text.strip_prefix(SCHEME)?;
        let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        let label = |label: &str| {
            let ends = label.starts_with('-') || label.ends_with('-');
            (1..=MAX_LABEL).contains(&label.len()) && !ends && label.bytes().all(inner)
        };
        (name.len() <= MAX_NAME && name.split('.').all(label)).then(|| Self(text.into()))
    }

    /// The whole id, scheme included.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id without its scheme: `bob.sre`.
    pub fn name(&self) -> &str {
        self.0.strip_prefix(SCHEME).unwrap_or_default()
    }
}

impl TryFrom<String> for HumanId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or_else(|| "must be an id such as `human://bob.sre`".to_owned())
    }
}

impl From<HumanId> for String {
    fn from(id: HumanId) -> Self {
        id.0.as_ref().to_owned()
    }
}

impl fmt::Display for HumanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for HumanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
