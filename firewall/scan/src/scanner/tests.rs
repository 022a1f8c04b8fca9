//! The work for a text: bytes of all views, and buckets of all windows.

use super::*;

fn work(text: &str) -> usize {
    let mut extractor = Extractor::new(SHAPE);
    let mut work = 0;
    for view in views(text) {
        work += view.len();
        extractor.windows(&view, |grams| work += grams.characters.len() + grams.words.len() + 1);
    }
    work
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
    ];
    pieces.iter().map(|piece| piece.chars().cycle().take(characters).collect()).collect()
}

#[test]
fn the_work_is_linear_in_the_characters_of_a_hard_text() {
    for (short, long) in hard(4_000).iter().zip(&hard(40_000)) {
        let (less, more) = (work(short), work(long));
        assert!(more <= less * 11, "{less} to {more}: {}", &short.chars().take(20).collect::<String>());
        assert!(more <= 40_000 * 120, "{more}: {}", &short.chars().take(20).collect::<String>());
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
