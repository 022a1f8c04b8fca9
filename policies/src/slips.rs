//! What was meant where a file does not parse: slips of the hand, and words of other languages. A slip is told with its own place once the
//! file was read with what was meant in its stead and the parser went past it, so that a hint is never a guess; what stands behind the first
//! slip is told too.

mod asks;
mod brackets;
mod calls;
mod clauses;
mod entities;
mod foreign;
mod lists;
mod marks;
mod numbers;
mod present;
mod quotes;
mod scope;
mod speech;
mod spot;
mod variables;

use std::ops::Range;

use cedar_policy::PolicySet;

use crate::parse::{offset, words};
use crate::sense::tokens;
pub(crate) use calls::{NO_WEEKDAY, SPAN, is_weekday};
pub(crate) use marks::latin;
use spot::Spot;

/// Slips of one file that are told with what was meant; of those behind them the parser's words alone are told. Whoever mends so many
/// checks again.
const MAX_SLIPS: usize = 16;

/// How often a file is read again to see whether a slip was what the parser stopped at. A file of 1 MiB takes some 0.3 s to be read.
const MAX_TRIES: usize = 48;

/// How many places of a file are looked at for what was meant, again after each slip: each look may go over the whole file.
const MAX_LOOKS: usize = 96;

/// Places of one file that are told, more than are looked at; of those behind them the number. A file of 1 MiB can have a million, and nobody
/// reads so many, nor is the state of a gateway to be so long.
const MAX_TOLD: usize = 256;

/// Something that does not parse.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wrong {
    /// Byte offset in the file.
    at: usize,
    /// The parser's words.
    why: String,
}

/// What a hint would have in place of this range.
type Edit = (Range<usize>, String);

/// What was probably meant.
#[derive(Debug)]
struct Slip {
    /// Where it is.
    at: usize,
    hint: String,
    /// What to read instead.
    edits: Vec<Edit>,
    /// Whether the parser's words and the tokens say it by themselves, so that it need not be tried.
    sure: bool,
    /// Whether the policy must have no other fault once it is mended.
    whole: bool,
}

impl Slip {
    fn tried(at: usize, edits: Vec<Edit>, hint: impl Into<String>) -> Self {
        Self { at, hint: hint.into(), edits, sure: false, whole: false }
    }

    fn sure(at: usize, hint: impl Into<String>) -> Self {
        Self { at, hint: hint.into(), edits: Vec::new(), sure: true, whole: false }
    }
}

/// A text with slips mended, and how far what it holds was moved.
struct Mended {
    text: String,
    moved: Vec<Vec<Edit>>,
}

/// What was done for one file.
#[derive(Debug, Default)]
struct Tries {
    /// How often it was read again.
    reads: usize,
    /// How many places were looked at.
    looks: usize,
}

/// Why a file does not parse, each with its byte offset, in the order of the file; nothing if it does.
pub(crate) fn told(text: &str) -> Vec<(usize, String)> {
    let marks = conflicts(text);
    if !marks.is_empty() {
        return marks;
    }
    if let Some(other) = foreign::told(text, &tokens::all(text)) {
        return vec![other];
    }
    let mut now = Mended { text: text.to_owned(), moved: Vec::new() };
    let mut wrong = wrong(text);
    let (mut told, mut tries) = (Vec::new(), Tries::default());
    while !wrong.is_empty() && told.len() < MAX_SLIPS {
        let Some((found, slip, left)) = mend(&now.text, &wrong, &mut tries) else { break };
        told.push((now.original(slip.at), said(&found, &slip)));
        now = now.with(slip.edits);
        wrong = left;
    }
    let words = tokens::all(&now.text);
    let mut hints = told.len();
    for (looks, one) in wrong.iter().enumerate() {
        let looked = hints < MAX_SLIPS && looks < MAX_LOOKS;
        let all = if looked { slips(&Spot::of(&now.text, &words, one)) } else { Vec::new() };
        let slip = all.into_iter().find(|slip| slip.sure);
        hints += usize::from(slip.is_some());
        told.push(match slip {
            Some(slip) => (now.original(slip.at), said(one, &slip)),
            None => (now.original(one.at), now.as_written(one)),
        });
    }
    told.sort_by_key(|(at, _)| *at);
    told.dedup();
    told
}

/// Where in a policy a function takes more or less than is said, which Cedar tells of the whole.
pub(crate) fn counted(policy: &str, why: String) -> (usize, String) {
    let wrong = Wrong { at: 0, why };
    let slip = calls::arguments(&Spot::of(policy, &tokens::all(policy), &wrong));
    match slip {
        Some(slip) => (slip.at, said(&wrong, &slip)),
        None => (0, wrong.why),
    }
}

/// Where what a merge left to be decided begins: what stands between such marks is two texts, and neither is looked at.
fn conflicts(text: &str) -> Vec<(usize, String)> {
    let told = "a merge conflict that is not resolved: keep one side, or both, and take the marks `<<<<<<<`, `=======` and `>>>>>>>` out";
    let begins = |at: &usize| *at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n');
    let marks = text.match_indices("<<<<<<< ").map(|(at, _)| at).filter(begins);
    marks.take(MAX_SLIPS).map(|at| (at, told.to_owned())).collect()
}

