//! Member names: duplicates in objects of every size, and names that differ in case only.

use std::collections::HashSet;

use super::*;

fn object_of(names: &[String]) -> String {
    let members: Vec<_> =
        names.iter().map(|name| format!("{}:0", serde_json::to_string(name).unwrap())).collect();
    format!("{{{}}}", members.join(","))
}

#[test]
fn attack_a_name_spelled_with_escapes_is_the_same_name() {
    for text in [
        r#"{"amount":1,"\u0061mount":2}"#,
        r#"{"\u0061mount":1,"amount":2}"#,
        r#"{"a\/b":1,"a/b":2}"#,
        r#"{"é":1,"\u00e9":2}"#,
        r#"{"é":1,"\u00E9":2}"#,
        r#"{"😀":1,"\ud83d\ude00":2}"#,
        r#"{"":1,"":2}"#,
        r#"{"\n":1,"\u000a":2}"#,
        r#"{"\u0000":1,"\u0000":2}"#,
    ] {
        assert_eq!(code(text.as_bytes()), "duplicate_key", "{text}");
    }
    // Names that only look alike: case, normalisation, objects side by side.
    for text in [
        r#"{"amount":1,"Amount":2}"#,
        "{\"\u{e9}\":1,\"e\u{301}\":2}",
        r#"[{"a":1},{"a":1}]"#,
        r#"{"a":{"a":{"a":1}}}"#,
        r#"{"a":1,"a ":1,"":1}"#,
    ] {
        assert_eq!(code(text.as_bytes()), "ok", "{text}");
    }
}

#[test]
fn a_duplicate_is_found_in_an_object_of_any_size() {
    for size in [2, 15, 16, 17, 18, 100, 5000] {
        let mut names: Vec<String> = (0..size).map(|n| format!("member-{n}")).collect();
        assert_eq!(code(object_of(&names).as_bytes()), "ok", "{size}");
        let text = object_of(&names[..size - 1]);
        names[size - 1] = "member-0".to_owned();
        let expected = Err(Fault::DuplicateKey { offset: text.len() });
        assert_eq!(read(object_of(&names).as_bytes(), &Limits::default()), expected, "{size}");
    }
}

#[test]
fn attack_a_huge_object_of_look_alike_names_takes_no_quadratic_time() {
    let prefix = "a".repeat(40);
    let names: Vec<String> = (0..100_000).map(|n| format!("{prefix}{n:06}")).collect();
    let limits = Limits { max_bytes: 8 << 20, max_nodes: 200_000, ..Limits::default() };
    let begin = std::time::Instant::now();
    assert_eq!(read(object_of(&names).as_bytes(), &limits).unwrap().as_object().unwrap().len(), 100_000);
    // Five thousand million comparisons would take minutes in this build.
    assert!(begin.elapsed().as_secs() < 20);
}

#[test]
fn attack_a_known_name_in_another_case_is_found() {
    let known = ["protocol", "context", "task", "sender_id"];
    let found = |text: &str| {
        let json = read(text.as_bytes(), &Limits::default()).unwrap();
        let object = json.as_object().unwrap();
        object.case_variant_of(&known).map(|(found, known)| (found.to_owned(), known.to_owned()))
    };
    let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
    assert_eq!(found(r#"{"protocol":1,"context":1}"#), None);
    assert_eq!(found(r#"{"context":1,"Context":1}"#), pair("Context", "context"));
    assert_eq!(found(r#"{"SENDER_ID":1}"#), pair("SENDER_ID", "sender_id"));
    assert_eq!(found(r#"{"\u0053ender_id":1}"#), pair("Sender_id", "sender_id"));
    // The two characters beyond ASCII that lenient parsers fold into it.
    assert_eq!(found(r#"{"ta\u017fk":1}"#), pair("taſk", "task"));
    assert_eq!(found(r#"{"tas\u212a":1}"#), pair("tas\u{212a}", "task"));
    assert_eq!(found(r#"{"other":1,"contexts":1,"sender-id":1}"#), None);
}

#[test]
fn the_naming_member_can_be_left_out() {
    let json = read(br#"{"concept":"transfer","amount":12.50}"#, &Limits::default()).unwrap();
    let object = json.as_object().unwrap();
    assert_eq!(object.to_value_without(Some("concept")), serde_json::json!({"amount": 12.5}));
    assert_eq!(object.to_value_without(Some("absent")), object.to_value_without(None));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn duplicates_are_found_exactly_when_a_set_finds_them(names in proptest::collection::vec("[ab\\\\\"é]{0,3}", 0..40)) {
        let distinct = names.iter().collect::<HashSet<_>>().len() == names.len();
        prop_assert_eq!(code(object_of(&names).as_bytes()), if distinct { "ok" } else { "duplicate_key" });
    }
}
