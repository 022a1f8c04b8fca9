//! Status List Tokens (IETF draft-ietf-oauth-status-list): a shard as a compact JWT, for stock status-list readers. Followers use only the
//! inflated list, and only if the head names its SHA-256.

use crate::format::{FormatFault, Members, limits, write};
use crate::jws::{Compact, JwsFault, SignFault, SigningIdentity};
use crate::status::{BITS, SHARD_ENTRIES, Shard};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use ring::rand::SecureRandom;
use semgate_certs::encoding::{from_base64url, to_base64url};
use semgate_certs::{Thumbprint, VerifiedLeaf};
use std::fmt;
use std::io::{Read as _, Write as _};

#[cfg(test)]
mod tests;

/// `typ` of a status list token.
pub const TYPE: &str = "statuslist+jwt";
/// Its media type.
pub const MEDIA_TYPE: &str = "application/statuslist+jwt";
/// The longest token accepted: a shard inflates to 16 KiB; deflated and twice in base64 it stays under 40 KiB.
pub const MAX_TOKEN_BYTES: usize = 64 * 1024;

/// The claims beside the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claims {
    /// `sub`: the address that the token is served at.
    pub sub: String,
    /// `iat`: time of signing.
    pub iat: u64,
    /// `exp`: expiry for stock readers. Followers use the head alone.
    pub exp: Option<u64>,
    /// `ttl`: seconds that stock readers may cache it.
    pub ttl: Option<u64>,
}

/// Reason for refusing a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenFault {
    /// The JWS.
    Jws(JwsFault),
    /// The claims.
    Format(FormatFault),
    /// Not two bits for each entry.
    Bits,
    /// `lst` is not zlib, has trailing bytes, or inflates past the limit.
    Inflate,
}

impl fmt::Display for TokenFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenFault::Jws(fault) => write!(f, "status token: {fault}"),
            TokenFault::Format(fault) => write!(f, "status token: {fault}"),
            TokenFault::Bits => f.write_str("status token does not have two bits for each entry"),
            TokenFault::Inflate => f.write_str("status list is not zlib or inflates past its limit"),
        }
    }
}

impl std::error::Error for TokenFault {}

impl From<JwsFault> for TokenFault {
    fn from(fault: JwsFault) -> Self {
        TokenFault::Jws(fault)
    }
}

impl From<FormatFault> for TokenFault {
    fn from(fault: FormatFault) -> Self {
        TokenFault::Format(fault)
    }
}

/// A token, read without checking its signature.
#[derive(Clone, Debug)]
pub struct Token {
    jws: Compact,
    claims: Claims,
    list: Vec<u8>,
}

impl Token {
    /// Signs a shard.
    pub fn sign(
        shard: &Shard,
        claims: &Claims,
        identity: &SigningIdentity,
        random: &dyn SecureRandom,
    ) -> Result<String, SignFault> {
        let mut payload = serde_json::json!({
            "iat": claims.iat,
            "status_list": {"bits": BITS, "lst": to_base64url(&deflate(&shard.bytes)?)},
            "sub": claims.sub,
        });
        if let Some(object) = payload.as_object_mut() {
            object.extend(claims.exp.map(|exp| ("exp".to_owned(), exp.into())));
            object.extend(claims.ttl.map(|ttl| ("ttl".to_owned(), ttl.into())));
        }
        Compact::sign(&write(&payload)?, TYPE, identity, random)
    }

    /// Reads a token and inflates its list, at most the size of a full shard.
    pub fn read(text: &str) -> Result<Token, TokenFault> {
        let jws = Compact::read(text, TYPE, MAX_TOKEN_BYTES)?;
        let json = semgate_contexts::json::read(jws.unverified_payload(), &limits(MAX_TOKEN_BYTES))
            .map_err(FormatFault::from)?;
        let members = Members::closed(&json, &["iat", "status_list", "sub"], &["exp", "ttl"])?;
        let inner = Members::closed(members.get("status_list")?, &["bits", "lst"], &[])?;
        if inner.integer("bits")? != u64::from(BITS) {
            return Err(TokenFault::Bits);
        }
        let deflated = from_base64url(inner.text("lst")?).ok_or(FormatFault::Member("lst"))?;
        let claims = Claims {
            sub: members.text("sub")?.to_owned(),
            iat: members.integer("iat")?,
            exp: members.optional_integer("exp")?,
            ttl: members.optional_integer("ttl")?,
        };
        let list = inflate(&deflated, SHARD_ENTRIES / 4)?;
        Ok(Token { jws, claims, list })
    }

    /// The claims, not verified.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// The packed list, not verified: compare its SHA-256 with a verified head, or check the signature.
    pub fn list(&self) -> &[u8] {
        &self.list
    }

    /// Thumbprint of the certificate that claims to have signed it.
    pub fn key(&self) -> Thumbprint {
        self.jws.key()
    }

    /// Checks the signature by the head's leaf.
    pub fn verify(&self, leaf: &VerifiedLeaf) -> Result<(), TokenFault> {
        Ok(self.jws.verify_with(leaf)?)
    }
}

fn deflate(bytes: &[u8]) -> Result<Vec<u8>, FormatFault> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).map_err(|_| FormatFault::Unwritable)?;
    encoder.finish().map_err(|_| FormatFault::Unwritable)
}

/// Inflates a whole zlib stream to at most `max` bytes.
fn inflate(bytes: &[u8], max: u64) -> Result<Vec<u8>, TokenFault> {
    let mut decoder = ZlibDecoder::new(bytes);
    let mut out = Vec::new();
    let read = decoder.by_ref().take(max + 1).read_to_end(&mut out).map_err(|_| TokenFault::Inflate)?;
    if read as u64 > max || decoder.total_in() != bytes.len() as u64 {
        return Err(TokenFault::Inflate);
    }
    Ok(out)
}
