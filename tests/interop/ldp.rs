//! The packages `ldp-protocol` for Python and Rust, unmodified, as clients and delegates of the running gateway: while they behave they see
//! no difference, and a refusal reads like one of their own protocol.

use crate::support;

use base64::Engine;
use serde_json::{Value, json};
use support::gateway::{Gateway, Scripted, free_address};
use support::ldp::{CLIENT, CONTEXT, Client, DELEGATE, Delegate, Route, SECRET, Stage, frame, secrets, up};
use support::ldp_envelope::{classify, envelope, hello, post, refused};

/// The same with identifiers, times, signatures of both, the address and absent members taken out: both packages read `null` as absent.
fn alike(mut shown: Value, url: &str) -> Value {
    fn walk(value: &mut Value, url: &str) {
        match value {
            Value::String(text) => {
                let id = text.len() == 36 && text.bytes().filter(|byte| *byte == b'-').count() == 4;
                let time = text.starts_with("20") && text.parse::<jiff::Timestamp>().is_ok();
                let signature = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
                *text = if id || time || signature { "…".to_owned() } else { text.replace(url, "URL") };
            }
            Value::Array(items) => items.iter_mut().for_each(|item| walk(item, url)),
            Value::Object(members) => {
                members.retain(|_, member| !member.is_null());
                members.values_mut().for_each(|member| walk(member, url));
            }
            _ => {}
        }
    }
    walk(&mut shown, url);
    shown
}

/// What each step shows the client at this address.
fn shown(client: &mut Client, url: &str, steps: &[Value]) -> Vec<Value> {
    steps.iter().map(|step| alike(client.does(step), url)).collect()
}

fn submit(skill: &str, input: Value) -> Value {
    json!({"do": "submit", "skill": skill, "input": input})
}

/// The life of a session, from discovery to its end.
fn life() -> Vec<Value> {
    vec![
        json!({"do": "discover"}),
        json!({"do": "wellknown"}),
        json!({"do": "fetch", "path": "/ldp/capabilities"}),
        json!({"do": "establish"}),
        submit("classify", frame()),
        submit("summarise", json!({"text": "a long story"})),
        json!({"do": "body", "body": {"type": "TASK_CANCEL", "this_task": true}}),
        json!({"do": "body", "body": {"type": "SESSION_CLOSE"}}),
        json!({"do": "forget"}),
        json!({"do": "establish"}),
        submit("classify", frame()),
    ]
}

/// Takes what the gateway changes by name out of both sides: a confidence that nobody verified.
fn without_confidence(mut shown: Vec<Value>) -> Vec<Value> {
    for one in &mut shown {
        if let Some(provenance) = one.get_mut("provenance").and_then(Value::as_object_mut) {
            provenance.remove("confidence");
        }
    }
    shown
}

fn alike_step_by_step(seen: &[Value], expected: &[Value]) {
    assert_eq!(seen.len(), expected.len());
    for (n, (seen, expected)) in seen.iter().zip(expected).enumerate() {
        assert_eq!(seen, expected, "step {n}");
    }
}

fn sees_no_difference(options: &Value, more: impl FnOnce(&support::Up) -> String) {
    let delegate = Delegate::python(options);
    let stage = Stage::before(&delegate, more);
    let mut direct = Client::python(&delegate.url(), options);
    let expected = shown(&mut direct, &delegate.url(), &life());
    let mut client = Client::python(&stage.url(), options);
    let seen = shown(&mut client, &stage.url(), &life());
    alike_step_by_step(&without_confidence(seen), &without_confidence(expected.clone()));
    assert_eq!(expected[4]["output"]["label"], "positive");
    // a failure of the delegate keeps its code
    let failed = client.does(&submit("broken", json!({})));
    let raised = failed["raised"].as_str().unwrap();
    assert!(raised.starts_with("RuntimeError: Task failed [TASK_EXECUTION_ERROR]: "), "{raised}");
    // and the session goes on
    assert_eq!(client.classifies()["output"]["label"], "positive");
}

#[test]
fn ldp_stock_client_and_delegate_see_no_difference() {
    sees_no_difference(&json!({}), |_| String::new());
}

#[test]
fn ldp_stock_client_and_delegate_that_sign_see_no_difference() {
    sees_no_difference(&json!({"secret": SECRET}), |up| secrets(up, &["retailer-7", "wholesaler-1"]));
}

/// Steps of a client of the crate.
fn rust_life() -> Vec<Value> {
    vec![
        json!({"do": "discover"}),
        json!({"do": "establish"}),
        json!({"do": "invoke", "skill": "classify", "input": frame(), "contract": {"deadline": 60}}),
        json!({"do": "status"}),
        json!({"do": "cancel"}),
        json!({"do": "close"}),
        json!({"do": "invoke", "skill": "classify", "input": frame()}),
        json!({"do": "status"}),
    ]
}

