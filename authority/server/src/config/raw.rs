//! The shape of the file, and its conversion to and from [`Config`](super::Config).

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use semgate_certs::{SpiffeId, TrustDomain};
use semgate_contexts::Prefix;
use semgate_policies::PublisherAct;
use semgate_statement::root::MAX_ROOT_KEYS;
use serde::{Deserialize, Serialize};

use crate::pkcs11::{Pkcs11Uri, names_device};

use super::duration::ConfigDuration;
use super::witness;
use super::{Config, KeyFiles, KeysConfig, Limits, LinePattern, Publisher, TlsConfig};
use super::{MAX_ROLE_LIFETIME, MIN_ROLE_LIFETIME, ROLE_LIFETIME};
use super::{MAX_STATUS_LIFETIME, MIN_STATUS_LIFETIME, STATUS_LIFETIME};

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    authority: String,
    origin: Option<String>,
    prefix: Option<String>,
    listen: SocketAddr,
    admin: SocketAddr,
    public_url: Option<String>,
    state: PathBuf,
    last_checkpoint: Option<PathBuf>,
    crls: Option<PathBuf>,
    witness_quorum: Option<usize>,
    status_lifetime: Option<ConfigDuration>,
    roots: PathBuf,
    root_threshold: Option<usize>,
    policies: Option<PathBuf>,
    #[serde(default)]
    four_eyes: Vec<String>,
    audit: Option<PathBuf>,
    tls: RawTls,
    keys: RawKeys,
    #[serde(default)]
    publisher: Vec<RawPublisher>,
    #[serde(default)]
    witness: Vec<witness::RawWitness>,
    #[serde(default)]
    limits: RawLimits,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTls {
    certificate: PathBuf,
    key: PathBuf,
    client_roots: PathBuf,
    client_crls: Option<PathBuf>,
    trust_domains: Option<Vec<String>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawKeys {
    context_issuing: RawPair,
    status: RawPair,
    feed: RawPair,
    log: RawLog,
    renew: Option<bool>,
    role_lifetime: Option<ConfigDuration>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPair {
    certificate: PathBuf,
    key: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLog {
    key: PathBuf,
    #[serde(default)]
    also: Vec<PathBuf>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPublisher {
    id: String,
    #[serde(default)]
    publish: Vec<String>,
    #[serde(default)]
    revoke: Vec<String>,
    #[serde(default)]
    floor: Vec<String>,
    #[serde(default, rename = "override")]
    overrides: Vec<String>,
}

macro_rules! limits {
    ($(($name:ident, $kind:ident, $low:expr, $high:expr)),+ $(,)?) => {
        #[derive(Debug, Default, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct RawLimits { $($name: Option<limits!(@type $kind)>),+ }

        impl RawLimits {
            fn of(limits: &Limits) -> Self {
                Self { $($name: Some(limits!(@raw $kind, limits.$name))),+ }
            }

            fn check(self) -> Result<Limits, String> {
                let mut limits = Limits::default();
                $(if let Some(value) = self.$name {
                    limits.$name = limits!(@take $kind, stringify!($name), value, $low, $high)?;
                })+
                Ok(limits)
            }
        }
    };
    (@type count) => { usize };
    (@type span) => { ConfigDuration };
    (@raw count, $value:expr) => { $value };
    (@raw span, $value:expr) => { ConfigDuration($value) };
    (@take count, $name:expr, $value:expr, $low:expr, $high:expr) => { count($name, $value, $low, $high) };
    (@take span, $name:expr, $value:expr, $low:expr, $high:expr) => { span($name, $value, $low, $high) };
}

// Each with its lowest and highest value; durations in milliseconds.
limits! {
    (context_bytes, count, 1024, 1 << 20),
    (request_bytes, count, 256, 1 << 20),
    (reason_bytes, count, 1, 16 * 1024),
    (header_bytes, count, 8192, 1 << 20),
    (handshake_timeout, span, 100, 120_000),
    (header_timeout, span, 100, 600_000),
    (body_timeout, span, 100, 600_000),
    (answer_timeout, span, 100, 600_000),
    (connections, count, 8, 1 << 20),
    (followers, count, 0, 1 << 20),
    (address_connections, count, 1, 1 << 20),
    (account_share, count, 1, 65_536),
    (heartbeat, span, 100, 600_000),
    (write_timeout, span, 100, 600_000),
    (witness_timeout, span, 10, 10_000),
    (witness_patience, span, 10, 60_000),
    (signer_timeout, span, 100, 120_000),
    (audit_timeout, span, 100, 120_000),
    (clock_step, span, 1000, 3_600_000),
    (clock_gap, span, 60_000, 31_536_000_000),
    (queue, count, 1, 1 << 20),
    (batch, count, 1, 65_536),
    (kept_shards, count, 1, 1 << 16),
    (cache_bytes, count, 0, 1 << 40),
    (listing_bytes, count, 1024, 8 << 20),
    (line_contexts, count, 1, 1 << 40),
    (evidence_files, count, 0, 1 << 20),
    (publisher_bytes, count, 1 << 16, 1 << 50),
    (line_compiled_bytes, count, 1 << 16, 1 << 50),
    (reserve_bytes, count, 1 << 20, 1 << 40),
    (refusal_records, count, 0, 1 << 20),
    (leftover_files, count, 600, 1 << 20),
    (checks, count, 1, 4096),
    (compared_versions, count, 1, 65_536),
    (comparisons, count, 1, 1024),
    (compare_steps, count, 1_000, 1 << 30),
    (compare_time, span, 10, 600_000),
    (proposals, count, 1, 65_536),
    (proposal_lifetime, span, 1_000, 2_592_000_000),
    (overrides, count, 0, 1 << 20),
    (token_signings, count, 1, 1024),
    (crl_bytes, count, 1024, 1 << 34),
    (grace, span, 0, 600_000),
}

fn count(name: &str, value: usize, low: usize, high: usize) -> Result<usize, String> {
    count_of(&format!("limits.{name}"), value, low, high)
}

fn span(name: &str, value: ConfigDuration, low: u64, high: u64) -> Result<std::time::Duration, String> {
    let ms = value.0.as_millis();
    if ms < u128::from(low) || ms > u128::from(high) {
        return Err(format!("`limits.{name}` is {value}; it is at least {low}ms and at most {high}ms"));
    }
    Ok(value.0)
}

impl File {
    pub fn check(self, base: &Path) -> Result<Config, String> {
        let lifetime = self.status_lifetime.map_or(STATUS_LIFETIME, |s| s.0);
        if lifetime < MIN_STATUS_LIFETIME || lifetime > MAX_STATUS_LIFETIME || lifetime.subsec_nanos() != 0 {
            return Err(format!(
                "`status_lifetime` is {}; it is whole seconds, at least 2s and at most 1d",
                ConfigDuration(lifetime)
            ));
        }
        name("authority", &self.authority)?;
        let origin = self.origin.unwrap_or_else(|| format!("{}/log", self.authority));
        name("origin", &origin)?;
        let publishers = publishers(self.publisher)?;
        let prefix = match &self.prefix {
            Some(text) => Prefix::parse(text).map_err(|e| format!("`prefix`: {e}"))?,
            None => Prefix::default(),
        };
        let role_lifetime = self.keys.role_lifetime()?;
        let log_also = self.keys.log.also;
        let root_threshold = count_of("root_threshold", self.root_threshold.unwrap_or(1), 1, MAX_ROOT_KEYS)?;
        let domains = trust_domains(self.tls.trust_domains, &publishers, &self.authority)?;
        let at = |path: PathBuf| base.join(path);
        let pair = |p: RawPair| -> Result<KeyFiles, String> {
            Ok(KeyFiles { certificate: base.join(p.certificate), key: key_at(base, p.key)? })
        };
        if names_device(&self.tls.key).is_some() {
            return Err("`tls.key` is a file; keys of connections are not taken from devices".to_owned());
        }
        Ok(Config {
            public_url: public_url(self.public_url, &self.authority)?,
            authority: self.authority,
            origin,
            prefix,
            listen: self.listen,
            admin: self.admin,
            last_checkpoint: check_last_checkpoint(self.last_checkpoint.map(at), &at(self.state.clone()))?,
            audit: at(self.audit.unwrap_or_else(|| self.state.join("audit.jsonl"))),
            policies: self.policies.map(at),
            four_eyes: four_eyes(&self.four_eyes)?,
            state: at(self.state),
            crls: self.crls.map(at),
            witness_quorum: witness::quorum(self.witness_quorum, &self.witness)?,
            witnesses: witness::check(self.witness, base)?,
            status_lifetime: lifetime,
            roots: at(self.roots),
            root_threshold,
            tls: TlsConfig {
                server: KeyFiles { certificate: at(self.tls.certificate), key: at(self.tls.key) },
                client_roots: at(self.tls.client_roots),
                client_crls: self.tls.client_crls.map(at),
                trust_domains: domains,
            },
            keys: KeysConfig {
                context_issuing: pair(self.keys.context_issuing)?,
                status: pair(self.keys.status)?,
                feed: pair(self.keys.feed)?,
                log: key_at(base, self.keys.log.key)?,
                log_also: log_also.into_iter().map(|key| key_at(base, key)).collect::<Result<_, _>>()?,
                role_lifetime,
            },
            publishers,
            limits: self.limits.check()?,
        })
    }

    pub fn of(config: &Config) -> Self {
        let pair = |p: &KeyFiles| RawPair { certificate: p.certificate.clone(), key: p.key.clone() };
        let texts = |patterns: &[LinePattern]| patterns.iter().map(ToString::to_string).collect();
        Self {
            authority: config.authority.clone(),
            origin: Some(config.origin.clone()),
            prefix: Some(config.prefix.as_str().to_owned()),
            listen: config.listen,
            admin: config.admin,
            public_url: Some(config.public_url.clone()),
            state: config.state.clone(),
            last_checkpoint: config.last_checkpoint.clone(),
            crls: config.crls.clone(),
            witness_quorum: Some(config.witness_quorum),
            witness: config.witnesses.iter().map(witness::RawWitness::of).collect(),
            status_lifetime: Some(ConfigDuration(config.status_lifetime)),
            roots: config.roots.clone(),
            root_threshold: Some(config.root_threshold),
            policies: config.policies.clone(),
            four_eyes: config.four_eyes.iter().map(|act| act.as_str().to_owned()).collect(),
            audit: Some(config.audit.clone()),
            tls: RawTls {
                certificate: config.tls.server.certificate.clone(),
                key: config.tls.server.key.clone(),
                client_roots: config.tls.client_roots.clone(),
                client_crls: config.tls.client_crls.clone(),
                trust_domains: Some(config.tls.trust_domains.iter().map(|d| d.as_str().to_owned()).collect()),
            },
            keys: RawKeys {
                context_issuing: pair(&config.keys.context_issuing),
                status: pair(&config.keys.status),
                feed: pair(&config.keys.feed),
                log: RawLog { key: config.keys.log.clone(), also: config.keys.log_also.clone() },
                renew: Some(config.keys.role_lifetime.is_some()),
                role_lifetime: config.keys.role_lifetime.map(ConfigDuration),
            },
            publisher: config
                .publishers
                .iter()
                .map(|p| RawPublisher {
                    id: p.id.clone(),
                    publish: texts(&p.publish),
                    revoke: texts(&p.revoke),
                    floor: texts(&p.floor),
                    overrides: texts(&p.overrides),
                })
                .collect(),
            limits: RawLimits::of(&config.limits),
        }
    }

    pub fn print(&self) -> String {
        // Only a path that is not UTF-8 cannot be printed as TOML.
        toml::to_string(self).unwrap_or_else(|e| format!("# cannot be printed: {e}\n"))
    }
}

/// A key in a file, relative to the configuration; or one in a device, whose URI must name a key.
fn key_at(base: &Path, key: PathBuf) -> Result<PathBuf, String> {
    match names_device(&key) {
        Some(uri) => Pkcs11Uri::parse(uri).map(|_| key.clone()).map_err(|fault| format!("`keys`: {fault}")),
        None => Ok(base.join(key)),
    }
}

/// A checkpoint restored together with the state would protect against nothing.
fn check_last_checkpoint(file: Option<PathBuf>, state: &Path) -> Result<Option<PathBuf>, String> {
    match file {
        Some(file) if file.starts_with(state) => {
            Err("`last_checkpoint` is below `state`: a restored backup would bring it back too".to_owned())
        }
        file => Ok(file),
    }
}

impl RawKeys {
    /// Lifetime of the leaves that the authority makes for itself; none if it makes none.
    fn role_lifetime(&self) -> Result<Option<std::time::Duration>, String> {
        match (self.renew, self.role_lifetime) {
            (Some(false), Some(_)) => {
                Err("`keys.role_lifetime` is of no use with `renew = false`".to_owned())
            }
            (Some(false), None) => Ok(None),
            (_, given) => {
                let lifetime = given.map_or(ROLE_LIFETIME, |span| span.0);
                let in_seconds = lifetime.subsec_nanos() == 0;
                if !in_seconds || lifetime < MIN_ROLE_LIFETIME || lifetime > MAX_ROLE_LIFETIME {
                    return Err(format!(
                        "`keys.role_lifetime` is {}; it is whole seconds, at least 6s and at most 90d",
                        ConfigDuration(lifetime)
                    ));
                }
                Ok(Some(lifetime))
            }
        }
    }
}

fn count_of(name: &str, value: usize, low: usize, high: usize) -> Result<usize, String> {
    if value < low || value > high {
        return Err(format!("`{name}` is {value}; it is at least {low} and at most {high}"));
    }
    Ok(value)
}

/// Checks a name for use in signed notes: a space, a plus or a line break would end it early (C2SP signed-note).
fn name(what: &str, text: &str) -> Result<(), String> {
    let wrong = |c: char| c.is_whitespace() || c.is_control() || c == '+';
    if text.is_empty() || text.len() > 200 || text.contains(wrong) {
        return Err(format!(
            "`{what}` is empty, longer than 200 bytes, or has a space, a control character or `+`"
        ));
    }
    Ok(())
}

fn public_url(given: Option<String>, authority: &str) -> Result<String, String> {
    let url = given.unwrap_or_else(|| format!("https://{authority}"));
    let host = url.strip_prefix("https://").unwrap_or_default();
    if host.is_empty() || host.ends_with('/') || !host.bytes().all(|b| b.is_ascii_graphic()) {
        return Err("`public_url` is not an https address without a final slash".to_owned());
    }
    Ok(url)
}

fn publishers(raw: Vec<RawPublisher>) -> Result<Vec<Publisher>, String> {
    let mut out: Vec<Publisher> = Vec::with_capacity(raw.len());
    for one in raw {
        SpiffeId::parse(&one.id).map_err(|e| format!("publisher `{}`: {e}", one.id))?;
        if out.iter().any(|p| p.id == one.id) {
            return Err(format!("publisher `{}` is named twice", one.id));
        }
        let patterns =
            |texts: Vec<String>| texts.iter().map(|t| LinePattern::parse(t)).collect::<Result<Vec<_>, _>>();
        out.push(Publisher {
            publish: patterns(one.publish)?,
            revoke: patterns(one.revoke)?,
            floor: patterns(one.floor)?,
            overrides: patterns(one.overrides)?,
            id: one.id,
        });
    }
    Ok(out)
}

/// Reads acts by their names, each at most once. Refuses `publish`, because a document cannot wait for a second person.
fn four_eyes(names: &[String]) -> Result<Vec<PublisherAct>, String> {
    let mut acts = Vec::with_capacity(names.len());
    for name in names {
        let act = PublisherAct::parse(name).filter(|act| *act != PublisherAct::Publish);
        let act = act.ok_or_else(|| {
            format!("`four_eyes`: `{name}` is none of `revoke`, `suspend`, `resume`, `retire`, `floor`, `override`")
        })?;
        if acts.contains(&act) {
            return Err(format!("`four_eyes`: `{name}` is named twice"));
        }
        acts.push(act);
    }
    Ok(acts)
}

fn trust_domains(
    given: Option<Vec<String>>,
    publishers: &[Publisher],
    authority: &str,
) -> Result<Vec<TrustDomain>, String> {
    let mut out = Vec::new();
    if let Some(names) = given {
        for name in names {
            out.push(TrustDomain::parse(&name).map_err(|e| format!("`tls.trust_domains`, `{name}`: {e}"))?);
        }
    } else {
        let ids = publishers.iter().filter_map(|p| SpiffeId::parse(&p.id).ok());
        out.extend(ids.map(|id| id.trust_domain().clone()));
        out.extend(TrustDomain::parse(authority));
    }
    out.sort();
    out.dedup();
    Ok(out)
}

/// The first line of a TOML fault, with its line number.
pub(super) fn one_line(fault: &toml::de::Error, text: &str) -> String {
    let what = fault.message().replace('\n', "; ");
    match fault.span().and_then(|s| text.get(..s.start)) {
        Some(before) => format!("line {}: {what}", before.matches('\n').count() + 1),
        None => what,
    }
}
