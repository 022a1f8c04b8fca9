//! A small authority in memory, for the tests of this crate and of those above it. Not part of the product: it panics where a test should
//! stop, signs anything, and can be told to lie.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use crate::checkpoint::LogKey;
use crate::context::sign_context;
use crate::delta::HeadParts;
use crate::entry::Entry;
use crate::follower::{Answer, FollowFault, Follower, FollowerConfig, Step};
use crate::head::{Head, ShardRef};
use crate::jws::{MultiJws, SigningIdentity};
use crate::listing::{PAGES, Page, Span};
use crate::recognition::{Recognition, ScopedLine};
use crate::replay::Replay;
use crate::root::{KeyList, RootAct, RootStatement};
use crate::sha256::sha256;
use crate::statement::{Act, SignedStatement, Statement};
use crate::tiles::{TilePath, Tree};
use crate::token::{Claims, Token};
use crate::trust::{RootEntry, Trust};
use crate::verify_log::{Fetch, FetchFault};
use ring::rand::SystemRandom;
use semgate_certs::encoding::to_hex;
use semgate_certs::{
    Chain, ChainLimits, Family, Issuer, IssuingProfile, KeyPair, LeafProfile, LineScope, RootProfile, Roots,
    Usage,
};
use semgate_contexts::{Context, ContextUrn, Digest, DocumentLimits, Line, Prefix, Version};
use std::collections::BTreeMap;
use std::sync::Arc;

pub const AUTHORITY: &str = "semgate.test";
pub const ORIGIN: &str = "semgate.test/log";
/// 2026-06-01T00:00:00Z.
pub const START: u64 = 1_780_272_000;

/// The keys of one authority.
pub struct Keys {
    pub roots: Roots,
    /// The root certificate itself.
    pub root: Chain,
    /// The same with its key.
    pub root_key: Issuer,
    pub contexts: Issuer,
    pub status: SigningIdentity,
    pub feed: SigningIdentity,
    pub log: LogKey,
    pub random: SystemRandom,
    /// First second of every certificate.
    pub since: u64,
}

impl Keys {
    pub fn new(since: u64) -> Keys {
        Keys::of(ORIGIN, since)
    }

    /// The keys of another log.
    pub fn of(origin: &str, since: u64) -> Keys {
        let random = SystemRandom::new();
        let key = || KeyPair::generate(&random).unwrap();
        let root = Issuer::root(&RootProfile::new("test root", since), key(), &random).unwrap();
        let issuing = IssuingProfile::new("test contexts", Family::Contexts, since);
        let contexts = root.issuing(&issuing, key(), &random).unwrap();
        let roots = Roots::from_der(root.chain().certificates().to_vec(), &ChainLimits::default()).unwrap();
        let role = |usage| {
            let profile = LeafProfile::role(usage, LineScope::All, since).lifetime(90 * 86_400);
            let key = key();
            let chain = contexts.leaf(&profile, key.public(), &random).unwrap();
            SigningIdentity::new(key, chain)
        };
        let (status, feed) = (role(Usage::Status), role(Usage::Feed));
        let log = LogKey::generate(origin, &random).unwrap();
        let chain = root.chain().clone();
        Keys { root: chain, root_key: root, roots, status, feed, log, contexts, random, since }
    }

    /// A new context signer for these lines.
    pub fn signer(&self, lines: &[&str]) -> SigningIdentity {
        let lines = lines.iter().map(|line| Line::parse(line).unwrap()).collect();
        let key = KeyPair::generate(&self.random).unwrap();
        let profile = LeafProfile::context(lines, self.since);
        let chain = self.contexts.leaf(&profile, key.public(), &self.random).unwrap();
        SigningIdentity::new(key, chain)
    }
}

