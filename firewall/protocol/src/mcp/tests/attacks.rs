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
                (FaultKind::Malformed, &*format!("/params/{member}"), "is not a member of this binding"),
                "{method}"
            );
            let (value, head) = new(method, params);
            with(&value, |json| assert!(request(json, &head, &OPEN).is_ok(), "{method} {member}"));
        }
    }
}

#[test]
fn attack_a_block_of_text_carries_a_url_where_only_text_is_admitted() {
    let admits = Reading { admit: TextParts { text: true, ..STRICT.admit }, ..STRICT };
    let called = asked(Operation::CallTool, Revision::V2025_11_25);
    let read = |block: Value| {
        with(&answered(json!({"content": [block]})), |json| {
            answer(json, &called, Speaker::Server, &admits).map(drop)
        })
    };
    assert!(read(json!({"type": "text", "text": "hi"})).is_ok());
    assert!(read(json!({"type": "text", "text": "hi", "annotations": {"priority": 1}})).is_ok());
    for (member, value) in [("uri", "https://evil.test/"), ("mimeType", "text/html"), ("blob", "aGk=")] {
        let fault = read(json!({"type": "text", "text": "hi", member: value})).unwrap_err();
        assert_eq!(
            (fault.path.as_str(), fault.what),
            (&*format!("/result/content/0/{member}"), "is not a member of this binding")
        );
    }
}

#[test]
fn attack_an_embedded_resource_carries_a_url_where_only_text_is_admitted() {
    let called = asked(Operation::CallTool, Revision::V2025_11_25);
    let embedded = json!({"type": "resource", "resource": {"uri": "https://evil.test/", "text": "hi"}});
    for (url, place) in [(false, Some("/result/content/0/resource".to_owned())), (true, None)] {
        let admits = Reading { admit: TextParts { text: true, url, ..STRICT.admit }, ..STRICT };
        with(&answered(json!({"content": [embedded]})), |json| {
            let said = said(answer(json, &called, Speaker::Server, &admits));
            assert_eq!(said.uninspectable.map(|at| at.to_string()), place);
        });
    }
}

#[test]
fn attack_a_server_answers_with_another_resource_than_was_asked_for() {
    let asked = asked(Operation::ReadResource, Revision::V2025_11_25);
    let read = |uri: &str| {
        let contents = json!({"contents": [{"uri": "file:///a", "text": "x"}, {"uri": uri, "text": "y"}]});
        with(&answered(contents), |json| answer(json, &asked, Speaker::Server, &OPEN).map(drop))
    };
    for uri in ["file:///a", "file:///a/b"] {
        assert!(read(uri).is_ok(), "{uri}");
    }
    for uri in ["file:///secret", "file:///ab", "file:///a/../secret", "https://evil.test/"] {
        let fault = read(uri).unwrap_err();
        assert_eq!(
            (fault.path.as_str(), fault.what),
            ("/result/contents/1/uri", "is neither the requested resource nor below it"),
            "{uri}"
        );
    }
}
