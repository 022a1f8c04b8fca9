//! What ten million published versions with one per cent revoked cost: memory and rate of the fold, a head after one more statement, bytes for a
//! newcomer and for one day's delta beside what information theory asks for, and a status look-up.
//!
//!     cargo bench -p semgate-authority --bench scale
//!
//! `SEMGATE_BENCH_VERSIONS` changes the number. Nothing touches a disk.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use semgate_certs::Thumbprint;
use semgate_contexts::{ContextUrn, Digest, Line, Prefix, Version};
use semgate_statement::testing::{AUTHORITY, Keys, MemoryAuthority, ORIGIN, START};
use semgate_statement::token::{Claims, Token};
use semgate_statement::{
    Act, Delta, Entry, Head, HeadParts, NamedShards, Replay, ShardRef, SignedStatement, Statement,
    StatusList, Tree, Trust, View,
};

const LINES: u64 = 1000;
/// What one day brings, in thousandths of the versions that there are: ten thousand publications and a thousand revocations of ten million.
const DAY: (u64, u64) = (1, 10);

/// Numbers that look random, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 20) % bound
    }
}

fn main() {
    let benched = std::env::args().any(|word| word == "--bench");
    let told = std::env::var("SEMGATE_BENCH_VERSIONS").ok().map(|text| text.parse().unwrap());
    println!(
        "load of the machine before: {}",
        std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim()
    );
    let versions: u64 = told.unwrap_or(if benched { 10_000_000 } else { 200_000 });
    let keys = Keys::new(START);
    let mut log = Log::default();
    log.fill(versions);
    let mut heads = Heads { named: NamedShards::new(), keys: &keys };
    let revoked = versions / 100;
    heads.first(&log, versions, revoked);
    heads.one_more(&mut log);
    heads.day(&mut log, versions, revoked);
    look_up(&log);
    replay(&keys, if benched { 50_000 } else { 500 });
}

/// A log as what its statements amount to.
#[derive(Default)]
struct Log {
    replay: Replay,
    lines: Vec<Line>,
    dice: Option<Dice>,
}

impl Log {
    fn fill(&mut self, versions: u64) {
        self.lines = (0..LINES).map(|n| Line::parse(&format!("acme.industry{n}")).unwrap()).collect();
        let before = resident();
        let began = Instant::now();
        for n in 0..versions {
            self.publish(n);
        }
        let mut dice = Dice(7);
        let mut revoked = 0;
        while revoked < versions / 100 {
            revoked += u64::from(self.revoke(dice.below(versions)));
        }
        self.dice = Some(dice);
        let (took, statements) = (began.elapsed(), self.replay.size());
        println!(
            "{versions} versions of {LINES} lines, {revoked} revoked: {statements} statements folded at {:.0}/s; {} MB of memory, {} bytes a version",
            statements as f64 / took.as_secs_f64(),
            (resident() - before) >> 20,
            (resident() - before) / versions,
        );
    }

    fn urn(&self, n: u64) -> ContextUrn {
        let version = Version::new(u32::try_from(1 + n / LINES).unwrap(), 0);
        ContextUrn::new(&Prefix::default(), self.lines[(n % LINES) as usize].clone(), version)
    }

    fn publish(&mut self, n: u64) {
        let digest = Digest::of(&n.to_be_bytes());
        let statement = Statement::Publish { urn: self.urn(n), digest, signer: Thumbprint::of(b"signer") };
        self.replay.apply_statement(START, &statement).unwrap();
    }

    /// Whether it was not revoked before.
    fn revoke(&mut self, n: u64) -> bool {
        let urn = self.urn(n);
        let index = self.replay.published(&urn).unwrap().index;
        let statement = Statement::Change { act: Act::Revoke, urn, index, reason: "a bench".to_owned() };
        self.replay.apply_statement(START, &statement).is_ok()
    }
}

/// What is signed for a log.
struct Heads<'a> {
    named: NamedShards,
    keys: &'a Keys,
}

