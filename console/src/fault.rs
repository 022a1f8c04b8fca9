//! Reasons for refusing a configuration, or for ending.

use std::fmt;
use std::path::{Path, PathBuf};

/// One line for the operator about `console.toml`. It names the key and never the value of a secret.
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
    /// Invalid TOML, an unknown key, an invalid value, or settings that disagree.
    Wrong {
        /// Line number, from 1; 0 if several lines disagree.
        line: usize,
        /// Column in characters, from 1; 0 if several lines disagree.
        column: usize,
        /// The key, and the required form.
        what: String,
    },
}

impl ConfigFault {
    /// Settings that disagree, or a value in the wrong form.
    pub(crate) fn rule(what: impl fmt::Display) -> Self {
        Self::Wrong { line: 0, column: 0, what: what.to_string() }
    }

    /// The fault of a parser in this text.
    pub(crate) fn parsed(fault: &toml::de::Error, text: &str) -> Self {
        let what = fault.message().lines().next().unwrap_or_default().to_owned();
        let Some(span) = fault.span() else { return Self::rule(what) };
        let before = text.get(..span.start).unwrap_or_default();
        let line = before.bytes().filter(|byte| *byte == b'\n').count().saturating_add(1);
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count().saturating_add(1);
        Self::Wrong { line, column, what }
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, what } => write!(f, "cannot read `{}`: {what}", path.display()),
            Self::Wrong { line: 0, what, .. } => f.write_str(what),
            Self::Wrong { line, what, .. } => write!(f, "line {line}: {what}"),
        }
    }
}

impl std::error::Error for ConfigFault {}

/// The reason that the console did not start, or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunFault {
    /// A file cannot be read, or does not hold what it should.
    #[error("`{path}`: {what}")]
    File {
        /// Its path.
        path: String,
        /// The reason, without its content.
        what: String,
    },
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {what}")]
    Bind {
        /// The address.
        address: std::net::SocketAddr,
        /// The system's error message.
        what: String,
    },
    /// The system gives no randomness, or the configuration of TLS is impossible.
    #[error("{0}")]
    System(String),
}

impl RunFault {
    /// The fault of a file.
    pub(crate) fn file(path: &Path, what: impl fmt::Display) -> Self {
        Self::File { path: path.display().to_string(), what: what.to_string() }
    }
}
