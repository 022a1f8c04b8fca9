//! Attacks that a stock delegate lets happen.

use super::*;

fn opened() -> World {
    let world = World::new(|_| {});
    world.open(CALLER, "s1", flights());
    world
}

#[test]
fn ldp_attack_session_never_opened() {
    let world = opened();
    assert_eq!(refused(world.ask(CALLER, &world.submit(CALLER, "s9", "t1"), NOW)).0, Code::NotFound);
}

#[test]
fn ldp_attack_session_of_another() {
    let world = opened();
    let never = refused(world.ask(OTHER, &world.submit(OTHER, "s9", "t1"), NOW));
    for body in [
        json!({"type": "TASK_SUBMIT", "task_id": "t2", "skill": "bookFlight", "input": flight()}),
        json!({"type": "SESSION_CLOSE", "reason": null}),
    ] {
        // a session that exists for somebody else reads like none
        assert_eq!(refused(world.ask(OTHER, &world.request(OTHER, "s1", body), NOW)), never);
    }
    let _ = world.ask(CALLER, &world.submit(CALLER, "s1", "t3"), NOW).unwrap();
}

#[test]
fn ldp_attack_task_of_another() {
    let world = opened();
    let _ = world.sent(CALLER, &world.submit(CALLER, "s1", "t1"));
    world.open(OTHER, "s2", flights());
    for kind in ["TASK_UPDATE", "TASK_CANCEL"] {
        let body = json!({"type": kind, "task_id": "t1"});
        assert_eq!(
            refused(world.ask(OTHER, &world.request(OTHER, "", body), NOW)).0,
            Code::NotFound,
            "{kind}"
        );
    }
    // nor is a task begun under the id of somebody else's
    assert_eq!(refused(world.ask(OTHER, &world.submit(OTHER, "s2", "t1"), NOW)).0, Code::NotFound);
}

#[test]
fn attack_a_task_begun_twice_is_judged_by_other_terms() {
    let world = opened();
    let _ = world.sent(CALLER, &world.submit(CALLER, "s1", "t1"));
    let frame = json!({"task_type": "classification", "instruction": "Classify"});
    let body = json!({"type": "TASK_SUBMIT", "task_id": "t1", "skill": "reasoning", "input": frame});
    let (code, why) = refused(world.ask(CALLER, &world.request(CALLER, "s1", body), NOW));
    assert_eq!((code, why.contains("a task of this id was begun before")), (Code::Malformed, true), "{why}");
}

#[test]
fn attack_a_proposal_takes_the_place_of_an_open_session() {
    let world = opened();
    for agent in [OTHER, CALLER] {
        let proposal = with(&world.propose(agent, flights()), "/session_id", "s1".into());
        let (code, why) = refused(world.ask(agent, &proposal, NOW));
        assert_eq!((code, why.contains("the id in the proposal cannot be used")), (Code::NotFound, true));
    }
    let _ = world.ask(CALLER, &world.submit(CALLER, "s1", "t1"), NOW).unwrap();
}

#[test]
fn attack_an_open_session_outlives_the_trust_and_the_time_of_its_route() {
    let mut world = opened();
    let strangers = |route: &mut Route| {
        let agents = vec![agent_id(DELEGATE)];
        route.options.dialogue.trust_domains = vec![AgentDomain {
            name: "supply".to_owned(),
            agents,
            allow_cross_domain: false,
            trusted_peers: Vec::new(),
        }];
    };
    world.reload(strangers);
    let (code, why) = refused(world.ask(CALLER, &world.submit(CALLER, "s1", "t1"), NOW));
    assert_eq!((code, why.contains("do not trust each other")), (Code::PolicyDenied, true), "{why}");
    world.reload(|route| route.options.dialogue.session_seconds = 30);
    let mut late = world.submit(CALLER, "s1", "t2");
    late["timestamp"] = "2026-06-01T00:02:00Z".into();
    assert_eq!(refused(world.ask(CALLER, &late, seconds_later(31))).0, Code::NotFound);
}

#[test]
fn ldp_attack_accepted_session_of_another() {
    let world = opened();
    let sent = world.sent(OTHER, &world.propose(OTHER, flights()));
    let accept = json!({"type": "SESSION_ACCEPT", "session_id": "s1", "negotiated_mode": "semantic_frame"});
    let (_, why) = refused(world.reply(&sent, &world.answer(OTHER, "s1", accept), NOW));
    assert!(why.contains("under an id that is taken"), "{why}");
    let _ = world.ask(CALLER, &world.submit(CALLER, "s1", "t1"), NOW).unwrap();
}