fn rust_sees_no_difference(options: &Value, more: impl FnOnce(&support::Up) -> String) {
    let delegate = Delegate::rust(options);
    let stage = Stage::before(&delegate, more);
    let expected = shown(&mut Client::rust(&delegate.url(), options), &delegate.url(), &rust_life());
    let seen = shown(&mut Client::rust(&stage.url(), options), &stage.url(), &rust_life());
    assert_eq!(expected[3]["status"], "completed", "{}", expected[3]);
    alike_step_by_step(&seen, &expected);
}

#[test]
fn ldp_rust_client_and_delegate_see_no_difference() {
    rust_sees_no_difference(&json!({}), |_| String::new());
}

#[test]
fn ldp_rust_client_and_delegate_that_sign_see_no_difference() {
    rust_sees_no_difference(&json!({"secret": SECRET}), |up| secrets(up, &["retailer-7", "wholesaler-1"]));
}

#[test]
fn ldp_rust_client_shows_a_certificate_and_is_one_agent() {
    let (delegate, up, listen) = (Delegate::rust(&json!({})), up(), free_address());
    let route = Route { listen, agent: None, upstream: delegate.address, more: String::new() };
    let gateway = Gateway::serving(&up, listen, &route.written(&up), "");
    let file = |pointer: &str| up.path(pointer).to_str().unwrap().to_owned();
    let with = |agent: &str, name: &str| {
        let (cert, key) = (file(&format!("/agents/{agent}/cert")), file(&format!("/agents/{agent}/key")));
        let options = json!({"id": name, "roots": file("/roots"), "cert": cert, "key": key});
        Client::rust(&format!("https://{listen}"), &options)
    };
    let mut router = with("retailer-7", CLIENT);
    assert_eq!(router.does(&json!({"do": "establish"}))["mode"], "semantic_frame");
    router.does(&json!({"do": "invoke", "skill": "classify", "input": frame()}));
    let status = router.does(&json!({"do": "status"}));
    assert_eq!(status["status"], "completed", "{status}");
    // the same name with another certificate is nobody's
    let mut forger = with("public-webapp-3", CLIENT);
    let raised = forger.does(&json!({"do": "establish"}));
    assert!(raised["raised"].as_str().unwrap().contains("sender_mismatch"), "{raised}");
    drop(gateway);
}

#[test]
fn ldp_stock_clients_are_shown_a_refusal_in_their_own_words() {
    let delegate = Delegate::python(&json!({}));
    let stage = Stage::before(&delegate, |_| String::new());
    let mut python = Client::python(&stage.url(), &json!({}));
    python.does(&json!({"do": "establish"}));
    let denied = python.does(&submit("transfer", json!({"amount": 500})));
    let raised = denied["raised"].as_str().unwrap();
    assert!(raised.starts_with("RuntimeError: Task failed [policy_denied]: "), "{raised}");
    assert!(raised.contains("[decision "), "an operator can find it: {raised}");
    let small = python.does(&submit("transfer", json!({"amount": 50})));
    assert_eq!(small["output"]["transferred"], true, "{small}");
    // a session that asks for another domain
    let mut stranger = Client::python(&stage.url(), &json!({"domain": "elsewhere", "enforce": false}));
    let raised = stranger.does(&json!({"do": "establish"}));
    let raised = raised["raised"].as_str().unwrap();
    assert!(raised.starts_with("ConnectionError: Session rejected [sender_mismatch]: "), "{raised}");
    assert_eq!(delegate.count("TASK_SUBMIT"), 1);
}

#[test]
fn ldp_rust_client_learns_of_a_refusal_when_it_polls() {
    let delegate = Delegate::rust(&json!({}));
    let stage = Stage::before(&delegate, |_| String::new());
    let mut client = Client::rust(&stage.url(), &json!({}));
    let invoked = client.does(&json!({"do": "invoke", "skill": "summarise", "input": {"text": "a"}}));
    assert!(invoked["task"].is_string(), "the crate ignores the answer: {invoked}");
    for _ in 0..2 {
        let status = client.does(&json!({"do": "status"}));
        assert_eq!(status["status"], "failed", "{status}");
        assert_eq!(status["error"]["code"], "concept_undefined", "the card lists no such skill: {status}");
    }
    let mut stranger = Client::rust(&stage.url(), &json!({"domain": "elsewhere"}));
    let raised = stranger.does(&json!({"do": "establish"}));
    let raised = raised["raised"].as_str().unwrap();
    assert!(raised.starts_with("Session rejected: [sender_mismatch] "), "{raised}");
}

