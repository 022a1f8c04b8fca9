mod members;
mod order;
mod random;
mod table;

use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// How often each property is tried: `SEMGATE_FUZZ_CASES`, or few enough for every build.
pub fn config() -> ProptestConfig {
    let cases = std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(256);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Any value that I-JSON has.
pub fn any_value() -> impl Strategy<Value = Value> {
    let max = MAX_INTEGER;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-max..=max).prop_map(Value::from),
        any::<f64>().prop_filter("beyond I-JSON", move |f| f.abs() <= max as f64).prop_map(Value::from),
        any::<String>().prop_map(Value::String),
        "[ -~]{0,40}".prop_map(Value::String),
    ];
    leaf.prop_recursive(5, 60, 12, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..12).prop_map(Value::Array),
            proptest::collection::btree_map(any::<String>(), inner, 0..24)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn code(bytes: &[u8]) -> &'static str {
    match read(bytes, &Limits::default()) {
        Ok(_) => "ok",
        Err(fault) => fault.code(),
    }
}

#[test]
fn values_come_back_as_they_were_written() {
    let text = r#" {"n":null,"t":true,"f":false,"i":120.0,"d":-1.5e-3,"s":"a\n\"\u00e9\ud83d\ude00é","a":[1,[],{}],"":""} "#;
    let json = read(text.as_bytes(), &Limits::default()).unwrap();
    let object = json.as_object().unwrap();
    assert_eq!(object.len(), 8);
    assert_eq!(
        object.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        ["n", "t", "f", "i", "d", "s", "a", ""]
    );
    assert!(object.get("n").unwrap().is_null());
    assert_eq!(object.get("t").unwrap().as_bool(), Some(true));
    assert_eq!(object.get("i").unwrap().as_number().unwrap().text(), "120.0");
    assert_eq!(object.get("i").unwrap().as_number().unwrap().as_i64_exact(), Some(120));
    assert_eq!(object.get("s").unwrap().as_str(), Some("a\n\"é😀é"));
    assert_eq!(object.get("a").unwrap().as_array().unwrap().len(), 3);
    assert!(object.get("missing").is_none());
    let expected = serde_json::json!({"n": null, "t": true, "f": false, "i": 120, "d": -0.0015, "s": "a\n\"é😀é",
        "a": [1, [], {}], "": ""});
    assert_eq!(json.to_value(), expected);
}

#[test]
fn plain_strings_are_borrowed_from_the_input() {
    use std::borrow::Cow;
    let json = read(r#"["plain é","esc\u0061ped"]"#.as_bytes(), &Limits::default()).unwrap();
    let strings = json.as_array().unwrap();
    assert!(matches!(&strings[0], Json::String(Cow::Borrowed("plain é"))));
    assert!(matches!(&strings[1], Json::String(Cow::Owned(text)) if text == "escaped"));
}

#[test]
fn the_tree_stays_small() {
    // 20 000 values are then about 1.3 MB with their names.
    assert!(size_of::<Json<'_>>() <= 32, "{}", size_of::<Json<'_>>());
}

#[test]
fn the_deepest_configuration_fits_into_a_small_stack() {
    let limits = Limits { max_depth: usize::MAX, ..Limits::default() };
    let nested = |n: usize| [b"[".repeat(n), b"]".repeat(n)].concat();
    let objects = |n: usize| [br#"{"a":"#.repeat(n), b"1".to_vec(), b"}".repeat(n)].concat();
    let work = move || {
        assert!(read(&nested(DEPTH_CEILING), &limits).is_ok());
        assert!(read(&objects(DEPTH_CEILING), &limits).is_ok());
        assert!(read(&objects(DEPTH_CEILING), &limits).map(|json| json.to_value()).is_ok());
        assert_eq!(read(&nested(DEPTH_CEILING + 1), &limits), Err(Fault::TooDeep));
        assert_eq!(read(&b"[".repeat(1 << 20), &limits), Err(Fault::TooDeep));
    };
    // A quarter of what a thread gets by default, in a build without optimisation.
    std::thread::Builder::new().stack_size(512 << 10).spawn(work).unwrap().join().unwrap();
}

#[test]
fn nothing_of_a_value_is_shown_to_a_log() {
    let secret = br#"{"account":"DE02 1203","list":["1203"],"pin":1203}"#;
    let json = read(secret, &Limits::default()).unwrap();
    assert_eq!(format!("{json:?}"), "object of 3");
    for (_, value) in json.as_object().unwrap().iter() {
        assert!(!format!("{value:?}").contains("1203"));
    }
    let fault = read(br#"{"pin":1203 "x"}"#, &Limits::default()).unwrap_err();
    assert_eq!(fault.to_string(), "malformed json at byte 12: neither `,` nor `}` after a member");
}
