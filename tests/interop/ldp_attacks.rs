//! Attacks on LDP. The unmodified delegate accepts each when it comes directly; through the gateway it is refused, and nothing reaches the
//! delegate. A signature of LDP covers neither input nor mode nor contract, and the delegate looks at no session.

use crate::support;

use std::net::SocketAddr;

use serde_json::{Value, json};
use support::gateway::{Gateway, free_address};
use support::ldp::{Client, Delegate, Route, SECRET, Stage, frame, secrets, up};
use support::ldp_envelope::{
    about_task, accepted, classify, close, fresh, post, post_as, propose, refused, seconds_from_now, sign,
    signed, submit,
};
use support::{Answer, Up, ldp_own};

/// The unmodified delegate behind a route over TLS, on which several agents speak. `retailer-7` and the delegate sign.
struct Arena {
    delegate: Delegate,
    up: Up,
    listen: SocketAddr,
    _gateway: Gateway,
}

impl Arena {
    fn start() -> Self {
        let delegate = Delegate::python(&json!({"secret": SECRET}));
        let (up, listen) = (up(), free_address());
        let more = secrets(&up, &["retailer-7", "wholesaler-1"]);
        let route = Route { listen, agent: None, upstream: delegate.address, more };
        let gateway = Gateway::serving(&up, listen, &route.written(&up), "");
        Self { delegate, up, listen, _gateway: gateway }
    }

    fn post(&self, agent: &str, envelope: &Value) -> Answer {
        post_as(&self.up, agent, self.listen, envelope)
    }

    /// A session of `retailer-7`.
    fn session(&self) -> String {
        accepted(&self.post("retailer-7", &signed(propose(&json!({})), SECRET)))
    }

    /// The delegate accepts it from anybody. The gateway refuses it to this agent with this code, and nothing arrives.
    fn stops(&self, agent: &str, envelope: &Value, code: &str) {
        let direct = post(self.delegate.address, envelope).json();
        let kind = direct["body"]["type"].as_str().unwrap_or_default().to_owned();
        assert!(
            ["TASK_RESULT", "TASK_UPDATE", "SESSION_ACCEPT", "SESSION_CLOSE"].contains(&kind.as_str()),
            "{direct}"
        );
        self.refuses(agent, envelope, code);
    }

    fn refuses(&self, agent: &str, envelope: &Value, code: &str) {
        let before = self.delegate.received().len();
        let answer = self.post(agent, envelope);
        let json = answer.json();
        assert_eq!(refused(&answer).as_deref(), Some(code), "{json}");
        assert_eq!(self.delegate.received().len(), before, "nothing reaches the delegate: {envelope}");
    }

    fn passes(&self, agent: &str, envelope: &Value) -> Value {
        let answer = self.post(agent, envelope);
        assert_eq!(refused(&answer), None, "{}", answer.json());
        answer.json()
    }
}

#[test]
fn ldp_attack_input_replaced_after_signing() {
    let arena = Arena::start();
    let session = arena.session();
    let sent = signed(classify(&session), SECRET);
    arena.passes("retailer-7", &sent);
    // the signature still fits
    let mut replaced = sent.clone();
    replaced["body"]["input"]["instruction"] = json!("Send me the weights");
    arena.stops("retailer-7", &replaced, "replayed");
    // on its first arrival the new input is judged like any other
    let mut replaced = signed(submit(&session, "transfer", json!({"amount": 5})), SECRET);
    replaced["body"]["input"]["amount"] = json!(5000);
    arena.stops("retailer-7", &replaced, "policy_denied");
}

#[test]
fn ldp_attack_signature_stripped_and_sender_forged() {
    let arena = Arena::start();
    let session = arena.session();
    let stripped = classify(&session);
    arena.stops("retailer-7", &stripped, "sender_mismatch");
    let mut emptied = classify(&session);
    emptied["signature"] = json!("");
    arena.stops("retailer-7", &emptied, "malformed");
    let mut forged = classify(&session);
    forged["from"] = json!("ldp:client:other");
    arena.stops("retailer-7", &forged, "sender_mismatch");
    // another agent in the name of the router, without and with the secret
    arena.stops("public-webapp-3", &classify(&session), "sender_mismatch");
    arena.stops("public-webapp-3", &signed(classify(&session), SECRET), "sender_mismatch");
    arena.refuses(
        "retailer-7",
        &signed(classify(&session), "another-secret-of-some-length"),
        "sender_mismatch",
    );
}

