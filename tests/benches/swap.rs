//! What callers wait while a set of 10,000 policies is loaded and swapped under their messages: the worst and the 99.9th percentile of the whole
//! round trip, beside a quiet time of the same length, in one run over plain HTTP/1.1 keep-alive on loopback. Before that, how long the machine itself
//! takes a core away from threads that do nothing but look at the clock, while nothing else runs: no round trip can be promised to take less. Of each time
//! it says also what the host took of the cores of a virtual machine, which is most while both are busy.
//!
//!     cargo bench -p semgate --bench swap
//!
//! Callers send at a steady rate that leaves the cores half idle, so that what is seen is waiting and not saturation. `SEMGATE_SWAP_POLICIES` and
//! `SEMGATE_SWAP_AGENTS` change the size of the set.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../support/mod.rs"]
mod support;

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::gateway::Scripted;
use support::policies::{REPLY, digest_of, gateway, message, permit, replies, revision, shown_live, turn};
use support::{Answer, Up};

const CALLERS: usize = 2;
/// Between two messages of one caller: a thousand messages a second from both.
const PACE: Duration = Duration::from_millis(2);
const SWAPS: usize = 4;
/// Above this a round trip is counted: what no message is meant to wait for a swap.
const MEANT: Duration = Duration::from_millis(5);
/// Policies of one file: well below the largest file that is read.
const IN_A_FILE: usize = 2_000;

fn main() {
    let benched = std::env::args().any(|word| word == "--bench");
    let number = |name: &str, small: usize| {
        let told = std::env::var(name).ok().map(|text| text.parse().unwrap());
        told.unwrap_or(if benched { 10_000 } else { small })
    };
    let (policies, agents) = (number("SEMGATE_SWAP_POLICIES", 20), number("SEMGATE_SWAP_AGENTS", 20));
    alone(Duration::from_secs(if benched { 20 } else { 1 }));
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let sets = [large(&up, "a", policies, agents), large(&up, "b", policies, agents)];
    let link = up.dir.join("current");
    turn(&link, &sets[0]);
    let limits = "[limits]\npolicy_poll = \"50ms\"\npolicy_settle = \"10ms\"\nrate_per_second = 1000000\nrate_burst = 1000000\npolicies = 20000\n";
    let gateway = gateway(&up, &behind, limits);
    let body = message(&json!({"concept": "current_decision", "item_id": "beer", "quantity": 120}));
    println!("{policies} policies, {agents} agents, {CALLERS} callers, a message every {PACE:?} each");
    // the first messages of a gateway make what it keeps for the others
    let callers = Callers::start(gateway.l8, &body);
    std::thread::sleep(Duration::from_secs(1));
    println!("at first {}", callers.end());
    for n in 1..=SWAPS {
        let target = &sets[n % 2];
        let digest = digest_of(target);
        let began = Instant::now();
        let callers = Callers::start(gateway.l8, &body);
        turn(&link, target);
        while shown_live(&gateway) != [digest.clone()] {
            std::thread::sleep(Duration::from_millis(20));
            assert!(began.elapsed() < Duration::from_secs(600), "the set never went live");
        }
        // the old one is taken apart within the next upkeep
        std::thread::sleep(Duration::from_secs(6));
        let took = began.elapsed();
        let swapped = callers.end();
        let callers = Callers::start(gateway.l8, &body);
        std::thread::sleep(took);
        let quiet = callers.end();
        println!(
            "swap {n}: live within {:.1?}; waits while swapping {swapped}; quiet {quiet}",
            took - Duration::from_secs(6)
        );
    }
}

