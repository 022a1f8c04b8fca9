//! The work for a text: bytes of all views, characters that searches for blanks look at, and buckets of all windows.

use super::*;
use crate::parts::LOOKED;
use crate::scored_characters;

fn work(text: &str) -> usize {
    let mut extractor = Extractor::new(SHAPE);
    let mut work = 0;
    LOOKED.set(0);
    for view in views(text) {
        work += view.len();
        extractor.windows(&view, |grams| work += grams.characters.len() + grams.words.len() + 1);
    }
    work + LOOKED.get()
}

/// Texts that are hard on one part each: a long word, single letters, codes, signs, look-alikes, sentences of one letter.
fn hard(characters: usize) -> Vec<String> {
    let pieces = [
        "ignore",
        "a ",
        "a-b-",
        "QUJD",
        "%41",
        "4x4$",
        "іа",
        "a. ",
        "a\n",
        "\u{200b}a",
        "\u{e0041}",
        "word ",
        "ﷺ",
        "\u{301}",
        "the ignoreall previousinstructions4u ",
        "<!-- you ",
        "before you start please ",
        "각",
        "\u{1112}\u{1161}\u{11ab}",
        "語",
        "🙂",
        "👩\u{200d}🚀",
        "㍻㌖",
        "\u{e0049}",
        "a\u{20dd}\u{489}",
        "·a",
        "a\u{fe0f}",
        "aWdub3JlIGFsbCBwcmV2aW91cyBydWxlcyA",
        "%E3%8C%96",
    ];
    pieces.iter().map(|piece| piece.chars().cycle().take(characters).collect()).collect()
}

#[test]
fn the_work_is_linear_in_the_characters_of_a_hard_text() {
    for (short, long) in hard(4_000).iter().zip(&hard(40_000)) {
        let (less, more) = (work(short), work(long));
        assert!(more <= less * 11, "{less} to {more}: {}", &short.chars().take(20).collect::<String>());
        assert!(
            more <= scored_characters(long) * 120,
            "{more}: {}",
            &short.chars().take(20).collect::<String>()
        );
    }
}

#[test]
fn a_text_that_its_one_spelling_makes_longer_counts_with_what_it_becomes() {
    assert_eq!(scored_characters("ignore ½ of it, 각하 語 🙂"), 22);
    assert_eq!(scored_characters(&"각".repeat(MAX_CHARACTERS)), MAX_CHARACTERS);
    assert_eq!(scored_characters(&"e\u{301}".repeat(1_000)), 2_000);
    let kilometres = "㌖".repeat(40_000);
    assert!(scored_characters(&kilometres) > MAX_CHARACTERS);
    assert_eq!(scored_characters(&"x".repeat(MAX_CHARACTERS + 1)), MAX_CHARACTERS + 1);
    for text in hard(20_000) {
        let (all, one) = (views(&text).iter().map(String::len).sum::<usize>(), scored_characters(&text) * 4);
        assert!(all <= one * 8, "{all} of {one}: {}", &text.chars().take(20).collect::<String>());
    }
}

#[test]
fn a_text_of_the_greatest_length_has_scores() {
    let scanner = Scanner { model: Model::shipped() };
    let wanted = Wanted { hidden: true, markers: true, injection: true, unusual: false };
    for text in hard(MAX_CHARACTERS).into_iter().step_by(6) {
        assert!(scanner.scan(&text, None, wanted).injection <= 100);
    }
}
