//! Reasons why an authority did not start, or stopped.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use semgate_certs::KeyFault;

/// Reason why [`run`](crate::run) or an offline job ended. The text is one line, for an operator.
#[derive(Debug)]
pub enum RunFault {
    /// Another process holds the lock file of this state directory.
    Locked(PathBuf),
    /// A file or directory could not be read or written.
    Io {
        /// The operation, e.g. ``reading``.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The log, a document or a certificate on disk is damaged; nothing is repaired by guessing.
    Damaged {
        /// The damaged file.
        path: PathBuf,
        /// The damage.
        what: String,
    },
    /// A required file is missing; the text says what to do about it.
    Missing {
        /// The file.
        path: PathBuf,
        /// The consequence, and the remedy.
        what: String,
    },
    /// A key, certificate or chain of the configuration cannot be used.
    Keys {
        /// The file.
        path: PathBuf,
        /// The reason.
        what: String,
    },
    /// An address could not be bound.
    Bind {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The configuration asks for something impossible.
    Config(String),
    /// A key did not sign now; nothing was written, and it is tried again.
    Signer {
        /// The role of the key.
        role: &'static str,
        /// The reason.
        fault: KeyFault,
    },
    /// The thread that writes the log has ended; the text gives the reason.
    Stopped(String),
}

impl RunFault {
    /// An I/O fault with the file that it concerns.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { doing, path, source }
    }

    /// Returns `true` if the disk had no room for the write.
    pub(crate) fn is_no_room(&self) -> bool {
        use io::ErrorKind as Kind;
        matches!(self, Self::Io { source, .. }
            if matches!(source.kind(), Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge))
    }

    /// A damaged file.
    pub(crate) fn damaged(path: &Path, what: impl fmt::Display) -> Self {
        Self::Damaged { path: path.to_path_buf(), what: what.to_string() }
    }

    /// An unusable key or certificate.
    pub(crate) fn keys(path: &Path, what: impl fmt::Display) -> Self {
        Self::Keys { path: path.to_path_buf(), what: what.to_string() }
    }
}

impl fmt::Display for RunFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked(path) => write!(f, "another authority uses `{}`", path.display()),
            Self::Io { doing, path, source } => write!(f, "{doing} `{}`: {source}", path.display()),
            Self::Damaged { path, what } => write!(f, "`{}` is damaged: {what}", path.display()),
            Self::Missing { path, what } => write!(f, "`{}` is missing: {what}", path.display()),
            Self::Keys { path, what } => write!(f, "`{}` cannot be used: {what}", path.display()),
            Self::Bind { address, source } => write!(f, "cannot listen on `{address}`: {source}"),
            Self::Signer { role, fault } => write!(f, "the {role} key did not sign: {fault}"),
            Self::Config(what) => write!(f, "configuration: {what}"),
            Self::Stopped(what) => write!(f, "the authority stopped: {what}"),
        }
    }
}

impl std::error::Error for RunFault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } | Self::Bind { source, .. } => Some(source),
            _ => None,
        }
    }
}
