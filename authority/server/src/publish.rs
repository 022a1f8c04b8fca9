//! The public state at one moment, swapped as a whole: head, checkpoint, shards, floors, trust, the edge of the log.
//!
//! Shards and floors are pure functions of the log prefix, so two heads of one size agree in everything but times and signatures.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use ring::rand::SecureRandom;
use semgate_certs::KeyFault;
use semgate_contexts::Digest;
use semgate_statement::status::{Changes, Shard};
use semgate_statement::token::{Claims, Token};
use semgate_statement::{
    Head, HeadParts, NamedShards, ShardRef, SignFault, SigningIdentity, StatusList, TreeHash, Trust,
};
use tokio::sync::OnceCell;

use crate::RunFault;
use crate::document::Document;
use crate::keys::Keys;
use crate::ledger::{Ledger, Overrides};
use crate::store::{Edge, LogState};

/// Deltas kept for one head: regular readers come from the same few heads before. 4 MiB at most.
const MAX_DELTAS: usize = 8;
/// Deltas made at once: each walks the remembered changes, and must leave processors to the heads.
pub(crate) const MAX_DELTAS_AT_ONCE: usize = 2;

/// A shard served by its digest: immutable bytes, signed on first request, since most are superseded before that.
#[derive(Debug)]
pub(crate) struct ServedShard {
    shard: Shard,
    hex: String,
    sub: String,
    iat: u64,
    token: OnceLock<Document>,
}

impl ServedShard {
    /// Its token, if it was signed before.
    pub fn signed(&self) -> Option<Document> {
        self.token.get().cloned()
    }

    /// Its token, signed now if it was not before.
    pub fn token(&self, feed: &SigningIdentity, random: &dyn SecureRandom) -> Result<Document, SignFault> {
        if let Some(token) = self.token.get() {
            return Ok(token.clone());
        }
        let claims = Claims { sub: self.sub.clone(), iat: self.iat, exp: None, ttl: None };
        let token = Document::new(Token::sign(&self.shard, &claims, feed, random)?);
        // Concurrent callers get the same signature.
        Ok(self.token.get_or_init(|| token).clone())
    }
}

/// A shard of the newest head, as stock readers fetch it by number: its token holds an expiry.
#[derive(Debug)]
pub(crate) struct NewestShard {
    pub shard: Arc<ServedShard>,
    token: OnceLock<Document>,
}

impl NewestShard {
    fn of(shard: &Arc<ServedShard>) -> Self {
        Self { shard: Arc::clone(shard), token: OnceLock::new() }
    }
}

/// Everything public at one size of the log under one head.
#[derive(Debug)]
pub(crate) struct Published {
    pub size: u64,
    pub root: TreeHash,
    pub issued_at: u64,
    pub next_update: u64,
    pub contexts: u64,
    pub floor_count: u64,
    pub head: Document,
    /// The head as an event of the stream, one copy for all followers.
    pub event: Bytes,
    pub checkpoint: Document,
    pub floors: Document,
    pub trust: Document,
    pub edge: Edge,
    pub shards: Vec<NewestShard>,
    /// Upper bound on the bytes of the whole listing.
    pub listing_bytes: usize,
    /// The listing, made once on first request.
    pub listing: OnceCell<Document>,
    /// The permissions of named persons.
    pub overrides: Arc<Overrides>,
    shards_by_hash: Arc<HashMap<String, Arc<ServedShard>>>,
    /// The newest changes of statuses.
    changes: Changes,
    /// The parts of the head for readers that know an earlier one, made on request.
    parts: OnceLock<Option<HeadParts>>,
    /// Deltas that were made, the oldest first.
    deltas: Mutex<VecDeque<(u64, Document)>>,
}

impl Published {
    /// The delta of [`Published::delta`], if it was made before and is still kept.
    pub fn made_delta(&self, from: u64) -> Option<Document> {
        let deltas = self.deltas.lock().unwrap_or_else(PoisonError::into_inner);
        deltas.iter().find(|(of, _)| *of == from).map(|(_, delta)| delta.clone())
    }

    /// The delta from a log of `from` entries to this head, under the name of the head; none if those changes are forgotten. Keeps the last
    /// [`MAX_DELTAS`].
    pub fn delta(&self, from: u64) -> Option<Document> {
        let delta = self.make_delta(from)?;
        let mut deltas = self.deltas.lock().unwrap_or_else(PoisonError::into_inner);
        if deltas.len() >= MAX_DELTAS {
            deltas.pop_front();
        }
        deltas.push_back((from, delta.clone()));
        Some(delta)
    }

