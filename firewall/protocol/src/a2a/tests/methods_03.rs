//! Every method of 0.3, over JSON-RPC.

use super::*;
use crate::FaultKind;
use Performative::{Query, Request, Subscribe};

/// What the official Python SDK 0.3.26 writes.
const FROM_PYTHON: &str = r#"{"id":"7c9e6679-7425-40de-944b-e07fc1f90ae7","jsonrpc":"2.0","method":"message/send","params":{"configuration":
    {"acceptedOutputModes":[],"blocking":true},"message":{"kind":"message","messageId":"0190e1a2","parts":[{"data":
    {"concept_type":"current_decision","item_id":"beer","quantity":120},"kind":"data"}],"role":"user",
    "metadata":{"urn:contexts:snl:v1.0":{"context":"urn:contexts:supplyChain:v1.0","performative":"INFORM"}}}}}"#;

#[test]
fn what_the_old_python_sdk_sends_is_read() {
    let json = json::read(FROM_PYTHON.as_bytes(), &json::Limits::default()).unwrap();
    let message = request(&json, &call(Version::V03), &STRICT).unwrap();
    assert_eq!(told(&message), [("current_decision", Performative::Inform, Vocabulary::Context)]);
    assert_eq!(message.claims[0].urn, "urn:contexts:supplyChain:v1.0");
    assert_eq!(message.instances[0].pointer.to_string(), "/params/message/parts/0/data");
    assert_eq!(message.operation, Some(Operation::SendMessage));
}

fn send() -> Value {
    json!({
        "message": {
            "kind": "message", "messageId": "m-1", "role": "user", "contextId": "c-1", "taskId": "t-1",
            "parts": [{"kind": "data", "data": {"concept": "x"}, "metadata": {}}],
            "referenceTaskIds": ["t-2"], "extensions": [EXTENSION],
        },
        "configuration": {"acceptedOutputModes": ["text/plain"], "blocking": false, "historyLength": 1},
        "metadata": {},
    })
}

fn config() -> Value {
    json!({
        "id": "p-1", "url": "http://hooks.example/a", "token": "t",
        "authentication": {"schemes": ["Bearer", "Basic"], "credentials": "c"},
    })
}

