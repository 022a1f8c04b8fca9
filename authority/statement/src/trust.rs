//! The certificates that signed an authority's statements, as served at `GET /v1/trust`. They only help to build chains: every chain is
//! verified against configured roots.

use crate::entry::Entry;
use crate::format::{FormatFault, Members, is_name, limits, write};
use crate::root::MAX_ROOT_STATEMENTS;
use crate::statement::{SignedStatement, StatementFault};
use semgate_certs::{Chain, ChainLimits, Thumbprint};
use semgate_contexts::Prefix;
use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
mod tests;

/// The largest trust document accepted: a thousand signers of three certificates fit.
pub const MAX_TRUST_BYTES: usize = 4 * 1024 * 1024;

/// A statement of the root in the trust document, with its log index, so that readers can request the proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootEntry {
    /// Its index in the log.
    pub index: u64,
    /// Time of logging.
    pub logged_at: u64,
    /// The signed statement.
    pub statement: String,
}

impl RootEntry {
    /// Its log entry.
    pub fn entry(&self, prefix: &Prefix) -> Result<Entry, StatementFault> {
        Ok(Entry::new(self.logged_at, SignedStatement::read(&self.statement, prefix)?)?)
    }

    /// Makes it from an entry of the log.
    pub fn of(index: u64, entry: &Entry) -> RootEntry {
        let statement = entry.signed().as_str().to_owned();
        RootEntry { index, logged_at: entry.logged_at(), statement }
    }
}

/// Chains by the thumbprint of their leaf, and every statement of the root.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trust {
    authority: String,
    root: Vec<RootEntry>,
    chains: BTreeMap<Thumbprint, Chain>,
}

impl Trust {
    /// A document without certificates.
    pub fn new(authority: impl Into<String>) -> Trust {
        Trust { authority: authority.into(), root: Vec::new(), chains: BTreeMap::new() }
    }

    /// The authority that it names.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Adds a chain under its leaf's thumbprint; an existing one stays.
    pub fn insert(&mut self, chain: Chain) {
        self.chains.entry(chain.thumbprint()).or_insert(chain);
    }

    /// The statements of the root, in order.
    pub fn root(&self) -> &[RootEntry] {
        &self.root
    }

    /// Sets the statements of the root.
    pub fn set_root(&mut self, root: Vec<RootEntry>) {
        self.root = root;
    }

    /// Adds all chains of another document; its statements of the root are for their verifier.
    pub fn merge(&mut self, other: Trust) {
        for (_, chain) in other.chains {
            self.insert(chain);
        }
    }

    /// Keeps only the chains of these leaves.
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
        let mut document = serde_json::json!({"authority": self.authority, "certificates": certificates});
        let root: Vec<serde_json::Value> = self.root.iter().map(RootEntry::to_json).collect();
        if let (false, Some(members)) = (root.is_empty(), document.as_object_mut()) {
            members.insert("root".to_owned(), root.into());
        }
        write(&document)
    }

    /// Reads the document; refuses a chain under another name than its leaf's thumbprint.
    pub fn read(bytes: &[u8], chain_limits: &ChainLimits) -> Result<Trust, FormatFault> {
        let json = semgate_contexts::json::read(bytes, &limits(MAX_TRUST_BYTES))?;
        let members = Members::closed(&json, &["authority", "certificates"], &["root"])?;
        let authority = members.parsed("authority", |text| is_name(text).then(|| text.to_owned()))?;
        let certificates =
            members.get("certificates")?.as_object().ok_or(FormatFault::Member("certificates"))?;
        let mut trust = Trust::new(authority);
        trust.root = read_root(&members)?;
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

impl RootEntry {
    fn to_json(&self) -> serde_json::Value {
        serde_json::json!({"index": self.index, "logged_at": self.logged_at, "statement": self.statement})
    }
}

/// A missing list is empty; an empty list is never written, and so is refused.
fn read_root(members: &Members<'_, '_>) -> Result<Vec<RootEntry>, FormatFault> {
    let Ok(list) = members.list("root") else {
        return if members.get("root").is_ok() { Err(FormatFault::Member("root")) } else { Ok(Vec::new()) };
    };
    if list.is_empty() || list.len() > MAX_ROOT_STATEMENTS {
        return Err(FormatFault::Member("root"));
    }
    let mut root = Vec::with_capacity(list.len());
    for item in list {
        let m = Members::closed(item, &["index", "logged_at", "statement"], &[])?;
        let statement = m.text("statement")?.to_owned();
        root.push(RootEntry { index: m.integer("index")?, logged_at: m.integer("logged_at")?, statement });
    }
    Ok(root)
}
