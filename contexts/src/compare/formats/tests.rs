//! What is assumed of formats, held against the validator.

use super::super::automata::Nfa;
use super::super::budget::Budget;
use super::*;
use crate::compare::tests::hunt::random::Random;

/// Samples, long texts, and near misses of both.
fn texts() -> Vec<String> {
    let mut random = Random::new(7);
    let mut texts: Vec<String> = SAMPLES.iter().map(|text| (*text).to_owned()).collect();
    for format in FORMATS {
        texts
            .extend([1, 10, 40, 120, 253, 300].into_iter().filter_map(|length| long_example(format, length)));
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
    let pieces = [
        ":",
        ":",
        "::",
        "0",
        "ab",
        "1F",
        "ffff",
        "12345",
        ".",
        "1.2.3.4",
        "255.0.0.1",
        "256.1.1.1",
        "g",
        "%1",
    ];
    let of_time = [
        "12", "23", "24", "59", "60", "00", ":", ":", ".", "5", "0", "Z", "z", "+", "-", "01:30", "+23:59",
        "+24:00",
    ];
    for _ in 0..6_000 {
        let groups = (0..=random.below(9)).map(|_| random.of(&pieces[1..7])).collect::<Vec<_>>().join(":");
        let loose: String = (0..=random.below(12)).map(|_| random.of(&pieces)).collect();
        let time = [random.of(&of_time[..6]), random.of(&of_time[..6]), random.of(&of_time[..6])].join(":");
        let behind: String = (0..=random.below(3)).map(|_| random.of(&of_time)).collect();
        texts.extend([groups, loose, time + &behind]);
    }
    let letters: Vec<char> = "aA09zZ:.-_~/#?@%[]{}+TPYMDWHS \u{e4}\n".chars().collect();
    for text in texts.iter().step_by(texts.len().div_ceil(1_000)).cloned().collect::<Vec<_>>() {
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
    let (mut held, texts) = (0, texts());
    for (number, format) in FORMATS.iter().enumerate() {
        let pattern = superset_pattern(format).map(|pattern| Nfa::of(pattern, 100_000));
        let within = subset_pattern(format).map(|pattern| Nfa::of(pattern, 100_000));
        for text in &texts {
            let is = formats.holds(number, text).unwrap();
            held += usize::from(is);
            if let Some(pattern) = &pattern {
                let lies = pattern.as_ref().unwrap().is_in(text, &Budget::of(1_000_000)).unwrap();
                assert!(!is || lies, "{format}: {text:?} has it and lies outside");
                assert!(
                    !is_exact(format) || is == lies,
                    "{format}: {text:?} lies in the pattern and has it not"
                );
            }
            if let Some(within) = &within {
                assert!(
                    is || !within.as_ref().unwrap().is_in(text, &Budget::of(1_000_000)).unwrap(),
                    "{format}: {text:?} lies inside and has it not"
                );
            }
            for (other, outer) in FORMATS.iter().enumerate() {
                let inside = is && lies_in(format, outer);
                assert!(
                    !inside || formats.holds(other, text).unwrap(),
                    "{text:?} is {format} and not {outer}"
                );
            }
        }
    }
    assert!(held > 2_000, "{held}");
}
