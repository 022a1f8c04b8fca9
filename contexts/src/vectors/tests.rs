use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::fixed::Fixed;
use super::space::{self, Space};
use super::{ModelName, References, VectorFault, VectorType};
use crate::json::{Json, Limits, Number, read};

fn numbers<'t>(texts: &'t [String]) -> Vec<Number<'t>> {
    texts.iter().map(|text| Number::parse(text).unwrap()).collect()
}

fn fixed(texts: &[&str]) -> Fixed {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    let numbers = numbers(&texts);
    Fixed::of(numbers.iter())
}

fn vector_type(embedding: Value) -> VectorType {
    VectorType::of(&embedding, false, Arc::<References>::default()).unwrap()
}

fn judge(of: &VectorType, text: &str) -> Result<(), VectorFault> {
    of.judge(&read(text.as_bytes(), &Limits::default()).unwrap(), None, || true)
}

fn three(metric: &str) -> Value {
    json!({ "model": "acme/mini", "dimensions": 3, "metric": metric })
}

#[test]
fn a_cosine_is_exact_to_the_thousandth() {
    let one = fixed(&["1", "0", "0"]);
    for (other, expected) in [
        (["1", "0", "0"], 1000),
        (["-2", "0", "0"], -1000),
        (["0", "3", "0"], 0),
        (["1", "1", "0"], 707),
        (["-1", "1", "0"], -707),
        (["3", "4", "0"], 600),
        (["1e-200", "1e-200", "0"], 707),
        (["0", "0", "0"], 0),
    ] {
        assert_eq!(one.cosine(&fixed(&other)), expected, "{other:?}");
        assert_eq!(fixed(&other).cosine(&one), expected, "{other:?}");
    }
}

#[test]
fn a_cosine_of_exactly_half_a_thousandth_goes_away_from_zero() {
    // 2000² = 1² + 1999² + 63² + 5² + 2², so the cosine with the first axis is 1/2000
    let first = fixed(&["1", "0", "0", "0", "0"]);
    let exact = fixed(&["1", "1999", "63", "5", "2"]);
    assert_eq!(first.cosine(&exact), 1);
    let first = fixed(&["-1", "0", "0", "0", "0"]);
    assert_eq!(first.cosine(&exact), -1);
}

#[test]
fn dot_and_distance_have_their_own_measure() {
    let one = fixed(&["0.5", "0.5"]);
    assert_eq!(one.dot(&fixed(&["0.5", "0.5"])), 500);
    assert_eq!(one.dot(&fixed(&["-0.001", "0"])), -1);
    assert_eq!(one.dot(&fixed(&["1e9", "1"])), 1000);
    assert_eq!(one.dot(&fixed(&["-1e9", "1"])), -1000);
    assert_eq!(one.dot(&fixed(&["1e-300", "0"])), 0);
    assert_eq!(one.closeness(&one), 1000);
    assert_eq!(one.closeness(&fixed(&["1.5", "0.5"])), 500);
    assert_eq!(one.closeness(&fixed(&["9e15", "0"])), 0);
    assert_eq!(fixed(&["1e-200"]).closeness(&fixed(&["2e-200"])), 1000);
    assert_eq!(fixed(&["0"]).closeness(&fixed(&["0"])), 1000);
    assert_eq!(fixed(&["0"]).closeness(&fixed(&["-2.26"])), 164);
}

#[test]
fn a_unit_vector_is_told_by_the_square_of_its_length() {
    for (texts, unit) in [
        (&["1", "0"][..], true),
        (&["0.6", "0.8"], true),
        (&["0.7071", "0.7071"], true),
        (&["1.0004", "0"], true),
        (&["1.001", "0"], false),
        (&["0.9994", "0"], false),
        (&["1000", "0"], false),
        (&["1e-9", "0"], false),
        (&["0", "0"], false),
    ] {
        assert_eq!(fixed(texts).is_unit(), unit, "{texts:?}");
    }
}

