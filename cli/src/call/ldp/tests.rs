//! Answers of the gateway and of delegates.

use bytes::Bytes;
use http::HeaderMap;

use super::*;

fn reply(body: &Value) -> Reply {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", "application/json".parse().unwrap());
    Reply { status: 200, headers, body: Bytes::from(json!({"body": body}).to_string()) }
}

#[test]
fn a_refusal_is_read_from_the_error_of_an_envelope() {
    let problem = json!({"code": "policy_denied", "detail": "no", "hint": "ask", "decision_id": "d"});
    for kind in ["SESSION_REJECT", "TASK_FAILED"] {
        let error = json!({"code": "policy_denied", "partial_output": problem});
        let outcome = of_envelope(&reply(&json!({"type": kind, "error": error})));
        assert_eq!((outcome.verdict, outcome.code.as_deref()), ("REFUSED", Some("policy_denied")));
        assert_eq!(outcome.decision_id.as_deref(), Some("d"));
    }
}

#[test]
fn an_error_of_the_delegate_is_its_answer() {
    let error = json!({"code": "TASK_EXECUTION_ERROR", "partial_output": {"rows": 3}});
    let outcome = of_envelope(&reply(&json!({"type": "TASK_FAILED", "error": error})));
    assert_eq!((outcome.verdict, outcome.code), ("ALLOWED", None));
}