/// Method, parameters, speech act, push configurations.
type Row = (&'static str, Value, Performative, Vec<(&'static str, &'static str)>);

fn rows() -> Vec<Row> {
    let named = json!({"id": "t-1", "pushNotificationConfigId": "p-1", "metadata": {}});
    vec![
        ("tasks/get", json!({"id": "t-1", "historyLength": 2, "metadata": {}}), Query, vec![]),
        ("tasks/cancel", json!({"id": "t-1", "metadata": {}}), Request, vec![]),
        ("tasks/resubscribe", json!({"id": "t-1"}), Subscribe, vec![]),
        (
            "tasks/pushNotificationConfig/set",
            json!({"taskId": "t-1", "pushNotificationConfig": config()}),
            Subscribe,
            vec![("t-1", "p-1")],
        ),
        ("tasks/pushNotificationConfig/get", named.clone(), Query, vec![("t-1", "p-1")]),
        ("tasks/pushNotificationConfig/get", json!({"id": "t-1"}), Query, vec![]),
        ("tasks/pushNotificationConfig/list", json!({"id": "t-1"}), Query, vec![]),
        ("tasks/pushNotificationConfig/delete", named, Request, vec![("t-1", "p-1")]),
    ]
}

#[test]
fn every_method_without_a_message_is_one_instance_of_its_concept() {
    for (method, params, says, pushes) in rows() {
        asks(&rpc(method, params), &call(Version::V03), &STRICT, |read| {
            let message = read.unwrap();
            let operation = Operation::of_method(method, Version::V03).unwrap();
            assert_eq!(message.operation, Some(operation));
            assert_eq!(told(&message), [(operation.as_str(), says, Vocabulary::Protocol)], "{method}");
            assert_eq!(message.threads.tasks, ["t-1"], "{method}");
            assert_eq!(message.threads.pushes, pushes, "{method}");
        });
    }
    let mut card = rpc("agent/getAuthenticatedExtendedCard", json!({}));
    card.as_object_mut().unwrap().remove("params");
    asks(&card, &call(Version::V03), &STRICT, |read| {
        assert_eq!(told(&read.unwrap()), [("GetExtendedAgentCard", Query, Vocabulary::Protocol)]);
    });
}

#[test]
fn both_methods_that_send_are_the_messages_concepts() {
    for method in ["message/send", "message/stream"] {
        asks(&rpc(method, send()), &call(Version::V03), &STRICT, |read| {
            let message = read.unwrap();
            assert_eq!(told(&message), [("x", Request, Vocabulary::Context)]);
            // as they stand, which is for `json!` to say
            let tasks: std::collections::BTreeSet<_> = message.threads.tasks.iter().copied().collect();
            assert_eq!(tasks, ["t-1", "t-2"].into());
            assert_eq!(message.threads.contexts, ["c-1"]);
        });
    }
}

#[test]
fn a_push_configuration_in_a_message_is_a_question_of_its_own() {
    let mut params = send();
    params["configuration"]["pushNotificationConfig"] = config();
    asks(&rpc("message/send", params), &call(Version::V03), &STRICT, |read| {
        let message = read.unwrap();
        assert_eq!(told(&message)[1], ("CreateTaskPushNotificationConfig", Subscribe, Vocabulary::Protocol));
    });
}

#[test]
fn an_unknown_member_is_refused_at_every_level() {
    let mut params = send();
    params["configuration"]["pushNotificationConfig"] = config();
    for path in [
        "",
        "/message",
        "/message/parts/0",
        "/configuration",
        "/configuration/pushNotificationConfig",
        "/configuration/pushNotificationConfig/authentication",
    ] {
        let mut more = params.clone();
        more.pointer_mut(path).unwrap()["surprise"] = json!(1);
        asks(&rpc("message/send", more), &call(Version::V03), &OPEN, |read| {
            let fault = read.unwrap_err();
            assert_eq!((fault.kind, fault.path), (FaultKind::Malformed, format!("/params{path}/surprise")));
        });
    }
    for (method, mut params, ..) in rows() {
        params["surprise"] = json!(1);
        asks(&rpc(method, params), &call(Version::V03), &OPEN, |read| {
            assert_eq!(read.unwrap_err().path, "/params/surprise", "{method}");
        });
    }
}

#[test]
fn one_version_has_no_word_of_the_other() {
    let old = rpc("message/send", send());
    asks(&old, &call(Version::V10), &OPEN, |read| {
        assert_eq!(read.unwrap_err().kind, FaultKind::MethodUnsupported)
    });
    asks(&rpc("SendMessage", send()), &call(Version::V10), &OPEN, |read| drop(read.unwrap_err()));
    let new = rpc("ListTasks", json!({}));
    asks(&new, &call(Version::V03), &OPEN, |read| {
        assert_eq!(read.unwrap_err().kind, FaultKind::MethodUnsupported)
    });
    for (member, value) in [
        ("role", json!("ROLE_USER")),
        ("kind", json!("task")),
        ("parts", json!([{"text": "a"}])),
        ("parts", json!([{"kind": "text", "text": "a", "mediaType": "text/plain"}])),
        ("parts", json!([{"kind": "text", "data": {}}])),
        ("parts", json!([{"kind": "video", "video": {}}])),
        ("parts", json!([{"kind": "file", "file": {"bytes": "YQ==", "uri": "https://a"}}])),
        ("parts", json!([{"kind": "file", "file": {"name": "a"}}])),
    ] {
        let mut params = send();
        params["message"][member] = value.clone();
        asks(&rpc("message/send", params), &call(Version::V03), &OPEN, |read| {
            assert!(read.unwrap_err().path.starts_with("/params/message/"), "{value}");
        });
    }
    let mut params = send();
    params["tenant"] = json!("");
    asks(&rpc("message/send", params), &call(Version::V03), &OPEN, |read| {
        assert_eq!(read.unwrap_err().path, "/params/tenant");
    });
    for form in [Form::Rest(Operation::SendMessage), Form::Grpc(Operation::SendMessage)] {
        asks(&send(), &Call::a2a(Version::V03, form), &OPEN, |read| {
            assert_eq!(read.unwrap_err().kind, FaultKind::MethodUnsupported);
        });
    }
}
