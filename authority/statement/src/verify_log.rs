//! Checks a whole log from outside: downloads every tile, computes the root, and replays. Compares tiles, status lists, floors and
//! documents byte for byte with those served. Trusts only the configuration.

mod deltas;
mod fault;
mod pages;
mod prove;
mod snapshot;
mod unanchored;
mod window;

#[cfg(test)]
mod tests;

pub use deltas::DeltaFault;
pub use fault::{Fetch, FetchFault, LogFault, LogReport, Overridden};
pub use prove::Prover;

use crate::checkpoint::MAX_CHECKPOINT_BYTES;
use crate::context::{ContextFault, MAX_SIGNED_BYTES, verify_context_among};
use crate::entry::Entry;
use crate::floors::MAX_FLOORS_BYTES;
use crate::follower::FollowerConfig;
use crate::head::{self, Head, HeadRules, MAX_AHEAD, MAX_HEAD_BYTES, VerifiedHead};
use crate::jws::General;
use crate::listing::{LISTING_FILE, LISTING_PATH, LONGEST_NAME, MAX_LISTING_BYTES, listing_is_a_file};
use crate::replay::{Published, Replay};
use crate::root::Anchors;
use crate::sha256::sha256;
use crate::statement::{Statement, StatementFault};
use crate::tiles::{MAX_BUNDLE_BYTES, TILE_WIDTH, TilePath, Tree, TreeHash, decode_bundle};
use crate::token::{MAX_TOKEN_BYTES, Token};
use crate::trust::{MAX_TRUST_BYTES, RootEntry, Trust};
use semgate_certs::Roots;
use semgate_certs::encoding::from_base64url;
use semgate_contexts::{Context, ContextUrn, DocumentFault, Prefix};
use snapshot::Snapshot;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Path of the head.
const HEAD_PATH: &str = "/v1/feed/head";
/// Attempts, each with a new head, if served files belonged to no head: a mirror or caches may be in the middle of an update.
const ATTEMPTS: usize = 3;

/// Verifies everything that an authority serves, at `now`. The configuration is that of a follower; its lines are ignored, because the
/// whole log is checked. The check uses one head, the first served. Its entries, tiles, documents and status lists stay the same while the
/// log grows. Files that name no head (floors, listing, trust document, checkpoint, status tokens by number) are fetched after it. Each
/// must match the log at that size or a later one, up to a head served after them. The entries between are fetched, hashed to the later
/// head's root, and replayed too. If the source lists deltas to the head, each must lead from the statuses of its size to a signed head. So
/// publishing during the check raises no fault, and a lie does.
/// meanwhile is.
///
/// # Errors
/// The first fault. [`LogFault::Moving`], which is no fault of the log, if the head's files were gone in every attempt.
pub fn verify_log(fetch: &mut dyn Fetch, config: &FollowerConfig, now: u64) -> Result<LogReport, LogFault> {
    let mut last = LogFault::Moving;
    for _ in 0..ATTEMPTS {
        let (mut still, served) = Snapshot::take(fetch, config, now)?;
        let result = Check { fetch: &mut still, config, served: &served, now }.run();
        match result {
            Err(fault) if fault.may_be_a_race() && moved(still.past(), &served.head)? => last = fault,
            other => return other,
        }
    }
    Err(if matches!(last, LogFault::Fetch { .. }) { LogFault::Moving } else { last })
}

/// Does the same as [`verify_log`], at the time at which the served head was issued: for a copy that may have expired since. Does not check
/// the present.
pub fn verify_log_of_its_head(fetch: &mut dyn Fetch, config: &FollowerConfig) -> Result<LogReport, LogFault> {
    let issued_at = unverified_head(fetch, &config.roots)?.issued_at;
    verify_log(fetch, config, issued_at)
}

