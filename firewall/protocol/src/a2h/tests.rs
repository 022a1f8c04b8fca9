//! Every dialect becomes the same interaction, and nothing that an agent chooses for itself stays.

use super::*;
use crate::{
    Binding, FaultKind, MessageFault, Reading, TextParts,
    a2a::rest::Query,
    removal::{Author, Removal},
};
use semgate_contexts::json;
use serde_json::{Value, json};

const BOB: &str = "human://bob.sre";

fn judged(path: &str, body: &Value) -> Result<Value, MessageFault> {
    let target = route("POST", path)?;
    let text = body.to_string();
    let json = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
    let bytes = params(&target, &Query::default(), Some(&json), Some(BOB))?;
    Ok(serde_json::from_slice(&bytes).unwrap())
}

fn reading() -> Reading<'static> {
    Reading {
        extension: "urn:contexts:snl:v1.0",
        max_concepts: 4,
        admit: TextParts::default(),
        tenant: None,
        meta: crate::MetaKeys::NONE,
        untyped: false,
        formats: &[],
    }
}

/// The pointers of what is removed before the request is judged.
fn removed(value: &Value) -> Vec<String> {
    let text = value.to_string();
    let json = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
    Removal::of(&json, Binding::A2h.protocol(), Author::Client, &reading()).into_pointers()
}

fn why(path: &str, body: &Value) -> String {
    judged(path, body).unwrap_err().to_string()
}

#[test]
fn the_papers_payload_and_both_families_of_names_are_one_interaction() {
    let paper = json!({
        "target": BOB, "type": "CLARIFICATION", "summary": "Ambiguous Configuration Target",
        "body": "I identified a memory limit issue. Multiple config files detected. Which one should I patch?",
        "options": ["deployment.yaml (Production)", "deployment-canary.yaml (Canary)"],
    });
    let mut other = paper.clone();
    other["type"] = "QUESTION".into();
    other["actions"] = other["options"].take();
    other.as_object_mut().unwrap().remove("options");
    assert_eq!(judged("/a2h/v1/interactions", &paper).unwrap(), paper);
    assert_eq!(judged("/a2h/v1/interactions", &other).unwrap(), paper);
    other["options"] = paper["options"].clone();
    assert_eq!(
        why("/a2h/v1/interactions", &other),
        "`/actions` is another name of `options`, which is also present"
    );
}

