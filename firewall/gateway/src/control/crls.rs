//! Certificate revocation lists by trust domain. The last fetched lists are in memory and on disk, each verified with its
//! issuer. In a domain with lists, each certificate needs a current one; otherwise its holder is refused (RFC 5280 §6.3).

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use semgate_certs::{CrlFault, CrlLimits, CrlOutcome, CrlStore, KeyId, MAX_CRL_BYTES, Roots, VerifiedCrls};
use semgate_statement::durable::{replace, sync_dir};

use crate::clock::unix_now;
use crate::config::{Config, TrustDomain};
use crate::server::pem_files;

/// The lists of one trust domain.
#[derive(Debug)]
pub(crate) struct Lists {
    dir: PathBuf,
    store: Arc<CrlStore>,
    roots: Roots,
    limits: CrlLimits,
    kept: VerifiedCrls,
}

/// Lists for certificate verification, for each trust domain that has them. They survive a reload of keys and roots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stores(BTreeMap<String, Arc<CrlStore>>);

impl Lists {
    /// Loads and verifies the previous process's lists. Unreadable lists count as never fetched, so their certificates are
    /// refused.
    fn open(config: &Config, domain: &TrustDomain) -> Option<Lists> {
        // unreadable roots stop the start elsewhere
        let roots = pem_files::roots(&domain.roots, config).ok()?;
        let limits = CrlLimits { bytes: config.limits.crl_bytes, ..CrlLimits::default() };
        let mut lists = Lists::new(config.state.join("crls").join(&domain.name), roots, limits);
        lists.restore(unix_now());
        Some(lists)
    }

    fn new(dir: PathBuf, roots: Roots, limits: CrlLimits) -> Lists {
        Lists { dir, store: Arc::default(), roots, limits, kept: VerifiedCrls::new(limits) }
    }

    /// Restores issuers and their lists. If the issuers' file is unreadable, their lists stay on disk until an issuer is
    /// known again.
    fn restore(&mut self, at: u64) {
        let issuers = std::fs::read_to_string(self.dir.join(ISSUERS)).unwrap_or_else(|why| {
            if why.kind() != std::io::ErrorKind::NotFound {
                tracing::warn!(dir = %self.dir.display(), %why, "cannot read the issuers of revocation lists; they apply again after the next fetch");
            }
            String::new()
        });
        self.kept.set_issuers(&self.roots, &issuers, at);
        self.recall(at);
        self.show();
    }

    /// Loads the lists on disk before anyone can offer an older edition. A list that does not count now stays on disk: it may
    /// count at another time or with its issuer.
    fn recall(&mut self, at: u64) {
        for file in self.files() {
            match read(&file) {
                Ok(der) => drop(self.kept.recall(&der, at)),
                Err(why) => tracing::warn!(file = %file.display(), %why, "cannot read a revocation list"),
            }
        }
        self.sweep();
    }

    fn files(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(&self.dir).into_iter().flatten().flatten().map(|entry| entry.path());
        files.filter(|file| file.extension().is_some_and(|end| end == "crl")).collect()
    }

    /// Deletes lists that do not count now, oldest file first, only if the counting ones need the room. Replaced editions are
    /// gone already, since the newer one takes their name.
    fn sweep(&self) {
        let held: BTreeSet<PathBuf> = self.kept.slot_ids().map(|place| self.dir.join(file(place))).collect();
        let mut files: Vec<_> =
            self.files().into_iter().filter_map(|file| Some((age(&file)?, file))).collect();
        files.sort();
        let mut bytes = files.iter().fold(0_u64, |sum, ((_, size), _)| sum.saturating_add(*size));
        let mut count = files.len();
        for ((_, size), file) in files.into_iter().filter(|(_, file)| !held.contains(file)) {
            if count <= self.limits.lists && bytes <= self.limits.bytes as u64 {
                break;
            }
            let _ = std::fs::remove_file(file);
            (count, bytes) = (count.saturating_sub(1), bytes.saturating_sub(size));
        }
    }

