//! `authority.toml`: read strictly, checked whole, printed back with every default filled in. Nothing here binds a port or opens
//! the state directory.

mod duration;
mod limits;
mod raw;
mod rights;
mod witness;

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use semgate_certs::TrustDomain;
use semgate_contexts::Prefix;
use semgate_policies::PublisherAct;

pub use limits::Limits;
pub use rights::{LinePattern, Publisher};

/// The shortest `status_lifetime` (WIRE, head): below two seconds a renewal at half of it would be once a second or more.
pub const MIN_STATUS_LIFETIME: Duration = Duration::from_secs(2);
/// The longest `status_lifetime`: a revocation must not take longer than a day to be believed by a cut-off follower.
pub const MAX_STATUS_LIFETIME: Duration = Duration::from_secs(86_400);
/// The default `status_lifetime` (WIRE, head).
pub const STATUS_LIFETIME: Duration = Duration::from_secs(600);

/// The default life of a role leaf that the authority makes for itself: a stolen key is worth a month, and a renewal that fails is seen ten
/// days ahead.
pub const ROLE_LIFETIME: Duration = Duration::from_secs(30 * 86_400);
/// The shortest: below it a leaf is renewed at every other head.
pub const MIN_ROLE_LIFETIME: Duration = Duration::from_secs(6);
/// The longest life of a leaf (DESIGN §3).
pub const MAX_ROLE_LIFETIME: Duration = Duration::from_secs(90 * 86_400);

/// A PEM chain and the PEM key that belongs to it.
#[derive(Debug, Clone)]
pub struct KeyFiles {
    /// PEM chain, leaf (or the issuing certificate) first.
    pub certificate: PathBuf,
    /// PEM PKCS#8 key, 0600; for role and log keys also a `pkcs11:` URI (RFC 7512), as it stands.
    pub key: PathBuf,
}

/// The role keys of an authority (DESIGN §3).
#[derive(Debug, Clone)]
pub struct KeysConfig {
    /// The issuing certificate from which a context signer is minted for each line on demand.
    pub context_issuing: KeyFiles,
    /// Signs revoke, suspend, resume, retire and floor statements.
    pub status: KeyFiles,
    /// Signs heads and shards.
    pub feed: KeyFiles,
    /// Signs checkpoints: an Ed25519 signed-note key file, or a `pkcs11:` URI. It only orders.
    pub log: PathBuf,
    /// Log keys that sign beside it while the log changes its key.
    pub log_also: Vec<PathBuf>,
    /// How long the feed and status leaves live that this authority makes for itself, each when a third of the one before is left; none:
    /// it makes none, and the operator renews them.
    pub role_lifetime: Option<Duration>,
}

/// The TLS identity of the public address.
#[derive(Debug, Clone)]
pub struct TlsConfig {
    /// The server's certificate and key.
    pub server: KeyFiles,
    /// PEM roots under which the certificates of publishers are verified.
    pub client_roots: PathBuf,
    /// The directory with the revocation lists that these certificates are looked up in, as `semgate cert crl --out` writes it; none: they are
    /// looked up in none.
    pub client_crls: Option<PathBuf>,
    /// The trust domains that these roots speak for; those of the publishers and of the authority's own name unless given.
    pub trust_domains: Vec<TrustDomain>,
}

/// A witness of the log (C2SP `tlog-witness`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WitnessConfig {
    /// Its submission prefix: `https://…`, or `http://` on loopback.
    pub url: String,
    /// Its verifier key, `name+id+base64`, of type 4.
    pub key: String,
    /// PEM roots of its TLS certificate; those of the authority unless given.
    pub roots: Option<PathBuf>,
}

/// A whole configuration. Guarantees: every path is absolute or relative to the process as the file's own directory was, every number is
/// inside its bounds, no publisher is named twice. Does not guarantee that the files exist; [`run`](crate::run) looks.
#[derive(Debug, Clone)]
pub struct Config {
    /// The name of this authority, e.g. `semgate.test`.
    pub authority: String,
    /// The origin line of its log, e.g. `semgate.test/log`.
    pub origin: String,
    /// The prefix of its context URNs, `urn:contexts` unless configured.
    pub prefix: Prefix,
    /// The public address (HTTPS).
    pub listen: SocketAddr,
    /// The admin address (plain HTTP).
    pub admin: SocketAddr,
    /// The address that others reach it at, without a final slash; status list tokens name it. `https://<authority>` unless given.
    pub public_url: String,
    /// The state directory.
    pub state: PathBuf,
    /// The file that the last checkpoint is kept in, apart from the state: nothing that is behind it is ever signed. None keeps none.
    pub last_checkpoint: Option<PathBuf>,
    /// Who is asked to cosign each checkpoint.
    pub witnesses: Vec<WitnessConfig>,
    /// How many of them a head should have cosignatures of; while it has fewer, the others are asked again.
    pub witness_quorum: usize,
    /// How long a head is good for.
    pub status_lifetime: Duration,
    /// PEM roots that this authority's own chains verify under.
    pub roots: PathBuf,
    /// How many of the roots' keys speak for the root before its first trust list; 1 unless the root is split.
    pub root_threshold: usize,
    /// TLS of the public address.
    pub tls: TlsConfig,
    /// The role keys.
    pub keys: KeysConfig,
    /// The directory of policies about publishers; none: their rights alone decide.
    pub policies: Option<PathBuf>,
    /// Acts that need a second person whatever the policies say; never `publish`.
    pub four_eyes: Vec<PublisherAct>,
    /// The audit log. `audit.jsonl` in the state directory unless given.
    pub audit: PathBuf,
    /// Who may write what. Empty is allowed and means: nobody may.
    pub publishers: Vec<Publisher>,
    /// Where revocation lists of certificates lie, as `semgate cert crl --out` writes them; none: none are served.
    pub crls: Option<PathBuf>,
    /// Every bound.
    pub limits: Limits,
}

impl Config {
    /// Reads and checks a file. Relative paths in it are relative to its own directory.
    ///
    /// # Errors
    /// The file cannot be read, is no TOML, has an unknown key, or a value outside its bounds.
    pub fn load(path: &Path) -> Result<Self, ConfigFault> {
        let text = std::fs::read_to_string(path)
            .map_err(|e| ConfigFault { file: path.to_path_buf(), what: e.to_string() })?;
        let base = path.parent().unwrap_or_else(|| Path::new(""));
        Self::parse(&text, base).map_err(|what| ConfigFault { file: path.to_path_buf(), what })
    }

    fn parse(text: &str, base: &Path) -> Result<Self, String> {
        let raw: raw::File = toml::from_str(text).map_err(|e| raw::one_line(&e, text))?;
        raw.check(base)
    }

    /// The settings in effect as TOML, every default written out, paths resolved; loading it gives the same configuration.
    #[must_use]
    pub fn effective(&self) -> String {
        raw::File::of(self).print()
    }
}

/// Why a configuration file is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFault {
    /// The file.
    pub file: PathBuf,
    /// What is wrong, one line.
    pub what: String,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.file.display(), self.what)
    }
}

impl std::error::Error for ConfigFault {}
