//! Why a gateway does not start, or ends by itself.

use std::fmt;
use std::path::PathBuf;

/// One line for the operator. A gateway that cannot do all of its job does none of it (`docs/design/firewall.md` §2).
#[derive(Debug)]
#[non_exhaustive]
pub enum RunFault {
    /// A file that the configuration names cannot be used.
    File {
        /// Which.
        path: PathBuf,
        /// What it is for.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The policies are missing, empty, or do not load; each fault on its own line is joined by `; `.
    Policies {
        /// The directory, or the bundle that holds them.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The signed bundle of policies that is demanded cannot be read, or is refused before what it holds is looked at.
    Bundle {
        /// The file.
        path: PathBuf,
        /// Why, and what is to be done about it.
        why: String,
    },
    /// An address cannot be bound.
    Bind {
        /// The address as configured.
        address: String,
        /// The system's word for it.
        why: String,
    },
    /// TLS cannot be set up.
    Tls {
        /// What is wrong.
        why: String,
    },
    /// A thread, a runtime or the random source of the system failed.
    System {
        /// Which, and why.
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
