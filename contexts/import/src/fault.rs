//! Refusals of an import.

use std::fmt::{self, Display};

/// An import that gives no draft: one line, and often the remedy. Holds no value of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportFault {
    /// The reason.
    pub what: String,
    /// The remedy.
    pub hint: Option<String>,
}

impl ImportFault {
    /// A refusal for this reason.
    pub fn new(what: impl Display) -> Self {
        Self { what: what.to_string(), hint: None }
    }

    /// Adds the remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }
}

impl Display for ImportFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for ImportFault {}