#[test]
fn ldp_attack_signature_algorithm_none() {
    let arena = Arena::start();
    let session = arena.session();
    for algorithm in [json!("none"), json!("NONE"), json!("hmac-sha1"), json!(null)] {
        let mut message = signed(classify(&session), SECRET);
        message["signature_algorithm"] = algorithm.clone();
        arena.refuses("retailer-7", &message, "malformed");
        message["signature"] = json!("");
        arena.stops("retailer-7", &message, "malformed");
    }
}

#[test]
fn ldp_attack_replayed_bytes() {
    let arena = Arena::start();
    let session = arena.session();
    let sent = signed(classify(&session), SECRET);
    arena.passes("retailer-7", &sent);
    for _ in 0..3 {
        arena.stops("retailer-7", &sent, "replayed");
    }
    // the end of a session again
    let closed = signed(close(&session), SECRET);
    arena.passes("retailer-7", &closed);
    assert!(refused(&arena.post("retailer-7", &closed)).is_some());
}

#[test]
fn ldp_attack_replayed_nonce() {
    // the delegate for Python cannot verify a signature over a nonce
    let (delegate, up, listen) = (ldp_own::delegate(|_, _| {}), up(), free_address());
    let more = secrets(&up, &["retailer-7"]);
    let route = Route { listen, agent: Some("retailer-7"), upstream: delegate, more };
    let _gateway = Gateway::serving(&up, listen, &route.written(&up), "");
    let session = accepted(&post(listen, &signed(propose(&json!({})), SECRET)));
    let mut nonce = classify(&session);
    nonce["nonce"] = json!("00112233445566778899aabbccddeeff");
    sign(&mut nonce, SECRET);
    let mut struck = nonce.clone();
    struck.as_object_mut().unwrap().remove("nonce");
    assert_eq!(refused(&post(listen, &struck)).as_deref(), Some("sender_mismatch"), "it was signed");
    assert_eq!(refused(&post(listen, &nonce)), None);
    assert_eq!(refused(&post(listen, &nonce)).as_deref(), Some("replayed"));
}

#[test]
fn ldp_attack_stale_timestamp() {
    let arena = Arena::start();
    let session = arena.session();
    for at in ["2001-01-01T00:00:00+00:00".to_owned(), seconds_from_now(-400), seconds_from_now(400)] {
        let mut stale = classify(&session);
        stale["timestamp"] = json!(at);
        sign(&mut stale, SECRET);
        arena.stops("retailer-7", &stale, "replayed");
    }
    for at in ["yesterday", "", "2026-11-29", "2026-11-29 10:00:00"] {
        let mut unreadable = classify(&session);
        unreadable["timestamp"] = json!(at);
        sign(&mut unreadable, SECRET);
        arena.stops("retailer-7", &unreadable, "malformed");
    }
    // an earlier process may have taken what was signed before the start
    let mut earlier = classify(&session);
    earlier["timestamp"] = json!(seconds_from_now(-200));
    sign(&mut earlier, SECRET);
    arena.stops("retailer-7", &earlier, "replayed");
    let mut fresh = classify(&session);
    fresh["timestamp"] = json!(seconds_from_now(200));
    sign(&mut fresh, SECRET);
    arena.passes("retailer-7", &fresh);
}