#[test]
fn ldp_attack_skill_outside_the_card() {
    let world = opened();
    let other = with(&world.submit(CALLER, "s1", "t1"), "/body/skill", "shell".into());
    let (code, why) = refused(world.ask(CALLER, &other, NOW));
    assert_eq!((code, why.contains("does not list this skill")), (Code::ConceptUndefined, true));
}

#[test]
fn ldp_attack_mode_not_negotiated() {
    let world = opened();
    let graph = with(&world.submit(CALLER, "s1", "t1"), "/payload_mode", "semantic_graph".into());
    assert_eq!(refused(world.ask(CALLER, &graph, NOW)).0, Code::Malformed);
    let text = with(&world.submit(CALLER, "s1", "t2"), "/payload_mode", "text".into());
    assert_eq!(refused(world.ask(CALLER, &text, NOW)).0, Code::PolicyDenied);
}

#[test]
fn ldp_attack_modes_struck_on_the_way() {
    let world = opened();
    let struck =
        with(&world.propose(CALLER, flights()), "/body/config/preferred_payload_modes", json!(["text"]));
    let (code, why) = refused(world.ask(CALLER, &struck, NOW));
    assert_eq!((code, why.contains("poorer than the route takes")), (Code::PolicyDenied, true));
    // and the delegate falls back to text by itself
    let sent = world.sent(CALLER, &world.propose(CALLER, flights()));
    let accept = |mode: &str| json!({"type": "SESSION_ACCEPT", "session_id": "s5", "negotiated_mode": mode});
    let (code, _) = refused(world.reply(&sent, &world.answer(CALLER, "s5", accept("text")), NOW));
    assert_eq!(code, Code::PolicyDenied);
    let (code, _) = refused(world.reply(&sent, &world.answer(CALLER, "s5", accept("semantic_graph")), NOW));
    assert_eq!(code, Code::Malformed);
    assert_eq!(refused(world.ask(CALLER, &world.submit(CALLER, "s5", "t1"), NOW)).0, Code::NotFound);
}

#[test]
fn text_passes_where_route_and_floor_admit_it() {
    let world = World::new(|route| {
        route.text_parts.text = true;
        route.options.dialogue.min_payload_mode = PayloadMode::Text;
    });
    let sent = world.sent(CALLER, &world.propose(CALLER, json!({"payload_mode": "text"})));
    let accept = json!({"type": "SESSION_ACCEPT", "session_id": "s1", "negotiated_mode": "text"});
    let _ = world.reply(&sent, &world.answer(CALLER, "s1", accept), NOW).unwrap().spend();
    let task =
        json!({"type": "TASK_SUBMIT", "task_id": "t1", "skill": "reasoning", "input": "Classify\nthis"});
    let permit = world.ask(CALLER, &world.request(CALLER, "s1", task), NOW).unwrap();
    assert_eq!(permit.facts().concepts, ["text"]);
}

#[test]
fn ldp_attack_replayed_bytes() {
    let world = opened();
    let task = world.submit(CALLER, "s1", "t1");
    let _ = world.ask(CALLER, &task, NOW).unwrap();
    assert_eq!(refused(world.ask(CALLER, &task, seconds_later(5))).0, Code::Replayed);
}

#[test]
fn attack_a_restart_forgets_what_was_taken() {
    let mut world = World::new(|_| {});
    let proposal = world.propose(CALLER, flights());
    let _ = world.ask(CALLER, &proposal, NOW).unwrap();
    // a second later another process serves
    let fresh = World::new(|_| {});
    world.inspector = fresh.inspector.with_signed_since(NOW.unix + 1);
    let (code, why) = refused(world.ask(CALLER, &proposal, seconds_later(1)));
    assert_eq!((code, why.contains("signed before this gateway started")), (Code::Replayed, true), "{why}");
}

#[test]
fn ldp_attack_stale_timestamp() {
    let world = opened();
    for stamp in ["2001-01-01T00:00:00+00:00", "2026-05-31T23:55:59Z", "2026-06-01T00:06:01Z"] {
        let stale = with(&world.submit(CALLER, "s1", "t1"), "/timestamp", stamp.into());
        assert_eq!(refused(world.ask(CALLER, &stale, NOW)).0, Code::Replayed, "{stamp}");
    }
}

