//! The directory that `up` and `init` make and other commands read: `up.toml`, and `up.json` while `up` runs.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::fault::{Doing, Fault};
use crate::system::{read, replace};

/// The file with all addresses and paths, written by rename once everything answers.
pub const UP_JSON: &str = "up.json";

/// Notes about a directory, written last at its making.
pub const UP_TOML: &str = "up.toml";
/// The authority's configuration.
pub const AUTHORITY_TOML: &str = "authority.toml";
/// The gateway's configuration.
pub const FIREWALL_TOML: &str = "firewall.toml";
/// The policy directory.
pub const POLICIES: &str = "policies";
/// The audit log.
pub const AUDIT: &str = "firewall/audit.jsonl";

/// The console's configuration.
pub const CONSOLE_TOML: &str = "console.toml";
/// The directory of Human Cards.
pub const HUMANS: &str = "humans";

/// The content of `up.toml`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notes {
    /// Address of the sample agent; none in a directory of `init`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<SocketAddr>,
    /// Its address of QUIC; none in a directory of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_agent: Option<SocketAddr>,
    /// The roots, relative to the directory.
    pub roots: PathBuf,
    /// SPIFFE ids of those with a certificate here, by name. Empty beside the sample agent, whose callers are the shipped ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, String>,
}

impl Notes {
    /// Reads the notes below `dir`.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn read(dir: &Path) -> Result<Self, Fault> {
        let file = dir.join(UP_TOML);
        toml::from_str(&read(&file)?).hinted(
            format_args!("`{}`", file.display()),
            "it is written when the directory is made: restore it, or name another directory with `--dir`",
        )
    }
}

/// The certificate of a name, relative to the directory.
pub fn cert(name: &str) -> PathBuf {
    PathBuf::from(format!("agents/{name}.pem"))
}

/// The key of a name, relative to the directory.
pub fn key(name: &str) -> PathBuf {
    PathBuf::from(format!("agents/{name}.key"))
}

/// The content of `up.json`; paths are relative to its directory, URLs are complete.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UpFile {
    /// The authority's public address.
    pub authority_url: String,
    /// The gateway's listeners, by the name of their route: `l8` and `a2a` of the sample agent.
    pub gateway: BTreeMap<String, String>,
    /// The gateway's admin address.
    pub admin_url: String,
    /// The sample agent; none in a directory of `init`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_agent: Option<SampleAgent>,
    /// One PEM file with every root.
    pub roots: PathBuf,
    /// Agents that may speak, by name.
    pub agents: BTreeMap<String, AgentFile>,
    /// Configuration of the authority.
    pub authority_config: PathBuf,
    /// Configuration of the gateway.
    pub firewall_config: PathBuf,
    /// The gateway's address for people; none in a directory of `init`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub people_url: Option<String>,
    /// The console; none in a directory of `init`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console_url: Option<String>,
    /// People who may decide, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub humans: BTreeMap<String, HumanFile>,
    /// The policy directory.
    pub policies: PathBuf,
    /// The audit log.
    pub audit: PathBuf,
    /// The process that runs all of it; 0 if its parts run alone.
    pub pid: u32,
}

/// The sample agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SampleAgent {
    /// Its identity, the value for `receiver_id`.
    pub id: String,
    /// Its address, on loopback.
    pub url: String,
}

/// An agent that may speak.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AgentFile {
    /// PEM chain, leaf first.
    pub cert: PathBuf,
    /// PEM private key, 0600.
    pub key: PathBuf,
    /// The value for `sender_id`.
    pub id: String,
    /// Its credentials in the entity file.
    pub credentials: Vec<String>,
}

/// A person with a client certificate.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HumanFile {
    /// PEM chain, leaf first.
    pub cert: PathBuf,
    /// PEM private key, 0600.
    pub key: PathBuf,
    /// The id of the Human Card.
    pub id: String,
}

impl HumanFile {
    /// The files of a name.
    pub fn new(name: &str) -> Self {
        Self { cert: cert(name), key: key(name), id: format!("human://{name}") }
    }
}

/// A directory in which `up` runs or ran.
#[derive(Debug, Clone)]
pub struct UpDirectory {
    dir: PathBuf,
    up: Box<UpFile>,
}

impl UpDirectory {
    /// Reads `up.json` below `dir`. In a directory of `init`, whose parts may run alone, its configurations serve too.
    ///
    /// # Errors
    /// There is no such file; with the hint to start `semgate up`.
    pub fn open(dir: &Path) -> Result<Self, Fault> {
        let path = dir.join(UP_JSON);
        if !path.exists() && dir.join(UP_TOML).exists() {
            let notes = Notes::read(dir)?;
            if notes.agent.is_none() {
                return Ok(Self { dir: dir.to_path_buf(), up: Box::new(of_files(dir, &notes)?) });
            }
        }
        let text = std::fs::read(&path).map_err(|e| {
            Fault::new(format_args!("cannot read `{}`: {e}", path.display()))
                .hint(format_args!("start `semgate up --dir {}` and leave it running", dir.display()))
        })?;
        let up = serde_json::from_slice(&text).hinted(
            format_args!("`{}`", path.display()),
            format_args!("`semgate up --dir {}` writes it again", dir.display()),
        )?;
        Ok(Self { dir: dir.to_path_buf(), up })
    }

    /// The content of the file.
    pub fn up(&self) -> &UpFile {
        &self.up
    }

    /// A path from the file, relative to the working directory.
    pub fn path(&self, relative: &Path) -> PathBuf {
        self.dir.join(relative)
    }

