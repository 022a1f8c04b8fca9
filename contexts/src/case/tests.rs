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
        assert_eq!(folded(one), folded(other), "{one} {other}");
    }
    for (one, other) in [("risk", "rsk"), ("a", "\u{e4}"), ("\u{df}", "ss"), ("1", "\u{661}")] {
        assert_ne!(folded(one), folded(other), "{one} {other}");
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
