//! From bytes to a permit: the supply-chain message of the paper with three concepts, under ten policies that read a value of each, under ten
//! thousand over a thousand contexts, all published, and ten thousand agents, and under the shipped ones, there also within a session that a lock opened;
//! beside them Cedar's plain authorizer over the whole set for the same three concepts. Then what the large case costs apart from messages: to
//! load, to keep, and to swap while a thread inspects without a pause. Prints the median and the 99th percentile of a batch. Then a policy
//! that reads a score of text, of another concept and of this message's: the first must cost nothing (1.00 within noise).
//!
//! `cargo bench -p semgate-inspect --bench bytes_to_permit`; budget: 6 µs, at most 1.2 times that in the large case, loaded within 5 s,
//! no message waiting longer than 5 ms.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../../../policies/engine/benches/many/mod.rs"]
mod many;
#[path = "../tests/common/stage.rs"]
mod stage;

use bytes::Bytes;
use common::{NOW, agent, arrived, base, generation_with, library, route, view};
use semgate_contexts::Prefix;
use semgate_inspect::{Generation, HeaderClaims, InspectLimits, Inspector, Now};
use semgate_policies::{Policies, PolicyLimits, PolicySource};
use semgate_statement::View;
use std::{
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// The product's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BATCH: u32 = 200;
const BATCHES: usize = 200;
/// Further contexts where nothing is measured.
const FEW: usize = 3;

/// The message of the paper, with ids as long as real ones: 640 bytes.
fn message() -> Bytes {
    let mut message: serde_json::Value = serde_json::from_slice(&base("supply chain")).unwrap();
    message["message_id"] = "0190e1a2-7b3c-7d4e-8f50-123456789abc".into();
    message["sender_id"] = "spiffe://semgate.test/agent/retailer-7".into();
    let mut text = serde_json::to_vec(&message).unwrap();
    assert!(text.len() <= 640, "{}", text.len());
    text.resize(640, b' ');
    text.into()
}

struct Figures {
    median: Duration,
    slow: Duration,
}

fn measure(mut one: impl FnMut(u64)) -> Figures {
    let mut clock = 0;
    for _ in 0..BATCH * 20 {
        clock += 1;
        one(clock);
    }
    let mut times: Vec<Duration> = (0..BATCHES)
        .map(|_| {
            let began = Instant::now();
            for _ in 0..BATCH {
                clock += 1;
                one(clock);
            }
            began.elapsed() / BATCH
        })
        .collect();
    times.sort_unstable();
    Figures { median: times[BATCHES / 2], slow: times[BATCHES * 99 / 100] }
}

fn unlimited() -> InspectLimits {
    InspectLimits { ..InspectLimits::default() }
}

/// The same message with the lock of a handshake: what it costs beside the row of the shipped policies is the lock.
fn locked(generation: Generation) -> Figures {
    let stage = stage::stage_of(generation, unlimited());
    let session = stage.shake_hands("retailer-7", &["supplyChain:v1.0"], vec![]).unwrap();
    let mut locked: serde_json::Value = serde_json::from_slice(&message()).unwrap();
    locked["lock"] = session.lock.as_str().into();
    let (body, peer) = (Bytes::from(serde_json::to_vec(&locked).unwrap()), agent("retailer-7"));
    measure(|ms| {
        let now = Now { monotonic_ms: ms, ..NOW };
        let arrived = arrived(&stage.route, body.clone());
        let permit = stage.inspector.inspect(&stage.route, &peer, &HeaderClaims::default(), arrived, now);
        black_box(permit.unwrap().spend());
    })
}

fn inspected(inspector: &Inspector, one: &Sent, ms: u64) {
    let now = Now { monotonic_ms: ms, ..NOW };
    let arrived = arrived(&one.route, one.body.clone());
    let permit = inspector.inspect(&one.route, &one.peer, &HeaderClaims::default(), arrived, now);
    black_box(permit.unwrap().spend());
}

/// The message and how it arrives.
struct Sent {
    route: Arc<semgate_inspect::Route>,
    body: Bytes,
    peer: semgate_inspect::Peer,
}

fn figures(name: &str, figures: &Figures) {
    println!("bytes to permit, {name}: median {:?}, 99th percentile {:?}", figures.median, figures.slow);
}

/// What a follower holds of an authority that published the library and so many further contexts.
fn wide(further: usize) -> Arc<View> {
    let mut authority = library();
    for n in 0..further {
        authority.publish(many::document(n).as_bytes());
    }
    let view = view(&mut authority);
    assert_eq!(view.contexts().count(), many::shipped_contexts().len() + further);
    view
}

/// Loads the large case, says what that took, and hands it over as a generation of its contexts.
fn large(view: &Arc<View>, further: usize) -> (Generation, Arc<Policies>) {
    let (source, contexts) = (many::ten_and(further), many::contexts_and(further));
    let before = many::resident();
    let began = Instant::now();
    let policies = Policies::load(&source, &contexts, &PolicyLimits::default()).unwrap();
    let took = began.elapsed();
    let grown = many::resident()
        .zip(before)
        .map_or_else(|| "not known here".to_owned(), |(after, before)| format!("{:.0} MiB", after - before));
    println!(
        "{} policies over {} contexts and {} agents: loaded in {took:.2?}, resident memory grown by {grown}",
        policies.ids().count(),
        contexts.len(),
        policies.agents().len()
    );
    let policies = Arc::new(policies);
    (generation_of(view, &policies), policies)
}

fn generation_of(view: &Arc<View>, policies: &Arc<Policies>) -> Generation {
    let floors = std::collections::BTreeMap::new();
    Generation::new(vec![Arc::clone(view)], Arc::clone(policies), floors, Prefix::default()).unwrap()
}

/// The longest turn of a thread that does one thing without a pause.
#[derive(Default)]
struct Longest {
    wall: Duration,
    cpu: Duration,
    turns: u64,
}

impl std::fmt::Display for Longest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2?} by the clock, {:.2?} of processor time, of {}", self.wall, self.cpu, self.turns)
    }
}

