//! General JSON serialisation with several signatures over one payload (RFC 7515 §7.2.1):
//! `{payload, signatures: [{protected, signature} …]}`. For statements of the root: their signers are known by certificate and need no
//! chain.

use super::{Header, JwsFault, SignFault};
use crate::format::{FormatFault, Members, limits, write};
use ring::rand::SecureRandom;
use semgate_certs::encoding::{from_base64url, to_base64url};
use semgate_certs::{PublicKey, RootKey, SigningKey, Thumbprint};
use serde_json::json;

/// Signatures on one payload: twice the root keys of a list, because the old and the new ones may both sign.
pub const MAX_SIGNATURES: usize = 32;

#[derive(Clone, Debug)]
struct Signature {
    protected: String,
    header: Header,
    signature: Vec<u8>,
}

/// A payload with any number of signatures, even none: read, not verified.
#[derive(Clone, Debug)]
pub struct MultiJws {
    typ: String,
    encoded: String,
    payload: Vec<u8>,
    signatures: Vec<Signature>,
}

impl MultiJws {
    /// A payload without signatures.
    pub fn draft(payload: &[u8], typ: &str) -> MultiJws {
        let encoded = to_base64url(payload);
        MultiJws { typ: typ.to_owned(), encoded, payload: payload.to_vec(), signatures: Vec::new() }
    }

    /// Reads a payload whose protected headers are the closed set with this `typ`; at most `max_bytes` and [`MAX_SIGNATURES`].
    pub fn read(bytes: &[u8], typ: &str, max_bytes: usize) -> Result<MultiJws, JwsFault> {
        if bytes.len() > max_bytes {
            return Err(JwsFault::TooLarge);
        }
        let json = semgate_contexts::json::read(bytes, &limits(max_bytes)).map_err(FormatFault::from)?;
        let shape = |_| JwsFault::Serialisation;
        let outer = Members::closed(&json, &["payload", "signatures"], &[]).map_err(shape)?;
        let list = outer.list("signatures")?;
        if list.len() > MAX_SIGNATURES {
            return Err(JwsFault::SignatureCount);
        }
        let mut signatures = Vec::with_capacity(list.len());
        for one in list {
            let inner = Members::closed(one, &["protected", "signature"], &[]).map_err(shape)?;
            let protected = inner.text("protected")?.to_owned();
            let header = Header::decode(&protected, typ)?;
            let signature = from_base64url(inner.text("signature")?).ok_or(JwsFault::Serialisation)?;
            signatures.push(Signature { protected, header, signature });
        }
        let encoded = outer.text("payload")?.to_owned();
        let payload = from_base64url(&encoded).ok_or(JwsFault::Serialisation)?;
        Ok(MultiJws { typ: typ.to_owned(), encoded, payload, signatures })
    }

    /// Adds a signature by `key`, whose certificate has this thumbprint; one by the same certificate is replaced.
    pub fn sign(
        &mut self,
        key: &dyn SigningKey,
        certificate: &Thumbprint,
        random: &dyn SecureRandom,
    ) -> Result<(), SignFault> {
        let algorithm = key.public().algorithm();
        let protected = Header::write(algorithm, &self.typ, certificate)?;
        let signature = key.sign(random, format!("{protected}.{}", self.encoded).as_bytes())?;
        let header = Header { algorithm, key: *certificate };
        self.signatures.retain(|one| one.header.key != *certificate);
        self.signatures.push(Signature { protected, header, signature: signature.to_vec() });
        self.signatures.sort_by_key(|one| one.header.key);
        Ok(())
    }

    /// The JCS text.
    pub fn to_text(&self) -> Result<String, FormatFault> {
        let signatures: Vec<_> = self
            .signatures
            .iter()
            .map(|one| json!({"protected": one.protected, "signature": to_base64url(&one.signature)}))
            .collect();
        let bytes = write(&json!({"payload": self.encoded, "signatures": signatures}))?;
        String::from_utf8(bytes).map_err(|_| FormatFault::Unwritable)
    }

    /// The payload, not verified.
    pub fn unverified_payload(&self) -> &[u8] {
        &self.payload
    }

    /// The certificates that claim to have signed.
    pub fn claimed(&self) -> impl Iterator<Item = Thumbprint> {
        self.signatures.iter().map(|one| one.header.key)
    }

    /// Number of different keys among `keys`, valid at `at`, that signed this payload. A key counts once, however many certificates or
    /// signatures it has.
    pub fn signers(&self, keys: &[RootKey], at: u64) -> u64 {
        let mut counted: Vec<&PublicKey> = Vec::new();
        for one in &self.signatures {
            let valid = |key: &&RootKey| (key.validity().0..=key.validity().1).contains(&at);
            let Some(root) = keys.iter().filter(valid).find(|key| key.thumbprint() == one.header.key) else {
                continue;
            };
            let signed = format!("{}.{}", one.protected, self.encoded);
            let good = root.key().verify(one.header.algorithm, signed.as_bytes(), &one.signature);
            if good.is_ok() && !counted.contains(&root.key()) {
                counted.push(root.key());
            }
        }
        counted.len() as u64
    }
}
