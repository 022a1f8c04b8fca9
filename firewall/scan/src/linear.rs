//! Hashed n-grams of a window, and a linear score over them in integers.

use crate::hash::bucket;
use crate::parts::{PART, Part, Parts, QUARTER};

/// Shape of the features: two halves of the same number of buckets, characters first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Buckets of one half; a power of two.
    pub(crate) buckets: u32,
    /// Longest n-gram of words.
    pub(crate) words: usize,
}

/// Distinct buckets of one part, and the words at its edges.
#[derive(Debug, Default, Clone)]
pub(crate) struct Grams {
    pub(crate) characters: Vec<u32>,
    pub(crate) words: Vec<u32>,
    first: Vec<String>,
    last: Vec<String>,
}

/// A set of buckets that is emptied by its own list.
struct Seen(Box<[u64]>);

impl Seen {
    fn insert(&mut self, bucket: u32) -> bool {
        let Some(bits) = self.0.get_mut((bucket >> 6) as usize) else { return false };
        let bit = 1_u64 << (bucket & 63);
        let fresh = *bits & bit == 0;
        *bits |= bit;
        fresh
    }

    fn remove(&mut self, buckets: &[u32]) {
        for bucket in buckets {
            if let Some(bits) = self.0.get_mut((bucket >> 6) as usize) {
                *bits = 0;
            }
        }
    }
}

/// Works out features; its memory is reused from part to part.
pub(crate) struct Extractor {
    shape: Shape,
    seen: Seen,
    word: String,
    starts: Vec<usize>,
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '\''
}

/// Words and single signs of a part.
fn tokens(part: &str) -> Vec<&str> {
    let (mut tokens, mut open) = (Vec::with_capacity(64), None);
    for (at, c) in part.char_indices() {
        if is_word(c) {
            open = open.or(Some(at));
            continue;
        }
        if let Some(start) = open.take() {
            tokens.extend(part.get(start..at));
        }
        if !c.is_whitespace() {
            tokens.extend(part.get(at..at + c.len_utf8()));
        }
    }
    if let Some(start) = open {
        tokens.extend(part.get(start..));
    }
    tokens
}

impl Extractor {
    pub(crate) fn new(shape: Shape) -> Self {
        let bits = vec![0; (shape.buckets as usize).div_ceil(64)].into_boxed_slice();
        Self { shape, seen: Seen(bits), word: String::new(), starts: Vec::new() }
    }

    /// The features of one part.
    pub(crate) fn grams(&mut self, part: &str) -> Grams {
        let characters = self.character_grams(part);
        let tokens = tokens(part);
        let mut words = Vec::with_capacity(tokens.len() * self.shape.words);
        self.word_grams(&tokens, 0, &mut words);
        self.seen.remove(&words);
        let edge = self.shape.words.saturating_sub(1);
        let first = tokens.iter().take(edge).map(|word| (*word).to_owned()).collect();
        let last =
            tokens.iter().skip(tokens.len().saturating_sub(edge)).map(|word| (*word).to_owned()).collect();
        Grams { characters, words, first, last }
    }

    /// Runs of three to five characters of each word with a blank at both ends; a shorter word counts once.
    fn character_grams(&mut self, part: &str) -> Vec<u32> {
        let mask = self.shape.buckets - 1;
        let mut grams = Vec::with_capacity(part.len() * 3);
        for word in part.split_whitespace() {
            self.word.clear();
            self.word.push(' ');
            self.word.push_str(word);
            self.word.push(' ');
            self.starts.clear();
            self.starts.extend(self.word.char_indices().map(|(at, _)| at));
            self.starts.push(self.word.len());
            let length = self.starts.len() - 1;
            for size in 3..=5 {
                for (start, end) in self.starts.iter().zip(self.starts.iter().skip(size.min(length))) {
                    let gram = bucket(self.word.as_bytes().get(*start..*end).unwrap_or_default(), mask);
                    if self.seen.insert(gram) {
                        grams.push(gram);
                    }
                }
                if length <= size {
                    break;
                }
            }
        }
        self.seen.remove(&grams);
        grams
    }

