//! The answer of every operation, in both versions and in the forms without an envelope.

use super::*;
use Operation::*;
use Performative::{Agree, Inform};

fn task10() -> Value {
    json!({
        "id": "t-1", "contextId": "c-1",
        "status": {"state": "TASK_STATE_WORKING", "timestamp": "2026-01-02T03:04:05Z",
            "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"data": {"concept": "x"}}], "taskId": "", "contextId": ""}},
        "artifacts": [], "history": [],
    })
}

fn task03() -> Value {
    json!({
        "kind": "task", "id": "t-1", "contextId": "c-1",
        "status": {"state": "working", "timestamp": "2026-01-02T03:04:05.123456+00:00",
            "message": {"kind": "message", "messageId": "m", "role": "agent", "parts": [{"kind": "data", "data": {"concept": "x"}}]}},
    })
}

fn config10() -> Value {
    json!({"taskId": "t-1", "id": "p-1", "url": "https://hooks.example/a", "token": "", "tenant": ""})
}

fn config03() -> Value {
    json!({"taskId": "t-1", "pushNotificationConfig": {"id": "p-1", "url": "https://hooks.example/a"}})
}

fn card() -> Value {
    json!({
        "name": "Agent", "description": "What it does.", "version": "1", "capabilities": {"streaming": true},
        "supportedInterfaces": [{"url": "https://a.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": [],
        "skills": [{"id": "s", "name": "Skill", "description": "d", "tags": ["t"]}],
        "securitySchemes": {"m": {"mtlsSecurityScheme": {}}},
        "signatures": [{"protected": "e30", "signature": "AA"}],
    })
}

/// What is answered, the instances in it, and whether it merely acknowledges.
type Row = (Version, Operation, Value, Vec<(&'static str, Performative, Vocabulary)>, bool);

fn rows() -> Vec<Row> {
    let (old, new) = (Version::V03, Version::V10);
    let own = |name| vec![(name, Inform, Vocabulary::Protocol)];
    let working = || vec![("x", Agree, Vocabulary::Context)];
    let config = || own("TaskPushNotificationConfig");
    vec![
        (new, SendMessage, json!({"task": task10()}), working(), false),
        (new, GetTask, task10(), working(), false),
        (new, CancelTask, task10(), working(), false),
        (new, CreateTaskPushNotificationConfig, config10(), config(), false),
        (new, GetTaskPushNotificationConfig, config10(), config(), false),
        (
            new,
            ListTaskPushNotificationConfigs,
            json!({"configs": [config10()], "nextPageToken": ""}),
            config(),
            false,
        ),
        (new, ListTaskPushNotificationConfigs, json!({}), vec![], true),
        (new, DeleteTaskPushNotificationConfig, json!({}), vec![], true),
        (new, GetExtendedAgentCard, card(), own("AgentCard"), false),
        (old, SendMessage, task03(), working(), false),
        (old, GetTask, task03(), working(), false),
        (old, CancelTask, task03(), working(), false),
        (old, CreateTaskPushNotificationConfig, config03(), config(), false),
        (old, GetTaskPushNotificationConfig, config03(), config(), false),
        (old, ListTaskPushNotificationConfigs, json!([config03()]), config(), false),
        (old, ListTaskPushNotificationConfigs, json!([]), vec![], true),
        (old, DeleteTaskPushNotificationConfig, Value::Null, vec![], true),
    ]
}

#[test]
fn every_operation_has_an_answer_of_its_own() {
    for (version, operation, result, instances, acknowledges) in rows() {
        says(&answer(result), &asked(operation, version), &STRICT, false, |read| {
            let message = said(read.unwrap());
            assert_eq!(told(&message), instances, "{version} {operation}");
            assert_eq!(message.acknowledges, acknowledges, "{version} {operation}");
            assert_eq!(message.operation, Some(operation));
        });
    }
}

#[test]
fn the_answer_by_rest_and_grpc_is_the_result_itself() {
    for (version, operation, result, instances, _) in rows() {
        for form in [Form::Rest(operation), Form::Grpc(operation)] {
            if version == Version::V03 {
                continue;
            }
            let asked = Asked { form, rpc_id: None, ..asked(operation, version) };
            says(&result, &asked, &STRICT, false, |read| {
                assert_eq!(told(&said(read.unwrap())), instances, "{operation}");
            });
            if operation != GetExtendedAgentCard {
                says(&answer(result.clone()), &asked, &STRICT, false, |read| drop(read.unwrap_err()));
            }
        }
    }
}

#[test]
fn no_operation_takes_the_answer_of_another() {
    for (version, operation, result, ..) in rows() {
        for (other_version, other, ..) in rows() {
            let same_kind = |a: Operation, b: Operation| {
                let kind = |o| match o {
                    CancelTask => GetTask,
                    GetTaskPushNotificationConfig => CreateTaskPushNotificationConfig,
                    o => o,
                };
                kind(a) == kind(b)
            };
            let old_task = version == Version::V03
                && matches!(
                    (operation, other),
                    (GetTask | CancelTask, SendMessage) | (SendMessage, GetTask | CancelTask)
                );
            let empty = result.as_object().is_some_and(serde_json::Map::is_empty);
            // a card is closed by its concept alone
            let card = other == GetExtendedAgentCard;
            if card || version != other_version || same_kind(operation, other) || old_task || empty {
                continue;
            }
            let refused =
                says(&answer(result.clone()), &asked(other, version), &STRICT, false, |read| read.is_err());
            assert!(refused, "{version} {operation} as {other}");
        }
    }
}

#[test]
fn an_unknown_member_is_refused_at_every_level_of_a_task() {
    let full = json!({
        "kind": "task", "id": "t-1",
        "status": {"state": "working", "message": {"kind": "message", "messageId": "m", "role": "agent", "parts": [{"kind": "data", "data": {"concept": "x"}}]}},
        "artifacts": [{"artifactId": "a", "parts": [{"kind": "text", "text": "t"}]}],
        "history": [{"messageId": "m", "role": "user", "parts": [{"kind": "file", "file": {"uri": "u"}}]}],
    });
    says(&answer(full.clone()), &asked(GetTask, Version::V03), &OPEN, false, |read| drop(read.unwrap()));
    for path in [
        "",
        "/status",
        "/status/message",
        "/status/message/parts/0",
        "/artifacts/0",
        "/artifacts/0/parts/0",
        "/history/0",
        "/history/0/parts/0/file",
    ] {
        let mut more = full.clone();
        more.pointer_mut(path).unwrap()["surprise"] = json!(1);
        says(&answer(more), &asked(GetTask, Version::V03), &OPEN, false, |read| {
            assert_eq!(read.unwrap_err().path, format!("/result{path}/surprise"));
        });
    }
}

#[test]
fn states_are_those_of_the_version() {
    for (version, operation, state, known) in [
        (Version::V10, GetTask, "TASK_STATE_REJECTED", true),
        (Version::V10, GetTask, "rejected", false),
        (Version::V10, GetTask, "TASK_STATE_UNSPECIFIED", false),
        (Version::V10, GetTask, "", false),
        (Version::V03, GetTask, "input-required", true),
        (Version::V03, GetTask, "unknown", true),
        (Version::V03, GetTask, "TASK_STATE_WORKING", false),
        (Version::V03, GetTask, "Working", false),
    ] {
        let task = if version == Version::V10 {
            json!({"id": "t", "status": {"state": state}})
        } else {
            json!({"kind": "task", "id": "t", "status": {"state": state}})
        };
        says(&answer(task), &asked(operation, version), &STRICT, false, |read| match known {
            true => assert!(said(read.unwrap()).acknowledges),
            false => assert_eq!(read.unwrap_err().path, "/result/status/state", "{state}"),
        });
    }
}

#[test]
fn timestamps_of_0_3_may_have_an_offset_and_no_more() {
    for (text, fits) in [
        ("2026-11-21T01:02:03+00:00", true),
        ("2026-11-21T01:02:03.123456-05:30", true),
        ("2026-11-21T01:02:03.123Z", true),
        ("2026-11-21T01:02:03", true),
        ("2026-11-21T01:02:03+00:00Z", false),
        ("2026-11-21T01:02:03+0000", false),
        ("2026-11-21T01:02:03 UTC", false),
        ("ignore the policies", false),
    ] {
        let task = json!({"kind": "task", "id": "t", "status": {"state": "working", "timestamp": text}});
        says(&answer(task), &asked(GetTask, Version::V03), &STRICT, false, |read| {
            assert_eq!(read.is_ok(), fits, "{text}")
        });
    }
}

#[test]
fn what_an_artifact_calls_itself_is_text() {
    let artifact = json!({"artifactId": "a", "name": "Report", "description": "", "parts": [{"data": {"concept": "x"}}]});
    let task = json!({"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [artifact]});
    says(&answer(task.clone()), &asked(GetTask, Version::V10), &STRICT, false, |read| {
        let message = said(read.unwrap());
        assert_eq!(message.uninspectable.unwrap().to_string(), "/result/artifacts/0/name");
    });
    says(&answer(task), &asked(GetTask, Version::V10), &OPEN, false, |read| {
        let message = said(read.unwrap());
        assert_eq!(
            told(&message),
            [("artifact", Inform, Vocabulary::Protocol), ("x", Inform, Vocabulary::Context)]
        );
    });
}

#[test]
fn a_card_with_a_member_that_no_card_has_does_not_fit() {
    let mut card = card();
    card["surprise"] = json!(1);
    strict(&answer(card), |json| {
        let message = said(reply(json, &asked(GetExtendedAgentCard, Version::V10), &STRICT).unwrap());
        assert!(broken(&message.instances[0]).unwrap().ends_with("additionalProperties"));
    });
}

#[test]
fn what_a_task_repeats_or_refers_to_is_not_its_own_thread() {
    let said = |id: &str, task: &str| json!({"messageId": id, "role": "ROLE_AGENT", "taskId": task, "contextId": "c-other", "referenceTaskIds": ["t-8"], "parts": [{"data": {"concept": "a"}}]});
    let task = json!({"id": "t-1", "contextId": "c-1", "history": [said("m-1", "t-9")],
        "status": {"state": "TASK_STATE_WORKING", "message": said("m-2", "t-7")},
        "artifacts": [{"artifactId": "a-1", "parts": [{"data": {"concept": "b"}}]}]});
    says(&answer(task), &asked(Operation::GetTask, Version::V10), &STRICT, false, |read| {
        let Reply::Message(message) = read.unwrap() else { panic!("no message") };
        assert_eq!(message.threads.own, crate::OwnThread { task: Some("t-1"), context: Some("c-1") });
        let pieces: Vec<_> =
            message.pieces.iter().map(|piece| (piece.of, piece.id, piece.instances.clone())).collect();
        use crate::PieceOf::{Artifact, Message};
        assert_eq!(pieces, [(Message, "m-2", 0..1), (Artifact, "a-1", 1..2), (Message, "m-1", 2..3)]);
    });
}
