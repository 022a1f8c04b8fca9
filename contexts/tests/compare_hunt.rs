//! The hunt for a wrong verdict: random pairs of schemas and random documents.
//!
//! A verdict of Compatible is wrong if any document is accepted by the first and refused by the second; a verdict of Breaking is wrong if
//! its witness is not. A few seconds by default; `SEMGATE_HUNT_SECONDS=3600 cargo test --release -p semgate-contexts --test compare_hunt --
//! --nocapture` for an hour. Each finding names the seed that repeats it (`SEMGATE_HUNT_SEED`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod random;

use std::time::{Duration, Instant};

use random::{Random, documents, value_for};
use semgate_contexts::compare::{CompareLimits, Verdict, compare};
use semgate_contexts::{Context, DocumentLimits, Prefix, json};
use serde_json::Value;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn read(document: &Value) -> Option<Context> {
    Context::check(document.to_string().as_bytes(), &Prefix::default(), &DocumentLimits::default()).ok()
}

fn accepts(context: &Context, content: &Value) -> Option<bool> {
    let text = content.to_string();
    let read = json::read(text.as_bytes(), &json::Limits::default()).ok()?;
    let shape = context.term("c")?.shapes().next()?;
    Some(shape.conform(read.as_object()?, None).is_ok())
}

#[test]
fn no_verdict_is_wrong() {
    let seconds = number("SEMGATE_HUNT_SECONDS").unwrap_or(4);
    let first = number("SEMGATE_HUNT_SEED");
    let began = Instant::now();
    let limits = CompareLimits { max_steps: 200_000, ..CompareLimits::default() };
    let (mut pairs, mut refused, mut tried, mut counts) = (0_u64, 0_u64, 0_u64, [0_u64; 3]);
    let mut unknown: std::collections::BTreeMap<String, u64> = std::collections::BTreeMap::new();
    let mut seed = first.unwrap_or(1);
    while began.elapsed() < Duration::from_secs(seconds) || pairs < 100 {
        let mut random = Random::new(seed);
        let (old, new) = documents(&mut random);
        let at = seed;
        seed += 1;
        let (Some(left), Some(right)) = (read(&old), read(&new)) else {
            refused += 1;
            continue;
        };
        pairs += 1;
        let comparison = compare(&left, &right, &limits);
        let part = &comparison.parts[0];
        counts[part.verdict as usize] += 1;
        match part.verdict {
            Verdict::Compatible => {
                for _ in 0..40 {
                    let content = value_for(&old["concepts"]["c"], &old["$defs"], &mut random, 0);
                    tried += u64::from(accepts(&left, &content) == Some(true));
                    let wrong =
                        accepts(&left, &content) == Some(true) && accepts(&right, &content) == Some(false);
                    assert!(
                        !wrong,
                        "seed {at}: called compatible, and {content} shows that it is not\nold {old}\nnew {new}"
                    );
                }
            }
            Verdict::Breaking => {
                let witness = &part.witness.as_ref().unwrap().content;
                let right = accepts(&left, witness) == Some(true) && accepts(&right, witness) == Some(false);
                assert!(
                    right,
                    "seed {at}: called breaking, and {witness} does not show it\nold {old}\nnew {new}"
                );
            }
            Verdict::Unknown => {
                *unknown.entry(part.reason.clone()).or_default() += 1;
                if std::env::var("SEMGATE_HUNT_SHOW").is_ok() {
                    println!("seed {at}: {}\nold {old}\nnew {new}", part.reason);
                }
            }
        }
    }
    let [compatible, unknowns, breaking] = counts;
    let decided = 100.0 * (pairs - unknowns) as f64 / pairs as f64;
    println!(
        "{pairs} random pairs: {compatible} compatible, {breaking} breaking, {unknowns} unknown: {decided:.1} % decided; {tried} documents against compatible verdicts; {refused} pairs were no documents"
    );
    println!("what stopped a search: {unknown:?}");
    assert!(compatible > 0 && breaking > 0 && tried > 0);
}
