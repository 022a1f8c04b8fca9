//! Histograms of `injection` by concept, over all generations: what a threshold would refuse.

use super::Scored;
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// Upper bounds of the buckets of a histogram of `injection`, which has 0 to 100.
pub const INJECTION_BUCKETS: [u64; 8] = [0, 10, 25, 49, 74, 89, 94, 100];
/// Concepts that have a histogram of their own; text of further ones counts under [`OTHER`]. More than a gateway's policies name.
const CONCEPTS: usize = 256;
/// The name of all further concepts. No concept of a context has it, since its line is not empty.
const OTHER: &str = "other";

/// Counts of scored texts. Shared by the inspector and the metrics; it outlives generations.
#[derive(Debug, Default)]
pub struct ScanCounts(Mutex<BTreeMap<String, InjectionHistogram>>);

/// How often each range of `injection` was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InjectionHistogram {
    /// Instances by bucket of [`INJECTION_BUCKETS`], each without those of the buckets before.
    pub counts: [u64; INJECTION_BUCKETS.len()],
    /// Sum of all scores.
    pub sum: u64,
}

impl ScanCounts {
    /// Counts the text of one instance, once for each message.
    pub(crate) fn add(&self, scored: &Scored) {
        if !scored.scores.made.injection {
            return;
        }
        let score = scored.scores.injection;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = format!("{}::{}", scored.line, scored.concept);
        let name = if all.len() < CONCEPTS || all.contains_key(&name) { name } else { OTHER.to_owned() };
        let histogram = all.entry(name).or_default();
        histogram.sum = histogram.sum.saturating_add(score);
        let bucket = INJECTION_BUCKETS.iter().position(|bound| score <= *bound);
        if let Some(count) = bucket.and_then(|at| histogram.counts.get_mut(at)) {
            *count = count.saturating_add(1);
        }
    }

    /// The histogram of each concept as `line::concept`, sorted by name.
    pub fn all(&self) -> Vec<(String, InjectionHistogram)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(name, histogram)| (name.clone(), *histogram)).collect()
    }
}
