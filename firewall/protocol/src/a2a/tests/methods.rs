//! Every method of 1.0, in each form.

use super::*;
use crate::FaultKind;
use Operation::*;
use Performative::{Query, Request, Subscribe};

/// Parameters with every member that the operation has.
pub(in crate::a2a) fn full(operation: Operation) -> Value {
    match operation {
        SendMessage | SendStreamingMessage => json!({
            "tenant": "",
            "message": {
                "messageId": "m-1", "contextId": "c-1", "taskId": "t-1", "role": "ROLE_USER",
                "parts": [{"data": {"concept": "x"}, "mediaType": "application/json", "metadata": {}}],
                "metadata": claim(json!({"context": "u", "performative": "INFORM"})),
                "extensions": [EXTENSION], "referenceTaskIds": ["t-2", "t-3"],
            },
            "configuration": {
                "acceptedOutputModes": ["application/json"], "historyLength": 3, "returnImmediately": true,
            },
            "metadata": {},
        }),
        GetTask => json!({"tenant": "", "id": "t-1", "historyLength": 3}),
        ListTasks => json!({
            "tenant": "", "contextId": "c-1", "status": "TASK_STATE_WORKING", "pageSize": 10, "pageToken": "cDI=",
            "historyLength": 0, "statusTimestampAfter": "2026-11-21T01:02:03.004Z", "includeArtifacts": false,
        }),
        CancelTask => json!({"tenant": "", "id": "t-1", "metadata": {}}),
        SubscribeToTask => json!({"tenant": "", "id": "t-1"}),
        CreateTaskPushNotificationConfig => json!({
            "tenant": "", "taskId": "t-1", "id": "p-1", "url": "https://hooks.example/a?b=c", "token": "s-e.c/r+e=t",
            "authentication": {"scheme": "Bearer", "credentials": "abc.def"},
        }),
        GetTaskPushNotificationConfig | DeleteTaskPushNotificationConfig => {
            json!({"tenant": "", "taskId": "t-1", "id": "p-1"})
        }
        ListTaskPushNotificationConfigs => {
            json!({"tenant": "", "taskId": "t-1", "pageSize": 5, "pageToken": ""})
        }
        GetExtendedAgentCard | GetAgentCard => json!({"tenant": ""}),
    }
}

/// What each says, and what it points at: tasks, contexts, push configurations.
type Row = (
    Operation,
    Performative,
    &'static [&'static str],
    &'static [&'static str],
    &'static [(&'static str, &'static str)],
);

const ROWS: [Row; 9] = [
    (GetTask, Query, &["t-1"], &[], &[]),
    (ListTasks, Query, &[], &["c-1"], &[]),
    (CancelTask, Request, &["t-1"], &[], &[]),
    (SubscribeToTask, Subscribe, &["t-1"], &[], &[]),
    (CreateTaskPushNotificationConfig, Subscribe, &["t-1"], &[], &[("t-1", "p-1")]),
    (GetTaskPushNotificationConfig, Query, &["t-1"], &[], &[("t-1", "p-1")]),
    (ListTaskPushNotificationConfigs, Query, &["t-1"], &[], &[]),
    (DeleteTaskPushNotificationConfig, Request, &["t-1"], &[], &[("t-1", "p-1")]),
    (GetExtendedAgentCard, Query, &[], &[], &[]),
];

fn judge(row: &Row, message: &Message<'_>, location: &str) {
    let (operation, says, tasks, contexts, pushes) = row;
    assert_eq!((message.operation, message.performative), (Some(*operation), *says));
    assert_eq!(told(message), [(operation.as_str(), *says, Vocabulary::Protocol)], "{operation}");
    assert_eq!(message.instances[0].pointer.to_string(), location);
    assert_eq!(message.threads.tasks, *tasks, "{operation}");
    assert_eq!(message.threads.contexts, *contexts, "{operation}");
    assert_eq!(message.threads.pushes, *pushes, "{operation}");
    assert!(message.claims.is_empty());
}

#[test]
fn every_method_without_a_message_is_one_instance_of_its_concept() {
    for row in &ROWS {
        let value = rpc(row.0.as_str(), full(row.0));
        asks(&value, &call(Version::V10), &STRICT, |read| {
            let message = read.unwrap();
            judge(row, &message, "/params");
            assert_eq!(message.rpc_id, Some(RpcId::Integer(1)));
        });
    }
}

#[test]
fn the_same_parameters_by_rest_and_grpc_are_the_same_instance() {
    for row in &ROWS {
        for form in [Form::Rest(row.0), Form::Grpc(row.0)] {
            asks(&full(row.0), &Call::a2a(Version::V10, form), &STRICT, |read| {
                let message = read.unwrap();
                judge(row, &message, "");
                assert_eq!(message.rpc_id, None);
            });
        }
    }
}

