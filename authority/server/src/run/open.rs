//! Opens a state directory: checks log, documents, certificates and index, and reports every repair.

use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use semgate_contexts::{ContextUrn, Digest};
use semgate_statement::head::HeadRules;
use semgate_statement::{Anchors, HeadFault, LogVerifier, Trust, VerifiedHead};
use tokio::sync::watch;

use super::OpenReport;
use crate::clock::{Clock, ClockFault, now};
use crate::config::{CLOCK_GAP, EVIDENCE_FILES, KEPT_SHARDS, LEFTOVER_FILES};
use crate::cosign::Cosigners;
use crate::disk::Reserve;
use crate::index::{Index, Position};
use crate::keys::{self, Keys};
use crate::ledger::Ledger;
use crate::metrics::Metrics;
use crate::publish::{HeadNames, Heads};
use crate::store::{
    CheckpointFile, Documents, Evidence, LastSeen, Layout, Leftovers, Log, LogState, PinnedCheckpoint,
    Recovery,
};
use crate::submit::{
    Compiled, FollowerCapacity, Quota, Sequencer, VerifiedLeaves, blocks, fold, fold_anchors,
};
use crate::{Config, RunFault, disk};

/// An opened log with the parts needed to serve it.
pub(crate) struct Opened {
    pub log: Log,
    pub ledger: Ledger,
    pub documents: Documents,
    pub trust: Trust,
    pub configured: Anchors,
    pub anchors: Anchors,
    pub missing_certificates: u64,
    pub pinned: Option<PinnedCheckpoint>,
    /// Bytes that each publisher has brought to the disk, evidence apart.
    pub quota: Quota,
}

impl Opened {
    pub fn position(&self) -> Position {
        Position { size: self.log.size(), root: self.log.root() }
    }
}

