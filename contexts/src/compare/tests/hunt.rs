//! A search for a wrong verdict: random pairs of schemas, and documents that test each verdict. Documents are random; for
//! schemas of a small world, all are tried. `SEMGATE_HUNT_SECONDS` sets how long it searches, `SEMGATE_HUNT_SEED` where it
//! begins.
//!
//! A verdict of Compatible is wrong if the first accepts a document that the second refuses. A verdict of Breaking is wrong
//! if its witness is.

pub(crate) mod open_names;
pub(crate) mod random;
mod small;

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{CompareLimits, Comparison, Verdict, compare};
use crate::{Context, DocumentLimits, Prefix, json};
use random::{Random, documents, value_for};

/// Random documents that test a verdict of Compatible.
const DOCUMENTS: usize = 40;

/// Pairs of the small world, in a hundred.
const SMALL: usize = 50;

/// The counts of a hunt so far.
#[derive(Debug, Default)]
pub(super) struct Hunt {
    limits: CompareLimits,
    pub(super) compatible: u64,
    breaking: u64,
    /// Breaks among these whose content was too large to be written.
    pub(super) described: u64,
    unknown: u64,
    /// Documents that the first schema accepts and that tested a verdict of Compatible.
    documents: u64,
}

impl Hunt {
    pub(super) fn new(limits: CompareLimits) -> Hunt {
        Hunt { limits, ..Hunt::default() }
    }

    /// Tries the pair of a seed, which is always the same pair.
    #[track_caller]
    pub(super) fn pair(&mut self, seed: u64) {
        let mut random = Random::new(seed);
        let (old, new, world) = if random.chance(SMALL) {
            small::documents(&mut random)
        } else {
            let (old, new) = documents(&mut random);
            (old, new, Vec::new())
        };
        let (Some(left), Some(right)) = (read(&old), read(&new)) else { return };
        let comparison = compare(&left, &right, &self.limits);
        match comparison.verdict {
            Verdict::Compatible => {
                self.compatible += 1;
                let contents = if world.is_empty() { drawn(&old, &mut random) } else { world };
                for content in contents {
                    self.documents += u64::from(accepts(&left, &content) == Some(Taken::Yes));
                    let breaks = parts_by_more_than_case(&left, &right, &content) == Some(true);
                    assert!(!breaks, "seed {seed}: {content} breaks {old} and {new}");
                }
            }
            Verdict::Breaking => {
                self.breaking += 1;
                let content = witness(&comparison);
                if content.is_none() && is_described(&comparison) {
                    self.described += 1;
                    return;
                }
                let shows = content.as_ref().is_some_and(|content| parts(&left, &right, content));
                assert!(shows, "seed {seed}: {content:?} does not break {old} and {new}");
            }
            Verdict::Unknown => self.unknown += 1,
        }
    }
}

#[test]
fn no_verdict_is_wrong() {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    let length = Duration::from_secs(number("SEMGATE_HUNT_SECONDS").unwrap_or(4));
    let (began, first) = (Instant::now(), number("SEMGATE_HUNT_SEED").unwrap_or(1));
    let mut hunt = Hunt::new(CompareLimits { max_steps: 200_000, ..CompareLimits::default() });
    let mut seed = first;
    while began.elapsed() < length || seed < first + 100 {
        hunt.pair(seed);
        seed += 1;
    }
    println!("{hunt:?}");
    assert!(hunt.compatible > 0 && hunt.breaking > 0 && hunt.documents > 0);
}

/// Documents that probably fit the first.
fn drawn(old: &Value, random: &mut Random) -> Vec<Value> {
    let at = |pointer| old.pointer(pointer).unwrap_or(&Value::Null);
    (0..DOCUMENTS).map(|_| value_for(at("/concepts/c"), at("/$defs"), random, 0)).collect()
}

#[derive(PartialEq, Eq)]
enum Taken {
    Yes,
    No,
}

fn witness(comparison: &Comparison) -> Option<Value> {
    let part = comparison.obstacles().next()?;
    part.witness.as_ref().map(|witness| witness.content.clone())
}

fn is_described(comparison: &Comparison) -> bool {
    comparison.obstacles().next().is_some_and(|part| part.described.is_some())
}

/// Returns true if the first accepts the content and the second refuses it.
fn parts(left: &Context, right: &Context, content: &Value) -> bool {
    accepts(left, content) == Some(Taken::Yes) && accepts(right, content) == Some(Taken::No)
}

/// As [`parts`], but excuses a refusal of a name's twin where the first takes any member in its stead.
fn parts_by_more_than_case(left: &Context, right: &Context, content: &Value) -> Option<bool> {
    let (older, newer) = (left.term("c")?.shapes().next()?, right.term("c")?.shapes().next()?);
    let text = content.to_string();
    let read = json::read(text.as_bytes(), &json::Limits::default()).ok()?;
    let object = read.as_object()?;
    if older.conform(object, None).is_err() {
        return Some(false);
    }
    let refused = match newer.compiled.validator.conform(object, None) {
        Err(_) => true,
        Ok(()) => {
            newer.compiled.casing.conform(object, None).is_err()
                && !open_names::excused(older, newer, content)
        }
    };
    Some(refused)
}

fn read(document: &Value) -> Option<Context> {
    Context::check(
        document.to_string().as_bytes(),
        &Prefix::default(),
        &DocumentLimits::default().published(),
    )
    .ok()
}

fn accepts(context: &Context, content: &Value) -> Option<Taken> {
    let text = content.to_string();
    let read = json::read(text.as_bytes(), &json::Limits::default()).ok()?;
    let shape = context.term("c")?.shapes().next()?;
    let conforms = shape.conform(read.as_object()?, None);
    Some(if conforms.is_ok() { Taken::Yes } else { Taken::No })
}
