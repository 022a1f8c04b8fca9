//! `firewall.toml`: parsed strictly, checked as a whole, and printed with every default filled in. This module binds no port,
//! opens no key and makes no connection. [`check`](crate::check) does the next step and still binds no port.

mod a2h;
mod address;
mod admin;
mod approvals;
mod channels;
mod fault;
mod handshake;
mod iac;
mod kinds;
mod ldp;
mod limits;
mod meta_keys;
mod push;
mod read;
mod reload;
mod retired;
mod route;
mod rules;
mod scan;
mod schema;
mod traces;
mod trust;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use semgate_certs::SpiffeId;
use semgate_contexts::{Line, Prefix, Version};
use semgate_policies::{Keep, KeepAs};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use read::{between, checked, fault, number, one, text};

pub use a2h::A2hOptions;
pub use address::{Endpoint, Listen, Upstream};
pub use admin::{AdminConfig, ProbeConfig};
pub use approvals::ApprovalsConfig;
pub use channels::{EgressConfig, MailConfig, MailSecurity, MailServer, SlackConfig};
pub use fault::ConfigFault;
pub use handshake::HandshakeChoice;
pub use iac::{Congestion, IacOptions, ZstdDictionary};
pub use ldp::{LdpDomain, LdpOptions, LdpSecret};
pub use limits::Limits;
pub use push::PushConfig;
pub use route::{
    A2aOptions, AgentOptions, CardChoice, GroupOptions, L8Options, McpOptions, OwnedOptions, Part,
    RouteConfig, SpeechOptions, Transport,
};
pub use scan::ScanConfig;
pub use traces::{Share, TracesConfig};
pub use trust::{AuthorityConfig, CredentialIssuer, CrlSource, TrustDomain};

/// Bytes of one audit record for policy inputs. 16 KiB: about fifty questions. A larger input leaves only its size.
const AUDIT_ASKED_BYTES: usize = 16 << 10;

/// A PEM chain, leaf first, and the PEM PKCS#8 key of its leaf.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdentityFiles {
    /// PEM certificate chain, leaf first.
    pub certificate: PathBuf,
    /// PEM PKCS#8 private key, file mode 0600.
    pub key: PathBuf,
}

/// A required bundle of policies. No other source of policies counts (`docs/spec/policy-bundle.md`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BundleConfig {
    /// Path of the bundle.
    pub file: PathBuf,
    /// Roots of the signers' certificates.
    pub roots: PathBuf,
    /// SPIFFE ids of the accepted signers.
    #[serde(deserialize_with = "signers")]
    pub signers: Vec<String>,
    /// Refuse a bundle that does not say that its policies were analysed.
    #[serde(default)]
    pub require_analysed: bool,
}

/// Policies that are evaluated next to the live ones and never enforced.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShadowConfig {
    /// Their directory.
    pub policies: PathBuf,
    /// Sampling rate: one message in this many; 1 is every message. A rarer sample than 1 in 1,000,000 tells nothing.
    #[serde(default = "number::<1>", deserialize_with = "between::<_, _, 1, 1_000_000>")]
    pub one_in: u64,
}