/// An authority that answers from memory. Cloning it forks it: both have the same keys and past.
#[derive(Clone)]
pub struct MemoryAuthority {
    pub name: String,
    pub keys: Arc<Keys>,
    pub now: u64,
    /// Seconds that a head lives.
    pub lifetime: u64,
    pub tree: Tree,
    pub entries: Vec<Vec<u8>>,
    pub tiles: BTreeMap<TilePath, Vec<u8>>,
    pub replay: Replay,
    pub trust: Trust,
    pub documents: BTreeMap<Digest, Vec<u8>>,
    pub head: Head,
    pub signed_head: Vec<u8>,
    pub floors: Vec<u8>,
    pub shards: BTreeMap<String, Vec<u8>>,
    /// True if deltas are served.
    pub deltas: bool,
    /// The served pages of the listing.
    pub pages: Pages,
    /// Bytes of all bodies served.
    pub sent: usize,
    /// True if statements are logged without a new head, until [`MemoryAuthority::renew`].
    pub batch: bool,
    /// Lies: answers in place of the true ones.
    pub lies: BTreeMap<String, Answer>,
    /// Path prefixes whose requests break off without an answer.
    pub breaks: Vec<String>,
    /// Requested paths.
    pub requests: Vec<String>,
    /// Signs checkpoints in place of `keys.log`.
    pub new_log: Option<Arc<LogKey>>,
    /// Signs heads in place of `keys.feed`.
    pub new_feed: Option<Arc<SigningIdentity>>,
    signers: BTreeMap<Line, Arc<SigningIdentity>>,
    /// Published contexts: documents may refer to them.
    contexts: BTreeMap<ContextUrn, Arc<Context>>,
}

/// The served pages of the listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pages {
    /// None: as by an earlier version.
    #[default]
    None,
    /// Those with fixed beginnings: as by a mirror.
    Files,
    /// Every span.
    All,
}

/// Path prefix of deltas.
pub const DELTAS: &str = "/v1/feed/deltas/";

impl MemoryAuthority {
    /// An authority of new keys with an empty log and a first head.
    pub fn new(now: u64) -> MemoryAuthority {
        MemoryAuthority::named(AUTHORITY, ORIGIN, now)
    }

    /// An authority under another name.
    pub fn named(name: &str, origin: &str, now: u64) -> MemoryAuthority {
        let keys = Arc::new(Keys::of(origin, now - 3600));
        let mut trust = Trust::new(name);
        trust.insert(keys.status.chain.clone());
        let head = Head {
            authority: name.to_owned(),
            origin: origin.to_owned(),
            seq: 0,
            issued_at: now,
            next_update: now + 600,
            checkpoint: String::new(),
            shards: Vec::new(),
            floors: [0; 32],
            root_statements: 0,
        };
        let mut authority = MemoryAuthority {
            name: name.to_owned(),
            keys,
            now,
            lifetime: 600,
            tree: Tree::new(),
            entries: Vec::new(),
            tiles: BTreeMap::new(),
            replay: Replay::new(),
            trust,
            documents: BTreeMap::new(),
            head,
            signed_head: Vec::new(),
            floors: Vec::new(),
            shards: BTreeMap::new(),
            batch: false,
            deltas: false,
            pages: Pages::None,
            sent: 0,
            lies: BTreeMap::new(),
            breaks: Vec::new(),
            requests: Vec::new(),
            new_log: None,
            new_feed: None,
            signers: BTreeMap::new(),
            contexts: BTreeMap::new(),
        };
        authority.renew();
        authority
    }

    /// An authority with the whole shipped library published and the floor of `payment` at v1.1.
    pub fn with_library(now: u64) -> MemoryAuthority {
        let mut authority = MemoryAuthority::new(now);
        for (_, document) in semgate_contexts::library::all() {
            authority.publish(document);
        }
        authority.floor("payment", "v1.1");
        authority
    }

    pub fn context(document: &[u8]) -> Context {
        Context::check(document, &Prefix::default(), &DocumentLimits::default()).unwrap()
    }

    /// A document that may refer to the published ones.
    pub fn checked(&self, document: &[u8]) -> Context {
        let others = |urn: &ContextUrn| self.contexts.get(urn).cloned();
        Context::check_among(document, &Prefix::default(), &DocumentLimits::default(), &others).unwrap()
    }

    /// A small document of this name. Its one concept `pair` has a member of each of these concepts of published contexts.
    pub fn referring(&self, short: &str, to: &[(&str, &str)]) -> Vec<u8> {
        let members: serde_json::Map<String, serde_json::Value> = to
            .iter()
            .map(|(other, concept)| {
                let urn = MemoryAuthority::urn(other);
                let digest = self.contexts.get(&urn).unwrap().digest().to_string();
                let reference =
                    serde_json::json!({"$ref": format!("{urn}#/concepts/{concept}"), "x-digest": digest});
                (format!("of_{}", urn.line().as_str().replace('.', "_")), reference)
            })
            .collect();
        let document = serde_json::json!({
            "context": format!("urn:contexts:{short}"),
            "concepts": {"pair": {"type": "object", "properties": members}},
        });
        serde_json::to_vec(&document).unwrap()
    }

    /// Lets others refer to a document that is not published: only the lying authority in `testing` allows that.
    pub fn pretend(&mut self, document: &[u8]) -> Arc<Context> {
        let context = Arc::new(self.checked(document));
        self.contexts.insert(context.urn().clone(), Arc::clone(&context));
        context
    }

