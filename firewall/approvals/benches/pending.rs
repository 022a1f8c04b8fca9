//! The book with 10,000 open requests: finding one by its action, and replaying all of them.
//!
//! `cargo bench -p semgate-approvals --bench pending`; `-- FILE` writes the journal of these requests instead, for a gateway to
//! start with.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints")]

use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

use semgate_approvals::{
    Action, ActionInstance, Asked, Book, BookSettings, Event, HoldId, HumanRegistry, Question, Subject,
};
use semgate_policies::{Approval, Approvers};
use serde_json::json;

const OPEN: u64 = 10_000;

fn question(n: u64) -> Question {
    let mut demand = Approval::new("large.cedar#large", "the treasurer signs these");
    demand.within = 86_400;
    let action = Action {
        sender: format!("spiffe://semgate.test/agent/buyer-{}", n % 200).into(),
        receiver: "spiffe://semgate.test/agent/wholesaler-1".into(),
        binding: "l8".into(),
        context: "sha-256:0".into(),
        performative: "REQUEST".into(),
        instances: vec![ActionInstance {
            concept: "transfer".to_owned(),
            value: json!({"sender_id": "a", "receiver_id": "b", "amount": n, "currency": "USD"}),
        }],
        refers: Vec::new(),
    };
    Question {
        subject: Subject::Action(action),
        urn: Some("urn:contexts:payment:v1.1".into()),
        demands: vec![demand],
        session: None,
        decision_id: "d".into(),
        generation: 1,
    }
}

fn main() {
    let settings = BookSettings { approvers: Approvers::Capability("approver".into()), use_seconds: 300 };
    let (mut book, people) = (Book::new(settings.clone()), HumanRegistry::default());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let mut all: Vec<Event> = Vec::new();
    for n in 0..OPEN {
        if let Asked::Opens(_, events) = book.ask(question(n), HoldId::of(n.into()), &people, now).unwrap() {
            events.iter().for_each(|event| book.apply(event));
            all.extend(events);
        }
    }
    let file = std::env::args().skip(1).find(|word| !word.starts_with("--"));
    if let Some(file) = file {
        let mut out = std::io::BufWriter::new(std::fs::File::create(file).unwrap());
        for event in &all {
            writeln!(out, "{}", serde_json::to_string(event).unwrap()).unwrap();
        }
        return;
    }
    let questions: Vec<Question> = (0..OPEN).map(question).collect();
    let began = Instant::now();
    for question in questions {
        black_box(book.ask(question, HoldId::of(0), &people, now).unwrap());
    }
    println!("ask for a waiting action, digest included: {:.1} µs", micros(began) / OPEN as f64);
    let digests: Vec<_> = book.holds().map(|hold| hold.digest).collect();
    let began = Instant::now();
    for digest in &digests {
        black_box(book.by_digest(*digest).unwrap());
    }
    println!("find by digest among {OPEN}: {:.2} µs", micros(began) / OPEN as f64);
    let began = Instant::now();
    let mut replayed = Book::new(settings);
    all.iter().for_each(|event| replayed.apply(event));
    println!("replay {OPEN}: {:.1} ms", micros(began) / 1_000.0);
}

fn micros(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e6
}