fn processor_time() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(spent.tv_sec.unsigned_abs(), u32::try_from(spent.tv_nsec).unwrap())
}

/// One thread takes turn after turn while this one does `beside`.
fn longest(turn: impl Fn(u64) + Sync, beside: impl FnOnce()) -> Longest {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let traffic = scope.spawn(|| {
            let mut longest = Longest::default();
            while !stop.load(Ordering::Relaxed) {
                let (began, spent) = (Instant::now(), processor_time());
                turn(longest.turns);
                longest.cpu = longest.cpu.max(processor_time() - spent);
                longest.wall = longest.wall.max(began.elapsed());
                longest.turns += 1;
            }
            longest
        });
        beside();
        stop.store(true, Ordering::Relaxed);
        traffic.join().unwrap()
    })
}

/// The nice value at which a gateway loads policies (`semgate_gateway`'s `follow/policies.rs`).
const NICE: i32 = 10;

/// Loads, swaps and drops policy sets, on a thread of its own that gives way as a gateway's does.
fn swap(inspector: &Inspector, view: &Arc<View>, swaps: usize) {
    let (source, contexts) = (many::ten_thousand(), many::contexts());
    let loader = || {
        rustix::process::setpriority_process(None, NICE).unwrap();
        for _ in 0..swaps {
            let policies = Policies::load(&source, &contexts, &PolicyLimits::default()).unwrap();
            let (_, before) = inspector.replace(generation_of(view, &Arc::new(policies)));
            // as the gateway does: who drops the last copy takes the whole set apart
            while Arc::strong_count(&before) > 1 {
                std::thread::yield_now();
            }
        }
    };
    std::thread::scope(|scope| scope.spawn(loader).join().unwrap());
}

/// As long as an inspection, and nothing of it: what the machine itself does to a thread.
fn nothing(_turn: u64) {
    let began = Instant::now();
    while began.elapsed() < Duration::from_micros(6) {
        std::hint::spin_loop();
    }
}

/// The shipped policies with one more, which reads a score of the text of this concept.
fn reading_a_score(concept: &str) -> PolicySource {
    let mut source = PolicySource::shipped();
    let text = format!(
        "forbid (principal, action, resource is {concept}) when {{ context.scores.injection >= 100 }};"
    );
    source.files.push(("scores.cedar".to_owned(), text));
    source.files.sort();
    source
}

/// The cost of scores of text, in turns: no policy reads one, then a policy reads one of two texts.
fn scores(view: &Arc<View>, sent: &Sent) {
    let sources = [
        PolicySource::shipped(),
        reading_a_score("devops::incident"),
        reading_a_score("supplyChain::decision_contingency"),
    ];
    let inspectors =
        sources.map(|source| Inspector::new(unlimited(), generation_with(Arc::clone(view), &source, &[])));
    let mut best = [Duration::MAX; 3];
    for _ in 0..5 {
        for (best, inspector) in best.iter_mut().zip(&inspectors) {
            *best = measure(|ms| inspected(inspector, sent, ms)).median.min(*best);
        }
    }
    let times = |of: Duration| of.as_secs_f64() / best[0].as_secs_f64();
    println!(
        "no policy reads a score: {:?}; one reads it of another concept, times {:.2}",
        best[0],
        times(best[1])
    );
    println!("one reads `injection` of a text of this message: {:?} more", best[2].saturating_sub(best[0]));
}

