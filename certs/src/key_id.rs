//! Names of keys: the SHA-256 of a SubjectPublicKeyInfo, which is the same in every certificate of the key. Also all the
//! names by which a statement may accuse a signer.

use crate::encoding::{from_base64url, to_base64url};
use crate::extensions::Role;
use crate::key::ALGORITHMS;
use crate::malleability::mirrored_signature;
use crate::read::Facts;
use crate::{Chain, ChainFault, ChainLimits, Family, Thumbprint};
use rustls_pki_types::CertificateDer;
use std::fmt;
use webpki::EndEntityCert;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

/// SHA-256 of a DER SubjectPublicKeyInfo (RFC 5280 §4.1.2.7; the `spki-hash` of RFC 7469 §2.4). It names a key independently
/// of its certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId([u8; 32]);

impl KeyId {
    /// The name of the key in this SubjectPublicKeyInfo.
    pub fn of(spki: &[u8]) -> KeyId {
        KeyId(*Thumbprint::of(spki).as_bytes())
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Reads the one base64url form without padding, 43 characters.
    pub fn parse(text: &str) -> Option<KeyId> {
        let bytes = from_base64url(text)?;
        Some(KeyId(bytes.try_into().ok()?))
    }
}

impl fmt::Display for KeyId {
    /// The base64url form without padding.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_base64url(self.0))
    }
}

/// Every name by which a statement may accuse a signer. They are the thumbprints of its certificate and of the twin, and the
/// keys of its certificate and of its issuers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignerId {
    certificates: Vec<Thumbprint>,
    keys: Vec<KeyId>,
}

impl SignerId {
    /// The names from these certificates and keys.
    pub fn new(certificates: Vec<Thumbprint>, keys: Vec<KeyId>) -> SignerId {
        SignerId { certificates, keys }
    }

    /// Thumbprints of the signer's certificate.
    pub fn certificates(&self) -> &[Thumbprint] {
        &self.certificates
    }

    /// The signer's key first, then those of the certificates above it, without the root's.
    pub fn keys(&self) -> &[KeyId] {
        &self.keys
    }
}

impl Chain {
    /// The names of the signer whose certificate is the leaf. They hold its key, and the keys of the chain that certified it
    /// directly or indirectly, without the root's. Each such key verifies the signature of a certificate that names its
    /// holder as issuer. The order of the chain does not matter, and nothing else is verified. For a verified chain, these
    /// are all keys of its path, or of each path if there are several.
    pub fn signer_id(&self) -> SignerId {
        let leaf = self.leaf();
        let twin = mirrored_signature(leaf).map(|der| Thumbprint::of(&der));
        let certificates = std::iter::once(Thumbprint::of(leaf)).chain(twin).collect();
        SignerId { certificates, keys: self.certifying().unwrap_or_default() }
    }

    /// The key of the leaf, then those that certified it, each once; none if the leaf cannot be read.
    fn certifying(&self) -> Option<Vec<KeyId>> {
        let mut all = self.certificates().iter();
        let (_, leaf) = X509Certificate::from_der(all.next()?).ok()?;
        let mut rest: Vec<IssuerCertificate<'_>> = all.filter_map(IssuerCertificate::read).collect();
        // a root certifies itself, and anyone who trusts it knows what it signed
        rest.retain(|one| one.verify_certificate(&one.certificate).is_none());
        let mut keys = vec![KeyId::of(leaf.public_key().raw)];
        let mut below = vec![leaf];
        while let Some(certificate) = below.pop() {
            let (above, others): (Vec<_>, Vec<_>) =
                rest.into_iter().partition(|one| one.verify_certificate(&certificate).is_some());
            for one in above {
                let key = KeyId::of(one.certificate.public_key().raw);
                if !keys.contains(&key) {
                    keys.push(key);
                }
                below.push(one.certificate);
            }
            rest = others;
        }
        Some(keys)
    }

    /// The keys of its certificates, leaf first, each with the thumbprint of the certificate.
    pub fn named_keys(&self) -> impl Iterator<Item = (Thumbprint, KeyId)> + '_ {
        self.certificates().iter().filter_map(|der| Some((Thumbprint::of(der), key_of(der)?)))
    }
}