/// The parser's words with what was meant: without the list of what it expected there, and without the word that it stopped at where the
/// slip is at another one.
fn said(wrong: &Wrong, slip: &Slip) -> String {
    let why = match wrong.why.split_once(", expected ") {
        Some((why, _)) if why.starts_with("unexpected") && slip.at == wrong.at => why,
        Some((why, _)) if why.starts_with("unexpected") => "this does not parse",
        _ => &wrong.why,
    };
    format!("{why} ({})", slip.hint)
}

/// The first slip that the parser goes past once it is mended, and what is wrong then.
fn mend(text: &str, all: &[Wrong], tries: &mut Tries) -> Option<(Wrong, Slip, Vec<Wrong>)> {
    let words = tokens::all(text);
    for one in all {
        if tries.looks == MAX_LOOKS {
            return None;
        }
        tries.looks += 1;
        let spot = Spot::of(text, &words, one);
        for slip in slips(&spot).into_iter().filter(|slip| !slip.edits.is_empty()) {
            if tries.reads == MAX_TRIES {
                return None;
            }
            tries.reads += 1;
            let left = wrong(&edited(text, &slip.edits));
            let before =
                |other: &Wrong| Wrong { at: back(&slip.edits, other.at).place(), why: other.why.clone() };
            let stays = |other: Wrong| {
                let unread = other.why.starts_with("unexpected") || other.why.starts_with("invalid token");
                let again = other.at == one.at && (unread || other.why == one.why);
                again || (slip.whole && spot.statement().contains(&other.at) && !all.contains(&other))
            };
            if !left.iter().map(before).any(stays) {
                return Some((one.clone(), slip, left));
            }
        }
    }
    None
}

/// What could have been meant, the likeliest first.
fn slips(spot: &Spot<'_>) -> Vec<Slip> {
    let rules = [
        speech::rules(spot),
        present::rules(spot),
        asks::rules(spot),
        marks::rules(spot),
        numbers::rules(spot),
        calls::rules(spot),
        quotes::rules(spot),
        entities::rules(spot),
        lists::rules(spot),
        scope::rules(spot),
        variables::rules(spot),
        clauses::rules(spot),
        brackets::rules(spot),
    ];
    rules.into_iter().flatten().collect()
}

fn wrong(text: &str) -> Vec<Wrong> {
    let errors = match text.parse::<PolicySet>() {
        Ok(_) => return Vec::new(),
        Err(errors) => errors,
    };
    let mut errors: Vec<_> = errors.iter().map(|error| (offset(error).unwrap_or_default(), error)).collect();
    let more = errors.len().saturating_sub(MAX_TOLD);
    if more > 0 {
        errors.sort_by_key(|(at, _)| *at);
    }
    let told = errors.iter().take(MAX_TOLD);
    let mut all: Vec<Wrong> = told.map(|(at, error)| Wrong { at: *at, why: words(*error) }).collect();
    if let Some((at, _)) = errors.get(MAX_TOLD) {
        all.push(Wrong { at: *at, why: format!("{more} more that do not parse from here on") });
    }
    all
}

fn edited(text: &str, edits: &[Edit]) -> String {
    let (mut out, mut from) = (String::new(), 0);
    for (range, by) in edits {
        out.push_str(text.get(from..range.start).unwrap_or_default());
        out.push_str(by);
        from = range.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

/// Where an offset was before edits.
enum Before {
    /// In what they let stand.
    Kept(usize),
    /// In what they put in: where that stands.
    Ours(usize),
}

impl Before {
    fn place(&self) -> usize {
        match self {
            Self::Kept(at) | Self::Ours(at) => *at,
        }
    }
}

/// Where an offset was before these edits.
fn back(edits: &[Edit], at: usize) -> Before {
    // the end of the last edit, before and after it
    let (mut before, mut after) = (0, 0);
    for (range, by) in edits {
        let start = after + (range.start - before);
        if at < start {
            break;
        }
        if at < start + by.len() {
            return Before::Ours(range.start);
        }
        (before, after) = (range.end, start + by.len());
    }
    Before::Kept(before + (at - after))
}

impl Mended {
    fn with(mut self, edits: Vec<Edit>) -> Self {
        self.text = edited(&self.text, &edits);
        self.moved.push(edits);
        self
    }

    /// The parser's words, without a word at which it stopped and that is not in the file, but was put in where that was mended.
    fn as_written(&self, wrong: &Wrong) -> String {
        let ours = matches!(self.before(wrong.at), Before::Ours(_));
        match wrong.why.split_once("`, ") {
            Some((stopped, expected)) if ours && stopped.starts_with("unexpected token `") => {
                format!("something is missing, {expected}")
            }
            _ => wrong.why.clone(),
        }
    }

    /// Where an offset is in the file as it was written.
    fn original(&self, at: usize) -> usize {
        self.before(at).place()
    }

    fn before(&self, at: usize) -> Before {
        self.moved.iter().rev().fold(Before::Kept(at), |now, edits| match now {
            Before::Kept(at) => back(edits, at),
            Before::Ours(at) => Before::Ours(back(edits, at).place()),
        })
    }
}
