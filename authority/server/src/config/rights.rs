//! Publishers and their four separate rights (publish, revoke, floor, override), each a list of line patterns.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A set of URN lines. Lines match as written, label by label; `acme.*` covers everything below `acme`, not `acme` itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LinePattern {
    /// `*`: every line.
    Every,
    /// `acme.*`: every line that begins with these labels and has at least one more.
    Below(String),
    /// `acme.logistics`: this line only.
    Exactly(String),
}

impl LinePattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// The text is neither `*`, nor a line, nor a line followed by `.*`.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::Every);
        }
        let (line, below) = match text.strip_suffix(".*") {
            Some(line) => (line, true),
            None => (text, false),
        };
        if let Err(fault) = semgate_contexts::Line::parse(line) {
            return Err(format!("`{text}` is not a line pattern: {fault}"));
        }
        Ok(if below { Self::Below(line.to_owned()) } else { Self::Exactly(line.to_owned()) })
    }

    /// Returns true if `line` is in the set.
    #[must_use]
    pub fn covers(&self, line: &str) -> bool {
        match self {
            Self::Every => true,
            Self::Exactly(exact) => exact == line,
            Self::Below(head) => line.strip_prefix(head.as_str()).is_some_and(|rest| rest.starts_with('.')),
        }
    }
}

impl fmt::Display for LinePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every => f.write_str("*"),
            Self::Below(head) => write!(f, "{head}.*"),
            Self::Exactly(line) => f.write_str(line),
        }
    }
}

impl TryFrom<String> for LinePattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<LinePattern> for String {
    fn from(pattern: LinePattern) -> Self {
        pattern.to_string()
    }
}

/// A publisher, known by the SPIFFE id of its client certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Publisher {
    /// The SPIFFE id, compared byte for byte.
    pub id: String,
    /// Lines whose contexts this publisher may publish.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub publish: Vec<LinePattern>,
    /// Lines whose contexts this publisher may revoke, suspend, resume and retire.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub revoke: Vec<LinePattern>,
    /// Lines whose floor this publisher may raise.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub floor: Vec<LinePattern>,
    /// Lines on which this publisher may sign permissions for versions that break or are not proven.
    #[serde(default, rename = "override")]
    #[schemars(with = "Vec<String>")]
    pub overrides: Vec<LinePattern>,
}

impl Publisher {
    /// A publisher with every right on every line: `init` writes it for the operator.
    #[must_use]
    pub fn of_everything(id: &str) -> Self {
        let every = || vec![LinePattern::Every];
        Self { id: id.to_owned(), publish: every(), revoke: every(), floor: every(), overrides: every() }
    }
}