/// Signs an envelope as both libraries do.
fn sign(mut envelope: Value, covered: &str, secret: &[u8]) -> Value {
    let text = |name: &str| envelope[name].as_str().unwrap().to_owned();
    let head: Vec<_> =
        ["from", "to", "session_id", "timestamp", "message_id"].into_iter().map(text).collect();
    let kind = envelope["body"]["type"].as_str().unwrap();
    let mark = Secret::new(secret).mark(&format!("{}|{covered}|{kind}", head.join("|")));
    envelope["signature"] = mark.into();
    envelope["signature_algorithm"] = "hmac-sha256".into();
    envelope
}

fn guarded(require: Option<bool>) -> World {
    World::new(|route| {
        let secret = |of: &str, bytes: &[u8]| AgentSecret { agent: agent_id(of), secret: Secret::new(bytes) };
        route.options.dialogue.secrets = vec![secret(CALLER, b"caller"), secret(DELEGATE, b"delegate")];
        route.options.dialogue.require_signature = require;
    })
}

#[test]
fn ldp_attack_signature_stripped_and_sender_forged() {
    let world = guarded(None);
    let hello = |from: &str| {
        let body = json!({"type": "HELLO", "delegate_id": name(from), "supported_modes": []});
        world.request(from, "", body)
    };
    let unsigned = hello(CALLER);
    let (code, why) = refused(world.ask(CALLER, &unsigned, NOW));
    assert_eq!((code, why.contains("is not signed")), (Code::SenderMismatch, true));
    let wrong = sign(hello(CALLER), &name(CALLER), b"guessed");
    let (code, why) = refused(world.ask(CALLER, &wrong, NOW));
    assert_eq!((code, why.contains("is not valid")), (Code::SenderMismatch, true));
    // nobody needs a signature to be somebody else: the connection tells
    let forged = sign(hello(CALLER), &name(CALLER), b"caller");
    assert_eq!(refused(world.ask(OTHER, &forged, NOW)).0, Code::SenderMismatch);
    let _ = world.ask(CALLER, &forged, NOW).unwrap();
    // agents without a secret sign nothing, unless the route asks everybody
    let _ = world.ask(OTHER, &hello(OTHER), NOW).unwrap();
    assert_eq!(refused(guarded(Some(true)).ask(OTHER, &hello(OTHER), NOW)).0, Code::SenderMismatch);
    let _ = guarded(Some(false)).ask(CALLER, &hello(CALLER), NOW).unwrap();
    assert_eq!(refused(guarded(Some(false)).ask(CALLER, &wrong, NOW)).0, Code::SenderMismatch);
    let other = with(&hello(CALLER), "/body/delegate_id", name(OTHER).into());
    let other = sign(other, &name(OTHER), b"caller");
    assert_eq!(refused(world.ask(CALLER, &other, NOW)).0, Code::SenderMismatch);
}

#[test]
fn ldp_attack_reply_from_another_delegate() {
    let world = guarded(None);
    let signed = |task: &str, body: Value| sign(body, task, b"caller");
    let propose = signed("", world.propose(CALLER, flights()));
    let sent = world.sent(CALLER, &propose);
    let accept = json!({"type": "SESSION_ACCEPT", "session_id": "s1", "negotiated_mode": "semantic_frame"});
    let accept = world.answer(CALLER, "s1", accept);
    assert_eq!(refused(world.reply(&sent, &accept, NOW)).0, Code::SenderMismatch);
    let other = sign(with(&accept, "/from", "ldp:delegate:other".into()), "s1", b"delegate");
    assert_eq!(refused(world.reply(&sent, &other, NOW)).0, Code::SenderMismatch);
    let failed =
        world.answer(CALLER, "proposed", json!({"type": "TASK_FAILED", "task_id": "", "error": "no"}));
    assert_eq!(
        refused(world.reply(&sent, &with(&failed, "/body/task_id", "t".into()), NOW)).0,
        Code::SenderMismatch
    );
    let _ = world.reply(&sent, &sign(accept, "s1", b"delegate"), NOW).unwrap();
}

