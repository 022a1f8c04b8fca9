//! What a version, a block or a resource does not have.

use super::*;

#[test]
fn attack_an_older_request_carries_rounds_that_its_version_does_not_have() {
    for (method, params) in [
        ("tools/call", json!({"name": "add"})),
        ("resources/read", json!({"uri": "file:///a"})),
        ("prompts/get", json!({"name": "greet"})),
    ] {
        for (member, value) in
            [("inputResponses", json!({"k": {"action": "decline"}})), ("requestState", json!("abc"))]
        {
            let mut params = params.clone();
            params[member] = value;
            let fault = fault(&old(method, params.clone()));
            assert_eq!(
                (fault.kind, fault.path.as_str(), fault.what),
                (FaultKind::Malformed, &*format!("/params/{member}"), "is no member that this binding has"),
                "{method}"
            );
            let (value, head) = new(method, params);
            with(&value, |json| assert!(request(json, &head, &OPEN).is_ok(), "{method} {member}"));
        }
    }
}