    /// A small document of this name, with one concept.
    pub fn document(short: &str, concept: &str) -> Vec<u8> {
        let schema = serde_json::json!({
            "type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}, "required": ["n"],
        });
        let document = serde_json::json!({
            "context": format!("urn:contexts:{short}"), "concepts": {concept: schema},
        });
        serde_json::to_vec(&document).unwrap()
    }

    pub fn urn(short: &str) -> ContextUrn {
        ContextUrn::parse_short(short, &Prefix::default()).unwrap()
    }

    pub fn signer(&mut self, line: &Line) -> Arc<SigningIdentity> {
        let keys = &self.keys;
        Arc::clone(
            self.signers.entry(line.clone()).or_insert_with(|| Arc::new(keys.signer(&[line.as_str()]))),
        )
    }

    /// Signs and publishes a document; returns its index and renews the head.
    pub fn publish(&mut self, document: &[u8]) -> u64 {
        let context = self.pretend(document);
        let signer = self.signer(context.urn().line());
        self.publish_by(&context, &signer, &signer)
    }

    /// Publishes a document with a signer for it and one for the statement.
    pub fn publish_by(&mut self, context: &Context, signer: &SigningIdentity, by: &SigningIdentity) -> u64 {
        let signed = sign_context(context, signer, &self.keys.random).unwrap();
        self.documents.insert(*context.digest(), signed);
        self.trust.insert(signer.chain.clone());
        self.replay.introduce(&signer.chain);
        let (urn, digest) = (context.urn().clone(), *context.digest());
        self.log(Statement::Publish { urn, digest, signer: signer.thumbprint() }, by)
    }

    pub fn change(&mut self, act: Act, short: &str) -> u64 {
        let urn = MemoryAuthority::urn(short);
        let index = self.replay.published(&urn).unwrap().index;
        let keys = Arc::clone(&self.keys);
        self.log(Statement::Change { act, urn, index, reason: "test".to_owned() }, &keys.status)
    }

    pub fn floor(&mut self, line: &str, min: &str) -> u64 {
        let keys = Arc::clone(&self.keys);
        let (line, min) = (Line::parse(line).unwrap(), Version::parse(min).unwrap());
        self.log(Statement::Floor { line, min, reason: "test".to_owned() }, &keys.status)
    }

    /// Appends any statement by any signer, replayed if possible, and renews the head.
    pub fn log(&mut self, statement: Statement, by: &SigningIdentity) -> u64 {
        self.trust.insert(by.chain.clone());
        self.replay.introduce(&by.chain);
        let signed = SignedStatement::sign(statement, by, &self.keys.random).unwrap();
        self.log_signed(signed)
    }

    /// Appends an act of the root, signed by its one key and by these.
    pub fn root(&mut self, act: RootAct, also: &[&Issuer]) -> u64 {
        let signed = self.signed_by_root(act, also);
        self.log_signed(signed)
    }

    /// The next statement of the root.
    pub fn signed_by_root(&self, act: RootAct, also: &[&Issuer]) -> SignedStatement {
        let number = self.replay.root_statements() + 1;
        let statement =
            RootStatement { authority: self.name.clone(), number, act, reason: "test".to_owned() };
        let payload = Statement::Root(Box::new(statement)).to_bytes().unwrap();
        let mut jws = MultiJws::draft(&payload, crate::statement::TYPE);
        for root in [&[&self.keys.root_key], also].concat() {
            jws.sign(root.key().as_ref(), &root.chain().thumbprint(), &self.keys.random).unwrap();
        }
        SignedStatement::of_root(jws, &Prefix::default()).unwrap()
    }

    /// A recognition of another authority for these lines, each with its floor, until then. Its heads count for ten minutes.
    pub fn recognition(
        &self,
        other: &MemoryAuthority,
        lines: &[(&str, Option<&str>)],
        until: u64,
    ) -> Recognition {
        let line = |name: &str| Line::parse(name).unwrap();
        let scoped = |(name, min): &(&str, Option<&str>)| ScopedLine {
            line: line(name),
            min: min.map(|min| Version::parse(min).unwrap()),
        };
        let names: Vec<Line> = lines.iter().map(|(name, _)| line(name)).collect();
        let issuing = other.keys.contexts.chain().certificates().first().unwrap();
        let cross = self.keys.root_key.cross(issuing, &names, until, &self.keys.random).unwrap();
        let lines = lines.iter().map(scoped).collect();
        Recognition::new(&other.name, &other.head.origin, lines, (600, until), vec![cross])
    }

