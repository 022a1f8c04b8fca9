//! Revocation lists that the certificates of publishers are looked up in: files as `semgate cert crl` writes them, each verified by its issuer
//! before it counts, looked at again and again. A certificate that no current list speaks for says nobody's name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use semgate_certs::{CrlFault, CrlLimits, CrlStore, KeptCrls, MAX_CRL_BYTES, MAX_CRLS, Roots};

use super::{Mark, mark};
use crate::http::crl::{ISSUER, is_set};
use crate::metrics::Metrics;
use crate::{Config, RunFault};

#[cfg(test)]
mod tests;

/// The lists, and which files they were read from.
pub(crate) struct ClientCrls {
    dir: PathBuf,
    kept: KeptCrls,
    store: Arc<CrlStore>,
    /// What the files looked like when they were read.
    seen: BTreeMap<PathBuf, Mark>,
}

impl ClientCrls {
    /// Those that are configured. Without a current list in them nobody is let in, which is no fault of the start.
    ///
    /// # Errors
    /// The directory cannot be listed.
    pub fn of(config: &Config) -> Result<Option<Self>, RunFault> {
        let Some(dir) = config.tls.client_crls.clone() else { return Ok(None) };
        std::fs::read_dir(&dir).map_err(RunFault::io("listing", &dir))?;
        let limits = CrlLimits { bytes: config.limits.crl_bytes, ..CrlLimits::default() };
        let (kept, store) = (KeptCrls::new(limits), Arc::default());
        Ok(Some(Self { dir, kept, store, seen: BTreeMap::new() }))
    }

    /// What verifiers look certificates up in, now and later.
    pub fn store(&self) -> Arc<CrlStore> {
        Arc::clone(&self.store)
    }

    /// Reads what changed since the last look, all of it under other roots. What cannot be read or verified leaves what is held, which ends by
    /// its own time.
    pub fn look(&mut self, roots: &Roots, anew: bool, at: u64, metrics: Option<&Metrics>) {
        let files = files(&self.dir);
        let changed = |seen: &BTreeMap<_, _>, file: &PathBuf, mark: &Mark| seen.get(file) != Some(mark);
        let issuers = |file: &PathBuf| file.ends_with(ISSUER);
        let anew = anew || files.iter().any(|(file, mark)| issuers(file) && changed(&self.seen, file, mark));
        if !anew && files == self.seen {
            return;
        }
        if anew {
            let pems = files.keys().filter(|file| issuers(file));
            let offered: String = pems.filter_map(|file| std::fs::read_to_string(file).ok()).collect();
            self.kept.set_issuers(roots, &offered, at);
        }
        self.seen.retain(|file, _| files.contains_key(file));
        let lists = files.iter().filter(|(file, _)| !issuers(file));
        for (file, _) in lists.filter(|(file, mark)| anew || changed(&self.seen, file, mark)) {
            let outcome = match read(file).and_then(|der| self.kept.offer(&der, at)) {
                Ok(taken) if taken.is_newer() => "taken",
                Ok(_) => "known",
                Err(fault) => {
                    tracing::error!("the revocation list `{}` is not taken: {fault}", file.display());
                    "refused"
                }
            };
            let labels = [("result", outcome.to_owned())];
            metrics.inspect(|metrics| metrics.count("semgate_authority_client_crls_total", &labels));
        }
        self.seen = files;
        self.store.replace(self.kept.crls());
    }
}

fn read(file: &Path) -> Result<Vec<u8>, CrlFault> {
    let size = std::fs::metadata(file).map_or(u64::MAX, |found| found.len());
    if size > MAX_CRL_BYTES as u64 {
        return Err(CrlFault::TooLarge);
    }
    std::fs::read(file).map_err(|_| CrlFault::Malformed)
}

/// Certificates of issuers and lists, of the directory and of those of further issuers below it.
fn files(dir: &Path) -> BTreeMap<PathBuf, Mark> {
    let listed = |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|one| one.path());
    let named = |path: &PathBuf, is: &dyn Fn(&str) -> bool| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(is)
    };
    let sets = listed(dir).filter(|path| named(path, &is_set) && path.is_dir());
    let mut found = BTreeMap::new();
    for set in std::iter::once(dir.to_owned()).chain(sets) {
        let issuer = set.join(ISSUER);
        if issuer.is_file() {
            found.insert(issuer.clone(), mark(&issuer));
        }
        let counts = |name: &str| name.bytes().all(|b| b.is_ascii_digit());
        for shards in listed(&set).filter(|path| named(path, &counts)) {
            let lists = listed(&shards).filter(|path| path.extension().is_some_and(|end| end == "crl"));
            found.extend(lists.take(MAX_CRLS).map(|list| (list.clone(), mark(&list))));
        }
    }
    found
}
