//! What is assumed of formats, held against the validator.

use super::super::words::Pattern;
use super::*;
use crate::compare::hunt::random::Random;

/// Samples, long texts, and near misses of both.
fn texts() -> Vec<String> {
    let mut random = Random::new(7);
    let mut texts: Vec<String> = SAMPLES.iter().map(|text| (*text).to_owned()).collect();
    for format in FORMATS {
        texts.extend([1, 10, 40, 120, 253, 300].into_iter().filter_map(|length| long(format, length)));
    }
    texts.extend(
        [
            "Name <a@b.org>",
            "\"\"@example.org",
            "a@[192.0.2.1]",
            "a@[IPv6:::1]",
            "1.2.3.4.5",
            "01.2.3.4",
            "http://[::1]/",
            "x:",
            "//a",
            "?",
            "P1Y2D",
            "P0W",
            "PT0S",
            "24:00:00Z",
            "00:00:00z",
            "a..b",
            "a-",
            "xn--a",
            "fe80::1%25eth0",
            "::1.2.3.4",
            "/~0~1",
            "01/a",
            "0",
            "12#",
            "{+a,b:3}",
            "urn:\u{e4}",
            "a b:c",
            "http://a/%zz",
        ]
        .map(str::to_owned),
    );
    let letters: Vec<char> = "aA09zZ:.-_~/#?@%[]{}+TPYMDWHS \u{e4}\n".chars().collect();
    for text in texts.clone() {
        for _ in 0..12 {
            let mut near: Vec<char> = text.chars().take(60).collect();
            let at = random.below(near.len() + 1);
            let letter = letters[random.below(letters.len())];
            match random.below(3) {
                0 => near.insert(at, letter),
                1 if at < near.len() => near[at] = letter,
                _ if at < near.len() => drop(near.remove(at)),
                _ => {}
            }
            texts.push(near.into_iter().collect());
        }
    }
    texts
}

#[test]
fn every_text_of_a_format_lies_in_the_pattern_around_it_and_in_the_formats_that_hold_it() {
    let formats = Formats::default();
    let mut held = 0;
    for (number, format) in FORMATS.iter().enumerate() {
        let pattern = around(format).map(|pattern| Pattern::of(pattern, 100_000));
        for text in texts() {
            let is = formats.holds(number, &text).unwrap();
            held += usize::from(is);
            if let Some(pattern) = &pattern {
                let lies = pattern.is_in(&text).unwrap();
                assert!(!is || lies, "{format}: {text:?} has it and lies outside");
                assert!(
                    !is_exact(format) || is == lies,
                    "{format}: {text:?} lies in the pattern and has it not"
                );
            }
            for (other, outer) in FORMATS.iter().enumerate() {
                let inside = is && lies_in(format, outer);
                assert!(
                    !inside || formats.holds(other, &text).unwrap(),
                    "{text:?} is {format} and not {outer}"
                );
            }
        }
    }
    assert!(held > 2_000, "{held}");
}
