//! `witness.toml`: read strictly, checked whole.

#[cfg(test)]
mod tests;

use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ring::rand::SystemRandom;
use semgate_statement::{CosignerKey, LogVerifier};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::{self, ConfigFault, KeyFiles, ProbeConfig, SettingFault};
use crate::init::InitFault;

/// Logs of one witness, at most: each costs a file and a kilobyte.
const MAX_LOGS: usize = 10_000;

/// A whole configuration of a witness.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WitnessSettings {
    /// The file with its key, a note key of type 4.
    pub key: PathBuf,
    /// Directory of its memory.
    pub state: PathBuf,
    /// The address of `add-checkpoint`.
    pub listen: SocketAddr,
    /// The admin address (plain HTTP).
    pub admin: SocketAddr,
    /// Address of the probes; none serves them on the admin address alone.
    pub probe: Option<ProbeConfig>,
    /// Its TLS identity. Without one, `listen` is plain HTTP on loopback, behind a proxy of the operator.
    pub tls: Option<KeyFiles>,
    /// The known logs.
    #[serde(default, rename = "log", deserialize_with = "logs", skip_serializing)]
    pub logs: Vec<LogVerifier>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Log {
    key: String,
    #[serde(default)]
    also: Vec<String>,
}

impl Log {
    /// The verifier of any of its keys, which must have one origin.
    fn verifier(&self) -> Result<LogVerifier, String> {
        let wrong = |key: &str, what: &dyn std::fmt::Display| format!("`log.key` `{key}`: {what}");
        let keys = std::iter::once(&self.key).chain(&self.also);
        let keys = keys.map(|key| LogVerifier::parse(key).map_err(|e| wrong(key, &e)));
        LogVerifier::any_of(keys.collect::<Result<_, _>>()?)
            .ok_or_else(|| wrong(&self.key, &"`also` names a key of another origin"))
    }
}

fn logs<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<LogVerifier>, D::Error> {
    let logs = Vec::<Log>::deserialize(from)?;
    logs.iter().map(Log::verifier).collect::<Result<_, _>>().map_err(D::Error::custom)
}

impl WitnessSettings {
    /// Reads and checks a file. Relative paths in it are relative to its own directory.
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, has an unknown key, or asks for something impossible.
    pub fn load(path: &Path) -> Result<Self, ConfigFault> {
        config::load(path, Self::parse)
    }

    fn parse(text: &str, base: &Path) -> Result<Self, SettingFault> {
        let mut settings: Self = config::read(text)?;
        let logs = &settings.logs;
        let names: std::collections::BTreeSet<&str> = logs.iter().map(LogVerifier::name).collect();
        if names.len() != logs.len() || logs.len() > MAX_LOGS {
            return Err(format!("two logs have one origin, or there are more than {MAX_LOGS}").into());
        }
        if settings.tls.is_none() && !settings.listen.ip().is_loopback() {
            return Err("`listen` is not on loopback, and there is no `[tls]`".to_owned().into());
        }
        let tls = settings.tls.iter_mut().flat_map(|tls| [&mut tls.certificate, &mut tls.key]);
        let paths = [&mut settings.key, &mut settings.state].into_iter().chain(tls);
        paths.for_each(|path| *path = base.join(&*path));
        Ok(settings)
    }
}

/// Makes a new witness below `dir`: its key (`witness.key`, 0600) and `witness.toml`, on loopback, for these logs. Returns its verifier
/// key.
///
/// # Errors
/// A file to be written exists, or a name or log key is not valid.
pub fn init_witness(dir: &Path, name: &str, logs: &[String]) -> Result<String, InitFault> {
    let key = CosignerKey::generate(name, &SystemRandom::new())
        .map_err(|e| InitFault::Option(format!("`{name}`: {e}")))?;
    let mut text = "# A witness of Semgate; see docs/how-to/run-a-witness.md. Paths are relative to this file.\n\
         key = \"witness.key\"\nstate = \"witness\"\nlisten = \"127.0.0.1:8446\"\nadmin = \"127.0.0.1:8447\"\n"
        .to_owned();
    for log in logs {
        let log = LogVerifier::parse(log).map_err(|e| InitFault::Option(format!("`{log}`: {e}")))?;
        text.push_str(&format!("\n[[log]]\nkey = \"{log}\"\n"));
    }
    WitnessSettings::parse(&text, dir).map_err(|why| InitFault::Option(why.to_string()))?;
    let files = [("witness.key", format!("{}\n", key.to_text())), ("witness.toml", text)];
    if let Some((name, _)) = files.iter().find(|(name, _)| dir.join(name).exists()) {
        return Err(InitFault::Exists(dir.join(name)));
    }
    crate::disk::make_dir(dir).map_err(|e| InitFault::Option(e.to_string()))?;
    for (name, text) in files {
        let path = dir.join(name);
        let mut options = std::fs::OpenOptions::new();
        let done = options.write(true).create_new(true).mode(0o600).open(&path).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        done.map_err(|source| InitFault::Io { path, source })?;
    }
    Ok(key.verifier().to_string())
}
