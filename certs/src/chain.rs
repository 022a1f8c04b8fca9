//! Chains and roots from files, from `x5c` members and from handshakes: read with bounds, not yet trusted.

use crate::chain_fault::fault_of;
use crate::encoding::{from_base64, from_base64url, to_base64, to_base64url};
use crate::extensions::Role;
use crate::malleability::mirrored_signature;
use crate::pem;
use crate::read::Facts;
use crate::{ChainFault, CrlStore};
use ring::digest::{SHA256, digest};
use rustls_pki_types::pem::SectionKind;
use rustls_pki_types::{CertificateDer, TrustAnchor};
use semgate_contexts::Prefix;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

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
    /// Seconds from `notBefore` to `notAfter` of a leaf of the contexts family: 90 days (`docs/spec/certificates.md`).
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

/// The reason that a PEM or base64 text gave no chain or roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PemFault {
    /// More bytes than the limit.
    TooLarge,
    /// More certificates than the limit.
    TooMany,
    /// No certificate in it.
    Empty,
    /// A section of another kind than expected, for example a private key among certificates.
    OtherSection,
    /// Not PEM or base64.
    Malformed,
    /// A certificate that cannot serve as a root, with the reason.
    BadRoot(ChainFault),
}

impl fmt::Display for PemFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PemFault::BadRoot(fault) => return write!(f, "a certificate cannot serve as a root: {fault}"),
            PemFault::TooLarge => "the certificates are larger than the limit",
            PemFault::TooMany => "there are more certificates than the limit",
            PemFault::Empty => "there is no certificate",
            PemFault::OtherSection => "there is a pem section of another kind",
            PemFault::Malformed => "the text is not pem or base64",
        })
    }
}

impl std::error::Error for PemFault {}

/// SHA-256 of a DER certificate: the `x5t#S256` of RFC 7515 §4.1.8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Thumbprint([u8; 32]);

impl Thumbprint {
    /// The thumbprint of these DER bytes.
    pub fn of(der: &[u8]) -> Thumbprint {
        let mut bytes = [0; 32];
        // SHA-256 has 32 bytes, so the two always have the same length.
        bytes.iter_mut().zip(digest(&SHA256, der).as_ref()).for_each(|(to, from)| *to = *from);
        Thumbprint(bytes)
    }

    /// Reads the one base64url form without padding, 43 characters.
    pub fn parse(text: &str) -> Option<Thumbprint> {
        let bytes = from_base64url(text)?;
        Some(Thumbprint(bytes.try_into().ok()?))
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Thumbprint {
    /// The base64url form without padding, as in JOSE headers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_base64url(self.0))
    }
}

/// A chain of certificates, leaf first, without the root. Nothing in it is trusted before [`crate::verify_chain`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain(Vec<CertificateDer<'static>>);

impl Chain {
    /// Takes DER certificates, leaf first.
    ///
    /// # Errors
    /// [`PemFault::Empty`], [`PemFault::TooMany`], [`PemFault::TooLarge`]. The DER itself is not checked.
    pub fn from_der(
        certificates: Vec<CertificateDer<'static>>,
        limits: &ChainLimits,
    ) -> Result<Chain, PemFault> {
        match certificates.len() {
            0 => return Err(PemFault::Empty),
            n if n > limits.max_certificates => return Err(PemFault::TooMany),
            _ => {}
        }
        if certificates.iter().any(|der| der.len() > limits.max_certificate_bytes) {
            return Err(PemFault::TooLarge);
        }
        Ok(Chain(certificates))
    }

    /// Reads PEM, leaf first.
    ///
    /// # Errors
    /// As [`Chain::from_der`]; [`PemFault::OtherSection`] and [`PemFault::Malformed`].
    pub fn from_pem(text: &str, limits: &ChainLimits) -> Result<Chain, PemFault> {
        let sections = pem::sections(text, SectionKind::Certificate, limits.max_pem_bytes)?;
        Chain::from_der(sections.into_iter().map(CertificateDer::from).collect(), limits)
    }