/// Does the same as [`verify_log`] at `now`, or at the issue time of a head that has expired by then. In that case the report's
/// `next_update` is past: the log is valid, but nobody follows it any more.
///
/// # Errors
/// As [`verify_log`]; [`LogFault::Expired`] holds a fault in a log with an expired head, and the fault is the graver of the two.
pub fn verify_log_or_expired(
    fetch: &mut dyn Fetch,
    config: &FollowerConfig,
    now: u64,
) -> Result<LogReport, LogFault> {
    match verify_log(fetch, config, now) {
        Err(fault @ LogFault::Head(_)) => {
            let head = unverified_head(fetch, &config.roots)?;
            match verify_log(fetch, config, head.issued_at) {
                Ok(report) if report.next_update <= now => Ok(report),
                // the head itself is not valid, or no more can be fetched
                Ok(_)
                | Err(
                    LogFault::Head(_) | LogFault::Fetch { .. } | LogFault::Moving | LogFault::Unfinished(_),
                ) => Err(fault),
                Err(besides) if head.next_update <= now => Err(LogFault::Expired(Box::new(besides))),
                Err(_) => Err(fault),
            }
        }
        other => other,
    }
}

fn unverified_head(fetch: &mut dyn Fetch, roots: &Roots) -> Result<Head, LogFault> {
    read_head(&get(fetch, HEAD_PATH, MAX_HEAD_BYTES)?, roots)
}

/// A head, not verified.
fn read_head(bytes: &[u8], roots: &Roots) -> Result<Head, LogFault> {
    let jws =
        General::read(bytes, head::TYPE, roots, MAX_HEAD_BYTES).map_err(|f| LogFault::Head(f.into()))?;
    Head::read(jws.unverified_payload()).map_err(|f| LogFault::Head(f.into()))
}

fn get(fetch: &mut dyn Fetch, path: &str, max: usize) -> Result<Vec<u8>, LogFault> {
    fetch.get(path, max as u64).map_err(|fault| LogFault::Fetch { path: path.to_owned(), fault })
}

fn fetch_trust(fetch: &mut dyn Fetch, config: &FollowerConfig) -> Result<Trust, LogFault> {
    let bytes = get(fetch, "/v1/trust", MAX_TRUST_BYTES)?;
    let trust = Trust::read(&bytes, config.roots.limits()).map_err(LogFault::Trust)?;
    if trust.authority() == config.authority { Ok(trust) } else { Err(LogFault::TrustOfAnother) }
}

/// A verified head, with the keys that it was judged by.
struct ServedHead {
    head: VerifiedHead,
    /// The keys up to the head.
    anchors: Anchors,
    /// The keys with later statements of the root, as far as they were served.
    newest: Anchors,
    trust: Trust,
}

impl ServedHead {
    /// The statements of the root up to the head, as in the trust document.
    fn rooted(&self) -> &[RootEntry] {
        let root = self.trust.root();
        let size = self.head.checkpoint().size;
        let count = root.iter().take_while(|root| root.index < size).count();
        root.get(..count).unwrap_or_default()
    }
}

/// The head, verified under the configured keys and the root's statements; their presence in the log is checked with its entries.
fn fetch_head(fetch: &mut dyn Fetch, config: &FollowerConfig, now: u64) -> Result<ServedHead, LogFault> {
    let bytes = get(fetch, HEAD_PATH, MAX_HEAD_BYTES)?;
    served_head(fetch, &bytes, config, now)
}

/// Verifies a fetched head.
fn served_head(
    fetch: &mut dyn Fetch,
    bytes: &[u8],
    config: &FollowerConfig,
    now: u64,
) -> Result<ServedHead, LogFault> {
    let (authority, origin) = (config.authority.as_str(), config.origin.as_str());
    // fetched after the head, so that it has every signer of the head's log; it may be newer, and name more
    let trust = fetch_trust(fetch, config)?;
    let configured = Anchors::new(authority, origin, &config.roots, config.root_threshold, &config.log);
    let newest = configured.with_entries(trust.root(), u64::MAX, &config.prefix).map_err(LogFault::Root)?;
    let size = read_head(bytes, &config.roots)?.seq;
    let anchors = configured.with_entries(trust.root(), size, &config.prefix).map_err(LogFault::Root)?;
    if let Some(key) = newest.unlisted_log_keys().next() {
        return Err(LogFault::LogKeyUnlisted { key: key.to_owned() });
    }
    let rules = HeadRules { roots: anchors.roots(), authority, origin, log: anchors.log() };
    let head = VerifiedHead::verify(bytes, &rules, now).map_err(LogFault::Head)?;
    head.check_times(now, config.max_status_age).map_err(LogFault::Head)?;
    let latest = now.saturating_add(MAX_AHEAD);
    config.quorum.judge(&head.head().checkpoint, latest).map_err(LogFault::Cosignatures)?;
    if newest.compromised(head.leaf().signer_id()).is_some() {
        return Err(LogFault::FeedCompromised);
    }
    Ok(ServedHead { head, anchors, newest, trust })
}

