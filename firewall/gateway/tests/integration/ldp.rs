//! LDP: documents, sessions, tasks, and refusals in the form of the protocol.

use crate::common;

use common::agent::{Act, Agent, Seen, answer, ok};
use common::{Answer, Gateway, House, RETAILER, WHOLESALER, route};
use ring::{digest, hmac};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

const CLIENT: &str = "ldp:client:retailer-7";
const DELEGATE: &str = "ldp:delegate:wholesaler-1";
const TRAVEL: &str = "urn:contexts:travel:v2.2";
const SECRET: &str = "a secret of the delegate";

fn card() -> Value {
    json!({
        "delegate_id": DELEGATE, "name": "Sample", "description": null, "model_family": "sample",
        "model_version": "1", "trust_domain": {"name": "default"}, "context_window": 8192,
        "capabilities": [{"name": "bookFlight", "input_schema": null, "quality": {"quality_score": 0.9}}],
        "supported_payload_modes": ["semantic_frame"], "endpoint": "http://127.0.0.1:8090",
    })
}

fn envelope(from: &str, to: &str, session: &str, body: Value) -> Value {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    json!({
        "message_id": format!("m-{number}"), "session_id": session, "from": from, "to": to, "body": body,
        "payload_mode": "semantic_frame", "timestamp": OffsetDateTime::now_utc().format(&Rfc3339).unwrap(),
    })
}

/// A delegate that opens `s-1` and books flights; `fail` in the date fails with a path in its text.
fn delegate(seen: &Seen) -> Act {
    if seen.head.starts_with("GET ") {
        return Act::Say(ok(card().to_string().as_bytes()));
    }
    let asked: Value = serde_json::from_slice(&seen.body).unwrap();
    let (task, session) = (&asked["body"]["task_id"], asked["session_id"].as_str().unwrap());
    let body = match asked["body"]["type"].as_str().unwrap() {
        "SESSION_PROPOSE" => {
            json!({"type": "SESSION_ACCEPT", "session_id": "s-1", "negotiated_mode": "semantic_frame"})
        }
        "TASK_SUBMIT" if asked["body"]["input"]["date"] == "2026-01-01" => {
            json!({"type": "TASK_FAILED", "task_id": task, "error": {
                "code": "TASK_EXECUTION_ERROR", "category": "runtime", "message": "/srv/keys is missing",
                "severity": "error", "retryable": true, "partial_output": {"key": "/srv/keys"}}})
        }
        _ => json!({
            "type": "TASK_RESULT", "task_id": task,
            "output": {"booking_reference": "SEMGATE1", "status": "confirmed"},
            "provenance": {"produced_by": DELEGATE, "model_version": "1", "confidence": 0.9, "verified": false},
        }),
    };
    let session = if body["type"] == "SESSION_ACCEPT" { "s-1" } else { session };
    Act::Say(ok(envelope(DELEGATE, CLIENT, session, body).to_string().as_bytes()))
}

struct Stage {
    house: House,
    gateway: Gateway,
    agent: Agent,
}