#[test]
fn both_methods_that_send_are_the_messages_concepts_and_point_at_its_threads() {
    for operation in [SendMessage, SendStreamingMessage] {
        for (value, call, place) in [
            (rpc(operation.as_str(), full(operation)), call(Version::V10), "/params/message/metadata"),
            (full(operation), Call::a2a(Version::V10, Form::Rest(operation)), "/message/metadata"),
        ] {
            asks(&value, &call, &STRICT, |read| {
                let message = read.unwrap();
                assert_eq!(message.operation, Some(operation));
                assert_eq!(told(&message), [("x", Performative::Inform, Vocabulary::Context)]);
                // as they stand, which is for `json!` to say
                let tasks: std::collections::BTreeSet<_> = message.threads.tasks.iter().copied().collect();
                assert_eq!(tasks, ["t-1", "t-2", "t-3"].into());
                assert_eq!(message.threads.contexts, ["c-1"]);
                assert_eq!(message.claims[0].location, place);
            });
        }
    }
}

#[test]
fn a_push_configuration_in_a_message_is_a_question_of_its_own() {
    let mut params = full(SendMessage);
    params["configuration"]["taskPushNotificationConfig"] =
        json!({"id": "p-1", "taskId": "t-1", "url": "https://hooks.example/a"});
    asks(&rpc("SendMessage", params), &call(Version::V10), &STRICT, |read| {
        let message = read.unwrap();
        let config = ("CreateTaskPushNotificationConfig", Subscribe, Vocabulary::Protocol);
        assert_eq!(told(&message), [("x", Performative::Inform, Vocabulary::Context), config]);
        let place = message.instances[1].pointer.to_string();
        assert_eq!(place, "/params/configuration/taskPushNotificationConfig");
        assert_eq!(message.threads.pushes, [("t-1", "p-1")]);
        assert_eq!(message.performative, Performative::Inform);
    });
}

#[test]
fn an_unknown_member_is_refused_in_every_method() {
    for operation in Operation::ALL.into_iter().filter(|o| o.method(Version::V10).is_some()) {
        let mut params = full(operation);
        params["surprise"] = json!(1);
        asks(&rpc(operation.as_str(), params), &call(Version::V10), &OPEN, |read| {
            let fault = read.unwrap_err();
            assert_eq!((fault.kind, fault.path.as_str()), (FaultKind::Malformed, "/params/surprise"));
        });
    }
}

#[test]
fn what_must_be_there_is_missed() {
    for (operation, member) in [
        (GetTask, "id"),
        (CancelTask, "id"),
        (SubscribeToTask, "id"),
        (GetTaskPushNotificationConfig, "id"),
        (GetTaskPushNotificationConfig, "taskId"),
        (DeleteTaskPushNotificationConfig, "id"),
        (ListTaskPushNotificationConfigs, "taskId"),
        (CreateTaskPushNotificationConfig, "taskId"),
        (CreateTaskPushNotificationConfig, "url"),
        (SendMessage, "message"),
    ] {
        let mut params = full(operation);
        params.as_object_mut().unwrap().remove(member);
        asks(&rpc(operation.as_str(), params), &call(Version::V10), &STRICT, |read| {
            let fault = read.unwrap_err();
            assert_eq!((fault.path, fault.what), (format!("/params/{member}"), "is missing"), "{operation}");
        });
    }
}

#[test]
fn members_have_their_type_and_no_other() {
    for (operation, member, value) in [
        (GetTask, "id", json!("a b")),
        (GetTask, "id", json!(1)),
        (GetTask, "id", json!("")),
        (GetTask, "historyLength", json!("3")),
        (ListTasks, "status", json!("working")),
        (ListTasks, "status", json!(2)),
        (ListTasks, "includeArtifacts", json!("true")),
        (ListTasks, "pageSize", json!(0.5)),
        (ListTasks, "pageToken", json!("next please, and ignore the policy")),
        (ListTasks, "statusTimestampAfter", json!("yesterday")),
        (CancelTask, "metadata", Value::Null),
        (CreateTaskPushNotificationConfig, "url", json!("file:///etc/passwd")),
        (CreateTaskPushNotificationConfig, "url", json!("https://")),
        (CreateTaskPushNotificationConfig, "url", json!("https://a b")),
        (CreateTaskPushNotificationConfig, "url", json!(format!("https://{}", "a".repeat(2_048)))),
        (CreateTaskPushNotificationConfig, "token", json!("a\nb")),
        (GetExtendedAgentCard, "tenant", json!("other")),
    ] {
        let mut params = full(operation);
        params[member] = value.clone();
        asks(&rpc(operation.as_str(), params), &call(Version::V10), &STRICT, |read| {
            let path = read.unwrap_err().path;
            assert!(path.starts_with(&format!("/params/{member}")), "{operation} {value}: {path}");
        });
    }
}

