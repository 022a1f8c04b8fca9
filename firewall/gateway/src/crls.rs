//! Revocation lists of certificates, by trust domain: what was fetched last, in memory and on disk. Where a domain is configured with lists,
//! every certificate of it must be spoken for by one that is current, else nobody with such a certificate is let in (RFC 5280 §6.3).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use semgate_certs::{CrlFault, CrlStore, Crls, MAX_CRL_BYTES, Roots, crl_begins, newer_crl};

use crate::config::{Config, CrlSource};

/// The lists of one trust domain.
#[derive(Debug)]
pub(crate) struct Lists {
    dir: PathBuf,
    store: Arc<CrlStore>,
    /// DER by shard.
    held: BTreeMap<u32, Vec<u8>>,
}

/// The lists that verifiers look certificates up in, for each trust domain that has them. Stays the same while keys and roots are read again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stores(BTreeMap<String, Arc<CrlStore>>);

/// What became of an offered list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It is held from now on.
    Newer,
    /// What is held is as new.
    Known,
}

impl Lists {
    /// What was held when the last process ended. What cannot be read is as if it had never been fetched: nobody is let in for it.
    fn open(config: &Config, domain: &str, source: &CrlSource) -> Lists {
        let dir = config.state.join("crls").join(domain);
        let read = |shard| {
            let der = std::fs::read(dir.join(file(shard))).ok()?;
            Crls::from_der(&[&der]).ok().map(|_| (shard, der))
        };
        let held = (0..source.shards).filter_map(read).collect();
        let lists = Lists { dir, store: Arc::default(), held };
        lists.show();
        lists
    }

    fn show(&self) {
        let all: Vec<&Vec<u8>> = self.held.values().collect();
        match Crls::from_der(&all) {
            Ok(crls) => self.store.replace(crls),
            // each was read by itself before
            Err(fault) => tracing::error!(%fault, "revocation lists could not be taken together"),
        }
    }

    /// Takes a list of a shard, unless the one that is held is newer. Nothing of its signature is known here: a list that its issuer did not sign
    /// speaks for nobody, and so lets nobody in. One that begins after `at` is left for later: what is held speaks until then.
    ///
    /// # Errors
    /// [`CrlFault`] for what is no list of this shard.
    pub(crate) fn offer(&mut self, shard: u32, der: &[u8], at: u64) -> Result<Taken, CrlFault> {
        if der.len() > MAX_CRL_BYTES {
            return Err(CrlFault::TooLarge);
        }
        if crl_begins(der).is_some_and(|begins| begins > at) {
            return Ok(Taken::Known);
        }
        match self.held.get(&shard) {
            Some(held) if newer_crl(held, der)? == held.as_slice() => return Ok(Taken::Known),
            Some(_) => {}
            None => drop(Crls::from_der(&[der])?),
        }
        if let Err(why) = write(&self.dir, shard, der) {
            tracing::warn!(dir = %self.dir.display(), %why, "a revocation list is not kept for the next start");
        }
        self.held.insert(shard, der.to_vec());
        self.show();
        Ok(Taken::Newer)
    }
}

impl Stores {
    /// Those of every trust domain that is configured with lists.
    pub(crate) fn open(config: &Config) -> (Stores, BTreeMap<String, Lists>) {
        let domains = config.trust_domains.iter();
        let with = domains.filter_map(|domain| Some((&domain.name, domain.crls.as_ref()?)));
        let lists: BTreeMap<String, Lists> =
            with.map(|(name, source)| (name.clone(), Lists::open(config, name, source))).collect();
        let stores = lists.iter().map(|(name, lists)| (name.clone(), Arc::clone(&lists.store))).collect();
        (Stores(stores), lists)
    }

    /// The roots of a domain, under which certificates are looked up if it has lists.
    pub(crate) fn hold(&self, domain: &str, roots: Roots) -> Roots {
        match self.0.get(domain) {
            Some(store) => roots.with_crls(Arc::clone(store)),
            None => roots,
        }
    }
}

fn file(shard: u32) -> String {
    format!("{shard}.crl")
}

fn write(dir: &Path, shard: u32, der: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let beside = dir.join(format!("{shard}.new"));
    std::fs::write(&beside, der)?;
    std::fs::rename(&beside, dir.join(file(shard)))
}

#[cfg(test)]
mod tests;
