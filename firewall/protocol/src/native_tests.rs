use super::*;
use crate::{FaultKind, TextParts};
use proptest::prelude::*;
use semgate_contexts::json;

const READING: Reading<'static> = Reading {
    extension: "urn:contexts:snl:v1.0",
    max_concepts: 4,
    admit: TextParts { text: false, raw: false, url: false, data: false },
    tenant: None,
    meta: crate::MetaKeys::NONE,
    untyped: false,
    formats: &[],
};

const HEAD: &str =
    r#""protocol":"L8/1.0","message_id":"m-1","performative":"INFORM","sender_id":"a","receiver_id":"b""#;

fn parse<T>(text: &str, test: impl FnOnce(Read<Message<'_>>) -> T) -> T {
    let json = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
    test(super::read(&json, &READING))
}

fn fault(text: &str) -> (FaultKind, String) {
    parse(text, |read| {
        let fault = read.unwrap_err();
        (fault.kind, fault.path)
    })
}

fn with(members: &str) -> String {
    format!("{{{HEAD},{members}}}")
}

#[test]
fn one_concept_object_is_one_instance() {
    let text =
        with(r#""context":"urn:contexts:x:v1.0","digest":"d","lock":"l","content":{"concept":"c","n":1}"#);
    parse(&text, |read| {
        let message = read.unwrap();
        assert_eq!(message.message_id, "m-1");
        assert_eq!((message.sender_id, message.receiver_id), (Some("a"), Some("b")));
        assert_eq!(message.performative, Performative::Inform);
        let claim = message.claims[0];
        assert_eq!((claim.urn, claim.digest, claim.lock), ("urn:contexts:x:v1.0", Some("d"), Some("l")));
        assert_eq!(message.instances.len(), 1);
        assert_eq!((message.instances[0].name, message.instances[0].naming), ("c", "concept"));
        assert_eq!(message.instances[0].pointer.to_string(), "/content");
        assert!(message.gap.is_none() && message.uninspectable.is_none() && message.rpc_id.is_none());
    });
}

#[test]
fn a_map_of_concept_objects_is_read_in_order_whatever_names_the_type() {
    let text = with(r#""content":{"x":{"concept_type":"a"},"y":{"concept":"b"},"z":{"task":"c"}}"#);
    parse(&text, |read| {
        let message = read.unwrap();
        let read: Vec<_> =
            message.instances.iter().map(|i| (i.name, i.naming, i.pointer.to_string())).collect();
        assert_eq!(
            read,
            [
                ("a", "concept_type", "/content/x".to_owned()),
                ("b", "concept", "/content/y".to_owned()),
                ("c", "task", "/content/z".to_owned()),
            ]
        );
        assert!(message.claims.is_empty());
    });
}

#[test]
fn what_names_no_concept_is_a_gap_and_not_a_fault_of_form() {
    for (content, path, what) in [
        (r#"{}"#, "/content", "is empty"),
        (r#"{"my_mood":"happy"}"#, "/content/my_mood", "is not a concept"),
        (r#"{"a":{"concept":"c"},"my_mood":null}"#, "/content/my_mood", "is not a concept"),
        (r#"{"a":{"b":{"concept":"c"}}}"#, "/content/a", "names no concept"),
        (r#"{"a-b.c":1}"#, "/content/a-b.c", "is not a concept"),
    ] {
        parse(&with(&format!(r#""content":{content}"#)), |read| {
            let gap = read.unwrap().gap.unwrap();
            assert_eq!((gap.pointer.to_string().as_str(), gap.what), (path, what));
        });
    }
}

/// Another reader would take these for a concept whose type is an object: two readings are none (`docs/design/firewall.md` §1).
#[test]
fn attack_a_naming_member_that_is_no_string_is_malformed() {
    for (content, path) in [
        (r#"{"concept_type":7}"#, "/content/concept_type"),
        (r#"{"task":{"task":"bookFlight"}}"#, "/content/task"),
        (r#"{"x":{"concept":{"concept":"a"}}}"#, "/content/x/concept"),
    ] {
        parse(&with(&format!(r#""content":{content}"#)), |read| {
            let fault = read.unwrap_err();
            assert_eq!((fault.path.as_str(), fault.what), (path, "does not name its type with a string"));
        });
    }
}

/// F0-34: names of entries are judged by no schema and seen by no policy.
#[test]
fn attack_a_sentence_as_the_name_of_an_entry_is_malformed() {
    let long = "a".repeat(65);
    for name in ["", "two words", "a\\u202eb", "über", long.as_str()] {
        parse(&with(&format!(r#""content":{{"{name}":{{"concept":"a"}}}}"#)), |read| {
            let fault = read.unwrap_err();
            assert_eq!(fault.kind, FaultKind::Malformed);
            assert!(fault.what.starts_with("has an entry whose name"), "{}", fault.what);
        });
    }
}

#[test]
fn two_naming_members_and_other_cases_of_them_are_malformed() {
    for (content, path) in [
        (r#"{"concept":"a","task":"a"}"#, "/content"),
        (r#"{"x":{"concept":"a","concept_type":7}}"#, "/content/x"),
        (r#"{"Task":"a"}"#, "/content/Task"),
        (r#"{"x":{"CONCEPT":"a"}}"#, "/content/x/CONCEPT"),
        ("{\"x\":{\"ta\u{17f}k\":\"a\"}}", "/content/x/*"),
    ] {
        assert_eq!(fault(&with(&format!(r#""content":{content}"#))), (FaultKind::Malformed, path.to_owned()));
    }
}

#[test]
fn a_known_member_in_two_cases_is_a_duplicate_wherever_it_stands() {
    assert_eq!(
        fault(&with(r#""content":{},"CONTENT":{}"#)),
        (FaultKind::DuplicateKey, "/content".to_owned())
    );
    let nested = with(r#""content":{"x":{"task":"a","Task":"b"}}"#);
    assert_eq!(fault(&nested), (FaultKind::DuplicateKey, "/content/x/task".to_owned()));
    // and it answers before anything else that is malformed
    let both = with(r#""unknown":1,"content":{"x":{"task":"a","tASK":"b"}}"#);
    assert_eq!(fault(&both).0, FaultKind::DuplicateKey);
}

#[test]
fn too_many_concepts_are_too_complex() {
    let map: Vec<_> = (0..5).map(|n| format!(r#""k{n}":{{"concept":"c"}}"#)).collect();
    let text = with(&format!(r#""content":{{{}}}"#, map.join(",")));
    assert_eq!(fault(&text), (FaultKind::TooComplex, "/content".to_owned()));
}

#[test]
fn every_member_is_required_but_those_of_the_claim() {
    let all = [
        ("protocol", r#""A2A/1.0""#),
        ("message_id", r#""m""#),
        ("performative", r#""QUERY""#),
        ("sender_id", r#""a""#),
        ("receiver_id", r#""b""#),
        ("content", r#"{"task":"t"}"#),
    ];
    for (missing, _) in all {
        let rest: Vec<_> = all
            .iter()
            .filter(|(name, _)| *name != missing)
            .map(|(name, value)| format!("\"{name}\":{value}"))
            .collect();
        assert_eq!(fault(&format!("{{{}}}", rest.join(","))), (FaultKind::Malformed, format!("/{missing}")));
    }
}

#[test]
fn each_member_has_one_type() {
    for (member, value) in [
        ("message_id", "7"),
        ("message_id", "\"\""),
        ("message_id", "\"a b\""),
        ("sender_id", "null"),
        ("receiver_id", "[]"),
        ("context", "{}"),
        ("digest", "1"),
        ("lock", "true"),
        ("lock", "\"a\\nb\""),
        ("session", "\"<\""),
        ("performative", "null"),
        ("protocol", "\"A2A/2.0\""),
    ] {
        let mut message: serde_json::Value =
            serde_json::from_str(&with(r#""content":{"task":"t"},"context":"u""#)).unwrap();
        message[member] = serde_json::from_str(value).unwrap();
        assert_eq!(
            fault(&message.to_string()),
            (FaultKind::Malformed, format!("/{member}")),
            "{member}: {value}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::cases()))]

    #[test]
    fn no_json_makes_the_binding_panic(text in "[\\[\\]{}\":,a-z0-9 ]{0,80}") {
        if let Ok(json) = json::read(text.as_bytes(), &json::Limits::default()) {
            let _ = super::read(&json, &READING);
        }
    }

    #[test]
    fn a_fault_never_shows_more_of_a_name_than_a_plain_word(name in "\\PC{1,40}") {
        let name = serde_json::to_string(&name).unwrap();
        let text = with(&format!("{name}:1,\"content\":{{}}"));
        if let Ok(json) = json::read(text.as_bytes(), &json::Limits::default())
            && let Err(fault) = super::read(&json, &READING)
        {
            prop_assert!(fault.path.bytes().all(|b| b.is_ascii_alphanumeric() || b"/*_-.".contains(&b)), "{}", fault.path);
        }
    }
}