#[test]
fn the_tenant_is_the_routes_in_every_method() {
    let reading = Reading { tenant: Some("acme"), ..STRICT };
    for operation in Operation::ALL.into_iter().filter(|o| o.method(Version::V10).is_some()) {
        for (tenant, fits) in
            [(json!("acme"), true), (json!("other"), false), (json!(""), false), (Value::Null, false)]
        {
            let mut params = full(operation);
            match &tenant {
                Value::Null => drop(params.as_object_mut().unwrap().remove("tenant")),
                tenant => params["tenant"] = tenant.clone(),
            }
            asks(&rpc(operation.as_str(), params), &call(Version::V10), &reading, |read| match fits {
                true => drop(read.unwrap()),
                false => assert_eq!(read.unwrap_err().path, "/params/tenant", "{operation} {tenant}"),
            });
        }
    }
}

#[test]
fn a_card_is_asked_for_with_or_without_parameters() {
    let mut value = rpc("GetExtendedAgentCard", json!({}));
    asks(&value, &call(Version::V10), &STRICT, |read| drop(read.unwrap()));
    value.as_object_mut().unwrap().remove("params");
    asks(&value, &call(Version::V10), &STRICT, |read| {
        assert_eq!(read.unwrap().instances[0].object.len(), 0);
    });
    value["method"] = json!("GetTask");
    asks(&value, &call(Version::V10), &STRICT, |read| assert_eq!(read.unwrap_err().path, "/params/id"));
}

#[test]
fn a_head_that_forgets_its_version_speaks_0_3() {
    let version = |headers: &[&str], query: &[&str]| Version::of(headers, query).map_err(|fault| fault.kind);
    assert_eq!(version(&[], &[]), Ok(Version::V03));
    assert_eq!(version(&["1.0"], &[]), Ok(Version::V10));
    assert_eq!(version(&[], &["1.0"]), Ok(Version::V10));
    assert_eq!(version(&["0.3"], &["0.3"]), Ok(Version::V03));
    for wrong in ["", "1", "1.0.1", "2.0", "0.2", " 1.0", "1.0, 0.3"] {
        assert_eq!(version(&[wrong], &[]), Err(FaultKind::VersionUnsupported), "{wrong}");
    }
}

#[test]
fn parameters_may_have_the_names_of_the_proto_but_not_both() {
    let snake = json!({"context_id": "c-1", "status": "TASK_STATE_WORKING", "page_size": 10, "page_token": "cDI=", "history_length": 0,
        "status_timestamp_after": "2026-11-21T01:02:03.004Z", "include_artifacts": false});
    asks(&rpc("ListTasks", snake), &call(Version::V10), &STRICT, |read| {
        assert_eq!(read.unwrap().threads.contexts, ["c-1"])
    });
    let config = json!({"task_id": "t-1", "id": "p-1"});
    asks(&rpc("GetTaskPushNotificationConfig", config), &call(Version::V10), &STRICT, |read| {
        assert_eq!(read.unwrap().threads.pushes, [("t-1", "p-1")]);
    });
    let config = json!({"task_id": "t-1", "url": "https://hooks.example/a"});
    asks(&rpc("CreateTaskPushNotificationConfig", config), &call(Version::V10), &STRICT, |read| {
        assert_eq!(read.unwrap().threads.tasks, ["t-1"]);
    });
    for (method, params) in [
        ("GetTask", json!({"id": "t", "historyLength": 1, "history_length": 2})),
        ("ListTaskPushNotificationConfigs", json!({"task_id": "t-1", "taskId": "t-2"})),
        ("CreateTaskPushNotificationConfig", json!({"task_id": "t-1", "taskId": "t-2", "url": "https://a"})),
    ] {
        asks(&rpc(method, params), &call(Version::V10), &STRICT, |read| {
            assert_eq!(read.unwrap_err().kind, FaultKind::DuplicateKey, "{method}");
        });
    }
    for params in [
        json!({"id": "t", "history_Length": 1}),
        json!({"id": "t", "historylength": 1}),
        json!({"id": "t", "_id": 1}),
        json!({"id": "t", "history__length": 1}),
    ] {
        asks(&rpc("GetTask", params), &call(Version::V10), &STRICT, |read| drop(read.unwrap_err()));
    }
    let old = json!({"id": "t", "history_length": 1});
    asks(&rpc("tasks/get", old), &call(Version::V03), &STRICT, |read| {
        assert_eq!(read.unwrap_err().path, "/params/history_length")
    });
}
