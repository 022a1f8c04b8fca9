//! The life of a session.

use super::*;
use crate::stage::stage_of;

#[test]
fn a_session_carries_its_context_to_tasks_polls_and_results() {
    let world = World::new(|_| {});
    let hello = json!({"type": "HELLO", "delegate_id": name(CALLER), "supported_modes": ["semantic_frame"]});
    let hello = world.envelope(CALLER, "http://127.0.0.1:8090", "", hello);
    let sent = world.sent(CALLER, &hello);
    let manifest =
        json!({"type": "CAPABILITY_MANIFEST", "capabilities": [{"name": "bookFlight", "description": null}]});
    let _ = world.reply(&sent, &world.answer(CALLER, "", manifest), NOW).unwrap().spend();

    world.open(CALLER, "s1", flights());
    let permit = world.ask(CALLER, &world.submit(CALLER, "s1", "t1"), NOW).unwrap();
    assert_eq!(permit.facts().context.as_deref(), Some("urn:contexts:travel:v2.1"));
    assert_eq!(permit.facts().concepts, ["bookFlight"]);
    // what was absent is not forwarded, and no record speaks of it
    assert!(!String::from_utf8_lossy(permit.body()).contains("null"));
    assert!(permit.facts().removed.is_empty());
    let (_, sent) = permit.spend();
    let reply = world.reply(&sent, &world.result(CALLER, "s1", "t1"), NOW).unwrap();
    assert_eq!(reply.facts().concepts, ["bookFlight", "provenance"]);

    // a poll of the Rust library names no session
    let poll = json!({"type": "TASK_UPDATE", "task_id": "t1", "message": "status_query"});
    let poll = world.envelope(CALLER, "http://127.0.0.1:8090", "", poll);
    let sent = world.sent(CALLER, &poll);
    let reply = world.reply(&sent, &world.result(CALLER, "", "t1"), NOW).unwrap();
    assert_eq!(reply.facts().context.as_deref(), Some("urn:contexts:travel:v2.1"));

    let close = world.request(CALLER, "s1", json!({"type": "SESSION_CLOSE", "reason": "done"}));
    let sent = world.sent(CALLER, &close);
    let closed = world.answer(CALLER, "s1", json!({"type": "SESSION_CLOSE", "reason": "acknowledged"}));
    let _ = world.reply(&sent, &closed, NOW).unwrap();
    assert_eq!(refused(world.ask(CALLER, &world.submit(CALLER, "s1", "t2"), NOW)).0, Code::NotFound);
}

#[test]
fn a_session_without_a_context_takes_that_of_each_task_and_no_other() {
    let world = World::new(|_| {});
    world.open(CALLER, "s1", json!({"preferred_payload_modes": ["semantic_frame"]}));
    let task = world.submit(CALLER, "s1", "t1");
    assert_eq!(refused(world.ask(CALLER, &task, NOW)).0, Code::ContextMissing);
    let claim = |urn: &str| json!({"context": urn});
    let named = with(&task, "/body/input/l9_context", claim("urn:contexts:travel:v2.1"));
    let _ = world.ask(CALLER, &named, NOW).unwrap();

    world.open(CALLER, "s2", flights());
    let task = |n: &str, urn| with(&world.submit(CALLER, "s2", n), "/body/input/l9_context", claim(urn));
    let _ = world.ask(CALLER, &task("t2", "urn:contexts:travel:v2.1"), NOW).unwrap();
    let (code, why) = refused(world.ask(CALLER, &task("t3", "urn:contexts:travel:v2.2"), NOW));
    assert_eq!((code, why.contains("another context than its session")), (Code::Malformed, true));
}

#[test]
fn a_frame_of_an_unknown_skill_is_a_concept_of_the_protocol() {
    let world = World::new(|_| {});
    world.open(CALLER, "s1", json!({}));
    let frame =
        json!({"task_type": "classification", "instruction": "Classify", "input": "ok", "labels": ["a"]});
    let task = json!({"type": "TASK_SUBMIT", "task_id": "t1", "skill": "reasoning", "input": frame});
    let permit = world.ask(CALLER, &world.request(CALLER, "s1", task), NOW).unwrap();
    assert_eq!(permit.facts().concepts, ["semantic_frame"]);
    let (_, sent) = permit.spend();
    let output =
        json!({"type": "TASK_RESULT", "task_id": "t1", "output": {"label": "a"}, "provenance": provenance()});
    let reply = world.reply(&sent, &world.answer(CALLER, "s1", output), NOW).unwrap();
    assert_eq!(reply.facts().concepts, ["semantic_frame", "provenance"]);
    let bare = json!({"type": "TASK_SUBMIT", "task_id": "t2", "skill": "reasoning", "input": {"amount": 5}});
    assert_eq!(refused(world.ask(CALLER, &world.request(CALLER, "s1", bare), NOW)).0, Code::ContextMissing);
}

#[test]
fn use_prolongs_a_session_and_idleness_ends_it() {
    let world = World::new(|_| {});
    world.open(CALLER, "s1", with(&flights(), "/ttl_secs", json!(60)));
    let at = |seconds: u64, task: &str| {
        let task = world.submit(CALLER, "s1", task);
        let now = seconds_later(seconds);
        world.ask(CALLER, &task, now).map(drop)
    };
    at(50, "t1").unwrap();
    at(100, "t2").unwrap();
    assert_eq!(refused(at(160, "t3")).0, Code::NotFound);
}

