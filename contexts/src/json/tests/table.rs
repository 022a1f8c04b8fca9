//! One text for each way that a text can be right or wrong (`contexts/vectors/json-texts.json`). Its characters are the bytes of the text.
//! Names follow JSONTestSuite (Nicolas Seriot, "Parsing JSON is a Minefield"): `y_` every parser accepts, `n_` every parser refuses, `i_`
//! parsers differ. Where this reader refuses a `y_` case, the reason is I-JSON, and the case is one of the `narrower`.

use super::*;

const LIMITED: &[(&str, &[u8], &str)] = &[
    ("depth_beyond_the_limit", b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", "too_deep"),
    ("n_structure_open_array_object", b"[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{\"\":[{", "too_deep"),
    ("n_structure_100000_opening_arrays", &[b'['; 100_000], "too_deep"),
    ("more_than_a_mebibyte", &[b' '; (1 << 20) + 1], "too_large"),
];

#[test]
fn texts_have_the_code_of_their_kind() {
    let cases: Vec<(String, String, String)> =
        serde_json::from_str(include_str!("../../../vectors/json-texts.json")).unwrap();
    let mut names = std::collections::HashSet::new();
    for (kind, name, text) in &cases {
        let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
        // a reader that is not strict takes or refuses it; none where such readers differ
        let (expected, lenient) = match kind.as_str() {
            "accepted" => ("ok", Some(true)),
            "malformed" => ("malformed", Some(false)),
            "narrower" => ("malformed", None),
            _ => ("duplicate_key", None),
        };
        assert_eq!(code(&bytes), expected, "{name}");
        let is_json = serde_json::from_slice::<Value>(&bytes).is_ok();
        assert!(lenient.is_none_or(|lenient| lenient == is_json), "{name}");
        assert!(names.insert(name), "{name} is present twice");
    }
    assert_eq!(cases.len(), 248);
}

#[test]
fn limits_have_their_own_codes() {
    for (name, text, expected) in LIMITED {
        assert_eq!(code(text), *expected, "{name}");
    }
    let many = format!("[{}0]", "0,".repeat(19_999));
    assert_eq!(code(many.as_bytes()), "too_complex");
}