    /// The sample agent.
    ///
    /// # Errors
    /// The directory is one of `init`.
    pub fn sample_agent(&self) -> Result<&SampleAgent, Fault> {
        self.up.sample_agent.as_ref().ok_or_else(|| {
            Fault::new(format_args!("`{}` has no sample agent", self.dir.display()))
                .hint("`semgate call` speaks to every agent of a gateway")
        })
    }

    /// The URL of a route.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn route(&self, name: &str) -> Result<&str, Fault> {
        self.up.gateway.get(name).map(String::as_str).ok_or_else(|| {
            let known: Vec<&str> = self.up.gateway.keys().map(String::as_str).collect();
            Fault::new(format_args!("no route `{name}` here"))
                .hint(format_args!("known are: {}", known.join(", ")))
        })
    }

    /// The gateway's address for people.
    ///
    /// # Errors
    /// The gateway asks nobody.
    pub fn people_url(&self) -> Result<&str, Fault> {
        self.up.people_url.as_deref().ok_or_else(|| {
            Fault::new("the gateway of this directory asks nobody")
                .hint("add `[approvals]` to its firewall.toml: docs/how-to/ask-people.md")
        })
    }

    /// The person of this name.
    ///
    /// # Errors
    /// There is none; with the existing names.
    pub fn human(&self, name: &str) -> Result<&HumanFile, Fault> {
        self.up.humans.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.up.humans.keys().map(String::as_str).collect();
            Fault::new(format_args!("no person `{name}` here"))
                .hint(format_args!("known are: {}", known.join(", ")))
        })
    }

    /// The agent of this name.
    ///
    /// # Errors
    /// There is none; with the existing names.
    pub fn agent(&self, name: &str) -> Result<&AgentFile, Fault> {
        self.up.agents.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.up.agents.keys().map(String::as_str).collect();
            Fault::new(format_args!("no agent `{name}` here"))
                .hint(format_args!("known are: {}", known.join(", ")))
        })
    }
}

/// The description of a directory by its own configurations.
fn of_files(dir: &Path, notes: &Notes) -> Result<UpFile, Fault> {
    let authority = semgate_authority::Config::load(&dir.join(AUTHORITY_TOML)).doing("this directory")?;
    let firewall = dir.join(FIREWALL_TOML);
    let gateway = semgate_gateway::Config::load(&firewall).doing(format_args!("`{}`", firewall.display()))?;
    let routes = gateway.routes.iter().map(|route| (route.name.clone(), route.url()));
    Ok(UpFile {
        authority_url: authority.public_url,
        gateway: routes.collect(),
        admin_url: gateway.admin.to_string(),
        sample_agent: None,
        roots: notes.roots.clone(),
        agents: notes.agents.iter().map(|(name, id)| (name.clone(), AgentFile::new(name, id, &[]))).collect(),
        authority_config: AUTHORITY_TOML.into(),
        firewall_config: FIREWALL_TOML.into(),
        people_url: gateway.approvals.as_ref().map(|approvals| format!("https://{}", approvals.listen)),
        console_url: None,
        humans: BTreeMap::new(),
        policies: POLICIES.into(),
        audit: AUDIT.into(),
        pid: 0,
    })
}

impl AgentFile {
    /// The files of a name, whose value for `sender_id` is `id`.
    pub fn new(name: &str, id: &str, credentials: &[&str]) -> Self {
        Self {
            cert: cert(name),
            key: key(name),
            id: id.to_owned(),
            credentials: credentials.iter().map(|c| (*c).to_owned()).collect(),
        }
    }
}

/// Writes the file so that a reader sees all of it or nothing: beside it first, then by rename.
///
/// # Errors
/// The error of the file system.
pub fn write_up(dir: &Path, up: &UpFile) -> Result<(), Fault> {
    let text = serde_json::to_vec_pretty(up).doing("writing `up.json`")?;
    replace(&dir.join(UP_JSON), &text)
}

/// The gateway's trust in the one authority that it follows.
pub struct FollowedAuthority {
    /// The verifier key of its log.
    pub log_key: String,
    /// Its name.
    pub name: String,
    /// Number of root keys that spoke for its root before the first trust list.
    pub root_threshold: u64,
}

/// The one authority that the gateway of this place follows.
///
/// # Errors
/// The configuration cannot be read.
pub fn followed(up_dir: &UpDirectory) -> Result<FollowedAuthority, Fault> {
    let path = up_dir.path(&up_dir.up().firewall_config);
    let shown = format!("`{}`", path.display());
    let config: toml::Value = toml::from_str(&read(&path)?).hinted(
        &shown,
        format_args!("`semgate firewall check --config {}` shows the same fault", path.display()),
    )?;
    let authority = config.get("authority").and_then(|a| a.get(0));
    let member = |name: &str| authority.and_then(|a| a.get(name));
    let text = |name: &str| member(name).and_then(toml::Value::as_str).map(str::to_owned);
    let missing = || {
        Fault::new(format_args!("{shown} names no authority"))
            .hint("an `[[authority]]` has `name` and `log_key`: docs/reference/config.md")
    };
    let root_threshold = match member("root_threshold") {
        None => 1,
        Some(number) => number.as_integer().and_then(|n| u64::try_from(n).ok()).ok_or_else(|| {
            Fault::new(format_args!("{shown}: `root_threshold` is not a number of keys")).hint(
                "give the number of root keys that first spoke for the root of the authority, for instance 2",
            )
        })?,
    };
    Ok(FollowedAuthority {
        log_key: text("log_key").ok_or_else(missing)?,
        name: text("name").ok_or_else(missing)?,
        root_threshold,
    })
}
