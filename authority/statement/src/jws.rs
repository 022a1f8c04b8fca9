//! The JSON Web Signatures of Semgate (RFC 7515): one signature, one closed protected header.
//!
//! Two serialisations. **General JSON** has the chain as `x5c` in the unprotected header (signed contexts, heads). **Compact** (statements,
//! status tokens) names its signer by thumbprint. Statements of the root carry several signatures ([`MultiJws`]). Flattened JSON is refused.
//! The protected header has exactly `alg`, `kid`, `typ` and `x5t#S256`; `crit` and any other member are refused.

mod compact;
mod general;
mod multi;

#[cfg(test)]
mod tests;

pub use compact::Compact;
pub use general::General;
pub use multi::{MAX_SIGNATURES, MultiJws};

use crate::format::{FormatFault, Members, limits, write};
use semgate_certs::encoding::{from_base64url, to_base64url};
use semgate_certs::{
    Chain, ChainFault, KeyFault, PemFault, SignatureAlgorithm, SignatureFault, SigningKey, Thumbprint,
};
use std::fmt;
use std::sync::Arc;

/// Longest protected header: ours has under 200 bytes (stock libraries cap theirs at 512 or 1,024).
pub const MAX_HEADER_BYTES: usize = 512;

/// A role's key, with the certificates that allow its signatures.
pub struct SigningIdentity {
    /// The private key of the leaf, wherever it lies.
    pub key: Arc<dyn SigningKey>,
    /// Leaf first, without the root.
    pub chain: Chain,
}

impl SigningIdentity {
    /// Combines key and chain. The first verified signature shows if they match.
    pub fn new(key: impl Into<Arc<dyn SigningKey>>, chain: Chain) -> SigningIdentity {
        SigningIdentity { key: key.into(), chain }
    }

    /// The `x5t#S256` of the leaf, which is the `kid` too.
    pub fn thumbprint(&self) -> Thumbprint {
        self.chain.thumbprint()
    }
}

impl fmt::Debug for SigningIdentity {
    /// Omits the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningIdentity({})", self.thumbprint())
    }
}

/// Reason for a missing signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignFault {
    /// The key or the random source failed.
    Key(KeyFault),
    /// The payload has no canonical form or is longer than its format allows.
    Payload(FormatFault),
}

impl fmt::Display for SignFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SignFault::Key(fault) => write!(f, "cannot sign: {fault}"),
            SignFault::Payload(fault) => write!(f, "cannot sign: {fault}"),
        }
    }
}

impl std::error::Error for SignFault {}

impl From<KeyFault> for SignFault {
    fn from(fault: KeyFault) -> Self {
        SignFault::Key(fault)
    }
}

impl From<FormatFault> for SignFault {
    fn from(fault: FormatFault) -> Self {
        SignFault::Payload(fault)
    }
}

/// Reason for refusing a JWS. Holds nothing of the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JwsFault {
    /// Longer than its limit.
    TooLarge,
    /// Another serialisation, or base64url that is not canonical.
    Serialisation,
    /// More or fewer than one signature.
    SignatureCount,
    /// The JSON around or in the header was refused.
    Format(FormatFault),
    /// The protected header has `crit` or another member outside the closed set.
    HeaderMember,
    /// `alg` is neither `ES256` nor `Ed25519`.
    Algorithm,
    /// `typ` is another one.
    Type,
    /// `kid` and `x5t#S256` differ, or are not thumbprints.
    KeyId,
    /// The chain in `x5c` could not be read.
    Certificates(PemFault),
    /// `x5t#S256` is not that of the leaf.
    Thumbprint,
    /// No certificate is known for `x5t#S256`.
    UnknownKey,
    /// The chain is not valid for this usage and time.
    Chain(ChainFault),
    /// The signature does not fit key, header and payload, or `alg` does not fit the key.
    Signature(SignatureFault),
}

