//! `[[credential_issuer]]`: issuers whose tokens count as credentials.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use semgate_certs::token::TokenAlgorithm;
use serde::{Deserialize, Serialize};

use super::fault::ConfigFault;
use super::span::Span;

/// Maximum clock difference. A larger one would weaken expiry.
const MAX_LEEWAY: Duration = Duration::from_secs(300);

/// One issuer of credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialIssuer {
    /// Name in its credentials' prefix, `token:NAME:`.
    pub name: String,
    /// `iss` of its tokens.
    pub issuer: String,
    /// `aud` of its tokens: their name for this gateway.
    pub audience: String,
    /// A JWK set (RFC 7517) of its public keys.
    pub keys: PathBuf,
    /// Claim that lists the names.
    pub claim: String,
    /// Accepted signature algorithms.
    pub algorithms: Vec<TokenAlgorithm>,
    /// Tolerated clock difference.
    pub leeway: Duration,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileIssuer {
    name: String,
    issuer: String,
    audience: String,
    keys: PathBuf,
    claim: Option<String>,
    algorithms: Option<Vec<String>>,
    leeway: Option<Span>,
}

impl FileIssuer {
    pub(super) fn of(issuer: &CredentialIssuer) -> Self {
        Self {
            name: issuer.name.clone(),
            issuer: issuer.issuer.clone(),
            audience: issuer.audience.clone(),
            keys: issuer.keys.clone(),
            claim: Some(issuer.claim.clone()),
            algorithms: Some(issuer.algorithms.iter().map(|one| one.as_str().to_owned()).collect()),
            leeway: Some(Span(issuer.leeway)),
        }
    }

    fn check(&self, base: &Path) -> Result<CredentialIssuer, ConfigFault> {
        let key = |name: &str| format!("credential_issuer.{name}");
        let named = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if !(1..=64).contains(&self.name.len()) || !self.name.bytes().all(named) {
            return Err(ConfigFault::value(key("name"), "1 to 64 letters, digits, hyphens, dots"));
        }
        for (name, text) in [("issuer", &self.issuer), ("audience", &self.audience)] {
            if text.is_empty() || text.len() > 1024 {
                return Err(ConfigFault::value(key(name), "1 to 1024 characters, as the tokens have it"));
            }
        }
        let claim = self.claim.clone().unwrap_or_else(|| "credentials".to_owned());
        if ["", "iss", "aud", "sub", "exp", "nbf", "iat", "jti", "cnf"].contains(&claim.as_str()) {
            return Err(ConfigFault::value(
                key("claim"),
                "a claim of its own, such as `credentials` or `scope`",
            ));
        }
        let written = self.algorithms.clone().unwrap_or_else(|| vec!["ES256".to_owned(), "EdDSA".to_owned()]);
        let algorithms: Option<Vec<_>> = written.iter().map(|name| TokenAlgorithm::parse(name)).collect();
        let algorithms = algorithms.filter(|all| !all.is_empty());
        let must = "of `ES256`, `EdDSA` and `RS256`, at least one";
        let leeway = self.leeway.map_or(Duration::ZERO, |Span(leeway)| leeway);
        if leeway > MAX_LEEWAY {
            return Err(ConfigFault::value(key("leeway"), "at most 5m"));
        }
        Ok(CredentialIssuer {
            name: self.name.clone(),
            issuer: self.issuer.clone(),
            audience: self.audience.clone(),
            keys: base.join(&self.keys),
            claim,
            algorithms: algorithms.ok_or_else(|| ConfigFault::value(key("algorithms"), must))?,
            leeway,
        })
    }
}

/// Parses all issuers. Each name and each `iss` occurs once, so that a token has one issuer.
pub(super) fn issuers(files: &[FileIssuer], base: &Path) -> Result<Vec<CredentialIssuer>, ConfigFault> {
    let (mut names, mut issuers) = (HashSet::new(), HashSet::new());
    for file in files {
        if !names.insert(&file.name) || !issuers.insert(&file.issuer) {
            return Err(ConfigFault::value("credential_issuer", "each `name` and each `issuer` once"));
        }
    }
    files.iter().map(|file| file.check(base)).collect()
}
