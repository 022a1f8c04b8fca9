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

/// Returns true if two names are equal but for case.
#[cfg(test)]
pub(crate) fn same(one: &str, other: &str) -> bool {
    one.chars().map(fold).eq(other.chars().map(fold))
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
mod tests {
    use super::*;

    #[test]
    fn names_are_one_in_every_case_that_readers_fold() {
        for (one, other) in [
            ("risk", "RISK"),
            ("risk", "ri\u{17f}k"),
            ("risk", "ris\u{212a}"),
            ("caf\u{e9}", "CAF\u{c9}"),
            ("\u{3c3}", "\u{3c2}"),
            ("\u{df}", "\u{1e9e}"),
            ("\u{e5}", "\u{212b}"),
            ("\u{b5}", "\u{3bc}"),
        ] {
            assert!(same(one, other) && same(other, one), "{one} {other}");
        }
        for (one, other) in [("risk", "rsk"), ("a", "\u{e4}"), ("\u{df}", "ss"), ("1", "\u{661}")] {
            assert!(!same(one, other), "{one} {other}");
        }
    }

    /// The comparison of versions expects exactly the refusals that are made.
    #[test]
    fn the_variants_of_a_character_are_all_that_are_the_same() {
        for c in ['a', 'K', 's', '\u{17f}', 'i', '\u{e9}', '\u{3c3}', '1', '\u{6f22}'] {
            let all: Vec<char> = ('\0'..=char::MAX).filter(|other| fold(*other) == fold(c)).collect();
            let listed = variants(c);
            assert_eq!(if listed.is_empty() { vec![c] } else { listed.to_vec() }, all, "{c}");
        }
    }

    /// Nothing that Unicode folds one to one is left out, whatever the standard library maps.
    #[test]
    fn all_of_the_simple_folding_of_unicode_is_one() {
        use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
        for c in '\0'..=char::MAX {
            let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
            class.case_fold_simple();
            for range in class.ranges() {
                for other in range.start()..=range.end() {
                    assert_eq!(fold(other), fold(c), "{c:?} {other:?}");
                }
            }
        }
    }
}