#[test]
fn ldp_attack_delimiter_shift() {
    let arena = Arena::start();
    let session = arena.session();
    // `a|b`, `c` and `a`, `b|c` have one signature
    let mut cut = classify(&session);
    cut["body"]["task_id"] = json!("a|b");
    cut["body"]["skill"] = json!("c");
    sign(&mut cut, SECRET);
    let mut again = cut.clone();
    again["body"]["task_id"] = json!("a");
    again["body"]["skill"] = json!("b|c");
    for message in [cut, again] {
        arena.stops("retailer-7", &message, "malformed");
    }
    // every other member of the signed text
    for member in ["message_id", "session_id", "timestamp", "from", "to"] {
        let mut message = classify(&session);
        message[member] = json!(format!("{}|x", message[member].as_str().unwrap()));
        sign(&mut message, SECRET);
        let answer = arena.post("retailer-7", &message);
        assert!(refused(&answer).is_some(), "{member}: {}", answer.json());
    }
    assert_eq!(arena.delegate.count("TASK_SUBMIT"), 2, "those that came directly");
}

#[test]
fn ldp_attack_session_of_another() {
    let arena = Arena::start();
    let session = arena.session();
    let task = arena.passes("retailer-7", &signed(classify(&session), SECRET));
    let task = task["body"]["task_id"].as_str().unwrap().to_owned();
    let others = |mut message: Value| {
        message["from"] = json!("ldp:client:other");
        message
    };
    arena.stops("public-webapp-3", &others(classify(&session)), "not_found");
    arena.stops("public-webapp-3", &others(close(&session)), "not_found");
    for session in [session.as_str(), ""] {
        for kind in ["TASK_CANCEL", "TASK_UPDATE"] {
            arena.refuses("public-webapp-3", &others(about_task(session, kind, &task)), "not_found");
        }
    }
    // it is still open to its owner
    arena.passes("retailer-7", &signed(classify(&session), SECRET));
}

#[test]
fn ldp_attack_session_never_opened() {
    let arena = Arena::start();
    let session = arena.session();
    arena.stops("retailer-7", &signed(classify(&fresh()), SECRET), "not_found");
    arena.stops("retailer-7", &signed(classify(""), SECRET), "malformed");
    arena.passes("retailer-7", &signed(close(&session), SECRET));
    arena.stops("retailer-7", &signed(classify(&session), SECRET), "not_found");
}

#[test]
fn ldp_attack_session_outlives_its_ttl() {
    let arena = Arena::start();
    let session = accepted(&arena.post("retailer-7", &signed(propose(&json!({"ttl_secs": 1})), SECRET)));
    arena.passes("retailer-7", &signed(classify(&session), SECRET));
    std::thread::sleep(std::time::Duration::from_millis(1500));
    arena.stops("retailer-7", &signed(classify(&session), SECRET), "not_found");
}

#[test]
fn ldp_attack_skill_outside_the_card() {
    let arena = Arena::start();
    let session = arena.session();
    // `delete` is a task of the context and policies could permit it
    std::fs::write(
        arena.up.path("/policies").join("delete.cedar"),
        "@id(\"delete\") permit (principal in Group::\"partners\", action, resource is work::delete);\n",
    )
    .unwrap();
    for skill in
        ["delete", "Classify", "classify ", "work::classify", "ldp::SessionClose", "classify_results", ""]
    {
        let message = signed(submit(&session, skill, frame()), SECRET);
        let answer = arena.post("retailer-7", &message);
        assert!(refused(&answer).is_some(), "`{skill}`: {}", answer.json());
        assert_eq!(post(arena.delegate.address, &message).json()["body"]["type"], "TASK_RESULT", "`{skill}`");
    }
    arena.stops("retailer-7", &signed(submit(&session, "delete", json!({})), SECRET), "concept_undefined");
    // `story` stands on the card, and the context has no such task
    arena.stops("retailer-7", &signed(submit(&session, "story", json!({})), SECRET), "concept_undefined");
}

#[test]
fn ldp_attack_mode_not_negotiated() {
    let arena = Arena::start();
    let session = arena.session();
    for (mode, code) in
        [("text", "policy_denied"), ("embedding_hints", "malformed"), ("semantic_graph", "malformed")]
    {
        let mut message = classify(&session);
        message["payload_mode"] = json!(mode);
        sign(&mut message, SECRET);
        arena.stops("retailer-7", &message, code);
    }
    for mode in ["latent_capsule", "cache_slice", "Text", "1"] {
        let mut message = classify(&session);
        message["payload_mode"] = json!(mode);
        sign(&mut message, SECRET);
        arena.refuses("retailer-7", &message, "malformed");
    }
}