/// The keys by which `leaf` may have been certified: those of certificates with its issuer's name. If there are several, only
/// those that verify its signature.
pub(crate) fn issuing_keys<'c>(
    leaf: &[u8],
    above: impl Iterator<Item = &'c CertificateDer<'static>>,
) -> Vec<KeyId> {
    let Ok((_, leaf)) = X509Certificate::from_der(leaf) else { return Vec::new() };
    let mut named = Vec::new();
    for der in above {
        named.extend(IssuerCertificate::read(der).filter(|one| one.is_named(leaf.issuer().as_raw())));
    }
    if named.len() > 1 {
        named.retain(|one| one.verify_certificate(&leaf).is_some());
    }
    named.iter().map(|one| KeyId::of(one.certificate.public_key().raw)).collect()
}

/// A certificate of a chain as an issuer of others.
pub(crate) struct IssuerCertificate<'c> {
    certificate: X509Certificate<'c>,
    key: EndEntityCert<'c>,
}

impl<'c> IssuerCertificate<'c> {
    pub(crate) fn read(der: &'c CertificateDer<'c>) -> Option<IssuerCertificate<'c>> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        Some(IssuerCertificate { certificate, key: EndEntityCert::try_from(der).ok()? })
    }

    pub(crate) fn certificate(&self) -> &X509Certificate<'c> {
        &self.certificate
    }

    /// Returns true if its subject is this DER name.
    pub(crate) fn is_named(&self, name: &[u8]) -> bool {
        self.certificate.subject().as_raw() == name
    }

    /// Returns true if the key usage states cRLSign, as RFC 5280 §4.2.1.3 demands.
    pub(crate) fn may_sign_lists(&self) -> bool {
        self.certificate.key_usage().ok().flatten().is_some_and(|usage| usage.value.crl_sign())
    }

    /// Verifies that its key signed this certificate, which names it as issuer.
    pub(crate) fn verify_certificate(&self, below: &X509Certificate<'_>) -> Option<()> {
        if !self.is_named(below.issuer().as_raw()) {
            return None;
        }
        self.verify_signature(below.tbs_certificate.as_ref(), below.signature_value.data.as_ref())
    }

    /// Verifies that its key signed these bytes.
    pub(crate) fn verify_signature(&self, message: &[u8], signature: &[u8]) -> Option<()> {
        ALGORITHMS.iter().find_map(|one| self.key.verify_signature(*one, message, signature).ok())
    }
}

fn key_of(der: &[u8]) -> Option<KeyId> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    Some(KeyId::of(certificate.public_key().raw))
}

/// The reason that a certificate names no key that can be reported as compromised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuspectFault {
    /// The certificate cannot be read.
    Certificate(ChainFault),
    /// It is a root: a trust list removes a root key.
    Root,
    /// It is of the TLS family, which signs nothing in a log.
    Tls,
}

impl fmt::Display for SuspectFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SuspectFault::Certificate(fault) => fault.fmt(f),
            SuspectFault::Root => f.write_str("the certificate is a root, which only a trust list removes"),
            SuspectFault::Tls => f.write_str("the certificate is for connections and signs no log entry"),
        }
    }
}

impl std::error::Error for SuspectFault {}

/// A key that can be reported as compromised: of a leaf or an issuing certificate of the contexts family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// The certificate by which the key is named.
    pub certificate: Thumbprint,
    /// The key.
    pub key: KeyId,
}

impl Suspect {
    /// The key of any certificate; none of one that cannot be read.
    pub fn key_of(der: &CertificateDer<'_>) -> Option<KeyId> {
        key_of(der)
    }

    /// The key of this certificate.
    ///
    /// # Errors
    /// [`SuspectFault`] if a report about this certificate would have no effect.
    pub fn of(der: &CertificateDer<'_>, limits: &ChainLimits) -> Result<Suspect, SuspectFault> {
        let facts = Facts::read(der, limits).map_err(SuspectFault::Certificate)?;
        let of = |family: Family| facts.purposes.iter().any(|purpose| purpose.is_of(family).is_some());
        match facts.role {
            Role::Issuer { .. } if facts.purposes.is_empty() => Err(SuspectFault::Root),
            _ if of(Family::Contexts) => {
                Ok(Suspect { certificate: Thumbprint::of(der), key: KeyId::of(&facts.spki) })
            }
            _ => Err(SuspectFault::Tls),
        }
    }
}

#[cfg(test)]
mod tests;
