//! `[[trust_domain]]`, `[[credential_issuer]]` and `[[authority]]`: whose certificates, tokens and contexts count.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use semgate_certs::token::TokenAlgorithm;
use semgate_statement::{CosignerVerifier, Lines};
use serde::{Deserialize, Deserializer, Serialize};

use super::Upstream;
use super::read::{self, SpanText, between, checked, number, seconds, some, span, text, within};

/// A trust domain whose agents may connect. An id under this name counts only under these roots.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustDomain {
    /// The host part of the agents' SPIFFE ids.
    #[serde(deserialize_with = "trust_domain")]
    pub name: String,
    /// PEM root certificates.
    pub roots: PathBuf,
    /// Source of revocation lists for its certificates; `None` disables revocation checks for the domain.
    pub crls: Option<CrlSource>,
}

/// Revocation lists that an authority serves. Each certificate of the domain then needs a current list.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrlSource {
    /// The name of a followed authority.
    pub authority: String,
    /// Number of shards.
    #[serde(deserialize_with = "between::<_, _, 1, { semgate_certs::MAX_SHARDS as u64 }>")]
    pub shards: u32,
    /// Directories below `/v1/crl`, one for each issuer; an empty name is `/v1/crl` itself. At most 16.
    #[serde(default = "CrlSource::sets", deserialize_with = "sets")]
    pub sets: Vec<String>,
    /// Interval between fetches. 5 min: lists are signed for hours or days.
    #[serde(
        default = "seconds::<300>",
        deserialize_with = "within::<_, 1_000, 86_400_000>",
        serialize_with = "span"
    )]
    #[schemars(with = "SpanText")]
    pub every: Duration,
}

impl CrlSource {
    fn sets() -> Vec<String> {
        vec![String::new()]
    }
}

/// One issuer of credentials. Each name and each `iss` occurs once, so that a token has one issuer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CredentialIssuer {
    /// Name in its credentials' prefix, `token:NAME:`.
    #[serde(deserialize_with = "read::name")]
    pub name: String,
    /// `iss` of its tokens.
    #[serde(deserialize_with = "claim_text")]
    pub issuer: String,
    /// `aud` of its tokens: their name for this gateway.
    #[serde(deserialize_with = "claim_text")]
    pub audience: String,
    /// A JWK set (RFC 7517) of its public keys.
    pub keys: PathBuf,
    /// Claim that lists the names.
    #[serde(default = "CredentialIssuer::claim", deserialize_with = "claim")]
    pub claim: String,
    /// Accepted signature algorithms.
    #[serde(default = "CredentialIssuer::algorithms", with = "some")]
    #[schemars(with = "Vec<String>")]
    pub algorithms: Vec<TokenAlgorithm>,
    /// Tolerated clock difference. A larger one than 5 min would weaken expiry.
    #[serde(default, deserialize_with = "within::<_, 0, 300_000>", serialize_with = "span")]
    #[schemars(with = "SpanText")]
    pub leeway: Duration,
}

impl CredentialIssuer {
    fn claim() -> String {
        "credentials".to_owned()
    }

    fn algorithms() -> Vec<TokenAlgorithm> {
        ["ES256", "EdDSA"].into_iter().filter_map(TokenAlgorithm::parse).collect()
    }
}

