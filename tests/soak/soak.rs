//! A soak: every binding under load for a long time, with reloads, revocations, a greedy agent, and an agent that goes down and up.
//!
//! In the tests it takes some 20 seconds. The long form reloads and revokes each minute, and holds memory at the end against memory after the
//! first tenth:
//!
//!     SEMGATE_SOAK_MINUTES=120 cargo test --release -p semgate --test soak soak:: -- --nocapture

use crate::agent;
use crate::greedy;
use crate::lanes;
use crate::meter;
use crate::operator;
use crate::support;
use crate::versions;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use agent::Ledger;
use greedy::Greed;
use lanes::{LANES, Tally};
use operator::{Memory, Operator};
use support::Up;
use support::gateway::{Gateway, free_address};

/// The shortest run whose memory is held against the bound; before that caches still fill.
const SETTLED: Duration = Duration::from_secs(600);
/// The growth that counts as flat, in percent.
const FLAT: u64 = 10;

/// How long a run takes, how often policies and contexts change, and how often a line is printed.
struct Plan {
    whole: Duration,
    change: Duration,
    report: Duration,
}

impl Plan {
    fn read() -> Self {
        let minutes = std::env::var("SEMGATE_SOAK_MINUTES").ok().map(|text| text.parse::<u64>().unwrap());
        let [whole, change, report] = minutes.map_or([20, 3, 10], |minutes| [minutes * 60, 60, 60]);
        let seconds = Duration::from_secs;
        Self { whole: seconds(whole), change: seconds(change), report: seconds(report) }
    }
}

