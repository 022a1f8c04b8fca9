//! `firewall.toml`: read strictly, checked whole, printed back with every default filled in. Nothing here binds a port, opens
//! a key or talks to anyone; [`check`](crate::check) does the next step and still binds nothing.

mod address;
mod carries;
mod choices;
mod fault;
mod issuer;
mod kinds;
mod limits;
mod peer;
mod push;
mod raw;
mod rules;
mod scope;
mod span;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use semgate_contexts::{Line, Prefix, Version};
use semgate_policies::{Keep, KeepAs, PolicyLimits, Route};

pub use address::{Listen, Place, Upstream};
pub use choices::{Admit, CardChoice, GroupChoice, HandshakeChoice, RouteChoices, StreamChoices, Transport};
pub use fault::ConfigFault;
pub use issuer::CredentialIssuer;
pub use limits::Limits;
pub use push::PushConfig;
pub use scope::ContextScope;

/// The default `max_status_age` of an authority (DESIGN §3): longer lifetimes in a head are refused by the follower.
pub const MAX_STATUS_AGE: Duration = Duration::from_secs(900);
/// The longest `max_status_age` accepted: a revocation that takes longer than a day to bite is none.
pub const LONGEST_STATUS_AGE: Duration = Duration::from_secs(86_400);

/// A PEM chain, leaf first, and the PEM PKCS#8 key of its leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityFiles {
    /// The chain.
    pub certificate: PathBuf,
    /// The key, 0600.
    pub key: PathBuf,
}

/// A trust domain whose agents may connect: an id under this name counts only under these roots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustDomain {
    /// The host part of the agents' SPIFFE ids.
    pub name: String,
    /// PEM roots.
    pub roots: PathBuf,
    /// Where the revocation lists of its certificates come from; none: certificates of the domain are not looked up in any.
    pub crls: Option<CrlSource>,
}

/// Revocation lists that an authority serves. Every certificate of the domain must then be spoken for by one that is current.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrlSource {
    /// The name of a followed authority.
    pub authority: String,
    /// How many shards there are.
    pub shards: u32,
    /// The directories below `/v1/crl` in which they are, one for each issuer; an empty name is `/v1/crl` itself.
    pub sets: Vec<String>,
    /// How often they are fetched.
    pub every: Duration,
}

/// One authority that is followed. All of it is configured and none of it is ever learnt from the feed (DESIGN §3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorityConfig {
    /// Its name, as its heads state it.
    pub name: String,
    /// `https://host:port` without a path, or a mirror on this machine over `http://`.
    pub url: Upstream,
    /// Roots of the chains that sign contexts, statements, heads and shards.
    pub roots: PathBuf,
    /// How many of the roots' keys speak for the root; 1 unless the root is split.
    pub root_threshold: u64,
    /// Roots of its TLS certificate; `roots` unless given.
    pub tls_roots: PathBuf,
    /// Shows the certificate of `[tls]` to it, for a place among verified peers. An authority that does not take the certificate refuses the
    /// gateway.
    pub present_certificate: bool,
    /// The origin line of its log.
    pub origin: String,
    /// The signed-note verifier key of its log.
    pub log_key: String,
    /// Verifier keys of witnesses of its log.
    pub witnesses: Vec<String>,
    /// How many of them must have cosigned a larger log before it counts.
    pub witness_quorum: usize,
    /// The lines that it alone speaks for: `*`, `payment`, or `acme.*` for all below.
    pub lines: Vec<String>,
    /// The authority that must recognise it for its lines (F0-50); none: it counts by itself.
    pub recognised_by: Option<String>,
    /// Whether nothing of it counts, whatever it says; the one setting that SIGHUP reads again.
    pub distrusted: bool,
    /// The longest life of a head that is accepted.
    pub max_status_age: Duration,
    /// How often the head is asked for when no event comes.
    pub poll: Duration,
}

/// Another gateway whose accepted checkpoints are compared with ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerConfig {
    /// What the operator calls it.
    pub name: String,
    /// Where its admin address answers: plain on this machine, over TLS elsewhere.
    pub url: Upstream,
    /// Roots of its TLS certificate; none where it is plain.
    pub tls_roots: Option<PathBuf>,
}

