//! No input causes a panic. An accepted message has one encoding and one reading.

use super::*;
use crate::{Binding, Call};
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-z{}\":0-9]{1,24}", "\\PC{0,12}"]
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(u64::MAX), any::<u64>()]
}

proptest! {
    #[test]
    fn every_message_is_read_as_it_was_written(
        (from, to, payload) in (text(), text(), text()),
        (timestamp, msg_id, session_id, kind) in (number(), number(), number(), 1_u64..11),
        extra in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let kind = MessageType::of(kind).unwrap();
        let draft =
            Draft { from, to, kind, payload, timestamp, msg_id, session_id, extra };
        let signed = draft.clone().sign(&key(3));
        let frame = read(inflate(&deflate(&signed), &FrameLimits::default()).unwrap()).unwrap();
        prop_assert_eq!(frame.bytes(), &signed);
        prop_assert_eq!(frame.verify(&public(&key(3))), Some(SignedForm::Explicit));
        prop_assert_eq!(frame.verify(&public(&key(4))), None);
        prop_assert_eq!((frame.from(), frame.to()), (draft.from.as_str(), draft.to.as_str()));
        prop_assert_eq!((frame.payload(), frame.extra()), (draft.payload.as_str(), draft.extra.as_slice()));
        prop_assert_eq!((frame.timestamp(), frame.msg_id(), frame.session_id()), (timestamp, msg_id, session_id));
        prop_assert_eq!(frame.kind(), kind);
    }

    #[test]
    fn fuzz_a_changed_message_is_refused_or_verifies_as_nothing(
        at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
    ) {
        let draft = Draft {
            from: "a".to_owned(), to: "b".to_owned(), kind: MessageType::Command,
            payload: r#"{"concept":"c","text":"abc"}"#.to_owned(),
            timestamp: 1_795_841_466, msg_id: 5, session_id: 6, extra: vec![1, 2, 3],
        };
        let signed = draft.sign(&key(3));
        let mut changed = signed.clone();
        let at = at.index(changed.len());
        if cut { changed.truncate(at) } else { changed[at] = byte }
        if let Ok(frame) = read(changed.clone()) {
            prop_assert_eq!(frame.bytes(), &changed);
            prop_assert_eq!(frame.verify(&public(&key(3))).is_some(), changed == signed);
        }
    }

    #[test]
    fn fuzz_random_bytes_are_read_whole_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = inflate(&bytes, &FrameLimits::default());
        if let Ok(frame) = read(bytes.clone()) {
            prop_assert_eq!(frame.bytes(), &bytes);
            if let Ok(judged) = frame.judged(&json::Limits::default()) {
                let json = json::read(&judged, &json::Limits::default()).unwrap();
                let _ = Binding::Iac.protocol().request(&json, &Call::iac(), None, &reading(true));
            }
        }
    }

    #[test]
    fn fuzz_a_payload_is_judged_in_full_or_refused(payload in prop_oneof![
        "[{}\\[\\]\":,0-9a-z\\\\ ]{0,40}",
        "\\{\"(l9|concept|task|x)\":(\\{\\}|\"a\"|1|null|\\[\\])(,\"(l9|concept|y)\":(\\{\"context\":\"u\"\\}|\"b\"))?\\}",
    ], kind in 1_u64..11) {
        let fields = Fields { payload: &payload, kind: MessageType::of(kind).unwrap(), ..TASK };
        if let Ok(judged) = frame(&fields).judged(&json::Limits::default()) {
            let json = json::read(&judged, &json::Limits::default()).unwrap();
            let object = json.as_object().unwrap();
            prop_assert_eq!(object.get("from").and_then(json::Json::as_str), Some("a"));
            let whole: serde_json::Value = serde_json::from_str(if payload.is_empty() { "{}" } else { &payload }).unwrap();
            let judged: serde_json::Value = serde_json::from_slice(&judged).unwrap();
            for (name, value) in whole.as_object().unwrap() {
                let stands = |at: &str| judged.get(at).and_then(|at| at.get(name)) == Some(value);
                prop_assert!((name == "l9" && judged.get("l9") == Some(value)) || stands("content") || stands("file_chunk"));
            }
            let _ = Binding::Iac.protocol().request(&json, &Call::iac(), None, &reading(true));
        }
    }
}

/// More cases than the others: a decoder of compressed bytes is a parser of its own.
fn changed_streams() -> ProptestConfig {
    ProptestConfig { cases: 4096, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(changed_streams())]

    #[test]
    fn fuzz_a_changed_stream_is_refused_or_inflates_within_the_limit(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        sample in 0_usize..3,
    ) {
        let text = "one two three four five six seven eight nine ten one two three four five six seven".repeat(8);
        let noise: Vec<u8> = (0..700_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let mixed = [text.as_bytes(), &noise, text.as_bytes()].concat();
        let mut stream = deflate([text.as_bytes(), &noise, &mixed][sample]);
        for (at, byte) in changes {
            let at = at.index(stream.len());
            stream[at] = byte;
        }
        let limits = FrameLimits { inflated: 1 << 16, ..FrameLimits::default() };
        if let Ok(out) = inflate(&stream, &limits) {
            prop_assert!(out.len() <= limits.inflated);
        }
    }
}
