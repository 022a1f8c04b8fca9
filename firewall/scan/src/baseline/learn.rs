//! Learning a baseline: a linear machine between the texts of the field and general text.
//!
//! The arithmetic is addition, multiplication, division and square roots of IEEE 754 in a fixed order, which are exact everywhere.
//! The same texts give the same bytes.

use super::{Baseline, RANKS, SHAPE, strangeness};
use crate::fold::fold;
use crate::hash::murmur3;
use crate::linear::{Extractor, Grams, Linear};

/// Least texts to learn from.
const LEAST: usize = 1_000;
/// Most texts that are used; of more, those with the lowest hashes.
const MOST: usize = 20_000;
/// Folds of the split: one is held out for the rates, the others take turns for the ranks.
const FOLDS: u32 = 6;
/// Passes over the windows.
const PASSES: u32 = 12;
/// Cost of a window on the wrong side.
const COST: f64 = 4.0;
/// General text, one sentence in each line.
const GENERAL: &str = include_str!("../../general.txt");

/// A reason why nothing was learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LearnFault {
    /// Too few texts have words.
    #[error("a baseline needs at least {LEAST} texts with words; these are {0}")]
    TooFew(usize),
    /// Too few texts differ, so that none could be held out.
    #[error("the texts are too alike to hold some out: {0} differ")]
    TooAlike(usize),
}

/// The share of held-out texts that reach a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// The score `unusual`.
    pub at: u16,
    /// Held-out texts with this score or a higher one.
    pub texts: usize,
}

/// The scores of texts that the baseline never saw, neither in its weights nor in its ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldOut {
    /// Texts that were held out.
    pub texts: usize,
    /// Their counts at the scores 900, 950, 980, 990, 995 and 1,000.
    pub rates: Vec<Rate>,
}

/// A folded text with the fold of the split that it falls into.
struct Sample {
    text: String,
    fold: u32,
    windows: Vec<Example>,
}

/// The buckets of a window: indices of weights with the factor of each half.
struct Example {
    characters: Vec<u32>,
    words: Vec<u32>,
    factors: [f64; 2],
}

impl Example {
    fn of(grams: &Grams) -> Self {
        let factor =
            |buckets: &[u32]| 1.0 / f64::from(u32::try_from(buckets.len().max(1)).unwrap_or(u32::MAX)).sqrt();
        Self {
            factors: [factor(&grams.characters), factor(&grams.words)],
            characters: grams.characters.clone(),
            words: grams.words.iter().map(|bucket| bucket + SHAPE.buckets).collect(),
        }
    }

    fn dot(&self, weights: &[f64]) -> f64 {
        let sum = |buckets: &[u32]| buckets.iter().filter_map(|at| weights.get(*at as usize)).sum::<f64>();
        sum(&self.characters) * self.factors[0] + sum(&self.words) * self.factors[1]
    }

    fn add(&self, weights: &mut [f64], step: f64) {
        for (buckets, factor) in [(&self.characters, self.factors[0]), (&self.words, self.factors[1])] {
            for at in buckets {
                if let Some(weight) = weights.get_mut(*at as usize) {
                    *weight += step * factor;
                }
            }
        }
    }
}

fn examples(extractor: &mut Extractor, folded: &str) -> Vec<Example> {
    let mut windows = Vec::new();
    extractor.windows(folded, |grams| windows.push(Example::of(grams)));
    windows
}

impl Baseline {
    /// Learns the table of a field from at least 1,000 texts of it. Of more than 20,000 texts, 20,000 are used. The order of the
    /// texts does not matter, and equal texts are held out together.
    ///
    /// # Errors
    /// [`LearnFault`] if too few texts have words or differ.
    pub fn learn(texts: &[String]) -> Result<(Self, HeldOut), LearnFault> {
        let mut extractor = Extractor::new(SHAPE);
        let samples = samples(texts, &mut extractor)?;
        let general: Vec<Example> =
            GENERAL.lines().flat_map(|line| examples(&mut extractor, &fold(line))).collect();
        let mut scores = Vec::with_capacity(samples.len());
        for fold in 1..FOLDS {
            let linear = machine(samples.iter().filter(|one| one.fold != 0 && one.fold != fold), &general);
            let turned = samples.iter().filter(|one| one.fold == fold);
            scores.extend(turned.map(|one| strangeness(&linear, &mut extractor, &one.text)));
        }
        scores.sort_unstable();
        let linear = machine(samples.iter().filter(|one| one.fold != 0), &general);
        let baseline = Self { linear, ranks: ranks(&scores) };
        let held: Vec<u16> =
            samples.iter().filter(|one| one.fold == 0).map(|one| baseline.rank(&one.text)).collect();
        let rates = [900, 950, 980, 990, 995, 1_000];
        let rates = rates.map(|at| Rate { at, texts: held.iter().filter(|score| **score >= at).count() });
        Ok((baseline, HeldOut { texts: held.len(), rates: rates.to_vec() }))
    }
}