#[test]
fn the_route_bounds_the_life_of_a_session() {
    let world = World::new(|route| route.options.dialogue.session_seconds = 60);
    world.open(CALLER, "s1", flights());
    let task = world.submit(CALLER, "s1", "t1");
    assert_eq!(refused(world.ask(CALLER, &task, seconds_later(60))).0, Code::NotFound);
    let _ = world.ask(CALLER, &task, seconds_later(59)).unwrap();
}

#[test]
fn a_greedy_agent_loses_its_own_sessions_and_nobody_elses() {
    let limits = InspectLimits { dialogues_of_one: 2, ..InspectLimits::default() };
    let world = World::within(limits, |_| {});
    world.open(OTHER, "other", flights());
    for id in ["a", "b", "c"] {
        world.open(CALLER, id, flights());
    }
    let open = |from: &str, id: &str| world.ask(from, &world.submit(from, id, id), NOW).is_ok();
    assert!(!open(CALLER, "a") && open(CALLER, "b") && open(CALLER, "c") && open(OTHER, "other"));
}

#[test]
fn requests_before_a_session_have_answers_of_their_own() {
    let world = World::new(|_| {});
    let ask = |endpoint: Endpoint| {
        let arrived = Arrived {
            call: Call::ldp(endpoint),
            body: Bytes::new(),
            judged: Bytes::from_static(semgate_protocol::ldp::NO_BODY),
        };
        let permit =
            world.inspector.inspect(&world.route, &agent(CALLER), &HeaderClaims::default(), arrived, NOW);
        permit.unwrap().spend().1
    };
    let card =
        json!({"delegate_id": name(DELEGATE), "name": "Qwen", "description": null, "capabilities": []});
    let reply = world.reply(&ask(Endpoint::Identity), &card, NOW).unwrap();
    assert_eq!(reply.facts().concepts, ["identity_card"]);
    let manifest = json!({"capabilities": [{"name": "reasoning", "input_schema": {"type": "object"}}]});
    let reply = world.reply(&ask(Endpoint::Capabilities), &manifest, NOW).unwrap();
    assert_eq!(reply.facts().removed, ["/capabilities/0/input_schema"]);
}

#[test]
fn unverified_confidence_is_withheld_and_recorded() {
    let world = World::new(|_| {});
    world.open(CALLER, "s1", flights());
    let sent = world.sent(CALLER, &world.submit(CALLER, "s1", "t1"));
    let result = world.result(CALLER, "s1", "t1");
    let reply = world.reply(&sent, &result, NOW).unwrap();
    assert_eq!(reply.facts().removed, ["/body/provenance/confidence"]);
    assert!(!String::from_utf8_lossy(reply.body()).contains("0.93"));
    let sent = world.sent(CALLER, &world.submit(CALLER, "s1", "t2"));
    let result = world.result(CALLER, "s1", "t2");
    let verified = with(&result, "/body/provenance/verification_status", "peer_verified".into());
    let reply = world.reply(&sent, &verified, NOW).unwrap();
    assert!(String::from_utf8_lossy(reply.body()).contains("0.93"));
}

#[test]
fn the_lock_of_a_session_is_that_of_its_tasks_and_of_no_other_agent() {
    let stage = stage_of(common::generation(&mut library()), InspectLimits::default());
    let lock = stage.shake_hands(CALLER, &["travel:v2.1"], vec![]).unwrap().lock;
    let mut route = Route::clone(&stage.route);
    route.binding = Binding::Ldp;
    route.options.require_lock = true;
    let world = World { inspector: stage.inspector, route: Arc::new(route), count: AtomicU64::new(0) };
    assert_eq!(refused(world.ask(CALLER, &world.propose(CALLER, flights()), NOW)).0, Code::LockMismatch);
    let locked = with(&flights(), "/l9_context/lock", lock.as_str().into());
    assert_eq!(refused(world.ask(OTHER, &world.propose(OTHER, locked.clone()), NOW)).0, Code::LockMismatch);
    world.open(CALLER, "s1", locked);
    // the task names no lock: its session holds it, and judges it again
    let _ = world.ask(CALLER, &world.submit(CALLER, "s1", "t1"), NOW).unwrap();
    let late = Now { unix: NOW.unix + 300, ..NOW };
    assert_eq!(refused(world.ask(CALLER, &world.submit(CALLER, "s1", "t2"), late)).0, Code::LockMismatch);
}

#[test]
fn a_permit_of_a_session_is_renewed_under_newer_policies() {
    let world = World::new(|_| {});
    world.open(CALLER, "s1", flights());
    let task = world.ask(CALLER, &world.submit(CALLER, "s1", "t1"), NOW).unwrap();
    let close = world.request(CALLER, "s1", json!({"type": "SESSION_CLOSE", "reason": "done"}));
    let close = world.ask(CALLER, &close, NOW).unwrap();
    world.inspector.swap(generation_with(view(&mut library()), &PolicySource::shipped(), &[]));
    let sent = world.inspector.renew(task, NOW).unwrap().spend().1;
    let _ = world.reply(&sent, &world.result(CALLER, "s1", "t1"), NOW).unwrap();
    let _ = world.inspector.renew(close, NOW).unwrap();
    assert_eq!(refused(world.ask(CALLER, &world.submit(CALLER, "s1", "t2"), NOW)).0, Code::NotFound);
}
