//! The directory that `up` keeps and the others read: `up.json`, by the names of WIRE.md.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::fault::{Doing, Fault};
use crate::system::replace;

/// The file that says where everything is, written by rename once all of it answers.
pub const UP_JSON: &str = "up.json";

/// What `up.json` holds; paths are relative to the directory it lies in, URLs are whole.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UpFile {
    /// The authority's public address.
    pub authority_url: String,
    /// The gateway's listeners, one for each binding.
    pub gateway: GatewayUrls,
    /// The gateway's admin address.
    pub admin_url: String,
    /// The agent that the gateway stands in front of.
    pub sample_agent: SampleAgent,
    /// One PEM file with every root.
    pub roots: PathBuf,
    /// Those who may speak, by name.
    pub agents: BTreeMap<String, AgentFile>,
    /// Configuration of the authority.
    pub authority_config: PathBuf,
    /// Configuration of the gateway.
    pub firewall_config: PathBuf,
    /// The policy directory.
    pub policies: PathBuf,
    /// The audit log.
    pub audit: PathBuf,
    /// The process that runs all of it.
    pub pid: u32,
}

/// The gateway's listeners.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GatewayUrls {
    /// Native L8 JSON.
    pub l8: String,
    /// A2A 1.0 over JSON-RPC.
    pub a2a: String,
}

/// The agent behind.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SampleAgent {
    /// Its identity, the value for `receiver_id`.
    pub id: String,
    /// Where it listens, on loopback.
    pub url: String,
}

/// One who may speak.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AgentFile {
    /// PEM chain, leaf first.
    pub cert: PathBuf,
    /// PEM private key, 0600.
    pub key: PathBuf,
    /// The value for `sender_id`.
    pub id: String,
    /// What the entity file says that it holds.
    pub credentials: Vec<String>,
}

/// A directory in which `up` runs or ran.
#[derive(Debug, Clone)]
pub struct UpDirectory {
    dir: PathBuf,
    up: UpFile,
}

impl UpDirectory {
    /// Reads `up.json` below `dir`.
    ///
    /// # Errors
    /// Where there is none, with the hint to start `semgate up`.
    pub fn open(dir: &Path) -> Result<Self, Fault> {
        let path = dir.join(UP_JSON);
        let text = std::fs::read(&path).map_err(|e| {
            Fault::new(format_args!("cannot read `{}`: {e}", path.display()))
                .hint(format_args!("start `semgate up --dir {}` and leave it running", dir.display()))
        })?;
        let up = serde_json::from_slice(&text).hinted(
            format_args!("`{}`", path.display()),
            format_args!("`semgate up --dir {}` writes it anew", dir.display()),
        )?;
        Ok(Self { dir: dir.to_path_buf(), up })
    }

    /// What the file holds.
    pub fn up(&self) -> &UpFile {
        &self.up
    }

    /// A path of the file, made usable from here.
    pub fn path(&self, relative: &Path) -> PathBuf {
        self.dir.join(relative)
    }

    /// The agent of this name.
    ///
    /// # Errors
    /// Where there is none, with the names that there are.
    pub fn agent(&self, name: &str) -> Result<&AgentFile, Fault> {
        self.up.agents.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.up.agents.keys().map(String::as_str).collect();
            Fault::new(format_args!("no agent `{name}` here"))
                .hint(format_args!("known are: {}", known.join(", ")))
        })
    }
}

/// Writes the file so that a reader sees all of it or nothing: beside it first, then by rename.
///
/// # Errors
/// What the file system says.
pub fn write_up(dir: &Path, up: &UpFile) -> Result<(), Fault> {
    let text = serde_json::to_vec_pretty(up).doing("writing `up.json`")?;
    replace(&dir.join(UP_JSON), &text)
}