impl Stage {
    fn new(act: impl Fn(&Seen) -> Act + Send + Sync + 'static, more: &str) -> Self {
        let mut house = House::new();
        house.remember();
        let agent = Agent::start(act);
        std::fs::write(house.path("card.json"), card().to_string()).unwrap();
        std::fs::write(house.path("delegate.secret"), format!("{SECRET}\n")).unwrap();
        let upstream = format!("http://127.0.0.1:{}/inner", agent.port);
        let more = format!("plain_sender = \"{RETAILER}\"\nidentity_card = \"card.json\"\n{more}");
        let gateway = Gateway::start(house.config(&route("ldp", "ldp", &upstream, &more), ""));
        Self { house, gateway, agent }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.gateway.port("ldp"))
    }

    fn get(&self, method: &str, path: &str, headers: &str) -> Answer {
        let head = format!("{method} {path} HTTP/1.1\r\nHost: gw\r\nConnection: close\r\n{headers}\r\n");
        Answer::parse(&self.gateway.raw("ldp", head.as_bytes()))
    }

    fn post(&self, envelope: &Value) -> Answer {
        let body = envelope.to_string();
        let head = format!(
            "POST /ldp/messages HTTP/1.1\r\nHost: gw\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        Answer::parse(&self.gateway.raw("ldp", format!("{head}{body}").as_bytes()))
    }

    fn propose(&self, config: Value) -> Answer {
        let body = json!({"type": "SESSION_PROPOSE", "config": config});
        self.post(&envelope(CLIENT, &self.url(), "p-1", body))
    }

    fn open(&self) {
        let config = json!({"preferred_payload_modes": ["semantic_frame"], "ttl_secs": 60,
                            "trust_domain": "default", "l9_context": {"context": TRAVEL}});
        let answer = self.propose(config);
        assert_eq!(answer.json()["body"]["type"], "SESSION_ACCEPT", "{answer:?}");
    }

    fn submit(&self, task: &str, skill: &str, date: &str) -> Answer {
        let input = json!({"origin_code": "LAX", "dest_code": "JFK", "date": date});
        let body = json!({"type": "TASK_SUBMIT", "task_id": task, "skill": skill, "input": input});
        self.post(&envelope(CLIENT, DELEGATE, "s-1", body))
    }

    fn poll(&self, task: &str) -> Answer {
        let body = json!({"type": "TASK_UPDATE", "task_id": task, "progress": null, "message": null});
        self.post(&envelope(CLIENT, &self.url(), "s-1", body))
    }

    fn posted(&self) -> Vec<Seen> {
        self.agent.seen().into_iter().filter(|seen| seen.head.starts_with("POST ")).collect()
    }
}

/// The error of a refusal, whose text ends with the id of the decision.
fn error(answer: &Answer, kind: &str) -> Value {
    assert_eq!(answer.status, 200, "{answer:?}");
    let json = answer.json();
    assert_eq!(
        (&json["body"]["type"], &json["from"], &json["to"]),
        (&kind.into(), &DELEGATE.into(), &CLIENT.into())
    );
    let error = json["body"]["error"].clone();
    let end = format!(" [decision {}]", answer.header("semgate-decision").unwrap());
    assert!(error["message"].as_str().unwrap().ends_with(&end), "{error}");
    assert_eq!(error["partial_output"]["decision_id"], answer.header("semgate-decision").unwrap());
    error
}

#[test]
fn a_task_passes_in_its_session_with_a_digest_of_the_forwarded_body() {
    let stage = Stage::new(delegate, "");
    stage.open();
    let answer = stage.submit("t-1", "bookFlight", "2026-12-24");
    let json = answer.json();
    assert_eq!(json["body"]["type"], "TASK_RESULT", "{answer:?}");
    assert_eq!(json["body"]["output"]["booking_reference"], "SEMGATE1");
    let provenance = &json["body"]["provenance"];
    assert_eq!((&provenance["produced_by"], &provenance["confidence"]), (&DELEGATE.into(), &Value::Null));
    let posted = stage.posted();
    assert_eq!(posted.len(), 2);
    for seen in &posted {
        assert!(seen.head.starts_with("POST /inner/ldp/messages HTTP/1.1"), "{}", seen.head);
        assert_eq!(seen.header("semgate-sender").as_deref(), Some(RETAILER));
        let hash = digest::digest(&digest::SHA256, &seen.body);
        let hash = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, hash);
        assert_eq!(seen.header("content-digest"), Some(format!("sha-256=:{hash}:")));
    }
}

