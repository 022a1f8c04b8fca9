//! Who stands at the other end of a connection.

use crate::{Chain, ChainFault, Roots, SpiffeFault, SpiffeId, Thumbprint, TrustDomain, Usage};
use rustls_pki_types::CertificateDer;
use std::collections::BTreeMap;
use std::fmt;

/// Why a peer could not be identified.
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
    /// The chain was refused under the roots of that trust domain.
    Chain(ChainFault),
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

/// A peer whose certificate was verified under the roots of its own trust domain. Only [`PeerRoots::identify`] makes one.
#[derive(Clone, Debug)]
pub struct Peer {
    id: SpiffeId,
    leaf: CertificateDer<'static>,
    thumbprint: Thumbprint,
    not_after: u64,
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
    /// No trust domain: nobody can be identified.
    pub fn new() -> PeerRoots {
        PeerRoots::default()
    }

    /// Adds or replaces the roots of one trust domain.
    pub fn with(mut self, domain: TrustDomain, roots: Roots) -> PeerRoots {
        self.domains.insert(domain, roots);
        self
    }

    /// The peer that showed `certificates` (leaf first), with a client certificate, at the time `at`.
    pub fn identify(&self, _certificates: &[CertificateDer<'_>], _at: u64) -> Result<Peer, PeerFault> {
        let _ = (Usage::Agent, None::<Chain>);
        todo!()
    }

    /// The server that showed `certificates` (leaf first), with a server certificate, at the time `at`.
    pub fn identify_server(&self, _certificates: &[CertificateDer<'_>], _at: u64) -> Result<Peer, PeerFault> {
        todo!()
    }
}
