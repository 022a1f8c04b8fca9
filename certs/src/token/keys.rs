//! The keys of an issuer, from a JWK set (RFC 7517) in a file.

use crate::encoding::from_base64url;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use semgate_contexts::json::{self, Json, Object};
use std::fmt;

/// Bytes of a key set: some hundred keys of 4096 bits.
pub const MAX_SET_BYTES: usize = 128 * 1024;

/// The algorithms that an issuer may sign with. `none` and the algorithms of shared secrets are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenAlgorithm {
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519, which `alg` calls `EdDSA` (RFC 8037) or `Ed25519` (RFC 9864).
    EdDsa,
    /// RSASSA-PKCS1-v1_5 with SHA-256, keys of 2048 bits and more.
    Rs256,
}

impl TokenAlgorithm {
    /// The name in configurations.
    pub fn as_str(self) -> &'static str {
        match self {
            TokenAlgorithm::Es256 => "ES256",
            TokenAlgorithm::EdDsa => "EdDSA",
            TokenAlgorithm::Rs256 => "RS256",
        }
    }

    /// The algorithm with exactly this JOSE name.
    pub fn parse(name: &str) -> Option<TokenAlgorithm> {
        match name {
            "ES256" => Some(TokenAlgorithm::Es256),
            "EdDSA" | "Ed25519" => Some(TokenAlgorithm::EdDsa),
            "RS256" => Some(TokenAlgorithm::Rs256),
            _ => None,
        }
    }
}

/// The reason that a key set is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeySetFault {
    /// Longer than `MAX_SET_BYTES`.
    TooLarge,
    /// No strict JSON object with a list `keys` of objects.
    Malformed,
    /// A key has a private or secret part.
    Secret,
    /// A key has no `kid`, or two have the same.
    Kid,
    /// A key of a kind that is used here is not well formed.
    Key,
    /// No key is left that could verify a token.
    Empty,
}

impl fmt::Display for KeySetFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeySetFault::TooLarge => "the key set is too large",
            KeySetFault::Malformed => "the file is not a JWK set",
            KeySetFault::Secret => "the key set holds a private or secret key",
            KeySetFault::Kid => "a key has no `kid`, or two have the same",
            KeySetFault::Key => "a key is not well formed",
            KeySetFault::Empty => "the key set holds no key for ES256, EdDSA or RS256",
        })
    }
}

impl std::error::Error for KeySetFault {}

/// Public keys, each found by its `kid`.
#[derive(Clone, Debug)]
pub struct KeySet {
    keys: Vec<(String, Key)>,
}

#[derive(Clone, Debug)]
pub(super) enum Key {
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
    Rsa { n: Vec<u8>, e: Vec<u8> },
}

impl KeySet {
    /// Reads a JWK set. Skips keys for encryption and of kinds that are not used here.
    ///
    /// # Errors
    /// [`KeySetFault`].
    pub fn read(bytes: &[u8]) -> Result<KeySet, KeySetFault> {
        if bytes.len() > MAX_SET_BYTES {
            return Err(KeySetFault::TooLarge);
        }
        let limits = json::Limits {
            max_bytes: MAX_SET_BYTES,
            max_depth: 8,
            max_nodes: 8_192,
            ..json::Limits::default()
        };
        let read = json::read(bytes, &limits).map_err(|_| KeySetFault::Malformed)?;
        let listed = read.as_object().and_then(|set| set.get("keys"));
        let Some(Json::Array(listed)) = listed else { return Err(KeySetFault::Malformed) };
        let mut keys: Vec<(String, Key)> = Vec::new();
        for one in listed {
            let jwk = one.as_object().ok_or(KeySetFault::Malformed)?;
            // RFC 7518 §6: `d` of private keys, `k` of secrets
            if jwk.get("d").is_some() || jwk.get("k").is_some() || text(jwk, "kty") == Some("oct") {
                return Err(KeySetFault::Secret);
            }
            let Some(key) = Key::of(jwk)? else { continue };
            let kid = text(jwk, "kid").filter(|kid| !kid.is_empty()).ok_or(KeySetFault::Kid)?;
            if keys.iter().any(|(known, _)| known == kid) {
                return Err(KeySetFault::Kid);
            }
            keys.push((kid.to_owned(), key));
        }
        if keys.is_empty() { Err(KeySetFault::Empty) } else { Ok(KeySet { keys }) }
    }

    /// The one key of this id, if it is for this algorithm: a token never chooses the use of a key.
    pub(super) fn key(&self, kid: &str, algorithm: TokenAlgorithm) -> Option<&Key> {
        let (_, key) = self.keys.iter().find(|(known, _)| known == kid)?;
        (key.algorithm() == algorithm).then_some(key)
    }
}

impl Key {
    fn of(jwk: &Object<'_>) -> Result<Option<Key>, KeySetFault> {
        if text(jwk, "use").is_some_and(|purpose| purpose != "sig") {
            return Ok(None);
        }
        let part = |name: &str| {
            let bytes = text(jwk, name).and_then(from_base64url);
            bytes.ok_or(KeySetFault::Key)
        };
        let key = match (text(jwk, "kty"), text(jwk, "crv")) {
            (Some("EC"), Some("P-256")) => {
                let (x, y) = (part("x")?, part("y")?);
                if x.len() != 32 || y.len() != 32 {
                    return Err(KeySetFault::Key);
                }
                Key::P256([&[4], x.as_slice(), y.as_slice()].concat())
            }
            (Some("OKP"), Some("Ed25519")) => {
                let x = part("x")?;
                if x.len() != 32 {
                    return Err(KeySetFault::Key);
                }
                Key::Ed25519(x)
            }
            (Some("RSA"), _) => {
                let (n, e) = (part("n")?, part("e")?);
                // ring verifies with 2048 to 8192 bits; 256 bytes are the least of that
                if !(256..=1024).contains(&n.len()) || !(1..=8).contains(&e.len()) {
                    return Err(KeySetFault::Key);
                }
                Key::Rsa { n, e }
            }
            _ => return Ok(None),
        };
        // an `alg` that the key is not for, such as PS256, leaves it out
        let named = text(jwk, "alg").map(TokenAlgorithm::parse);
        Ok(named.is_none_or(|named| named == Some(key.algorithm())).then_some(key))
    }

    fn algorithm(&self) -> TokenAlgorithm {
        match self {
            Key::P256(_) => TokenAlgorithm::Es256,
            Key::Ed25519(_) => TokenAlgorithm::EdDsa,
            Key::Rsa { .. } => TokenAlgorithm::Rs256,
        }
    }

    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), ring::error::Unspecified> {
        match self {
            Key::P256(point) => {
                UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            Key::Ed25519(key) => UnparsedPublicKey::new(&signature::ED25519, key).verify(message, signature),
            Key::Rsa { n, e } => {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(&signature::RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
        }
    }
}

fn text<'j>(object: &'j Object<'_>, name: &str) -> Option<&'j str> {
    object.get(name).and_then(Json::as_str)
}