/// Returns true if another head is served by now.
fn moved(fetch: &mut dyn Fetch, head: &VerifiedHead) -> Result<bool, LogFault> {
    let path = HEAD_PATH.to_owned();
    let bytes =
        fetch.look(HEAD_PATH, MAX_HEAD_BYTES as u64).map_err(|fault| LogFault::Fetch { path, fault })?;
    let payload = serde_json::from_slice::<serde_json::Value>(&bytes).ok();
    let payload = payload.and_then(|jws| jws.get("payload")?.as_str().and_then(from_base64url));
    Ok(payload.and_then(|payload| Head::read(&payload).ok()).as_ref() != Some(head.head()))
}

/// The authority that the served head names, for callers that know the log and its roots but no name. Not verified: the caller verifies the
/// head under the roots and the log key, so only their holders can have chosen the name.
pub fn named_authority(fetch: &mut dyn Fetch, roots: &Roots) -> Result<String, LogFault> {
    Ok(unverified_head(fetch, roots)?.authority)
}

/// A tile file; if a partial one is gone, the full one with its width.
fn tile(fetch: &mut dyn Fetch, path: TilePath, max: u64) -> Result<(Vec<u8>, u32), LogFault> {
    match fetch.get(&path.to_string(), max) {
        Err(FetchFault::HttpStatus(404 | 410)) if path.full() != path => {
            let full = path.full();
            let bytes = fetch.get(&full.to_string(), max);
            bytes
                .map(|bytes| (bytes, TILE_WIDTH))
                .map_err(|fault| LogFault::Fetch { path: full.to_string(), fault })
        }
        Err(fault) => Err(LogFault::Fetch { path: path.to_string(), fault }),
        Ok(bytes) => Ok((bytes, path.width())),
    }
}

/// Entries from one index up to a size of the log; drops further entries of the bundles.
fn entries_from(fetch: &mut dyn Fetch, from: u64, size: u64) -> Result<Vec<Vec<u8>>, LogFault> {
    let width = u64::from(TILE_WIDTH);
    let mut entries = Vec::new();
    let mut at = from - from % width;
    while let Some(path) = TilePath::entries_holding(at, size).filter(|_| at < size) {
        let (bytes, held) = tile(fetch, path, MAX_BUNDLE_BYTES)?;
        let bundle =
            decode_bundle(&bytes, held).map_err(|fault| LogFault::Tile { path: path.to_string(), fault })?;
        let before = usize::try_from(from.saturating_sub(at)).unwrap_or(usize::MAX);
        entries.extend(bundle.into_iter().take(path.width() as usize).skip(before).map(<[u8]>::to_vec));
        at += width;
    }
    Ok(entries)
}

/// The listing; tries the path of the directory first, then the file that a mirror keeps.
fn listing(fetch: &mut dyn Fetch) -> Result<Vec<u8>, LogFault> {
    match fetch.get(LISTING_PATH, MAX_LISTING_BYTES as u64) {
        Err(FetchFault::HttpStatus(status)) if listing_is_a_file(status) => {
            get(fetch, LISTING_FILE, MAX_LISTING_BYTES)
        }
        other => other.map_err(|fault| LogFault::Fetch { path: LISTING_PATH.to_owned(), fault }),
    }
}

struct Check<'a, 'f> {
    fetch: &'a mut Snapshot<'f>,
    config: &'a FollowerConfig,
    served: &'a ServedHead,
    now: u64,
}