#[test]
fn ldp_context_of_a_session_rules_its_tasks() {
    let delegate = Delegate::python(&json!({}));
    let stage = Stage::before(&delegate, |_| String::new());
    let mut client = Client::python(&stage.url(), &json!({}));
    let config = json!({"preferred_payload_modes": ["semantic_frame"], "ttl_secs": 600, "trust_domain": "default", "l9_context": {"context": CONTEXT}});
    let opened = client.does(&json!({"do": "propose", "config": config}));
    assert_eq!(opened["delegate"], DELEGATE, "{opened}");
    let first = client.classifies();
    assert_eq!(first["output"]["label"], "positive", "{first}");
    let with = |context: &str| {
        let mut input = frame();
        input["l9_context"] = json!({ "context": context });
        submit("classify", input)
    };
    assert_eq!(client.does(&with(CONTEXT))["output"]["label"], "positive", "the same again");
    let other = client.does(&with("urn:contexts:supplyChain:v1.0"));
    let raised = other["raised"].as_str().unwrap();
    assert!(raised.contains("Task failed [malformed]"), "two claims that differ: {raised}");
    assert_eq!(delegate.count("TASK_SUBMIT"), 2);
}

#[test]
fn ldp_cards_name_the_gateway_and_the_pinned_skills_alone() {
    let delegate = Delegate::python(&json!({}));
    let stage = Stage::before(&delegate, |_| String::new());
    let mut client = Client::python(&stage.url(), &json!({}));
    let card = client.does(&json!({"do": "discover"}));
    assert_eq!(card["endpoint"], stage.url());
    assert!(!card.to_string().contains(&delegate.address.to_string()), "the inner address stays inside");
    // nobody else's card is served, and unknown paths are no doors
    for path in ["/ldp/stream", "/ldp/identity/", "/ldp/messages", "/ldp/identity?of=other"] {
        let answer = support::plain_get(&format!("{}{path}", stage.url()));
        assert!((400..500).contains(&answer.status), "{path}: {}", answer.head);
    }
    let without_session = post(stage.address, &classify("5e551011-0000-4000-8000-000000000000"));
    assert!(refused(&without_session).is_some());
    assert_eq!(delegate.received().len(), 0);
}

#[test]
fn ldp_card_that_is_not_the_pinned_one_is_not_served() {
    let (delegate, up, listen) = (Delegate::python(&json!({})), up(), free_address());
    let pinned = support::ldp::card(&up, delegate.address);
    let mut card: Value = serde_json::from_slice(&std::fs::read(&pinned).unwrap()).unwrap();
    card["model_version"] = json!("qwen2-8b");
    std::fs::write(&pinned, card.to_string()).unwrap();
    let route = Route { listen, agent: Some("retailer-7"), upstream: delegate.address, more: String::new() };
    let _gateway = Gateway::serving(&up, listen, &route.written(&up), "");
    let shown = Client::python(&format!("http://{listen}"), &json!({})).does(&json!({"do": "discover"}));
    assert!(shown["raised"].as_str().unwrap().starts_with("HTTPStatusError: "), "{shown}");
    assert_eq!(shown["body"]["code"], "upstream_invalid", "{shown}");
}

#[test]
fn ldp_bodies_for_the_delegate_carry_their_digest() {
    let (up, listen) = (up(), free_address());
    let delegate = Delegate::python(&json!({}));
    let mut manifest =
        envelope("", json!({"type": "CAPABILITY_MANIFEST", "capabilities": [{"name": "classify"}]}));
    manifest["from"] = json!(DELEGATE);
    manifest["to"] = json!(CLIENT);
    manifest["payload_mode"] = json!("text");
    let scripted = Scripted::saying(manifest.to_string());
    std::fs::copy(
        support::ldp::card(&up, delegate.address),
        up.dir.join(format!("card-{}.json", scripted.address.port())),
    )
    .unwrap();
    let route = Route { listen, agent: Some("retailer-7"), upstream: scripted.address, more: String::new() };
    let _gateway = Gateway::serving(&up, listen, &route.written(&up), "");
    let answer = post(listen, &hello());
    assert_eq!(refused(&answer), None, "{}", answer.json());
    let (heads, bodies) = (scripted.heads(), scripted.bodies());
    let digest = ring::digest::digest(&ring::digest::SHA256, bodies[0].as_bytes());
    let digest = base64::engine::general_purpose::STANDARD.encode(digest).to_lowercase();
    assert!(heads[0].contains(&format!("content-digest: sha-256=:{digest}:")), "{}", heads[0]);
}
