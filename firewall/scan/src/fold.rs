//! One spelling for all spellings of a text: compatibility forms, letter case, marks and invisible characters are taken off.

use semgate_contexts::schema::is_unseen;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Characters that take no room and carry no letter. Blanks, line breaks and tabs stay: they part words.
pub(crate) fn is_invisible(c: char) -> bool {
    match c {
        '\t'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => false,
        '\u{200c}' | '\u{200d}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{3164}' | '\u{ffa0}' => true,
        '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0080}'..='\u{e0fff}' => true,
        _ => is_unseen(c),
    }
}

/// Characters of a text that change what a person reads without being seen. It is the rule of `x-free-text` with the characters
/// without width; line breaks and tabs are left out, since text that no schema marks holds them by right.
pub(crate) fn hidden(text: &str) -> u64 {
    let count = text.chars().filter(|c| is_unseen(*c) && !matches!(c, '\n' | '\r' | '\t')).count();
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Two signs that NFKC turns into whole phrases, up to 18 characters each: they would multiply the work.
fn is_phrase(c: char) -> bool {
    matches!(c, '\u{fdfa}' | '\u{fdfb}')
}

/// Most bytes of a character in UTF-8.
const BYTES: usize = 4;

/// The characters of a text for a bound on the work: those that it has, or a quarter of the bytes that its one spelling has if that is
/// more. Some signs stand for a whole word, and each letter of the word is scored. A text with more than [`MAX_CHARACTERS`] is not spelled
/// out: its own characters are the answer.
///
/// [`MAX_CHARACTERS`]: crate::MAX_CHARACTERS
pub fn scored_characters(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    let characters = text.chars().count();
    if characters > crate::MAX_CHARACTERS {
        return characters;
    }
    characters.max(fold(text).len().div_ceil(BYTES))
}

/// The folded text: NFKC, lower case, no combining marks, nothing invisible. Syllables of Hangul stay whole.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        let mut folded = text.to_ascii_lowercase();
        if folded.bytes().any(|b| is_invisible(char::from(b))) {
            folded.retain(|c| !is_invisible(c));
        }
        return folded;
    }
    let seen = text.chars().filter(|c| !is_invisible(*c)).map(|c| if is_phrase(c) { '\u{fffd}' } else { c });
    let lower = seen.nfkc().flat_map(char::to_lowercase);
    lower.nfd().filter(|c| !is_combining_mark(*c) && !is_invisible(*c)).nfc().collect()
}