/// Opens the log, folds it, and checks that everything that it names is there.
pub(crate) fn open(config: &Config, layout: &Layout) -> Result<Opened, RunFault> {
    let configured = keys::configured(config)?;
    let roots = configured.roots();
    let key = keys::log_key(config)?;
    let pinned = open_pinned_checkpoint(config, layout)?;
    let last = pinned.as_ref().map(|kept| kept.checkpoint(key.verifier())).transpose()?.flatten();
    let witness = LastSeen::read(layout, roots, key.verifier())?.with_pinned(last);
    let leftovers = Leftovers::new(layout, LEFTOVER_FILES);
    let documents = Documents::new(layout, roots.clone());
    let mut ledger = Ledger::new(documents.clone());
    let mut folded = fold(&layout.log, &config.prefix, &mut ledger);
    let (mut log, recovery) = Log::open(&layout.log, key, &witness, &leftovers, &mut folded)?;
    drop(folded);
    report(config, &log, &recovery);
    let anchors = fold_anchors(&configured, &ledger, &config.prefix, &layout.log)?;
    if !log.resign(anchors.log())? {
        return Err(RunFault::keys(
            &config.keys.log.key,
            "the trust list in effect names no signing log key, so nobody would follow: let a listed key sign too (`also`) until a list with the new key (`semgate trust draft --add-log`) is submitted",
        ));
    }
    let (trust, missing_certificates) = trust(config, &ledger, &documents)?;
    let published: std::collections::HashSet<Digest> =
        ledger.replay().contexts().map(|(_, p)| p.digest).collect();
    let quota = Quota::new(&config.publishers, config.limits.publisher_bytes as u64);
    ledger.entry_bytes().for_each(|(line, bytes)| quota.charge(line, bytes));
    for (urn, p) in ledger.replay().contexts() {
        match documents.read(&p.digest)? {
            Some(bytes) => quota.charge(urn.line(), blocks(bytes.len())),
            None => tracing::error!(
                "the document of `{}` is missing or damaged; publish it again or restore `{}`",
                urn.as_str(),
                documents.path(&p.digest).display()
            ),
        }
    }
    let orphans = documents.unpublished(&|digest| published.contains(digest))?;
    if let Some(first) = orphans.first() {
        witness.explains(first)?;
        leftovers.take(&orphans.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
        tracing::warn!("set {} documents aside whose statements never reached the log", orphans.len());
    }
    Ok(Opened { log, ledger, documents, trust, configured, anchors, missing_certificates, pinned, quota })
}

/// The store of the last checkpoint, if one is configured. Refuses to go on if one was kept for this state and is missing now, or is no
/// longer configured. An older configuration is as suspect as a volume that is not mounted.
pub(crate) fn open_pinned_checkpoint(
    config: &Config,
    layout: &Layout,
) -> Result<Option<PinnedCheckpoint>, RunFault> {
    let mark = &layout.kept_apart;
    match config.last_checkpoint.clone() {
        Some(file) => PinnedCheckpoint::open(Box::new(CheckpointFile(file)), mark).map(Some),
        None if mark.exists() => Err(RunFault::Config(format!(
            "`last_checkpoint` is not set, but a separate checkpoint of this log exists (`{}`), so the authority signs nothing without it; set it to \
             its location, or see Restore in docs/how-to/run-an-authority.md before removing the mark",
            mark.display()
        ))),
        None => Ok(None),
    }
}

fn report(config: &Config, log: &Log, recovery: &Recovery) {
    let origin = &config.origin;
    if recovery.begun {
        tracing::info!("began the log `{origin}`");
    } else {
        tracing::info!("opened the log `{origin}`: {} entries, root {}", log.size(), log.root());
    }
    if recovery.repaired > 0 {
        tracing::warn!(
            "rewrote {} hash tiles from the entries: they were missing or wrong",
            recovery.repaired
        );
    }
    if recovery.removed > 0 {
        tracing::warn!(
            "removed or set aside {} files that the checkpoint does not cover: a write was interrupted",
            recovery.removed
        );
    }
}

/// The chains of everything that signed an entry or a published document; missing ones are logged and counted.
fn trust(config: &Config, ledger: &Ledger, documents: &Documents) -> Result<(Trust, u64), RunFault> {
    let mut trust = Trust::new(config.authority.clone());
    trust.set_root(ledger.root().to_vec());
    let status = keys::chain(&config.keys.status.certificate)?;
    let mut missing = 0;
    let document_signers = ledger.replay().contexts().map(|(_, p)| p.signer);
    let thumbprints: std::collections::BTreeSet<_> =
        ledger.signers().iter().copied().chain(document_signers).collect();
    for thumbprint in thumbprints {
        match documents.chain(&thumbprint)? {
            Some(chain) => trust.insert(chain),
            None if status.thumbprint() == thumbprint => trust.insert(status.clone()),
            None => {
                missing += 1;
                let path = documents.chain_path(&thumbprint);
                tracing::error!("the chain of a signer is missing; restore `{}`", path.display());
            }
        }
    }
    Ok((trust, missing))
}

/// Parts shared by the sequencer and the request handlers.
pub(super) struct Shared {
    pub metrics: Arc<Metrics>,
    pub clock: Arc<Clock>,
    pub reserve: Arc<Reserve>,
}

/// The sequencer over an opened log, with its first head made and its index in step.
pub(super) fn sequencer(
    config: &Config,
    layout: &Layout,
    mut opened: Opened,
    keys: Arc<Keys>,
    shared: Shared,
) -> Result<(Sequencer, OpenReport), RunFault> {
    let Shared { metrics, clock, reserve } = shared;
    // After a crash between the two, the checkpoint kept apart is behind; it catches up before anything is served.
    if let Some(pinned) = &mut opened.pinned {
        reserve.lend(|| {
            pinned.advance(opened.log.checkpoint())?;
            pinned.mark(&layout.kept_apart)
        })?;
    }
    let listed = opened.ledger.replay().listing().contexts;
    let (index, reason) =
        reserve.lend(|| Index::open(&layout.index, &config.prefix, opened.position(), &listed))?;
    let mut report =
        OpenReport { index: "ready".to_owned(), missing_certificates: opened.missing_certificates };
    match reason {
        // A new log has no index yet, which needs no warning.
        Some(_) if opened.log.size() == 0 => {}
        Some(reason) => {
            metrics.count("semgate_authority_index_rebuilt_total", &[]);
            tracing::warn!("the index was {reason}; rebuilt from the log: {} contexts", listed.len());
            report.index = format!("rebuilt: {reason}");
        }
        None => {}
    }
    let names = HeadNames {
        authority: config.authority.clone(),
        origin: config.origin.clone(),
        public_url: config.public_url.clone(),
        lifetime: config.status_lifetime.as_secs(),
        kept_shards: KEPT_SHARDS,
    };
    let issued = last_issued(config, layout, &keys, &opened.log)?;
    look_at_clock(clock.now(), issued.max(opened.ledger.replay().last_logged_at()));
    let issued = issued.min(clock.now().saturating_add(config.status_lifetime.as_secs()));
    let mut heads = Heads::new(names, issued);
    let mut cosigners = Cosigners::open(config, Arc::clone(&metrics))?;
    let note = match &mut cosigners {
        Some(cosigners) => cosigners.cosigned(&opened.log, true)?,
        None => opened.log.checkpoint().to_owned(),
    };
    let log = LogState { checkpoint: &note, ..opened.log.state() };
    let first = heads.make(log, &opened.ledger, &opened.trust, &keys, clock.now())?;
    // A head must be on disk before anything is appended: without one, a crash could not be told from a rollback.
    reserve.lend(|| disk::write(&layout.head, &first.head.bytes))?;
    let evidence = evidence(config, layout, &opened.quota)?;
    gauges(&metrics, &first, &evidence);
    let (public, _) = watch::channel(Arc::new(first));
    let sequencer = Sequencer {
        prefix: config.prefix.clone(),
        limits: config.limits.clone(),
        renew_after: Duration::from_millis(
            u64::try_from(config.status_lifetime.as_millis() / 2).unwrap_or(1000),
        ),
        keys,
        log: opened.log,
        ledger: opened.ledger,
        trust: opened.trust,
        configured: opened.configured,
        anchors: opened.anchors,
        documents: opened.documents,
        leftovers: Leftovers::new(layout, LEFTOVER_FILES),
        evidence,
        index: Arc::new(RwLock::new(index)),
        index_dir: layout.index.clone(),
        head_file: layout.head.clone(),
        pinned: opened.pinned,
        cosigners,
        heads,
        public,
        verified: VerifiedLeaves::default(),
        room: FollowerCapacity::default(),
        reserve,
        quota: opened.quota,
        compiled: Arc::new(Compiled::default()),
        doubt: 0,
        looked: 0,
        unsigned: None,
        unrenewed: None,
        feed_changed: false,
        misread: None,
        clock,
        metrics,
    };
    Ok((sequencer, report))
}

/// The kept evidence, charged to the publishers of its lines.
fn evidence(config: &Config, layout: &Layout, quota: &Quota) -> Result<Evidence, RunFault> {
    Evidence::open(layout, EVIDENCE_FILES, config.limits.account_share, |urn, bytes| {
        if let Ok(urn) = ContextUrn::parse(urn, &config.prefix) {
            quota.charge(urn.line(), blocks(bytes));
        }
    })
}

fn gauges(metrics: &Metrics, first: &crate::publish::Published, evidence: &Evidence) {
    metrics.gauge("semgate_authority_log_size", &[], first.size);
    metrics.gauge("semgate_authority_contexts", &[], first.contexts);
    metrics.gauge("semgate_authority_evidence", &[], evidence.len() as u64);
    metrics.gauge("semgate_authority_head_issued_seconds", &[], first.issued_at);
    metrics.gauge("semgate_authority_head_next_update_seconds", &[], first.next_update);
    for how in ClockFault::KINDS {
        metrics.gauge("semgate_authority_clock_wrong", &[("how", how.to_owned())], 0);
    }
}

/// Warns if the clock is far ahead of the last signature. At the start, a wrong clock looks like a long pause, and a logged time stays.
fn look_at_clock(now: u64, last: u64) {
    let gap = now.saturating_sub(last);
    if last > 0 && gap > CLOCK_GAP.as_secs() {
        tracing::warn!(
            "nothing was signed for {gap} seconds by the clock: if the authority was not off that long, stop it and check the clock"
        );
    }
}

/// A head that this authority signed.
pub(super) fn verify_head(
    config: &Config,
    keys: &Keys,
    log: &LogVerifier,
    bytes: &[u8],
) -> Result<VerifiedHead, HeadFault> {
    let anchors = keys.anchors();
    let (authority, origin) = (&config.authority, &config.origin);
    let rules = HeadRules { roots: anchors.roots(), authority, origin, log };
    VerifiedHead::verify(bytes, &rules, now())
}

/// `issued_at` of the last head of the previous process, so that times do not go back with the clock. The file counts only if it verifies;
/// opening the log already checked that it covers no larger log.
fn last_issued(config: &Config, layout: &Layout, keys: &Keys, log: &Log) -> Result<u64, RunFault> {
    let Some(bytes) = disk::read(&layout.head)? else { return Ok(0) };
    match verify_head(config, keys, log.verifier(), &bytes) {
        Ok(head) => Ok(head.head().issued_at),
        Err(fault) => {
            tracing::warn!("the last head is not usable and its time is ignored: {fault}");
            Ok(0)
        }
    }
}