    /// Logs a recognition, after a trust list if there is none yet; returns its index.
    pub fn recognise(&mut self, recognition: Recognition) -> u64 {
        if self.replay.root_statements() == 0 {
            self.root(RootAct::Keys(self.key_list()), &[]);
        }
        self.root(RootAct::Recognise(recognition), &[])
    }

    /// Withdraws the recognition in effect.
    pub fn withdraw(&mut self, recognised: &str) -> u64 {
        let (index, lines) = self.replay.recognition(recognised).unwrap();
        let (recognised, lines) = (recognised.to_owned(), lines.to_vec());
        let keys = Arc::clone(&self.keys);
        self.log(Statement::Withdraw { recognised, index, lines, reason: "test".to_owned() }, &keys.status)
    }

    /// The trust list of the current keys.
    pub fn key_list(&self) -> KeyList {
        KeyList::new(
            1,
            self.keys.root.certificates().to_vec(),
            vec![self.keys.contexts.chain().thumbprint()],
            vec![self.keys.log.verifier().to_string()],
        )
    }

    fn log_signed(&mut self, signed: SignedStatement) -> u64 {
        let possible = self.replay.check_by(self.now, signed.unverified(), signed.key()).is_ok();
        let entry = Entry::new(self.now, signed).unwrap();
        let index = self.tree.size();
        self.entries.push(entry.bytes().to_vec());
        for file in self.tree.append(&[entry.bytes()]).unwrap() {
            self.tiles.insert(file.path, file.bytes);
        }
        if possible {
            self.replay.apply(&entry).unwrap();
            if let Statement::Root(_) = entry.unverified() {
                let known = self.trust.root().to_vec();
                self.trust.set_root([known, vec![RootEntry::of(index, &entry)]].concat());
            }
        } else {
            // A lie in the log: the status list must still cover it.
            self.replay.skip_for_tests();
        }
        if !self.batch {
            self.renew();
        }
        index
    }

    /// Writes every tile of the log again, as one append.
    pub fn rebuild_tiles(&mut self) {
        let mut tree = Tree::new();
        for file in tree.append(&self.entries).unwrap() {
            self.tiles.insert(file.path, file.bytes);
        }
        assert_eq!(tree.root(), self.tree.root());
    }

    /// Makes a new head of the current state, issued now.
    pub fn renew(&mut self) {
        self.floors = self.replay.floors_document(&self.name).to_bytes().unwrap();
        let shards = self.replay.statuses().shards();
        self.shards.clear();
        for shard in &shards {
            let hex = to_hex(shard.sha256());
            let claims = Claims {
                sub: format!("https://{}/v1/feed/shards/{}", self.name, shard.n),
                iat: self.now,
                exp: None,
                ttl: None,
            };
            let feed = self.new_feed.as_deref().unwrap_or(&self.keys.feed);
            let token = Token::sign(shard, &claims, feed, &self.keys.random).unwrap();
            self.shards.insert(shard.n.to_string(), token.clone().into_bytes());
            self.shards.insert(hex, token.into_bytes());
        }
        self.head.seq = self.tree.size();
        self.head.issued_at = self.now;
        self.head.next_update = self.now + self.lifetime;
        let log = self.new_log.as_deref().unwrap_or(&self.keys.log);
        self.head.checkpoint = log.sign(self.tree.size(), self.tree.root()).unwrap();
        self.head.shards = shards.iter().map(ShardRef::of).collect();
        self.head.floors = sha256(&self.floors);
        self.head.root_statements = self.replay.root_statements();
        self.sign_head();
    }

    /// Signs `self.head` as it is, true or not.
    pub fn sign_head(&mut self) {
        let feed = self.new_feed.as_deref().unwrap_or(&self.keys.feed);
        self.signed_head = self.head.sign(feed, &self.keys.random).unwrap();
    }

    /// Serves this in place of the true answer.
    pub fn serve_instead(&mut self, path: &str, body: impl Into<Vec<u8>>) {
        self.lies.insert(path.to_owned(), Answer { status: 200, etag: None, body: body.into() });
    }

    /// The served answer of a path.
    pub fn get(&mut self, path: &str, if_none_match: Option<&str>) -> Answer {
        self.requests.push(path.to_owned());
        let answer = self.answer(path, if_none_match);
        self.sent += answer.body.len();
        answer
    }