    fn make_delta(&self, from: u64) -> Option<Document> {
        let changed = self.changes.after(from).filter(|_| from <= self.size)?;
        let parts = self.parts.get_or_init(|| HeadParts::of(&self.head.bytes).ok()).as_ref()?;
        let bytes = parts.delta(from, changed).ok()?.into();
        Some(Document { bytes, etag: self.head.etag.clone() })
    }

    /// The shard with this digest, if it is of this head or of a recent one.
    pub fn shard(&self, hex: &str) -> Option<&Arc<ServedShard>> {
        self.shards_by_hash.get(hex)
    }
}

/// Names and times in every head and token.
#[derive(Debug, Clone)]
pub(crate) struct HeadNames {
    pub authority: String,
    pub origin: String,
    /// Public URL without a final slash; the `sub` of tokens begins with it.
    pub public_url: String,
    /// Lifetime of a head, in seconds.
    pub lifetime: u64,
    /// Number of shards kept beside those of the newest head.
    pub kept_shards: usize,
}

/// Makes the public states, one head after the other.
pub(crate) struct Heads {
    names: HeadNames,
    issued_at: u64,
    /// Those of the newest head, in order.
    named: NamedShards,
    newest: Vec<Arc<ServedShard>>,
    /// Names of those of the heads before, oldest first.
    older: VecDeque<String>,
    shards_by_hash: Arc<HashMap<String, Arc<ServedShard>>>,
    floors: Option<(Option<u64>, Document)>,
    trust: Option<((usize, usize), Document)>,
}

impl Heads {
    /// A maker whose first head is not dated before the last one of the previous process.
    pub fn new(names: HeadNames, last_issued: u64) -> Self {
        Self {
            names,
            issued_at: last_issued,
            named: NamedShards::new(),
            newest: Vec::new(),
            older: VecDeque::new(),
            shards_by_hash: Arc::default(),
            floors: None,
            trust: None,
        }
    }

    /// Forgets everything made from entries that never reached the log: the next head comes from the log alone.
    pub fn forget(&mut self) {
        (self.floors, self.trust) = (None, None);
    }

    /// Switches to a new feed key, and drops every status token: tokens are signed by the key of the head.
    pub fn new_feed(&mut self) {
        self.named = NamedShards::new();
        self.newest.clear();
        self.older.clear();
        self.shards_by_hash = Arc::default();
    }

    /// Time at which the newest head was issued.
    pub fn issued_at(&self) -> u64 {
        self.issued_at
    }

    /// Makes the head of a log; its checkpoint may have cosignatures. Times never go back, whatever the clock does. Reuses unchanged parts,
    /// so the work is that of the changed shards, and of naming the others.
    pub fn make(
        &mut self,
        log: LogState<'_>,
        ledger: &Ledger,
        trust: &Trust,
        keys: &Keys,
        now: u64,
    ) -> Result<Published, RunFault> {
        let unmade =
            |fault: &dyn std::fmt::Display| RunFault::Stopped(format!("the head could not be made: {fault}"));
        let feed = keys.feed()?;
        let replay = ledger.replay();
        let issued_at = now.max(self.issued_at).max(replay.last_logged_at());
        let next_update = issued_at.saturating_add(self.names.lifetime);
        let floors = self.floors(ledger).map_err(|e| unmade(&e))?;
        self.take_shards(replay.statuses(), issued_at);
        let head = Head {
            authority: self.names.authority.clone(),
            origin: self.names.origin.clone(),
            seq: log.size,
            issued_at,
            next_update,
            checkpoint: log.checkpoint.to_owned(),
            shards: self.named.references().cloned().collect(),
            floors: *Digest::of(&floors.bytes).as_bytes(),
            root_statements: replay.root_statements(),
        };
        let head = head.sign(&feed.identity, &keys.random).map_err(|fault| match fault {
            SignFault::Key(fault @ KeyFault::Device(_)) => RunFault::Signer { role: "feed", fault },
            fault => unmade(&fault),
        })?;
        let head = Document::new(head);
        let trust = self.trust(trust).map_err(|e| unmade(&e))?;
        self.issued_at = issued_at;
        Ok(Published {
            size: log.size,
            root: log.root,
            issued_at,
            next_update,
            contexts: replay.published_count(),
            floor_count: replay.floors().len() as u64,
            event: event(log.size, &head),
            head,
            checkpoint: Document::new(log.checkpoint.to_owned()),
            floors,
            trust,
            edge: log.edge.clone(),
            shards: self.newest.iter().map(NewestShard::of).collect(),
            listing_bytes: ledger.listing_bytes(),
            listing: OnceCell::new(),
            overrides: Arc::clone(ledger.overrides()),
            shards_by_hash: Arc::clone(&self.shards_by_hash),
            changes: replay.changes().clone(),
            parts: OnceLock::new(),
            deltas: Mutex::default(),
        })
    }

