//! No input causes a panic, and two messages never have one signed text.

use super::*;
use proptest::prelude::*;

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<i32>().prop_map(|eighths| Value::from(f64::from(eighths) / 8.0)),
        "[a-z|:/. ]{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "HELLO",
            "TASK_RESULT",
            "text",
            "peer_verified",
            "2026-01-02T03:04:05Z",
            "hmac-sha256"
        ])
        .prop_map(Value::from),
        Just(json!({})),
        Just(json!([null, {"name": null}])),
        Just(json!({"context": "urn:contexts:payment:v1.1", "deadline": "x", "produced_by": "d"})),
    ]
}

const PATHS: [&str; 20] = [
    "/message_id",
    "/session_id",
    "/from",
    "/to",
    "/body",
    "/payload_mode",
    "/timestamp",
    "/provenance",
    "/signature",
    "/nonce",
    "/extra",
    "/body/type",
    "/body/task_id",
    "/body/skill",
    "/body/input",
    "/body/contract",
    "/body/config",
    "/body/output",
    "/body/provenance",
    "/body/error",
];

/// An exchange of the Python library with random values in random members.
fn almost() -> impl Strategy<Value = (Value, Value)> {
    let changes = prop::collection::vec((prop::sample::select(PATHS.to_vec()), leaf()), 0..4);
    (prop::sample::select(python()), changes).prop_map(|((asked, answered), changes)| {
        let change = |mut value: Value| {
            for (path, member) in &changes {
                if value.pointer(path.rsplit_once('/').unwrap().0).is_some_and(Value::is_object) {
                    value = with(&value, path, member.clone());
                }
            }
            value
        };
        (change(asked), change(answered))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::cases()))]

    #[test]
    fn fuzz_messages_that_are_almost_right((asked, answered) in almost()) {
        for value in [&asked, &answered] {
            strict(value, |json| {
                let _ = Ldp.session(json, &CALL);
                let _ = Removal::of(json, &Ldp, Author::Client, &reading());
            });
            let _ = request(&clean(value), |_| ());
        }
        if let Some(echo) = strict(&asked, |json| Ldp.echo(json, &CALL)) {
            let _ = reply(&clean(&answered), &echo, |_| ());
        }
    }

    #[test]
    fn two_messages_with_one_signed_text_have_the_same_covered_members(
        (one, other) in (almost(), almost()),
        words in prop::collection::vec("[a|]{0,3}", 4),
    ) {
        let text = |value: &Value| request(value, |message| message.dialogue.seal.as_ref().unwrap().text.clone()).ok();
        let cut = |value: &Value, at: usize| {
            let value = with(&clean(value), "/body/skill", words[at].clone().into());
            with(&value, "/body/task_id", words[at + 1].clone().into())
        };
        for (one, other) in [(clean(&one.0), clean(&other.0)), (cut(&one.0, 0), cut(&one.0, 2))] {
            let (Some(first), Some(second)) = (text(&one), text(&other)) else { continue };
            if first == second {
                for path in ["/from", "/to", "/session_id", "/message_id", "/timestamp", "/body/task_id", "/body/skill"] {
                    prop_assert_eq!(one.pointer(path), other.pointer(path), "{}", path);
                }
            }
        }
    }
}
