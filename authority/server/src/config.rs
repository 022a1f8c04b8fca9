//! `authority.toml`: read strictly, checked whole, printed back with every default filled in. Binds no port and does not open the state
//! directory.

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

/// The shortest `status_lifetime`. A head is renewed at half of its lifetime, so a shorter one would mean a renewal a second or more.
pub const MIN_STATUS_LIFETIME: Duration = Duration::from_secs(2);
/// The longest `status_lifetime`: a cut-off follower learns of a revocation within a day.
pub const MAX_STATUS_LIFETIME: Duration = Duration::from_secs(86_400);
/// The default `status_lifetime`.
pub const STATUS_LIFETIME: Duration = Duration::from_secs(600);

/// The default lifetime of a role leaf that the authority makes for itself. A stolen key is worth a month, and a failing renewal shows ten
/// days ahead.
pub const ROLE_LIFETIME: Duration = Duration::from_secs(30 * 86_400);
/// The shortest `role_lifetime`: below it a leaf is renewed at every other head.
pub const MIN_ROLE_LIFETIME: Duration = Duration::from_secs(6);
/// The longest lifetime of a leaf.
pub const MAX_ROLE_LIFETIME: Duration = Duration::from_secs(90 * 86_400);

/// A PEM chain and the PEM key that belongs to it.
#[derive(Debug, Clone)]
pub struct KeyFiles {
    /// PEM chain, leaf (or the issuing certificate) first.
    pub certificate: PathBuf,
    /// PEM PKCS#8 key, 0600. Role and log keys may also be a `pkcs11:` URI (RFC 7512), kept as written.
    pub key: PathBuf,
}

/// The role keys of an authority.
#[derive(Debug, Clone)]
pub struct KeysConfig {
    /// The issuing certificate that mints a context signer for each line on demand.
    pub context_issuing: KeyFiles,
    /// Signs revoke, suspend, resume, retire and floor statements.
    pub status: KeyFiles,
    /// Signs heads and shards.
    pub feed: KeyFiles,
    /// Signs checkpoints: an Ed25519 signed-note key file, or a `pkcs11:` URI. It can only order entries.
    pub log: PathBuf,
    /// Further log keys that also sign while the log changes its key.
    pub log_also: Vec<PathBuf>,
    /// Lifetime of the feed and status leaves that this authority makes for itself. It renews each when a third is left. If none is set,
    /// the operator renews them.
    pub role_lifetime: Option<Duration>,
}

/// The TLS identity of the public address.
#[derive(Debug, Clone)]
pub struct TlsConfig {
    /// The server's certificate and key.
    pub server: KeyFiles,
    /// PEM roots under which the certificates of publishers are verified.
    pub client_roots: PathBuf,
    /// Directory of revocation lists for client certificates, as `semgate cert crl --out` writes it. If none is set, nothing is looked up.
    pub client_crls: Option<PathBuf>,
    /// The trust domains that these roots vouch for. Default: those of the publishers and of the authority's own name.
    pub trust_domains: Vec<TrustDomain>,
}

/// A witness of the log (C2SP `tlog-witness`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WitnessConfig {
    /// Its submission prefix: `https://…`, or `http://` on loopback.
    pub url: String,
    /// Its verifier key, `name+id+base64`, of type 4.
    pub key: String,
    /// PEM roots of its TLS certificate. Default: those of the authority.
    pub roots: Option<PathBuf>,
}

/// A whole configuration. Guarantees: paths are absolute, or relative to the working directory; numbers are within their bounds; each
/// publisher is named once. Does not guarantee that the files exist; [`run`](crate::run) checks that.
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
    /// The public URL, without a final slash; status list tokens name it. Default: `https://<authority>`.
    pub public_url: String,
    /// The state directory.
    pub state: PathBuf,
    /// File with the last checkpoint, apart from the state. The authority never signs a log that is behind it. Optional.
    pub last_checkpoint: Option<PathBuf>,
    /// Witnesses that cosign each checkpoint.
    pub witnesses: Vec<WitnessConfig>,
    /// Number of cosignatures that a head should have; below it, the other witnesses are asked again.
    pub witness_quorum: usize,
    /// Lifetime of a head.
    pub status_lifetime: Duration,
    /// PEM roots that this authority's own chains verify under.
    pub roots: PathBuf,
    /// Number of root keys that speak for the root before its first trust list; 1 unless the root is split.
    pub root_threshold: usize,
    /// TLS of the public address.
    pub tls: TlsConfig,
    /// The role keys.
    pub keys: KeysConfig,
    /// Directory of the policies about publishers. If none is set, rights alone decide.
    pub policies: Option<PathBuf>,
    /// Acts that need a second person whatever the policies say; never `publish`.
    pub four_eyes: Vec<PublisherAct>,
    /// The audit log. Default: `audit.jsonl` in the state directory.
    pub audit: PathBuf,
    /// The publishers and their rights. An empty list means that nobody may write.
    pub publishers: Vec<Publisher>,
    /// Directory of the certificate revocation lists to serve, as `semgate cert crl --out` writes them. Optional.
    pub crls: Option<PathBuf>,
    /// The limits.
    pub limits: Limits,
}

impl Config {
    /// Reads and checks a file. Relative paths in it are relative to its own directory.
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, has an unknown key, or a value outside its bounds.
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

    /// The settings in effect as TOML, with every default and resolved paths. Loading it gives the same configuration.
    #[must_use]
    pub fn effective(&self) -> String {
        raw::File::of(self).print()
    }
}

/// A refused configuration file, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFault {
    /// The file.
    pub file: PathBuf,
    /// The fault, in one line.
    pub what: String,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.file.display(), self.what)
    }
}

impl std::error::Error for ConfigFault {}
