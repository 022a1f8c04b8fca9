//! A random search for a wrong verdict: pairs of schemas, and documents that test each verdict. Documents are random; for
//! schemas of a small world, all are tried.
//!
//! A verdict of Compatible is wrong if the first accepts a document that the second refuses. A verdict of Breaking is wrong
//! if its witness is. Seed and end are arguments, so each finding can be reproduced.

pub(crate) mod open_names;
pub(crate) mod random;
mod small;

use std::collections::BTreeMap;

use serde_json::Value;

use super::{CompareLimits, Comparison, Verdict, compare};
use crate::{Context, DocumentLimits, Prefix, json};
use random::{Random, documents, value_for};

/// Random documents that test a verdict of Compatible.
const DOCUMENTS: usize = 40;

/// Pairs of the small world, in a hundred.
const SMALL: usize = 50;

/// A hunt under way, and its counts so far.
#[derive(Debug, Clone, Default)]
pub struct Hunt {
    /// The seed of the next pair; each pair has its own, one above the one before.
    pub seed: u64,
    /// Bounds of each comparison.
    pub limits: CompareLimits,
    /// Pairs that were compared.
    pub pairs: u64,
    /// Pairs that were no two context documents, and were passed over.
    pub refused: u64,
    /// Pairs that were found compatible.
    pub compatible: u64,
    /// Pairs that were found breaking.
    pub breaking: u64,
    /// Breaks among these whose content was too large to be written.
    pub described: u64,
    /// Documents that the first schema accepts and that tested a verdict of Compatible.
    pub documents: u64,
    /// The number of comparisons that each reason stopped.
    pub unknown: BTreeMap<String, u64>,
}

/// A verdict that is wrong: report it.
#[derive(Debug, Clone, PartialEq)]
pub struct Wrong {
    /// The seed that reproduces it.
    pub seed: u64,
    /// The wrong verdict.
    pub verdict: Verdict,
    /// The document that proves the verdict wrong; none where a break came without one.
    pub content: Option<Value>,
    /// The first context document.
    pub old: Value,
    /// The second.
    pub new: Value,
}

impl Hunt {
    /// A hunt that begins with the pair of this seed.
    pub fn new(seed: u64, limits: CompareLimits) -> Hunt {
        Hunt { seed, limits, ..Hunt::default() }
    }

    /// The number of pairs with a verdict.
    pub fn decided(&self) -> u64 {
        self.compatible.saturating_add(self.breaking)
    }

    /// Tries the next pair; returns the wrong verdict, if there is one.
    pub fn next_pair(&mut self) -> Option<Wrong> {
        let seed = self.seed;
        self.seed = seed.wrapping_add(1);
        let mut random = Random::new(seed);
        let (old, new, world) = if random.chance(SMALL) {
            small::documents(&mut random)
        } else {
            let (old, new) = documents(&mut random);
            (old, new, Vec::new())
        };
        let (Some(left), Some(right)) = (read(&old), read(&new)) else {
            self.refused += 1;
            return None;
        };
        self.pairs += 1;
        let comparison = compare(&left, &right, &self.limits);
        let wrong = |content| Wrong {
            seed,
            verdict: comparison.verdict,
            content,
            old: old.clone(),
            new: new.clone(),
        };
        match comparison.verdict {
            Verdict::Compatible => {
                self.compatible += 1;
                let contents = if world.is_empty() { drawn(&old, &mut random) } else { world };
                self.against((&left, &right), contents).map(|content| wrong(Some(content)))
            }
            Verdict::Breaking => {
                self.breaking += 1;
                let content = witness(&comparison);
                if content.is_none() && is_described(&comparison) {
                    self.described += 1;
                    return None;
                }
                let shows = content.as_ref().is_some_and(|content| parts(&left, &right, content));
                if shows { None } else { Some(wrong(content)) }
            }
            Verdict::Unknown => {
                let reason = comparison.obstacles().next().map(|part| part.reason.clone());
                *self.unknown.entry(reason.unwrap_or_default()).or_default() += 1;
                None
            }
        }
    }

    /// Looks for a document that the first accepts and the second refuses.
    fn against(&mut self, (left, right): (&Context, &Context), contents: Vec<Value>) -> Option<Value> {
        contents.into_iter().find(|content| {
            self.documents += u64::from(accepts(left, content) == Some(Taken::Yes));
            parts_by_more_than_case(left, right, content) == Some(true)
        })
    }
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
    let refused = match newer.validator.conform(object, None) {
        Err(_) => true,
        Ok(()) => newer.casing.conform(object, None).is_err() && !open_names::excused(older, newer, content),
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