impl Heads<'_> {
    fn head(&self, log: &Log) -> Vec<u8> {
        let head = Head {
            root_statements: 0,
            authority: AUTHORITY.to_owned(),
            origin: ORIGIN.to_owned(),
            seq: log.replay.size(),
            issued_at: START,
            next_update: START + 600,
            checkpoint: self.keys.log.sign(log.replay.size(), Tree::new().root()).unwrap(),
            shards: self.named.references().cloned().collect(),
            floors: [0; 32],
        };
        head.sign(&self.keys.feed, &self.keys.random).unwrap()
    }

    /// What a reader of a log of `from` entries is told, and that it comes to the newest head by it.
    fn delta(&self, log: &Log, from: &(StatusList, Vec<ShardRef>), head: &[u8]) -> usize {
        let (list, shards) = from;
        let changed = log.replay.changes().after(list.len()).unwrap();
        let bytes = HeadParts::of(head).unwrap().delta(list.len(), changed).unwrap();
        let began = Instant::now();
        let applied = Delta::read(&bytes).unwrap().apply(shards, list, &self.keys.feed.chain).unwrap();
        println!(
            "a delta of {} bytes is read and put together to the head in {:.1?}",
            bytes.len(),
            began.elapsed()
        );
        assert_eq!(applied.head, head);
        bytes.len()
    }

    /// What a reader has of the log as it was last named.
    fn known(&self, log: &Log) -> (StatusList, Vec<ShardRef>) {
        (log.replay.statuses().clone(), self.named.references().cloned().collect())
    }

    /// Names what changed and signs head and tokens; answers their bytes and how many shards changed.
    fn renew(&mut self, log: &Log) -> (usize, usize, usize) {
        let changed = self.named.update(log.replay.statuses());
        let claims = |n: u64| Claims {
            sub: format!("https://{AUTHORITY}/v1/feed/shards/{n}"),
            iat: START,
            exp: None,
            ttl: None,
        };
        let token = |shard: &semgate_statement::status::Shard| {
            Token::sign(shard, &claims(shard.n), &self.keys.feed, &self.keys.random).unwrap().len()
        };
        (self.head(log).len(), changed.iter().map(token).sum(), changed.len())
    }

    fn first(&mut self, log: &Log, versions: u64, revoked: u64) {
        let began = Instant::now();
        let (head, shards, count) = self.renew(log);
        let bound = ln_choose(versions, revoked) / 8.0;
        println!(
            "the first head and all {count} shards made in {:.1?}; a newcomer fetches {} kB (head {} kB, shards {} kB); the bound is {:.0} kB: {:.1} times",
            began.elapsed(),
            (head + shards) >> 10,
            head >> 10,
            shards >> 10,
            bound / 1024.0,
            (head + shards) as f64 / bound,
        );
    }

    fn one_more(&mut self, log: &mut Log) {
        let mut took = Vec::new();
        let (mut bytes, mut delta) = (0, 0);
        for _ in 0..20 {
            let known = self.known(log);
            let mut dice = log.dice.take().unwrap();
            while !log.revoke(dice.below(1000)) {}
            log.dice = Some(dice);
            let began = Instant::now();
            let changed = self.named.update(log.replay.statuses());
            let signed = self.head(log);
            took.push(began.elapsed());
            let head = signed.len();
            delta = self.delta(log, &known, &signed);
            let claims = Claims { sub: String::new(), iat: START, exp: None, ttl: None };
            let token = |s| Token::sign(s, &claims, &self.keys.feed, &self.keys.random).unwrap().len();
            bytes = head + changed.iter().map(token).sum::<usize>();
        }
        took.sort_unstable();
        println!(
            "one more revocation: its head is made in {:.1?} (median of {}); a follower fetches {delta} bytes, without deltas {} kB",
            took[took.len() / 2],
            took.len(),
            bytes >> 10
        );
    }

    fn day(&mut self, log: &mut Log, versions: u64, revoked: u64) {
        let (published, more) = (versions * DAY.0 / 1000, versions / 1000 / DAY.1);
        let before = resident();
        let known = self.known(log);
        (0..published).for_each(|n| log.publish(versions + n));
        let mut dice = log.dice.take().unwrap();
        let mut done = 0;
        while done < more {
            done += u64::from(log.revoke(dice.below(versions)));
        }
        let (head, shards, count) = self.renew(log);
        let bound = ln_choose(versions - revoked, more) / 8.0;
        let delta = self.delta(log, &known, &self.head(log));
        println!(
            "one day as a delta: {delta} bytes; the bound is {bound:.0} bytes: {:.2} times",
            delta as f64 / bound
        );
        println!(
            "the same in whole lists, {published} published and {more} revoked: {count} shards changed, {} kB; the bound is {:.1} kB: {:.0} times; {} kB more memory",
            (head + shards) >> 10,
            bound / 1024.0,
            (head + shards) as f64 / bound,
            resident().saturating_sub(before) >> 10,
        );
    }
}

