//! Time of one decision, remembered and not. Run with `cargo bench -p semgate-policies`; not part of the tests.
//!
//! Prints the best of several rounds in microseconds, so that other work on the machine counts as little as it can, for: the paper's supply-chain concepts (remembered), a payment
//! (its amount is read, so it is asked each time), the same beside many other policies, and `may_use_line`.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use semgate_contexts::json::{self, Json};
use semgate_contexts::{Context, DocumentLimits, Line, Performative, Prefix, library};
use semgate_policies::{Circumstances, Policies, PolicyLimits, PolicySource, Question};

const ROUNDS: usize = 15;
const CALLS: usize = 20_000;

fn main() {
    // `cargo test --benches` passes `--test`: then one call of each shows that it still works.
    let calls = if std::env::args().any(|argument| argument == "--bench") { CALLS } else { 1 };
    let contexts = contexts();
    let limits = PolicyLimits::default();
    let forgetful = PolicyLimits { remembered_verdicts: 0, ..limits.clone() };
    let shipped = PolicySource::shipped();
    let many = with_many_more(&shipped);
    for (name, source) in [("shipped", &shipped), ("shipped and 1000 more", &many)] {
        let count: usize = source.files.iter().map(|(_, text)| text.matches(';').count()).sum();
        let start = Instant::now();
        let policies = load(source, &contexts, &limits);
        println!("{name}: {count} policies loaded in {:.1?}", start.elapsed());
        let asking = load(source, &contexts, &forgetful);
        for case in CASES {
            let remembered = time(calls, &policies, &contexts, case);
            let asked = time(calls, &asking, &contexts, case);
            println!("  {:<28} {remembered:7.3} µs   asked each time {asked:7.3} µs", case.term);
        }
        let line = Line::parse("payment").unwrap();
        let took = best(calls, || {
            let _ = black_box(policies.may_use_line(black_box(CASES[0].sender), black_box(&line)));
        });
        println!("  {:<28} {took:7.3} µs", "may_use_line");
    }
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

fn contexts() -> Vec<Arc<Context>> {
    let check = |bytes: &[u8]| Context::check(bytes, &Prefix::default(), &DocumentLimits::default()).unwrap();
    library::all().iter().map(|(_, bytes)| Arc::new(check(bytes))).collect()
}

fn load(source: &PolicySource, contexts: &[Arc<Context>], limits: &PolicyLimits) -> Policies {
    match Policies::load(source, contexts, limits) {
        Ok(policies) => policies,
        Err(faults) => panic!("{faults:?}"),
    }
}

/// 1000 more policies for other agents: what an operator with many customers has.
fn with_many_more(shipped: &PolicySource) -> PolicySource {
    let mut source = shipped.clone();
    let mut text = String::new();
    let mut agents = String::new();
    for n in 0..500 {
        let id = format!("spiffe://semgate.test/customer/{n}");
        let _ = writeln!(
            text,
            "permit (principal == Agent::\"{id}\", action, resource is payment::transfer)
               when {{ resource.amount.lessThan(decimal(\"{n}.0\")) }};
             forbid (principal == Agent::\"{id}\", action, resource is supplyChain::decision_contingency);"
        );
        let _ = write!(agents, ",{{\"id\":\"{id}\",\"groups\":[],\"credentials\":[]}}");
    }
    source.files.push(("more.cedar".to_owned(), text));
    let entities = String::from_utf8(source.entities).unwrap();
    let end = entities.rfind(']').unwrap();
    source.entities = format!("{}{agents}{}", &entities[..end], &entities[end..]).into_bytes();
    source
}

fn time(calls: usize, policies: &Policies, contexts: &[Arc<Context>], case: &Case) -> f64 {
    let context = contexts.iter().find(|context| context.urn().as_str() == case.urn).unwrap();
    let shape = context.term(case.term).unwrap().side(case.action).unwrap();
    let Json::Object(value) = json::read(case.value.as_bytes(), &json::Limits::default()).unwrap() else {
        panic!("an object")
    };
    let question = Question {
        sender: case.sender,
        receiver: "spiffe://semgate.test/agent/wholesaler-1",
        action: case.action,
        context,
        shape,
        value: &value,
        without: None,
        binding: "l8",
        direction: "request",
        circumstances: Circumstances::at(1_800_000_000),
    };
    best(calls, || {
        black_box(policies.decide(black_box(&question)));
    })
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
