//! The letters: each is a set of characters that no automaton can tell apart.

use std::collections::{BTreeMap, BTreeSet};

use super::super::budget::Budget;
use super::TextConstraints;
use super::nfa::{self, Nfa};
use crate::schema::is_refused;

/// The letters, each with its representative.
#[derive(Debug)]
pub(super) struct Alphabet {
    letters: Vec<Letter>,
}

#[derive(Debug)]
struct Letter {
    char: char,
    /// Free text refuses it.
    odd: bool,
    /// The classes of each pattern that hold it.
    classes: Vec<BTreeSet<usize>>,
}

/// The key of a letter: refused in free text, named in an excluded text, and the classes that hold it.
type Key = (bool, Option<char>, Vec<BTreeSet<usize>>);

/// The ranges of characters that free text refuses.
const ODD: [(char, char); 8] = [
    ('\0', '\u{1f}'),
    ('\u{7f}', '\u{9f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{200e}', '\u{200f}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2066}', '\u{2069}'),
    ('\u{e0000}', '\u{e007f}'),
];

/// Classes of characters that are looked at within one step: each is a search in a table.
const CLASSES_A_STEP: u64 = 8;

impl Alphabet {
    /// The letters; none if there is no time for them.
    pub(super) fn of(patterns: &[&Nfa], wanted: &TextConstraints<'_>, budget: &Budget) -> Option<Self> {
        let all = patterns.iter().map(|nfa| nfa.classes.len() as u64).sum::<u64>();
        let mut cuts: BTreeSet<u32> = BTreeSet::from([0]);
        let mut cut = |first: char, last: char| {
            cuts.insert(u32::from(first));
            cuts.insert(u32::from(last) + 1);
        };
        for ranges in patterns.iter().flat_map(|nfa| &nfa.classes) {
            if !budget.spend(1 + ranges.len() as u64 / CLASSES_A_STEP) {
                return None;
            }
            ranges.iter().for_each(|(first, last)| cut(*first, *last));
        }
        if wanted.plain || wanted.not_plain {
            ODD.iter().for_each(|(first, last)| cut(*first, *last));
        }
        let named: BTreeSet<char> = wanted.not.iter().flat_map(|text| text.chars()).collect();
        named.iter().for_each(|c| cut(*c, *c));
        // characters that read well in a witness, so that they can be chosen
        for (first, last) in [('a', 'z'), ('A', 'Z'), ('0', '9'), (' ', ' '), ('!', '~')] {
            cut(first, last);
        }
        let mut letters: BTreeMap<Key, char> = BTreeMap::new();
        let ends = cuts.iter().skip(1).copied().chain([0x11_0000]);
        for (first, end) in cuts.iter().zip(ends) {
            if !budget.spend(1 + all / CLASSES_A_STEP) {
                return None;
            }
            // surrogates are no characters
            let Some(c) = (*first..end).find_map(char::from_u32) else { continue };
            let classes: Vec<BTreeSet<usize>> = patterns.iter().map(|nfa| classes_of(nfa, c)).collect();
            let alone = named.contains(&c).then_some(c);
            let key = (is_refused(c), alone, classes);
            letters.entry(key).and_modify(|old| *old = nicer(*old, c)).or_insert(c);
        }
        let mut letters: Vec<Letter> =
            letters.into_iter().map(|((odd, _, classes), char)| Letter { char, odd, classes }).collect();
        letters.sort_by_key(|letter| (rank(letter.char), letter.char));
        Some(Alphabet { letters })
    }

    pub(super) fn len(&self) -> usize {
        self.letters.len()
    }

    pub(super) fn char(&self, letter: usize) -> Option<char> {
        self.letters.get(letter).map(|letter| letter.char)
    }

    pub(super) fn is_odd(&self, letter: usize) -> bool {
        self.letters.get(letter).is_some_and(|letter| letter.odd)
    }

    pub(super) fn is_in(&self, letter: usize, pattern: usize, class: usize) -> bool {
        let classes = self.letters.get(letter).and_then(|letter| letter.classes.get(pattern));
        classes.is_some_and(|classes| classes.contains(&class))
    }
}

fn classes_of(nfa: &Nfa, c: char) -> BTreeSet<usize> {
    let held = nfa.classes.iter().enumerate().filter(|(_, ranges)| nfa::holds(ranges, c));
    held.map(|(index, _)| index).collect()
}

/// The readability of a character: letters, digits, other ASCII, anything visible, the rest.
fn rank(c: char) -> u8 {
    match c {
        'a'..='z' => 0,
        'A'..='Z' => 1,
        '0'..='9' => 2,
        '!'..='~' => 3,
        ' ' => 4,
        c if !is_refused(c) => 5,
        _ => 6,
    }
}

fn nicer(old: char, new: char) -> char {
    if rank(new) < rank(old) { new } else { old }
}