/// The texts with words, in the order of their hashes.
fn samples(texts: &[String], extractor: &mut Extractor) -> Result<Vec<Sample>, LearnFault> {
    let folded = texts.iter().map(|text| fold(text)).filter(|text| !text.trim().is_empty());
    let mut keyed: Vec<(u32, String)> = folded.map(|text| (murmur3(text.as_bytes()), text)).collect();
    if keyed.len() < LEAST {
        return Err(LearnFault::TooFew(keyed.len()));
    }
    keyed.sort_unstable();
    keyed.truncate(MOST);
    let mut different = keyed.iter().map(|(_, text)| text).collect::<Vec<_>>();
    different.dedup();
    if different.len() < LEAST / 10 {
        return Err(LearnFault::TooAlike(different.len()));
    }
    let sample = |(key, text): (u32, String)| {
        let windows = examples(extractor, &text);
        Sample { fold: (key >> 8) % FOLDS, windows, text }
    };
    Ok(keyed.into_iter().map(sample).collect())
}

/// The lowest score of each rank: rank `r` is reached by a text that is stranger than `r` of 1,000 held-out texts.
fn ranks(sorted: &[i32]) -> Box<[i32]> {
    let at = |rank: usize| sorted.get((sorted.len() * rank).div_ceil(RANKS).saturating_sub(1));
    (1..=RANKS).map(|rank| at(rank).map_or(i32::MAX, |score| score.saturating_add(1))).collect()
}

/// A linear machine with squared hinge loss, by dual coordinate descent in a fixed order.
fn machine<'s>(own: impl Iterator<Item = &'s Sample>, general: &'s [Example]) -> Linear {
    let own = own.flat_map(|one| &one.windows).map(|window| (window, 1.0));
    let all: Vec<(&Example, f64)> = own.chain(general.iter().map(|window| (window, -1.0))).collect();
    let mut weights = vec![0.0_f64; SHAPE.buckets as usize * 2];
    let (mut bias, mut duals) = (0.0_f64, vec![0.0_f64; all.len()]);
    let mut order: Vec<usize> = (0..all.len()).collect();
    let mut state = 1_u64;
    let diagonal = 0.5 / COST;
    for _ in 0..PASSES {
        shuffle(&mut order, &mut state);
        for at in &order {
            let (Some((window, side)), Some(dual)) = (all.get(*at), duals.get_mut(*at)) else { continue };
            let gradient = side * (window.dot(&weights) + bias) - 1.0 + diagonal * *dual;
            // both halves have length one, and the bias counts as a feature
            let next = (*dual - gradient / (3.0 + diagonal)).max(0.0);
            let step = (next - *dual) * side;
            *dual = next;
            window.add(&mut weights, step);
            bias += step;
        }
    }
    quantized(&weights, bias)
}

fn shuffle(order: &mut [usize], state: &mut u64) {
    for at in (1..order.len()).rev() {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = usize::try_from(*state >> 33).unwrap_or(0) % (at + 1);
        order.swap(at, other);
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "each value is clamped to its type first"
)]
fn quantized(weights: &[f64], bias: f64) -> Linear {
    let largest = weights.iter().fold(1e-6_f64, |most, weight| most.max(weight.abs()));
    let step = largest / 127.0;
    let weights = weights.iter().map(|weight| (weight / step).round().clamp(-127.0, 127.0) as i8).collect();
    let scale =
        (step * f64::from(1_u32 << 24)).round().clamp(1.0, f64::from(crate::linear::MAX_SCALE)) as u32;
    Linear { weights, bias: (bias * 65_536.0).round().clamp(-1e9, 1e9) as i32, scale }
}