/// A followed authority. Every setting comes from the configuration, none from the feed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuthorityConfig {
    /// Its name, as its heads state it.
    #[serde(deserialize_with = "authority")]
    pub name: String,
    /// `https://host:port` without a path, or a mirror on this machine over `http://`.
    #[serde(default, deserialize_with = "authority_url")]
    #[schemars(with = "Option<String>")]
    pub url: Option<Upstream>,
    /// Several such addresses in place of `url`. The one that answered last is asked first.
    #[serde(default, deserialize_with = "authority_urls", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub urls: Vec<Upstream>,
    /// Roots of the chains that sign contexts, statements, heads and shards.
    pub roots: PathBuf,
    /// Number of root keys that must sign for the root; 1 unless the root is split.
    #[serde(
        default = "number::<1>",
        deserialize_with = "between::<_, _, 1, { semgate_statement::root::MAX_ROOT_KEYS as u64 }>"
    )]
    pub root_threshold: u64,
    /// Roots of its TLS certificate; defaults to `roots`.
    #[serde(default)]
    pub tls_roots: PathBuf,
    /// Presents the certificate of `[tls]` to the authority, which gives the gateway a place among verified peers. An
    /// authority that does not accept the certificate refuses the gateway.
    #[serde(default)]
    pub present_certificate: bool,
    /// Origin line of its log.
    #[serde(deserialize_with = "origin")]
    pub origin: String,
    /// Signed-note verifier key of its log.
    pub log_key: String,
    /// Verifier keys of its log's witnesses.
    #[serde(default, deserialize_with = "witnesses")]
    pub witnesses: Vec<String>,
    /// Number of witnesses that must cosign a larger log before it counts; all by default.
    #[serde(default = "AuthorityConfig::every_witness")]
    pub witness_quorum: usize,
    /// Lines reserved to this authority: `*`, `payment`, or `acme.*` for all below.
    #[serde(deserialize_with = "lines")]
    pub lines: Vec<String>,
    /// The authority that must recognise it for its lines; `None` if it counts by itself.
    pub recognised_by: Option<String>,
    /// True if nothing from this authority counts. The only setting of an authority that SIGHUP reloads.
    #[serde(default)]
    pub distrusted: bool,
    /// The longest accepted lifetime of a head. A revocation that takes more than a day to apply is useless.
    #[serde(
        default = "seconds::<900>",
        deserialize_with = "within::<_, 1_000, 86_400_000>",
        serialize_with = "span"
    )]
    #[schemars(with = "SpanText")]
    pub max_status_age: Duration,
    /// Poll interval for the head while no event arrives. 5 s: it bounds the delay of a revocation while the stream is down.
    #[serde(
        default = "seconds::<5>",
        deserialize_with = "within::<_, 1_000, 3_600_000>",
        serialize_with = "span"
    )]
    #[schemars(with = "SpanText")]
    pub poll: Duration,
}

impl AuthorityConfig {
    /// Its addresses.
    pub fn addresses(&self) -> impl Iterator<Item = &Upstream> {
        self.url.iter().chain(&self.urls)
    }

    /// Stands for the number of witnesses until all settings are read.
    pub(super) fn every_witness() -> usize {
        usize::MAX
    }
}

text!(TokenAlgorithm, "of `ES256`, `EdDSA` and `RS256`, at least one", TokenAlgorithm::parse, |algorithm| {
    algorithm.as_str().to_owned()
});

fn trust_domain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    checked(deserializer, "a spiffe trust domain, such as `semgate.test`", |name: &String| {
        semgate_certs::TrustDomain::parse(name).is_ok()
    })
}

fn sets<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let plain = |set: &String| {
        let mut bytes = set.bytes();
        set.is_empty()
            || set.len() <= 64
                && bytes.next().is_some_and(|b| b.is_ascii_lowercase())
                && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    let must = "1 to 16 distinct names of at most 64 of `a-z`, `0-9` and `-` that begin with a letter; `\"\"` is none";
    checked(deserializer, must, |sets: &Vec<String>| {
        let once = sets.iter().collect::<std::collections::HashSet<_>>().len() == sets.len();
        (1..=16).contains(&sets.len()) && once && sets.iter().all(plain)
    })
}

fn claim_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    checked(deserializer, "1 to 1024 characters, as in the tokens", |text: &String| {
        (1..=1024).contains(&text.len())
    })
}

fn claim<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let taken = ["", "iss", "aud", "sub", "exp", "nbf", "iat", "jti", "cnf"];
    checked(deserializer, "a separate claim, such as `credentials` or `scope`", |claim: &String| {
        !taken.contains(&claim.as_str())
    })
}

fn authority<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let named = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    checked(deserializer, "letters, digits, hyphens, dots", |name: &String| {
        name.len() <= 128
            && name.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
            && name.bytes().all(named)
    })
}

fn authority_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Upstream>, D::Error> {
    let must = "`https://host:port` without a path, or `http://` on this machine";
    checked(deserializer, must, reaches_authority).map(Some)
}

fn authority_urls<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Upstream>, D::Error> {
    let must = "addresses as in `url`, at least one, each once";
    checked(deserializer, must, |urls: &Vec<Upstream>| {
        let once = urls.iter().enumerate().all(|(n, url)| !urls.iter().take(n).any(|other| other == url));
        !urls.is_empty() && once && urls.iter().all(reaches_authority)
    })
}

fn reaches_authority(url: &Upstream) -> bool {
    (url.tls || url.local()) && url.path == "/"
}

fn origin<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    checked(deserializer, "the origin line of the log", |origin: &String| {
        !origin.is_empty() && origin.bytes().all(|b| b.is_ascii_graphic() && b != b'+')
    })
}

fn witnesses<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    checked(deserializer, "verifier keys of witnesses", |keys: &Vec<String>| {
        keys.iter().all(|key| CosignerVerifier::parse(key).is_ok())
    })
}

fn lines<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    checked(deserializer, "at least one line, such as `payment`, `acme.*`, or `*`", |lines: &Vec<String>| {
        !lines.is_empty() && Lines::parse(lines).is_ok()
    })
}
