//! Time of one decision, remembered and not. Run with `cargo bench -p semgate-policies`; not part of the tests.
//!
//! Prints the best of several rounds in microseconds, so that other work on the machine counts as little as it can, for: the paper's
//! supply-chain concepts (remembered under the shipped policies), a payment (its amount is read, so it is asked each time), the same beside ten thousand
//! policies over a thousand contexts and ten thousand agents, each of those agents in turn about a context of its own, and `may_use_line`.
//! Of loading it prints also the longest work between two rests, for which a message that waits for the core of the loader may wait.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use std::cell::Cell;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use semgate_contexts::json::{self, Json};
use semgate_contexts::{Context, Line, Performative};
#[path = "many/mod.rs"]
mod many;

use semgate_policies::{Circumstances, Policies, PolicyLimits, PolicySource, Question};

/// The product's: what it takes to give memory back is work between two rests.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 15;
const CALLS: usize = 20_000;

fn main() {
    // `cargo test --benches` passes `--test`: then there is nothing to measure.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let (few, contexts) = (many::shipped_contexts(), many::contexts());
    for (name, source, contexts) in [
        ("shipped", PolicySource::shipped(), &few),
        ("ten", many::ten(), &few),
        ("ten thousand", many::ten_thousand(), &contexts),
    ] {
        let limits = PolicyLimits::default();
        let start = Instant::now();
        let policies = load(&source, contexts, &limits);
        let count = policies.ids().count();
        println!(
            "{name}: {count} policies over {} contexts loaded in {:.1?}",
            contexts.len(),
            start.elapsed()
        );
        let asking = load(&source, contexts, &PolicyLimits { remembered_verdicts: 0, ..limits });
        for case in CASES {
            let remembered = time(CALLS, &policies, contexts, case);
            let asked = time(CALLS, &asking, contexts, case);
            println!("  {:<28} {remembered:7.3} µs   asked each time {asked:7.3} µs", case.term);
        }
        let line = Line::parse("payment").unwrap();
        let took = best(CALLS, || {
            let _ = black_box(policies.may_use_line(black_box(CASES[0].sender), black_box(&line)));
        });
        println!("  {:<28} {took:7.3} µs", "may_use_line");
        let (load, end) = longest_work(&source, contexts);
        println!("  longest work between two rests: of a load {load:.1?}, of taking apart {end:.1?}");
        if contexts.len() > few.len() {
            println!("  {:<28} {:7.3} µs", "each agent in turn", in_turn(&policies, contexts));
        }
    }
}

thread_local! {
    static RESTED: Cell<Option<Instant>> = const { Cell::new(None) };
    static LONGEST: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

fn rest() {
    let worked = RESTED.replace(Some(Instant::now())).map_or(Duration::ZERO, |rested| rested.elapsed());
    LONGEST.set(LONGEST.get().max(worked));
}

/// Best of three: what else the machine does would count as work.
fn longest_work(source: &PolicySource, contexts: &[Arc<Context>]) -> (Duration, Duration) {
    let longest = |job: &mut dyn FnMut()| {
        RESTED.set(Some(Instant::now()));
        LONGEST.set(Duration::ZERO);
        semgate_policies::gently(rest, job);
        rest();
        LONGEST.get()
    };
    let once = || {
        let mut policies = None;
        let load = longest(&mut || policies = Some(load(source, contexts, &PolicyLimits::default())));
        (load, longest(&mut || drop(policies.take())))
    };
    let all = [once(), once(), once()];
    (all.map(|(load, _)| load).into_iter().min().unwrap(), all.map(|(_, end)| end).into_iter().min().unwrap())
}

/// Each of the ten thousand agents about the context of its group: nothing is in any cache.
fn in_turn(policies: &Policies, contexts: &[Arc<Context>]) -> f64 {
    let bytes = CASES[0].value.as_bytes();
    let Json::Object(value) = json::read(bytes, &json::Limits::default()).unwrap() else {
        panic!("an object")
    };
    let agents: Vec<String> =
        (0..many::AGENTS).map(|n| format!("spiffe://semgate.test/customer/{n}")).collect();
    let own = &contexts[contexts.len() - many::CONTEXTS..];
    let asked = |n: usize| {
        let context = &own[n % many::CONTEXTS];
        let shape = context.term("current_decision").unwrap().side(Performative::Inform).unwrap();
        black_box(policies.decide(&question(&agents[n], context, shape, &value, Performative::Inform)));
    };
    best(1, || (0..agents.len()).for_each(asked)) / agents.len() as f64
}

struct Case {
    sender: &'static str,
    urn: &'static str,
    term: &'static str,
    action: Performative,
    value: &'static str,
}

const CASES: &[Case] = &[
    Case {
        sender: "spiffe://semgate.test/agent/retailer-7",
        urn: "urn:contexts:supplyChain:v1.0",
        term: "current_decision",
        action: Performative::Inform,
        value: r#"{"item_id":"widget-42","quantity":120}"#,
    },
    Case {
        sender: "spiffe://semgate.test/agent/retailer-7",
        urn: "urn:contexts:supplyChain:v1.0",
        term: "decision_contingency",
        action: Performative::Inform,
        value: r#"{"if_condition_text":"demand spike","then_change_text":"increase order by 10 units"}"#,
    },
    Case {
        sender: "spiffe://semgate.test/agent/treasurer-1",
        urn: "urn:contexts:payment:v2.0",
        term: "transfer",
        action: Performative::Request,
        value: r#"{"sender_id":"acct-1","receiver_id":"acct-2","amount":12000.5,"currency":"EUR"}"#,
    },
];

fn load(source: &PolicySource, contexts: &[Arc<Context>], limits: &PolicyLimits) -> Policies {
    match Policies::load(source, contexts, limits) {
        Ok(policies) => policies,
        Err(faults) => panic!("{faults:?}"),
    }
}

fn time(calls: usize, policies: &Policies, contexts: &[Arc<Context>], case: &Case) -> f64 {
    let context = contexts.iter().find(|context| context.urn().as_str() == case.urn).unwrap();
    let shape = context.term(case.term).unwrap().side(case.action).unwrap();
    let Json::Object(value) = json::read(case.value.as_bytes(), &json::Limits::default()).unwrap() else {
        panic!("an object")
    };
    let question = question(case.sender, context, shape, &value, case.action);
    best(calls, || {
        black_box(policies.decide(black_box(&question)));
    })
}

fn question<'q>(
    sender: &'q str,
    context: &'q Context,
    shape: &'q semgate_contexts::Shape,
    value: &'q json::Object<'q>,
    action: Performative,
) -> Question<'q> {
    Question {
        sender,
        receiver: "spiffe://semgate.test/agent/wholesaler-1",
        action,
        context,
        shape,
        value,
        without: None,
        binding: "l8",
        direction: "request",
        circumstances: Circumstances::at(1_800_000_000),
    }
}

fn best(calls: usize, mut call: impl FnMut()) -> f64 {
    (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..calls {
                call();
            }
            start.elapsed().as_secs_f64() * 1e6 / calls as f64
        })
        .fold(f64::MAX, f64::min)
}