    fn answer(&self, path: &str, if_none_match: Option<&str>) -> Answer {
        if let Some(lie) = self.lies.get(path) {
            return lie.clone();
        }
        let body = self.body(path);
        // the ETag of a delta is that of the head that it leads to, as at an authority
        let etag = body.as_ref().map(|body| {
            let named = if path.starts_with(DELTAS) { &self.signed_head } else { body };
            format!("\"{}\"", to_hex(sha256(named)))
        });
        match body {
            Some(_) if etag.as_deref() == if_none_match => Answer { status: 304, etag, body: Vec::new() },
            Some(body) => Answer { status: 200, etag, body },
            None => Answer { status: 404, etag: None, body: Vec::new() },
        }
    }

    /// The page of a span, if the log has it.
    pub fn page(&self, span: Span) -> Option<Page> {
        let at = |index: u64| usize::try_from(index).unwrap();
        let entries = self.entries.get(at(span.first())..at(span.end()))?;
        Page::of(span, entries.iter().map(Vec::as_slice), &Prefix::default()).ok()
    }

    fn body(&self, path: &str) -> Option<Vec<u8>> {
        if let Some(span) = path.strip_prefix(PAGES) {
            let span = Span::parse(span)?;
            let served = match self.pages {
                Pages::None => false,
                Pages::Files => Span::pages(self.tree.size()).any(|page| page == span),
                Pages::All => true,
            };
            return self.page(span).filter(|_| served)?.to_bytes().ok();
        }
        if let Some(name) = path.strip_prefix("/v1/feed/shards/") {
            return self.shards.get(name).cloned();
        }
        if let Some(from) = path.strip_prefix(DELTAS).filter(|_| self.deltas) {
            let from = from.parse().unwrap();
            let changed = self.replay.changes().after(from)?;
            return HeadParts::of(&self.signed_head).unwrap().delta(from, changed).ok();
        }
        if let Some(digest) = path.strip_prefix("/v1/contexts/by-digest/") {
            return self.documents.get(&Digest::parse(digest).ok()?).cloned();
        }
        if let Some(urn) = path.strip_prefix("/v1/contexts/") {
            let urn = ContextUrn::parse(urn, &Prefix::default()).ok()?;
            return self.documents.get(&self.replay.published(&urn)?.digest).cloned();
        }
        match path {
            "/v1/feed/head" => Some(self.signed_head.clone()),
            "/v1/floors" => Some(self.floors.clone()),
            "/v1/contexts" => Some(self.replay.listing().to_bytes().unwrap()),
            "/v1/trust" => Some(self.trust.to_bytes().unwrap()),
            "/checkpoint" => Some(self.head.checkpoint.clone().into_bytes()),
            tile => self.tiles.get(&TilePath::parse(tile).ok()?).cloned(),
        }
    }

    /// The configuration of a follower of this authority.
    pub fn config(&self) -> FollowerConfig {
        let (roots, log) = (self.keys.roots.clone(), self.keys.log.verifier().clone());
        FollowerConfig::new(&self.name, &self.head.origin, roots, log)
    }

    /// Runs one round of a follower at `self.now`; returns the fault that ended it, if any.
    pub fn follow(&mut self, follower: &mut Follower) -> Result<(), FollowFault> {
        follower.hint();
        let mut now = self.now;
        // After a fault, hints wait for the backoff.
        if let Step::Idle { until } = follower.next(now) {
            now = until;
        }
        for _ in 0..100_000 {
            match follower.next(now) {
                Step::Idle { .. } => return Ok(()),
                Step::Get(request) if self.breaks.iter().any(|start| request.path.starts_with(start)) => {
                    self.requests.push(request.path.clone());
                    follower.unreachable(&request.path, now)?;
                }
                Step::Get(request) => {
                    let answer = self.get(&request.path, request.if_none_match.as_deref());
                    follower.answer(&request.path, answer, now)?;
                }
            }
        }
        panic!("the follower never comes to rest");
    }

    /// A follower without memory that has followed once.
    pub fn follower(&mut self) -> Follower {
        let mut follower = Follower::without_memory(self.config());
        self.follow(&mut follower).unwrap();
        follower
    }
}

impl Fetch for MemoryAuthority {
    fn get(&mut self, path: &str, max_bytes: u64) -> Result<Vec<u8>, FetchFault> {
        let answer = MemoryAuthority::get(self, path, None);
        match answer.status {
            200 if answer.body.len() as u64 <= max_bytes => Ok(answer.body),
            200 => Err(FetchFault::TooLarge),
            status => Err(FetchFault::HttpStatus(status)),
        }
    }
}
