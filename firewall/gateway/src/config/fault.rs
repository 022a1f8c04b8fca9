//! Reasons for refusing a configuration.

use std::fmt;
use std::path::PathBuf;

/// One line for the operator. It names the key and never the value of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigFault {
    /// The file cannot be read.
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The system's error message.
        what: String,
    },
    /// Invalid TOML, an unknown key, a missing key or a value of the wrong type.
    Syntax {
        /// Line number, from 1; 0 if unknown.
        line: usize,
        /// The parser's message.
        what: String,
    },
    /// A value in the wrong form or out of bounds.
    Value {
        /// Key with the table's name.
        key: String,
        /// Required form or bounds.
        must: String,
    },
    /// A listener or upstream without TLS that is not local.
    PlainText {
        /// Key of the address.
        key: String,
    },
    /// Two tables with the same name, address or line.
    Twice {
        /// Key of the second value.
        key: String,
        /// The repeated value.
        what: String,
    },
    /// A setting that another setting requires is missing.
    Missing {
        /// Key of the missing setting.
        key: String,
        /// The setting that requires it.
        needed: String,
    },
}

impl ConfigFault {
    pub(super) fn value(key: impl Into<String>, must: impl Into<String>) -> Self {
        Self::Value { key: key.into(), must: must.into() }
    }

    pub(super) fn syntax(fault: &toml::de::Error, text: &str) -> Self {
        let at = fault.span().map(|span| span.start);
        let before = at.and_then(|at| text.get(..at));
        let line =
            before.map_or(0, |before| before.bytes().filter(|b| *b == b'\n').count().saturating_add(1));
        Self::Syntax { line, what: fault.message().lines().next().unwrap_or_default().to_owned() }
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, what } => write!(f, "cannot read `{}`: {what}", path.display()),
            Self::Syntax { line, what } => write!(f, "line {line}: {what}"),
            Self::Value { key, must } => write!(f, "`{key}` must be {must}"),
            Self::PlainText { key } => {
                write!(f, "`{key}` is without tls and not on loopback or a unix socket")
            }
            Self::Twice { key, what } => write!(f, "`{key}` names `{what}` twice"),
            Self::Missing { key, needed } => write!(f, "`{key}` is missing: {needed}"),
        }
    }
}

impl std::error::Error for ConfigFault {}
