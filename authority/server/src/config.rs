//! `authority.toml`: read strictly, checked whole, printed back with every default filled in. Binds no port and does not open the state
//! directory.

mod admin;
mod check;
mod duration;
mod limits;
mod rights;
mod start;

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use semgate_certs::TrustDomain;
use semgate_contexts::Prefix;
use semgate_policies::PublisherAct;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::Value;

pub use admin::{AdminConfig, ProbeConfig};
use duration::SpanText;

pub use limits::Limits;
pub(crate) use limits::{
    BATCH, CLOCK_GAP, EVIDENCE_FILES, HANDSHAKE_TIMEOUT, HEADER_BYTES, KEPT_SHARDS, LEFTOVER_FILES,
    REASON_BYTES, REQUEST_BYTES,
};
pub use rights::{LinePattern, Publisher};
pub use start::StartDocument;

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
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyFiles {
    /// PEM chain, leaf (or the issuing certificate) first.
    pub certificate: PathBuf,
    /// PEM PKCS#8 key, 0600. Role and log keys may also be a `pkcs11:` URI (RFC 7512), kept as written.
    pub key: PathBuf,
}

/// The role keys of an authority.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeysConfig {
    /// The issuing certificate that mints a context signer for each line on demand.
    pub context_issuing: KeyFiles,
    /// Signs revoke, suspend, resume, retire and floor statements.
    pub status: KeyFiles,
    /// Signs heads and shards.
    pub feed: KeyFiles,
    /// Signs checkpoints. It can only order entries.
    pub log: LogKeys,
    /// True if this authority makes feed and status leaves for itself; otherwise the operator renews them.
    #[serde(default = "renew")]
    pub renew: bool,
    /// Lifetime of the feed and status leaves that this authority makes for itself. It renews each when a third is left. None if it makes
    /// none.
    #[serde(default, with = "duration::optional")]
    #[schemars(with = "Option<SpanText>")]
    pub role_lifetime: Option<Duration>,
}

/// The keys of the log.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogKeys {
    /// An Ed25519 signed-note key file, or a `pkcs11:` URI.
    pub key: PathBuf,
    /// Further keys that also sign while the log changes its key.
    #[serde(default)]
    pub also: Vec<PathBuf>,
}

/// The TLS identity of the public address.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// PEM chain of the server.
    pub certificate: PathBuf,
    /// Its PEM key, in a file.
    pub key: PathBuf,
    /// PEM roots under which the certificates of publishers are verified.
    pub client_roots: PathBuf,
    /// Directory of revocation lists for client certificates, as `semgate cert crl --out` writes it. If none is set, nothing is looked up.
    pub client_crls: Option<PathBuf>,
    /// The trust domains that these roots vouch for. Default: those of the publishers and of the authority's own name.
    #[serde(default, with = "check::domains")]
    #[schemars(with = "Option<Vec<String>>")]
    pub trust_domains: Option<Vec<TrustDomain>>,
}

impl TlsConfig {
    /// The server's certificate and key.
    #[must_use]
    pub fn server(&self) -> KeyFiles {
        KeyFiles { certificate: self.certificate.clone(), key: self.key.clone() }
    }
}

/// A witness of the log (C2SP `tlog-witness`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
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
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The name of this authority, e.g. `semgate.test`.
    pub authority: String,
    /// The origin line of its log, e.g. `semgate.test/log`.
    #[serde(default, deserialize_with = "check::stated")]
    pub origin: String,
    /// The prefix of its context URNs, `urn:contexts` unless configured.
    #[serde(default, with = "check::prefix")]
    #[schemars(with = "String")]
    pub prefix: Prefix,
    /// The public address (HTTPS).
    #[schemars(with = "String")]
    pub listen: SocketAddr,
    /// The operator's address.
    pub admin: AdminConfig,
    /// Address of the probes; none serves them on the admin address alone.
    pub probe: Option<ProbeConfig>,
    /// The public URL, without a final slash; status list tokens name it. Default: `https://<authority>`.
    #[serde(default, deserialize_with = "check::stated")]
    pub public_url: String,
    /// The state directory.
    pub state: PathBuf,
    /// File with the last checkpoint, apart from the state. The authority never signs a log that is behind it. Optional.
    pub last_checkpoint: Option<PathBuf>,
    /// Witnesses that cosign each checkpoint.
    #[serde(default, rename = "witness")]
    pub witnesses: Vec<WitnessConfig>,
    /// Number of cosignatures that a head should have; below it, the other witnesses are asked again. Default: all.
    pub witness_quorum: Option<usize>,
    /// Lifetime of a head.
    #[serde(default = "status_lifetime", with = "duration")]
    #[schemars(with = "SpanText")]
    pub status_lifetime: Duration,
    /// PEM roots that this authority's own chains verify under.
    pub roots: PathBuf,
    /// Number of root keys that speak for the root before its first trust list; 1 unless the root is split.
    #[serde(default = "root_threshold")]
    pub root_threshold: usize,
    /// TLS of the public address.
    pub tls: TlsConfig,
    /// The role keys.
    pub keys: KeysConfig,
    /// Directory of the policies about publishers. If none is set, rights alone decide.
    pub policies: Option<PathBuf>,
    /// Acts that need a second person whatever the policies say; never `publish`.
    #[serde(default, with = "check::acts")]
    #[schemars(with = "Vec<String>")]
    pub four_eyes: Vec<PublisherAct>,
    /// The audit log. Default: `audit.jsonl` in the state directory.
    #[serde(default)]
    pub audit: PathBuf,
    /// SPIFFE ids of consoles, which act for the people that they have logged in. A console has no right of its own.
    #[serde(default)]
    pub consoles: Vec<String>,
    /// Documents to publish at each start, where missing: lines of the shipped library (`a2a`), and `.json` files.
    #[serde(default)]
    pub publish_at_start: Vec<StartDocument>,
    /// The publishers and their rights. An empty list means that nobody may write.
    #[serde(default, rename = "publisher")]
    pub publishers: Vec<Publisher>,
    /// Directory of the certificate revocation lists to serve, as `semgate cert crl --out` writes them. Optional.
    pub crls: Option<PathBuf>,
    /// The limits.
    #[serde(default)]
    pub limits: Limits,
}

