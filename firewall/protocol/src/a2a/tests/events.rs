//! Events of streams.

use super::*;
use Operation::{SendMessage, SendStreamingMessage, SubscribeToTask};
use Performative::{Agree, Inform, Query, Refuse};

fn new(result: Value, reading: &Reading<'_>, test: impl FnOnce(Result<Message<'_>, MessageFault>)) {
    says(&answer(result.clone()), &asked(SendStreamingMessage, Version::V10), reading, true, |read| {
        test(read.map(said))
    });
}

fn old(result: Value, reading: &Reading<'_>, test: impl FnOnce(Result<Message<'_>, MessageFault>)) {
    says(&answer(result), &asked(SubscribeToTask, Version::V03), reading, true, |read| test(read.map(said)));
}

#[test]
fn every_event_is_read_in_both_versions() {
    let part = json!({"data": {"concept": "x"}});
    let part03 = json!({"kind": "data", "data": {"concept": "x"}});
    let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [part]});
    let message03 = json!({"kind": "message", "messageId": "m", "role": "agent", "parts": [part03]});
    let x = |performative| vec![("x", performative, Vocabulary::Context)];
    for (event, event03, says) in [
        (json!({"message": message}), message03.clone(), x(Inform)),
        (
            json!({"task": {"id": "t", "status": {"state": "TASK_STATE_SUBMITTED", "message": message}}}),
            json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "submitted", "message": message03}}),
            x(Agree),
        ),
        (
            json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_INPUT_REQUIRED", "message": message}}}),
            json!({"kind": "status-update", "taskId": "t", "contextId": "c", "final": true, "status": {"state": "input-required", "message": message03}}),
            x(Query),
        ),
        (
            json!({"statusUpdate": {"taskId": "t", "contextId": "", "status": {"state": "TASK_STATE_REJECTED", "message": message}}}),
            json!({"kind": "status-update", "taskId": "t", "contextId": "c", "final": true, "status": {"state": "rejected", "message": message03}}),
            x(Refuse),
        ),
        (
            json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": {"artifactId": "a", "parts": [part]}, "lastChunk": true}}),
            json!({"kind": "artifact-update", "taskId": "t", "contextId": "c", "artifact": {"artifactId": "a", "parts": [part03]}, "append": false}),
            x(Inform),
        ),
    ] {
        new(event.clone(), &STRICT, |read| assert_eq!(told(&read.unwrap()), says));
        old(event03, &STRICT, |read| assert_eq!(told(&read.unwrap()), says));
        for form in [Form::Rest(SubscribeToTask), Form::Grpc(SubscribeToTask)] {
            let asked = Asked { form, rpc_id: None, ..asked(SubscribeToTask, Version::V10) };
            super::says(&event, &asked, &STRICT, true, |read| assert_eq!(told(&said(read.unwrap())), says));
        }
    }
}

#[test]
fn an_update_names_its_task_its_state_and_the_piece_that_it_brings() {
    let status = json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}});
    new(status, &STRICT, |read| {
        let message = read.unwrap();
        assert!(message.acknowledges && message.state.unwrap().ends());
        assert_eq!(
            (message.threads.tasks, message.threads.contexts, message.message_id),
            (vec!["t"], vec!["c"], "t")
        );
    });
    let piece = json!({"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "a", "parts": [{"text": "more"}]}, "append": true, "lastChunk": true}});
    new(piece, &OPEN, |read| {
        let message = read.unwrap();
        assert_eq!(message.chunk, Some(Chunk { task: "t", artifact: "a", append: true, last: true }));
        assert_eq!(message.instances[0].object.get("text").unwrap().as_str(), Some("more"));
    });
}

#[test]
fn a_concept_is_never_split_over_events() {
    let data = json!({"data": {"concept": "x"}});
    for part in [data.clone(), json!({"data": {"a": 1}}), json!({"data": [1]})] {
        let piece = json!({"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "a", "parts": [{"text": "t"}, part]}, "append": true}});
        new(piece, &OPEN, |read| {
            let fault = read.unwrap_err();
            assert_eq!(fault.path, "/result/artifactUpdate/artifact/parts/1/data");
            assert!(fault.what.ends_with("a concept is never split over events"));
        });
    }
    let piece = json!({"kind": "artifact-update", "taskId": "t", "contextId": "c", "append": true,
        "artifact": {"artifactId": "a", "parts": [{"kind": "data", "data": {"concept": "x"}}]}});
    old(piece, &OPEN, |read| {
        assert!(read.unwrap_err().what.ends_with("a concept is never split over events"))
    });
}

#[test]
fn an_event_that_smuggles_a_second_message_is_refused() {
    let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"data": {"concept": "x"}}]});
    new(
        json!({"message": message, "task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}}),
        &OPEN,
        |read| {
            assert_eq!(read.unwrap_err().what, "has not exactly one member");
        },
    );
    let mut both = answer(json!({ "message": message }));
    both["error"] = json!({"code": -32001, "message": "x"});
    says(&both, &asked(SendStreamingMessage, Version::V10), &OPEN, true, |read| {
        assert_eq!(read.unwrap_err().what, "is not exactly one of `result` and `error`");
    });
    let two = json!([answer(json!({ "message": message })), answer(json!({ "message": message }))]);
    says(&two, &asked(SendStreamingMessage, Version::V10), &OPEN, true, |read| {
        assert_eq!(read.unwrap_err().what, "is not an object");
    });
    let mut other = answer(json!({ "message": message }));
    other["id"] = json!(2);
    says(&other, &asked(SendStreamingMessage, Version::V10), &OPEN, true, |read| {
        assert_eq!(read.unwrap_err().path, "/id")
    });
    let mut request = answer(json!({ "message": message }));
    request["method"] = json!("SendMessage");
    says(&request, &asked(SendStreamingMessage, Version::V10), &OPEN, true, |read| {
        assert_eq!(read.unwrap_err().path, "/method")
    });
}

#[test]
fn an_update_is_no_answer_in_one_piece() {
    let update = json!({"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_WORKING"}}});
    says(&answer(update), &asked(SendMessage, Version::V10), &OPEN, false, |read| {
        assert_eq!(read.unwrap_err().what, "is not a member that fits here");
    });
    let update = json!({"kind": "status-update", "taskId": "t", "contextId": "c", "final": false, "status": {"state": "working"}});
    says(&answer(update), &asked(SendMessage, Version::V03), &OPEN, false, |read| {
        assert_eq!(read.unwrap_err().path, "/result/kind")
    });
}

#[test]
fn an_event_by_the_user_is_refused() {
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"data": {"concept": "x"}}]});
    new(json!({"message": message}), &OPEN, |read| {
        assert_eq!(read.unwrap_err().path, "/result/message/role")
    });
}