/// As many permits, each of another agent, beside those that let the callers speak.
fn large(up: &Up, name: &str, policies: usize, agents: usize) -> PathBuf {
    let mut files = vec![("callers.cedar", permit(name, "current_decision")), replies()];
    let mut texts = vec![String::new(); policies.div_ceil(IN_A_FILE)];
    for n in 0..policies {
        let agent = n % agents;
        writeln!(
            texts[n / IN_A_FILE],
            "permit (principal == Agent::\"spiffe://semgate.test/bench/{agent}\", action, resource is supplyChain::current_decision)\nwhen {{ resource.quantity <= {n} && context.major >= 1 }};"
        )
        .unwrap();
    }
    let names: Vec<String> = (0..texts.len()).map(|n| format!("large-{n}.cedar")).collect();
    files.extend(names.iter().map(String::as_str).zip(texts));
    let directory = revision(up, name, &files);
    with_agents(&directory, agents);
    directory
}

fn with_agents(directory: &Path, agents: usize) {
    let file = directory.join("entities.json");
    let mut entities: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let list = entities["agents"].as_array_mut().unwrap();
    list.extend(
        (0..agents).map(
            |n| json!({"id": format!("spiffe://semgate.test/bench/{n}"), "groups": [], "credentials": []}),
        ),
    );
    std::fs::write(file, entities.to_string()).unwrap();
}

/// The longest that a thread on each core was kept from looking at the clock.
fn alone(time: Duration) {
    let cores = std::thread::available_parallelism().unwrap().get();
    let look = move |_| {
        std::thread::spawn(move || {
            let (end, mut gaps, mut last) = (Instant::now() + time, Vec::new(), Instant::now());
            while last < end {
                let now = Instant::now();
                if now - last > Duration::from_millis(1) {
                    gaps.push(now - last);
                }
                last = now;
            }
            gaps
        })
    };
    let threads: Vec<_> = (0..cores).map(look).collect();
    let mut gaps: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    gaps.sort_unstable();
    let (worst, above) = (gaps.last().copied().unwrap_or_default(), gaps.iter().filter(|gap| **gap > MEANT));
    println!(
        "the machine by itself: {cores} threads that look at the clock for {time:?}, kept from it for more than a millisecond {} times, worst {worst:.2?}, {} above {MEANT:?}",
        gaps.len(),
        above.count()
    );
}

struct Callers {
    end: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Vec<Duration>>>,
    stolen: Duration,
}

/// Round trips, sorted, and what the host took meanwhile.
struct Waits {
    all: Vec<Duration>,
    stolen: Duration,
}

/// What the host took of the cores since this machine runs, in hundredths of a second; nothing where it says nothing of it.
fn stolen() -> Duration {
    let told = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let steal = told.lines().next().and_then(|cores| cores.split_whitespace().nth(8)?.parse::<u64>().ok());
    Duration::from_millis(10 * steal.unwrap_or_default())
}

impl std::fmt::Display for Waits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = |part: usize| self.all[(self.all.len() - 1) * part / 1000];
        let (all, above) = (self.all.len(), self.all.iter().filter(|wait| **wait > MEANT).count());
        let (median, most, worst) = (at(500), at(999), at(1000));
        write!(
            f,
            "median {median:.2?} p99.9 {most:.2?} worst {worst:.2?}, {above} of {all} above {MEANT:?}, the host took {:?}",
            self.stolen
        )
    }
}

impl Callers {
    fn start(address: SocketAddr, body: &str) -> Self {
        let end = Arc::new(AtomicBool::new(false));
        let call = |_| {
            let (end, body) = (Arc::clone(&end), body.to_owned());
            std::thread::spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.set_nodelay(true).unwrap();
                let head =
                    format!("POST / HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n");
                let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
                let mut waits = Vec::new();
                while !end.load(Ordering::Relaxed) {
                    let began = Instant::now();
                    stream.write_all(request.as_bytes()).unwrap();
                    let answer = Answer::read(&mut stream);
                    waits.push(began.elapsed());
                    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
                    std::thread::sleep(PACE.saturating_sub(began.elapsed()));
                }
                waits
            })
        };
        let threads = (0..CALLERS).map(call).collect();
        Self { end, threads, stolen: stolen() }
    }

    fn end(self) -> Waits {
        self.end.store(true, Ordering::Relaxed);
        let mut waits: Vec<_> = self.threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        waits.sort_unstable();
        Waits { all: waits, stolen: stolen().saturating_sub(self.stolen) }
    }
}