impl JwsFault {
    /// A short stable name for records, such as `signature`.
    pub fn as_str(&self) -> &'static str {
        match self {
            JwsFault::TooLarge => "too_large",
            JwsFault::Serialisation => "serialisation",
            JwsFault::SignatureCount => "signature_count",
            JwsFault::Format(_) => "format",
            JwsFault::HeaderMember => "header_member",
            JwsFault::Algorithm => "algorithm",
            JwsFault::Type => "type",
            JwsFault::KeyId => "key_id",
            JwsFault::Certificates(_) => "certificates",
            JwsFault::Thumbprint => "thumbprint",
            JwsFault::UnknownKey => "unknown_key",
            JwsFault::Chain(_) => "chain",
            JwsFault::Signature(_) => "signature",
        }
    }
}

impl fmt::Display for JwsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JwsFault::TooLarge => f.write_str("signed object is longer than its limit"),
            JwsFault::Serialisation => f.write_str("not a jws in the serialisation expected here"),
            JwsFault::SignatureCount => f.write_str("signed object does not have exactly one signature"),
            JwsFault::Format(fault) => write!(f, "signed object: {fault}"),
            JwsFault::HeaderMember => f.write_str("protected header has a member outside the closed set"),
            JwsFault::Algorithm => f.write_str("`alg` is neither `ES256` nor `Ed25519`"),
            JwsFault::Type => f.write_str("`typ` is not the one expected here"),
            JwsFault::KeyId => f.write_str("`kid` and `x5t#S256` are different thumbprints"),
            JwsFault::Certificates(fault) => write!(f, "`x5c`: {fault}"),
            JwsFault::Thumbprint => f.write_str("`x5t#S256` does not match the leaf certificate"),
            JwsFault::UnknownKey => f.write_str("no certificate is known for `x5t#S256`"),
            JwsFault::Chain(fault) => write!(f, "{fault}"),
            JwsFault::Signature(fault) => write!(f, "{fault}"),
        }
    }
}

impl std::error::Error for JwsFault {}

impl From<FormatFault> for JwsFault {
    fn from(fault: FormatFault) -> Self {
        match fault {
            FormatFault::TooLarge => JwsFault::TooLarge,
            other => JwsFault::Format(other),
        }
    }
}

impl From<ChainFault> for JwsFault {
    fn from(fault: ChainFault) -> Self {
        JwsFault::Chain(fault)
    }
}

impl From<SignatureFault> for JwsFault {
    fn from(fault: SignatureFault) -> Self {
        JwsFault::Signature(fault)
    }
}

/// The protected header, read but not verified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Header {
    algorithm: SignatureAlgorithm,
    key: Thumbprint,
}

impl Header {
    /// base64url of the JCS form of the closed header.
    fn write(algorithm: SignatureAlgorithm, typ: &str, key: &Thumbprint) -> Result<String, SignFault> {
        let key = key.to_string();
        let header = serde_json::json!({
            "alg": algorithm.as_str(), "kid": key, "typ": typ, "x5t#S256": key,
        });
        Ok(to_base64url(&write(&header)?))
    }

    /// Reads base64url of the closed header.
    fn decode(encoded: &str, typ: &str) -> Result<Header, JwsFault> {
        Header::read(&from_base64url(encoded).ok_or(JwsFault::Serialisation)?, typ)
    }

    fn read(bytes: &[u8], typ: &str) -> Result<Header, JwsFault> {
        let json =
            semgate_contexts::json::read(bytes, &limits(MAX_HEADER_BYTES)).map_err(FormatFault::from)?;
        let members =
            Members::closed(&json, &["alg", "kid", "typ", "x5t#S256"], &[]).map_err(|f| match f {
                FormatFault::UnknownMember => JwsFault::HeaderMember,
                other => JwsFault::Format(other),
            })?;
        let algorithm = SignatureAlgorithm::parse(members.text("alg")?).ok_or(JwsFault::Algorithm)?;
        if members.text("typ")? != typ {
            return Err(JwsFault::Type);
        }
        let key = Thumbprint::parse(members.text("x5t#S256")?).ok_or(JwsFault::KeyId)?;
        if members.text("kid")? != members.text("x5t#S256")? {
            return Err(JwsFault::KeyId);
        }
        Ok(Header { algorithm, key })
    }
}
