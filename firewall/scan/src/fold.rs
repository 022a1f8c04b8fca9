//! One spelling for all spellings of a text: compatibility forms, letter case, marks and invisible characters are taken off.

use semgate_contexts::schema::is_unseen;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::canonical_combining_class;

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

/// The folded text: NFKC, lower case, no combining marks, nothing invisible.
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
    lower.nfd().filter(|c| canonical_combining_class(*c) == 0 && !is_invisible(*c)).collect()
}
