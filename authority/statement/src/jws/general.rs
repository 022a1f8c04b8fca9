//! General JSON serialisation (RFC 7515 §7.2.1): `{payload, signatures: [{header: {x5c}, protected, signature}]}`.

use super::{Header, JwsFault, SignFault, SigningIdentity};
use crate::format::{FormatFault, Members, limits, write};
use ring::rand::SecureRandom;
use semgate_certs::encoding::{from_base64url, to_base64url};
use semgate_certs::{Chain, ChainLimits, Roots, Thumbprint, Usage, VerifiedLeaf, verify_chain};

/// A general JWS, read but not verified: nothing in it is trusted yet.
#[derive(Clone, Debug)]
pub struct General {
    header: Header,
    chain: Chain,
    signed: String,
    signature: Vec<u8>,
    payload: Vec<u8>,
}

impl General {
    /// Signs a payload; returns JCS, so equal signatures give equal bytes.
    pub fn sign(
        payload: &[u8],
        typ: &str,
        identity: &SigningIdentity,
        random: &dyn SecureRandom,
    ) -> Result<Vec<u8>, SignFault> {
        let protected = Header::write(identity.key.public().algorithm(), typ, &identity.thumbprint())?;
        let payload = to_base64url(payload);
        let signature = identity.key.sign(random, format!("{protected}.{payload}").as_bytes())?;
        Ok(written(&payload, &protected, &to_base64url(signature), &identity.chain)?)
    }

    /// Rebuilds the result of [`General::sign`] from its parts. Verifies nothing.
    pub(crate) fn put_together(
        payload: &[u8],
        protected: &str,
        signature: &str,
        chain: &Chain,
    ) -> Result<Vec<u8>, FormatFault> {
        written(&to_base64url(payload), protected, signature, chain)
    }

    /// Reads a general JWS of exactly one signature, at most `max_bytes`. Its protected header must be the closed set with this `typ`, and
    /// its `x5t#S256` that of the leaf in `x5c`. The text need not be canonical: only the signed bytes matter.
    pub fn read(bytes: &[u8], typ: &str, roots: &Roots, max_bytes: usize) -> Result<General, JwsFault> {
        General::read_within(bytes, typ, roots.limits(), max_bytes)
    }

    /// Reads it before the roots for its verification are known.
    pub fn read_within(
        bytes: &[u8],
        typ: &str,
        chains: &ChainLimits,
        max_bytes: usize,
    ) -> Result<General, JwsFault> {
        if bytes.len() > max_bytes {
            return Err(JwsFault::TooLarge);
        }
        let json = semgate_contexts::json::read(bytes, &limits(max_bytes)).map_err(FormatFault::from)?;
        let outer =
            Members::closed(&json, &["payload", "signatures"], &[]).map_err(|_| JwsFault::Serialisation)?;
        let [one] = outer.list("signatures")? else { return Err(JwsFault::SignatureCount) };
        let inner = Members::closed(one, &["header", "protected", "signature"], &[])
            .map_err(|_| JwsFault::Serialisation)?;
        let protected = inner.text("protected")?;
        let header = Header::decode(protected, typ)?;
        let unprotected =
            Members::closed(inner.get("header")?, &["x5c"], &[]).map_err(|_| JwsFault::Serialisation)?;
        let members = unprotected.list("x5c")?.iter().map(|m| m.as_str()).collect::<Option<Vec<_>>>();
        let members = members.ok_or(JwsFault::Format(FormatFault::Member("x5c")))?;
        let chain = Chain::from_x5c(members, chains).map_err(JwsFault::Certificates)?;
        if chain.thumbprint() != header.key {
            return Err(JwsFault::Thumbprint);
        }
        let payload = outer.text("payload")?;
        Ok(General {
            header,
            chain,
            signed: format!("{protected}.{payload}"),
            signature: from_base64url(inner.text("signature")?).ok_or(JwsFault::Serialisation)?,
            payload: from_base64url(payload).ok_or(JwsFault::Serialisation)?,
        })
    }

    /// The chain that came with it, not verified.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The signed protected header, not verified.
    pub(crate) fn protected(&self) -> &str {
        self.signed.split('.').next().unwrap_or_default()
    }

    /// The signature in base64url, not verified.
    pub(crate) fn signature(&self) -> String {
        to_base64url(&self.signature)
    }

    /// The leaf's thumbprint, not verified.
    pub fn key(&self) -> Thumbprint {
        self.header.key
    }

    /// The payload, not verified: for reading a name before the right roots are chosen, never for use.
    pub fn unverified_payload(&self) -> &[u8] {
        &self.payload
    }

    /// Checks the chain for `usage` at `at`, then the signature; returns payload and leaf.
    pub fn verify(self, roots: &Roots, usage: Usage, at: u64) -> Result<(Vec<u8>, VerifiedLeaf), JwsFault> {
        let leaf = verify_chain(&self.chain, roots, usage, at)?;
        leaf.public_key().verify(self.header.algorithm, self.signed.as_bytes(), &self.signature)?;
        Ok((self.payload, leaf))
    }
}

/// The JCS form of parts in base64url.
fn written(payload: &str, protected: &str, signature: &str, chain: &Chain) -> Result<Vec<u8>, FormatFault> {
    write(&serde_json::json!({
        "payload": payload,
        "signatures": [{
            "header": {"x5c": chain.to_x5c()},
            "protected": protected,
            "signature": signature,
        }],
    }))
}