/// What the three concepts of the message cost Cedar's plain authorizer over the whole set, entities at hand and nothing converted.
fn plain(source: &PolicySource) -> Duration {
    use cedar_policy::{Authorizer, Context, Entities, EntityUid, PolicySet, Request};
    let text: String = source.files.iter().map(|(_, text)| text.as_str()).collect();
    let set: PolicySet = text.parse().unwrap();
    let entities = serde_json::json!([
        {"uid": {"type": "Agent", "id": "spiffe://semgate.test/agent/retailer-7"}, "attrs": {"credentials": []},
         "parents": [{"type": "Group", "id": "partners"}]},
        {"uid": {"type": "supplyChain::current_decision", "id": "instance"}, "attrs": {"quantity": 120}, "parents": []},
        {"uid": {"type": "supplyChain::decision_contingency", "id": "instance"}, "attrs": {"then_change_text": "less"}, "parents": []},
        {"uid": {"type": "supplyChain::local_observation", "id": "instance"}, "attrs": {"observed_fact_text": "rain"}, "parents": []},
    ]);
    let entities = Entities::from_json_value(entities, None).unwrap();
    let uid = |text: &str| -> EntityUid { text.parse().unwrap() };
    let requests = ["current_decision", "decision_contingency", "local_observation"].map(|concept| {
        let context =
            Context::from_json_value(serde_json::json!({"free_text": true, "direction": "request"}), None);
        let principal = uid("Agent::\"spiffe://semgate.test/agent/retailer-7\"");
        let resource = uid(&format!("supplyChain::{concept}::\"instance\""));
        Request::new(principal, uid("Action::\"INFORM\""), resource, context.unwrap(), None).unwrap()
    });
    let (authorizer, calls) = (Authorizer::new(), if set.num_of_policies() > 100 { 20 } else { 2_000 });
    let began = Instant::now();
    for _ in 0..calls {
        for request in &requests {
            black_box(authorizer.is_authorized(request, &set, &entities));
        }
    }
    began.elapsed() / calls
}

fn main() {
    let sent = Sent { route: route("l8"), body: message(), peer: agent("retailer-7") };
    if std::env::args().any(|arg| arg == "--test") {
        let (generation, _) = large(&wide(FEW), FEW);
        inspected(&Inspector::new(unlimited(), generation), &sent, 1);
        return;
    }
    let view = wide(0);
    let mut inspectors = Vec::new();
    for (name, source) in [("ten policies", many::ten()), ("the shipped policies", PolicySource::shipped())] {
        let inspector = Inspector::new(unlimited(), generation_with(view.clone(), &source, &[]));
        figures(name, &measure(|ms| inspected(&inspector, &sent, ms)));
        inspectors.push(inspector);
    }
    scores(&view, &sent);
    if std::env::args().any(|arg| arg == "scores") {
        return;
    }
    let wide = wide(many::CONTEXTS);
    let (generation, policies) = large(&wide, many::CONTEXTS);
    let inspector = Inspector::new(unlimited(), generation);
    // In turns, so that what else the machine does meets both alike.
    let (mut few, mut lots) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        few.push(measure(|ms| inspected(&inspectors[0], &sent, ms)));
        lots.push(measure(|ms| inspected(&inspector, &sent, ms)));
    }
    let best = |mut all: Vec<Figures>| {
        all.sort_by_key(|figures| figures.median);
        all.swap_remove(0)
    };
    let (few, lots) = (best(few), best(lots));
    figures("ten policies, best of five rounds", &few);
    figures("ten thousand, best of five rounds", &lots);
    println!("ten thousand, times ten: {:.2}", lots.median.as_secs_f64() / few.median.as_secs_f64());
    for (name, source) in [("ten", many::ten()), ("ten thousand", many::ten_thousand())] {
        println!("Cedar's plain authorizer over {name}, the three concepts: {:.1?}", plain(&source));
    }
    let session = locked(generation_with(Arc::clone(&view), &PolicySource::shipped(), &[]));
    figures("the shipped policies, in a locked session", &session);
    let limits = semgate_contexts::json::Limits::default();
    let read = measure(|_| {
        black_box(semgate_contexts::json::read(black_box(&sent.body), &limits).unwrap());
    });
    println!("of that the strict reader: median {:?}", read.median);
    drop(policies);
    let inspects = |turn: u64| inspected(&inspector, &sent, turn / 100);
    let idle = longest(inspects, || std::thread::sleep(Duration::from_secs(5)));
    println!("longest inspection, no swap: {idle}");
    println!(
        "longest inspection while ten thousand policies are loaded, swapped and dropped five times: {}",
        longest(inspects, || swap(&inspector, &wide, 5))
    );
    println!(
        "longest turn of a thread that only waits 6 µs, beside the same: {}",
        longest(nothing, || swap(&inspector, &wide, 5))
    );
}
