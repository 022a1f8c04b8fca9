//! Killed at any moment (SIGKILL), under load, with or without its authority: a gateway loses nothing that it acknowledged, and lets nothing
//! revoked pass again.
//!
//! `SEMGATE_KILLS` sets the number of kills, and `SEMGATE_SEED` plays a run again as far as scheduling lets it:
//!
//!     SEMGATE_KILLS=1000 cargo test --release -p semgate --test soak kills:: -- --nocapture

use crate::agent;
use crate::support;
use crate::versions;

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Seek, SeekFrom, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use agent::{EXTENSION, Ledger, decision};
use serde_json::{Value, json};
use support::gateway::Gateway;
use support::policies::under;
use support::{Answer, PATIENCE, Up, plain_get, wait_for};

/// The callers, by the name of their lane: two of native L8 and two of A2A.
const LANES: [&str; 4] = ["l8a", "l8b", "a2aa", "a2ab"];
/// The longest time before a kill, in milliseconds.
const LIFE: u64 = 900;
/// The age of an acknowledged message whose record a kill may still take, where the machine is busy. The page on operation says two
/// milliseconds for a thread that gets its core.
const LATE: Duration = Duration::from_secs(1);
/// The revoked versions that are tried after each start: the newest, since those are the ones that the kill was close to.
const TRIED: usize = 8;

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn seeded() -> Self {
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        let seed = std::env::var("SEMGATE_SEED").ok().map_or_else(now, |text| text.parse().unwrap());
        println!("SEMGATE_SEED={seed}");
        Self(seed)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A message that was answered 200.
struct Passed {
    number: usize,
    decision: String,
    at: Instant,
}

/// A gateway before an agent that counts, and the memory of who looks at both from outside.
struct Scene {
    dir: PathBuf,
    up: Option<Up>,
    gateway: Gateway,
    ledger: Arc<Ledger>,
    /// The next number of each lane.
    next: [AtomicUsize; 4],
    /// How often a message of each revoked version had arrived when the first was refused.
    revoked: BTreeMap<usize, u8>,
    /// Bytes of the audit that were read.
    read: u64,
    counts: Counts,
}

/// The sums that the test prints.
#[derive(Default)]
struct Counts {
    gateways: usize,
    authorities: usize,
    passed: usize,
    /// Acknowledged messages without both records, each among the last before a kill.
    unrecorded: usize,
    /// The greatest age of one of them at the kill.
    oldest: Duration,
    refused: usize,
    /// Records that a kill cut short.
    cut: usize,
}

impl Scene {
    fn start(dir: &Path) -> Self {
        let (up, ledger) = (Up::start_in(dir), Arc::new(Ledger::default()));
        let upstream = agent::steady(&ledger);
        let limits = "[limits]\nrate_per_second = 1000000\nrate_burst = 1000000\n";
        let gateway = Gateway::before(&up, upstream, limits);
        let (next, counts) = (LANES.map(|_| AtomicUsize::new(0)), Counts::default());
        let (dir, revoked) = (dir.to_path_buf(), BTreeMap::new());
        Self { dir, up: Some(up), gateway, ledger, next, revoked, read: 0, counts }
    }

    /// Sends on every lane until the gateway is killed, which `then` does. Returns what passed, by lane, and when the kill began.
    fn under_load(&mut self, then: impl FnOnce(&mut Self)) -> ([Vec<Passed>; 4], Instant) {
        let (l8, a2a) = (self.gateway.l8, self.gateway.a2a);
        let first = LANES.map(|_| AtomicUsize::new(0));
        let next = std::mem::replace(&mut self.next, first);
        let (passed, killed) = std::thread::scope(|scope| {
            let callers = [0, 1, 2, 3].map(|lane| {
                let (name, next) = (LANES[lane], &next[lane]);
                scope.spawn(move || talk(if lane < 2 { l8 } else { a2a }, name, next))
            });
            then(self);
            let killed = Instant::now();
            self.gateway.kill();
            (callers.map(|caller| caller.join().unwrap()), killed)
        });
        self.next = next;
        self.counts.gateways += 1;
        self.counts.passed += passed.iter().map(Vec::len).sum::<usize>();
        (passed, killed)
    }

    /// Publishes a version, sees it pass, and revokes it. `wait` says to see it refused too; if not, the gateway may not know of it.
    fn revoke_one(&mut self, wait: bool) -> usize {
        let (number, up) = (self.revoked.len() + 1, self.up.as_ref().unwrap());
        let version = format!("v1.{number}");
        versions::publish(up, &version);
        wait_for("the new version to pass", || (self.send(number) == "passed").then_some(()));
        versions::revoke(up, &version);
        if wait {
            self.see_refused(number);
        }
        number
    }

    /// Waits until a revocation counts.
    fn see_refused(&mut self, number: usize) {
        wait_for("the revocation to count", || (self.send(number) == "context_revoked").then_some(()));
        self.revoked.insert(number, self.ledger.arrivals("old", number));
    }

    /// The code of the refusal of a message under a version, or `passed`.
    fn send(&self, number: usize) -> String {
        let message = under(&format!("supplyChain:v1.{number}"), &decision());
        let answer = self.gateway.post(&message.replace("\"m-1\"", &format!("\"old.{number}\"")));
        if answer.status == 200 { "passed".to_owned() } else { answer.code() }
    }

    /// Tries the newest revoked versions: each is refused with one of these codes, and none arrives.
    fn probe(&mut self, codes: &[&str]) {
        for (number, arrivals) in self.revoked.clone().into_iter().rev().take(TRIED) {
            let code = self.send(number);
            assert!(codes.contains(&code.as_str()), "v1.{number}: {code}");
            assert_eq!(
                self.ledger.arrivals("old", number),
                arrivals,
                "v1.{number} passed after its revocation"
            );
            self.counts.refused += 1;
        }
    }

    /// Ends the authority as a crash does.
    fn kill_authority(&mut self) {
        self.up.take().unwrap().kill();
        self.counts.authorities += 1;
    }

    /// Starts what was killed. Without an authority nothing revoked passes; with it the gateway becomes ready.
    fn start_again(&mut self) {
        self.gateway.start_again();
        if self.up.is_none() {
            self.probe(&["context_revoked", "status_stale"]);
            self.up = Some(Up::start_in(&self.dir));
        }
        let admin = self.gateway.admin;
        wait_for("the gateway to be ready", || {
            TcpStream::connect(admin).ok()?;
            (plain_get(&format!("http://{admin}/readyz")).status == 200).then_some(())
        });
        self.probe(&["context_revoked"]);
    }

    /// Holds what passed before a kill against what the agent received and the audit says.
    fn hold(&mut self, passed: &[Vec<Passed>; 4], killed: Instant) {
        let records = self.records();
        for (name, passed) in LANES.iter().zip(passed) {
            let arrivals = self.ledger.lane(name);
            for one in passed {
                assert_eq!(arrivals.get(one.number), Some(&1), "{name} {} is acknowledged", one.number);
            }
            assert!(arrivals.iter().all(|times| *times <= 1), "{name}: delivered twice");
            // records are written in order, so that a kill takes the last ones only
            let whole = |one: &Passed| records.get(&one.decision).copied() == Some([true, true]);
            let kept = passed.iter().take_while(|one| whole(one)).count();
            for one in &passed[kept..] {
                let age = killed.saturating_duration_since(one.at);
                assert!(!whole(one), "{name} {}: a record before it is missing", one.number);
                assert!(
                    age < LATE,
                    "{name} {}: acknowledged {age:?} before the kill, not recorded",
                    one.number
                );
                self.counts.unrecorded += 1;
                self.counts.oldest = self.counts.oldest.max(age);
            }
        }
    }

    /// The records since the last look, by decision: of the request, and of the reply, that passed. Every line is whole.
    fn records(&mut self) -> HashMap<String, [bool; 2]> {
        let mut file = std::fs::File::open(&self.gateway.audit).unwrap();
        file.seek(SeekFrom::Start(self.read)).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        self.read += whole as u64;
        let mut records: HashMap<String, [bool; 2]> = HashMap::new();
        for line in text[..whole].lines() {
            // a kill may cut the last line short
            let Ok(record) = serde_json::from_str::<Value>(line) else {
                assert!(line.matches("{\"time\":").count() < 2, "a cut line took the next record: {line}");
                self.counts.cut += 1;
                continue;
            };
            if record["verdict"] == "allowed" {
                let id = record["decision_id"].as_str().unwrap().to_owned();
                records.entry(id).or_default()[usize::from(record["direction"] == "reply")] = true;
            }
        }
        records
    }
}

/// Sends numbered messages on one connection until it is gone.
fn talk(to: SocketAddr, lane: &str, next: &AtomicUsize) -> Vec<Passed> {
    let mut passed = Vec::new();
    let Ok(mut stream) = TcpStream::connect(to) else { return passed };
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let body = message(lane, &format!("{lane}.{number}")).to_string();
        let head = format!(
            "POST / HTTP/1.1\r\nhost: {to}\r\ncontent-type: application/json\r\na2a-version: 1.0\r\n"
        );
        let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        if stream.write_all(request.as_bytes()).is_err() {
            return passed;
        }
        let answer = Answer::read(&mut stream);
        if answer.status == 0 {
            return passed;
        }
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        let decision = answer.header("semgate-decision").unwrap();
        passed.push(Passed { number, decision, at: Instant::now() });
    }
}