/// The protocol of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Native L8 JSON.
    L8,
    /// A2A, in the versions and over the transports that the route takes.
    A2a,
    /// MCP over streamable HTTP, 2026-07-28 and 2025-11-25.
    Mcp,
}

impl Protocol {
    /// As configuration, audit and metrics spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::L8 => "l8",
            Self::A2a => "a2a",
            Self::Mcp => "mcp",
        }
    }
}

/// One listener, and the one agent behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteConfig {
    /// Its name, in metrics and status.
    pub name: String,
    /// Where it listens.
    pub listen: Listen,
    /// What is spoken.
    pub protocol: Protocol,
    /// SPIFFE id of the agent behind.
    pub receiver: String,
    /// Where that agent is.
    pub upstream: Upstream,
    /// Whether HTTP/2 is spoken with it, many messages on a connection: by ALPN over TLS, by prior knowledge without.
    pub upstream_http2: bool,
    /// The lines and versions that the receiver understands.
    pub contexts: Vec<ContextScope>,
    /// The one sender of a plain listener; `None` means TLS with client certificates.
    pub plain_sender: Option<String>,
    /// The URL written into the agent card; the listener's own unless given.
    pub public_url: Option<String>,
    /// Where the agent's card is, if not at its well-known place where messages go: an agent over gRPC serves none.
    pub card_from: Option<Upstream>,
    /// What it may be told beyond that.
    pub choices: RouteChoices,
}

/// Where audit records go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditConfig {
    /// The file, appended to, 0600.
    pub path: PathBuf,
    /// Whether each batch is forced to disk (fsync) after it is written.
    pub fsync: bool,
    /// What records keep of what policies were asked, by member (`payment::transfer.amount`); without it nothing.
    pub values: Option<BTreeMap<String, KeepAs>>,
}

/// A bundle of policies that is demanded: nothing else counts (`docs/spec/policy-bundle.md`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleConfig {
    /// The file.
    pub file: PathBuf,
    /// Roots of the signers' certificates.
    pub roots: PathBuf,
    /// The SPIFFE ids of those whose bundles count.
    pub signers: Vec<String>,
    /// Refuse a bundle that does not say that its policies were analysed.
    pub require_analysed: bool,
}

/// Where the policies are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyPlace {
    /// In a directory.
    Directory(PathBuf),
    /// In a signed bundle.
    Bundle(BundleConfig),
}

/// Policies that decide beside the live ones and are never obeyed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowConfig {
    /// Their directory.
    pub policies: PathBuf,
    /// They are asked about one message in so many: 1 is every message.
    pub one_in: u64,
}

/// A whole configuration. Guarantees: paths are resolved against the file's own directory, every number is inside its bounds,
/// plain listeners and plain upstreams are local, names are unique, and no line is claimed by two authorities. Does not guarantee
/// that the files exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The file that it was read from; none where it was parsed from text.
    pub source: Option<PathBuf>,
    /// The state directory: the followers' memory.
    pub state: PathBuf,
    /// The admin address (plain HTTP, loopback).
    pub admin: SocketAddr,
    /// Where the policies are.
    pub policies: PolicyPlace,
    /// Where audit records go.
    pub audit: AuditConfig,
    /// Serving threads; 0 in the file means one for each core.
    pub workers: usize,
    /// The prefix of context URNs.
    pub prefix: Prefix,
    /// The gateway's own identity, towards callers and agents. `None` only if no listener and no upstream needs one.
    pub tls: Option<IdentityFiles>,
    /// The secret that a fleet makes and honours locks with, one or two lines; without it locks end with the process.
    pub lock_secret: Option<PathBuf>,
    /// Whose agents may connect.
    pub trust_domains: Vec<TrustDomain>,
    /// Whose tokens count as credentials.
    pub credential_issuers: Vec<CredentialIssuer>,
    /// Who is followed.
    pub authorities: Vec<AuthorityConfig>,
    /// Whose checkpoints are compared with ours.
    pub peers: Vec<PeerConfig>,
    /// What is served.
    pub routes: Vec<RouteConfig>,
    /// The operator's own floors, beside the authorities'.
    pub floors: Vec<(Line, Version)>,
    /// What decides beside the live policies.
    pub shadow: Option<ShadowConfig>,
    /// Every bound.
    pub limits: Limits,
}

