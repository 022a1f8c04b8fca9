//! Tokens in which an issuer vouches for names of an agent: compact JWTs (RFC 7519) of configured issuers, bound to one peer.
//!
//! `docs/spec/credentials.md` is the specification. Nothing is fetched, and no key is taken from the token. Every header
//! member other than `alg`, `kid` and `typ` is refused, such as `jku`, `x5u` and `jwk`.

mod keys;
#[cfg(test)]
mod tests;

pub use keys::{KeySet, KeySetFault, TokenAlgorithm};

use crate::{CompactJws, SpiffeId, Thumbprint};
use semgate_contexts::json::{self, Json, Object};
use std::collections::BTreeSet;
use std::fmt;

/// Longest token: a signature of 4096 bits, a header, and some hundred names.
pub const MAX_TOKEN_BYTES: usize = 8 * 1024;
/// Names that one token may list.
pub const MAX_NAMES: usize = 64;
/// Characters of one name, as in `entities.json`.
pub const MAX_NAME_CHARS: usize = 128;

/// An issuer, the names it may vouch for, and its keys.
#[derive(Clone, Debug)]
pub struct TokenIssuer {
    /// The name in the prefix of its credentials: `token:NAME:`.
    pub name: String,
    /// `iss`, byte for byte.
    pub issuer: String,
    /// The value of `aud` that names us, byte for byte.
    pub audience: String,
    /// The claim that lists the names.
    pub claim: String,
    /// The accepted values of `alg`.
    pub algorithms: Vec<TokenAlgorithm>,
    /// Seconds by which clocks may differ, at both ends of a token's life.
    pub leeway: u64,
    /// The keys.
    pub keys: KeySet,
}

/// Every configured issuer. Without one, no token is valid.
#[derive(Clone, Debug, Default)]
pub struct TokenIssuers {
    issuers: Vec<TokenIssuer>,
}

/// The facts that a valid token proves about the peer that it is bound to. Only [`TokenIssuers::check`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedToken {
    issuer: String,
    names: Vec<String>,
    expires_at: u64,
}

impl VerifiedToken {
    /// The issuer's configured name.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The names that it lists, sorted, each once.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The second from which on it is no longer valid, leeway included.
    pub fn expires_at(&self) -> u64 {
        self.expires_at
    }
}

/// The peer that a token must be bound to.
#[derive(Clone, Copy, Debug)]
pub struct Bearer<'p> {
    /// The verified id.
    pub id: &'p str,
    /// The `x5t#S256` of its leaf; none for a sender without a certificate.
    pub thumbprint: Option<Thumbprint>,
}

/// The reason that a token is not valid. Holds nothing of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TokenFault {
    /// Longer than [`MAX_TOKEN_BYTES`].
    TooLarge,
    /// Not three parts of canonical base64url, or no strict JSON objects in them.
    Malformed,
    /// The header has another member than `alg`, `kid` and `typ`, lacks `kid`, or its `typ` is not `JWT`.
    Header,
    /// `alg` is not permitted for the issuer.
    Algorithm,
    /// No issuer with this `iss` is configured.
    UnknownIssuer,
    /// The issuer has no key with this `kid`, or it is for another algorithm.
    UnknownKey,
    /// The signature does not fit.
    Signature,
    /// `aud` does not name us.
    Audience,
    /// `exp` has passed.
    Expired,
    /// `nbf` has not come.
    NotYetValid,
    /// A claim is missing, of another type, or past its bounds.
    Claims,
    /// `cnf` is of another certificate, or of no certificate.
    OtherCertificate,
    /// `sub` is another agent.
    OtherSubject,
}

impl TokenFault {
    /// A short stable name for records and specifications, such as `other_certificate`.
    pub fn as_str(self) -> &'static str {
        match self {
            TokenFault::TooLarge => "too_large",
            TokenFault::Malformed => "malformed",
            TokenFault::Header => "header",
            TokenFault::Algorithm => "algorithm",
            TokenFault::UnknownIssuer => "unknown_issuer",
            TokenFault::UnknownKey => "unknown_key",
            TokenFault::Signature => "signature",
            TokenFault::Audience => "audience",
            TokenFault::Expired => "expired",
            TokenFault::NotYetValid => "not_yet_valid",
            TokenFault::Claims => "claims",
            TokenFault::OtherCertificate => "other_certificate",
            TokenFault::OtherSubject => "other_subject",
        }
    }
}

