//! Texts of a document as data in a prompt.

use std::fmt::Write as _;

use unicode_normalization::char::decompose_compatible;

use crate::schema::is_unseen;

/// Characters of a text that a prompt shows: two or three sentences.
const MOST_SHOWN: usize = 240;

/// Characters of a name or code that stands whole in a prompt. A longer one is counted as left out.
const MOST_NAME: usize = 256;

/// Letters behind `[` that make it look like a control token, such as `[INST]`.
const WORD: usize = 3;

/// A text in double quotes on one line, at most 240 characters of it; the rest is counted behind the quotation. These characters
/// stand as their number, `\u{22}`: quotation marks and their look-alikes, the backslash, `<` and `>` (which write special
/// tokens), `[` before a word, control and bidirectional characters, characters without width, every blank but the space, and every
/// character that stands for one of these where a reader normalises (NFKD).
#[must_use]
pub fn quoted(text: &str) -> String {
    let total = text.chars().count();
    let end = text.char_indices().nth(MOST_SHOWN).map_or(text.len(), |(end, _)| end);
    let mut shown = in_quotes(text.get(..end).unwrap_or_default());
    if let Some(more) = total.checked_sub(MOST_SHOWN).filter(|more| *more > 0) {
        let _ = write!(shown, " (and {more} more characters)");
    }
    shown
}

fn in_quotes(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 2);
    shown.push('"');
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if is_shown(c) && !(c == '[' && begins_word(rest.as_str())) {
            shown.push(c);
        } else {
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
        }
    }
    shown.push('"');
    shown
}

/// Returns true for `INST]` and `/INST]`, not for `A-Z]` or `0-9]`.
fn begins_word(text: &str) -> bool {
    let text = text.strip_prefix('/').unwrap_or(text);
    text.chars().take_while(|c| c.is_alphabetic() || *c == '_').take(WORD).count() == WORD
}

fn is_shown(c: char) -> bool {
    let mut is_plain = true;
    if !c.is_ascii() {
        decompose_compatible(c, |part| is_plain &= is_plain_part(part) && !matches!(part, '[' | ']' | '|'));
    }
    is_plain && is_plain_part(c)
}

fn is_plain_part(c: char) -> bool {
    !(is_unseen(c) || is_invisible(c) || is_mark(c) || (c.is_whitespace() && c != ' '))
}

/// Characters that could end a quotation, or that spell special tokens of models. Those that normalise to one of them need no line here.
const fn is_mark(c: char) -> bool {
    matches!(
        c,
        '"' | '\\' | '<' | '>' | '«' | '»' | '\u{2ba}' | '\u{2dd}' | '\u{2ee}' | '\u{5f4}' | '\u{2018}'..='\u{201f}' | '\u{2033}'
            | '\u{2036}' | '\u{2039}' | '\u{203a}' | '\u{275d}' | '\u{275e}' | '\u{2e42}' | '\u{3003}' | '\u{301d}'..='\u{301f}'
            | '\u{1f676}'..='\u{1f678}'
    )
}

/// Characters that show nothing and are no part of free text's rule, since some languages spell with them: joiners, fillers,
/// variation selectors, private use.
const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2800}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e000}'..='\u{f8ff}' | '\u{e0100}'..='\u{e01ef}'
            | '\u{f0000}'..='\u{10ffff}'
    )
}

/// A name or a code, whole: bare if it is a plain word, else quoted. `None` if it is longer than a prompt shows.
pub(super) fn name(text: &str) -> Option<String> {
    if is_bare(text) {
        return Some(text.to_owned());
    }
    if text.chars().count() > MOST_NAME {
        return None;
    }
    Some(in_quotes(text))
}

/// A letter or digit, then letters, digits, `_`, `-` and `.`; at most 64, as names of terms.
fn is_bare(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}