impl Config {
    /// What records keep of what policies were asked; nothing unless the operator names it.
    pub(crate) fn kept(&self) -> Option<Keep> {
        self.audit.values.as_ref().map(|values| Keep::new(values.clone(), self.limits.audit_asked_bytes))
    }

    /// The bounds that policies are loaded within, and beside them whose tokens count and of which trust domains anybody is met.
    pub(crate) fn policy_limits(&self) -> PolicyLimits {
        PolicyLimits {
            token_issuers: Some(self.token_issuers()),
            trust_domains: Some(self.met_domains()),
            scores: Some(self.limits.scores()),
            routes: Some(self.carried()),
            ..self.limits.policies()
        }
    }

    /// The names of the issuers whose tokens count.
    #[must_use]
    pub fn token_issuers(&self) -> BTreeSet<String> {
        self.credential_issuers.iter().map(|issuer| issuer.name.clone()).collect()
    }

    /// The trust domains of those whom a gateway can meet: those whose roots it is given, those of the agents behind its routes, and those of
    /// the one sender that a plain listener has.
    #[must_use]
    pub fn met_domains(&self) -> BTreeSet<String> {
        let of_id = |id: &str| id.strip_prefix("spiffe://")?.split('/').next().map(str::to_owned);
        let agents =
            self.routes.iter().flat_map(|route| [Some(&route.receiver), route.plain_sender.as_ref()]);
        let known = self.trust_domains.iter().map(|domain| domain.name.clone());
        known.chain(agents.flatten().filter_map(|id| of_id(id))).collect()
    }

    /// What the routes carry, each agent behind them with its binding, and handshakes in native L8 whatever that is; a group's messages are
    /// those of the routes to its members.
    #[must_use]
    pub fn carried(&self) -> Vec<Route> {
        let alone = self.routes.iter().filter(|route| route.choices.group.is_none());
        let of = |route: &RouteConfig| {
            let versions = route.choices.versions.iter().filter(|_| route.protocol == Protocol::A2a);
            let own = Route {
                receiver: route.receiver.clone(),
                binding: route.protocol.as_str(),
                versions: versions.map(|version| version.as_str().to_owned()).collect(),
            };
            let shaken = route.choices.handshake.is_some().then(|| Route {
                binding: Protocol::L8.as_str(),
                versions: BTreeSet::new(),
                ..own.clone()
            });
            std::iter::once(own).chain(shaken)
        };
        alone.flat_map(of).collect()
    }

    /// Reads and checks a file. Relative paths in it are relative to its own directory.
    ///
    /// # Errors
    /// The file cannot be read, is no TOML, has an unknown key, or breaks a rule; see [`ConfigFault`].
    pub fn load(path: &Path) -> Result<Self, ConfigFault> {
        let text = std::fs::read_to_string(path)
            .map_err(|e| ConfigFault::Read { path: path.to_owned(), what: e.kind().to_string() })?;
        let base = path.parent().unwrap_or_else(|| Path::new(""));
        Self::parse(&text, base).map(|config| Self { source: Some(path.to_owned()), ..config })
    }

    /// The names of the followed authorities that its file distrusts as it stands now: those that say so, and those that the file does
    /// not name any more. Also whether that is all that it says otherwise; without a file nothing is.
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

    /// The names of the authorities that are distrusted from the start.
    pub(crate) fn distrusted(&self) -> Vec<String> {
        let distrusted = self.authorities.iter().filter(|authority| authority.distrusted);
        distrusted.map(|authority| authority.name.clone()).collect()
    }

    /// As [`Config::load`], from text; relative paths are relative to `base`.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn parse(text: &str, base: &Path) -> Result<Self, ConfigFault> {
        let file: raw::File = toml::from_str(text).map_err(|e| ConfigFault::syntax(&e, text))?;
        rules::check(file, base)
    }

    /// The settings in effect as TOML: paths resolved, every default written out. Parsing it gives the same configuration.
    #[must_use]
    pub fn effective(&self) -> String {
        raw::File::of(self).print()
    }
}