impl fmt::Display for TokenFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TokenFault::TooLarge => "the credential is too large",
            TokenFault::Malformed => "the credential is not a compact JWT",
            TokenFault::Header => "the header of the credential does not consist of `alg`, `kid` and `typ`",
            TokenFault::Algorithm => "the issuer of the credential does not use its algorithm",
            TokenFault::UnknownIssuer => "the issuer of the credential is not known here",
            TokenFault::UnknownKey => "the key of the credential does not belong to its issuer",
            TokenFault::Signature => "the signature of the credential is not valid",
            TokenFault::Audience => "the credential is for another audience",
            TokenFault::Expired => "the credential is expired",
            TokenFault::NotYetValid => "the credential is not valid yet",
            TokenFault::Claims => "a claim of the credential is missing or malformed",
            TokenFault::OtherCertificate => "the credential is bound to another certificate",
            TokenFault::OtherSubject => "the credential belongs to another agent",
        })
    }
}

impl std::error::Error for TokenFault {}

impl TokenIssuers {
    /// A set of these issuers. If two have one `iss`, the first counts; configurations refuse that.
    pub fn new(issuers: Vec<TokenIssuer>) -> TokenIssuers {
        TokenIssuers { issuers }
    }

    /// The facts that a token proves about the peer that shows it, at the time `now`.
    ///
    /// # Errors
    /// The first [`TokenFault`] in the order of `docs/spec/credentials.md`. The signature is checked before the claims,
    /// except `iss` and `kid`, which select the key.
    pub fn check(&self, token: &str, bearer: &Bearer<'_>, now: u64) -> Result<VerifiedToken, TokenFault> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(TokenFault::TooLarge);
        }
        let jws = CompactJws::parse(token).ok_or(TokenFault::Malformed)?;
        let (header, payload) = (read(&jws.header)?, read(&jws.payload)?);
        let (header, claims) = (object(&header)?, object(&payload)?);
        let (algorithm, kid) = head(header)?;
        let issuer = text(claims, "iss").ok_or(TokenFault::UnknownIssuer)?;
        let known = self.issuers.iter().find(|known| known.issuer == issuer);
        let issuer = known.ok_or(TokenFault::UnknownIssuer)?;
        let algorithm = TokenAlgorithm::parse(algorithm).filter(|named| issuer.algorithms.contains(named));
        let algorithm = algorithm.ok_or(TokenFault::Algorithm)?;
        let key = issuer.keys.key(kid, algorithm).ok_or(TokenFault::UnknownKey)?;
        key.verify(jws.signed.as_bytes(), &jws.signature).map_err(|_| TokenFault::Signature)?;
        issuer.judge(claims, bearer, now)
    }
}

impl TokenIssuer {
    /// The claims of a token whose signature fits.
    fn judge(&self, claims: &Object<'_>, bearer: &Bearer<'_>, now: u64) -> Result<VerifiedToken, TokenFault> {
        if !audiences(claims)?.contains(&self.audience.as_str()) {
            return Err(TokenFault::Audience);
        }
        let expires_at = seconds(claims, "exp")?.ok_or(TokenFault::Claims)?.saturating_add(self.leeway);
        if now >= expires_at {
            return Err(TokenFault::Expired);
        }
        if seconds(claims, "nbf")?.is_some_and(|from| now.saturating_add(self.leeway) < from) {
            return Err(TokenFault::NotYetValid);
        }
        bound(claims, bearer)?;
        let names = names(claims.get(&self.claim).ok_or(TokenFault::Claims)?)?;
        Ok(VerifiedToken { issuer: self.name.clone(), names, expires_at })
    }
}

