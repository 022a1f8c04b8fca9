use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::json::Limits;
use crate::json::tests::{any_value, config};

fn canonical(text: &str) -> String {
    String::from_utf8(canonicalise(text.as_bytes(), &Limits::default()).unwrap()).unwrap()
}

/// RFC 8785 appendix B, bit patterns and their texts.
const NUMBERS: &[(u64, &str)] = &[
    (0x0000_0000_0000_0000, "0"),
    (0x8000_0000_0000_0000, "0"),
    (0x0000_0000_0000_0001, "5e-324"),
    (0x8000_0000_0000_0001, "-5e-324"),
    (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
    (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
    (0x4340_0000_0000_0000, "9007199254740992"),
    (0xc340_0000_0000_0000, "-9007199254740992"),
    (0x4430_0000_0000_0000, "295147905179352830000"),
    (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
    (0x44b5_2d02_c7e1_4af6, "1e+23"),
    (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
    (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
    (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
    (0x444b_1ae4_d6e2_ef50, "1e+21"),
    (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
    (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
    (0x41b3_de43_5555_5553, "333333333.3333332"),
    (0x41b3_de43_5555_5554, "333333333.33333325"),
    (0x41b3_de43_5555_5555, "333333333.3333333"),
    (0x41b3_de43_5555_5556, "333333333.3333334"),
    (0x41b3_de43_5555_5557, "333333333.33333343"),
    (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
    (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
];

#[test]
fn numbers_are_written_as_in_appendix_b_or_refused_beyond_i_json() {
    for (bits, text) in NUMBERS {
        let number = f64::from_bits(*bits);
        let written = serde_json_canonicalizer::to_string(&number).unwrap();
        assert_eq!(written, *text);
        let expected = if number.abs() > MAX_INTEGER as f64 {
            Err(CanonicalFault::NumberRange)
        } else {
            Ok(text.as_bytes().to_vec())
        };
        assert_eq!(jcs(&json!(number)), expected, "{text}");
    }
}

#[test]
fn the_example_of_section_3_2_2_has_its_published_form() {
    let text = r#"{
        "numbers": [333333333.33333329, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    // The published example holds 1E30 too, which is outside I-JSON's range.
    assert_eq!(
        canonical(text),
        r#"{"literals":[null,true,false],"numbers":[333333333.3333333,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#
    );
    let beyond = canonicalise(b"[1E30]", &Limits::default());
    assert!(matches!(beyond, Err(CanonicalFault::Unreadable(Fault::Malformed { offset: 1, .. }))));
}

/// The vectors of the RFC's authors, `testdata` of cyberphone/json-canonicalization (Apache-2.0) as `rfc8785` 0.1.4 of PyPI has them: input
/// and output, byte for byte.
macro_rules! vectors {
    ($($name:literal),*) => {
        [$(($name, include_str!(concat!("../../vectors/jcs/input/", $name, ".json")),
            include_str!(concat!("../../vectors/jcs/output/", $name, ".json")))),*]
    };
}

#[test]
fn the_vectors_of_the_authors_of_rfc_8785_have_their_published_bytes() {
    for (name, input, output) in vectors!("arrays", "french", "structures", "unicode", "values", "weird") {
        let (mut input, mut output) = (input.to_owned(), output.trim_end_matches('\n').to_owned());
        if name == "values" {
            // it has a number outside of I-JSON, which is refused where it stands; the rest has its bytes
            let offset = input.find("1E30").unwrap();
            let beyond = canonicalise(input.as_bytes(), &Limits::default());
            assert!(
                matches!(&beyond, Err(CanonicalFault::Unreadable(Fault::Malformed { offset: at, .. })) if *at == offset),
                "{beyond:?}"
            );
            (input, output) = (input.replace("1E30, ", ""), output.replace("1e+30,", ""));
        }
        assert_eq!(canonical(&input), output, "{name}");
    }
}

#[test]
fn members_are_sorted_by_utf16_as_in_section_3_2_3() {
    let text = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",
        "\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
    let expected = "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"ö\":\"Latin Small Letter O With \
         Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}";
    assert_eq!(canonical(text), expected);
}

#[test]
fn one_value_has_one_form_however_it_was_written() {
    for text in ["[120]", "[120.0]", "[1.2e2]", "[12E+1]", " [ 120 ] ", "[1200e-1]"] {
        assert_eq!(canonical(text), "[120]");
    }
    for text in ["[0]", "[-0]", "[0.0]", "[-0e9]"] {
        assert_eq!(canonical(text), "[0]");
    }
    assert_eq!(canonical(r#"{"b":1,"a":{"d":"\/","c":"\u0041"}}"#), r#"{"a":{"c":"A","d":"/"},"b":1}"#);
}

#[test]
fn what_the_reader_refuses_has_no_canonical_form() {
    let twice = canonicalise(br#"{"a":1,"a":1}"#, &Limits::default());
    assert_eq!(twice, Err(CanonicalFault::Unreadable(Fault::DuplicateKey { offset: 7 })));
}

#[test]
fn numbers_that_writing_would_change_are_refused() {
    for value in [
        json!(MAX_INTEGER + 1),
        json!(-MAX_INTEGER - 1),
        json!(u64::MAX),
        json!(i64::MIN),
        json!([{"a": 1e300}]),
    ] {
        assert_eq!(jcs(&value), Err(CanonicalFault::NumberRange), "{value}");
    }
    assert_eq!(jcs(&json!(MAX_INTEGER)), Ok(b"9007199254740991".to_vec()));
    assert_eq!(jcs(&json!(-MAX_INTEGER)), Ok(b"-9007199254740991".to_vec()));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn canonical_bytes_are_read_back_as_the_value_and_are_a_fixed_point(value in any_value()) {
        let bytes = jcs(&value).unwrap();
        let limits = Limits { max_depth: 128, ..Limits::default() };
        prop_assert_eq!(canonicalise(&bytes, &limits).unwrap(), bytes);
    }

    #[test]
    fn white_space_and_order_do_not_change_the_canonical_bytes(value in any_value()) {
        let pretty = serde_json::to_vec_pretty(&value).unwrap();
        prop_assert_eq!(canonicalise(&pretty, &Limits::default()).unwrap(), jcs(&value).unwrap());
    }
}
