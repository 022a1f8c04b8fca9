//! Metadata of The Update Framework (TUF specification 1.0.31): the trust list as a repository for stock TUF clients. Root keys sign `root`
//! and `targets`, an online key signs `snapshot` and `timestamp`. Times and randomness are arguments.

mod canonical;
mod repository;

#[cfg(test)]
mod tests;

pub use repository::{Role, Roles, root, snapshot, targets, timestamp};

use crate::format::limits;
use crate::sha256::sha256;
use ring::rand::SecureRandom;
use semgate_certs::encoding::{from_hex, to_hex};
use semgate_certs::{KeyFault, PublicKey, SignatureAlgorithm, SigningKey, signature_der};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// Bytes of one metadata file: a hundred times the size of sixteen root keys and a few targets.
pub const MAX_METADATA_BYTES: usize = 512 * 1024;
/// Signatures on one file: twice the root keys of a list, because the old and the new ones may both sign.
const MAX_SIGNATURES: usize = 2 * crate::root::MAX_ROOT_KEYS;

/// Reason for refusing metadata.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TufFault {
    /// Longer than [`MAX_METADATA_BYTES`], or not strict JSON.
    Json,
    /// Not `{signatures, signed}`, or more than twice as many signatures as root keys are allowed.
    Envelope,
    /// This member is missing or does not follow the specification.
    Member(&'static str),
    /// A number that is not an integer: such metadata has no canonical form.
    Number,
    /// Fewer keys of the role signed it than its threshold.
    Threshold {
        /// Different keys with a valid signature.
        signed: u64,
        /// Number needed.
        needed: u64,
    },
    /// A root whose version is not the next one.
    Version,
    /// It has expired.
    Expired,
    /// The key did not sign.
    Key(KeyFault),
}

impl fmt::Display for TufFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TufFault::Json => f.write_str("metadata is not strict JSON, or is too long"),
            TufFault::Envelope => f.write_str("metadata is not `signed` with its `signatures`"),
            TufFault::Member(name) => write!(f, "metadata: `{name}` is missing or not valid"),
            TufFault::Number => f.write_str("metadata with a number that is not an integer"),
            TufFault::Threshold { signed, needed } => {
                write!(f, "metadata signed by {signed} of the {needed} required keys")
            }
            TufFault::Version => f.write_str("root metadata whose version is not the next one"),
            TufFault::Expired => f.write_str("metadata has expired"),
            TufFault::Key(fault) => write!(f, "cannot sign: {fault}"),
        }
    }
}

impl std::error::Error for TufFault {}

/// A metadata file with its signatures. Reading verifies nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Metadata {
    signed: Value,
    /// Hex signatures by key id.
    signatures: BTreeMap<String, String>,
}

impl Metadata {
    /// Metadata without signatures.
    pub fn draft(signed: Value) -> Metadata {
        Metadata { signed, signatures: BTreeMap::new() }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`TufFault::Json`], [`TufFault::Envelope`].
    pub fn read(bytes: &[u8]) -> Result<Metadata, TufFault> {
        // refuses two members of one name, of which readers might choose either
        semgate_contexts::json::read(bytes, &limits(MAX_METADATA_BYTES)).map_err(|_| TufFault::Json)?;
        let json: Value = serde_json::from_slice(bytes).map_err(|_| TufFault::Json)?;
        let list = json.get("signatures").and_then(Value::as_array).ok_or(TufFault::Envelope)?;
        let signed = json.get("signed").filter(|signed| signed.is_object()).ok_or(TufFault::Envelope)?;
        if list.len() > MAX_SIGNATURES {
            return Err(TufFault::Envelope);
        }
        let mut signatures = BTreeMap::new();
        for one in list {
            let text = |name: &str| one.get(name).and_then(Value::as_str).map(str::to_owned);
            let (Some(key), Some(signature)) = (text("keyid"), text("sig")) else {
                return Err(TufFault::Envelope);
            };
            if signatures.insert(key, signature).is_some() {
                return Err(TufFault::Envelope);
            }
        }
        Ok(Metadata { signed: signed.clone(), signatures })
    }