/// A gateway with a route for each lane; the routes of some lanes are one.
struct Scene {
    _temporary: tempfile::TempDir,
    up: Up,
    gateway: Gateway,
    ledger: Arc<Ledger>,
    l8: SocketAddr,
    routes: [(&'static str, SocketAddr); 5],
}

impl Scene {
    fn start(flapping: SocketAddr) -> Self {
        let (temporary, ledger) = (tempfile::tempdir().unwrap(), Arc::new(Ledger::default()));
        // a full cache tells growth from filling
        let up = Up::start_limited(&temporary.path().join("semgate"), "cache_bytes = 1048576");
        let upstream = agent::steady(&ledger);
        let draft = up.dir.join("sums.json");
        let (draft, url) = (draft.to_str().unwrap(), format!("http://{upstream}/mcp"));
        let import = ["context", "import", "mcp", &url, "--line", "sums", "--out", draft];
        versions::good(&std::process::Command::new(support::SEMGATE).args(import).output().unwrap());
        versions::good(&up.semgate(&["context", "publish", draft]));
        std::fs::write(up.path("/policies").join("soak.cedar"), operator::TOOLS).unwrap();
        let routes = ["l8", "a2a", "mcp", "socket", "flap"].map(|name| (name, free_address()));
        let text: String =
            routes.iter().map(|(name, listen)| route(name, *listen, upstream, flapping)).collect();
        let l8 = routes[0].1;
        let gateway = Gateway::serving(&up, l8, &text, "");
        Self { _temporary: temporary, up, gateway, ledger, l8, routes }
    }

    /// The route that a lane uses.
    fn url(&self, lane: &str) -> String {
        let name = match lane {
            "stream" => "a2a",
            "h2" => "l8",
            other => other,
        };
        let (_, address) = self.routes.iter().find(|(route, _)| *route == name).unwrap();
        format!("https://{address}/")
    }
}

fn route(name: &str, listen: SocketAddr, upstream: SocketAddr, flapping: SocketAddr) -> String {
    let (binding, upstream, more) = match name {
        "a2a" => ("a2a", upstream, ""),
        "mcp" => ("mcp", upstream, "default_context = \"urn:contexts:sums:v1.0\"\nadmit = [\"text\"]\n"),
        "socket" => ("l8", upstream, "websocket = true\n"),
        "flap" => ("l8", flapping, ""),
        _ => ("l8", upstream, ""),
    };
    meter::route(name, listen, upstream, more)
        .replace("binding = \"l8\"", &format!("binding = \"{binding}\""))
        .replace("/l8\"", &format!("/{binding}\""))
}

#[test]
fn every_binding_holds_for_long_under_reloads_revocations_a_greedy_agent_and_a_flapping_one() {
    let _one = crate::ONE_AT_A_TIME.lock();
    let (plan, stop) = (Plan::read(), Arc::new(AtomicBool::new(false)));
    let flapping = free_address();
    let scene = Scene::start(flapping);
    let flapper = agent::flapping(flapping, &scene.ledger, &stop);
    let (tallies, greed) = (LANES.map(|_| Tally::default()), Greed::default());
    let mut operator = Operator::new(&scene.up, &scene.gateway, &scene.ledger, scene.url("l8"));
    let pid = u32::try_from(scene.up.json["pid"].as_u64().unwrap()).unwrap();
    let mut memory = Memory::of([scene.gateway.child.id(), pid]);
    std::thread::scope(|scope| {
        for (name, tally) in LANES.iter().zip(&tallies) {
            let (scene, stop) = (&scene, &stop);
            scope.spawn(move || lanes::lane(name, &scene.up, &scene.url(name), tally, stop));
        }
        scope.spawn(|| greedy::run(&scene.up, scene.l8, &greed, &stop));
        // a panic of the operator ends the callers too, so that it shows
        let ends = Ends(&stop);
        watch(&plan, &scene, &tallies, &mut operator, &mut memory);
        drop(ends);
    });
    flapper.join().unwrap();
    operator.probe();
    println!(
        "{} reloads, {} revocations, {} messages of revoked contexts refused; greedy agent: {} passed, {} past its share, {} refused",
        operator.reloads,
        operator.revocations(),
        operator.refused,
        greed.passed.load(Ordering::Relaxed),
        greed.limited.load(Ordering::Relaxed),
        greed.refused.load(Ordering::Relaxed),
    );
    assert!(operator.reloads > 1 && operator.revocations() > 1);
    assert!(greed.limited.load(Ordering::Relaxed) > 0, "the greedy agent was not greedy");
    for (name, tally) in LANES.iter().zip(&tallies) {
        hold(name, tally, &scene.ledger);
    }
    hold_memory(&plan, &memory);
}

/// Sets the flag when it is dropped.
struct Ends<'s>(&'s AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reloads, revokes, samples and prints, until the time is over.
fn watch(plan: &Plan, scene: &Scene, tallies: &[Tally; 7], operator: &mut Operator<'_>, memory: &mut Memory) {
    println!(
        "| s | {} | p50 ms | p99 ms | refused | gateway MiB | authority MiB | audit MB |",
        LANES.map(|lane| format!("{lane} sent/answered")).join(" | ")
    );
    println!("|{}", "---|".repeat(LANES.len() + 7));
    let (began, mut changed, mut reported) = (Instant::now(), Instant::now(), Instant::now());
    while began.elapsed() < plan.whole {
        std::thread::sleep(Duration::from_millis(500));
        if changed.elapsed() >= plan.change {
            changed = Instant::now();
            operator.reload();
            operator.revoke_one();
            operator.probe();
        }
        let sample = memory.sample();
        if reported.elapsed() >= plan.report {
            reported = Instant::now();
            report(began.elapsed(), scene, tallies, sample);
        }
    }
}

fn report(elapsed: Duration, scene: &Scene, tallies: &[Tally; 7], [gateway, authority]: [u64; 2]) {
    let lane = |tally: &Tally| format!("{}/{}", tally.sent.load(Ordering::Relaxed), tally.answered());
    let lanes: Vec<String> = tallies.iter().map(lane).collect();
    let mut waits: Vec<Duration> =
        tallies.iter().flat_map(|tally| std::mem::take(&mut *tally.waits.lock().unwrap())).collect();
    waits.sort_unstable();
    let at = |share: usize| waits.get(waits.len() * share / 100).map_or(0.0, |wait| wait.as_secs_f64() * 1e3);
    let refused: usize = tallies.iter().map(|tally| tally.faults.lock().unwrap().len()).sum();
    let audit = std::fs::metadata(&scene.gateway.audit).map_or(0, |file| file.len());
    println!(
        "| {} | {} | {:.1} | {:.1} | {refused} | {} | {} | {:.1} |",
        elapsed.as_secs(),
        lanes.join(" | "),
        at(50),
        at(99),
        gateway / 1024,
        authority / 1024,
        audit as f64 / 1e6
    );
}

/// Holds what a lane was answered against what arrived.
fn hold(name: &str, tally: &Tally, ledger: &Ledger) {
    let (faults, arrivals) = (tally.faults.lock().unwrap(), ledger.lane(name));
    assert!(
        faults.is_empty(),
        "{name}: {} messages failed, first {:?}",
        faults.len(),
        &faults[..faults.len().min(5)]
    );
    let passed = tally.passed.lock().unwrap();
    assert!(!passed.is_empty(), "{name}: nothing passed");
    let lost: Vec<_> = passed.iter().filter(|number| arrivals.get(**number) != Some(&1)).collect();
    assert!(lost.is_empty(), "{name}: acknowledged, and not delivered once: {lost:?}");
    let twice: Vec<_> = (0..arrivals.len()).filter(|number| arrivals[*number] > 1).collect();
    assert!(twice.is_empty(), "{name}: delivered more than once: {twice:?}");
    let unavailable = tally.unavailable.load(Ordering::Relaxed);
    assert_eq!(unavailable > 0, name == "flap", "{name}: the agent was unavailable {unavailable} times");
    let sent = tally.sent.load(Ordering::Relaxed);
    assert_eq!(passed.len() as u64 + unavailable, sent, "{name}: every message has an answer");
}

/// Holds memory of the last tenth of the time against memory after the first tenth, where the run was long enough.
fn hold_memory(plan: &Plan, memory: &Memory) {
    let [first, last] = memory.tenths();
    println!("memory in KiB, gateway and authority: {first:?} after the first tenth, {last:?} in the last");
    if plan.whole < SETTLED {
        println!("not held against {FLAT} %: the run is shorter than {} minutes", SETTLED.as_secs() / 60);
        return;
    }
    for (name, (first, last)) in ["gateway", "authority"].iter().zip(first.iter().zip(last)) {
        assert!(last * 100 <= first * (100 + FLAT), "{name} grew from {first} to {last} KiB");
    }
}