/// A complete configuration.
///
/// Guarantees resolved paths, numbers within bounds, local addresses without TLS, unique names, and one authority for each
/// line. Paths are relative to the file's own directory. Does not guarantee that the files exist.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Path of the file; `None` if parsed from text.
    #[serde(skip)]
    pub source: Option<PathBuf>,
    /// Name of the gateway in records and spans.
    #[serde(default = "Config::host", deserialize_with = "read::name")]
    pub name: String,
    /// State directory, which holds the followers' memory.
    pub state: PathBuf,
    /// Address of the operator's pages.
    #[serde(default)]
    pub admin: AdminConfig,
    /// Address of the probes; `None` serves them on the admin address alone.
    pub probe: Option<ProbeConfig>,
    /// Directory of the policies; `None` if they come in a bundle.
    pub policies: Option<PathBuf>,
    /// Signed bundle of the policies.
    pub policy_bundle: Option<BundleConfig>,
    /// Path of the append-only audit file, mode 0600.
    pub audit: PathBuf,
    /// True to force each batch of audit records to disk (fsync) after the write.
    #[serde(default)]
    pub audit_fsync: bool,
    /// File of the same records as OCSF events, mode 0600.
    pub audit_ocsf: Option<PathBuf>,
    /// Policy inputs kept in records, by member (`payment::transfer.amount`); `None` keeps nothing.
    #[serde(default, with = "audit_values")]
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    pub audit_values: Option<BTreeMap<String, KeepAs>>,
    /// Number of serving threads; 0 in the file means one for each core.
    #[serde(default = "Config::cores", deserialize_with = "workers")]
    pub workers: usize,
    /// Prefix of context URNs.
    #[serde(default, with = "one")]
    #[schemars(with = "String")]
    pub prefix: Prefix,
    /// The gateway's own identity for callers and agents. `None` only if no listener and no upstream needs one.
    pub tls: Option<IdentityFiles>,
    /// Secret from which a fleet derives locks, one or two lines. Without it, locks end with the process.
    pub lock_secret: Option<PathBuf>,
    /// Trust domains whose agents may connect.
    #[serde(default, rename = "trust_domain")]
    pub trust_domains: Vec<TrustDomain>,
    /// Issuers whose tokens count as credentials.
    #[serde(default, rename = "credential_issuer")]
    pub credential_issuers: Vec<CredentialIssuer>,
    /// Followed authorities.
    #[serde(default, rename = "authority")]
    pub authorities: Vec<AuthorityConfig>,
    /// The routes to serve.
    #[serde(skip)]
    pub routes: Vec<RouteConfig>,
    /// The operator's own floors, in addition to the authorities'.
    #[serde(default, with = "floors")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub floors: Vec<(Line, Version)>,
    /// Receiver of spans.
    pub traces: Option<TracesConfig>,
    /// People who decide.
    pub approvals: Option<ApprovalsConfig>,
    /// Shadow policies.
    pub shadow: Option<ShadowConfig>,
    /// Signed model and baselines of text scores; without them the model in the program counts.
    pub scan: Option<ScanConfig>,
    /// All limits.
    #[serde(default)]
    pub limits: Limits,
}

impl Config {
    /// The host's name, as far as its characters may stand in a name.
    fn host() -> String {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let named = |c: &char| c.is_ascii_alphanumeric() || "-._".contains(*c);
        let name: String = host.chars().filter(named).take(64).collect();
        if name.is_empty() { "semgate".to_owned() } else { name }
    }

    fn cores() -> usize {
        std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
    }

    /// Policy inputs kept in records; `None` unless the operator names some.
    pub(crate) fn kept(&self) -> Option<Keep> {
        self.audit_values.as_ref().map(|values| Keep::new(values.clone(), AUDIT_ASKED_BYTES))
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

    /// Reads the file again. Without one, returns the same settings.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub(crate) fn reread(&self) -> Result<Self, ConfigFault> {
        self.source.as_ref().map_or_else(|| Ok(self.clone()), |source| Self::load(source))
    }

    /// Names of the followed authorities that another file distrusts or no longer names.
    pub(crate) fn distrusted_by(&self, fresh: &Self) -> Vec<String> {
        let trusted =
            |name: &String| fresh.authorities.iter().any(|other| other.name == *name && !other.distrusted);
        let names = self.authorities.iter().map(|authority| &authority.name);
        names.filter(|name| !trusted(name)).cloned().collect()
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
        let parsed = |fault| ConfigFault::parsed(fault, text, "");
        let mut file = DeTable::parse(text).map_err(parsed)?;
        if let Some(fault) = retired::fault(file.get_ref(), text) {
            return Err(fault);
        }
        let written = file.get_ref().clone();
        let routes = file.get_mut().remove("route");
        let mut config = Self::deserialize(toml::de::Deserializer::from(file)).map_err(parsed)?;
        config.routes = routes.map_or(Ok(Vec::new()), |routes| kinds::routes(routes, text))?;
        rules::complete(&mut config, base)?;
        rules::check(&config)?;
        // a path that is not UTF-8 cannot be printed
        let read = config.table().unwrap_or_default();
        list_for_a_table(&written, &read, text).map_or(Ok(config), Err)
    }