#[test]
fn each_fault_of_a_vector_has_its_own_rule() {
    let cosine = vector_type(three("cosine"));
    for (text, fault) in [
        ("[1, 2]", VectorFault::Dimensions),
        ("[1, 2, 3, 4]", VectorFault::Dimensions),
        ("[]", VectorFault::Dimensions),
        (r#"[1, 2, "NaN"]"#, VectorFault::NotFinite),
        (r#"[1, 2, "-Infinity"]"#, VectorFault::NotFinite),
        (r#"[1, 2, "inf"]"#, VectorFault::NotFinite),
        (r#"[1, 2, "3"]"#, VectorFault::NotANumber),
        ("[1, 2, null]", VectorFault::Null),
        ("[1, 2, true]", VectorFault::NotANumber),
        ("[1, 2, [3]]", VectorFault::NotANumber),
        ("[0, 0.0, -0]", VectorFault::Norm),
        (r#""NaN""#, VectorFault::Form),
        ("7", VectorFault::Form),
        ("null", VectorFault::Form),
        (r#"{"vector": [1, 2, 3]}"#, VectorFault::Form),
        (r#"{"model": "acme/mini", "vector": [1, 2, 3], "more": 1}"#, VectorFault::Form),
        (r#"{"model": 1, "vector": [1, 2, 3]}"#, VectorFault::Form),
        (r#"{"model": "acme/large", "vector": [1, 2, 3]}"#, VectorFault::Model),
        (r#"{"model": "acme/Mini", "vector": [1, 2, 3]}"#, VectorFault::Model),
    ] {
        assert_eq!(judge(&cosine, text), Err(fault), "{text}");
    }
    assert_eq!(judge(&cosine, "[1, 2.5, -3e-2]"), Ok(()));
    assert_eq!(judge(&cosine, r#"{"model": "acme/mini", "vector": [1, 2, 3]}"#), Ok(()));
    assert_eq!(judge(&vector_type(three("dot")), "[0, 0, 0]"), Ok(()));
    assert_eq!(judge(&vector_type(three("euclidean")), "[0, 0, 0]"), Ok(()));
}

#[test]
fn a_normalized_vector_has_the_length_one() {
    let mut space = three("dot");
    space["normalized"] = json!(true);
    let normalized = vector_type(space);
    assert_eq!(judge(&normalized, "[0.6, 0.8, 0]"), Ok(()));
    assert_eq!(judge(&normalized, "[0.6, 0.9, 0]"), Err(VectorFault::Norm));
    assert_eq!(judge(&normalized, "[0, 0, 0]"), Err(VectorFault::Norm));
}

#[test]
fn a_vector_of_another_model_than_the_session_is_refused() {
    let one = vector_type(three("cosine"));
    let value = read(b"[1, 2, 3]", &Limits::default()).unwrap();
    let session = |name| Some(ModelName::parse(name).unwrap());
    assert_eq!(one.judge(&value, session("acme/mini"), || true), Ok(()));
    assert_eq!(one.judge(&value, session("acme/other"), || true), Err(VectorFault::Session));
}

#[test]
fn one_of_several_models_is_always_named() {
    let both = vector_type(json!([
        three("cosine"), { "model": "b", "dimensions": 2, "metric": "dot" }
    ]));
    assert_eq!(judge(&both, "[1, 2, 3]"), Err(VectorFault::Form));
    assert_eq!(judge(&both, r#"{"model": "b", "vector": [1, 2]}"#), Ok(()));
    assert_eq!(judge(&both, r#"{"model": "b", "vector": [1, 2, 3]}"#), Err(VectorFault::Dimensions));
    let named = read(br#"{"vector": [1, 2], "model": "b"}"#, &Limits::default()).unwrap();
    assert_eq!(both.model(&named).unwrap().as_str(), "b");
}

#[test]
fn a_model_has_a_name_that_is_a_feature_too() {
    for name in ["a", "acme/mini-l6.v2", "0:x_y"] {
        assert_eq!(ModelName::parse(name).unwrap().as_str(), name);
    }
    assert!(ModelName::parse(&"m".repeat(54)).is_ok());
    for name in ["", "-a", "a b", "ä", "a\u{0}", &"m".repeat(55), &"m".repeat(300)] {
        assert!(ModelName::parse(name).is_err(), "{name:?}");
    }
}

fn finite() -> impl Strategy<Value = String> {
    prop_oneof![
        (-1.0e3_f64..1.0e3).prop_map(|value| format!("{value}")),
        (-9_999_i64..9_999, -20_i32..10).prop_map(|(digits, exponent)| format!("{digits}e{exponent}")),
        Just("0".to_owned()),
    ]
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(256);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn fuzz_a_cosine_agrees_with_doubles_and_with_itself(pairs in prop::collection::vec((finite(), finite()), 1..40)) {
        let (left, right): (Vec<String>, Vec<String>) = pairs.into_iter().unzip();
        let (a, b) = (numbers(&left), numbers(&right));
        let (one, two) = (Fixed::of(a.iter()), Fixed::of(b.iter()));
        let cosine = one.cosine(&two);
        prop_assert_eq!(cosine, two.cosine(&one));
        prop_assert!((-1000..=1000).contains(&cosine));
        let doubles = |all: &[Number<'_>]| all.iter().map(Number::as_f64).collect::<Vec<f64>>();
        let (x, y) = (doubles(&a), doubles(&b));
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let norms = (dot(&x, &x) * dot(&y, &y)).sqrt();
        if norms > 1e-250 {
            let expected = 1000.0 * dot(&x, &y) / norms;
            prop_assert!((expected - cosine as f64).abs() <= 0.5001, "{expected} {cosine}");
        }
        if !one.is_zero() {
            prop_assert_eq!(one.cosine(&one), 1000);
        }
        prop_assert_eq!(one.closeness(&one), 1000);
        prop_assert!((0..=1000).contains(&one.closeness(&two)));
        prop_assert!((-1000..=1000).contains(&one.dot(&two)));
        let (product, distance) = (dot(&x, &y) * 1000.0, {
            let apart: f64 = x.iter().zip(&y).map(|(x, y)| (x - y) * (x - y)).sum();
            1000.0 / (1.0 + apart)
        });
        let expected = product.clamp(-1000.0, 1000.0);
        // thirteen digits are kept, counted from the largest component of a vector
        let most = |all: &[f64]| all.iter().fold(0.0_f64, |most, one| most.max(one.abs()));
        let (left, right, count) = (most(&x), most(&y), x.len() as f64);
        let lost = 0.51 + 2e-9 * count * left * right;
        prop_assert!((expected - one.dot(&two) as f64).abs() <= lost, "{expected} {}", one.dot(&two));
        let lost = 0.51 + 8e-9 * count * left.max(right) * left.max(right);
        prop_assert!((distance - one.closeness(&two) as f64).abs() <= lost, "{distance}");
    }

    #[test]
    fn fuzz_no_text_makes_the_check_of_a_vector_panic(text in "\\PC{0,40}", at in 0_usize..3) {
        let cosine = vector_type(three("cosine"));
        let mut list = vec![json!(1), json!(2), json!(3)];
        list[at] = Value::from(text.as_str());
        let whole = Value::Array(list).to_string();
        prop_assert!(judge(&cosine, &whole).is_err());
        let named = json!({ "model": text, "vector": [1, 2, 3] }).to_string();
        prop_assert_eq!(judge(&cosine, &named).is_ok(), text == "acme/mini");
        drop(space::read(&json!({ "model": text, "dimensions": 3, "metric": text })));
    }

    #[test]
    fn the_scale_of_a_vector_does_not_change_its_cosine(values in prop::collection::vec(-999_i64..999, 2..20), power in -30_i32..8) {
        let plain: Vec<String> = values.iter().map(ToString::to_string).collect();
        let scaled: Vec<String> = values.iter().map(|value| format!("{value}e{power}")).collect();
        let (plain, scaled) = (numbers(&plain), numbers(&scaled));
        let ones: Vec<String> = values.iter().map(|_| "1".to_owned()).collect();
        let ones = numbers(&ones);
        let other = Fixed::of(ones.iter());
        prop_assert_eq!(Fixed::of(plain.iter()).cosine(&other), Fixed::of(scaled.iter()).cosine(&other));
    }
}

#[test]
fn the_largest_vectors_do_not_overflow() {
    let large: Vec<String> = (0..4096).map(|_| "9007199254740991".to_owned()).collect();
    let large = numbers(&large);
    let one = Fixed::of(large.iter());
    assert_eq!(one.len(), 4096);
    assert_eq!(one.cosine(&one), 1000);
    assert_eq!(one.dot(&one), 1000);
    assert_eq!(one.closeness(&one), 1000);
    let negative: Vec<String> = (0..4096).map(|_| "-9007199254740991".to_owned()).collect();
    let negative = numbers(&negative);
    assert_eq!(one.cosine(&Fixed::of(negative.iter())), -1000);
    assert_eq!(one.closeness(&Fixed::of(negative.iter())), 0);
}

#[test]
fn spaces_are_read_in_one_form() {
    let good = |value: Value| assert!(space::read(&value).is_ok(), "{value}");
    let bad = |value: Value| assert!(space::read(&value).is_err(), "{value}");
    good(three("cosine"));
    good(json!([three("cosine")]));
    good(json!({ "model": "m", "dimensions": 4096, "metric": "dot", "normalized": false }));
    bad(three("manhattan"));
    bad(json!([]));
    bad(json!([three("cosine"), three("dot")]));
    bad(json!({ "model": "m", "dimensions": 0, "metric": "dot" }));
    bad(json!({ "model": "m", "dimensions": 4097, "metric": "dot" }));
    bad(json!({ "model": "m", "dimensions": 2.5, "metric": "dot" }));
    bad(json!({ "model": "m m", "dimensions": 2, "metric": "dot" }));
    bad(json!({ "model": "m", "dimensions": 2, "metric": "dot", "normalised": true }));
    bad(json!({ "model": "m", "dimensions": 2, "metric": "dot", "normalized": 1 }));
    bad(json!({ "model": "m", "dimensions": 2 }));
    bad(json!(true));
    let one: Option<Space> = space::read(&three("cosine")).unwrap().first().copied();
    assert_eq!(one.unwrap().words(), "3 dimensions, cosine");
}

#[test]
fn a_check_ends_with_the_budget() {
    let one = vector_type(three("cosine"));
    let value: Json<'_> = read(b"[1, 2, 3]", &Limits::default()).unwrap();
    assert!(one.judge(&value, None, || false).is_err());
}
