//! Issues, reads and checks the certificates of Semgate, and turns them into TLS configurations.
//!
//! Two families of certificates hang under a root, each with an issuing certificate of its own: what signs
//! *contexts* (usages [`Usage::Context`], [`Usage::Status`], [`Usage::Feed`], [`Usage::Log`], [`Usage::Policy`]) and what *speaks on a
//! connection* ([`Usage::Server`], [`Usage::Agent`]). Chains are checked by rustls-webpki at a time that the caller
//! gives; what webpki leaves open (key usage bits, the root's own validity, the names of a leaf, exactly one usage) is
//! checked here, so that [`VerifiedLeaf`] means all of `docs/spec/certificates.md`.
//!
//! Nothing here opens a socket or a file, reads a clock or draws randomness by itself: all are arguments. Times are
//! integer seconds since the Unix epoch. (rustls draws the randomness of its own handshakes from ring.)
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod chain;
mod chain_fault;
mod compact;
mod crl;
mod cross;
pub mod encoding;
mod extensions;
mod issue;
mod key;
mod key_id;
mod leaf;
mod malleability;
mod names;
mod oids;
mod peer;
mod pem;
mod read;
mod root_key;
mod signer;
mod spiffe;
mod summary;
#[cfg(test)]
mod tests;
pub mod tls;
pub mod token;
mod usage;
mod verify;

pub use chain::{Chain, ChainLimits, PemFault, Roots, Thumbprint};
pub use chain_fault::ChainFault;
pub use compact::CompactJws;
pub use crl::{
    CrlFault, CrlLimits, CrlOutcome, CrlProfile, CrlShards, CrlStore, Crls, MAX_CRL_BYTES, MAX_CRLS,
    MAX_SHARDS, Revoked, VerifiedCrls, crl_pem,
};
pub use cross::{CrossCertificate, CrossFault};
pub use issue::{
    BACKDATE, Family, IssueFault, Issuer, IssuingProfile, LeafNames, LeafProfile, LineScope, RootProfile,
};
pub use key::{KeyFault, KeyPair, PublicKey, SignatureAlgorithm, SignatureFault, signature_der};
pub use key_id::{KeyId, SignerId, Suspect, SuspectFault};
pub use leaf::{LineAllowed, LineNotDelegated, VerifiedLeaf};
pub use names::{CONTEXTS_TREE, NameFault, dns_of_line, line_of_dns, uri_of_line};
pub use peer::{Peer, PeerFault, PeerRoots};
pub use ring::rand::SecureRandom;
pub use root_key::RootKey;
pub use rustls_pki_types::CertificateDer;
pub use signer::{DeviceFault, SigningKey};
pub use spiffe::{SpiffeFault, SpiffeId, TrustDomain};
pub use summary::{CertificateSummary, OwnFault, check_own};
pub use usage::{ANY_POLICY, STANDARD_USAGES, Usage};
pub use verify::verify_chain;
