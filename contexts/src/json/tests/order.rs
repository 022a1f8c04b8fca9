//! Which fault answers where several apply: limits, then duplicate keys, then the rest.

use super::*;

fn small() -> Limits {
    Limits {
        max_bytes: 200,
        max_depth: 3,
        max_nodes: 10,
        max_string_bytes: 20,
        max_key_bytes: 8,
        large_integers: false,
    }
}

fn fault(text: &str) -> Fault {
    read(text.as_bytes(), &small()).unwrap_err()
}

#[test]
fn each_limit_is_inclusive() {
    let limits = small();
    let ok = |text: &str| read(text.as_bytes(), &limits).is_ok();
    assert!(ok(&format!("{:200}", "1")));
    assert_eq!(fault(&format!("{:201}", "1")), Fault::TooLarge);
    assert!(ok("[[[]]]"));
    assert_eq!(fault("[[[[]]]]"), Fault::TooDeep);
    assert_eq!(fault(r#"[[[{"#), Fault::TooDeep);
    assert!(ok("[1,2,3,4,5,6,7,8,9]"));
    assert_eq!(fault("[1,2,3,4,5,6,7,8,9,10]"), Fault::TooComplex);
    assert!(ok(r#"["12345678901234567890"]"#));
    assert_eq!(fault(r#"["123456789012345678901"]"#), Fault::TooLarge);
    assert!(ok(r#"{"12345678":1}"#));
    assert_eq!(fault(r#"{"123456789":1}"#), Fault::TooLarge);
}

#[test]
fn strings_are_measured_after_unescaping() {
    assert!(read(br#"["\u0061\u0061\u0061\u0061\u0061\u0061"]"#, &small()).is_ok());
    let twenty = "\\n".repeat(20);
    assert!(read(format!("[\"{twenty}\"]").as_bytes(), &small()).is_ok());
    assert_eq!(fault(&format!("[\"{twenty}\\n\"]")), Fault::TooLarge);
    assert_eq!(fault(r#"{"\u00e9\u00e9\u00e9\u00e9\u00e9":1}"#), Fault::TooLarge);
}

#[test]
fn a_limit_answers_before_a_duplicate_and_before_malformed() {
    assert_eq!(fault(r#"{"a":1,"a":[[[1]]]}"#), Fault::TooDeep);
    assert_eq!(fault(r#"{"a":1,"a":[1,2,3,4,5,6,7,8,9,0]}"#), Fault::TooComplex);
    assert_eq!(fault(r#"{"a":1,"a":"123456789012345678901"}"#), Fault::TooLarge);
    assert_eq!(fault(r#"[1e999,"\ud800",[[[1]]]]"#), Fault::TooDeep);
    assert_eq!(fault(&format!("\u{feff}{:200}", "x")), Fault::TooLarge);
    // A limit that is passed within a string that never ends.
    assert_eq!(fault(r#"["123456789012345678901"#), Fault::TooLarge);
    let mut endless = br#"{"a":1,"a":[[["#.to_vec();
    endless.extend(b"[[[[\xff");
    assert_eq!(read(&endless, &small()), Err(Fault::TooDeep));
}

#[test]
fn a_duplicate_answers_before_malformed_wherever_that_stands() {
    let duplicate = |offset| Fault::DuplicateKey { offset };
    // Behind it, in ways that stop the reading.
    assert_eq!(fault(r#"{"a":1,"a":2,}"#), duplicate(7));
    assert_eq!(fault(r#"{"a":1,"a":}"#), duplicate(7));
    assert_eq!(fault(r#"{"a":1,"a""#), duplicate(7));
    assert_eq!(fault(r#"{"a":1,"a"#), Fault::Malformed { offset: 9, what: "string does not end" });
    assert_eq!(fault(r#"{"a":1,"a":2} x"#), duplicate(7));
    assert_eq!(fault(r#"[{"a":1,"a":2},nul]"#), duplicate(8));
    assert_eq!(
        fault(r#"{"a":1,"b":{"c":01},"a":1}"#),
        Fault::Malformed { offset: 16, what: "number has a leading zero" }
    );
    assert_eq!(read(b"{\"a\":1,\"a\":2}\xff", &small()), Err(duplicate(7)));
    assert_eq!(read(b"{\"a\":1,\"a\":\"\xff\"}", &small()), Err(duplicate(7)));
    // Before it, in ways that do not.
    assert_eq!(fault(r#"{"n":1e999,"a":1,"a":2}"#), duplicate(17));
    assert_eq!(fault(r#"{"s":"\ud800","a":1,"a":2}"#), duplicate(20));
    assert_eq!(fault("{\"s\":\"\u{1}\",\"a\":1,\"a\":2}"), duplicate(15));
    // In an object around or within one that broke off.
    assert_eq!(fault(r#"{"a":1,"a":{"b":x"#), duplicate(7));
    assert_eq!(fault(r#"{"a":{"b":1,"b":x"#), duplicate(12));
}

#[test]
fn the_first_duplicate_of_the_text_is_named() {
    assert_eq!(fault(r#"{"a":1,"a":{"b":1,"b":1}}"#), Fault::DuplicateKey { offset: 7 });
    assert_eq!(fault(r#"[{"b":1,"b":1},{"a":1,"a":1}]"#), Fault::DuplicateKey { offset: 8 });
    assert_eq!(fault(r#"{"b":1,"a":1,"a":1,"b":1}"#), Fault::DuplicateKey { offset: 13 });
}

#[test]
fn malformed_names_are_no_evidence_of_a_duplicate() {
    // Both surrogates are read as U+FFFD once they are refused; the names differ all the same.
    assert_eq!(fault(r#"{"\ud800":1,"\ud801":2}"#), Fault::Malformed { offset: 2, what: "lone surrogate" });
    assert_eq!(fault(r#"{"\ufffd":1,"\ud801":2}"#), Fault::Malformed { offset: 13, what: "lone surrogate" });
    assert_eq!(fault(r#"{"\ud801":1,"a":2,"a":2}"#), Fault::DuplicateKey { offset: 18 });
}

#[test]
fn the_first_malformed_place_is_named() {
    let malformed = |text: &str| match fault(text) {
        Fault::Malformed { offset, .. } => offset,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(malformed(r#"[1e999,"\ud800",x]"#), 1);
    assert_eq!(malformed(r#"["\ud800",1e999"#), 2);
    assert_eq!(malformed("[1,]"), 3);
    assert_eq!(malformed(""), 0);
    assert_eq!(malformed("  "), 2);
    assert_eq!(read(b"[\"a\xff\"]", &small()), Err(Fault::Malformed { offset: 3, what: "not utf-8" }));
    assert_eq!(read(b"[1]\x80", &small()), Err(Fault::Malformed { offset: 3, what: "not utf-8" }));
    assert_eq!(
        read(b"\xef\xbb\xbf[1]", &small()),
        Err(Fault::Malformed { offset: 0, what: "byte-order mark" })
    );
}