/// `cnf` binds to the certificate, else `sub` to the id. A `sub` that is a SPIFFE id must be the peer's in any case.
fn bound(claims: &Object<'_>, bearer: &Bearer<'_>) -> Result<(), TokenFault> {
    let subject = match claims.get("sub") {
        None => None,
        Some(Json::String(subject)) => Some(&**subject),
        Some(_) => return Err(TokenFault::Claims),
    };
    if let Some(confirmation) = claims.get("cnf") {
        let confirmation = confirmation.as_object().ok_or(TokenFault::Claims)?;
        // RFC 7800 §3: a confirmation of another kind cannot be checked here
        let only = confirmation.iter().all(|(name, _)| name == "x5t#S256");
        let named = text(confirmation, "x5t#S256").and_then(Thumbprint::parse);
        if !only || named.is_none() || named != bearer.thumbprint {
            return Err(TokenFault::OtherCertificate);
        }
        let other = subject.is_some_and(|named| named != bearer.id && SpiffeId::parse(named).is_ok());
        return if other { Err(TokenFault::OtherSubject) } else { Ok(()) };
    }
    if subject == Some(bearer.id) { Ok(()) } else { Err(TokenFault::OtherSubject) }
}

fn head<'j>(header: &'j Object<'_>) -> Result<(&'j str, &'j str), TokenFault> {
    if header.iter().any(|(name, _)| !matches!(name, "alg" | "kid" | "typ")) {
        return Err(TokenFault::Header);
    }
    if header.get("typ").is_some() && !text(header, "typ").is_some_and(|typ| typ.eq_ignore_ascii_case("JWT"))
    {
        return Err(TokenFault::Header);
    }
    // without `alg` it matches no algorithm of the issuer
    Ok((text(header, "alg").unwrap_or_default(), text(header, "kid").ok_or(TokenFault::Header)?))
}

/// RFC 7519 §4.1.3: one text, or a list of them.
fn audiences<'j>(claims: &'j Object<'_>) -> Result<Vec<&'j str>, TokenFault> {
    match claims.get("aud") {
        None => Err(TokenFault::Audience),
        Some(Json::Array(all)) => {
            all.iter().map(|one| one.as_str().ok_or(TokenFault::Claims)).collect::<Result<_, _>>()
        }
        Some(one) => Ok(vec![one.as_str().ok_or(TokenFault::Claims)?]),
    }
}

/// A list of names, or names with one blank between them, as `scope` has it (RFC 8693 §4.2).
fn names(claim: &Json<'_>) -> Result<Vec<String>, TokenFault> {
    let listed: Vec<&str> = match claim {
        Json::Array(all) => {
            all.iter().map(|one| one.as_str().ok_or(TokenFault::Claims)).collect::<Result<_, _>>()?
        }
        Json::String(text) if text.is_empty() => Vec::new(),
        Json::String(text) => text.split(' ').collect(),
        _ => return Err(TokenFault::Claims),
    };
    let plain = |name: &&str| {
        let visible = name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\');
        (1..=MAX_NAME_CHARS).contains(&name.len()) && visible
    };
    if listed.len() > MAX_NAMES || !listed.iter().all(plain) {
        return Err(TokenFault::Claims);
    }
    let names: BTreeSet<&str> = listed.into_iter().collect();
    Ok(names.into_iter().map(str::to_owned).collect())
}

/// A NumericDate in whole seconds.
fn seconds(claims: &Object<'_>, name: &str) -> Result<Option<u64>, TokenFault> {
    match claims.get(name) {
        None => Ok(None),
        Some(Json::Number(number)) => {
            let seconds = number.as_i64_exact().and_then(|seconds| u64::try_from(seconds).ok());
            seconds.map(Some).ok_or(TokenFault::Claims)
        }
        Some(_) => Err(TokenFault::Claims),
    }
}

fn text<'j>(object: &'j Object<'_>, name: &str) -> Option<&'j str> {
    object.get(name).and_then(Json::as_str)
}

fn read(bytes: &[u8]) -> Result<Json<'_>, TokenFault> {
    let limits =
        json::Limits { max_bytes: MAX_TOKEN_BYTES, max_depth: 8, max_nodes: 512, ..json::Limits::default() };
    json::read(bytes, &limits).map_err(|_| TokenFault::Malformed)
}

fn object<'j, 'b>(json: &'j Json<'b>) -> Result<&'j Object<'b>, TokenFault> {
    json.as_object().ok_or(TokenFault::Malformed)
}
