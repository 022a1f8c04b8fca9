//! `witness.toml`: read strictly, checked whole.

use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ring::rand::SystemRandom;
use semgate_statement::{CosignerKey, LogVerifier};
use serde::Deserialize;

use crate::config::{ConfigFault, KeyFiles};
use crate::init::InitFault;

/// Logs of one witness, at most: each costs a file and a kilobyte.
const MAX_LOGS: usize = 10_000;

/// A whole configuration of a witness.
#[derive(Debug, Clone)]
pub struct WitnessSettings {
    /// The file with its key, a note key of type 4.
    pub key: PathBuf,
    /// Directory of its memory.
    pub state: PathBuf,
    /// The address of `add-checkpoint`.
    pub listen: SocketAddr,
    /// The admin address (plain HTTP).
    pub admin: SocketAddr,
    /// Its TLS identity. Without one, `listen` is plain HTTP on loopback, behind a proxy of the operator.
    pub tls: Option<KeyFiles>,
    /// The known logs.
    pub logs: Vec<LogVerifier>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    key: PathBuf,
    state: PathBuf,
    listen: SocketAddr,
    admin: SocketAddr,
    tls: Option<Tls>,
    #[serde(default)]
    log: Vec<Log>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tls {
    certificate: PathBuf,
    key: PathBuf,
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

impl WitnessSettings {
    /// Reads and checks a file. Relative paths in it are relative to its own directory.
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, has an unknown key, or asks for something impossible.
    pub fn load(path: &Path) -> Result<Self, ConfigFault> {
        let fault = |what: String| ConfigFault { file: path.to_path_buf(), what };
        let text = std::fs::read_to_string(path).map_err(|e| fault(e.to_string()))?;
        let base = path.parent().unwrap_or_else(|| Path::new(""));
        Self::parse(&text, base).map_err(fault)
    }

    fn parse(text: &str, base: &Path) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|e| e.message().replace('\n', "; "))?;
        let logs = file.log.iter().map(Log::verifier).collect::<Result<Vec<_>, _>>()?;
        let names: std::collections::BTreeSet<&str> = logs.iter().map(LogVerifier::name).collect();
        if names.len() != logs.len() || logs.len() > MAX_LOGS {
            return Err(format!("two logs have one origin, or there are more than {MAX_LOGS}"));
        }
        if file.tls.is_none() && !file.listen.ip().is_loopback() {
            return Err("`listen` is not on loopback, and there is no `[tls]`".to_owned());
        }
        Ok(Self {
            key: base.join(file.key),
            state: base.join(file.state),
            listen: file.listen,
            admin: file.admin,
            tls: file
                .tls
                .map(|tls| KeyFiles { certificate: base.join(tls.certificate), key: base.join(tls.key) }),
            logs,
        })
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
    WitnessSettings::parse(&text, dir).map_err(InitFault::Option)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_loads_and_what_cannot_be_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let log = semgate_statement::LogKey::from_seed("semgate.test/log", &[5; 32]).unwrap();
        let vkey = init_witness(dir.path(), "w.example", &[log.verifier().to_string()]).unwrap();
        let settings = WitnessSettings::load(&dir.path().join("witness.toml")).unwrap();
        assert_eq!(settings.logs, [log.verifier().clone()]);
        let key = CosignerKey::from_text(&std::fs::read_to_string(settings.key).unwrap()).unwrap();
        assert_eq!(key.verifier().to_string(), vkey);
        assert!(matches!(init_witness(dir.path(), "w.example", &[]), Err(InitFault::Exists(_))));
        let text = std::fs::read_to_string(dir.path().join("witness.toml")).unwrap();
        for (from, to, what) in [
            ("listen = \"127.0.0.1:8446\"", "listen = \"0.0.0.0:8446\"", "not on loopback"),
            ("state =", "place =", "unknown field `place`"),
            ("semgate.test/log+", "semgate.test/log+0", "log.key"),
        ] {
            let fault = WitnessSettings::parse(&text.replace(from, to), dir.path()).unwrap_err();
            assert!(fault.contains(what), "{fault}");
        }
        let twice = format!("{text}\n[[log]]\nkey = \"{}\"\n", log.verifier());
        assert!(WitnessSettings::parse(&twice, dir.path()).unwrap_err().contains("one origin"));
        let of = |origin: &str| semgate_statement::LogKey::from_seed(origin, &[6; 32]).unwrap();
        let also = |origin: &str| format!("{text}also = [\"{}\"]\n", of(origin).verifier());
        let both = WitnessSettings::parse(&also("semgate.test/log"), dir.path()).unwrap();
        assert_eq!(
            both.logs[0].to_string(),
            format!("{} {}", log.verifier(), of("semgate.test/log").verifier())
        );
        let fault = WitnessSettings::parse(&also("other.test/log"), dir.path()).unwrap_err();
        assert!(fault.contains("another origin"), "{fault}");
    }
}
