//! Keys and signatures: ECDSA P-256 (`ES256`) to sign; ECDSA P-256 and Ed25519 to verify.

use crate::pem;
use crate::{DeviceFault, SigningKey};
use ring::rand::SecureRandom;
use ring::signature::{self, EcdsaKeyPair, KeyPair as _, UnparsedPublicKey};
use rustls_pki_types::SignatureVerificationAlgorithm;
use rustls_pki_types::pem::SectionKind;
use std::fmt;
use std::sync::Arc;

/// Signatures that a chain may carry. No RSA: none of ours uses it, and fewer algorithms leave fewer attacks.
pub(crate) const ALGORITHMS: &[&dyn SignatureVerificationAlgorithm] = &[
    webpki::ring::ECDSA_P256_SHA256,
    webpki::ring::ECDSA_P256_SHA384,
    webpki::ring::ECDSA_P384_SHA256,
    webpki::ring::ECDSA_P384_SHA384,
    webpki::ring::ED25519,
];

/// SubjectPublicKeyInfo of P-256 up to the uncompressed point (RFC 5480 §2).
const P256_SPKI: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// SubjectPublicKeyInfo of Ed25519 up to the key (RFC 8410 §4).
const ED25519_SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// Bytes of a key file. A P-256 key in PEM has about 240; ten times that leaves room for comments.
const MAX_KEY_PEM: usize = 4096;

/// The reason that a key is not available.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyFault {
    /// The source of randomness failed.
    Randomness,
    /// Not one PEM section `PRIVATE KEY`.
    NotPem,
    /// Not a PKCS#8 document with a P-256 key.
    NotP256,
    /// Not a SubjectPublicKeyInfo of a P-256 or Ed25519 key.
    UnsupportedPublicKey,
    /// The device that holds the key failed.
    Device(DeviceFault),
}

impl fmt::Display for KeyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyFault::Randomness => "the source of randomness failed",
            KeyFault::NotPem => "the key file is not one pem section `PRIVATE KEY`",
            KeyFault::NotP256 => "the private key is not a pkcs#8 key of the curve p-256",
            KeyFault::UnsupportedPublicKey => "the public key is neither p-256 nor ed25519",
            KeyFault::Device(fault) => return fault.fmt(f),
        })
    }
}

impl std::error::Error for KeyFault {}

/// The reason that a signature was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignatureFault {
    /// The named algorithm is not the key's.
    WrongAlgorithm,
    /// The signature does not have 64 bytes.
    Length,
    /// The signature does not fit key and message.
    Mismatch,
}

impl fmt::Display for SignatureFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SignatureFault::WrongAlgorithm => "the signature algorithm does not fit the key",
            SignatureFault::Length => "the signature does not have 64 bytes",
            SignatureFault::Mismatch => "the signature does not fit key and message",
        })
    }
}

impl std::error::Error for SignatureFault {}

/// The signature algorithms of JWS that Semgate accepts (`docs/spec/signed-context.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignatureAlgorithm {
    /// ECDSA on P-256 with SHA-256, 64 bytes `r || s` (RFC 7518 §3.4).
    Es256,
    /// Ed25519 (RFC 8037, RFC 9864).
    Ed25519,
}

impl SignatureAlgorithm {
    /// The JOSE name: `ES256` or `Ed25519`.
    pub fn as_str(self) -> &'static str {
        match self {
            SignatureAlgorithm::Es256 => "ES256",
            SignatureAlgorithm::Ed25519 => "Ed25519",
        }
    }

    /// The algorithm with exactly this JOSE name. `none`, `EdDSA` and all others are no algorithm.
    pub fn parse(name: &str) -> Option<SignatureAlgorithm> {
        match name {
            "ES256" => Some(SignatureAlgorithm::Es256),
            "Ed25519" => Some(SignatureAlgorithm::Ed25519),
            _ => None,
        }
    }
}

/// A P-256 key pair. Its `Debug` shows the public key only.
pub struct KeyPair {
    pkcs8: Vec<u8>,
    signer: EcdsaKeyPair,
    public: PublicKey,
}

