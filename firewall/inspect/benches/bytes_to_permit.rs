//! From bytes to a permit: the supply-chain message of the paper with three concepts, under ten policies and under the
//! shipped ones, and there also within a session that a lock opened. Prints the median and the 99th percentile of each stage's sum.
//!
//! `cargo bench -p semgate-inspect --bench bytes_to_permit`; budget of the issue: 25 µs.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/common/stage.rs"]
mod stage;

use bytes::Bytes;
use common::{NOW, agent, arrived, base, generation_with, library, route, view};
use semgate_inspect::{Generation, HeaderClaims, InspectLimits, Inspector, Now};
use semgate_policies::PolicySource;
use std::{
    hint::black_box,
    num::NonZeroU32,
    time::{Duration, Instant},
};

const BATCH: u32 = 200;
const BATCHES: usize = 200;

/// The shape of the issue: ten policies, three of which concern the message. `x-free-text` and values are read, so that no
/// verdict can be remembered.
fn ten_policies() -> PolicySource {
    let mut text = String::new();
    for (n, concept) in ["current_decision", "decision_contingency", "local_observation"].iter().enumerate() {
        text.push_str(&format!(
            "@id(\"p{n}\") permit(principal in Group::\"partners\", action, resource is supplyChain::{concept});\n"
        ));
    }
    for n in 3..6 {
        text.push_str(&format!(
            "@id(\"p{n}\") forbid(principal, action, resource is supplyChain::current_decision) when {{ resource.quantity > {n}00000 }};\n"
        ));
    }
    text.push_str("@id(\"p6\") forbid(principal in Group::\"no-free-text\", action, resource) when { context.free_text };\n");
    for n in 7..10 {
        text.push_str(&format!(
            "@id(\"p{n}\") forbid(principal, action, resource is payment::transfer) when {{ resource.amount.greaterThan(decimal(\"{n}000.0\")) }};\n"
        ));
    }
    PolicySource { files: vec![("ten.cedar".to_owned(), text)], ..PolicySource::shipped() }
}

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
    InspectLimits {
        messages_per_second: NonZeroU32::MAX,
        message_burst: NonZeroU32::MAX,
        ..InspectLimits::default()
    }
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

fn main() {
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let mut authority = library();
    let view = view(&mut authority);
    let (route, body, peer) = (route("l8"), message(), agent("retailer-7"));
    for (name, source) in
        [("ten policies", ten_policies()), ("the shipped policies", PolicySource::shipped())]
    {
        let inspector = Inspector::new(unlimited(), generation_with(view.clone(), &source, &[]));
        let claims = HeaderClaims::default();
        let whole = measure(|ms| {
            let now = Now { monotonic_ms: ms, ..NOW };
            let permit =
                inspector.inspect(&route, &peer, &claims, arrived(&route, body.clone()), now).unwrap();
            black_box(permit.spend());
        });
        println!("bytes to permit, {name}: median {:?}, 99th percentile {:?}", whole.median, whole.slow);
    }
    let session = locked(generation_with(view, &PolicySource::shipped(), &[]));
    println!(
        "bytes to permit, the shipped policies, in a locked session: median {:?}, 99th percentile {:?}",
        session.median, session.slow
    );
    let limits = semgate_contexts::json::Limits::default();
    let read = measure(|_| {
        black_box(semgate_contexts::json::read(black_box(&body), &limits).unwrap());
    });
    println!("of that the strict reader: median {:?}", read.median);
}