/// Bits that tell which `k` of `n` it is: log2 of n over k.
fn ln_choose(n: u64, k: u64) -> f64 {
    (0..k).map(|i| ((n - i) as f64 / (k - i) as f64).log2()).sum()
}

/// A status by index in the whole list, and a standing by name as a gateway asks for every message.
fn look_up(log: &Log) {
    let list = log.replay.statuses();
    let mut dice = Dice(11);
    let at: Vec<u64> = (0..1 << 20).map(|_| dice.below(list.len())).collect();
    let list = per(&at, |i| _ = black_box(list.get(black_box(*i))));
    let contexts = 10_000;
    let one = MemoryAuthority::new(START);
    let documents = (0..contexts).map(|n| {
        let document =
            MemoryAuthority::document(&format!("acme.industry{}:v{}.0", n % 100, 1 + n / 100), "thing");
        Arc::new(one.checked(&document))
    });
    let view = View::of_documents(documents);
    let urns: Vec<ContextUrn> = view.contexts().map(|loaded| loaded.urn.clone()).collect();
    // Parsed anew, as a gateway parses those of its messages: no text is shared with the view.
    let asked: Vec<ContextUrn> = (0..1 << 18)
        .map(|_| ContextUrn::parse(urns[dice.below(contexts) as usize].as_str(), &Prefix::default()).unwrap())
        .collect();
    let standing = per(&asked, |urn| _ = black_box(view.standing(black_box(urn), START)));
    println!(
        "a status by index in the list of all: {list:.0} ns; how one of {contexts} followed contexts stands, by name: {standing:.0} ns"
    );
}

/// Nanoseconds for each: the median of pieces that are short against what a scheduler gives, so that others' work is not counted.
fn per<T>(asked: &[T], work: impl Fn(&T)) -> f64 {
    asked.iter().for_each(&work);
    let mut pieces: Vec<f64> = (0..5)
        .flat_map(|_| asked.chunks_exact(2048))
        .map(|piece| {
            let began = Instant::now();
            piece.iter().for_each(&work);
            began.elapsed().as_secs_f64() * 1e9 / piece.len() as f64
        })
        .collect();
    pieces.sort_by(f64::total_cmp);
    pieces[pieces.len() / 2]
}

/// Signed entries as they lie in the log: read, folded and hashed as a start does it, and with every signature and chain verified.
fn replay(keys: &Keys, count: u64) {
    let log =
        Log { lines: (0..LINES).map(|n| Line::parse(&format!("l{n}")).unwrap()).collect(), ..Log::default() };
    let names: Vec<String> = (0..LINES).map(|n| format!("l{n}")).collect();
    let signer = keys.signer(&names.iter().take(8).map(String::as_str).collect::<Vec<_>>());
    let began = Instant::now();
    let entries: Vec<Vec<u8>> = (0..count)
        .map(|n| {
            let urn = ContextUrn::new(
                &Prefix::default(),
                log.lines[(n % 8) as usize].clone(),
                Version::new(n as u32, 0),
            );
            let digest = Digest::of(&n.to_be_bytes());
            let statement = Statement::Publish { urn, digest, signer: signer.thumbprint() };
            let signed = SignedStatement::sign(statement, &signer, &keys.random).unwrap();
            Entry::new(START, signed).unwrap().bytes().to_vec()
        })
        .collect();
    let signed = began.elapsed();
    let began = Instant::now();
    let (mut fold, mut tree) = (Replay::new(), Tree::new());
    for bundle in entries.chunks(256) {
        tree.append(bundle).unwrap();
        for bytes in bundle {
            fold.apply(&Entry::read(bytes, &Prefix::default()).unwrap()).unwrap();
        }
    }
    let replayed = began.elapsed();
    let mut trust = Trust::new(AUTHORITY);
    trust.insert(signer.chain.clone());
    let few = entries.len().min(5000);
    let began = Instant::now();
    for bytes in &entries[..few] {
        Entry::read(bytes, &Prefix::default()).unwrap().verify(&trust, &keys.roots).unwrap();
    }
    let verified = began.elapsed();
    let rate = |count: usize, took: Duration| count as f64 / took.as_secs_f64();
    println!(
        "entries signed at {:.0}/s; replayed as at a start at {:.0}/s; with every signature and chain verified at {:.0}/s; {} bytes an entry",
        rate(entries.len(), signed),
        rate(entries.len(), replayed),
        rate(few, verified),
        entries.iter().map(Vec::len).sum::<usize>() / entries.len(),
    );
}

/// Bytes of this process in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