#[test]
fn ldp_attack_provenance_of_another() {
    let world = opened();
    let sent = world.sent(CALLER, &world.submit(CALLER, "s1", "t1"));
    let stolen =
        with(&world.result(CALLER, "s1", "t1"), "/body/provenance/produced_by", "ldp:delegate:best".into());
    assert_eq!(refused(world.reply(&sent, &stolen, NOW)).0, Code::SenderMismatch);
}

#[test]
fn ldp_attack_error_text_leaks() {
    let world = opened();
    let task = world.submit(CALLER, "s1", "t1");
    let sent = world.sent(CALLER, &task);
    let error = json!({"code": "TASK_EXECUTION_ERROR", "category": "runtime", "message": "no such file: /srv/keys.pem",
        "severity": "error", "retryable": true, "partial_output": {"key": "s3cr3t"}});
    let failed = world.answer(CALLER, "s1", json!({"type": "TASK_FAILED", "task_id": "t1", "error": error}));
    let refusal = world.reply(&sent, &failed, NOW).unwrap_err();
    assert_eq!(refusal.code(), Code::AgentError);
    assert_eq!(refusal.failure().unwrap().code, "TASK_EXECUTION_ERROR");
    assert!(!format!("{refusal:?}").contains("keys.pem") && !format!("{refusal:?}").contains("s3cr3t"));
    // what the answer repeats is at hand, also where the request itself was refused
    assert_eq!(refusal.echo().unwrap().get("task_id"), Some("t1"));
    let refusal = world.ask(OTHER, &world.submit(OTHER, "s9", "t7"), NOW).unwrap_err();
    assert_eq!(refusal.echo().unwrap().get("task_id"), Some("t7"));
}

#[test]
fn ldp_attack_trust_domain_by_a_word() {
    let domain = |name: &str, of: &str, trusts: &[&str]| AgentDomain {
        name: name.to_owned(),
        agents: vec![agent_id(of)],
        allow_cross_domain: !trusts.is_empty(),
        trusted_peers: trusts.iter().map(|one| (*one).to_owned()).collect(),
    };
    let outcome = |of_caller: &[&str], of_delegate: &[&str], claimed: &str| {
        let world = World::new(|route| {
            route.options.dialogue.trust_domains =
                vec![domain("shop", CALLER, of_caller), domain("supply", DELEGATE, of_delegate)];
        });
        let config = with(&flights(), "/trust_domain", claimed.into());
        world.ask(CALLER, &world.propose(CALLER, config), NOW).map(drop).map_err(|refusal| refusal.code())
    };
    assert_eq!(outcome(&["supply"], &["shop"], "shop"), Ok(()));
    // one direction is not enough, and a word changes nothing
    assert_eq!(outcome(&["supply"], &[], "shop"), Err(Code::PolicyDenied));
    assert_eq!(outcome(&[], &["shop"], "shop"), Err(Code::PolicyDenied));
    assert_eq!(outcome(&[], &[], "supply"), Err(Code::SenderMismatch));
    assert_eq!(outcome(&["supply"], &["shop"], "supply"), Err(Code::SenderMismatch));
    let nowhere =
        World::new(|route| route.options.dialogue.trust_domains = vec![domain("supply", DELEGATE, &[])]);
    let config = json!({"preferred_payload_modes": ["semantic_frame"]});
    assert_eq!(refused(nowhere.ask(CALLER, &nowhere.propose(CALLER, config), NOW)).0, Code::PolicyDenied);
    let required = with(&flights(), "/required_trust_domain", "elsewhere".into());
    let world = World::new(|_| {});
    assert_eq!(refused(world.ask(CALLER, &world.propose(CALLER, required), NOW)).0, Code::PolicyDenied);
}

#[test]
fn a_receiver_is_named_by_an_address_of_the_route_only_where_clients_do_so() {
    let world = opened();
    let to =
        |envelope: &Value, url: &str| world.ask(CALLER, &with(envelope, "/to", url.into()), NOW).map(drop);
    let ours = "http://127.0.0.1:8090";
    to(&world.propose(CALLER, flights()), ours).unwrap();
    assert_eq!(refused(to(&world.propose(CALLER, flights()), "http://evil.test")).0, Code::ReceiverMismatch);
    assert_eq!(refused(to(&world.submit(CALLER, "s1", "t1"), ours)).0, Code::ReceiverMismatch);
    assert!(!Seal { text: String::new(), mark: None }.fits(&Secret::new(b"")));
}
