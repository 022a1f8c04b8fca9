//! Keys with which agents of `up` sign messages of IAC: one for each, beside its certificate.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SecureRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use semgate_protocol::iac::Draft;
use serde_json::{Value, json};

use crate::fault::{Doing, Fault};
use crate::system::{read, ring_random};
use crate::up::{GATEWAY, SAMPLE_AGENT, write_once};
use crate::up_directory::key;

/// Callers that sign messages in `demo`.
const CALLERS: [&str; 2] = ["retailer-7", "public-webapp-3"];

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

/// The key of one agent.
pub struct SigningKey(Ed25519KeyPair);

impl SigningKey {
    /// Reads the key of an agent below `dir`.
    ///
    /// # Errors
    /// There is none.
    pub fn read(dir: &Path, name: &str) -> Result<Self, Fault> {
        let path = dir.join(file(name));
        let text = read(&path)?;
        let fault = || Fault::new(format_args!("`{}` holds no Ed25519 key", path.display()));
        let body: String = text.lines().filter(|line| !line.starts_with("-----")).collect();
        let der = STANDARD.decode(body).map_err(|_| fault())?;
        Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).map(Self).map_err(|_| fault())
    }

    /// The protobuf of a message, signed.
    pub fn sign(&self, draft: Draft) -> Vec<u8> {
        draft.sign(&self.0)
    }

    fn hex(&self) -> String {
        self.0.public_key().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A random id for a message: a repeated one would be refused.
pub fn message_number() -> u64 {
    let mut number = [0; 8];
    // the system's source cannot fail on Linux
    let _ = ring_random().fill(&mut number);
    u64::from_be_bytes(number)
}

/// The file of an agent's key, relative to the directory.
pub fn file(name: &str) -> PathBuf {
    key(name).with_extension("iac.key")
}

/// Makes the keys, and adds the public ones and the names to the entities.
///
/// # Errors
/// The error of the file system, or of the random source.
pub fn with_keys(dir: &Path, entities: &[u8]) -> Result<Vec<u8>, Fault> {
    make(dir, GATEWAY)?;
    let mut entities: Value = serde_json::from_slice(entities).doing("entities")?;
    for name in CALLERS.iter().chain([&SAMPLE_AGENT]) {
        make(dir, name)?;
        let key = SigningKey::read(dir, name)?.hex();
        let agents = entities.get_mut("agents").and_then(Value::as_array_mut);
        let is_named = |agent: &&mut Value| agent.get("alias").and_then(Value::as_str) == Some(name);
        let entry = agents.into_iter().flatten().find(is_named).and_then(Value::as_object_mut);
        if let Some(entry) = entry {
            // the names of other bindings stay
            let names = entry.entry("names").or_insert_with(|| json!({}));
            if let Some(names) = names.as_object_mut() {
                names.insert("iac".to_owned(), (*name).into());
            }
            entry.insert("keys".to_owned(), json!({"iac": [key]}));
        }
    }
    Ok(format!("{entities:#}\n").into_bytes())
}

fn make(dir: &Path, name: &str) -> Result<(), Fault> {
    let der = Ed25519KeyPair::generate_pkcs8(&ring_random());
    let der = der.map_err(|_| Fault::new("the system's random source failed"))?;
    let pem = format!("{BEGIN}\n{}\n{END}\n", STANDARD.encode(der.as_ref()));
    write_once(&dir.join(file(name)), pem.as_bytes())
}
