//! Documents that an authority publishes at its start.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use semgate_contexts::library;
use serde::{Deserialize, Serialize};

/// One entry of `publish_at_start`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum StartDocument {
    /// Every version of a line of the shipped library: `a2a`.
    Shipped(String),
    /// A document in a file, with a name that ends in `.json`.
    File(PathBuf),
}

impl TryFrom<String> for StartDocument {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.ends_with(".json") {
            return Ok(Self::File(text.into()));
        }
        let mut lines: Vec<&str> = library::all().iter().map(|(name, _)| library::line_of(name)).collect();
        lines.dedup();
        if lines.contains(&text.as_str()) {
            return Ok(Self::Shipped(text));
        }
        Err(format!(
            "`publish_at_start`: `{text}` is neither a `.json` file nor one of `{}`",
            lines.join("`, `")
        ))
    }
}

impl From<StartDocument> for String {
    fn from(one: StartDocument) -> Self {
        one.to_string()
    }
}

impl fmt::Display for StartDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shipped(line) => f.write_str(line),
            Self::File(path) => path.display().fmt(f),
        }
    }
}
