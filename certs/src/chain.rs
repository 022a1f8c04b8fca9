//! Chains and roots, as they come from files, from `x5c` members and from handshakes: read with bounds, not yet believed.

use rustls_pki_types::CertificateDer;
use semgate_contexts::Prefix;
use std::fmt;

/// Bounds of everything that is read as a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainLimits {
    /// Certificates in a chain, the leaf included. Leaf, issuing and one cross certificate are three; four leaves room.
    pub max_certificates: usize,
    /// Bytes of one DER certificate. Ours have about 600; a leaf of a hundred lines about 9,000.
    pub max_certificate_bytes: usize,
    /// Bytes of one PEM file. A file of 64 large roots fits.
    pub max_pem_bytes: usize,
    /// Roots in one file or configuration. Checking a chain tries each root with the right subject.
    pub max_roots: usize,
    /// Names in one leaf. Each is compared with each name constraint.
    pub max_names: usize,
    /// Seconds from `notBefore` to `notAfter` of a leaf of the contexts family: 90 days (DESIGN §3).
    pub max_leaf_lifetime: u64,
}

impl Default for ChainLimits {
    fn default() -> Self {
        ChainLimits {
            max_certificates: 4,
            max_certificate_bytes: 16 * 1024,
            max_pem_bytes: 256 * 1024,
            max_roots: 64,
            max_names: 128,
            max_leaf_lifetime: 90 * 86_400,
        }
    }
}

/// Why a PEM or base64 text gave no chain or roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PemFault {
    /// More bytes than the limit.
    TooLarge,
    /// More certificates than the limit.
    TooMany,
    /// No certificate in it.
    Empty,
    /// A section that is not a certificate, for example a private key.
    NotACertificate,
    /// Not PEM or base64.
    Malformed,
    /// The bytes are not a certificate that can serve as a root.
    BadRoot,
}

impl fmt::Display for PemFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PemFault::TooLarge => "the certificates are larger than the limit",
            PemFault::TooMany => "there are more certificates than the limit",
            PemFault::Empty => "there is no certificate",
            PemFault::NotACertificate => "there is a section that is not a certificate",
            PemFault::Malformed => "the text is not pem or base64",
            PemFault::BadRoot => "a certificate cannot serve as a root",
        })
    }
}

impl std::error::Error for PemFault {}

/// SHA-256 of a DER certificate: the `x5t#S256` of RFC 7515 §4.1.8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Thumbprint([u8; 32]);

impl Thumbprint {
    /// Of these DER bytes.
    pub fn of(_der: &[u8]) -> Thumbprint {
        todo!()
    }

    /// Reads the base64url form without padding, 43 characters.
    pub fn parse(_text: &str) -> Option<Thumbprint> {
        todo!()
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Thumbprint {
    /// The base64url form without padding, as in JOSE headers.
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        todo!()
    }
}

/// A chain of certificates, leaf first, without the root. Nothing in it is believed before [`crate::verify_chain`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain(Vec<CertificateDer<'static>>);

impl Chain {
    /// From DER certificates, leaf first.
    pub fn from_der(
        _certificates: Vec<CertificateDer<'static>>,
        _limits: &ChainLimits,
    ) -> Result<Chain, PemFault> {
        todo!()
    }

    /// From PEM, leaf first.
    pub fn from_pem(_pem: &str, _limits: &ChainLimits) -> Result<Chain, PemFault> {
        todo!()
    }

    /// From the members of an `x5c` (RFC 7515 §4.1.6): padded standard base64, no white space, leaf first.
    pub fn from_x5c<'a>(
        _members: impl IntoIterator<Item = &'a str>,
        _limits: &ChainLimits,
    ) -> Result<Chain, PemFault> {
        todo!()
    }

    /// As PEM, leaf first.
    pub fn to_pem(&self) -> String {
        todo!()
    }

    /// As the members of an `x5c`.
    pub fn to_x5c(&self) -> Vec<String> {
        todo!()
    }

    /// The certificates, leaf first; at least one.
    pub fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.0
    }

    /// The DER bytes of the leaf.
    pub fn leaf(&self) -> &CertificateDer<'static> {
        todo!()
    }

    /// The thumbprint of the leaf.
    pub fn thumbprint(&self) -> Thumbprint {
        todo!()
    }
}

/// Roots that chains must end at, with the prefix of the URNs that they speak for.
#[derive(Clone, Debug)]
pub struct Roots {
    pub(crate) prefix: Prefix,
    pub(crate) limits: ChainLimits,
}

impl Roots {
    /// From PEM: one certificate or more, each a CA. The prefix is `urn:contexts` until [`Roots::with_prefix`].
    pub fn from_pem(_pem: &str, _limits: &ChainLimits) -> Result<Roots, PemFault> {
        todo!()
    }

    /// From DER certificates, the same.
    pub fn from_der(
        _certificates: Vec<CertificateDer<'static>>,
        _limits: &ChainLimits,
    ) -> Result<Roots, PemFault> {
        todo!()
    }

    /// The same roots for URNs with another prefix.
    pub fn with_prefix(mut self, prefix: Prefix) -> Roots {
        self.prefix = prefix;
        self
    }

    /// The bounds that chains are read with.
    pub fn limits(&self) -> &ChainLimits {
        &self.limits
    }
}