impl KeyPair {
    /// Draws a new key.
    ///
    /// # Errors
    /// [`KeyFault::Randomness`].
    pub fn generate(random: &dyn SecureRandom) -> Result<KeyPair, KeyFault> {
        let algorithm = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, random).map_err(|_| KeyFault::Randomness)?;
        KeyPair::from_pkcs8(document.as_ref(), random)
    }

    /// Reads a PKCS#8 document that holds its public key too, as openssl and ring write it.
    ///
    /// # Errors
    /// [`KeyFault::NotP256`].
    pub fn from_pkcs8(der: &[u8], random: &dyn SecureRandom) -> Result<KeyPair, KeyFault> {
        let algorithm = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
        let signer = EcdsaKeyPair::from_pkcs8(algorithm, der, random).map_err(|_| KeyFault::NotP256)?;
        let raw = signer.public_key().as_ref();
        let public = PublicKey::from_raw(SignatureAlgorithm::Es256, raw).map_err(|_| KeyFault::NotP256)?;
        Ok(KeyPair { pkcs8: der.to_vec(), signer, public })
    }

    /// Reads one PKCS#8 PEM section `PRIVATE KEY`. The randomness blinds later signatures.
    ///
    /// # Errors
    /// [`KeyFault::NotPem`] unless there is exactly one such section and no other; [`KeyFault::NotP256`].
    pub fn from_pem(text: &str, random: &dyn SecureRandom) -> Result<KeyPair, KeyFault> {
        let sections =
            pem::sections(text, SectionKind::PrivateKey, MAX_KEY_PEM).map_err(|_| KeyFault::NotPem)?;
        let [der] = sections.as_slice() else { return Err(KeyFault::NotPem) };
        KeyPair::from_pkcs8(der, random)
    }

    /// The PKCS#8 PEM form. The caller keeps it secret: files are created 0600.
    pub fn to_pem(&self) -> String {
        pem::write("PRIVATE KEY", &self.pkcs8)
    }

    /// Signs with ES256: the 64 bytes `r || s` of RFC 7518 §3.4.
    ///
    /// # Errors
    /// [`KeyFault::Randomness`].
    pub fn sign(&self, random: &dyn SecureRandom, message: &[u8]) -> Result<[u8; 64], KeyFault> {
        let signature = self.signer.sign(random, message).map_err(|_| KeyFault::Randomness)?;
        signature.as_ref().try_into().map_err(|_| KeyFault::Randomness)
    }

    /// The public half.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    pub(crate) fn pkcs8(&self) -> &[u8] {
        &self.pkcs8
    }
}

impl SigningKey for KeyPair {
    fn public(&self) -> &PublicKey {
        &self.public
    }

    fn sign(&self, random: &dyn SecureRandom, message: &[u8]) -> Result<[u8; 64], KeyFault> {
        KeyPair::sign(self, random, message)
    }

    fn sign_undrawn(&self, _: &[u8]) -> Result<[u8; 64], KeyFault> {
        Err(KeyFault::Randomness)
    }

    fn pem(&self) -> Option<String> {
        Some(self.to_pem())
    }
}

impl From<KeyPair> for Arc<dyn SigningKey> {
    fn from(key: KeyPair) -> Self {
        Arc::new(key)
    }
}

impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyPair").field("public", &self.public).finish_non_exhaustive()
    }
}

/// A public key of P-256 or Ed25519.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    spki: Vec<u8>,
    algorithm: SignatureAlgorithm,
}

impl PublicKey {
    /// Reads a DER SubjectPublicKeyInfo (RFC 5280 §4.1.2.7) in its one DER form; P-256 points uncompressed.
    ///
    /// # Errors
    /// [`KeyFault::UnsupportedPublicKey`].
    pub fn from_spki(der: &[u8]) -> Result<PublicKey, KeyFault> {
        let algorithm = match (der.strip_prefix(&P256_SPKI), der.strip_prefix(&ED25519_SPKI)) {
            (Some([4, point @ ..]), _) if point.len() == 64 => SignatureAlgorithm::Es256,
            (_, Some(key)) if key.len() == 32 => SignatureAlgorithm::Ed25519,
            _ => return Err(KeyFault::UnsupportedPublicKey),
        };
        Ok(PublicKey { spki: der.to_vec(), algorithm })
    }