fn message(lane: &str, id: &str) -> Value {
    if lane.starts_with("l8") {
        let message = under("supplyChain:v1.0", &decision());
        return serde_json::from_str(&message.replace("\"m-1\"", &format!("\"{id}\""))).unwrap();
    }
    let claim = json!({"context": "urn:contexts:supplyChain:v1.0"});
    let message = json!({"messageId": id, "role": "ROLE_USER", "metadata": {EXTENSION: claim}, "parts": [{"data": decision()}]});
    json!({"jsonrpc": "2.0", "id": id, "method": "SendMessage", "params": {"message": message}})
}

#[test]
fn killed_again_and_again_under_load_nothing_acknowledged_is_lost_and_nothing_revoked_passes() {
    let _one = crate::ONE_AT_A_TIME.lock();
    let kills: usize = std::env::var("SEMGATE_KILLS").ok().map_or(5, |text| text.parse().unwrap());
    let mut dice = Dice::seeded();
    let temporary = tempfile::tempdir().unwrap();
    let mut scene = Scene::start(&temporary.path().join("up"));
    let began = Instant::now();
    for round in 0..kills {
        let (revokes, authority) = (dice.below(3), dice.below(4));
        let mut unseen = None;
        let (passed, killed) = scene.under_load(|scene| {
            if authority == 0 {
                // the gateway goes on without it
                scene.kill_authority();
                std::thread::sleep(Duration::from_millis(dice.below(LIFE)));
                scene.up = Some(Up::start_in(&scene.dir));
            }
            match revokes {
                // the kill comes close to the moment in which the revocation begins to count
                0 => drop(scene.revoke_one(true)),
                // the kill comes close to the acknowledgement of the authority
                1 if round % 2 == 0 => unseen = Some(scene.revoke_one(false)),
                _ => {}
            }
            let most = if revokes < 2 && dice.below(2) == 0 { 10 } else { LIFE };
            std::thread::sleep(Duration::from_millis(dice.below(most)));
            if authority == 1 {
                scene.kill_authority();
            }
        });
        scene.start_again();
        if let Some(number) = unseen {
            scene.see_refused(number);
        }
        scene.hold(&passed, killed);
        if round % 20 == 19 {
            println!("{} kills after {} s", round + 1, began.elapsed().as_secs());
        }
    }
    end(&scene, kills);
}

/// Looks at the log of the authority once more, and prints the sums.
fn end(scene: &Scene, kills: usize) {
    let up = scene.up.as_ref().unwrap();
    versions::good(&up.semgate(&["log", "verify", up.text("/authority_url")]));
    let listed: Value = serde_json::from_slice(&up.semgate(&["--json", "context", "list"]).stdout).unwrap();
    let all = listed["contexts"].as_array().unwrap();
    for number in scene.revoked.keys() {
        let urn = format!("urn:contexts:supplyChain:v1.{number}");
        let shown = all.iter().find(|context| context["urn"] == urn).unwrap();
        assert_eq!(shown["status"], "invalid", "{urn}");
    }
    let counts = &scene.counts;
    println!(
        "{} kills of the gateway and {} of the authority; {} messages acknowledged, each delivered once, {} of them without a record, acknowledged at most {:?} before the kill; {} records cut short; {} revoked versions, {} messages of them refused",
        counts.gateways,
        counts.authorities,
        counts.passed,
        counts.unrecorded,
        counts.oldest,
        counts.cut,
        scene.revoked.len(),
        counts.refused
    );
    assert_eq!(counts.gateways, kills);
    assert!(counts.passed > kills, "there was no load");
}
