//! Keys of locks: HKDF-SHA-256 (RFC 5869) from the fleet's secret and an epoch.

use super::{Claim, LockFault};
use crate::encoding::part;
use crate::limits::EPOCH_SECONDS;
use ring::{hkdf, hmac};
use semgate_certs::SecureRandom;
use semgate_certs::encoding::from_base64url;
use std::fmt;

/// Salt of the derivation, which names the use of the secret.
const SALT: &[u8] = b"semgate snl v1";
/// Fewest bytes of a secret: as many as the keys that come from it have.
const MIN_SECRET: usize = 32;
/// Most bytes of a secret.
const MAX_SECRET: usize = 1024;
/// Most lines of a secret file: the secret, and the one before while a fleet changes over.
const MAX_SECRETS: usize = 2;

/// A text is no secret file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretFault {
    /// Not one or two lines.
    Lines,
    /// A line is not base64url without padding.
    Encoding,
    /// A secret has fewer than 32 bytes, or more than 1,024.
    Length,
    /// A secret is nothing but zeros, so it is not random.
    Zeros,
    /// The source of randomness failed.
    Randomness,
}

impl fmt::Display for SecretFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lines => "the secret file does not have one line, or two",
            Self::Encoding => "a line of the secret file is not base64url without padding",
            Self::Length => "a secret does not have 32 to 1024 bytes",
            Self::Zeros => "a secret consists of zeros only",
            Self::Randomness => "the source of randomness failed",
        })
    }
}

impl std::error::Error for SecretFault {}

/// The secret that the gateways of a fleet share, so that each honours the locks of the others.
pub struct FleetSecret(hkdf::Prk);

impl fmt::Debug for FleetSecret {
    /// Never the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FleetSecret")
    }
}

impl FleetSecret {
    /// A secret of 32 bytes or more.
    ///
    /// # Errors
    /// [`SecretFault::Length`].
    pub fn new(bytes: &[u8]) -> Result<Self, SecretFault> {
        if !(MIN_SECRET..=MAX_SECRET).contains(&bytes.len()) {
            return Err(SecretFault::Length);
        }
        Ok(Self(hkdf::Salt::new(hkdf::HKDF_SHA256, SALT).extract(bytes)))
    }

    /// A new random secret: its locks end with the process.
    ///
    /// # Errors
    /// [`SecretFault::Randomness`].
    pub fn random(random: &dyn SecureRandom) -> Result<Self, SecretFault> {
        let mut bytes = [0; MIN_SECRET];
        random.fill(&mut bytes).map_err(|_| SecretFault::Randomness)?;
        Self::new(&bytes)
    }

    /// The lines of a secret file: base64url without padding, one secret in each. The first makes locks; a second one still
    /// verifies.
    ///
    /// # Errors
    /// [`SecretFault`].
    pub fn read_file(text: &str) -> Result<Vec<Self>, SecretFault> {
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        if lines.is_empty() || lines.len() > MAX_SECRETS {
            return Err(SecretFault::Lines);
        }
        let read = |line: &str| {
            let bytes = from_base64url(line).ok_or(SecretFault::Encoding)?;
            let secret = Self::new(&bytes)?;
            if bytes.iter().all(|byte| *byte == 0) { Err(SecretFault::Zeros) } else { Ok(secret) }
        };
        lines.into_iter().map(read).collect()
    }

    pub(super) fn epoch_key(&self, epoch: u64) -> EpochKey {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.expand(b"lock", epoch));
        EpochKey { epoch, fingerprint: self.fingerprint(epoch), key }
    }

    /// A short name that distinguishes the keys of different secrets; it reveals nothing of the key.
    pub(super) fn fingerprint(&self, epoch: u64) -> u32 {
        let [a, b, c, d, ..] = self.expand(b"id", epoch);
        u32::from_be_bytes([a, b, c, d])
    }

    /// Keying material for the key-agreement key of an epoch and agent, so that a fleet shares it too.
    pub(crate) fn sealing(&self, epoch: u64, agent: &str) -> [u8; 32] {
        let inner = self.expand(b"sealing", epoch);
        let key = hmac::Key::new(hmac::HMAC_SHA256, &inner);
        to_32(hmac::sign(&key, agent.as_bytes()).as_ref())
    }

    fn expand(&self, label: &[u8], epoch: u64) -> [u8; 32] {
        let mut out = [0; 32];
        let info = [label, &epoch.to_be_bytes(), &EPOCH_SECONDS.to_be_bytes()];
        // 32 bytes is one block of the hash, which never is too long for HKDF
        let filled = self.0.expand(&info, hkdf::HKDF_SHA256).and_then(|okm| okm.fill(&mut out));
        debug_assert!(filled.is_ok());
        out
    }
}

fn to_32(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    out.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    out
}

/// The key of one epoch.
#[derive(Clone)]
pub(super) struct EpochKey {
    epoch: u64,
    fingerprint: u32,
    key: hmac::Key,
}

impl EpochKey {
    pub(super) fn is(&self, epoch: u64, fingerprint: u32) -> bool {
        self.epoch == epoch && self.fingerprint == fingerprint
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(super) fn fingerprint(&self) -> u32 {
        self.fingerprint
    }

    pub(super) fn tag(&self, claim: &Claim<'_>) -> [u8; 32] {
        to_32(hmac::sign(&self.key, &claim.bytes()).as_ref())
    }

    /// Computes the tag and compares it in constant time.
    pub(super) fn verify(&self, claim: &Claim<'_>, tag: &[u8; 32]) -> Result<(), LockFault> {
        hmac::verify(&self.key, &claim.bytes(), tag).map_err(|_| LockFault::Tag)
    }
}

impl Claim<'_> {
    /// Every part with its length before it, so that no two claims have the same bytes.
    fn bytes(&self) -> Vec<u8> {
        let texts = [
            trust_domain(self.responder),
            self.initiator,
            self.responder,
            self.route,
            self.authority,
            self.urn,
        ];
        let mut out = Vec::with_capacity(256 + texts.iter().map(|text| text.len()).sum::<usize>());
        part(&mut out, if self.model.is_some() { b"semgate lock v2" } else { b"semgate lock v1" });
        texts.iter().for_each(|text| part(&mut out, text.as_bytes()));
        part(&mut out, self.digest.as_bytes());
        part(&mut out, self.session);
        if let Some(model) = self.model {
            part(&mut out, model.as_str().as_bytes());
        }
        part(&mut out, &self.expires_at.to_be_bytes());
        out
    }
}

/// The trust domain of a SPIFFE id; empty where there is none.
fn trust_domain(id: &str) -> &str {
    let rest = id.strip_prefix("spiffe://").unwrap_or_default();
    rest.split('/').next().unwrap_or_default()
}