#[test]
fn the_card_is_the_pinned_one_with_the_address_of_the_gateway() {
    let stage = Stage::new(delegate, "");
    let shown = stage.get("GET", "/ldp/identity", "");
    assert_eq!(shown.status, 200, "{shown:?}");
    let json = shown.json();
    assert_eq!((&json["delegate_id"], &json["endpoint"]), (&DELEGATE.into(), &stage.url().into()));
    assert!(!shown.body.contains("8090"), "the inner address stays inside: {}", shown.body);
    assert_eq!(stage.get("GET", "/.well-known/ldp-identity", "").json(), json);
    let manifest = stage.get("GET", "/ldp/capabilities", "").json();
    assert_eq!(manifest["capabilities"][0]["name"], "bookFlight");
    let head = stage.get("HEAD", "/ldp/identity", "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert!(stage.agent.seen().len() <= 2, "each core asks the delegate once a minute");
    assert_eq!(stage.get("GET", "/ldp/stream", "").problem(), (400, "method_unsupported".to_owned()));
}

#[test]
fn ldp_attack_a_delegate_with_another_card_is_not_shown() {
    let stage = Stage::new(
        |_| {
            let mut other = card();
            other["capabilities"][0]["name"] = "shell".into();
            Act::Say(ok(other.to_string().as_bytes()))
        },
        "",
    );
    for path in ["/ldp/identity", "/.well-known/ldp-identity", "/ldp/capabilities"] {
        assert_eq!(stage.get("GET", path, "").problem(), (502, "upstream_invalid".to_owned()));
    }
}

#[test]
fn refusals_are_answers_of_the_delegate_under_its_secret() {
    let secret = format!("ldp_secrets = [{{ agent = \"{WHOLESALER}\", file = \"delegate.secret\" }}]\n");
    let stage = Stage::new(delegate, &secret);
    // before the sender counts, nobody has a text signed in the delegate's name
    let early = stage.propose(json!({"preferred_payload_modes": ["semantic_frame"], "trust_domain": "evil"}));
    assert_eq!(error(&early, "SESSION_REJECT")["code"], "sender_mismatch");
    assert!(early.json()["signature"].is_null());
    let answer = stage.propose(json!({"preferred_payload_modes": ["text"]}));
    let refused = error(&answer, "SESSION_REJECT");
    assert_eq!((&refused["category"], &refused["retryable"]), (&"policy".into(), &false.into()));
    let json = answer.json();
    let text = |name: &str| json[name].as_str().unwrap();
    let signed = [
        text("from"),
        text("to"),
        text("session_id"),
        text("timestamp"),
        text("message_id"),
        json["body"]["reason"].as_str().unwrap(),
        "SESSION_REJECT",
    ];
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let mark: String =
        hmac::sign(&key, signed.join("|").as_bytes()).as_ref().iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!((text("signature"), text("signature_algorithm")), (mark.as_str(), "hmac-sha256"));
    assert!(stage.posted().is_empty());
}

#[test]
fn a_refused_task_is_refused_again_when_its_client_asks_about_it() {
    let stage = Stage::new(delegate, "");
    stage.open();
    let refused = error(&stage.submit("t-1", "transfer", "2026-12-24"), "TASK_FAILED");
    let again = error(&stage.poll("t-1"), "TASK_FAILED");
    assert_eq!(again["code"], refused["code"]);
    let unknown = error(&stage.poll("t-2"), "TASK_FAILED");
    assert_ne!(unknown["code"], refused["code"], "nobody submitted it");
    assert_eq!(stage.posted().len(), 1);
    let refused = || stage.house.audit().iter().filter(|record| record["verdict"] == "refused").count();
    common::wait("a record for each refusal", || refused() == 3);
}

#[test]
fn ldp_attack_error_text_leaks() {
    let stage = Stage::new(delegate, "");
    stage.open();
    let answer = stage.submit("t-1", "bookFlight", "2026-01-01");
    let failed = error(&answer, "TASK_FAILED");
    assert_eq!((&failed["code"], &failed["category"]), (&"TASK_EXECUTION_ERROR".into(), &"runtime".into()));
    assert_eq!(failed["retryable"], true);
    assert!(!answer.body.contains("/srv/keys"), "{}", answer.body);
}

#[test]
fn an_agent_that_answers_wrongly_fails_the_task_and_nothing_of_it_passes() {
    let stage = Stage::new(
        |seen| {
            let asked: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
            match asked["body"]["type"].as_str() {
                Some("TASK_SUBMIT") => {
                    Act::Say(answer("500 Oops", "Content-Type: text/plain\r\n", b"stack trace"))
                }
                _ => delegate(seen),
            }
        },
        "",
    );
    stage.open();
    let answer = stage.submit("t-1", "bookFlight", "2026-12-24");
    let failed = error(&answer, "TASK_FAILED");
    assert_eq!(
        (&failed["code"], &failed["partial_output"]["delivered"]),
        (&"upstream_invalid".into(), &"yes".into())
    );
    assert!(!answer.body.contains("stack trace"));
}
