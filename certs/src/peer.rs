//! The identity of the peer of a connection.

use crate::leaf::one_id;
use crate::read::Facts;
use crate::verify::verify_chain;
use crate::{
    Chain, ChainFault, ChainLimits, CrlStore, Roots, SpiffeFault, SpiffeId, Thumbprint, TrustDomain, Usage,
    VerifiedLeaf,
};
use rustls_pki_types::CertificateDer;
use std::collections::BTreeMap;
use std::fmt;

/// The reason that a peer could not be identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeerFault {
    /// The peer showed no certificate.
    NoCertificate,
    /// The certificate holds no SPIFFE URI.
    NoSpiffeId,
    /// The certificate holds more than one URI.
    SeveralIds,
    /// Its URI is not a SPIFFE id.
    NotSpiffe(SpiffeFault),
    /// No roots are configured for the trust domain of the id.
    UnknownTrustDomain,
    /// The certificate names another identity than the one expected.
    OtherId,
    /// The chain was refused under the roots of that trust domain.
    Chain(ChainFault),
}

impl PeerFault {
    /// A short stable name for records and specifications, such as `several_ids`; that of the chain's fault if it is one.
    pub fn as_str(self) -> &'static str {
        match self {
            PeerFault::NoCertificate => "no_certificate",
            PeerFault::NoSpiffeId => "no_spiffe_id",
            PeerFault::SeveralIds => "several_ids",
            PeerFault::NotSpiffe(_) => "not_spiffe",
            PeerFault::UnknownTrustDomain => "unknown_trust_domain",
            PeerFault::OtherId => "other_id",
            PeerFault::Chain(fault) => fault.as_str(),
        }
    }
}

impl fmt::Display for PeerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerFault::NoCertificate => f.write_str("the peer showed no certificate"),
            PeerFault::NoSpiffeId => f.write_str("the certificate of the peer holds no spiffe id"),
            PeerFault::SeveralIds => f.write_str("the certificate of the peer holds more than one uri"),
            PeerFault::NotSpiffe(fault) => fault.fmt(f),
            PeerFault::UnknownTrustDomain => {
                f.write_str("no roots are configured for the trust domain of the peer")
            }
            PeerFault::OtherId => f.write_str("the certificate of the peer names another identity"),
            PeerFault::Chain(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for PeerFault {}

impl From<ChainFault> for PeerFault {
    fn from(fault: ChainFault) -> Self {
        PeerFault::Chain(fault)
    }
}

/// A peer whose certificate was verified under the roots of its own trust domain. Only [`PeerRoots::identify`] and
/// [`PeerRoots::identify_server`] make one:
///
/// ```compile_fail
/// # fn forge(id: semgate_certs::SpiffeId) {
/// let peer = semgate_certs::Peer { id };
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Peer {
    id: SpiffeId,
    leaf: CertificateDer<'static>,
    thumbprint: Thumbprint,
    not_after: u64,
    marks: Vec<String>,
}

impl Peer {
    /// The peer's one SPIFFE id.
    pub fn id(&self) -> &SpiffeId {
        &self.id
    }

    /// Its certificate, for `Client-Cert` (RFC 9440).
    pub fn leaf(&self) -> &CertificateDer<'static> {
        &self.leaf
    }

    /// The `x5t#S256` of its certificate.
    pub fn thumbprint(&self) -> Thumbprint {
        self.thumbprint
    }

    /// As [`VerifiedLeaf::marks`].
    pub fn marks(&self) -> &[String] {
        &self.marks
    }

    /// The last second at which the whole chain is valid. A connection must not be used past it.
    pub fn not_after(&self) -> u64 {
        self.not_after
    }
}

/// Roots by trust domain. A chain counts only under the roots of the trust domain that its own SPIFFE id names.
#[derive(Clone, Debug, Default)]
pub struct PeerRoots {
    domains: BTreeMap<TrustDomain, Roots>,
}

impl PeerRoots {
    /// No trust domain: no peer can be identified.
    pub fn new() -> PeerRoots {
        PeerRoots::default()
    }

    /// Adds or replaces the roots of one trust domain.
    pub fn with(mut self, domain: TrustDomain, roots: Roots) -> PeerRoots {
        self.domains.insert(domain, roots);
        self
    }

    /// The roots of one trust domain, which verify signatures of its agents.
    pub fn roots_of(&self, domain: &TrustDomain) -> Option<&Roots> {
        self.domains.get(domain)
    }

    /// The peer that showed `certificates` (leaf first), with a client certificate, at the time `at`.
    ///
    /// # Errors
    /// The [`PeerFault`] of the first check that fails: one URI, a SPIFFE id, a known trust domain, the chain.
    pub fn identify(&self, certificates: &[CertificateDer<'_>], at: u64) -> Result<Peer, PeerFault> {
        self.identify_as(Usage::Agent, certificates, at)
    }

    /// The server that showed `certificates` (leaf first), with a server certificate, at the time `at`.
    ///
    /// # Errors
    /// As [`PeerRoots::identify`].
    pub fn identify_server(&self, certificates: &[CertificateDer<'_>], at: u64) -> Result<Peer, PeerFault> {
        self.identify_as(Usage::Server, certificates, at)
    }

    fn identify_as(&self, usage: Usage, shown: &[CertificateDer<'_>], at: u64) -> Result<Peer, PeerFault> {
        let leaf = shown.first().ok_or(PeerFault::NoCertificate)?;
        // The id is read before it is trusted, only to choose the roots; the result reads it again from the chain.
        let claimed = one_id(Facts::read(leaf, &ChainLimits::default())?.uris())?;
        let roots = self.domains.get(claimed.trust_domain()).ok_or(PeerFault::UnknownTrustDomain)?;
        let chain = bounded(shown, roots.limits())?;
        let verified = verify_chain(&chain, roots, usage, at)?;
        Peer::of(&verified, leaf)
    }

    /// The edition, which rises with each replacement of revocation lists under any of these roots. A verdict made after
    /// reading it uses these lists or later ones.
    pub fn edition(&self) -> u64 {
        self.stores().map(|store| store.edition()).sum()
    }

    /// The first second after `at` at which one of these lists ends. Time alone changes no verdict before it.
    pub fn lists_end(&self, at: u64) -> Option<u64> {
        self.stores().filter_map(|store| store.current().next_end(at)).min()
    }

    fn stores(&self) -> impl Iterator<Item = &CrlStore> {
        self.domains.values().filter_map(|roots| roots.crls.as_deref())
    }

    pub(crate) fn roots(&self) -> impl Iterator<Item = &Roots> {
        self.domains.values()
    }
}

impl Peer {
    pub(crate) fn of(verified: &VerifiedLeaf, leaf: &CertificateDer<'_>) -> Result<Peer, PeerFault> {
        Ok(Peer {
            id: verified.spiffe()?,
            leaf: leaf.clone().into_owned(),
            thumbprint: verified.thumbprint(),
            not_after: verified.not_after(),
            marks: verified.marks().to_vec(),
        })
    }
}

/// The chain that a peer showed, within the limits.
pub(crate) fn bounded(shown: &[CertificateDer<'_>], limits: &ChainLimits) -> Result<Chain, ChainFault> {
    let too_large = shown.iter().any(|der| der.len() > limits.max_certificate_bytes);
    if shown.len() > limits.max_certificates || too_large {
        return Err(ChainFault::TooLong);
    }
    let owned = shown.iter().map(|der| der.clone().into_owned()).collect();
    Chain::from_der(owned, limits).map_err(|_| ChainFault::Malformed)
}

#[cfg(test)]
mod tests;