    /// Adds the runs of words that reach beyond the first `inside` ones, where those before are a part of their own.
    fn word_grams(&mut self, tokens: &[&str], inside: usize, grams: &mut Vec<u32>) {
        let mask = self.shape.buckets - 1;
        for size in 1..=self.shape.words {
            for (start, run) in tokens.windows(size).enumerate() {
                let crosses = start < inside && start + size > inside;
                if inside > 0 && !crosses {
                    continue;
                }
                self.word.clear();
                for (at, token) in run.iter().enumerate() {
                    if at > 0 {
                        self.word.push(' ');
                    }
                    self.word.push_str(token);
                }
                let gram = bucket(self.word.as_bytes(), mask);
                if self.seen.insert(gram) {
                    grams.push(gram);
                }
            }
        }
    }

    /// The features of two parts that follow each other.
    pub(crate) fn joined(&mut self, left: &Grams, right: &Grams) -> Grams {
        let characters = self.union(&left.characters, &right.characters);
        self.seen.remove(&characters);
        let mut words = self.union(&left.words, &right.words);
        let edge: Vec<&str> = left.last.iter().chain(&right.first).map(String::as_str).collect();
        self.word_grams(&edge, left.last.len(), &mut words);
        self.seen.remove(&words);
        Grams { characters, words, first: Vec::new(), last: Vec::new() }
    }

    fn union(&mut self, left: &[u32], right: &[u32]) -> Vec<u32> {
        let mut all = Vec::with_capacity(left.len() + right.len() + 8);
        all.extend(left.iter().chain(right).filter(|gram| self.seen.insert(**gram)));
        all
    }

    /// Gives the features of each window of a folded text to `each`: each part, each two parts that follow each other, and within
    /// a sentence of more than one part also each half of a part. A text without words has one empty window.
    pub(crate) fn windows(&mut self, text: &str, mut each: impl FnMut(&Grams)) {
        let mut before: Option<Grams> = None;
        let mut long = false;
        for part in Parts::new(text, PART) {
            let grams = self.grams(part.text);
            each(&grams);
            if let Some(before) = &before {
                each(&self.joined(before, &grams));
            }
            before = Some(grams);
            long |= !part.opens;
        }
        if before.is_none() {
            each(&Grams::default());
        }
        if long {
            self.halves(text, &mut each);
        }
    }

    /// The halves of parts, one quarter further each time, in sentences of more than four quarters.
    fn halves(&mut self, text: &str, each: &mut impl FnMut(&Grams)) {
        let mut sentence: Vec<Part<'_>> = Vec::new();
        let mut quarters = Parts::new(text, QUARTER).peekable();
        while let Some(quarter) = quarters.next() {
            sentence.push(quarter);
            if quarters.peek().is_some_and(|next| !next.opens) {
                continue;
            }
            if sentence.len() > 4 {
                let mut before: Option<Grams> = None;
                for quarter in &sentence {
                    let grams = self.grams(quarter.text);
                    if let Some(before) = &before {
                        each(&self.joined(before, &grams));
                    }
                    before = Some(grams);
                }
            }
            sentence.clear();
        }
    }
}

/// Weights of two halves with a bias, in fixed point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Linear {
    pub(crate) weights: Box<[i8]>,
    /// Added to each score, in 1/65,536.
    pub(crate) bias: i32,
    /// One step of a weight, in 1/2^24.
    pub(crate) scale: u32,
}

/// Largest step of a weight, so that no sum overflows.
pub(crate) const MAX_SCALE: u32 = 1 << 26;

impl Linear {
    /// The score of a window in 1/65,536: `bias + scale * (sum / sqrt(n) + sum / sqrt(n))` over both halves.
    pub(crate) fn score(&self, grams: &Grams) -> i32 {
        let (characters, words) = self.weights.split_at(self.weights.len() / 2);
        let sum = half(characters, &grams.characters) + half(words, &grams.words);
        let scaled = (sum * i64::from(self.scale)) >> 28;
        i32::try_from(scaled)
            .map_or(if scaled < 0 { i32::MIN } else { i32::MAX }, |z| z.saturating_add(self.bias))
    }
}

/// The sum of the weights of these buckets over the square root of their number, in 1/2^20.
fn half(weights: &[i8], buckets: &[u32]) -> i64 {
    let sum: i32 =
        buckets.iter().filter_map(|bucket| weights.get(*bucket as usize)).map(|w| i32::from(*w)).sum();
    let count = u64::try_from(buckets.len()).unwrap_or(u64::MAX).max(1);
    let inverse = ((1_u64 << 40) / count).isqrt();
    i64::from(sum) * i64::try_from(inverse).unwrap_or(0)
}