    /// Reads the members of an `x5c` (RFC 7515 §4.1.6): padded standard base64, no white space, leaf first.
    ///
    /// # Errors
    /// As [`Chain::from_der`]; [`PemFault::Malformed`].
    pub fn from_x5c<'a>(
        members: impl IntoIterator<Item = &'a str>,
        limits: &ChainLimits,
    ) -> Result<Chain, PemFault> {
        let mut certificates = Vec::new();
        for member in members {
            if certificates.len() == limits.max_certificates {
                return Err(PemFault::TooMany);
            }
            // Four characters hold three bytes: refuse before decoding.
            if member.len() / 4 * 3 > limits.max_certificate_bytes + 2 {
                return Err(PemFault::TooLarge);
            }
            let der = from_base64(member).ok_or(PemFault::Malformed)?;
            certificates.push(CertificateDer::from(der));
        }
        Chain::from_der(certificates, limits)
    }

    /// As PEM, leaf first.
    pub fn to_pem(&self) -> String {
        self.0.iter().map(|der| pem::write("CERTIFICATE", der)).collect()
    }

    /// As the members of an `x5c`.
    pub fn to_x5c(&self) -> Vec<String> {
        self.0.iter().map(to_base64).collect()
    }

    /// The certificates, leaf first; at least one.
    pub fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.0
    }

    /// The DER bytes of the leaf.
    pub fn leaf(&self) -> &[u8] {
        self.0.first().map(AsRef::as_ref).unwrap_or_default()
    }

    /// The thumbprint of the leaf.
    pub fn thumbprint(&self) -> Thumbprint {
        Thumbprint::of(self.leaf())
    }

    /// The first and the last second of the leaf's validity, as written; none if it cannot be read. Nothing is verified.
    pub fn leaf_validity(&self, limits: &ChainLimits) -> Option<(u64, u64)> {
        let facts = Facts::read(self.leaf(), limits).ok()?;
        Some((facts.not_before, facts.not_after))
    }

    /// The same chain with the leaf's twin. Anybody can make the twin, and it verifies like the leaf: it has the other of its
    /// issuer's two ECDSA signatures (SEC 1, 4.1.4). None where the issuer signed otherwise.
    #[must_use]
    pub fn with_mirrored_signature(&self) -> Option<Chain> {
        let leaf = CertificateDer::from(mirrored_signature(self.leaf())?);
        Some(Chain(std::iter::once(leaf).chain(self.0.iter().skip(1).cloned()).collect()))
    }
}

/// One root, with the facts that webpki's trust anchors leave out.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    pub(crate) anchor: TrustAnchor<'static>,
    pub(crate) not_before: u64,
    pub(crate) not_after: u64,
    pub(crate) path_length: Option<u32>,
    pub(crate) thumbprint: Thumbprint,
    pub(crate) der: CertificateDer<'static>,
}

/// Roots that chains must end at, with the prefix of their URNs and the bounds to read chains with.
#[derive(Clone, Debug)]
pub struct Roots {
    pub(crate) roots: Vec<Root>,
    pub(crate) revoked: BTreeSet<Thumbprint>,
    /// The issuing certificates that are trusted right below a root; none: all.
    pub(crate) only: Option<Arc<BTreeSet<Thumbprint>>>,
    /// Revocation lists for leaves; none: nothing is looked up.
    pub(crate) crls: Option<Arc<CrlStore>>,
    pub(crate) prefix: Prefix,
    pub(crate) limits: ChainLimits,
}

impl Roots {
    /// Reads PEM: one certificate or more, each a CA that may sign certificates. The prefix is `urn:contexts` until
    /// [`Roots::with_prefix`].
    ///
    /// # Errors
    /// [`PemFault::BadRoot`] for a certificate that is no CA that may sign certificates, or has an extension that refuses it
    /// (a critical one that is not processed). Else as [`Chain::from_pem`].
    pub fn from_pem(text: &str, limits: &ChainLimits) -> Result<Roots, PemFault> {
        let sections = pem::sections(text, SectionKind::Certificate, limits.max_pem_bytes)?;
        Roots::from_der(sections.into_iter().map(CertificateDer::from).collect(), limits)
    }

