//! Killed at any moment (SIGKILL), no acknowledged statement is lost and the log is never forked.
//!
//! The test runs itself as the authority (`authority_of_the_kill_test`), publishes to it from many clients, kills it again and again,
//! and after every start holds what it serves against what an independent client saw before. `SEMGATE_KILLS` sets the number:
//!
//!     SEMGATE_KILLS=1000 cargo test -p semgate-authority --test integration kill::killed -- --nocapture

use crate::support;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use http::Method;
use semgate_authority::{Bound, Config, run, status};
use semgate_contexts::Prefix;
use semgate_statement::head::HeadRules;
use semgate_statement::tiles::{ProofFault, TilePath, Tree, check_consistency, decode_bundle};
use semgate_statement::{
    Act, Checkpoint, Entry, FollowerConfig, Replay, Statement, TreeHash, VerifiedHead, verify_log,
};
use support::*;

const CHILD: &str = "SEMGATE_KILL_TEST_DIR";
const PUBLISHERS: u64 = 24;

/// Not a test: the authority that the test below starts and kills. Without its variable it does nothing.
#[test]
fn authority_of_the_kill_test() {
    let Some(dir) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let config = Config::load(&dir.join("authority.toml")).unwrap();
    let ready = |bound: Bound| {
        std::fs::write(dir.join("bound.new"), bound.listen.to_string()).unwrap();
        std::fs::rename(dir.join("bound.new"), dir.join("bound")).unwrap();
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(run(config, Vec::new(), ready, std::future::pending())).unwrap();
}

/// The authority as a process, killed when this is dropped.
struct Victim(Child);

impl Victim {
    fn start(dir: &Path) -> Victim {
        let _ = std::fs::remove_file(dir.join("bound"));
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::authority_of_the_kill_test", "--nocapture", "--test-threads=1"])
            .env(CHILD, dir)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Victim(child)
    }

    /// Where it listens, once it does.
    async fn bound(&mut self, dir: &Path) -> std::net::SocketAddr {
        let began = Instant::now();
        loop {
            if let Ok(text) = std::fs::read_to_string(dir.join("bound")) {
                return text.parse().unwrap();
            }
            if let Some(status) = self.0.try_wait().unwrap() {
                panic!("the authority did not start again: {status}");
            }
            assert!(began.elapsed() < Duration::from_secs(60), "the authority does not start");
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Numbers that look random; printed seed, so that a failure can be played again as far as scheduling lets it.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// What somebody outside remembers: answers that were given, checkpoints that were seen.
#[derive(Default)]
struct Memory {
    /// Publish answers: log index → (URN, digest).
    published: BTreeMap<u64, (String, String)>,
    /// Act answers: log index → (URN, act).
    acts: BTreeMap<u64, (String, String)>,
    /// Root by size, of every checkpoint that was ever served.
    seen: BTreeMap<u64, TreeHash>,
}

impl Memory {
    fn saw(&mut self, checkpoint: &Checkpoint) {
        let root = *self.seen.entry(checkpoint.size).or_insert(checkpoint.root);
        assert_eq!(root, checkpoint.root, "two trees of size {}", checkpoint.size);
    }
}

/// Publishes one document after the other until the authority goes away.
async fn publisher(n: u64, client: Client, next: Arc<AtomicU64>, memory: Arc<Mutex<Memory>>) {
    let Ok(mut line) = client.connect().await else { return };
    loop {
        let version = next.fetch_add(1, Ordering::Relaxed);
        // Majors of their own: no version is compared with another.
        let urn = format!("urn:contexts:load{n}:v{}.0", version + 1);
        let asked = request(Method::POST, "/v1/contexts", Some("application/json"), &document(&urn, ""));
        let Ok(got) = send_on(&mut line, asked).await else { return };
        assert_eq!(got.status.as_u16(), 201, "{got:?}");
        let answer = got.json();
        let index = answer["index"].as_u64().unwrap();
        let told = (urn.clone(), answer["digest"].as_str().unwrap().to_owned());
        assert_eq!(
            memory.lock().unwrap().published.insert(index, told),
            None,
            "index {index} was given twice"
        );
        if version % 4 == 3 {
            let act = ["revoke", "suspend", "retire"][(version / 4 % 3) as usize];
            let path = format!("/v1/contexts/{urn}/{act}");
            let asked = request(Method::POST, &path, Some("application/json"), r#"{"reason":"under load"}"#);
            let Ok(got) = send_on(&mut line, asked).await else { return };
            assert_eq!(got.status.as_u16(), 201, "{got:?}");
            let index = got.json()["index"].as_u64().unwrap();
            assert_eq!(memory.lock().unwrap().acts.insert(index, (urn, act.to_owned())), None);
        }
    }
}

/// Looks at the checkpoint again and again until the authority goes away.
async fn watcher(client: Client, config: FollowerConfig, memory: Arc<Mutex<Memory>>) {
    let Ok(mut line) = client.connect().await else { return };
    while let Ok(got) = send_on(&mut line, request(Method::GET, "/checkpoint", None, "")).await {
        let checkpoint = Checkpoint::verify(&got.body, &config.log, &config.origin).unwrap();
        memory.lock().unwrap().saw(&checkpoint);
    }
}

/// The independent client: it keeps every entry that it ever fetched and builds the tree from them itself.
struct Auditor {
    config: FollowerConfig,
    entries: Vec<Vec<u8>>,
    roots: HashMap<u64, TreeHash>,
    tree: Tree,
    checked: u64,
    last: Option<Checkpoint>,
}

impl Auditor {
    /// Holds what is served now against everything that is remembered.
    async fn audit(&mut self, client: &Client, memory: &Mutex<Memory>, whole: bool) {
        let mut line = client.connect().await.unwrap();
        let head = send_on(&mut line, request(Method::GET, "/v1/feed/head", None, "")).await.unwrap();
        let rules = HeadRules {
            roots: &self.config.roots,
            authority: &self.config.authority,
            origin: &self.config.origin,
            log: &self.config.log,
        };
        let head = VerifiedHead::verify(&head.body, &rules, now()).unwrap();
        head.check_times(now(), 900).unwrap();
        let checkpoint = head.checkpoint().clone();
        self.fetch_entries(&mut line, checkpoint.size, if whole { 0 } else { self.entries.len() as u64 })
            .await;
        assert_eq!(self.tree.root(), checkpoint.root, "the entries do not hash to the root of the head");
        if let Some(last) = &self.last {
            consistent(&mut line, last, &checkpoint).await;
        }
        let mut memory = memory.lock().unwrap();
        memory.saw(&checkpoint);
        for (size, root) in &memory.seen {
            assert!(
                *size <= checkpoint.size,
                "a checkpoint of {size} was seen, now there are {}",
                checkpoint.size
            );
            assert_eq!(
                self.roots.get(size).copied().unwrap_or(TreeHash::EMPTY),
                *root,
                "the log was forked at {size}"
            );
        }
        let from = if whole { 0 } else { self.checked };
        for (index, (urn, digest)) in memory.published.range(from..) {
            match self.statement(*index) {
                Statement::Publish { urn: logged, digest: held, .. } => {
                    assert_eq!(
                        (logged.as_str(), held.to_string()),
                        (urn.as_str(), digest.clone()),
                        "index {index}"
                    );
                }
                other => panic!("index {index} was acknowledged for `{urn}` and holds {other:?}"),
            }
        }
        for (index, (urn, act)) in memory.acts.range(from..) {
            match self.statement(*index) {
                Statement::Change { urn: logged, act: held, .. } => {
                    assert_eq!(
                        (logged.as_str(), Some(held)),
                        (urn.as_str(), Act::parse(act)),
                        "index {index}"
                    );
                }
                other => panic!("index {index} was acknowledged for `{urn}` and holds {other:?}"),
            }
        }
        self.checked = checkpoint.size;
        self.last = Some(checkpoint);
    }

    /// Fetches the bundles from entry `from` on; what was fetched before must be the same bytes again.
    async fn fetch_entries(&mut self, line: &mut Line, size: u64, from: u64) {
        let mut at = from / 256 * 256;
        while let Some(path) = TilePath::entries_holding(at, size) {
            let got = send_on(line, request(Method::GET, &path.to_string(), None, "")).await.unwrap();
            assert_eq!(got.status.as_u16(), 200, "{path}");
            for entry in decode_bundle(&got.body, path.width()).unwrap() {
                match self.entries.get(at as usize) {
                    Some(known) => assert_eq!(known, entry, "entry {at} changed"),
                    None => {
                        self.entries.push(entry.to_vec());
                        self.tree.append(&[entry]).unwrap();
                        self.roots.insert(self.tree.size(), self.tree.root());
                    }
                }
                at += 1;
            }
        }
    }

    fn statement(&self, index: u64) -> Statement {
        let bytes =
            self.entries.get(index as usize).unwrap_or_else(|| panic!("acknowledged entry {index} is lost"));
        Entry::read(bytes, &Prefix::default()).unwrap().unverified().clone()
    }
}

/// The consistency proof, computed from hash tiles as a follower does.
async fn consistent(line: &mut Line, old: &Checkpoint, new: &Checkpoint) {
    let mut tiles: BTreeMap<TilePath, Vec<u8>> = BTreeMap::new();
    loop {
        match check_consistency(old.size, old.root, new.size, new.root, &tiles) {
            Ok(()) => return,
            Err(ProofFault::Missing(paths)) => {
                for path in paths {
                    let got = send_on(line, request(Method::GET, &path.to_string(), None, "")).await.unwrap();
                    assert_eq!(got.status.as_u16(), 200, "{path}");
                    assert_eq!(tiles.insert(path, got.body.to_vec()), None, "{path} has the wrong length");
                }
            }
            Err(fault) => panic!("{} -> {}: {fault}", old.size, new.size),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_again_and_again_under_load_nothing_acknowledged_is_lost_and_the_log_never_forks() {
    let kills: u64 = std::env::var("SEMGATE_KILLS").ok().map_or(25, |text| text.parse().unwrap());
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let place = Place::new();
    let dir = place.path().to_path_buf();
    let operator = Client::new(&dir, ([127, 0, 0, 1], 1).into(), Some(OPERATOR));
    let memory = Arc::new(Mutex::new(Memory::default()));
    let next = Arc::new(AtomicU64::new(0));
    let config = place.follower_config();
    let mut auditor = Auditor {
        config: config.clone(),
        entries: Vec::new(),
        roots: HashMap::new(),
        tree: Tree::new(),
        checked: 0,
        last: None,
    };
    for round in 0..kills {
        let mut victim = Victim::start(&dir);
        if dice.below(6) == 0 {
            // In the middle of its start, recovery included.
            tokio::time::sleep(Duration::from_millis(dice.below(120))).await;
            victim.kill();
            continue;
        }
        let client = operator.at(victim.bound(&dir).await);
        auditor.audit(&client, &memory, round % 20 == 0).await;
        let mut tasks: Vec<_> = (0..PUBLISHERS)
            .map(|n| tokio::spawn(publisher(n, client.clone(), Arc::clone(&next), Arc::clone(&memory))))
            .collect();
        tasks.push(tokio::spawn(watcher(client, config.clone(), Arc::clone(&memory))));
        if dice.below(6) > 0 {
            // Handshakes take a while in a debug build; most kills are to hit a log that is being written.
            let before = memory.lock().unwrap().published.len();
            let began = Instant::now();
            while memory.lock().unwrap().published.len() == before && began.elapsed() < Duration::from_secs(3)
            {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
        tokio::time::sleep(Duration::from_micros(dice.below(250_000))).await;
        victim.kill();
        for task in tasks {
            task.await.unwrap();
        }
    }
    let mut victim = Victim::start(&dir);
    let client = operator.at(victim.bound(&dir).await);
    auditor.audit(&client, &memory, true).await;
    let report = verify_log(&mut client.clone(), &config, now()).unwrap();
    victim.kill();
    let mut replay = Replay::new();
    for bytes in &auditor.entries {
        replay.apply(&Entry::read(bytes, &Prefix::default()).unwrap()).unwrap();
    }
    let offline = status(&place.whole_config()).unwrap();
    assert_eq!((report.size, offline.size), (replay.size(), replay.size()));
    assert_eq!((offline.missing_documents, offline.missing_certificates), (0, 0));
    let memory = memory.lock().unwrap();
    let acknowledged = memory.published.len() + memory.acts.len();
    println!(
        "{kills} kills, {acknowledged} acknowledged of {} entries, {} checkpoints seen",
        report.size,
        memory.seen.len()
    );
    assert!(acknowledged as u64 > kills, "there was no load");
}