    /// The file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let list: Vec<Value> =
            self.signatures.iter().map(|(key, sig)| json!({"keyid": key, "sig": sig})).collect();
        let file = json!({"signatures": list, "signed": self.signed});
        let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
        text.push('\n');
        text.into_bytes()
    }

    /// The signed part.
    pub fn signed(&self) -> &Value {
        &self.signed
    }

    /// Key ids that claim to have signed.
    pub fn claimed(&self) -> impl Iterator<Item = &str> {
        self.signatures.keys().map(String::as_str)
    }

    /// The role: `root`, `targets`, `snapshot` or `timestamp`.
    ///
    /// # Errors
    /// [`TufFault::Member`].
    pub fn role(&self) -> Result<&str, TufFault> {
        self.signed.get("_type").and_then(Value::as_str).ok_or(TufFault::Member("_type"))
    }

    /// The version.
    ///
    /// # Errors
    /// [`TufFault::Member`].
    pub fn version(&self) -> Result<u64, TufFault> {
        let version = self.signed.get("version").and_then(Value::as_u64);
        version.filter(|version| *version > 0).ok_or(TufFault::Member("version"))
    }

    /// The version of another file in a `snapshot` or `timestamp`.
    pub fn names(&self, file: &str) -> Option<u64> {
        self.signed.get("meta")?.get(file)?.get("version")?.as_u64()
    }

    /// Expiry, in seconds since the epoch.
    ///
    /// # Errors
    /// [`TufFault::Member`].
    pub fn expires(&self) -> Result<u64, TufFault> {
        let text = self.signed.get("expires").and_then(Value::as_str);
        text.and_then(repository::seconds_of).ok_or(TufFault::Member("expires"))
    }

    /// Adds a signature; replaces one by the same key.
    ///
    /// # Errors
    /// [`TufFault::Key`], [`TufFault::Number`].
    pub fn sign(&mut self, key: &dyn SigningKey, random: &dyn SecureRandom) -> Result<(), TufFault> {
        let message = canonical::bytes(&self.signed)?;
        let signature = key.sign(random, &message).map_err(TufFault::Key)?;
        let signature = match key.public().algorithm() {
            SignatureAlgorithm::Es256 => signature_der(&signature),
            SignatureAlgorithm::Ed25519 => signature.to_vec(),
        };
        self.signatures.insert(key_id(key.public())?, to_hex(&signature));
        Ok(())
    }

    /// Checks that a threshold of a role's keys in `root` signed this.
    ///
    /// # Errors
    /// [`TufFault::Threshold`]; [`TufFault::Member`] for a root without them.
    pub fn check(&self, root: &Metadata) -> Result<(), TufFault> {
        let Role { keys, threshold } = Role::of(root, self.role()?)?;
        let message = canonical::bytes(&self.signed)?;
        let mut counted: Vec<&PublicKey> = Vec::new();
        for (id, key) in &keys {
            let signature = self.signatures.get(id).and_then(|hex| from_hex(hex));
            let good = signature.is_some_and(|signature| key.verify_der(&message, &signature).is_ok());
            if good && !counted.contains(&key) {
                counted.push(key);
            }
        }
        match counted.len() as u64 {
            signed if signed >= threshold => Ok(()),
            signed => Err(TufFault::Threshold { signed, needed: threshold }),
        }
    }

    /// Checks that this root follows another: the next version, signed by the threshold of both (TUF §5.3.4, §5.3.5).
    ///
    /// # Errors
    /// [`TufFault::Version`], [`TufFault::Threshold`].
    pub fn follows(&self, before: &Metadata) -> Result<(), TufFault> {
        if self.role()? != "root" || self.version()? != before.version()?.saturating_add(1) {
            return Err(TufFault::Version);
        }
        self.check(before)?;
        self.check(self)
    }
}

/// A key in metadata.
pub fn key_json(key: &PublicKey) -> Value {
    match key.algorithm() {
        SignatureAlgorithm::Es256 => json!({
            "keytype": "ecdsa", "scheme": "ecdsa-sha2-nistp256", "keyval": {"public": key.to_pem()},
        }),
        SignatureAlgorithm::Ed25519 => json!({
            "keytype": "ed25519", "scheme": "ed25519", "keyval": {"public": to_hex(key.raw())},
        }),
    }
}

/// The id of a key: SHA-256 of its canonical form, in hex.
///
/// # Errors
/// Never for keys that [`key_json`] writes.
pub fn key_id(key: &PublicKey) -> Result<String, TufFault> {
    Ok(to_hex(sha256(&canonical::bytes(&key_json(key))?)))
}
