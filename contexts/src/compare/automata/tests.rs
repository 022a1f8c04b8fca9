//! Patterns as languages: which texts they hold, and whether one lies in the other.

use super::*;

const STATES: usize = 8_192;

fn outside(inner: &str, outer: &str) -> Result<Vec<String>, &'static str> {
    let (inner, outer) = (Nfa::of_schema(inner, STATES), Nfa::of_schema(outer, STATES));
    let wanted =
        TextConstraints { patterns: vec![(&inner, true), (&outer, false)], ..TextConstraints::default() };
    find(&wanted, 1, &Budget::of(1_000_000))
}

#[test]
fn a_pattern_lies_in_another_or_a_text_shows_that_it_does_not() {
    for (inner, outer) in [
        ("^[a-z]+$", "^[a-zA-Z]+$"),
        ("^[A-Z]{3}$", "^[A-Z]{2,4}$"),
        ("^abc$", "b"),
        ("^(cat|dog)$", "^(dog|cat|cow)$"),
        ("^[0-9]{4}-[0-9]{2}$", "-"),
        ("^\\d+$", "^[0-9]*$"),
        ("^a*$", ""),
        ("^a{2,5}$", "^a{1,9}$"),
        ("^$", "^a?$"),
        ("(?:^|x)y", "y"),
    ] {
        assert_eq!(outside(inner, outer), Ok(Vec::new()), "{inner} in {outer}");
    }
    for (inner, outer, text) in [
        ("^[a-z]+$", "^[a-y]+$", "z"),
        ("^[A-Z]{2,4}$", "^[A-Z]{3}$", "AA"),
        ("b", "^b", "ab"),
        ("", "^a", ""),
        ("^a{1,9}$", "^a{1,8}$", "aaaaaaaaa"),
        ("^(cat|dog)$", "^cat$", "dog"),
    ] {
        assert_eq!(outside(inner, outer), Ok(vec![text.to_owned()]), "{inner} in {outer}");
    }
}

#[test]
fn lengths_count_characters() {
    let pattern = Nfa::of_schema("^[ä-ü]*$", STATES);
    let wanted = |least, most| TextConstraints {
        patterns: vec![(&pattern, true)],
        least,
        most,
        ..TextConstraints::default()
    };
    let texts = find(&wanted(3, Some(3)), 1, &Budget::of(100_000)).unwrap();
    assert_eq!(texts[0].chars().count(), 3);
    let even = Nfa::of_schema("^(ab)*$", STATES);
    let wanted = TextConstraints {
        patterns: vec![(&even, true)],
        least: 3,
        most: Some(3),
        ..TextConstraints::default()
    };
    assert_eq!(find(&wanted, 1, &Budget::of(100_000)), Ok(Vec::new()));
    let wanted = TextConstraints { patterns: vec![(&even, true)], least: 301, ..TextConstraints::default() };
    let texts = find(&wanted, 1, &Budget::of(1_000_000)).unwrap();
    assert_eq!(texts[0].len(), 302);
}

#[test]
fn what_free_text_refuses_is_a_letter_of_its_own() {
    let any = TextConstraints { not_plain: true, ..TextConstraints::default() };
    let texts = find(&any, 1, &Budget::of(10_000)).unwrap();
    assert!(texts[0].chars().any(crate::schema::is_refused));
    let word = Nfa::of_schema("^[a-z]*$", STATES);
    let none =
        TextConstraints { patterns: vec![(&word, true)], not_plain: true, ..TextConstraints::default() };
    assert_eq!(find(&none, 1, &Budget::of(10_000)), Ok(Vec::new()));
}

#[test]
fn texts_that_are_not_wanted_are_left_out_exactly() {
    let pattern = Nfa::of_schema("^[ab]{1,2}$", STATES);
    let all = ["a", "b", "aa", "ab", "ba", "bb"];
    for left in all {
        let not: Vec<&str> = all.into_iter().filter(|text| *text != left).collect();
        let wanted = TextConstraints { patterns: vec![(&pattern, true)], not, ..TextConstraints::default() };
        assert_eq!(find(&wanted, 1, &Budget::of(10_000)), Ok(vec![left.to_owned()]));
    }
    let wanted =
        TextConstraints { patterns: vec![(&pattern, true)], not: all.to_vec(), ..TextConstraints::default() };
    assert_eq!(find(&wanted, 1, &Budget::of(10_000)), Ok(Vec::new()));
}

#[test]
fn a_pattern_that_explodes_ends_at_the_limit() {
    let pattern = Nfa::of_schema("^(a|b)*a(a|b){30}$", STATES);
    let other = Nfa::of_schema("^(a|b)*b(a|b){30}$", STATES);
    let wanted =
        TextConstraints { patterns: vec![(&pattern, true), (&other, true)], ..TextConstraints::default() };
    assert!(find(&wanted, 1, &Budget::of(100_000)).is_err());
}

#[test]
fn membership_is_what_the_engine_of_the_validator_says() {
    let patterns = ["^a+b?$", "b|^$", "(ab){2}", "^[^a]$", "a.c", "^\\w+$", "\\s", "^(?:x|y)*z", "a$|^b"];
    let texts =
        ["", "a", "b", "ab", "abab", "aab", "abc", "a c", "x", "xyz", "z", "\n", "ä", "a\nc", "ba", "cb"];
    for pattern in patterns {
        let ours = Nfa::of_schema(pattern, STATES);
        let plain = crate::schema::compile_plain(&serde_json::json!({ "pattern": pattern })).unwrap();
        for text in texts {
            let engine = plain.accepts(&crate::json::Json::String(text.into())).is_ok();
            assert_eq!(
                ours.as_ref().unwrap().is_in(text, &Budget::of(1_000_000)),
                Some(engine),
                "{pattern} {text:?}"
            );
        }
    }
}