    /// The effective settings as TOML, with resolved paths and every default. Parsing the text gives the same configuration.
    #[must_use]
    pub fn effective(&self) -> String {
        let printed = self.table().and_then(|file| toml::to_string_pretty(&file));
        printed.unwrap_or_else(|fault| format!("# cannot be printed: {fault}\n"))
    }

    fn table(&self) -> Result<toml::Table, toml::ser::Error> {
        let mut file = toml::Table::try_from(self)?;
        let routes = self.routes.iter().map(|route| route.table().map(toml::Value::Table));
        file.insert("route".to_owned(), toml::Value::Array(routes.collect::<Result<_, _>>()?));
        Ok(file)
    }
}

/// The fault of a list in place of a table. Serde reads its entries as the table's members, by position.
fn list_for_a_table(written: &DeTable<'_>, read: &toml::Table, text: &str) -> Option<ConfigFault> {
    let fault = |key: &str, value: &Spanned<DeValue<'_>>, read: &toml::Value| match (value.get_ref(), read) {
        (DeValue::Array(_), toml::Value::Table(_)) => {
            Some(ConfigFault::value(key, "a table").at(text, &value.span()))
        }
        (DeValue::Table(table), toml::Value::Table(read)) => list_for_a_table(table, read, text),
        _ => None,
    };
    written.iter().find_map(|(key, value)| {
        let (key, read) = (key.get_ref().as_ref(), read.get(key.get_ref().as_ref())?);
        match (value.get_ref(), read) {
            (DeValue::Array(all), toml::Value::Array(read)) => {
                all.iter().zip(read).find_map(|(value, read)| fault(key, value, read))
            }
            _ => fault(key, value, read),
        }
    })
}

text!(Prefix, "a urn prefix, such as `urn:contexts`", |text| Prefix::parse(text).ok(), |prefix| prefix
    .as_str()
    .to_owned());

/// Reads the number of threads: at most 256, more than any suitable machine has cores.
fn workers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let written = checked(deserializer, "at most 256", |written: &usize| *written <= 256)?;
    Ok(if written == 0 { Config::cores() } else { written })
}

fn signers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    checked(deserializer, "spiffe ids, at least one, each once", |ids: &Vec<String>| {
        let once = ids.iter().collect::<std::collections::HashSet<_>>().len() == ids.len();
        !ids.is_empty() && once && ids.iter().all(|id| SpiffeId::parse(id).is_ok())
    })
}

/// Serde functions of `[floors]`.
mod floors {
    use super::{BTreeMap, Deserialize, Deserializer, Line, Serializer, Version, fault};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<(Line, Version)>, D::Error> {
        let written = BTreeMap::<String, String>::deserialize(d)?;
        let floor = |(line, version): (&String, &String)| {
            Some((Line::parse(line).ok()?, Version::parse(version).ok()?))
        };
        let floors = written.iter().map(floor).collect::<Option<_>>();
        floors.ok_or_else(|| fault("lines with versions, such as `payment = \"v1.1\"`"))
    }

    pub(super) fn serialize<S: Serializer>(floors: &[(Line, Version)], s: S) -> Result<S::Ok, S::Error> {
        s.collect_map(floors.iter().map(|(line, version)| (line.as_str(), version.to_string())))
    }
}

/// Serde functions of `[audit_values]`.
mod audit_values {
    use super::{BTreeMap, Deserialize, Deserializer, KeepAs, Serialize, Serializer, one, text};

    #[derive(Deserialize, Serialize)]
    struct Kept(#[serde(with = "one")] KeepAs);

    text!(KeepAs, "`values`, `digests` or `nothing`", KeepAs::parse, |keep| keep.as_str().to_owned());

    pub(super) type Values = Option<BTreeMap<String, KeepAs>>;

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Values, D::Error> {
        let written = BTreeMap::<String, Kept>::deserialize(d)?;
        Ok(Some(written.into_iter().map(|(member, Kept(keep))| (member, keep)).collect()))
    }

    pub(super) fn serialize<S: Serializer>(values: &Values, s: S) -> Result<S::Ok, S::Error> {
        match values {
            Some(values) => s.collect_map(values.iter().map(|(member, keep)| (member, keep.as_str()))),
            None => s.serialize_none(),
        }
    }
}
