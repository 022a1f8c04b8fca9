//! Names that differ only in case. Lenient readers take one for the other (Go's `encoding/json`, `equalsIgnoreCase` of Java).
//! In an open object one could be judged and the other read.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A character as names are compared: the lower case of its upper case, where each is one character. So `S`, `s` and `ſ`
/// (U+017F) are equal, and so are `K`, `k` and the Kelvin sign (U+212A). It equates at least all that Unicode's simple case
/// folding equates.
pub(crate) fn fold(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    let c = match c {
        // equal by Unicode's folding, but by no mapping of one character
        '\u{1fd3}' => '\u{390}',
        '\u{1fe3}' => '\u{3b0}',
        '\u{fb05}' => '\u{fb06}',
        c => c,
    };
    let upper = only(c.to_uppercase()).unwrap_or(c);
    only(upper.to_lowercase()).unwrap_or(upper)
}

fn only(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    mapped.next().filter(|_| mapped.next().is_none())
}

/// A name as names are compared.
pub(crate) fn folded(name: &str) -> String {
    name.chars().map(fold).collect()
}

/// All characters that fold to the same character as this one, itself included.
pub(crate) fn variants(c: char) -> &'static [char] {
    static ALL: LazyLock<BTreeMap<char, Vec<char>>> = LazyLock::new(|| {
        let mut all: BTreeMap<char, Vec<char>> = BTreeMap::new();
        for c in '\0'..=char::MAX {
            all.entry(fold(c)).or_default().push(c);
        }
        all.retain(|_, together| together.len() > 1);
        all
    });
    ALL.get(&fold(c)).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests;
