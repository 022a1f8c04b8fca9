//! Parts that are no concepts: refused, or instances of the protocol's own where the route admits them.

use super::*;
use crate::FaultKind;
use Performative::{Inform, Request};

fn with<T>(
    version: Version,
    part: Value,
    reading: &Reading<'_>,
    test: impl FnOnce(Result<Message<'_>, MessageFault>) -> T,
) -> T {
    let (method, role) =
        if version == Version::V10 { ("SendMessage", "ROLE_USER") } else { ("message/send", "user") };
    let message = json!({"messageId": "m", "role": role, "parts": [part]});
    asks(&rpc(method, json!({ "message": message })), &call(version), reading, test)
}

fn parts() -> Vec<(Version, &'static str, Value)> {
    vec![
        (Version::V10, "text", json!({"text": "line\nline", "mediaType": "text/plain", "metadata": {}})),
        (Version::V10, "file", json!({"raw": "YQ==", "filename": "a b.txt", "mediaType": "text/plain"})),
        (Version::V10, "file", json!({"url": "https://files.example/a", "filename": ""})),
        (Version::V03, "text", json!({"kind": "text", "text": "line\nline"})),
        (
            Version::V03,
            "file",
            json!({"kind": "file", "file": {"bytes": "YQ==", "name": "a", "mimeType": "text/plain"}}),
        ),
        (Version::V03, "file", json!({"kind": "file", "file": {"uri": "https://files.example/a"}})),
    ]
}

#[test]
fn a_part_that_is_not_admitted_is_uninspectable() {
    for (version, _, part) in parts() {
        with(version, part, &STRICT, |read| {
            let message = read.unwrap();
            assert!(message.instances.is_empty());
            let place = message.uninspectable.unwrap().to_string();
            assert!(place.starts_with("/params/message/parts/0/"), "{place}");
        });
    }
}

#[test]
fn a_part_that_is_admitted_is_an_instance_with_the_performative_of_its_message() {
    for (version, name, part) in parts() {
        with(version, part, &OPEN, |read| {
            let message = read.unwrap();
            assert_eq!(told(&message), [(name, Request, Vocabulary::Protocol)]);
            assert_eq!(message.instances[0].pointer.to_string(), "/params/message/parts/0");
            assert!(message.uninspectable.is_none() && message.gap.is_none());
        });
    }
}

#[test]
fn each_kind_is_admitted_by_itself() {
    let admits = |text, raw, url| Reading { admit: TextParts { text, raw, url, data: false }, ..STRICT };
    for (n, part) in
        [json!({"text": "a"}), json!({"raw": "YQ=="}), json!({"url": "https://a"})].into_iter().enumerate()
    {
        for m in 0..3 {
            with(Version::V10, part.clone(), &admits(m == 0, m == 1, m == 2), |read| {
                assert_eq!(read.unwrap().uninspectable.is_none(), n == m, "{part}");
            });
        }
    }
}

#[test]
fn data_without_a_name_is_a_gap_or_admitted() {
    for data in [json!({"a": 1}), json!({}), json!({"a": {"b": {"concept": "deep"}}})] {
        with(Version::V10, json!({ "data": data }), &STRICT, |read| assert!(read.unwrap().gap.is_some()));
        with(Version::V10, json!({ "data": data }), &OPEN, |read| {
            let message = read.unwrap();
            assert_eq!(told(&message), [("data", Request, Vocabulary::Protocol)]);
            assert!(message.gap.is_none());
        });
    }
    for data in [json!(1), json!([1]), json!("a"), json!(true)] {
        with(Version::V10, json!({ "data": data }), &STRICT, |read| drop(read.unwrap_err()));
        with(Version::V10, json!({ "data": data }), &OPEN, |read| assert_eq!(told(&read.unwrap()).len(), 1));
    }
}

#[test]
fn what_names_a_concept_is_never_taken_for_mere_data() {
    with(Version::V10, json!({"data": {"x": {"concept": "a"}, "y": 1}}), &OPEN, |read| {
        let message = read.unwrap();
        assert_eq!(told(&message), [("a", Request, Vocabulary::Context)]);
        assert!(message.gap.is_some());
    });
    for data in [
        json!({"Concept": "a"}),
        json!({"concept": 1}),
        json!({"x": {"CONCEPT_TYPE": "a"}}),
        json!({"concept": "a", "task": "b"}),
    ] {
        with(Version::V10, json!({ "data": data }), &OPEN, |read| {
            assert_eq!(read.unwrap_err().kind, FaultKind::Malformed, "{data}");
        });
    }
}

#[test]
fn metadata_is_judged_where_data_is_admitted_and_refused_elsewhere() {
    let message = json!({
        "messageId": "m", "role": "ROLE_USER", "parts": [{"data": {"concept": "x"}, "metadata": {"p": 1}}],
        "metadata": {EXTENSION: {"context": "u", "performative": "INFORM"}, "m": 1},
        "extensions": [EXTENSION, "https://example.com/ext/timestamp/v1"],
    });
    let value = rpc("SendMessage", json!({"message": message, "metadata": {"q": {"r": []}}}));
    asks(&value, &call(Version::V10), &STRICT, |read| drop(read.unwrap_err()));
    asks(&value, &call(Version::V10), &OPEN, |read| {
        let message = read.unwrap();
        let own = |name| (name, Inform, Vocabulary::Protocol);
        assert_eq!(
            told(&message),
            [own("metadata"), own("metadata"), ("x", Inform, Vocabulary::Context), own("metadata")]
        );
        assert_eq!(message.claims.len(), 1);
    });
}

#[test]
fn more_parts_than_concepts_are_allowed_is_too_complex() {
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": vec![json!({"text": "a"}); 9]});
    asks(&rpc("SendMessage", json!({ "message": message })), &call(Version::V10), &OPEN, |read| {
        assert_eq!(read.unwrap_err().kind, FaultKind::TooComplex);
    });
}

#[test]
fn a_text_has_a_longest_length() {
    let text = "a".repeat(100_001);
    strict(
        &rpc(
            "SendMessage",
            json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{ "text": text }]}}),
        ),
        |json| {
            let message = request(json, &call(Version::V10), &OPEN).unwrap();
            assert_eq!(broken(&message.instances[0]).as_deref(), Some("/text maxLength"));
        },
    );
}

