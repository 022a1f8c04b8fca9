//! Compact serialisation (RFC 7515 §7.1): `protected.payload.signature`.

use super::{Header, JwsFault, SignFault, SigningIdentity};
use ring::rand::SecureRandom;
use semgate_certs::encoding::to_base64url;
use semgate_certs::{
    Chain, CompactJws, PublicKey, Roots, SignatureFault, Thumbprint, Usage, VerifiedLeaf, verify_chain,
};

/// A compact JWS, read but not verified: nothing in it is trusted yet.
#[derive(Clone, Debug)]
pub struct Compact {
    header: Header,
    signed: String,
    signature: Vec<u8>,
    payload: Vec<u8>,
}

impl Compact {
    /// Signs a payload.
    pub fn sign(
        payload: &[u8],
        typ: &str,
        identity: &SigningIdentity,
        random: &dyn SecureRandom,
    ) -> Result<String, SignFault> {
        let protected = Header::write(identity.key.public().algorithm(), typ, &identity.thumbprint())?;
        let signed = format!("{protected}.{}", to_base64url(payload));
        let signature = identity.key.sign(random, signed.as_bytes())?;
        Ok(format!("{signed}.{}", to_base64url(signature)))
    }

    /// Reads three parts of canonical base64url with the closed protected header and this `typ`; at most `max_bytes`.
    pub fn read(text: &str, typ: &str, max_bytes: usize) -> Result<Compact, JwsFault> {
        if text.len() > max_bytes {
            return Err(JwsFault::TooLarge);
        }
        let CompactJws { signed, header, payload, signature } =
            CompactJws::parse(text).ok_or(JwsFault::Serialisation)?;
        Ok(Compact { header: Header::read(&header, typ)?, signed: signed.to_owned(), signature, payload })
    }

    /// The signer's thumbprint, not verified, for looking up the chain.
    pub fn key(&self) -> Thumbprint {
        self.header.key
    }

    /// The payload, not verified.
    pub fn unverified_payload(&self) -> &[u8] {
        &self.payload
    }

    /// Checks that `chain` is the signer's, that it is valid for `usage` at `at`, and the signature.
    pub fn verify(
        &self,
        chain: &Chain,
        roots: &Roots,
        usage: Usage,
        at: u64,
    ) -> Result<VerifiedLeaf, JwsFault> {
        if chain.thumbprint() != self.header.key {
            return Err(JwsFault::Thumbprint);
        }
        let leaf = verify_chain(chain, roots, usage, at)?;
        self.verify_with(&leaf)?;
        Ok(leaf)
    }

    /// Checks the signature under a leaf that was verified before.
    pub fn verify_with(&self, leaf: &VerifiedLeaf) -> Result<(), JwsFault> {
        if leaf.thumbprint() != self.header.key {
            return Err(JwsFault::Thumbprint);
        }
        Ok(self.verify_by(leaf.public_key())?)
    }

    /// Checks the signature under a key alone; the owner of the key is for the caller to know.
    pub(crate) fn verify_by(&self, key: &PublicKey) -> Result<(), SignatureFault> {
        key.verify(self.header.algorithm, self.signed.as_bytes(), &self.signature)
    }
}
