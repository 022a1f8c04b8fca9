//! Words that were pulled apart or pushed together.

use std::collections::BTreeMap;

/// Least single letters in a row that are joined to words.
const SINGLE_LETTERS: usize = 6;
/// A word with more separators of one kind is taken for several words.
const SEPARATORS: usize = 3;
/// The same in a word with an address of mail or of a page inside.
const SEPARATORS_OF_ADDRESS: usize = 7;
/// A page's address starts with a scheme that ends before this byte; it is never taken apart.
const SCHEME: usize = 10;

/// Signs that tie words of all kinds. Other signs tie only words of nothing but letters: code is full of them.
const TIES: [char; 9] = ['-', '_', '.', '~', '/', '+', '|', '*', ','];
/// Those that tie words next to an address.
const TIES_OF_ADDRESS: [char; 4] = ['-', '_', '+', '~'];

/// Signs between letters and words of any run, next to the sign that ties its first two letters.
fn is_gap(c: char) -> bool {
    c == '\n' || matches!(c, ' ' | '\t') || TIES.contains(&c)
}

/// The text with runs of single letters joined to words: one sign between letters, more than one between words.
pub(super) fn joined(base: &str) -> Option<String> {
    let signs: Vec<char> = base.chars().collect();
    let is_letter = |at: usize| signs.get(at).is_some_and(|c| c.is_alphanumeric());
    let mut read = String::with_capacity(base.len());
    let (mut at, mut changed) = (0, false);
    while at < signs.len() {
        let opens = is_letter(at) && !(at > 0 && is_letter(at - 1)) && !is_letter(at + 1);
        let run = if opens { run_of_single_letters(&signs, at) } else { Run::default() };
        if run.letters < SINGLE_LETTERS {
            read.extend(signs.get(at..=at.max(run.end)).unwrap_or_default());
            at = at.max(run.end) + 1;
            continue;
        }
        changed = true;
        read.push_str(&run.text);
        at = run.end + 1;
    }
    changed.then_some(read)
}

/// Single letters in a row: their text as words, and the position of the last one.
#[derive(Default)]
struct Run {
    letters: usize,
    text: String,
    end: usize,
}

fn run_of_single_letters(signs: &[char], start: usize) -> Run {
    let sign = |at: usize| signs.get(at).copied();
    let is_letter = |at: usize| sign(at).is_some_and(char::is_alphanumeric);
    let mut run = Run { letters: 1, text: sign(start).into_iter().collect(), end: start };
    let tie = sign(start + 1).filter(|c| !c.is_alphanumeric());
    loop {
        let in_gap = |c: char| is_gap(c) || Some(c) == tie;
        let gap = (run.end + 1..).take_while(|at| sign(*at).is_some_and(in_gap)).take(8).count();
        let next = run.end + gap + 1;
        if gap == 0 || !is_letter(next) || is_letter(next + 1) {
            return run;
        }
        if gap > 1 || sign(run.end + 1) != tie {
            run.text.push(' ');
        }
        run.text.extend(sign(next));
        run.letters += 1;
        run.end = next;
    }
}

/// The text with blanks between words that a sign ties together, whichever sign repeats. Only words of letters with more than three
/// signs of one kind count, and with an address inside more than seven.
pub(super) fn parted(base: &str) -> Option<String> {
    let mut read = String::with_capacity(base.len());
    let mut changed = false;
    for word in base.split_inclusive(char::is_whitespace) {
        match separator(word) {
            Some(sign) => {
                changed = true;
                read.extend(word.chars().map(|c| if c == sign { ' ' } else { c }));
            }
            None => read.push_str(word),
        }
    }
    changed.then_some(read)
}

fn separator(word: &str) -> Option<char> {
    if word.starts_with("www.") || word.find("://").is_some_and(|at| at < SCHEME) {
        return None;
    }
    let address = word.contains('@') || word.contains("://");
    let least = if address { SEPARATORS_OF_ADDRESS } else { SEPARATORS };
    let ties = |sign: char, strict: bool| {
        let (mut pieces, mut letters) = (0, 0);
        for piece in word.trim().split(sign).filter(|piece| !piece.is_empty()) {
            pieces += 1;
            letters += usize::from(match strict {
                true => piece.chars().all(char::is_alphabetic),
                false => piece.chars().any(char::is_alphabetic),
            });
        }
        letters > least && letters * 4 >= pieces * if strict { 4 } else { 3 }
    };
    let known: &[char] = if address { &TIES_OF_ADDRESS } else { &TIES };
    let plain = known.iter().copied().find(|sign| ties(*sign, false));
    plain.or_else(|| most_frequent_gap(word).filter(|sign| !address && ties(*sign, true)))
}

/// The sign other than letters and digits that stands most often in a word.
fn most_frequent_gap(word: &str) -> Option<char> {
    let mut counts = BTreeMap::<char, usize>::new();
    for sign in word.trim().chars().filter(|c| !c.is_alphanumeric()) {
        *counts.entry(sign).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(sign, _)| sign)
}
