//! Options of LDP routes.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use semgate_protocol::{Binding, PayloadMode};
use serde::{Deserialize, Deserializer, Serialize};

use super::read::{SpanText, checked, fault, one, span, text, within};
use super::rules::{deny, fault as fault_of, key};
use super::{ConfigFault, Part, RouteConfig};

/// The longest life of a session without use, and the default: that of the protocol.
const LONGEST_SESSION: u64 = 3_600_000;
/// The most trust domains, and secrets, of a route.
const MOST: usize = 256;

/// Options of LDP.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LdpOptions {
    /// Identity card of the delegate, as the operator pinned it. Its skills and payload modes are the only ones that pass.
    pub identity_card: Option<PathBuf>,
    /// Secrets that sign messages, by agent: callers, and the delegate itself.
    #[serde(deserialize_with = "secrets")]
    pub ldp_secrets: Vec<LdpSecret>,
    /// True if every message needs a signature. By default messages of an agent with a secret need one. With `false` an
    /// unsigned message passes, and a wrong signature does not.
    pub require_signature: Option<bool>,
    /// The poorest payload mode that a session may agree on.
    #[serde(with = "one")]
    #[schemars(with = "String")]
    pub min_payload_mode: PayloadMode,
    /// The longest life of a session without use.
    #[serde(serialize_with = "span", deserialize_with = "within::<_, 1_000, LONGEST_SESSION>")]
    #[schemars(with = "SpanText")]
    pub session_ttl: Duration,
    /// The most delegations that a contract may allow after the first; `None` leaves it to contracts.
    pub max_delegation_depth: Option<u64>,
    /// Tokens that the tasks of one session may use together; `None` leaves it to contracts.
    pub session_tokens: Option<u64>,
    /// Trust domains of LDP. Without any, all agents are in one domain, `default`.
    #[serde(deserialize_with = "domains")]
    pub trust_domains: Vec<LdpDomain>,
}

impl Default for LdpOptions {
    fn default() -> Self {
        Self {
            identity_card: None,
            ldp_secrets: Vec::new(),
            require_signature: None,
            min_payload_mode: PayloadMode::default(),
            session_ttl: Duration::from_millis(LONGEST_SESSION),
            max_delegation_depth: None,
            session_tokens: None,
            trust_domains: Vec::new(),
        }
    }
}

/// A secret that an agent shares with those that it speaks to.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LdpSecret {
    /// SPIFFE id of the agent whose messages it signs.
    #[serde(deserialize_with = "super::route::agent")]
    pub agent: String,
    /// File of the secret, mode 0600: its text without white space around it.
    pub file: PathBuf,
}

/// A trust domain of LDP: a word that agents agree on, apart from the trust domains of certificates.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LdpDomain {
    /// Name, as sessions state it.
    #[serde(deserialize_with = "super::read::name")]
    pub name: String,
    /// SPIFFE ids of its agents.
    #[serde(default)]
    pub agents: Vec<String>,
    /// True if its agents may have sessions with those of `trusted_peers`, provided that these trust it too.
    #[serde(default)]
    pub allow_cross_domain: bool,
    /// Names of other trust domains.
    #[serde(default)]
    pub trusted_peers: Vec<String>,
}

text!(
    PayloadMode,
    "`text`, `semantic_frame`, `embedding_hints` or `semantic_graph`",
    PayloadMode::parse,
    |mode| mode.as_str().to_owned()
);

/// Checks the options of a route of LDP.
///
/// # Errors
/// Refuses a route without a pinned card, text as the poorest mode where the route admits none, and a receiver outside of every
/// trust domain.
pub(super) fn check(route: &RouteConfig) -> Result<(), ConfigFault> {
    if route.binding != Binding::Ldp {
        return Ok(());
    }
    let ldp = &route.ldp;
    deny(ldp.identity_card.is_none(), || {
        ConfigFault::missing(
            key(route, "identity_card"),
            "only what the delegate's pinned card lists may pass",
        )
    })?;
    let text = route.agent.admit.contains(&Part::Text);
    deny(ldp.min_payload_mode == PayloadMode::Text && !text, || {
        fault_of(route, "min_payload_mode", "a mode with a schema, unless `admit` lists `text`")
    })?;
    let domains = &ldp.trust_domains;
    let held = domains.iter().any(|domain| domain.agents.contains(&route.receiver));
    deny(!domains.is_empty() && !held, || {
        fault_of(route, "trust_domains", "domains of which one lists the receiver")
    })
}

fn secrets<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<LdpSecret>, D::Error> {
    checked(deserializer, "at most 256 secrets, one for each agent", |all: &Vec<LdpSecret>| {
        all.len() <= MOST && once(all.iter().map(|secret| &secret.agent))
    })
}

fn domains<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<LdpDomain>, D::Error> {
    let all = Vec::<LdpDomain>::deserialize(deserializer)?;
    let named = |name: &String| all.iter().any(|domain| domain.name == *name);
    let must = if all.len() > MOST || !once(all.iter().map(|domain| &domain.name)) {
        "at most 256 domains, each name once"
    } else if !once(all.iter().flat_map(|domain| &domain.agents)) {
        "domains without a common agent"
    } else if !all
        .iter()
        .flat_map(|domain| &domain.agents)
        .all(|id| semgate_certs::SpiffeId::parse(id).is_ok())
    {
        "domains whose agents are spiffe ids"
    } else if !all.iter().flat_map(|domain| &domain.trusted_peers).all(named) {
        "domains whose `trusted_peers` are in the list too"
    } else if all.iter().any(|domain| domain.allow_cross_domain == domain.trusted_peers.is_empty()) {
        "domains with both `allow_cross_domain` and `trusted_peers`, or neither"
    } else {
        return Ok(all);
    };
    Err(fault(must))
}

fn once<'a>(mut names: impl Iterator<Item = &'a String>) -> bool {
    let mut seen = HashSet::new();
    names.all(|name| seen.insert(name))
}

#[cfg(test)]
#[path = "ldp_tests.rs"]
mod tests;
