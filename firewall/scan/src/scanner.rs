//! All scores of one text.

use std::sync::Arc;

use crate::baseline::Baseline;
use crate::fold::{fold, hidden};
use crate::linear::Extractor;
use crate::markers::{Markers, Wordings};
use crate::model::{Model, SHAPE};
use crate::views::views;

/// Most characters that a caller may pass for one instance, over all its texts, as [`scored_characters`](crate::scored_characters)
/// counts them. A caller refuses more: a part of a text has no score. The work is linear in the characters.
pub const MAX_CHARACTERS: usize = 100_000;

/// Least rank of a text with one class of [`Markers`] that people use as well.
const HINT: u8 = 60;
/// Least rank of a text with one class, if the wording is none of people or the model agrees, and of a text with two classes.
const ALARM: u8 = 75;
/// Least rank of a text with two classes, if the model agrees at all.
const CERTAIN: u8 = 95;
/// Rank of the model that bears out one class that people use as well: one benign text in a hundred reaches it.
const AGREES: u8 = 50;
/// Rank of the model that bears out two classes.
const AGREES_AT_ALL: u8 = 25;

/// The scores that a caller asks for. Others stay 0 and cost nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wanted {
    /// [`TextScores::hidden`].
    pub hidden: bool,
    /// [`TextScores::markers`].
    pub markers: bool,
    /// [`TextScores::injection`].
    pub injection: bool,
    /// [`TextScores::unusual`].
    pub unusual: bool,
}

/// The scores of a text, or of several texts of one instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextScores {
    /// Characters that change what a person reads without being seen: those that `x-free-text` refuses, and those without width.
    /// Line breaks and tabs do not count.
    pub hidden: u64,
    /// Classes of wordings that address a model.
    pub markers: Markers,
    /// A rank from 0 to 100: about 1, 0.3 and 0.1 % of benign texts reach 50, 75 and 90.
    pub injection: u8,
    /// A rank from 0 to 1000 among texts of the field that were held out; absent without a baseline.
    pub unusual: Option<u16>,
}

impl TextScores {
    /// The scores of both together: the sum of hidden characters, all markers, the higher ranks.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self {
            hidden: self.hidden.saturating_add(other.hidden),
            markers: self.markers | other.markers,
            injection: self.injection.max(other.injection),
            unusual: self.unusual.max(other.unusual),
        }
    }
}

/// The rank of the model, lifted by wordings. More wordings and a higher rank never lower it.
fn lifted(rank: u8, wordings: Wordings) -> u8 {
    let least = match wordings.markers.count() {
        0 => 0,
        1 if wordings.strong || rank >= AGREES => ALARM,
        1 => HINT,
        _ if rank >= AGREES_AT_ALL => CERTAIN,
        _ => ALARM,
    };
    rank.max(least)
}

/// Works out scores with one model.
#[derive(Debug, Clone)]
pub struct Scanner {
    /// The model of `injection`.
    pub model: Arc<Model>,
}

impl Scanner {
    /// The wanted scores of a text. A text in many disguises has the highest score of all its readings.
    pub fn scan(&self, text: &str, baseline: Option<&Baseline>, wanted: Wanted) -> TextScores {
        let mut scores = TextScores::default();
        if wanted.hidden {
            scores.hidden = hidden(text);
        }
        if let Some(baseline) = baseline.filter(|_| wanted.unusual) {
            scores.unusual = Some(baseline.rank(&fold(text)));
        }
        if !wanted.markers && !wanted.injection {
            return scores;
        }
        let views = views(text);
        let wordings = views.iter().fold(Wordings::default(), |all, view| all | Wordings::of(view));
        if wanted.injection {
            scores.injection = lifted(self.model.rank(self.highest(&views)), wordings);
        }
        if wanted.markers {
            scores.markers = wordings.markers;
        }
        scores
    }

    /// The raw score of the model, in 1/65,536 of a logit, before the table and without markers: to calibrate a table with.
    pub fn raw(&self, text: &str) -> i32 {
        self.highest(&views(text))
    }

    fn highest(&self, views: &[String]) -> i32 {
        let mut extractor = Extractor::new(SHAPE);
        views.iter().map(|view| highest(&self.model, &mut extractor, view)).max().unwrap_or(i32::MIN)
    }
}

/// The score of the highest window, in 1/65,536.
fn highest(model: &Model, extractor: &mut Extractor, view: &str) -> i32 {
    let mut highest = i32::MIN;
    extractor.windows(view, |grams| highest = highest.max(model.linear.score(grams)));
    highest
}

#[cfg(test)]
mod tests;
