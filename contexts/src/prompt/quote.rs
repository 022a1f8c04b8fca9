//! Texts of a document as data in a prompt.

use std::fmt::Write as _;

use crate::schema::is_unseen;

/// Characters of a text that a prompt shows: two or three sentences.
const MOST_SHOWN: usize = 240;

/// Characters of a name or code that stands whole in a prompt. A longer one is counted as left out.
const MOST_NAME: usize = 256;

/// A text in double quotes on one line, at most 240 characters of it; the rest is counted behind the quotation. These characters
/// stand as their number, `\u{22}`: quotation marks and their look-alikes, the backslash, `<` and `>` (which write special
/// tokens), control and bidirectional characters, characters without width, and every blank but the space.
#[must_use]
pub fn quoted(text: &str) -> String {
    let total = text.chars().count();
    let mut shown = String::with_capacity(text.len().min(MOST_SHOWN * 4) + 2);
    shown.push('"');
    text.chars().take(MOST_SHOWN).for_each(|c| push(&mut shown, c));
    shown.push('"');
    if let Some(more) = total.checked_sub(MOST_SHOWN).filter(|more| *more > 0) {
        let _ = write!(shown, " (and {more} more characters)");
    }
    shown
}

fn push(shown: &mut String, c: char) {
    if is_shown(c) {
        shown.push(c);
    } else {
        let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
    }
}

fn is_shown(c: char) -> bool {
    !(is_unseen(c) || is_invisible(c) || is_mark(c) || (c.is_whitespace() && c != ' '))
}

/// Characters that could end a quotation, or that spell special tokens of models.
const fn is_mark(c: char) -> bool {
    matches!(
        c,
        '"' | '\\' | '<' | '>' | '«' | '»' | '\u{2018}'..='\u{201f}' | '\u{2033}' | '\u{2036}' | '\u{2039}' | '\u{203a}' | '\u{275d}'
            | '\u{275e}' | '\u{301d}'..='\u{301f}' | '\u{ff02}' | '\u{ff1c}' | '\u{ff1e}' | '\u{ff3c}'
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
    let mut shown = String::from("\"");
    text.chars().for_each(|c| push(&mut shown, c));
    shown.push('"');
    Some(shown)
}

/// A letter or digit, then letters, digits, `_`, `-` and `.`; at most 64, as names of terms.
fn is_bare(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}