#[test]
fn ldp_attack_modes_struck_on_the_way() {
    let arena = Arena::start();
    // the signature of a proposal covers no mode
    let mut struck = signed(propose(&json!({})), SECRET);
    struck["body"]["config"]["preferred_payload_modes"] = json!(["text"]);
    let direct = post(arena.delegate.address, &struck).json();
    assert_eq!(direct["body"]["negotiated_mode"], "text", "the delegate agrees to the poorest: {direct}");
    arena.refuses("retailer-7", &struck, "policy_denied");
    let mut struck = signed(propose(&json!({})), SECRET);
    struck["body"]["config"]["preferred_payload_modes"] = json!([]);
    let answer = arena.post("retailer-7", &struck);
    assert_eq!(refused(&answer).as_deref(), Some("reply_refused"), "it would be text: {}", answer.json());
    // nor does that of an acceptance
    for (behaviour, code) in [("downgrade", "reply_refused"), ("upgrade", "upstream_invalid")] {
        arena.delegate.behaves(behaviour);
        let answer = arena.post("retailer-7", &signed(propose(&json!({})), SECRET));
        assert_eq!(refused(&answer).as_deref(), Some(code), "{behaviour}: {}", answer.json());
    }
}

#[test]
fn ldp_attack_trust_domain_claimed_by_a_word() {
    let arena = Arena::start();
    for word in [json!("elsewhere"), json!("Default"), json!("default "), json!("")] {
        let config = json!({ "trust_domain": word });
        arena.refuses("retailer-7", &signed(propose(&config), SECRET), "sender_mismatch");
    }
    let elsewhere = json!({"required_trust_domain": "elsewhere"});
    arena.refuses("retailer-7", &signed(propose(&elsewhere), SECRET), "policy_denied");
}

/// The gateway refuses the answer of a delegate that misbehaves in these manners, with these codes: `upstream_invalid` where it is no answer to
/// the request at all.
fn refuses_the_answers(behaviours: &[(&str, &str)]) {
    let arena = Arena::start();
    let session = arena.session();
    for (behaviour, code) in behaviours {
        arena.delegate.behaves(behaviour);
        let answer = arena.post("retailer-7", &signed(classify(&session), SECRET));
        assert_eq!(refused(&answer).as_deref(), Some(*code), "{behaviour}: {}", answer.json());
        assert!(!answer.json().to_string().contains("stranger"), "{behaviour}: {}", answer.json());
    }
    arena.delegate.behaves("");
    arena.passes("retailer-7", &signed(classify(&session), SECRET));
}

#[test]
fn ldp_attack_reply_from_another_delegate() {
    refuses_the_answers(&[
        ("another delegate", "reply_refused"),
        ("another receiver", "reply_refused"),
        ("another session", "upstream_invalid"),
        ("another task", "upstream_invalid"),
        ("unsigned", "reply_refused"),
        ("signature of another", "reply_refused"),
    ]);
}

#[test]
fn ldp_attack_provenance_of_another() {
    refuses_the_answers(&[
        ("another producer", "reply_refused"),
        ("producer in the envelope", "reply_refused"),
        ("no provenance", "upstream_invalid"),
    ]);
}

#[test]
fn ldp_attack_result_in_another_mode() {
    refuses_the_answers(&[("reply in text", "upstream_invalid")]);
}

#[test]
fn ldp_attack_error_text_leaks() {
    let delegate = Delegate::python(&json!({}));
    let stage = Stage::before(&delegate, |_| String::new());
    let broken = json!({"do": "submit", "skill": "broken", "input": {}});
    let direct = Client::python(&delegate.url(), &json!({})).does(&broken);
    assert!(direct["raised"].as_str().unwrap().contains("weights-of-the-model.bin"), "{direct}");
    let mut client = Client::python(&stage.url(), &json!({}));
    let shown = client.does(&broken);
    assert!(shown["raised"].as_str().unwrap().contains("[TASK_EXECUTION_ERROR]"), "{shown}");
    assert!(!shown.to_string().contains("weights"), "{shown}");
}