    /// An uncompressed point of P-256 (65 bytes), or the 32 bytes of an Ed25519 key.
    ///
    /// # Errors
    /// [`KeyFault::UnsupportedPublicKey`].
    pub fn from_raw(algorithm: SignatureAlgorithm, raw: &[u8]) -> Result<PublicKey, KeyFault> {
        let head: &[u8] = match algorithm {
            SignatureAlgorithm::Es256 => &P256_SPKI,
            SignatureAlgorithm::Ed25519 => &ED25519_SPKI,
        };
        PublicKey::from_spki(&[head, raw].concat())
    }

    /// The DER SubjectPublicKeyInfo.
    pub fn spki(&self) -> &[u8] {
        &self.spki
    }

    /// The key alone: the uncompressed point of P-256 (65 bytes) or the 32 bytes of Ed25519.
    pub fn raw(&self) -> &[u8] {
        let head = match self.algorithm {
            SignatureAlgorithm::Es256 => P256_SPKI.len(),
            SignatureAlgorithm::Ed25519 => ED25519_SPKI.len(),
        };
        self.spki.get(head..).unwrap_or_default()
    }

    /// The one algorithm that this key verifies.
    pub fn algorithm(&self) -> SignatureAlgorithm {
        self.algorithm
    }

    /// The PEM form, `PUBLIC KEY`.
    pub fn to_pem(&self) -> String {
        pem::write("PUBLIC KEY", &self.spki)
    }

    /// Reads the PEM form.
    ///
    /// # Errors
    /// [`KeyFault::NotPem`] unless there is exactly one section and no other; [`KeyFault::UnsupportedPublicKey`].
    pub fn from_pem(text: &str) -> Result<PublicKey, KeyFault> {
        let sections =
            pem::sections(text, SectionKind::PublicKey, MAX_KEY_PEM).map_err(|_| KeyFault::NotPem)?;
        let [der] = sections.as_slice() else { return Err(KeyFault::NotPem) };
        PublicKey::from_spki(der)
    }

    /// Checks a signature in the form of certificates: ECDSA as a sequence of two integers, Ed25519 as it is.
    ///
    /// # Errors
    /// [`SignatureFault::Mismatch`].
    pub fn verify_der(&self, message: &[u8], signature: &[u8]) -> Result<(), SignatureFault> {
        let algorithm: &dyn signature::VerificationAlgorithm = match self.algorithm {
            SignatureAlgorithm::Es256 => &signature::ECDSA_P256_SHA256_ASN1,
            SignatureAlgorithm::Ed25519 => &signature::ED25519,
        };
        let key = UnparsedPublicKey::new(algorithm, self.raw());
        key.verify(message, signature).map_err(|_| SignatureFault::Mismatch)
    }

    /// Checks a JWS signature (64 bytes) of `message` by this key. The algorithm that the signature claims must be the
    /// key's own, so that a header cannot choose another.
    ///
    /// # Errors
    /// The [`SignatureFault`] of the first check that fails.
    pub fn verify(
        &self,
        claimed: SignatureAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), SignatureFault> {
        if claimed != self.algorithm {
            return Err(SignatureFault::WrongAlgorithm);
        }
        if signature.len() != 64 {
            return Err(SignatureFault::Length);
        }
        let algorithm: &dyn signature::VerificationAlgorithm = match self.algorithm {
            SignatureAlgorithm::Es256 => &signature::ECDSA_P256_SHA256_FIXED,
            SignatureAlgorithm::Ed25519 => &signature::ED25519,
        };
        let key = UnparsedPublicKey::new(algorithm, self.raw());
        key.verify(message, signature).map_err(|_| SignatureFault::Mismatch)
    }
}

/// The DER form of an ECDSA signature `r || s`, used in certificates and in TUF (RFC 3279 §2.2.3): a sequence of two
/// integers.
pub fn signature_der(signature: &[u8; 64]) -> Vec<u8> {
    let (r, s) = signature.split_at(32);
    let integer = |digits: &[u8]| {
        let start = digits.iter().position(|digit| *digit != 0).unwrap_or(digits.len());
        let digits = digits.get(start..).unwrap_or_default();
        // an INTEGER has a sign
        let pad: &[u8] = if digits.first().is_none_or(|first| first & 0x80 != 0) { &[0] } else { &[] };
        element(0x02, &[pad, digits].concat())
    };
    element(0x30, &[integer(r), integer(s)].concat())
}

/// One element of fewer than 128 bytes.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap_or(0x7f);
    [&[tag, length], content].concat()
}

#[cfg(test)]
mod tests;
