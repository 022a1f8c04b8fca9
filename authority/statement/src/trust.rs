//! The certificates that signed an authority's statements, as `GET /v1/trust` answers them. They are for building
//! chains only: every chain is verified against configured roots, whatever this document says.

use crate::format::{FormatFault, Members, is_name, limits, write};
use semgate_certs::{Chain, ChainLimits, Thumbprint};
use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
mod tests;

/// The largest trust document that is read: a thousand signers of three certificates fit.
pub const MAX_TRUST_BYTES: usize = 4 * 1024 * 1024;

/// Chains by the thumbprint of their leaf.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trust {
    authority: String,
    chains: BTreeMap<Thumbprint, Chain>,
}

impl Trust {
    /// No certificates yet.
    pub fn new(authority: impl Into<String>) -> Trust {
        Trust { authority: authority.into(), chains: BTreeMap::new() }
    }

    /// The authority that it names.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Adds a chain under its leaf's thumbprint; one that is there already stays.
    pub fn insert(&mut self, chain: Chain) {
        self.chains.entry(chain.thumbprint()).or_insert(chain);
    }

    /// Adds all chains of another document.
    pub fn merge(&mut self, other: Trust) {
        for (_, chain) in other.chains {
            self.insert(chain);
        }
    }

    /// Keeps the chains of these leaves alone.
    pub fn keep_only(&mut self, keys: &BTreeSet<Thumbprint>) {
        self.chains.retain(|key, _| keys.contains(key));
    }

    /// The chain of a leaf, not verified.
    pub fn chain(&self, key: &Thumbprint) -> Option<&Chain> {
        self.chains.get(key)
    }

    /// All chains, by thumbprint.
    pub fn chains(&self) -> impl Iterator<Item = (&Thumbprint, &Chain)> {
        self.chains.iter()
    }

    /// The JCS document.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FormatFault> {
        let certificates: serde_json::Map<String, serde_json::Value> =
            self.chains.iter().map(|(key, chain)| (key.to_string(), chain.to_x5c().into())).collect();
        write(&serde_json::json!({"authority": self.authority, "certificates": certificates}))
    }

    /// Reads the document; a chain under another name than its leaf's thumbprint is refused.
    pub fn read(bytes: &[u8], chain_limits: &ChainLimits) -> Result<Trust, FormatFault> {
        let json = semgate_contexts::json::read(bytes, &limits(MAX_TRUST_BYTES))?;
        let members = Members::closed(&json, &["authority", "certificates"], &[])?;
        let authority = members.parsed("authority", |text| is_name(text).then(|| text.to_owned()))?;
        let certificates =
            members.get("certificates")?.as_object().ok_or(FormatFault::Member("certificates"))?;
        let mut trust = Trust::new(authority);
        for (name, chain) in certificates.iter() {
            let texts: Option<Vec<&str>> =
                chain.as_array().and_then(|list| list.iter().map(|c| c.as_str()).collect());
            let chain = texts.and_then(|texts| Chain::from_x5c(texts, chain_limits).ok());
            let chain = chain.ok_or(FormatFault::Member("certificates"))?;
            if Some(chain.thumbprint()) != Thumbprint::parse(name) {
                return Err(FormatFault::Member("certificates"));
            }
            trust.insert(chain);
        }
        Ok(trust)
    }
}
