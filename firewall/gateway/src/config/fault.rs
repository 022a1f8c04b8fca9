//! Why a configuration is refused.

use std::fmt;
use std::path::PathBuf;

/// One line for the operator, naming the key and never the value of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigFault {
    /// The file cannot be read.
    Read {
        /// Which.
        path: PathBuf,
        /// The system's word for it.
        what: String,
    },
    /// No TOML, an unknown key, a missing key or a value of the wrong kind.
    Syntax {
        /// The line, from 1; 0 if unknown.
        line: usize,
        /// What.
        what: String,
    },
    /// A value that is not in its form or bounds.
    Value {
        /// Its key, with the table's name.
        key: String,
        /// What it must be.
        must: String,
    },
    /// A listener or upstream without TLS that is not local (F0-60).
    PlainText {
        /// Its key.
        key: String,
    },
    /// Two tables with one name, one address or one line.
    Twice {
        /// Its key.
        key: String,
        /// The value that is there twice.
        what: String,
    },
    /// Something that another setting needs is not there.
    Missing {
        /// Its key.
        key: String,
        /// What needs it.
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
