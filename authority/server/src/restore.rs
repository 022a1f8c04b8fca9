//! Brings a restored, older state directory up to the newest log from a mirror. A mirror holds everything public. Nothing of it counts
//! before all of it is verified.

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

/// The result of a restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// Entries before the restore.
    pub had: u64,
    /// Entries of the log now.
    pub size: u64,
    /// Its root hash, base64.
    pub root: String,
    /// Documents that are here now.
    pub documents: u64,
}

/// Restores. The authority must not be running, and keys and configuration must be in place. The local log must be a prefix of the fetched
/// one, and so must the checkpoint kept apart and the last head signed here. Each may be signed by any key that the log had by then.
///
/// # Errors
/// The fetched log does not verify, is older than the last signature, or has another history; then nothing was changed. After a fault of
/// the disk, the same call continues.
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
        .map_err(|e| RunFault::Stopped(format!("the fetched log is not valid: {e}")))?;
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
                    "the fetched log has {} entries and does not continue {what}, of {size}: {fault}; nothing was changed",
                    report.size
                ),
            )
        })
    };
    if let Some((_, last)) =
        open_pinned_checkpoint(config, &layout)?.map(|kept| kept.checkpoint(&ever)).transpose()?.flatten()
    {
        continues("the checkpoint of `last_checkpoint`", last.size, last.root)?;
    }
    if let Some(last) = LastSeen::read(&layout, &rules.roots, &ever)?.seen {
        continues("the last head that was signed here", last.size, last.root)?;
    }
    let had = match disk::read(&layout.log.join("checkpoint"))? {
        Some(_) => {
            let had = Log::peek(&layout.log, &ever, &mut |_, _| Ok(()))?;
            continues("the log in the state directory", had.size, had.root)?;
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
    // Opened as a start does: leftovers of the older state are set aside or removed, and any damage shows now.
    let opened = open(config, &layout)?;
    let listed = opened.ledger.replay().listing().contexts;
    Index::rebuild(&layout.index, &config.prefix, opened.position(), &listed)?;
    Ok(Restored { had, size: report.size, root: report.root.to_string(), documents: report.documents })
}

/// Every key that the log had: the configured ones, and those that the root named in the fetched log.
fn every_log_key(config: &Config, trust: &Trust, size: u64) -> Result<LogVerifier, RunFault> {
    let anchors = keys::configured(config)?.with_entries(trust.root(), size, &config.prefix);
    let anchors = anchors.map_err(|e| RunFault::Stopped(format!("the fetched log is not valid: {e}")))?;
    Ok(anchors.log_ever())
}

/// Writes documents, chains and tiles to the paths that a running authority uses.
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

/// Keeps the fetched files.
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
