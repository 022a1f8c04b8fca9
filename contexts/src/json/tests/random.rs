//! Random and mutated input: never a panic, and never a value that another parser reads in another way.

use super::*;

/// The two trees hold the same value; doubles are exact within I-JSON's bounds, so that one comparison does for all numbers.
fn same(ours: &Json<'_>, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Json::Null, Value::Null) => true,
        (Json::Bool(a), Value::Bool(b)) => a == b,
        (Json::Number(a), Value::Number(b)) => Some(a.as_f64()) == b.as_f64(),
        (Json::String(a), Value::String(b)) => a == b,
        (Json::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(name, value)| b.get(name).is_some_and(|theirs| same(value, theirs)))
        }
        _ => false,
    }
}

/// Whatever is accepted, `serde_json` accepts with the same value; the fault of whatever is refused lies within the text.
fn agrees(bytes: &[u8]) -> Result<(), TestCaseError> {
    match read(bytes, &Limits::default()) {
        Ok(ours) => {
            let theirs: Value = serde_json::from_slice(bytes)
                .map_err(|fault| TestCaseError::fail(format!("only this reader accepts: {fault}")))?;
            prop_assert!(same(&ours, &theirs));
            prop_assert!(same(&ours, &ours.to_value()));
        }
        Err(Fault::DuplicateKey { offset }) => prop_assert_eq!(bytes.get(offset), Some(&b'"')),
        Err(Fault::Malformed { offset, what }) => {
            prop_assert!(offset <= bytes.len(), "{}", what);
            prop_assert!(!what.is_empty() && what.is_ascii());
        }
        Err(Fault::TooLarge | Fault::TooDeep | Fault::TooComplex) => {}
    }
    Ok(())
}

fn mutate(mut bytes: Vec<u8>, changes: &[(prop::sample::Index, u8, u8)]) -> Vec<u8> {
    for (place, how, byte) in changes {
        let at = place.index(bytes.len().max(1));
        match how % 5 {
            0 if !bytes.is_empty() => bytes[at] = *byte,
            1 if !bytes.is_empty() => drop(bytes.remove(at)),
            2 => bytes.truncate(at),
            3 => {
                let tail = bytes[at.min(bytes.len())..].to_vec();
                bytes.extend(tail);
            }
            _ => bytes.insert(at.min(bytes.len()), *byte),
        }
    }
    bytes
}

fn token() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "\"b\"",
        "\"\\u0061\"",
        "\"\\ud83d\\ude00\"",
        "1",
        "-0",
        "1.5e1",
        "true",
        "false",
        "null",
        " ",
        "\n",
        "\"a\":",
        "{\"a\":",
        "[]",
        "{}",
        "\"\"",
    ])
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn fuzz_random_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        agrees(&bytes)?;
    }

    #[test]
    fn fuzz_random_json_characters(text in "[\\[\\]{}:,\"\\\\0-9eE.+\\-truefalsn \\nudDcCé\u{1}]{0,60}") {
        agrees(text.as_bytes())?;
    }

    #[test]
    fn fuzz_mutated_documents(
        value in any_value(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<u8>()), 0..6),
    ) {
        agrees(&mutate(serde_json::to_vec(&value).unwrap(), &changes))?;
    }

    #[test]
    fn fuzz_strings_across_word_boundaries(text in "[ -~é\u{0}-\u{1f}😀]{0,40}") {
        let quoted = format!("\"{text}\"");
        agrees(quoted.as_bytes())?;
        let escaped = serde_json::to_string(&text).unwrap();
        let read_back = read(escaped.as_bytes(), &Limits::default()).unwrap();
        prop_assert_eq!(read_back.as_str(), Some(text.as_str()));
    }

    #[test]
    fn every_document_of_i_json_is_accepted_with_its_value(value in any_value()) {
        for bytes in [serde_json::to_vec(&value).unwrap(), serde_json::to_vec_pretty(&value).unwrap()] {
            let ours = read(&bytes, &Limits::default()).unwrap();
            prop_assert!(same(&ours, &value));
        }
    }

    #[test]
    fn sequences_of_tokens_are_accepted_exactly_when_serde_accepts_them(
        tokens in proptest::collection::vec(token(), 0..14),
    ) {
        let text = tokens.concat();
        let theirs = serde_json::from_str::<Value>(&text);
        match read(text.as_bytes(), &Limits::default()) {
            Ok(ours) => prop_assert!(theirs.is_ok_and(|theirs| same(&ours, &theirs))),
            Err(Fault::Malformed { .. }) => prop_assert!(theirs.is_err()),
            // `serde_json` keeps the last of two equal names; the order rule lets a duplicate answer for a malformed text too.
            Err(Fault::DuplicateKey { .. }) => {}
            Err(fault) => prop_assert!(false, "{fault}"),
        }
    }
}
