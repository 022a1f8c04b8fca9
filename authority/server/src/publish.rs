//! What is public at one moment, made and swapped as a whole: head, checkpoint, shards, floors, trust, the edge of the log.
//!
//! Shards and floors are pure functions of the log prefix, so two heads of one size agree in everything but times and signatures.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::HeaderValue;
use ring::rand::SecureRandom;
use semgate_contexts::Digest;
use semgate_statement::status::Shard;
use semgate_statement::token::{Claims, Token};
use semgate_statement::{Head, ShardRef, SignFault, SigningIdentity, TreeHash, Trust};

use crate::ledger::Ledger;
use crate::store::{Edge, Log};

/// Bytes that are served as they are, with a strong ETag.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub bytes: Bytes,
    pub etag: HeaderValue,
}

impl Document {
    /// Bytes with the ETag that is their digest.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let etag = format!("\"{}\"", Digest::of(&bytes).hex());
        let etag = HeaderValue::from_str(&etag).unwrap_or_else(|_| HeaderValue::from_static("\"\""));
        Self { bytes, etag }
    }
}

/// A shard as it is served by its digest: the same bytes for ever.
#[derive(Debug)]
pub(crate) struct ServedShard {
    pub shard: Shard,
    pub hex: String,
    pub token: Document,
}

/// A shard of the newest head, as stock readers fetch it by number: its token says until when.
#[derive(Debug)]
pub(crate) struct NewestShard {
    pub shard: Arc<ServedShard>,
    token: OnceLock<Document>,
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
    pub checkpoint: Document,
    pub floors: Document,
    pub trust: Document,
    pub edge: Edge,
    pub shards: Vec<NewestShard>,
    pub kept: Vec<Arc<ServedShard>>,
}

impl Published {
    /// The shard with this digest, if it is of this head or of a recent one.
    pub fn shard(&self, hex: &str) -> Option<&Arc<ServedShard>> {
        self.kept.iter().rev().find(|shard| shard.hex == hex)
    }
}

/// What goes into every head and token.
#[derive(Debug, Clone)]
pub(crate) struct HeadNames {
    pub authority: String,
    pub origin: String,
    /// Address without a final slash; the `sub` of tokens begins with it.
    pub public_url: String,
    /// Seconds that a head is good for.
    pub lifetime: u64,
    /// Shards kept beside those of the newest head.
    pub kept_shards: usize,
}

/// Makes what is public, one head after the other.
pub(crate) struct Heads {
    names: HeadNames,
    issued_at: u64,
    kept: VecDeque<Arc<ServedShard>>,
    trust: Option<(usize, Document)>,
}

impl Heads {
    /// A maker whose first head is not issued earlier than the last one of the process before.
    pub fn new(names: HeadNames, last_issued: u64) -> Self {
        Self { names, issued_at: last_issued, kept: VecDeque::new(), trust: None }
    }

    /// When the newest head was issued.
    pub fn issued_at(&self) -> u64 {
        self.issued_at
    }

    /// Makes the head of the log as it is, with its checkpoint as `note`, which may have cosignatures. Times never go back, whatever the clock does.
    pub fn make(
        &mut self,
        (log, note): (&Log, &str),
        ledger: &Ledger,
        trust: &Trust,
        feed: &SigningIdentity,
        random: &dyn SecureRandom,
        now: u64,
    ) -> Result<Published, SignFault> {
        let replay = ledger.replay();
        let issued_at = now.max(self.issued_at).max(replay.last_logged_at());
        let next_update = issued_at.saturating_add(self.names.lifetime);
        let floors = Document::new(replay.floors_document(&self.names.authority).to_bytes()?);
        let shards = self.shards(replay.statuses().shards(), feed, random, issued_at)?;
        let head = Head {
            authority: self.names.authority.clone(),
            origin: self.names.origin.clone(),
            seq: log.size(),
            issued_at,
            next_update,
            checkpoint: note.to_owned(),
            shards: shards.iter().map(|s| ShardRef::of(&s.shard)).collect(),
            floors: *Digest::of(&floors.bytes).as_bytes(),
        };
        let head = Document::new(head.sign(feed, random)?);
        let trust = self.trust(trust)?;
        self.issued_at = issued_at;
        Ok(Published {
            size: log.size(),
            root: log.root(),
            issued_at,
            next_update,
            contexts: replay.contexts().count() as u64,
            floor_count: replay.floors().len() as u64,
            head,
            checkpoint: Document::new(note.to_owned()),
            floors,
            trust,
            edge: log.edge().clone(),
            shards: shards.into_iter().map(|shard| NewestShard { shard, token: OnceLock::new() }).collect(),
            kept: self.kept.iter().cloned().collect(),
        })
    }

    /// Takes over what did not change, signs what did, and forgets the oldest past the bound.
    fn shards(
        &mut self,
        shards: Vec<Shard>,
        feed: &SigningIdentity,
        random: &dyn SecureRandom,
        iat: u64,
    ) -> Result<Vec<Arc<ServedShard>>, SignFault> {
        let mut out = Vec::with_capacity(shards.len());
        for shard in shards {
            if let Some(known) = self.kept.iter().rev().find(|k| k.shard == shard) {
                out.push(Arc::clone(known));
                continue;
            }
            let hex = ShardRef::of(&shard).hex();
            let sub = format!("{}/v1/feed/shards/{hex}", self.names.public_url);
            let token = Token::sign(&shard, &Claims { sub, iat, exp: None, ttl: None }, feed, random)?;
            let served = Arc::new(ServedShard { shard, hex, token: Document::new(token) });
            self.kept.push_back(Arc::clone(&served));
            out.push(served);
        }
        while self.kept.len() > self.names.kept_shards.saturating_add(out.len()) {
            let Some(oldest) = self.kept.pop_front() else { break };
            // A shard of the newest head stays, however long ago it changed.
            if out.iter().any(|s| Arc::ptr_eq(s, &oldest)) {
                self.kept.push_back(oldest);
            }
        }
        Ok(out)
    }

    fn trust(&mut self, trust: &Trust) -> Result<Document, SignFault> {
        let count = trust.chains().count();
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

/// The token of a shard of the newest head for stock readers, signed when first asked for.
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
