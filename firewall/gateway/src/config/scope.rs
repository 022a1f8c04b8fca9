//! Contexts that a receiver understands.

use std::fmt;

use semgate_contexts::{Line, Version};
use semgate_inspect::LineScope;

/// A context or a range of them: `*`, `payment`, `payment:v2` or `payment:v1.1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContextScope {
    /// Every line.
    Any,
    /// Every version of a line.
    Line(Line),
    /// Every minor version of one major.
    Major(Line, u32),
    /// One version.
    Exact(Line, Version),
}

impl ContextScope {
    /// Converts to the inspector's form.
    pub(crate) fn for_route(&self) -> LineScope {
        match self {
            Self::Any => LineScope::All,
            Self::Line(line) => LineScope::Line(line.clone()),
            Self::Major(line, major) => LineScope::Major(line.clone(), *major),
            Self::Exact(line, version) => LineScope::Exact(line.clone(), *version),
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::Any);
        }
        let Some((line, version)) = text.split_once(':') else {
            return Line::parse(text).ok().map(Self::Line);
        };
        let line = Line::parse(line).ok()?;
        if let Ok(version) = Version::parse(version) {
            return Some(Self::Exact(line, version));
        }
        // a bare major is parsed as a version with minor 0
        let version = Version::parse(&format!("{version}.0")).ok()?;
        Some(Self::Major(line, version.major))
    }
}

impl fmt::Display for ContextScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Line(line) => f.write_str(line.as_str()),
            Self::Major(line, major) => write!(f, "{}:v{major}", line.as_str()),
            Self::Exact(line, version) => write!(f, "{}:{version}", line.as_str()),
        }
    }
}
