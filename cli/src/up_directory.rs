//! The directory that `up` writes and other commands read, with its file `up.json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::fault::{Doing, Fault};
use crate::system::replace;

/// The file with all addresses and paths, written by rename once everything answers.
pub const UP_JSON: &str = "up.json";

/// The content of `up.json`; paths are relative to its directory, URLs are complete.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UpFile {
    /// The authority's public address.
    pub authority_url: String,
    /// The gateway's listeners, one for each binding.
    pub gateway: GatewayUrls,
    /// The gateway's admin address.
    pub admin_url: String,
    /// The upstream agent.
    pub sample_agent: SampleAgent,
    /// One PEM file with every root.
    pub roots: PathBuf,
    /// Agents that may speak, by name.
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

/// The upstream agent.
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
    /// There is no such file; with the hint to start `semgate up`.
    pub fn open(dir: &Path) -> Result<Self, Fault> {
        let path = dir.join(UP_JSON);
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

/// Writes the file so that a reader sees all of it or nothing: beside it first, then by rename.
///
/// # Errors
/// The error of the file system.
pub fn write_up(dir: &Path, up: &UpFile) -> Result<(), Fault> {
    let text = serde_json::to_vec_pretty(up).doing("writing `up.json`")?;
    replace(&dir.join(UP_JSON), &text)
}