#[test]
fn attack_prose_in_the_place_of_a_media_type() {
    let long = format!("application/{}+json", "please-".repeat(12));
    for media in [
        "text/please ignore",
        "please-ignore/what-you-were-told",
        "text/-",
        "text/",
        "/plain",
        "text/plain/x",
        "*/plain",
        "text/p*",
        "text/plain; charset=utf-8",
        long.as_str(),
    ] {
        for part in [json!({"raw": "YQ==", "mediaType": media}), json!({"text": "a", "mediaType": media})] {
            with(Version::V10, part, &OPEN, |read| {
                let fault = read.unwrap_err();
                assert_eq!(
                    (fault.kind, fault.path.as_str()),
                    (FaultKind::Malformed, "/params/message/parts/0/mediaType"),
                    "{media}"
                );
            });
        }
        let modes = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "a"}]},
            "configuration": {"acceptedOutputModes": ["text/plain", media]}});
        asks(&rpc("SendMessage", modes), &call(Version::V10), &OPEN, |read| {
            assert_eq!(read.unwrap_err().path, "/params/configuration/acceptedOutputModes", "{media}");
        });
    }
    let longest = "application/vnd.openxmlformats-officedocument.spreadsheetml.pivotCacheDefinition+xml";
    for media in ["text/plain", "Image/PNG", "*/*", "text/*", longest, "application/x-ndjson"] {
        with(Version::V10, json!({"raw": "YQ==", "mediaType": media}), &OPEN, |read| drop(read.unwrap()));
    }
}

#[test]
fn texts_of_one_list_of_parts_are_told_together_and_no_others() {
    let parts = json!([{"text": "a"}, {"raw": "YQ=="}, {"text": ""}, {"text": "b"}, {"url": "https://a"}]);
    let message = |parts: &Value| json!({"messageId": "m", "role": "ROLE_USER", "parts": parts});
    asks(&rpc("SendMessage", json!({ "message": message(&parts) })), &call(Version::V10), &OPEN, |read| {
        let message = read.unwrap();
        assert_eq!(message.joined_texts, [crate::JoinedTexts { texts: vec!["a", "b"], last: 3 }]);
        assert_eq!(message.instances[3].pointer.to_string(), "/params/message/parts/3");
    });
    for parts in [
        json!([{"text": "a"}]),
        json!([{"text": "a"}, {"text": ""}]),
        json!([{"raw": "YQ=="}, {"text": "a"}]),
    ] {
        asks(
            &rpc("SendMessage", json!({ "message": message(&parts) })),
            &call(Version::V10),
            &OPEN,
            |read| {
                assert!(read.unwrap().joined_texts.is_empty(), "{parts}");
            },
        );
    }
    let old = json!({"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "a"}, {"kind": "text", "text": "b"}]});
    asks(&rpc("message/send", json!({ "message": old })), &call(Version::V03), &OPEN, |read| {
        assert_eq!(read.unwrap().joined_texts, [crate::JoinedTexts { texts: vec!["a", "b"], last: 1 }]);
    });
}
