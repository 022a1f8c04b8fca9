//! Revocation lists for the certificates of publishers: files as `semgate cert crl` writes them, each verified under its issuer, checked
//! for changes again and again. A certificate without a current list identifies nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use semgate_certs::{
    CrlFault, CrlLimits, CrlOutcome, CrlStore, MAX_CRL_BYTES, MAX_CRLS, Roots, VerifiedCrls,
};

use super::{Mark, mark};
use crate::http::crl::{ISSUER, is_set};
use crate::metrics::Metrics;
use crate::{Config, RunFault};

#[cfg(test)]
mod tests;

/// The lists, and their files.
pub(crate) struct ClientCrls {
    dir: PathBuf,
    verified: VerifiedCrls,
    store: Arc<CrlStore>,
    /// State of the files when they were read.
    seen: BTreeMap<PathBuf, Mark>,
    /// Files that were not taken: they are read again at each look, since a list may begin later, and a disk may fail once.
    again: BTreeSet<PathBuf>,
}

impl ClientCrls {
    /// The configured lists. Without a current list nobody is let in; that does not stop the start.
    ///
    /// # Errors
    /// The directory cannot be listed.
    pub fn of(config: &Config) -> Result<Option<Self>, RunFault> {
        let Some(dir) = config.tls.client_crls.clone() else { return Ok(None) };
        std::fs::read_dir(&dir).map_err(RunFault::io("listing", &dir))?;
        let limits = CrlLimits { bytes: config.limits.crl_bytes, ..CrlLimits::default() };
        let (verified, store) = (VerifiedCrls::new(limits), Arc::default());
        Ok(Some(Self { dir, verified, store, seen: BTreeMap::new(), again: BTreeSet::new() }))
    }

    /// The store in which verifiers look certificates up, kept current.
    pub fn store(&self) -> Arc<CrlStore> {
        Arc::clone(&self.store)
    }

    /// Reads files that changed since the last look or were not taken then; all of them under new roots. A file that cannot be read or
    /// verified leaves the held list, which ends by its own time. A file is reported and counted when it changes and when it is taken, not
    /// at each look.
    pub fn refresh(&mut self, roots: &Roots, reverify: bool, at: u64, metrics: Option<&Metrics>) {
        if let Err(fault) = std::fs::read_dir(&self.dir) {
            if !self.seen.is_empty() {
                tracing::error!("cannot read the revocation lists in `{}`: {fault}", self.dir.display());
            }
            count(metrics, "unlisted");
        }
        let files = files(&self.dir);
        let changed = |seen: &BTreeMap<_, _>, file: &PathBuf, mark: &Mark| seen.get(file) != Some(mark);
        let issuers = |file: &PathBuf| file.ends_with(ISSUER);
        let reverify =
            reverify || files.iter().any(|(file, mark)| issuers(file) && changed(&self.seen, file, mark));
        if !reverify && files == self.seen && self.again.is_empty() {
            return;
        }
        let before = std::mem::take(&mut self.again);
        if reverify || !before.is_empty() {
            self.set_issuers(files.keys().filter(|file| issuers(file)), roots, at);
        }
        for (file, mark) in files.iter().filter(|(file, _)| !issuers(file)) {
            let new = reverify || changed(&self.seen, file, mark);
            if new || before.contains(file) {
                self.offer(file, new, at, metrics);
            }
        }
        self.seen = files;
        self.store.replace(self.verified.crls());
    }

    fn set_issuers<'a>(&mut self, files: impl Iterator<Item = &'a PathBuf>, roots: &Roots, at: u64) {
        let mut offered = String::new();
        for file in files {
            match std::fs::read_to_string(file) {
                Ok(pem) => offered.push_str(&pem),
                Err(_) => drop(self.again.insert(file.clone())),
            }
        }
        self.verified.set_issuers(roots, &offered, at);
    }

    fn offer(&mut self, file: &Path, new: bool, at: u64, metrics: Option<&Metrics>) {
        let taken = read(file).and_then(|der| self.verified.offer(&der, at));
        let outcome = match &taken {
            Ok(CrlOutcome::Newer(_)) => "taken",
            Ok(CrlOutcome::Known) => "known",
            Ok(CrlOutcome::Early) => "early",
            Err(_) => "refused",
        };
        let settled = matches!(outcome, "taken" | "known");
        if !settled {
            self.again.insert(file.to_owned());
        }
        if !new && !settled {
            return;
        }
        if let Err(fault) = taken {
            tracing::error!("cannot use the revocation list `{}`: {fault}", file.display());
        }
        count(metrics, outcome);
    }
}

fn count(metrics: Option<&Metrics>, result: &str) {
    let labels = [("result", result.to_owned())];
    metrics.inspect(|metrics| metrics.count("semgate_authority_client_crls_total", &labels));
}

fn read(file: &Path) -> Result<Vec<u8>, CrlFault> {
    let size = std::fs::metadata(file).map_or(u64::MAX, |found| found.len());
    if size > MAX_CRL_BYTES as u64 {
        return Err(CrlFault::TooLarge);
    }
    std::fs::read(file).map_err(|_| CrlFault::Malformed)
}

/// Certificates of issuers and lists, in the directory and in those of further issuers below it.
fn files(dir: &Path) -> BTreeMap<PathBuf, Mark> {
    let listed = |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|one| one.path());
    let named = |path: &PathBuf, is: &dyn Fn(&str) -> bool| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(is)
    };
    let sets = listed(dir).filter(|path| named(path, &is_set) && path.is_dir());
    let mut marks = BTreeMap::new();
    for set in std::iter::once(dir.to_owned()).chain(sets) {
        let issuer = set.join(ISSUER);
        if issuer.is_file() {
            marks.insert(issuer.clone(), mark(&issuer));
        }
        let counts = |name: &str| name.bytes().all(|b| b.is_ascii_digit());
        for shards in listed(&set).filter(|path| named(path, &counts)) {
            let lists = listed(&shards).filter(|path| path.extension().is_some_and(|end| end == "crl"));
            marks.extend(lists.take(MAX_CRLS).map(|list| (list.clone(), mark(&list))));
        }
    }
    marks
}