    fn show(&self) {
        self.store.replace(self.kept.crls());
    }

    /// Sets the issuers that may sign lists, from the roots, if readable, and the offered certificates. Returns true if lists
    /// were dropped.
    pub(crate) fn set_issuers(&mut self, roots: Option<Roots>, offered: &str, at: u64) -> bool {
        if let Some(roots) = roots {
            self.roots = roots;
        }
        let (before, dropped) = (self.kept.issuers(), self.kept.dropped());
        let more = self.kept.set_issuers(&self.roots, offered, at);
        let after = self.kept.issuers();
        if after != before {
            self.keep(ISSUERS, after.as_bytes());
        }
        if more {
            self.recall(at);
            self.show();
        }
        self.tidy(dropped)
    }

    /// Takes a list signed by its issuer, unless the held one is as new.
    ///
    /// # Errors
    /// Same as [`VerifiedCrls::offer`]; the held lists stay unchanged then.
    pub(crate) fn offer(&mut self, der: &[u8], at: u64) -> Result<CrlOutcome, CrlFault> {
        let dropped = self.kept.dropped();
        let taken = self.kept.offer(der, at);
        if let Ok(CrlOutcome::Newer(place)) = taken {
            self.keep(&file(place), der);
            self.show();
        }
        self.tidy(dropped);
        taken
    }

    fn tidy(&self, dropped: u64) -> bool {
        let some = self.kept.dropped() != dropped;
        if some {
            self.sweep();
            self.show();
        }
        some
    }

    fn keep(&self, name: &str, bytes: &[u8]) {
        if let Err(why) = write(&self.dir, name, bytes) {
            tracing::warn!(dir = %self.dir.display(), %why, "cannot save a revocation list for the next start");
            self.forget(name);
        }
    }

    /// Deletes a replaced edition that could not be overwritten on disk, so that a restart cannot use it.
    fn forget(&self, name: &str) {
        if name == ISSUERS {
            return;
        }
        let removed = std::fs::remove_file(self.dir.join(name));
        let synced = removed.and_then(|()| sync_dir(&self.dir));
        if let Err(why) = synced
            && why.kind() != std::io::ErrorKind::NotFound
        {
            tracing::error!(dir = %self.dir.display(), %why, "an outdated revocation list stays on disk");
        }
    }
}

impl Stores {
    /// Opens the lists of every trust domain that has them.
    pub(crate) fn open(config: &Config) -> (Stores, BTreeMap<String, Lists>) {
        let with = config.trust_domains.iter().filter(|domain| domain.crls.is_some());
        let lists: BTreeMap<String, Lists> =
            with.filter_map(|domain| Some((domain.name.clone(), Lists::open(config, domain)?))).collect();
        let stores = lists.iter().map(|(name, lists)| (name.clone(), Arc::clone(&lists.store))).collect();
        (Stores(stores), lists)
    }

    /// Roots of a domain, with certificate checks if it has lists.
    pub(crate) fn hold(&self, domain: &str, roots: Roots) -> Roots {
        match self.0.get(domain) {
            Some(store) => roots.with_crls(Arc::clone(store)),
            None => roots,
        }
    }
}

/// File with the issuers' certificates, next to their lists.
const ISSUERS: &str = "issuers.pem";

fn file(place: KeyId) -> String {
    format!("{place}.crl")
}

fn read(file: &Path) -> std::io::Result<Vec<u8>> {
    if std::fs::metadata(file)?.len() > MAX_CRL_BYTES as u64 {
        return Err(std::io::Error::other("larger than the limit of a list"));
    }
    std::fs::read(file)
}

/// Modification time and size of a file.
fn age(file: &Path) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// Writes a file durably.
fn write(dir: &Path, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    replace(&dir.join(name), 0o600, |file| file.write_all(bytes)).map(drop)
}

#[cfg(test)]
pub(crate) mod tests;
