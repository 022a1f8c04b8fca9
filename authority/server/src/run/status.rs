//! The status of an authority: from its memory at `GET /status` of the admin address, or from its directory.

use serde::{Deserialize, Serialize};

use super::indexed;
use super::open::{open_pinned_checkpoint, verify_head};
use crate::http::{App, shown_chain};
use crate::keys::{self, Keys, Role};
use crate::ledger::Ledger;
use crate::store::{Documents, LastSeen, Layout, Log};
use crate::submit::fold_anchors;
use crate::{Config, RunFault, disk};

/// Issue and expiry of a head, in seconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadTimes {
    /// When it was signed.
    pub issued_at: u64,
    /// Its expiry.
    pub next_update: u64,
}

/// A role's certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleStatus {
    /// `status`, `feed`, or `tls` for the chain of the public address.
    pub role: String,
    /// The last second at which its chain is valid; none if it is not valid now.
    pub not_after: Option<u64>,
}

/// The status of an authority, from its state directory or from `GET /status` of its admin address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The authority's name.
    pub authority: String,
    /// The origin of its log.
    pub origin: String,
    /// The verifier key of its log.
    pub log_key: String,
    /// Entries of the log.
    pub size: u64,
    /// Root hash of the log, base64.
    pub root: String,
    /// The newest head; offline, the last one written, if it verifies.
    pub head: Option<HeadTimes>,
    /// Published contexts.
    pub contexts: u64,
    /// Lines with a floor.
    pub floors: u64,
    /// Files of evidence.
    pub evidence: u64,
    /// `ready`, `rebuilt: <why>` (at the last start), `unreadable`, `missing`, or `not looked at` (offline).
    pub index: String,
    /// Published contexts whose document file is missing or damaged.
    pub missing_documents: u64,
    /// Signers whose chain is missing.
    pub missing_certificates: u64,
    /// Certificates of the roles.
    pub roles: Vec<RoleStatus>,
    /// Digest of the policies about publishers that are in effect; none without any, or offline.
    #[serde(default)]
    pub policies: Option<String>,
}

/// The status of the running authority.
pub(crate) fn status_of(app: &App) -> Status {
    let public = app.public();
    let index = match indexed(app) {
        Some(_) => app.open_report.index.clone(),
        None => "unreadable".to_owned(),
    };
    Status {
        authority: app.config.authority.clone(),
        origin: app.config.origin.clone(),
        log_key: app.log_key.clone(),
        size: public.size,
        root: public.root.to_string(),
        head: Some(HeadTimes { issued_at: public.issued_at, next_update: public.next_update }),
        contexts: public.contexts,
        floors: public.floor_count,
        evidence: disk::list(&app.layout.evidence).map_or(0, |names| names.len() as u64),
        index,
        missing_documents: app.documents.missing(),
        missing_certificates: app.open_report.missing_certificates,
        roles: roles(&app.config, Some(&app.keys)),
        policies: app.rules.digest().map(|digest| digest.to_string()),
    }
}

/// The certificates of the roles, as they are now.
pub(crate) fn roles(config: &Config, keys: Option<&Keys>) -> Vec<RoleStatus> {
    let tls = shown_chain(config).iter().map(|one| one.not_after).min();
    let role = |name: &str, not_after| RoleStatus { role: name.to_owned(), not_after };
    let signing = keys.map(|keys| {
        let (feed, status) = (keys.feed().ok(), keys.status());
        let end = |role: Option<std::sync::Arc<Role>>| role.map(|role| role.leaf.not_after());
        [role("feed", end(feed)), role("status", end(status))]
    });
    signing.into_iter().flatten().chain([role("tls", tls)]).collect()
}

/// Reads the state directory without locking or changing it. Works beside a running authority, though `GET /status` on its admin address
/// reports more.
///
/// # Errors
/// There is no readable log, or its entries do not hash to its checkpoint.
pub fn status(config: &Config) -> Result<Status, RunFault> {
    let layout = Layout::new(&config.state);
    let key = keys::log_key(config)?;
    let mut last = None;
    // A running authority may replace incomplete tiles during the read; the next try finds the new ones.
    for _ in 0..3 {
        match look(config, &layout, &key) {
            Ok(status) => return Ok(status),
            Err(fault) => last = Some(fault),
        }
    }
    Err(last.unwrap_or_else(|| RunFault::Stopped("nothing was read".to_owned())))
}

fn look(config: &Config, layout: &Layout, key: &semgate_statement::LogKey) -> Result<Status, RunFault> {
    // Read before the checkpoint, so that it never covers a larger log, also beside a running authority.
    let roots = keys::roots(&config.roots, &config.prefix)?;
    let pinned = open_pinned_checkpoint(config, layout)?
        .map(|kept| kept.checkpoint(key.verifier()))
        .transpose()?
        .flatten();
    let witness = LastSeen::read(layout, &roots, key.verifier())?.with_pinned(pinned);
    let path = layout.log.join("checkpoint");
    if disk::read(&path)?.is_none() {
        // a missing log is not the same as a new one
        witness.judge(&path, None)?;
    }
    let documents = Documents::new(layout, roots);
    let mut ledger = Ledger::new(documents.clone());
    let checkpoint = Log::peek(&layout.log, key.verifier(), &mut |index, bytes| {
        let damaged = |what: &dyn std::fmt::Display| {
            RunFault::damaged(&layout.log, format_args!("entry {index}: {what}"))
        };
        let entry = semgate_statement::Entry::read(bytes, &config.prefix).map_err(|e| damaged(&e))?;
        ledger.apply_entry(&entry).map_err(|e| damaged(&e))
    })?;
    witness.judge(&path, Some(&checkpoint))?;
    let replay = ledger.replay();
    for (_, p) in replay.contexts() {
        documents.read(&p.digest)?;
    }
    let missing_certificates = ledger
        .signers()
        .iter()
        .filter(|thumbprint| !layout.certificates.join(format!("{thumbprint}.pem")).is_file())
        .count() as u64;
    let anchors = fold_anchors(&keys::configured(config)?, &ledger, &config.prefix, &layout.log)?;
    let keys = keys::Keys::reload(config, layout, anchors, crate::clock::now());
    let head = match (&keys, disk::read(&layout.head)?) {
        (Some(keys), Some(bytes)) => verify_head(config, keys, key.verifier(), &bytes).ok(),
        _ => None,
    };
    Ok(Status {
        authority: config.authority.clone(),
        origin: config.origin.clone(),
        log_key: key.verifier().to_string(),
        size: checkpoint.size,
        root: checkpoint.root.to_string(),
        head: head.map(|h| HeadTimes { issued_at: h.head().issued_at, next_update: h.head().next_update }),
        contexts: replay.contexts().count() as u64,
        floors: replay.floors().len() as u64,
        evidence: disk::list(&layout.evidence)?.len() as u64,
        index: if layout.index.exists() { "not looked at" } else { "missing" }.to_owned(),
        missing_documents: documents.missing(),
        missing_certificates,
        roles: roles(config, keys.as_ref()),
        policies: None,
    })
}
