//! Messages of both libraries are read. Places that the protocol leaves open are closed.

use super::*;
use crate::{
    AgentFailure, Binding, Bounds, Call, Echo, FaultKind, Message, PayloadMode, Protocol, Reading,
    RefusalDraft, Reply, ReplyTo, Secret, SessionStep, TextParts, Vocabulary,
    removal::{Author, Removal},
};
use semgate_contexts::json::{self, Json};
use serde_json::{Value, json};

mod random;

const SECRET: &[u8] = b"s3cret";
const CALL: Call = Call::ldp(Endpoint::Messages);

fn reading() -> Reading<'static> {
    Reading {
        extension: "urn:contexts:snl:v1.0",
        max_concepts: 64,
        admit: TextParts::default(),
        tenant: None,
        meta: crate::MetaKeys::NONE,
        untyped: false,
        formats: &[],
    }
}

fn strict<T>(value: &Value, then: impl FnOnce(&Json<'_>) -> T) -> T {
    let text = value.to_string();
    then(&json::read(text.as_bytes(), &json::Limits::default()).unwrap())
}

/// The message without its members that are `null`, as the gateway judges it.
fn clean(value: &Value) -> Value {
    let mut value = value.clone();
    let objects = ["", "/body", "/body/provenance", "/provenance"];
    for path in objects {
        if let Some(object) = value.pointer_mut(path).and_then(Value::as_object_mut) {
            object.retain(|_, member| !member.is_null());
        }
    }
    value
}

/// The exchanges of the Python library 0.2.0 with itself, both signed under [`SECRET`].
fn python() -> Vec<(Value, Value)> {
    let all: Vec<Value> = serde_json::from_str(include_str!("tests/python.json")).unwrap();
    all.into_iter().map(|pair| (pair["request"].clone(), pair["answer"].clone())).collect()
}

fn exchange(kind: &str) -> (Value, Value) {
    let (request, answer) =
        python().into_iter().find(|(request, _)| request["body"]["type"] == kind).unwrap();
    (clean(&request), clean(&answer))
}

fn request<T>(value: &Value, then: impl FnOnce(&Message<'_>) -> T) -> Result<T, MessageFault> {
    strict(value, |json| Ldp.request(json, &CALL, None, &reading()).map(|message| then(&message)))
}

fn echo(value: &Value) -> Echo {
    strict(value, |json| Ldp.echo(json, &CALL)).unwrap()
}

fn reply<T>(value: &Value, echo: &Echo, then: impl FnOnce(&Reply<'_>) -> T) -> Result<T, MessageFault> {
    strict(value, |json| {
        let to = ReplyTo { a2a: None, mcp: None, in_stream: false, echo: Some(echo) };
        Ldp.reply(json, &to, &reading()).map(|reply| then(&reply))
    })
}

fn with(value: &Value, path: &str, member: Value) -> Value {
    let mut value = value.clone();
    let (object, name) = path.rsplit_once('/').unwrap();
    if let Some(object) = value.pointer_mut(object).and_then(Value::as_object_mut) {
        object.insert(name.to_owned(), member);
    }
    value
}

fn why(value: &Value) -> String {
    request(value, |_| ()).unwrap_err().to_string()
}

#[test]
fn golden_exchanges_of_the_python_library_are_read_and_their_signatures_verify() {
    let secret = Secret::new(SECRET);
    let mut read = Vec::new();
    for (asked, answered) in python() {
        let (asked, answered) = (clean(&asked), clean(&answered));
        let of_message = |message: &Message<'_>| {
            assert!(message.dialogue.seal.as_ref().unwrap().fits(&secret));
            assert!(message.once.as_ref().unwrap().at.unwrap() > 1_700_000_000);
            let names: Vec<_> = message.instances.iter().map(|one| one.name).collect();
            format!("{} {}", message.performative.as_str(), names.join("+"))
        };
        let says = request(&asked, of_message).unwrap();
        let answers = reply(&answered, &echo(&asked), |reply| match reply {
            Reply::Message(message) => of_message(message),
            Reply::Failure(failure, message) => {
                assert!(message.dialogue.seal.as_ref().unwrap().fits(&secret));
                failure.code.clone()
            }
            other => panic!("{other:?}"),
        });
        read.push(format!("{says} → {}", answers.unwrap()));
    }
    assert_eq!(
        read,
        [
            "INFORM hello → INFORM capability_manifest",
            "PROPOSE session_propose → ACCEPT session_accept",
            "REQUEST reasoning → INFORM reasoning+provenance",
            "REQUEST fail → TASK_EXECUTION_ERROR",
            "REQUEST task_cancel → INFORM task_update",
            "INFORM session_close → INFORM session_close",
        ]
    );
}

#[test]
fn every_covered_text_breaks_the_signature_and_no_other_member_does() {
    let (task, _) = exchange("TASK_SUBMIT");
    let fits = |value: &Value| {
        request(value, |message| message.dialogue.seal.as_ref().unwrap().fits(&Secret::new(SECRET))).unwrap()
    };
    assert!(fits(&task));
    for (path, value) in [
        ("/from", "ldp:client:mallory"),
        ("/to", "ldp:delegate:other"),
        ("/session_id", "s2"),
        ("/message_id", "m2"),
        ("/timestamp", "2026-11-29T00:00:00Z"),
        ("/nonce", "n"),
        ("/body/task_id", "t9"),
        ("/body/skill", "coding"),
    ] {
        assert!(!fits(&with(&task, path, value.into())), "{path}");
    }
    // the protocol leaves the content unsigned: TLS is what covers it
    assert!(fits(&with(&task, "/body/input/instruction", "Wire the money".into())));
}

#[test]
fn ldp_attack_delimiter_shift_is_no_message() {
    let (task, _) = exchange("TASK_SUBMIT");
    for path in ["/from", "/to", "/session_id", "/message_id", "/nonce", "/body/task_id", "/body/skill"] {
        let cut = with(&task, path, "a|b".into());
        assert_eq!(why(&cut), format!("`{path}` holds `|`, which separates the texts of a signature"));
    }
}

#[test]
fn a_signature_has_one_form_and_one_algorithm() {
    let (task, _) = exchange("TASK_SUBMIT");
    assert!(why(&with(&task, "/signature", "".into())).contains("64 lower-case hex digits"));
    let upper = task["signature"].as_str().unwrap().to_uppercase();
    assert!(why(&with(&task, "/signature", upper.into())).contains("64 lower-case hex digits"));
    assert_eq!(
        why(&with(&task, "/signature_algorithm", "none".into())),
        "`/signature_algorithm` is not `hmac-sha256`"
    );
    let mut stripped = task;
    stripped.as_object_mut().unwrap().remove("signature");
    assert_eq!(why(&stripped), "`/signature` is missing beside its algorithm");
    stripped.as_object_mut().unwrap().remove("signature_algorithm");
    request(&stripped, |message| assert!(message.dialogue.seal.as_ref().unwrap().mark.is_none())).unwrap();
}

#[test]
fn members_are_closed_for_each_type() {
    let (task, _) = exchange("TASK_SUBMIT");
    assert!(why(&with(&task, "/body/output", json!({}))).contains("does not belong to this type"));
    assert!(why(&with(&task, "/body/priority", json!(1))).contains("not a member of this binding"));
    assert!(why(&with(&task, "/priority", json!(1))).contains("not a member of this binding"));
    assert!(why(&with(&task, "/payload_mode", "latent_capsule".into())).contains("no payload mode"));
    assert!(why(&with(&task, "/timestamp", "yesterday".into())).contains("is not a time"));
    assert!(why(&with(&task, "/session_id", "".into())).contains("is empty"));
    assert!(why(&with(&task, "/body/type", "TASK_RESULT".into())).starts_with("`/body"));
    let mut twice = task.clone();
    twice.as_object_mut().unwrap().insert("From".to_owned(), "x".into());
    let fault = request(&twice, |_| ()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::DuplicateKey);
    let answer = exchange("SESSION_PROPOSE").1;
    assert_eq!(why(&answer), "`/body/type` is an answer, which no client sends");
}

#[test]
fn content_is_the_concept_of_the_skill_a_frame_or_a_text() {
    let (task, _) = exchange("TASK_SUBMIT");
    request(&task, |message| {
        assert_eq!((message.instances[0].name, message.instances[0].of), ("reasoning", Vocabulary::Context));
        assert_eq!(message.otherwise[0].term, "semantic_frame");
        assert_eq!(message.threads.begins, Some("t1"));
    })
    .unwrap();
    request(&with(&task, "/body/input", json!({"amount": 5})), |message| {
        assert!(message.otherwise.is_empty());
    })
    .unwrap();
    let text = with(&task, "/body/input", "Classify sentiment".into());
    assert!(why(&text).contains("is text, which this payload mode does not carry"));
    let text = with(&text, "/payload_mode", "text".into());
    request(&text, |message| {
        assert_eq!((message.instances[0].name, message.instances[0].of), ("text", Vocabulary::Protocol));
        assert_eq!(message.uninspectable.as_ref().unwrap().to_string(), "/body/input");
    })
    .unwrap();
    let list = with(&task, "/body/input", json!([1]));
    request(&list, |message| assert_eq!(message.gap.as_ref().unwrap().what, "is not an object")).unwrap();
}

#[test]
fn claims_of_a_context_stand_in_the_session_and_in_the_task() {
    let claim = json!({"context": "urn:contexts:payment:v1.1", "lock": "l1"});
    let session = with(&exchange("SESSION_PROPOSE").0, "/body/config/l9_context", claim.clone());
    let task = with(&exchange("TASK_SUBMIT").0, "/body/input/l9_context", claim);
    for (value, location) in [(session, "/body/config/l9_context"), (task, "/body/input/l9_context")] {
        request(&value, |message| {
            let claim = message.claims[0];
            assert_eq!(
                (claim.urn, claim.lock, claim.location),
                ("urn:contexts:payment:v1.1", Some("l1"), location)
            );
            // the schema of the content does not see it
            assert_eq!(message.instances[0].naming, "l9_context");
        })
        .unwrap();
        let other = with(&value, &format!("{location}/performative"), "INFORM".into());
        assert!(why(&other).contains("is not allowed here"));
    }
}

#[test]
fn a_contract_gives_bounds_or_no_message() {
    let (task, _) = exchange("TASK_SUBMIT");
    let contract = json!({"contract_id": "c", "objective": "o", "success_criteria": [], "created_at": "2026-11-28T04:43:15Z",
        "deadline": "1970-01-01T00:00:02.5+00:00",
        "policy": {"failure_policy": "fail_open", "max_delegation_depth": 1, "budget": {"max_tokens": 10, "max_cost_usd": 0.0000015}}});
    let value = with(&task, "/body/contract", contract);
    request(&value, |message| {
        let SessionStep::Submit(submission) = &message.dialogue.step else { panic!() };
        let bounds =
            Bounds { deadline_ms: Some(2_500), depth: Some(1), tokens: Some(10), micro_usd: Some(1) };
        assert_eq!(submission.bounds, Some(bounds));
        assert_eq!(message.instances[1].name, "contract");
    })
    .unwrap();
    for (path, bad) in [
        ("/deadline", json!("soon")),
        ("/policy/max_delegation_depth", json!(-1)),
        ("/policy/budget/max_tokens", json!(1.5)),
        ("/policy/budget/max_cost_usd", json!("free")),
    ] {
        assert!(request(&with(&value, &format!("/body/contract{path}"), bad), |_| ()).is_err(), "{path}");
    }
}

#[test]
fn an_answer_belongs_to_its_request_its_session_and_its_task() {
    let (asked, answered) = exchange("TASK_SUBMIT");
    let fault = |value: &Value| reply(value, &echo(&asked), |_| ()).unwrap_err().to_string();
    assert_eq!(
        fault(&with(&answered, "/body/task_id", "t9".into())),
        "`/body/task_id` is not the task of the request"
    );
    assert_eq!(
        fault(&with(&answered, "/session_id", "s9".into())),
        "`/session_id` is not that of the request"
    );
    assert_eq!(fault(&exchange("HELLO").1), "`/body/type` does not answer the request");
    let mut nameless = answered.clone();
    nameless["body"].as_object_mut().unwrap().remove("provenance");
    assert_eq!(fault(&nameless), "`/body/provenance` is missing");
    let other = with(&answered, "/body/provenance/payload_mode_used", "text".into());
    assert!(fault(&other).contains("is not the payload mode of the message"));
    reply(&answered, &echo(&asked), |reply| {
        let Reply::Message(message) = reply else { panic!() };
        // who produced it must be who answers
        assert_eq!(message.parties[0].name, "ldp:delegate:qwen3-8b");
    })
    .unwrap();
}

#[test]
fn the_answer_to_a_poll_states_its_mode_in_the_provenance() {
    let (submitted, answered) = exchange("TASK_SUBMIT");
    let poll = with(&exchange("TASK_CANCEL").0, "/body/type", "TASK_UPDATE".into());
    let mut echo = echo(&poll);
    echo.fill(&self::echo(&submitted));
    let polled =
        with(&with(&answered, "/session_id", poll["session_id"].clone()), "/payload_mode", "text".into());
    let mode = |value: &Value| {
        reply(value, &echo, |reply| match reply {
            Reply::Message(message) => match message.dialogue.step {
                SessionStep::Result(usage) => usage.mode,
                _ => panic!(),
            },
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(mode(&polled), Ok(PayloadMode::SemanticFrame));
    // a text has no other mode
    assert!(mode(&with(&polled, "/body/output", "positive".into())).is_err());
}

#[test]
fn a_failure_keeps_its_code_and_none_of_its_text() {
    let (asked, answered) =
        python().into_iter().find(|(_, answer)| answer["body"]["type"] == "TASK_FAILED").unwrap();
    let failure = |value: &Value| {
        reply(&clean(value), &echo(&asked), |reply| match reply {
            Reply::Failure(failure, _) => failure.clone(),
            other => panic!("{other:?}"),
        })
        .unwrap()
    };
    assert!(answered.to_string().contains("/etc/passwd"));
    let known = failure(&answered);
    assert_eq!(
        (known.code.as_str(), known.category, known.retryable),
        ("TASK_EXECUTION_ERROR", "runtime", true)
    );
    let odd =
        failure(&with(&answered, "/body/error", json!({"code": "no file /etc/passwd", "category": "leak"})));
    assert_eq!((odd.code.as_str(), odd.category, odd.severity), ("agent_error", "runtime", "error"));
    assert_eq!(failure(&with(&answered, "/body/error", "no file /etc/passwd".into())).code, "agent_error");
}

#[test]
fn a_refusal_is_an_answer_that_verifies_and_repeats_its_request() {
    let secret = Secret::new(b"delegate");
    let problem = json!({"code": "policy_denied"});
    let failure =
        AgentFailure { code: "BUSY".into(), category: "runtime", severity: "warning", retryable: true };
    let draft = |failure| RefusalDraft {
        code: "policy_denied",
        text: "policy_denied: no | policy permits it [decision d1]",
        problem: &problem,
        failure,
        sender: "ldp:delegate:qwen3-8b",
        message_id: "m-1",
        timestamp: "2026-11-29T13:50:57Z",
        secret: Some(&secret),
    };
    for (kind, answer, failure) in [
        ("SESSION_PROPOSE", "SESSION_REJECT", None),
        ("TASK_SUBMIT", "TASK_FAILED", Some(&failure)),
        ("TASK_CANCEL", "TASK_FAILED", None),
    ] {
        let (asked, _) = exchange(kind);
        let written = Ldp.refusal(&draft(failure), &echo(&asked)).unwrap();
        let value: Value = serde_json::from_slice(&written).unwrap();
        assert_eq!((&value["body"]["type"], &value["to"]), (&answer.into(), &asked["from"]));
        assert_eq!(
            (&value["session_id"], &value["body"]["task_id"]),
            (&asked["session_id"], &asked["body"]["task_id"])
        );
        let error = &value["body"]["error"];
        assert_eq!(error["code"], failure.map_or("policy_denied", |failure| &failure.code));
        assert_eq!(error["message"], "policy_denied: no / policy permits it [decision d1]");
        reply(&clean(&value), &echo(&asked), |reply| {
            let Reply::Failure(_, message) = reply else { panic!() };
            assert!(message.dialogue.seal.as_ref().unwrap().fits(&secret));
        })
        .unwrap();
    }
    assert!(Ldp.refusal(&draft(None), &echo(&exchange("HELLO").0)).is_none());
}

#[test]
fn absent_members_go_unrecorded_and_unverified_confidence_goes_recorded() {
    let pointers = |value: &Value| {
        strict(value, |json| {
            let author = Author::Server { asked: None, pinned: &|_| false };
            let removal = Removal::of(json, &Ldp, author, &reading());
            (removal.values().len(), removal.into_pointers())
        })
    };
    let (asked, answered) = python().swap_remove(2);
    let (count, recorded) = pointers(&asked);
    assert!(count > 10 && recorded.is_empty());
    assert_eq!(pointers(&answered).1, ["/body/provenance/confidence"]);
    let stays = |path: &str, value: Value| {
        pointers(&with(&answered, &format!("/body/provenance/{path}"), value)).1.is_empty()
    };
    assert!(stays("verified", true.into()));
    assert!(stays("verification_status", "peer_verified".into()));
    assert!(stays("verification", json!({"performed": true, "status": "passed"})));
    assert!(!stays("verification", json!({"performed": false, "status": "passed"})));
    assert!(!stays("verification_status", "self_verified".into()));
    assert_eq!(pointers(&clean(&asked)), (0, vec![]));
}

#[test]
fn endpoints_have_one_method_and_one_path() {
    assert_eq!(route("POST", "/ldp/messages").unwrap(), Endpoint::Messages);
    for path in [WELL_KNOWN, Endpoint::Identity.path()] {
        assert_eq!(route("GET", path).unwrap(), Endpoint::Identity);
    }
    assert_eq!(route("GET", Endpoint::Capabilities.path()).unwrap(), Endpoint::Capabilities);
    for (method, path) in
        [("GET", "/ldp/messages"), ("POST", "/ldp/stream"), ("POST", "/ldp/identity"), ("GET", "/")]
    {
        assert_eq!(route(method, path).unwrap_err().kind, FaultKind::MethodUnsupported, "{method} {path}");
    }
    let json = json::read(NO_BODY, &json::Limits::default()).unwrap();
    let call = Call::ldp(Endpoint::Identity);
    assert_eq!(Ldp.request(&json, &call, None, &reading()).unwrap().instances[0].name, "get_identity");
    let echo = Ldp.echo(&json, &call).unwrap();
    reply(&json!({"delegate_id": "d"}), &echo, |reply| {
        let Reply::Message(message) = reply else { panic!() };
        assert_eq!(message.instances[0].name, "identity_card");
    })
    .unwrap();
    assert_eq!(PayloadMode::parse("cache_slice"), None);
    assert_eq!(Binding::parse("ldp"), Some(Binding::Ldp));
}
