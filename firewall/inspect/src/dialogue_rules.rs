//! Rules of a route for sessions that messages open, and for signatures of messages.

use semgate_protocol::{PayloadMode, Secret};

/// Rules for bindings whose messages carry sessions and signatures. The defaults admit the least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialogueRules {
    /// Secrets that sign messages, by agent: callers, and the receiver itself.
    pub secrets: Vec<AgentSecret>,
    /// True if every request needs a signature, false if an unsigned message passes. By default the messages of an agent
    /// with a secret need one.
    pub require_signature: Option<bool>,
    /// The poorest payload mode.
    pub min_payload_mode: PayloadMode,
    /// The longest life of a session without use, in seconds.
    pub session_seconds: u64,
    /// Trust domains. Without any, all agents are in one, `default`.
    pub trust_domains: Vec<AgentDomain>,
    /// The skills on the receiver's card; none: no card limits them.
    pub skills: Option<Vec<String>>,
    /// The payload modes on the receiver's card; none: no card limits them.
    pub payload_modes: Option<Vec<PayloadMode>>,
    /// Addresses of the route, by which clients may name the receiver.
    pub addresses: Vec<String>,
    /// The most delegations that a contract may allow after the first; none: no limit but the contract's.
    pub delegation_depth: Option<u64>,
    /// Tokens that the tasks of one session may use together; none: no limit but that of contracts.
    pub session_tokens: Option<u64>,
}

impl Default for DialogueRules {
    fn default() -> Self {
        Self {
            secrets: Vec::new(),
            require_signature: None,
            min_payload_mode: PayloadMode::SemanticFrame,
            session_seconds: LONGEST_SESSION,
            trust_domains: Vec::new(),
            skills: None,
            payload_modes: None,
            addresses: Vec::new(),
            delegation_depth: None,
            session_tokens: None,
        }
    }
}

/// The longest life of a session without use, in seconds.
pub const LONGEST_SESSION: u64 = 3_600;

/// The name of the one trust domain where none is configured.
const ONE_DOMAIN: &str = "default";

/// The secret of one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSecret {
    /// SPIFFE id.
    pub agent: String,
    /// The secret.
    pub secret: Secret,
}

/// A trust domain of agents, apart from the trust domains of certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentDomain {
    /// Name, as sessions state it.
    pub name: String,
    /// SPIFFE ids of its agents.
    pub agents: Vec<String>,
    /// True if its agents may have sessions with those of `trusted_peers`.
    pub allow_cross_domain: bool,
    /// Names of other domains.
    pub trusted_peers: Vec<String>,
}

impl AgentDomain {
    fn trusts(&self, other: &Self) -> bool {
        self.name == other.name || self.allow_cross_domain && self.trusted_peers.contains(&other.name)
    }
}

impl DialogueRules {
    /// The secret of an agent.
    pub fn secret(&self, agent: &str) -> Option<&Secret> {
        self.secrets.iter().find(|one| one.agent == agent).map(|one| &one.secret)
    }

    /// The name of an agent's trust domain; none for an agent in no domain.
    pub(crate) fn domain(&self, agent: &str) -> Option<&str> {
        if self.trust_domains.is_empty() {
            Some(ONE_DOMAIN)
        } else {
            self.of(agent).map(|domain| &*domain.name)
        }
    }

    /// Returns true if the domains of two agents are one, or trust each other. An agent in no domain trusts nobody.
    pub(crate) fn trust_each_other(&self, one: &str, other: &str) -> bool {
        if self.trust_domains.is_empty() {
            return true;
        }
        let pair = self.of(one).zip(self.of(other));
        pair.is_some_and(|(one, other)| one.trusts(other) && other.trusts(one))
    }

    fn of(&self, agent: &str) -> Option<&AgentDomain> {
        self.trust_domains.iter().find(|domain| domain.agents.iter().any(|id| id == agent))
    }
}
