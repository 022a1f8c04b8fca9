//! Brings a state directory up to the newest log from a mirror, after an older one was restored: everything public is in a mirror, and
//! nothing of it is believed before all of it was verified.

use std::collections::BTreeMap;

use semgate_contexts::Digest;
use semgate_statement::tiles::{TilePath, check_consistency};
use semgate_statement::verify_log::{FetchFault, verify_log_of_its_head};
use semgate_statement::{Fetch, FollowerConfig, LogVerifier, Trust};
use serde::Serialize;

use crate::config::MAX_STATUS_LIFETIME;
use crate::index::Index;
use crate::run::{open, open_pinned_checkpoint};
use crate::store::{LastSeen, Layout, Log};
use crate::{Config, RunFault, disk, keys};

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// Entries that were here before.
    pub had: u64,
    /// Entries of the log now.
    pub size: u64,
    /// Its root hash, base64.
    pub root: String,
    /// Documents that are here now.
    pub documents: u64,
}

/// Restores. The authority must not be running. Keys and configuration must be here already; what is here of the log must be a prefix of
/// what is fetched, and so must what is kept apart and the last head that was signed here. Each of these may be by any key that the log had
/// up to what is fetched.
///
/// # Errors
/// What is fetched does not hold, is older than what was signed, or is another history; then nothing was changed. After a fault of the
/// disk on the way the same call again goes on.
pub fn restore(config: &Config, from: &mut dyn Fetch) -> Result<Restored, RunFault> {
    let layout = Layout::new(&config.state);
    disk::make_dir(&layout.state)?;
    let _lock = disk::Lock::take(&layout.state)?;
    let key = keys::log_key(config)?;
    let roots = keys::roots(&config.roots, &config.prefix)?;
    let mut rules = FollowerConfig::new(&config.authority, &config.origin, roots, key.verifier().clone());
    rules.prefix = config.prefix.clone();
    rules.root_threshold = config.root_threshold as u64;
    rules.max_status_age = MAX_STATUS_LIFETIME.as_secs();
    let mut copy = RecordingFetch { from, files: BTreeMap::new() };
    let report = verify_log_of_its_head(&mut copy, &rules)
        .map_err(|e| RunFault::Stopped(format!("what was fetched does not hold: {e}")))?;
    let files = copy.files;
    let trust = files.get("/v1/trust").map_or(&[][..], Vec::as_slice);
    let trust =
        Trust::read(trust, rules.roots.limits()).map_err(|e| RunFault::damaged(&layout.certificates, e))?;
    let ever = every_log_key(config, &trust, report.size)?;
    let tiles: std::collections::HashMap<TilePath, Vec<u8>> =
        files.iter().filter_map(|(path, bytes)| Some((TilePath::parse(path).ok()?, bytes.clone()))).collect();
    let continues = |what: &str, size: u64, root| {
        check_consistency(size, root, report.size, report.root, &tiles).map_err(|fault| {
            RunFault::damaged(
                &layout.log,
                format_args!(
                    "what was fetched has {} entries and does not continue {what}, of {size}: {fault}; nothing was changed",
                    report.size
                ),
            )
        })
    };
    if let Some((_, last)) =
        open_pinned_checkpoint(config, &layout)?.map(|kept| kept.checkpoint(&ever)).transpose()?.flatten()
    {
        continues("the checkpoint that is kept apart", last.size, last.root)?;
    }
    if let Some(last) = LastSeen::read(&layout, &rules.roots, &ever, config.limits.batch)?.seen {
        continues("the last head that was signed here", last.size, last.root)?;
    }
    let had = match disk::read(&layout.log.join("checkpoint"))? {
        Some(_) => {
            let had = Log::peek(&layout.log, &ever, &mut |_, _| Ok(()))?;
            continues("the log that is here", had.size, had.root)?;
            had.size
        }
        None => 0,
    };
    layout.prepare()?;
    let note = key.sign(report.size, report.root).map_err(|e| RunFault::damaged(&layout.log, e))?;
    put(&layout, &trust, &files)?;
    if let Some(head) = files.get("/v1/feed/head") {
        disk::write(&layout.head, head)?;
    }
    // From here on the log is the newer one.
    disk::write(&layout.log.join("checkpoint"), note.as_bytes())?;
    // Opened as a start does: what the older state left is set aside or removed here, and anything wrong is found now.
    let opened = open(config, &layout)?;
    let listed = opened.ledger.replay().listing().contexts;
    Index::rebuild(&layout.index, &config.prefix, opened.position(), &listed)?;
    Ok(Restored { had, size: report.size, root: report.root.to_string(), documents: report.documents })
}

/// Every key that the log had: what is configured, and what the root named in what was fetched.
fn every_log_key(config: &Config, trust: &Trust, size: u64) -> Result<LogVerifier, RunFault> {
    let anchors = keys::configured(config)?.with_entries(trust.root(), size, &config.prefix);
    let anchors = anchors.map_err(|e| RunFault::Stopped(format!("what was fetched does not hold: {e}")))?;
    Ok(anchors.log_ever())
}

/// Documents, chains and tiles, each where a running authority would have put it.
fn put(layout: &Layout, trust: &Trust, files: &BTreeMap<String, Vec<u8>>) -> Result<(), RunFault> {
    for (path, bytes) in files {
        let target = if let Some(digest) = path.strip_prefix("/v1/contexts/by-digest/") {
            let digest = Digest::parse(digest).map_err(|e| RunFault::damaged(&layout.documents, e))?;
            layout.documents.join(format!("{}.json", digest.hex()))
        } else if path.starts_with("/tile/") {
            layout.log.join(path.trim_start_matches('/'))
        } else {
            continue;
        };
        disk::make_dir(&disk::parent(&target))?;
        disk::write(&target, bytes)?;
    }
    for (thumbprint, chain) in trust.chains() {
        let target = layout.certificates.join(format!("{thumbprint}.pem"));
        if !target.exists() {
            disk::write(&target, chain.to_pem().as_bytes())?;
        }
    }
    Ok(())
}

/// Keeps what was fetched.
struct RecordingFetch<'a> {
    from: &'a mut dyn Fetch,
    files: BTreeMap<String, Vec<u8>>,
}

impl Fetch for RecordingFetch<'_> {
    fn get(&mut self, path: &str, max_bytes: u64) -> Result<Vec<u8>, FetchFault> {
        let bytes = self.from.get(path, max_bytes)?;
        self.files.insert(path.to_owned(), bytes.clone());
        Ok(bytes)
    }

    fn look(&mut self, path: &str, max_bytes: u64) -> Result<Vec<u8>, FetchFault> {
        self.from.look(path, max_bytes)
    }

    fn as_of_head(&mut self, path: &str, bytes: &[u8]) {
        self.files.insert(path.to_owned(), bytes.to_vec());
    }

    fn pause(&mut self) {
        self.from.pause();
    }

    fn by_name(&self) -> bool {
        false
    }
}
