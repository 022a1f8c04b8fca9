//! `authority init`: roots, issuing certificates, role keys and a configuration, for a new authority.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::config::{Publisher, StartDocument};

mod make;

pub use make::{init, issue_tls};

/// Lines of the protocols that gateways judge by. Without them a gateway refuses cards, operations and handshakes.
pub const PROTOCOL_LINES: [&str; 3] = ["a2a", "mcp", "snl"];

/// Options of a new authority.
#[derive(Debug, Clone)]
pub struct InitOptions {
    /// Its name, e.g. `semgate.test`.
    pub authority: String,
    /// The origin of its log; `<authority>/log` where none is given.
    pub origin: Option<String>,
    /// The SPIFFE trust domain of its own identities, e.g. `semgate.test`.
    pub trust_domain: String,
    /// Number of root keys, and of those that must sign for the root: 1 and 1 unless the root is split.
    pub root_keys: u64,
    /// See `root_keys`.
    pub root_threshold: u64,
    /// URN lines that its issuing certificate is delegated, each with those below it; empty delegates all.
    pub lines: Vec<String>,
    /// Documents to publish at each start, where missing, such as [`PROTOCOL_LINES`].
    pub publish_at_start: Vec<StartDocument>,
    /// The publishers.
    pub publishers: Vec<Publisher>,
    /// The public address.
    pub listen: SocketAddr,
    /// The admin address.
    pub admin: SocketAddr,
    /// Lifetime of a head.
    pub status_lifetime: Duration,
    /// DNS names in the server certificate.
    pub server_names: Vec<String>,
    /// IP addresses in the server certificate.
    pub server_addresses: Vec<IpAddr>,
}

/// The result of `init`.
#[derive(Debug, Clone)]
pub struct Initialised {
    /// The configuration file.
    pub config: PathBuf,
    /// PEM roots, for everyone who verifies.
    pub roots: PathBuf,
    /// The first trust list of a split root, signed by all of its keys; to be submitted once the authority runs.
    pub first_list: Option<PathBuf>,
    /// The verifier key of the log, for followers.
    pub log_key: String,
    /// The origin of the log, for followers.
    pub origin: String,
    /// Every file that was written.
    pub written: Vec<PathBuf>,
}

/// The side of TLS that a leaf is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsUse {
    /// A server (may also act as client: a gateway speaks both ways).
    Server,
    /// An agent or an operator.
    Agent,
}

/// A TLS identity to issue.
#[derive(Debug, Clone)]
pub struct TlsRequest {
    /// The side of TLS.
    pub usage: TlsUse,
    /// Its one SPIFFE id.
    pub spiffe: String,
    /// DNS names, for servers.
    pub dns: Vec<String>,
    /// IP addresses, for servers.
    pub addresses: Vec<IpAddr>,
    /// Lifetime, at most 90 days.
    pub lifetime: Duration,
}

/// An issued TLS identity.
#[derive(Debug, Clone)]
pub struct TlsLeaf {
    /// PEM chain, leaf first.
    pub chain_pem: String,
    /// PEM PKCS#8 key; to be stored 0600.
    pub key_pem: String,
}

/// Reason why `init` or `issue_tls` failed.
#[derive(Debug)]
pub enum InitFault {
    /// A file to be written exists; nothing is ever overwritten.
    Exists(PathBuf),
    /// A file could not be read or written.
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// An option cannot be used, or a certificate could not be made.
    Option(String),
}

impl fmt::Display for InitFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists(path) => write!(f, "`{}` exists and is not overwritten", path.display()),
            Self::Io { path, source } => write!(f, "`{}`: {source}", path.display()),
            Self::Option(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for InitFault {}

impl InitOptions {
    /// An authority for every line, named like its trust domain, on free loopback ports, whose operator
    /// (`spiffe://<trust domain>/operator`) has every right.
    #[must_use]
    pub fn on_loopback(authority: &str) -> Self {
        Self {
            authority: authority.to_owned(),
            origin: None,
            trust_domain: authority.to_owned(),
            root_keys: 1,
            root_threshold: 1,
            lines: Vec::new(),
            publish_at_start: Vec::new(),
            publishers: vec![Publisher::of_everything(&format!("spiffe://{authority}/operator"))],
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            admin: SocketAddr::from(([127, 0, 0, 1], 0)),
            status_lifetime: crate::config::STATUS_LIFETIME,
            server_names: vec!["localhost".to_owned()],
            server_addresses: vec![IpAddr::from([127, 0, 0, 1])],
        }
    }
}
