//! `firewall.toml`: parsed strictly, checked as a whole, and printed with every default filled in. This module binds no port,
//! opens no key and makes no connection. [`check`](crate::check) does the next step and still binds no port.

mod address;
mod carries;
mod choices;
mod fault;
mod issuer;
mod kinds;
mod limits;
mod push;
mod raw;
mod retired;
mod rules;
mod scope;
mod span;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use semgate_contexts::{Line, Prefix, Version};
use semgate_policies::{Keep, KeepAs};

pub use address::{Listen, Place, Upstream};
pub use choices::{Admit, CardChoice, GroupChoice, HandshakeChoice, RouteChoices, StreamChoices, Transport};
pub use fault::ConfigFault;
pub use issuer::CredentialIssuer;
pub use limits::Limits;
pub use push::PushConfig;
pub use scope::ContextScope;

/// Default `max_status_age` of an authority. The follower refuses heads with a longer lifetime.
pub const MAX_STATUS_AGE: Duration = Duration::from_secs(900);
/// The longest accepted `max_status_age`. A revocation that takes more than a day to apply is useless.
pub const LONGEST_STATUS_AGE: Duration = Duration::from_secs(86_400);

/// A PEM chain, leaf first, and the PEM PKCS#8 key of its leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityFiles {
    /// PEM certificate chain, leaf first.
    pub certificate: PathBuf,
    /// PEM PKCS#8 private key, file mode 0600.
    pub key: PathBuf,
}

/// A trust domain whose agents may connect. An id under this name counts only under these roots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustDomain {
    /// The host part of the agents' SPIFFE ids.
    pub name: String,
    /// PEM root certificates.
    pub roots: PathBuf,
    /// Source of revocation lists for its certificates; `None` disables revocation checks for the domain.
    pub crls: Option<CrlSource>,
}

/// Revocation lists that an authority serves. Each certificate of the domain then needs a current list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrlSource {
    /// The name of a followed authority.
    pub authority: String,
    /// Number of shards.
    pub shards: u32,
    /// Directories below `/v1/crl`, one for each issuer; an empty name is `/v1/crl` itself.
    pub sets: Vec<String>,
    /// Interval between fetches.
    pub every: Duration,
}

/// A followed authority. Every setting comes from the configuration, none from the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorityConfig {
    /// Its name, as its heads state it.
    pub name: String,
    /// `https://host:port` without a path, or a mirror on this machine over `http://`.
    pub url: Upstream,
    /// Roots of the chains that sign contexts, statements, heads and shards.
    pub roots: PathBuf,
    /// Number of root keys that must sign for the root; 1 unless the root is split.
    pub root_threshold: u64,
    /// Roots of its TLS certificate; defaults to `roots`.
    pub tls_roots: PathBuf,
    /// Presents the certificate of `[tls]` to the authority, which gives the gateway a place among verified peers. An
    /// authority that does not accept the certificate refuses the gateway.
    pub present_certificate: bool,
    /// Origin line of its log.
    pub origin: String,
    /// Signed-note verifier key of its log.
    pub log_key: String,
    /// Verifier keys of its log's witnesses.
    pub witnesses: Vec<String>,
    /// Number of witnesses that must cosign a larger log before it counts.
    pub witness_quorum: usize,
    /// Lines reserved to this authority: `*`, `payment`, or `acme.*` for all below.
    pub lines: Vec<String>,
    /// The authority that must recognise it for its lines; `None` if it counts by itself.
    pub recognised_by: Option<String>,
    /// True if nothing from this authority counts. The only setting that SIGHUP reloads.
    pub distrusted: bool,
    /// The longest accepted lifetime of a head.
    pub max_status_age: Duration,
    /// Poll interval for the head while no event arrives.
    pub poll: Duration,
}

/// The protocol of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Native L8 JSON.
    L8,
    /// A2A, in the versions and over the transports of the route.
    A2a,
    /// MCP over streamable HTTP, 2026-07-28, 2025-11-25 and 2025-06-18.
    Mcp,
}

impl Protocol {
    /// The spelling in configuration, audit and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::L8 => "l8",
            Self::A2a => "a2a",
            Self::Mcp => "mcp",
        }
    }
}

/// One listener and its agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteConfig {
    /// Name in metrics and status.
    pub name: String,
    /// Listening address.
    pub listen: Listen,
    /// Protocol of the messages.
    pub protocol: Protocol,
    /// SPIFFE id of the agent.
    pub receiver: String,
    /// Address of the agent.
    pub upstream: Upstream,
    /// Speaks HTTP/2 with the agent, with many messages on a connection: by ALPN over TLS, by prior knowledge without.
    pub upstream_http2: bool,
    /// Lines and versions that the receiver understands.
    pub contexts: Vec<ContextScope>,
    /// The one sender of a plain listener; `None` means TLS with client certificates.
    pub plain_sender: Option<String>,
    /// URL in the agent card; defaults to the listener's own.
    pub public_url: Option<String>,
    /// Address of the agent's card, if not the well-known path below `upstream`. An agent over gRPC serves no card there.
    pub card_from: Option<Upstream>,
    /// Optional settings of the route.
    pub choices: RouteChoices,
}

/// Audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditConfig {
    /// Path of the append-only file, mode 0600.
    pub path: PathBuf,
    /// True to force each batch to disk (fsync) after the write.
    pub fsync: bool,
    /// Policy inputs kept in records, by member (`payment::transfer.amount`); `None` keeps nothing.
    pub values: Option<BTreeMap<String, KeepAs>>,
}

/// A required bundle of policies. No other source of policies counts (`docs/spec/policy-bundle.md`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleConfig {
    /// Path of the bundle.
    pub file: PathBuf,
    /// Roots of the signers' certificates.
    pub roots: PathBuf,
    /// SPIFFE ids of the accepted signers.
    pub signers: Vec<String>,
    /// Refuse a bundle that does not say that its policies were analysed.
    pub require_analysed: bool,
}

/// Source of the policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyPlace {
    /// A directory.
    Directory(PathBuf),
    /// A signed bundle.
    Bundle(BundleConfig),
}

/// Policies that are evaluated next to the live ones and never enforced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowConfig {
    /// Their directory.
    pub policies: PathBuf,
    /// Sampling rate: one message in this many; 1 is every message.
    pub one_in: u64,
}

/// A complete configuration.
///
/// Guarantees resolved paths, numbers within bounds, local addresses without TLS, unique names, and one authority for each
/// line. Paths are relative to the file's own directory. Does not guarantee that the files exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Path of the file; `None` if parsed from text.
    pub source: Option<PathBuf>,
    /// State directory, which holds the followers' memory.
    pub state: PathBuf,
    /// Admin address (plain HTTP, loopback).
    pub admin: SocketAddr,
    /// Source of the policies.
    pub policies: PolicyPlace,
    /// Audit log.
    pub audit: AuditConfig,
    /// Number of serving threads; 0 in the file means one for each core.
    pub workers: usize,
    /// Prefix of context URNs.
    pub prefix: Prefix,
    /// The gateway's own identity for callers and agents. `None` only if no listener and no upstream needs one.
    pub tls: Option<IdentityFiles>,
    /// Secret from which a fleet derives locks, one or two lines. Without it, locks end with the process.
    pub lock_secret: Option<PathBuf>,
    /// Trust domains whose agents may connect.
    pub trust_domains: Vec<TrustDomain>,
    /// Issuers whose tokens count as credentials.
    pub credential_issuers: Vec<CredentialIssuer>,
    /// Followed authorities.
    pub authorities: Vec<AuthorityConfig>,
    /// The routes to serve.
    pub routes: Vec<RouteConfig>,
    /// The operator's own floors, in addition to the authorities'.
    pub floors: Vec<(Line, Version)>,
    /// Shadow policies.
    pub shadow: Option<ShadowConfig>,
    /// All limits.
    pub limits: Limits,
}

impl Config {
    /// Policy inputs kept in records; `None` unless the operator names some.
    pub(crate) fn kept(&self) -> Option<Keep> {
        self.audit.values.as_ref().map(|values| Keep::new(values.clone(), self.limits.audit_asked_bytes))
    }

    /// Reads and checks a file. Relative paths in it are relative to its own directory.
    ///
    /// # Errors
    /// Returns [`ConfigFault`] for an unreadable file, invalid TOML, an unknown key or a broken rule.
    pub fn load(path: &Path) -> Result<Self, ConfigFault> {
        let text = std::fs::read_to_string(path)
            .map_err(|e| ConfigFault::Read { path: path.to_owned(), what: e.kind().to_string() })?;
        let base = path.parent().unwrap_or_else(|| Path::new(""));
        Self::parse(&text, base).map(|config| Self { source: Some(path.to_owned()), ..config })
    }

    /// Names of the followed authorities that the file on disk now distrusts or no longer names. The flag is true if the file
    /// is otherwise unchanged. Without a file, returns the current settings and true.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub(crate) fn distrusted_now(&self) -> Result<(Vec<String>, bool), ConfigFault> {
        let Some(source) = &self.source else { return Ok((self.distrusted(), true)) };
        let mut fresh = Self::load(source)?;
        let mut distrusted = Vec::new();
        for authority in &self.authorities {
            let found = fresh.authorities.iter_mut().find(|other| other.name == authority.name);
            if found.as_ref().is_none_or(|found| found.distrusted) {
                distrusted.push(authority.name.clone());
            }
            if let Some(found) = found {
                found.distrusted = authority.distrusted;
            }
        }
        Ok((distrusted, fresh == *self))
    }

    /// Names of the authorities that are distrusted at the start.
    pub(crate) fn distrusted(&self) -> Vec<String> {
        let distrusted = self.authorities.iter().filter(|authority| authority.distrusted);
        distrusted.map(|authority| authority.name.clone()).collect()
    }

    /// Parses and checks text, like [`Config::load`]; relative paths are relative to `base`.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn parse(text: &str, base: &Path) -> Result<Self, ConfigFault> {
        let file: raw::File = toml::from_str(text)
            .map_err(|e| retired::fault(text).unwrap_or_else(|| ConfigFault::syntax(&e, text)))?;
        rules::check(file, base)
    }

    /// The effective settings as TOML, with resolved paths and every default. Parsing the text gives the same configuration.
    #[must_use]
    pub fn effective(&self) -> String {
        raw::File::of(self).print()
    }
}