#[test]
fn members_that_do_not_belong_to_the_type_are_malformed() {
    let ask = |more: Value| {
        let mut body = json!({"target": BOB, "summary": "s"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        why("/a2h/v1/interactions", &body)
    };
    let form = json!({"type": "object", "properties": {"key": {"type": "string"}}});
    assert!(ask(json!({"type": "CLARIFICATION"})).starts_with("`/options` is missing"));
    assert!(ask(json!({"type": "SOLICITATION"})).starts_with("`/required_input` is missing"));
    assert!(ask(json!({"type": "PERMISSION", "required_input": form})).contains("does not belong"));
    assert!(ask(json!({"type": "PERMISSION", "secret": true})).contains("does not belong"));
    assert_eq!(ask(json!({"type": "CHAT"})), "`/type` is no type of A2H");
    assert_eq!(ask(json!({"type": "ALERT", "channel": "C1"})), "`/channel` is not a member of this binding");
}

#[test]
fn the_buttons_of_a_permission_are_not_the_agents() {
    let body =
        json!({"target": BOB, "type": "CONFIRMATION", "summary": "s", "actions": ["Approve", "Approve!"]});
    assert_eq!(removed(&judged("/a2h/v1/interactions", &body).unwrap()), ["/actions"]);
}

#[test]
fn a_function_call_is_a_permission_without_the_channel_that_the_agent_names() {
    let body = json!({
        "run_id": "run-1", "call_id": "call-1", "status": null,
        "spec": {"fn": "rollout_restart", "kwargs": {"deployment": "checkout-service"}, "state": null, "reject_options": null,
                 "channel": {"slack": {"channel_or_user_id": "U666", "bot_token": "xoxb-1"}, "sms": null}},
    });
    let judged = judged("/function_calls", &body).unwrap();
    assert_eq!((&judged["type"], &judged["target"]), (&"PERMISSION".into(), &BOB.into()));
    let call =
        json!({"name": "rollout_restart", "run": "run-1", "arguments": {"deployment": "checkout-service"}});
    assert_eq!(judged["call"], call);
    assert_eq!(removed(&judged), ["/channel"]);
    assert_eq!(route("POST", "/humanlayer/v1/function_calls").unwrap().dialect, Dialect::FunctionCall);
}

#[test]
fn a_contact_request_is_a_question_with_options_or_for_a_text() {
    let ask = |options: Value| {
        let spec = json!({"msg": "Which file?\nI see two.", "subject": null, "channel": null, "response_options": options, "state": null});
        judged("/contact_requests", &json!({"run_id": "r", "call_id": "c", "spec": spec, "status": null}))
            .unwrap()
    };
    let (one, other) = (ask(json!([{"name": "a"}, {"name": "b"}])), ask(Value::Null));
    assert_eq!((&one["type"], &one["options"]), (&"CLARIFICATION".into(), &json!(["a", "b"])));
    assert_eq!((&other["type"], &other["summary"]), (&"SOLICITATION".into(), &"Which file?".into()));
    assert_eq!(other["required_input"]["required"], json!(["response"]));
}

#[test]
fn a_review_never_approves_itself() {
    let review = |more: Value| {
        let mut body = json!({"formId": "f1", "fields": {"text": "hi"}, "meta": {}, "millis": 1, "origin": "py-sdk", "originV": "0.2.4"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        judged("/requestReview", &body)
    };
    let assigned = review(json!({"assignTo": ["mallory@example.com"], "autoApprove": false})).unwrap();
    assert!(removed(&assigned).contains(&"/assignTo".to_owned()));
    assert_eq!(
        review(json!({"autoApprove": true})).unwrap_err().to_string(),
        "`/autoApprove` asks for an approval without a person"
    );
    assert_eq!(review(json!({"webhookUrl": "https://a.test/"})).unwrap()["callback"], "https://a.test/");
}

#[test]
fn an_intent_names_a_person_and_no_address() {
    let intent = |more: Value| {
        let mut body = json!({"type": "AUTHORIZE", "message_id": "m-1", "agent_id": "spiffe://a.test/agent", "principal_id": BOB});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        judged("/v1/intent", &body)
    };
    let asked = intent(json!({
        "channel": {"type": "sms", "address": "tel:+1"}, "render": {"body": "Pay?"}, "ttl_sec": 60, "params": {"amount": 5},
        "assurance": {"level": "HIGH"}, "signature": "a..b",
    }));
    let asked = asked.unwrap();
    assert_eq!(
        (&asked["target"], &asked["ttl"], &asked["assurance"]),
        (&BOB.into(), &60.into(), &"HIGH".into())
    );
    assert_eq!(removed(&asked), ["/channel", "/signature"]);
    let address = json!({"channel": {"type": "sms", "address": BOB}});
    assert!(intent(address).unwrap_err().to_string().contains("is an address"));
    assert_eq!(intent(json!({"a2h_min_version": "2.0"})).unwrap_err().kind, FaultKind::VersionUnsupported);
    assert!(intent(json!({"type": "ESCALATE"})).unwrap_err().to_string().starts_with("`/type`"));
    let components = json!([{"type": "SELECT", "name": "size", "label": "Size", "required": true, "options": [{"value": "s", "label": "Small"}]}]);
    let form = intent(json!({"type": "COLLECT", "components": components})).unwrap();
    assert_eq!(
        form["required_input"]["properties"]["size"],
        json!({"type": "string", "title": "Size", "enum": ["s"]})
    );
    let multi = json!([{"type": "MULTISELECT", "name": "size"}]);
    assert!(intent(json!({"type": "COLLECT", "components": multi})).is_err());
}

#[test]
fn paths_queries_and_bodies_have_one_reading() {
    for (method, path) in [
        ("GET", "/a2h/v1/interactions"),
        ("DELETE", "/a2h/v1/interactions/a"),
        ("POST", "/function_calls/a"),
        ("GET", "/v1/nonce"),
        ("GET", "/humanlayer/v1"),
        ("GET", "/"),
    ] {
        assert_eq!(route(method, path).unwrap_err().kind, FaultKind::MethodUnsupported, "{method} {path}");
    }
    assert!(route("GET", "/a2h/v1/interactions/a%2f").is_err());
    let written = |path: &str, query: &str| {
        let target = route("GET", path).unwrap();
        let query = Query::parse(query).unwrap();
        params(&target, &query, None, None).map(|bytes| String::from_utf8(bytes).unwrap())
    };
    assert_eq!(written("/a2h/v1/interactions/a1", "wait=25").unwrap(), r#"{"id":"a1","wait":25}"#);
    assert!(written("/a2h/v1/interactions/a1", "wait=025").is_err());
    assert!(written("/function_calls/a1", "wait=25").is_err());
    let found = written("/a2h/v1/humans", "capability=kubernetes&status=AVAILABLE").unwrap();
    assert_eq!(found, r#"{"capability":"kubernetes","status":"AVAILABLE"}"#);
}

#[test]
fn every_answer_has_the_form_of_its_dialect() {
    let content = json!({"interaction_id": "i1", "human_id": BOB, "state": "DENIED", "decision": "DENIED", "feedback": null,
                         "decided_at": 100, "evidence": "a.b.c"});
    let request = json!({"summary": "rollout_restart", "call": {"name": "rollout_restart", "run": "r", "arguments": {"a": 1}}});
    let answer = PeopleAnswer {
        operation: PeopleOperation::Get,
        content,
        request: Some(request),
        opened_at: 40,
        now: 200,
    };
    let body = |dialect| serde_json::from_slice::<Value>(&answer.body(dialect)).unwrap();
    let call = body(Dialect::FunctionCall);
    assert_eq!((&call["call_id"], &call["spec"]["kwargs"]["a"]), (&"i1".into(), &1.into()));
    assert_eq!(call["status"]["approved"], false);
    // the client fails on a denial without a comment
    assert_eq!(call["status"]["comment"], "denied without a reason");
    let status = body(Dialect::Intent);
    assert_eq!((&status["state"], &status["response"]["decision"]), (&"ANSWERED".into(), &"DECLINE".into()));
    assert_eq!(status["created_at"], "1970-01-01T00:00:40Z");
}

#[test]
fn a_reply_is_one_answer_of_the_gateway() {
    let reply = |text: &str| {
        let json = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
        let to = crate::ReplyTo { a2a: None, mcp: None, in_stream: false, echo: None };
        match Binding::A2h.protocol().reply(&json, &to, &reading()) {
            Ok(crate::Reply::Message(message)) => {
                Ok((message.instances[0].name.to_owned(), message.performative.as_str()))
            }
            Ok(other) => panic!("{other:?}"),
            Err(fault) => Err(fault.to_string()),
        }
    };
    let state = |decision: &str, more: &str| {
        reply(&format!(r#"{{"interaction_state":{{"decision":{decision}{more}}}}}"#))
    };
    let named = |act| Ok(("interaction_state".to_owned(), act));
    assert_eq!(state("null", ""), named("INFORM"));
    assert_eq!(state(r#""APPROVED""#, ""), named("AGREE"));
    assert_eq!(state(r#""APPROVED""#, r#","selected_option":"a""#), named("INFORM"));
    assert_eq!(state(r#""DENIED""#, ""), named("REFUSE"));
    assert!(reply(r#"{"human_card":{}}"#).is_err());
}