impl Check<'_, '_> {
    fn run(mut self) -> Result<LogReport, LogFault> {
        let head = self.served.head.head().clone();
        let entries = entries_from(self.fetch, 0, head.seq)?;
        let (tree, tiles) = self.tiles(&entries)?;
        let replay = self.replay(&entries)?;
        let shards = self.shards(&replay, &head)?;
        let floors = replay
            .floors_document(&self.config.authority)
            .to_bytes()
            .map_err(|_| LogFault::HeadFloorsDiffer)?;
        if sha256(&floors) != head.floors {
            return Err(LogFault::HeadFloorsDiffer);
        }
        self.check_unanchored(&replay, tree, &floors)?;
        let pages = self.pages(&entries)?;
        self.needs_listing(&replay, pages)?;
        let documents = self.documents(&replay)?;
        let deltas = self.deltas(&entries)?;
        Ok(LogReport {
            size: head.seq,
            issued_at: head.issued_at,
            next_update: head.next_update,
            root: self.served.head.checkpoint().root,
            tiles,
            statements: head.seq,
            documents,
            shards,
            pages,
            deltas,
            floors: replay.floors().len(),
            root_threshold: self.served.anchors.threshold(),
            overrides: overrides(&entries, &replay, &self.config.prefix),
            entries,
        })
    }

    fn get(&mut self, path: &str, max: usize) -> Result<Vec<u8>, LogFault> {
        get(self.fetch, path, max)
    }

    /// Rebuilds the tree and compares every hash tile with the served one.
    fn tiles(&mut self, entries: &[Vec<u8>]) -> Result<(Tree, u64), LogFault> {
        let mut tree = Tree::new();
        let mut files: BTreeMap<TilePath, Vec<u8>> = BTreeMap::new();
        let built = tree
            .append(entries)
            .map_err(|fault| LogFault::Tile { path: "/tile/entries".to_owned(), fault })?;
        for file in built.into_iter().filter(|file| matches!(file.path, TilePath::Hashes { .. })) {
            files.insert(file.path, file.bytes);
        }
        if tree.root() != self.served.head.checkpoint().root {
            return Err(LogFault::TreeRoot);
        }
        let count = files.len() as u64;
        for (path, expected) in files {
            let (bytes, width) = tile(self.fetch, path, u64::from(TILE_WIDTH) * 32)?;
            let full = bytes.len() == width as usize * 32;
            if !full || bytes.get(..expected.len()) != Some(&expected) {
                return Err(LogFault::TileDiffers { path: path.to_string() });
            }
        }
        Ok((tree, count))
    }

    /// Replays every statement, verified by its key. Those of the root must be exactly the verified ones in the trust document, up to the
    /// head.
    fn replay(&mut self, entries: &[Vec<u8>]) -> Result<Replay, LogFault> {
        let mut replay = Replay::new();
        for (_, chain) in self.served.trust.chains() {
            replay.introduce(chain);
        }
        let mut root = Vec::new();
        for (index, bytes) in (0u64..).zip(entries) {
            let wrong = |fault: StatementFault| LogFault::Statement { index, fault };
            let entry = Entry::read(bytes, &self.config.prefix).map_err(wrong)?;
            match entry.unverified() {
                Statement::Root(_) => root.push(RootEntry::of(index, &entry)),
                _ => {
                    entry.verify(&self.served.trust, self.served.anchors.roots()).map(drop).map_err(wrong)?
                }
            }
            replay.apply(&entry).map_err(|fault| LogFault::Replay { index, fault })?;
        }
        let counted = self.served.head.head().root_statements;
        if root != self.served.rooted() || counted != root.len() as u64 {
            return Err(LogFault::RootDiffers);
        }
        Ok(replay)
    }

