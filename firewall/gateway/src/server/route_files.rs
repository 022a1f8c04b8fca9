//! Files whose content a route holds. A route whose files changed begins anew at a reload.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use semgate_inspect::{AgentDomain, AgentSecret, DialogueRules};
use semgate_protocol::Secret;

use crate::config::{LdpDomain, LdpSecret, RouteConfig};
use crate::fault::RunFault;
use crate::local::identity_card::IdentityCard;
use crate::server::pem_files::{fault, read};

/// The most bytes of a secret: far more than any key.
const LONGEST_SECRET: usize = 4096;

/// The content of a route's files.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RouteFiles {
    /// Secrets that sign messages, by agent.
    pub(crate) secrets: BTreeMap<String, Secret>,
    /// The pinned card of the delegate.
    pub(crate) card: Option<Arc<IdentityCard>>,
}

impl RouteFiles {
    /// Reads the files.
    ///
    /// # Errors
    /// An unreadable file, an empty secret, or a faulty card.
    pub(crate) fn load(route: &RouteConfig) -> Result<Self, RunFault> {
        let each = |choice: &LdpSecret| Ok((choice.agent.clone(), secret(&choice.file)?));
        let card = |path| IdentityCard::load(path).map(Arc::new);
        Ok(Self {
            secrets: route.ldp.ldp_secrets.iter().map(each).collect::<Result<_, RunFault>>()?,
            card: route.ldp.identity_card.as_deref().map(card).transpose()?,
        })
    }

    /// The rules of a route for sessions and signatures. `url` is its address for callers.
    pub(crate) fn rules(&self, route: &RouteConfig, url: &str) -> DialogueRules {
        let ldp = &route.ldp;
        let bare = url.trim_end_matches('/');
        let secrets = self.secrets.iter();
        let secrets = secrets.map(|(id, secret)| AgentSecret { agent: id.clone(), secret: secret.clone() });
        let domain = |domain: &LdpDomain| AgentDomain {
            name: domain.name.clone(),
            agents: domain.agents.clone(),
            allow_cross_domain: domain.allow_cross_domain,
            trusted_peers: domain.trusted_peers.clone(),
        };
        DialogueRules {
            secrets: secrets.collect(),
            require_signature: ldp.require_signature,
            min_payload_mode: ldp.min_payload_mode,
            session_seconds: ldp.session_ttl.as_secs(),
            trust_domains: ldp.trust_domains.iter().map(domain).collect(),
            skills: self.card.as_ref().map(|card| card.skills().to_vec()),
            payload_modes: self.card.as_ref().map(|card| card.modes().to_vec()),
            addresses: vec![bare.to_owned(), format!("{bare}/")],
            delegation_depth: ldp.max_delegation_depth,
            session_tokens: ldp.session_tokens,
        }
    }

    /// True without content, as of most routes.
    pub(crate) fn is_empty(&self) -> bool {
        self.secrets.is_empty() && self.card.is_none()
    }
}

fn secret(path: &Path) -> Result<Secret, RunFault> {
    const WHAT: &str = "message secret";
    let text = read(path, WHAT)?;
    match text.trim() {
        "" => Err(fault(path, WHAT, &"is empty")),
        long if long.len() > LONGEST_SECRET => Err(fault(path, WHAT, &"is longer than 4096 bytes")),
        secret => Ok(Secret::new(secret.as_bytes())),
    }
}