    /// Takes DER certificates, as [`Roots::from_pem`].
    ///
    /// # Errors
    /// As [`Roots::from_pem`].
    pub fn from_der(
        certificates: Vec<CertificateDer<'static>>,
        limits: &ChainLimits,
    ) -> Result<Roots, PemFault> {
        match certificates.len() {
            0 => return Err(PemFault::Empty),
            n if n > limits.max_roots => return Err(PemFault::TooMany),
            _ => {}
        }
        let roots = certificates.iter().map(|der| root(der, limits)).collect::<Result<_, _>>()?;
        let prefix = Prefix::default();
        Ok(Roots { roots, revoked: BTreeSet::new(), only: None, crls: None, prefix, limits: limits.clone() })
    }

    /// The same roots for URNs with another prefix.
    pub fn with_prefix(mut self, prefix: Prefix) -> Roots {
        self.prefix = prefix;
        self
    }

    /// The same roots without these root and issuing certificates, at whatever time a chain is judged (root
    /// and issuing certificates must not be revoked now). A leaf in the list is not affected: what a compromised signer
    /// signed is told apart by its place in the log.
    pub fn with_revoked(mut self, certificates: impl IntoIterator<Item = Thumbprint>) -> Roots {
        self.revoked.extend(certificates);
        self
    }

    /// The same roots, limited to chains whose issuing certificate right below the root is one of these. This is the trust
    /// list of an authority whose root is split among several keys (`docs/spec/trust-list.md`). An empty list lets no chain
    /// pass.
    pub fn with_only(mut self, issuing: impl IntoIterator<Item = Thumbprint>) -> Roots {
        self.only = Some(Arc::new(issuing.into_iter().collect()));
        self
    }

    /// The same roots, under which a leaf needs a current list of its issuer on which it is not revoked (RFC 5280 §6.3). A
    /// leaf that no list covers, or whose list has expired, is refused.
    pub fn with_crls(mut self, crls: Arc<CrlStore>) -> Roots {
        self.crls = Some(crls);
        self
    }

    /// The same roots with additional ones; a root that is there already stays as it is.
    ///
    /// # Errors
    /// As [`Roots::from_pem`].
    pub fn with_more(mut self, certificates: Vec<CertificateDer<'static>>) -> Result<Roots, PemFault> {
        for der in certificates {
            let more = root(&der, &self.limits)?;
            if self.roots.iter().any(|known| known.thumbprint == more.thumbprint) {
                continue;
            }
            if self.roots.len() >= self.limits.max_roots {
                return Err(PemFault::TooMany);
            }
            self.roots.push(more);
        }
        Ok(self)
    }

    /// The root certificates, in the order in which they were given.
    pub fn certificates(&self) -> impl Iterator<Item = &CertificateDer<'static>> {
        self.roots.iter().map(|root| &root.der)
    }

    /// The bounds that chains are read with.
    pub fn limits(&self) -> &ChainLimits {
        &self.limits
    }
}

fn root(der: &CertificateDer<'static>, limits: &ChainLimits) -> Result<Root, PemFault> {
    if der.len() > limits.max_certificate_bytes {
        return Err(PemFault::TooLarge);
    }
    let facts = Facts::read(der, limits).map_err(PemFault::BadRoot)?;
    let Role::Issuer { path_length, may_sign: true } = facts.role else {
        return Err(PemFault::BadRoot(ChainFault::WrongRole));
    };
    let anchor =
        webpki::anchor_from_trusted_cert(der).map_err(|error| PemFault::BadRoot(fault_of(&error)))?;
    let anchor = anchor.to_owned();
    let thumbprint = Thumbprint::of(der);
    let (not_before, not_after) = (facts.not_before, facts.not_after);
    Ok(Root { anchor, not_before, not_after, path_length, thumbprint, der: der.clone() })
}

#[cfg(test)]
mod tests;
