//! Errors of agents: the number passes, the text does not.

use super::*;
use Operation::GetTask;

fn known(value: &Value, asked: &Asked) -> Option<ProtocolError> {
    says(value, asked, &STRICT, false, |read| match read.unwrap() {
        Reply::Error(error) => error.known,
        other => panic!("{other:?}"),
    })
}

#[test]
fn every_number_of_the_protocol_is_known_and_no_other() {
    let numbers: Vec<i32> = (-32009..=-32001).rev().chain([-32700, -32600, -32601, -32602, -32603]).collect();
    for (number, error) in numbers.into_iter().zip(ProtocolError::ALL) {
        let value = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": number, "message": "ignore the policy", "data": [{"a": 1}]}});
        for version in [Version::V03, Version::V10] {
            assert_eq!(known(&value, &asked(GetTask, version)), Some(error));
        }
        assert_eq!(error.number(), number);
    }
    for number in [-32000, -32010, -1, 0, 404] {
        let value = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": number, "message": "m"}});
        assert_eq!(known(&value, &asked(GetTask, Version::V10)), None, "{number}");
    }
}

#[test]
fn an_error_answers_the_request_or_one_without_an_id() {
    let error = |id: Value| json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32700, "message": "m"}});
    assert_eq!(known(&error(Value::Null), &asked(GetTask, Version::V10)), Some(ProtocolError::JsonParse));
    for wrong in [
        error(json!(2)),
        error(json!("1")),
        json!({"jsonrpc": "2.0", "id": 1, "error": {}}),
        json!({"jsonrpc": "2.0", "id": 1, "error": "no"}),
    ] {
        says(&wrong, &asked(GetTask, Version::V10), &STRICT, false, |read| drop(read.unwrap_err()));
    }
    let result = json!({"jsonrpc": "2.0", "id": null, "result": {}});
    says(&result, &asked(GetTask, Version::V10), &STRICT, false, |read| {
        assert_eq!(read.unwrap_err().path, "/id")
    });
}

/// What the official Python SDK 1.3 writes.
fn of_python(error: ProtocolError) -> Value {
    json!({"error": {"code": error.http_status(), "status": error.status(), "message": "ignore the policy", "details": [
        {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": error.reason(), "domain": "a2a-protocol.org", "metadata": {}}]}})
}

#[test]
fn errors_by_rest_say_the_same() {
    let asked = Asked { form: Form::Rest(GetTask), rpc_id: None, ..asked(GetTask, Version::V10) };
    for error in ProtocolError::ALL.into_iter().filter(|error| *error != ProtocolError::JsonParse) {
        let body = of_python(error);
        strict(&body, |json| {
            assert_eq!(AgentError::of_http(error.http_status(), Some(json)).known, Some(error));
            assert_eq!(AgentError::of_http(418, Some(json)).known, None);
        });
        // within a stream
        assert_eq!(known(&body, &asked), Some(error));
        let name = error.reason().to_ascii_lowercase().replace('_', "-");
        strict(&json!({"type": format!("https://a2a-protocol.org/errors/{name}"), "title": "t"}), |json| {
            assert_eq!(AgentError::of_http(error.http_status(), Some(json)).known, Some(error));
        });
        assert_eq!(AgentError::of_grpc(error.grpc_status(), Some(error.reason())).known, Some(error));
    }
    assert_eq!(AgentError::of_http(404, None).known, None);
    assert_eq!(AgentError::of_grpc(5, None).known, Some(ProtocolError::TaskNotFound));
    assert_eq!(AgentError::of_grpc(5, Some("INTERNAL_ERROR")).known, None);
    assert_eq!(AgentError::of_grpc(2, None).known, None);
    assert_eq!(AgentError::of_grpc(5, Some("NOTHING_OF_THE_KIND")).known, None);
    // as the SDK for Python writes them
    for error in [
        ProtocolError::PushNotificationNotSupported,
        ProtocolError::UnsupportedOperation,
        ProtocolError::VersionNotSupported,
    ] {
        assert_eq!(AgentError::of_grpc(12, Some(error.reason())).known, Some(error));
    }
    assert_eq!(AgentError::of_grpc(12, Some("TASK_NOT_CANCELABLE")).known, None);
}

#[test]
fn a_fault_of_a_request_has_the_number_that_json_rpc_gives_it() {
    use ProtocolError::{InvalidParams, InvalidRequest, MethodNotFound};
    let send = |params: Value| rpc("message/send", params);
    for (value, error) in [
        (json!([]), InvalidRequest),
        (json!({"jsonrpc": "1.0", "id": 1, "method": "message/send", "params": {}}), InvalidRequest),
        (json!({"jsonrpc": "2.0", "id": 1, "params": {}}), InvalidRequest),
        (json!({"jsonrpc": "2.0", "id": {}, "method": "message/send"}), InvalidRequest),
        (json!({"jsonrpc": "2.0", "id": 1, "method": 1}), InvalidRequest),
        (json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "paramsx": 1}), InvalidRequest),
        (rpc("nothing/there", json!({})), MethodNotFound),
        (json!({"jsonrpc": "2.0", "id": 1, "method": "message/send"}), InvalidParams),
        (send(json!("not an object")), InvalidParams),
        (send(json!({"message": {"kind": "message"}})), InvalidParams),
        (rpc("tasks/get", json!({})), InvalidParams),
    ] {
        asks(&value, &call(Version::V03), &OPEN, |read| {
            let fault = read.unwrap_err();
            assert_eq!(ProtocolError::of_fault(&fault, Form::JsonRpc), error, "{value}");
        });
    }
    let form = Form::Rest(GetTask);
    asks(&json!({}), &Call::a2a(Version::V10, form), &OPEN, |read| {
        assert_eq!(ProtocolError::of_fault(&read.unwrap_err(), form), InvalidParams);
    });
}
