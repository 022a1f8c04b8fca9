//! Reasons why a gateway does not start, or stops by itself.

use std::fmt;
use std::path::PathBuf;

/// One line for the operator. A gateway that cannot do its whole job does not run.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunFault {
    /// An unusable file of the configuration.
    File {
        /// Path of the file.
        path: PathBuf,
        /// Purpose of the file.
        what: &'static str,
        /// The fault.
        why: String,
    },
    /// Missing, empty or invalid policies. The faults are joined by `; `.
    Policies {
        /// The directory or bundle of the policies.
        path: PathBuf,
        /// The faults.
        why: String,
    },
    /// The required policy bundle is unreadable, or refused before its contents are checked.
    Bundle {
        /// Path of the bundle.
        path: PathBuf,
        /// Reason and remedy.
        why: String,
    },
    /// An address cannot be bound.
    Bind {
        /// The address as configured.
        address: String,
        /// The system's error message.
        why: String,
    },
    /// TLS cannot be set up.
    Tls {
        /// The fault.
        why: String,
    },
    /// A thread, a runtime or the system's random source failed.
    System {
        /// The failing part and the reason.
        why: String,
    },
}

impl fmt::Display for RunFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, what, why } => write!(f, "{what} `{}`: {why}", path.display()),
            Self::Policies { path, why } => write!(f, "policies `{}`: {why}", path.display()),
            Self::Bundle { path, why } => write!(f, "policy bundle `{}`: {why}", path.display()),
            Self::Bind { address, why } => write!(f, "cannot listen on `{address}`: {why}"),
            Self::Tls { why } => write!(f, "tls: {why}"),
            Self::System { why } => write!(f, "system: {why}"),
        }
    }
}

impl std::error::Error for RunFault {}

impl RunFault {
    pub(crate) fn system(what: &str, why: impl fmt::Display) -> Self {
        Self::System { why: format!("{what}: {why}") }
    }
}
