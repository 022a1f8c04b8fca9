//! One spelling for all spellings of a text: compatibility forms, letter case, marks and invisible characters are taken off.

use std::borrow::Cow;

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

/// Characters of a text that a person does not see: those that `x-free-text` refuses, and all that the folded text is without. Line
/// breaks and tabs are left out, since text that no schema marks holds them by right, and so are signs that spelling needs.
pub(crate) fn hidden(text: &str) -> u64 {
    let mut hidden = 0;
    let mut before = [' '; 2];
    let mut signs = text.chars().peekable();
    while let Some(c) = signs.next() {
        let unseen = !matches!(c, '\n' | '\r' | '\t') && (is_unseen(c) || is_invisible(c));
        hidden += u64::from(unseen && !is_spelling(before, c, signs.peek().copied().unwrap_or(' ')));
        before = [before[1], c];
    }
    hidden
}

/// True for one selector of an emoji, one joiner of two emojis, and one joiner after a letter of a script that spells with joiners.
fn is_spelling(before: [char; 2], c: char, after: char) -> bool {
    match c {
        '\u{fe0f}' => is_emoji(before[1]) || after == '\u{20e3}',
        '\u{200c}' => is_joining(before[1]),
        '\u{200d}' => {
            let base = if before[1] == '\u{fe0f}' { before[0] } else { before[1] };
            is_joining(before[1]) || (is_emoji(base) && is_emoji(after))
        }
        _ => false,
    }
}

fn is_emoji(c: char) -> bool {
    matches!(c, '©' | '®' | '\u{203c}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
        && !is_invisible(c)
}

/// Letters and marks of Arabic, Syriac and the scripts of India and its neighbours.
fn is_joining(c: char) -> bool {
    matches!(c, '\u{620}'..='\u{8ff}' | '\u{900}'..='\u{109f}' | '\u{1780}'..='\u{18aa}' | '\u{fb50}'..='\u{fdff}')
        && !is_invisible(c)
}

/// Two signs that NFKC turns into whole phrases, up to 18 characters each: they would multiply the work.
fn is_phrase(c: char) -> bool {
    matches!(c, '\u{fdfa}' | '\u{fdfb}')
}

/// The pattern of Braille without a point is a blank.
fn plain(c: char) -> char {
    match c {
        '\u{2800}' => ' ',
        _ if is_phrase(c) => '\u{fffd}',
        _ => c,
    }
}

/// The text in compatibility forms, as its case and its marks are, without what is invisible.
pub(crate) fn compatible(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|c| !is_invisible(*c)).map(plain).nfkc().collect())
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
    let seen = text.chars().filter(|c| !is_invisible(*c)).map(plain);
    let lower = seen.nfkc().flat_map(char::to_lowercase);
    lower.nfd().filter(|c| !is_combining_mark(*c) && !is_invisible(*c)).nfc().collect()
}
