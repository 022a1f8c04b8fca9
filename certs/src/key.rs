//! Keys and signatures: ECDSA P-256 (`ES256`) to sign; that and Ed25519 to verify.

use ring::rand::SecureRandom;
use std::fmt;

/// Why a key cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFault {
    /// The source of randomness failed.
    Randomness,
    /// Not one PEM section `PRIVATE KEY`.
    NotPem,
    /// Not a PKCS#8 document with a P-256 key.
    NotP256,
    /// Not a SubjectPublicKeyInfo of a P-256 or Ed25519 key.
    UnsupportedPublicKey,
}

impl fmt::Display for KeyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyFault::Randomness => "the source of randomness failed",
            KeyFault::NotPem => "the key file is not one pem section `PRIVATE KEY`",
            KeyFault::NotP256 => "the private key is not a pkcs#8 key of the curve p-256",
            KeyFault::UnsupportedPublicKey => "the public key is neither p-256 nor ed25519",
        })
    }
}

impl std::error::Error for KeyFault {}

/// Why a signature was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
            SignatureFault::WrongAlgorithm => "the signature algorithm is not the key's",
            SignatureFault::Length => "the signature does not have 64 bytes",
            SignatureFault::Mismatch => "the signature does not fit key and message",
        })
    }
}

impl std::error::Error for SignatureFault {}

/// The signature algorithms of JWS that Semgate accepts (WIRE, signed context).
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
    public: PublicKey,
}

impl KeyPair {
    /// Draws a new key.
    pub fn generate(_random: &dyn SecureRandom) -> Result<KeyPair, KeyFault> {
        todo!()
    }

    /// Reads one PKCS#8 PEM section `PRIVATE KEY`.
    pub fn from_pem(_pem: &str) -> Result<KeyPair, KeyFault> {
        todo!()
    }

    /// The PKCS#8 PEM form. The caller keeps it secret: files are created 0600 (WIRE).
    pub fn to_pem(&self) -> String {
        todo!()
    }

    /// Signs with ES256: the 64 bytes `r || s`.
    pub fn sign(&self, _random: &dyn SecureRandom, _message: &[u8]) -> Result<[u8; 64], KeyFault> {
        let _ = &self.pkcs8;
        todo!()
    }

    /// The public half.
    pub fn public(&self) -> &PublicKey {
        &self.public
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
    /// Reads a DER SubjectPublicKeyInfo (RFC 5280 §4.1.2.7).
    pub fn from_spki(_der: &[u8]) -> Result<PublicKey, KeyFault> {
        todo!()
    }

    /// The DER SubjectPublicKeyInfo.
    pub fn spki(&self) -> &[u8] {
        &self.spki
    }

    /// The one algorithm that this key verifies.
    pub fn algorithm(&self) -> SignatureAlgorithm {
        self.algorithm
    }

    /// Checks a JWS signature (64 bytes) of `message` by this key. The algorithm that the signature claims must be the
    /// key's own.
    pub fn verify(
        &self,
        _claimed: SignatureAlgorithm,
        _message: &[u8],
        _signature: &[u8],
    ) -> Result<(), SignatureFault> {
        todo!()
    }
}