    /// Compares each recomputed list with the one that the head names. The served token must hold it and be signed by the head's key.
    fn shards(&mut self, replay: &Replay, head: &Head) -> Result<u64, LogFault> {
        let lists = replay.statuses().shards();
        if lists.len() != head.shards.len() {
            return Err(LogFault::Shard { n: lists.len() as u64 });
        }
        for (list, named) in lists.iter().zip(&head.shards) {
            let n = named.n;
            if list.sha256() != named.sha256 || list.entries != named.entries {
                return Err(LogFault::Shard { n });
            }
            let bytes = self.get(&format!("/v1/feed/shards/{}", named.hex()), MAX_TOKEN_BYTES)?;
            let token = token(n, bytes)?;
            token.verify(self.served.head.leaf()).map_err(|fault| LogFault::Token { n, fault })?;
            if token.list() != list.bytes.as_slice() {
                return Err(LogFault::Shard { n });
            }
        }
        Ok(lists.len() as u64)
    }

    /// Checks each published document, by digest, in log order: it may refer only to earlier publications.
    fn documents(&mut self, replay: &Replay) -> Result<u64, LogFault> {
        let mut in_order: Vec<(&ContextUrn, &Published)> = replay.contexts().collect();
        in_order.sort_by_key(|(_, published)| published.index);
        let mut before: HashMap<ContextUrn, Arc<Context>> = HashMap::new();
        for (urn, published) in &in_order {
            let context = self.document(urn, published, &before)?;
            before.insert((*urn).clone(), context);
        }
        Ok(in_order.len() as u64)
    }

    /// Checks one of them; its chain is judged at the time of its statement.
    fn document(
        &mut self,
        urn: &ContextUrn,
        published: &Published,
        before: &HashMap<ContextUrn, Arc<Context>>,
    ) -> Result<Arc<Context>, LogFault> {
        let path = format!("/v1/contexts/by-digest/{}", published.digest);
        let bytes = self.get(&path, MAX_SIGNED_BYTES)?;
        let (config, at, roots) = (self.config, published.logged_at, self.served.anchors.roots());
        let others = |urn: &ContextUrn| before.get(urn).cloned();
        let verified = verify_context_among(&bytes, roots, at, &config.prefix, &config.documents, &others);
        let signed = verified.map_err(|fault| match fault {
            ContextFault::Document(DocumentFault::ReferenceMissing { urn: other, .. }) => {
                LogFault::Reference { urn: urn.clone(), other }
            }
            fault => LogFault::Document { urn: urn.clone(), fault },
        })?;
        let same = signed.context().urn() == urn
            && *signed.context().digest() == published.digest
            && signed.signer() == published.signer;
        if !same || !self.is_so_named(urn, &bytes)? {
            return Err(LogFault::DocumentDiffers { urn: urn.clone() });
        }
        Ok(Arc::clone(signed.context()))
    }

    /// Returns true if the name leads to the same bytes as the digest.
    fn is_so_named(&mut self, urn: &ContextUrn, bytes: &[u8]) -> Result<bool, LogFault> {
        if !self.fetch.by_name() || urn.as_str().len() > LONGEST_NAME {
            return Ok(true);
        }
        Ok(self.get(&format!("/v1/contexts/{urn}"), MAX_SIGNED_BYTES)? == bytes)
    }
}

/// The overrides among verified entries.
fn overrides(entries: &[Vec<u8>], replay: &Replay, prefix: &Prefix) -> Vec<Overridden> {
    let mut overridden = Vec::new();
    for (index, bytes) in (0u64..).zip(entries) {
        let Ok(entry) = Entry::read(bytes, prefix) else { continue };
        let Statement::Override { by, permission } = entry.unverified() else { continue };
        let permission = permission.unverified();
        let published = replay.published(&permission.urn);
        overridden.push(Overridden {
            index,
            urn: permission.urn.clone(),
            published: published.is_some_and(|published| published.digest == permission.digest),
            by: by.as_str().to_owned(),
            name: permission.name.clone(),
            reason: permission.reason.clone(),
        });
    }
    overridden
}

/// A status token, with its signature not checked yet.
fn token(n: u64, bytes: Vec<u8>) -> Result<Token, LogFault> {
    let text = String::from_utf8(bytes).map_err(|_| LogFault::Shard { n })?;
    Token::read(&text).map_err(|fault| LogFault::Token { n, fault })
}
