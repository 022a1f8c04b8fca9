//! What an attacker would try, each with the reason that stops it.

use super::*;
use crate::FaultKind;

fn refused(value: &Value, version: Version) -> MessageFault {
    asks(value, &call(version), &OPEN, |read| read.unwrap_err())
}

fn good() -> Value {
    rpc("SendMessage", super::methods::full(Operation::SendMessage))
}

#[test]
fn a_batch_is_refused_also_of_one() {
    for batch in [json!([]), json!([good()]), json!([good(), rpc("GetTask", json!({"id": "t"}))])] {
        assert_eq!(refused(&batch, Version::V10).what, "is a batch, which A2A does not have");
        assert_eq!(refused(&batch, Version::V03).what, "is a batch, which A2A does not have");
    }
}

#[test]
fn a_second_request_beside_the_first_is_refused() {
    for member in ["requests", "batch", "next"] {
        let mut value = good();
        value[member] = json!([rpc("CancelTask", json!({"id": "t"}))]);
        assert_eq!(refused(&value, Version::V10).path, format!("/{member}"));
    }
    let mut value = good();
    value["params"] = json!([value["params"], value["params"]]);
    assert_eq!(refused(&value, Version::V10).path, "/params");
}

#[test]
fn a_method_in_another_case_or_of_another_protocol_is_unsupported() {
    for method in [
        "sendMessage",
        "SENDMESSAGE",
        "SendMessage ",
        "message/send",
        "tasks/get",
        "GetAgentCard",
        "tools/call",
        "",
        "ListTasks\u{0}",
    ] {
        let fault = refused(&rpc(method, json!({})), Version::V10);
        assert_eq!((fault.kind, fault.path.as_str()), (FaultKind::MethodUnsupported, "/method"), "{method}");
    }
    for method in [
        "Message/Send",
        "SendMessage",
        "tasks/list",
        "tasks/GET",
        "agent/getCard",
        "tasks/pushnotificationconfig/set",
    ] {
        assert_eq!(
            refused(&rpc(method, json!({})), Version::V03).kind,
            FaultKind::MethodUnsupported,
            "{method}"
        );
    }
}

#[test]
fn a_notification_or_an_id_that_answers_nothing_is_refused() {
    let mut value = good();
    value.as_object_mut().unwrap().remove("id");
    assert_eq!(refused(&value, Version::V10).path, "/id");
    for id in [Value::Null, json!(1.5), json!(true), json!("a b"), json!([]), json!("")] {
        value["id"] = id;
        assert_eq!(refused(&value, Version::V10).path, "/id");
    }
}

#[test]
fn what_else_is_wrong_with_a_notification_is_said_first_since_the_protocol_has_numbers_for_it() {
    let notification = |method: &str| {
        let mut value = rpc(method, json!({"not a member": 1}));
        value.as_object_mut().unwrap().remove("id");
        refused(&value, Version::V03)
    };
    assert_eq!(notification("message/ssend").kind, FaultKind::MethodUnsupported);
    assert!(notification("message/send").path.starts_with("/params"));
}

#[test]
fn a_message_without_parts_is_malformed() {
    let mut value = good();
    value["params"]["message"]["parts"] = json!([]);
    let fault = refused(&value, Version::V10);
    assert_eq!((fault.kind, fault.path.as_str()), (FaultKind::Malformed, "/params/message/parts"));
}

#[test]
fn a_member_in_another_case_beside_the_known_one_is_a_duplicate() {
    for (path, member) in [
        ("", "Method"),
        ("/params", "Message"),
        ("/params/message", "taskID"),
        ("/params/message/parts/0", "DATA"),
        ("/params/configuration", "HistoryLength"),
    ] {
        let mut value = good();
        value.pointer_mut(path).unwrap()[member] = json!("x");
        assert_eq!(refused(&value, Version::V10).kind, FaultKind::DuplicateKey, "{member}");
    }
    let get = rpc("GetTask", json!({"id": "t-1", "ID": "t-2"}));
    assert_eq!(refused(&get, Version::V10).kind, FaultKind::DuplicateKey);
}

#[test]
fn a_field_by_its_proto_name_or_an_enum_by_number_is_refused() {
    for (path, member, value) in [
        ("/params/message", "message_id", json!("m-2")),
        ("/params/message", "task_id", json!("t-2")),
        ("/params/configuration", "task_push_notification_config", json!({"url": "https://a"})),
        ("/params/message", "role", json!(1)),
    ] {
        let mut all = good();
        all.pointer_mut(path).unwrap()[member] = value;
        let fault = refused(&all, Version::V10);
        assert_eq!((fault.kind, fault.path), (FaultKind::Malformed, format!("{path}/{member}")));
    }
}

#[test]
fn header_and_query_that_disagree_on_the_version_are_refused() {
    for (headers, query) in [
        (&["1.0"][..], &["0.3"][..]),
        (&["0.3"], &["1.0"]),
        (&["1.0", "1.0"], &[]),
        (&[], &["1.0", "1.0"]),
        (&["1.0"], &["1.0", "1.0"]),
    ] {
        assert_eq!(
            Version::of(headers, query).unwrap_err().kind,
            FaultKind::Malformed,
            "{headers:?} {query:?}"
        );
    }
}

#[test]
fn no_word_of_an_operation_by_rest_is_taken_from_a_message_of_another() {
    let send = super::methods::full(Operation::SendMessage);
    for operation in Operation::ALL.into_iter().filter(|o| !o.sends()) {
        asks(&send, &Call::a2a(Version::V10, Form::Rest(operation)), &OPEN, |read| {
            assert_eq!(read.unwrap_err().kind, FaultKind::Malformed, "{operation}");
        });
    }
}
