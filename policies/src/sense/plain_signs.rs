//! Texts with the signs of patterns of other languages, which Cedar takes as they are: what asks for them loads, and is hardly ever so.

use super::tokens::Token;
use crate::PolicyFault;
use crate::check::Texts;

const STAR: &str =
    "`*` stands for itself here: what begins, ends or has something in it is asked with `like`";
const PERCENT: &str = "`%` stands for itself: in a pattern of `like` anything is `*`";
const REGULAR: &str = "signs of regular expressions stand for themselves: in a pattern of `like` anything is `*`, and all else itself";
const MOMENT: &str =
    "that is so for one second: a day is asked by its begin and its end, or with `context.now.toDate()`";

impl Texts<'_> {
    /// Advice about each.
    pub fn plain_signs(&self) -> Vec<PolicyFault> {
        let mut found = Vec::new();
        for written in self.each() {
            let text = self.text(written);
            // most policies have none of them: `why` looks at patterns, at texts that begin or end with a star, and at moments
            if !["like", "*\"", "\"*", "datetime"].iter().any(|sign| text.contains(sign)) {
                continue;
            }
            let words = self.words(written);
            let told = (0..words.len()).filter_map(|at| Some((words.get(at)?.at, why(&words, at)?)));
            found.extend(told.map(|(at, why)| PolicyFault::PlainSigns {
                place: self.place_at(written, at),
                policy: written.id.to_string(),
                why,
            }));
        }
        found
    }
}

/// What is odd of one word.
fn why(words: &[Token<'_>], at: usize) -> Option<String> {
    let word = |at: Option<usize>| at.and_then(|at| words.get(at)).map_or("", |word| word.text);
    let back = |by: usize| word(at.checked_sub(by));
    let on = |by: usize| word(Some(at + by));
    let sign = |two: (&str, &str)| matches!(two, ("=" | "!", "="));
    let compared = sign((on(1), on(2))) || sign((back(2), back(1)));
    if word(Some(at)) == "datetime" {
        let now = (back(5), back(4), back(3)) == ("context", ".", "now") && (back(2), back(1)) == ("=", "=");
        return now.then(|| MOMENT.to_owned());
    }
    let shown = word(Some(at));
    let inner = shown.strip_prefix('"')?.strip_suffix('"').filter(|inner| inner.len() > 1)?;
    let said = |why: &str| Some(format!("`{shown}`: {why}"));
    if back(1) == "like" {
        return match inner {
            inner if is_regular(inner) => said(REGULAR),
            inner if !inner.contains('*') && (inner.starts_with('%') || inner.ends_with('%')) => {
                said(PERCENT)
            }
            _ => None,
        };
    }
    let listed = matches!(back(1), "[" | ",") && matches!(on(1), "," | "]");
    let starred = inner.starts_with('*') || inner.ends_with('*');
    if (compared || listed) && starred { said(STAR) } else { None }
}

/// Whether a pattern has signs that only a regular expression has a use for where they stand.
fn is_regular(pattern: &str) -> bool {
    let class = |rest: &str| {
        let rest = rest.as_bytes();
        rest.get(1) == Some(&b'-') && rest.get(3..).is_some_and(|rest| rest.contains(&b']'))
    };
    pattern.starts_with('^')
        || pattern.ends_with(".*$")
        || pattern.strip_prefix(".*").is_some_and(|rest| !rest.is_empty())
        || pattern.starts_with("(?")
        || pattern.split('[').skip(1).any(class)
}