fn renew() -> bool {
    true
}

fn status_lifetime() -> Duration {
    STATUS_LIFETIME
}

fn root_threshold() -> usize {
    1
}

impl Config {
    /// Reads and checks a file. Relative paths in it are relative to its own directory.
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, has an unknown key, or a value outside its bounds.
    pub fn load(path: &Path) -> Result<Self, ConfigFault> {
        load(path, Self::parse)
    }

    /// Checks text, like [`Config::load`]; relative paths are relative to `base`.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn parse(text: &str, base: &Path) -> Result<Self, SettingFault> {
        let mut config: Self = read(text)?;
        config.check()?;
        config.resolve(base);
        config.check_last_checkpoint()?;
        Ok(config)
    }

    /// JSON Schema 2020-12 of the file, for editors. It has every key and its type; bounds and rules across settings are checked alone.
    #[must_use]
    pub fn schema() -> serde_json::Value {
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let mut schema = settings.into_generator().into_root_schema_for::<Self>();
        schema.insert("title".to_owned(), "authority.toml".into());
        schema.to_value()
    }

    /// The settings in effect as TOML, with every default and resolved paths. Loading it gives the same configuration.
    #[must_use]
    pub fn effective(&self) -> String {
        // Only a path that is not UTF-8 cannot be printed as TOML.
        toml::to_string(self).unwrap_or_else(|e| format!("# cannot be printed: {e}\n"))
    }
}

/// Reads a file and checks it with `parse`, which takes the text and the directory of its relative paths.
pub(crate) fn load<T>(
    path: &Path,
    parse: impl FnOnce(&str, &Path) -> Result<T, SettingFault>,
) -> Result<T, ConfigFault> {
    let fault = |fault| ConfigFault { file: path.to_path_buf(), fault };
    let text = std::fs::read_to_string(path).map_err(|e| fault(e.to_string().into()))?;
    parse(&text, path.parent().unwrap_or_else(|| Path::new(""))).map_err(fault)
}

/// Reads TOML.
pub(crate) fn read<T: DeserializeOwned + Serialize>(text: &str) -> Result<T, SettingFault> {
    let read: T = toml::from_str(text).map_err(|fault| {
        let what = fault.message().replace('\n', "; ");
        let line = fault.span().and_then(|span| text.get(..span.start));
        let what =
            match limits::FIXED.iter().find(|name| what.starts_with(&format!("unknown field `{name}`"))) {
                Some(name) if is_in_limits(fault) => format!("`limits.{name}` is fixed now: remove it"),
                _ => what,
            };
        let position = line.map(|before| {
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
            (before.matches('\n').count().saturating_add(1), column.saturating_add(1))
        });
        SettingFault { position, what }
    })?;
    match (text.parse::<toml::Table>(), toml::Table::try_from(&read)) {
        (Ok(written), Ok(effective)) => {
            list_for_a_table(&written, &effective).map_or(Ok(read), |what| Err(what.into()))
        }
        _ => Ok(read),
    }
}

/// Returns true for a fault below `[limits]`.
fn is_in_limits(mut fault: toml::de::Error) -> bool {
    // without its input, the parser prints the key in place of an extract
    fault.set_input(None);
    fault.to_string().lines().any(|line| line.starts_with("in `limits"))
}

/// The fault of a list in place of a table. Serde reads its entries as the table's members, by position.
fn list_for_a_table(written: &toml::Table, read: &toml::Table) -> Option<String> {
    let fault = |key: &str, written: &Value, read: &Value| match (written, read) {
        (Value::Array(_), Value::Table(_)) => Some(format!("`{key}` must be a table")),
        (Value::Table(written), Value::Table(read)) => list_for_a_table(written, read),
        _ => None,
    };
    written.iter().find_map(|(key, written)| match (written, read.get(key)?) {
        (Value::Array(written), Value::Array(read)) => {
            written.iter().zip(read).find_map(|(written, read)| fault(key, written, read))
        }
        (written, read) => fault(key, written, read),
    })
}

/// A refused configuration file, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFault {
    /// The file.
    pub file: PathBuf,
    /// The fault.
    pub fault: SettingFault,
}

/// A refused setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingFault {
    /// Line and column, from 1; none if it is about several settings.
    pub position: Option<(usize, usize)>,
    /// The fault, in one line.
    pub what: String,
}

impl From<String> for SettingFault {
    fn from(what: String) -> Self {
        Self { position: None, what }
    }
}

impl fmt::Display for SettingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some((line, column)) => write!(f, "line {line}, column {column}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.file.display(), self.fault)
    }
}

impl std::error::Error for ConfigFault {}
