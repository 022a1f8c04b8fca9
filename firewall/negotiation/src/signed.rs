//! Signing of payloads, and verification of their signers.

use crate::HandshakeFault;
use crate::limits::{CLOCK_SKEW_SECONDS, MAX_JWS_BYTES, WINDOW_SECONDS};
use crate::payloads::Payload;
use semgate_certs::{Chain, PeerRoots, Roots, SecureRandom, SpiffeId, Usage, VerifiedLeaf};
use semgate_contexts::{Digest, Prefix};
use semgate_statement::SigningIdentity;
use semgate_statement::jws::{Compact, JwsFault};
use std::fmt;

/// Trusted roots by trust domain, and the prefix of URNs.
#[derive(Clone, Copy, Debug)]
pub struct Trust<'t> {
    /// Roots by trust domain.
    pub roots: &'t PeerRoots,
    /// The prefix of every URN.
    pub prefix: &'t Prefix,
}

/// An agent's key and certificates, with the one id that they prove.
pub struct Identity {
    id: SpiffeId,
    signing: SigningIdentity,
    not_after: u64,
}

impl fmt::Debug for Identity {
    /// Never the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.id)
    }
}

impl Identity {
    /// Takes a key with its chain, verified as every peer will verify it: by its first signature, at `now`.
    ///
    /// # Errors
    /// The fault that a peer would report: no SPIFFE id, no roots for its trust domain, a chain or key that does not fit.
    pub fn new(
        signing: SigningIdentity,
        trust: &Trust<'_>,
        random: &dyn SecureRandom,
        now: u64,
    ) -> Result<Self, HandshakeFault> {
        let proof = Compact::sign(b"{}", "snl-proof+jws", &signing, random)?;
        let proof = Compact::read(&proof, "snl-proof+jws", MAX_JWS_BYTES)?;
        let chain = &signing.chain;
        let peer = match trust.roots.identify(chain.certificates(), now) {
            Ok(peer) => peer,
            Err(_) => trust
                .roots
                .identify_server(chain.certificates(), now)
                .map_err(|_| HandshakeFault::SignerMismatch)?,
        };
        let (id, not_after) = (peer.id().clone(), peer.not_after());
        let roots = trust.roots.roots_of(id.trust_domain()).ok_or(HandshakeFault::UnknownTrustDomain)?;
        verify_as(&proof, chain, roots, &[Usage::Agent, Usage::Server], now)?;
        Ok(Self { id, signing, not_after })
    }

    /// The SPIFFE id.
    pub fn id(&self) -> &SpiffeId {
        &self.id
    }

    /// The last second at which its chain is valid.
    pub fn not_after(&self) -> u64 {
        self.not_after
    }

    pub(crate) fn sign<T: Payload>(
        &self,
        payload: &T,
        random: &dyn SecureRandom,
    ) -> Result<Signed, HandshakeFault> {
        let jws = Compact::sign(&payload.to_bytes()?, T::TYP, &self.signing, random)?;
        if jws.len() > MAX_JWS_BYTES {
            return Err(HandshakeFault::TooLarge);
        }
        Ok(Signed { jws, x5c: self.signing.chain.to_x5c() })
    }
}

/// A signed message in transit: a compact JWS and the chain of its signer, leaf first. Nothing in it is trusted yet. The
/// chain stands beside the JWS, since stock libraries cap its protected header; `x5t#S256` there names the leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The compact JWS.
    pub jws: String,
    /// Padded base64 of each DER certificate (RFC 7515 §4.1.6).
    pub x5c: Vec<String>,
}

/// A payload, with the proof of its signer.
#[derive(Clone, Debug)]
pub(crate) struct VerifiedPayload<T> {
    pub(crate) payload: T,
    /// Digest of the ASCII of the compact JWS.
    pub(crate) digest: Digest,
    /// Digest of typ and payload, for the memory against replays. One payload has two ECDSA signatures, so the signature is
    /// left out.
    pub(crate) once: Digest,
    /// The last second at which the signer's chain is valid.
    pub(crate) not_after: u64,
}

impl Signed {
    /// Digest of the ASCII of the compact JWS, by which later messages name this one.
    pub(crate) fn digest(&self) -> Digest {
        Digest::of(self.jws.as_bytes())
    }

    /// Checks form, time, signer and signature, in this order. `usages` are those that the signer's leaf may have.
    pub(crate) fn verify<T: Payload>(
        &self,
        trust: &Trust<'_>,
        usages: &[Usage],
        now: u64,
    ) -> Result<VerifiedPayload<T>, HandshakeFault> {
        let verified = self.verify_at_any_time::<T>(trust, usages, now)?;
        fresh(verified.payload.issued_at(), now)?;
        Ok(verified)
    }

    /// The same for statements that live longer than a window.
    pub(crate) fn verify_at_any_time<T: Payload>(
        &self,
        trust: &Trust<'_>,
        usages: &[Usage],
        now: u64,
    ) -> Result<VerifiedPayload<T>, HandshakeFault> {
        let compact = Compact::read(&self.jws, T::TYP, MAX_JWS_BYTES)?;
        let payload = T::parse(compact.unverified_payload(), trust.prefix)?;
        let domain = payload.from().trust_domain();
        let roots = trust.roots.roots_of(domain).ok_or(HandshakeFault::UnknownTrustDomain)?;
        let chain = Chain::from_x5c(self.x5c.iter().map(String::as_str), roots.limits());
        let chain = chain.map_err(JwsFault::Certificates)?;
        let leaf = verify_as(&compact, &chain, roots, usages, now)?;
        let signer = leaf.spiffe().map_err(|_| HandshakeFault::SignerMismatch)?;
        if signer != *payload.from() {
            return Err(HandshakeFault::SignerMismatch);
        }
        let mut once = Vec::new();
        crate::encoding::part(&mut once, T::TYP.as_bytes());
        crate::encoding::part(&mut once, compact.unverified_payload());
        Ok(VerifiedPayload {
            payload,
            digest: self.digest(),
            once: Digest::of(&once),
            not_after: leaf.not_after(),
        })
    }
}

/// Verifies the chain for the first of the usages that the leaf has.
fn verify_as(
    compact: &Compact,
    chain: &Chain,
    roots: &Roots,
    usages: &[Usage],
    now: u64,
) -> Result<VerifiedLeaf, HandshakeFault> {
    let mut fault = HandshakeFault::SignerMismatch;
    for usage in usages {
        match compact.verify(chain, roots, *usage, now) {
            Ok(leaf) => return Ok(leaf),
            Err(JwsFault::Chain(semgate_certs::ChainFault::WrongUsage)) => {
                fault = HandshakeFault::Signature(JwsFault::Chain(semgate_certs::ChainFault::WrongUsage));
            }
            Err(other) => return Err(other.into()),
        }
    }
    Err(fault)
}

/// Checks that a time is within the window, and not in the future. An old message was taken before, or has missed its time:
/// both count as a replay.
fn fresh(issued_at: u64, now: u64) -> Result<(), HandshakeFault> {
    if issued_at > now.saturating_add(CLOCK_SKEW_SECONDS) {
        return Err(HandshakeFault::FromTheFuture);
    }
    if now > issued_at.saturating_add(WINDOW_SECONDS) {
        return Err(HandshakeFault::TooOld);
    }
    Ok(())
}