    /// The floors document, rebuilt only after a floor statement.
    fn floors(&mut self, ledger: &Ledger) -> Result<Document, SignFault> {
        match &self.floors {
            Some((at, document)) if *at == ledger.last_floor() => Ok(document.clone()),
            _ => {
                let made = ledger.replay().floors_document(&self.names.authority).to_bytes()?;
                let document = Document::new(made);
                self.floors = Some((ledger.last_floor(), document.clone()));
                Ok(document)
            }
        }
    }

    /// Reuses unchanged shards, names changed ones, and forgets the oldest past the bound.
    fn take_shards(&mut self, list: &StatusList, iat: u64) {
        let changed = self.named.update(list);
        if changed.is_empty() && self.named.references().len() == self.newest.len() {
            return;
        }
        let mut by_hash = HashMap::clone(&self.shards_by_hash);
        self.newest.truncate(self.named.references().len());
        for shard in changed {
            let at = usize::try_from(shard.n).unwrap_or(usize::MAX);
            let hex = self.named.references().nth(at).map(ShardRef::hex).unwrap_or_default();
            // Two shards may hold the same list, and a lifted suspension brings an old one back: the same token serves both.
            let served = by_hash.entry(hex).or_insert_with_key(|hex| {
                let sub = format!("{}/v1/feed/shards/{hex}", self.names.public_url);
                Arc::new(ServedShard { shard, hex: hex.clone(), sub, iat, token: OnceLock::new() })
            });
            match self.newest.get_mut(at) {
                Some(before) => {
                    self.older.push_back(before.hex.clone());
                    *before = Arc::clone(served);
                }
                None => self.newest.push(Arc::clone(served)),
            }
        }
        while self.older.len() > self.names.kept_shards {
            let Some(oldest) = self.older.pop_front() else { break };
            if !self.older.contains(&oldest) && !self.newest.iter().any(|shard| shard.hex == oldest) {
                by_hash.remove(&oldest);
            }
        }
        self.shards_by_hash = Arc::new(by_hash);
    }

    fn trust(&mut self, trust: &Trust) -> Result<Document, SignFault> {
        // neither ever shrinks
        let count = (trust.chains().count(), trust.root().len());
        match &self.trust {
            Some((known, document)) if *known == count => Ok(document.clone()),
            _ => {
                let document = Document::new(trust.to_bytes()?);
                self.trust = Some((count, document.clone()));
                Ok(document)
            }
        }
    }
}

/// The head as server-sent event `head` (WHATWG HTML §9.2), with the size of the log as its id.
fn event(size: u64, head: &Document) -> Bytes {
    let mut text = format!("event: head\nid: {size}\n");
    for line in String::from_utf8_lossy(&head.bytes).lines() {
        text.push_str("data: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    text.into()
}

/// The same, if it was signed before.
pub(crate) fn signed_token(published: &Published, n: usize) -> Option<Document> {
    published.shards.get(n)?.token.get().cloned()
}

/// The token of a shard of the newest head for stock readers, signed on first request.
pub(crate) fn newest_token(
    published: &Published,
    n: usize,
    public_url: &str,
    feed: &SigningIdentity,
    random: &dyn SecureRandom,
) -> Option<Result<Document, SignFault>> {
    let newest = published.shards.get(n)?;
    if let Some(token) = newest.token.get() {
        return Some(Ok(token.clone()));
    }
    let claims = Claims {
        sub: format!("{public_url}/v1/feed/shards/{n}"),
        iat: published.issued_at,
        exp: Some(published.next_update),
        ttl: Some(published.next_update.saturating_sub(published.issued_at) / 2),
    };
    let signed = Token::sign(&newest.shard.shard, &claims, feed, random);
    Some(signed.map(|text| newest.token.get_or_init(|| Document::new(text)).clone()))
}
