//! The key of a root certificate as a key that signs statements of an authority's root.

use crate::extensions::Role;
use crate::read::Facts;
use crate::{ChainFault, ChainLimits, PemFault, PublicKey, Thumbprint};
use rustls_pki_types::CertificateDer;

/// A root certificate whose key signs statements. Guarantees: it is a CA that may sign certificates, and its key is one that
/// [`PublicKey`] verifies with (P-256 or Ed25519).
#[derive(Clone, Debug, PartialEq)]
pub struct RootKey {
    der: CertificateDer<'static>,
    thumbprint: Thumbprint,
    key: PublicKey,
    not_before: u64,
    not_after: u64,
}

impl RootKey {
    /// Reads one certificate.
    ///
    /// # Errors
    /// [`PemFault::TooLarge`]; [`PemFault::BadRoot`] for one that is no CA or whose key cannot sign statements.
    pub fn of(der: &CertificateDer<'static>, limits: &ChainLimits) -> Result<RootKey, PemFault> {
        if der.len() > limits.max_certificate_bytes {
            return Err(PemFault::TooLarge);
        }
        let facts = Facts::read(der, limits).map_err(PemFault::BadRoot)?;
        let Role::Issuer { may_sign: true, .. } = facts.role else {
            return Err(PemFault::BadRoot(ChainFault::WrongRole));
        };
        let key = PublicKey::from_spki(&facts.spki);
        let key = key.map_err(|_| PemFault::BadRoot(ChainFault::UnsupportedAlgorithm))?;
        let (not_before, not_after) = (facts.not_before, facts.not_after);
        Ok(RootKey { der: der.clone(), thumbprint: Thumbprint::of(der), key, not_before, not_after })
    }

    /// The certificate.
    pub fn der(&self) -> &CertificateDer<'static> {
        &self.der
    }

    /// Returns true if it names itself as its issuer, as roots do.
    pub fn is_self_issued(&self) -> bool {
        crate::issue::is_self_issued(&self.der)
    }

    /// Its `x5t#S256`.
    pub fn thumbprint(&self) -> Thumbprint {
        self.thumbprint
    }

    /// Its key. Two certificates over one key are one signer.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// The first and the last second of its validity.
    pub fn validity(&self) -> (u64, u64) {
        (self.not_before, self.not_after)
    }
}
