//! An id of a request is used once in a session: a server tells its answers apart by nothing else.

use super::*;
use common::sums::generation;
use semgate_inspect::InspectLimits;

const USED: (Code, &str) = (Code::Malformed, "the id was used before in the session");

/// Lists tools under this id.
fn lists(id: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})
}

fn sums(house: &House, body: &Value) -> Result<Permit, Refusal> {
    post(house, "retailer-7", "s-1", body)
}

fn why(permit: Result<Permit, Refusal>) -> (Code, String) {
    let refusal = permit.unwrap_err();
    (refusal.code(), refusal.reason().to_owned())
}

fn used(permit: Result<Permit, Refusal>) {
    let (code, reason) = why(permit);
    assert_eq!((code, reason.as_str()), USED);
}

fn held(house: &House, id: i64) -> Sent {
    sums(house, &call(id)).unwrap().spend().1
}

/// Another session of the same agent.
fn opened(house: &House, id: &str) {
    let arrived = Arrived::whole(Call::mcp(head(Verb::Post, None)), Bytes::from(list().to_string()));
    let from = agent("retailer-7");
    let permit = house.0.inspect(&house.1, &from, &HeaderClaims::default(), arrived, NOW).unwrap();
    house.0.own_session(&permit.spend().1, id).unwrap();
}

/// The house with fewer places, and the session `s-1`.
fn small(ids: usize, apart: bool) -> House {
    let (_, mut route) = with_session();
    Arc::make_mut(&mut route).options.keeps_callers_apart = apart;
    let limits = InspectLimits { request_ids: ids, open_requests: 2, ..InspectLimits::default() };
    let house = (Inspector::new(limits, generation("")), route);
    opened(&house, "s-1");
    house
}

#[test]
fn attack_an_id_is_used_again_while_its_call_is_open_so_that_its_answer_is_judged_as_anothers() {
    let house = with_session();
    let mut called = Stream::of(&house, sums(&house, &call(7)));
    used(sums(&house, &lists(json!(7))));
    // some servers keep ids as text
    used(sums(&house, &lists(json!("7"))));
    assert_eq!(
        sums(&house, &lists(json!(7))).unwrap_err().hint(),
        "give each request of a session a unique id, as MCP requires"
    );
    called.passes(&sum(7));
    assert!(sums(&house, &lists(json!(7))).is_ok(), "it was answered, and on no stream that is resumed");
}

#[test]
fn attack_an_answer_that_was_refused_for_its_status_made_its_id_free() {
    let house = with_session();
    let sent = held(&house, 61);
    let replier = Peer::configured(&house.1.receiver);
    let answers = |status: u16, body: &Value| {
        house.0.inspect_reply(&sent, &replier, status, Bytes::from(body.to_string()), NOW).unwrap_err().code()
    };
    assert_eq!(answers(500, &sum(61)), Code::UpstreamInvalid);
    used(sums(&house, &lists(json!(61))));
    // an error is an answer with this status
    let error = json!({"jsonrpc": "2.0", "id": 61, "error": {"code": -32603, "message": "no"}});
    assert_eq!(answers(500, &error), Code::AgentError);
    assert!(sums(&house, &lists(json!(61))).is_ok());
}

#[test]
fn attack_an_id_is_used_again_over_another_route_to_the_same_server() {
    let house = with_session();
    let _open = held(&house, 7);
    let mut other = Route::clone(&house.1);
    other.name = "another".to_owned();
    let (house, before) = ((house.0, Arc::new(other)), house.1);
    used(sums(&house, &lists(json!(7))));
    // another upstream agent is another server
    let mut far = Route::clone(&before);
    far.receiver = common::agent_id("treasurer-1");
    let far = (house.0, Arc::new(far));
    assert_eq!(code(sums(&far, &lists(json!(7)))), Code::NotFound, "no session of its");
}

#[test]
fn attack_an_id_is_made_free_by_more_open_requests_than_are_remembered() {
    let house = with_session();
    let first = held(&house, 7);
    for id in 1_000..1_300 {
        let _ = held(&house, id);
    }
    used(sums(&house, &lists(json!(7))));
    drop(first);
    used(sums(&house, &lists(json!(7))));
}

#[test]
fn attack_an_id_is_used_again_after_its_answer_was_refused_or_it_was_cancelled() {
    let house = with_session();
    let mut called = Stream::of(&house, sums(&house, &call(7)));
    let other =
        json!({"jsonrpc": "2.0", "id": 7, "result": {"content": [], "structuredContent": {"sum": "x"}}});
    assert_eq!(called.event(&other).unwrap_err(), Some(Code::ContentInvalid));
    used(sums(&house, &lists(json!(7))));
    drop(called);
    used(sums(&house, &lists(json!(7))));
    let _ = held(&house, 8);
    let _ = sums(&house, &told("notifications/cancelled", json!({"requestId": 8})));
    used(sums(&house, &lists(json!(8))));
}

#[test]
fn attack_a_replayed_answer_is_judged_as_the_answer_to_another_request_of_its_id() {
    let house = with_session();
    let mut called = Stream::of(&house, sums(&house, &call(7)));
    house.0.told_event(&called.sent, "e-1");
    called.passes(&sum(7));
    // what comes after `e-1` has the answer once more
    used(sums(&house, &lists(json!(7))));
    let mut resumed = Stream::of(&house, of_session(&house, "retailer-7", after("e-1"), Some("s-1")));
    assert_eq!(resumed.event(&sum(7)).unwrap_err(), Some(Code::Malformed));
}

#[test]
fn ids_that_were_answered_make_room_and_take_along_what_would_bring_the_answers_again() {
    let house = small(3, false);
    let mut called = Stream::of(&house, sums(&house, &call(7)));
    house.0.told_event(&called.sent, "e-1");
    called.passes(&sum(7));
    house.0.told_event(&called.sent, "e-2");
    for id in 8..10 {
        let _ = held(&house, id);
    }
    assert!(of_session(&house, "retailer-7", after("e-1"), Some("s-1")).is_ok());
    let _ = held(&house, 10);
    assert_eq!(code(of_session(&house, "retailer-7", after("e-1"), Some("s-1"))), Code::NotFound);
    assert!(of_session(&house, "retailer-7", after("e-2"), Some("s-1")).is_ok());
    let _ = why(sums(&house, &call(11)));
}

#[test]
fn where_all_ids_are_open_no_more_is_asked_in_the_only_session_and_the_oldest_of_several_ends() {
    let full = (Code::RateLimited, "the session has more open requests than the gateway tracks");
    for apart in [false, true] {
        let house = small(3, apart);
        for id in 1..=3 {
            let _ = held(&house, id);
        }
        for _ in 0..2 {
            let (code, reason) = why(sums(&house, &call(4)));
            assert_eq!((code, reason.as_str()), full);
        }
        used(sums(&house, &call(1)));
        opened(&house, "s-2");
        let newer = post(&house, "retailer-7", "s-2", &call(1));
        if apart {
            assert_eq!(code(newer), Code::RateLimited, "its end would not be heard of");
            used(sums(&house, &call(1)));
        } else {
            assert!(newer.is_ok());
            assert_eq!(code(sums(&house, &call(1))), Code::NotFound, "over");
        }
    }
}

#[test]
fn an_id_that_never_reached_the_server_is_used_again_and_a_renewed_permit_is_no_second_use() {
    let house = with_session();
    let permit = sums(&house, &call(7)).unwrap();
    used(sums(&house, &call(7)));
    house.0.swap(generation(""));
    let permit = house.0.renew(permit, NOW).unwrap();
    used(sums(&house, &call(7)));
    drop(permit);
    let _ = sums(&house, &call(7)).unwrap().give_back();
    let sent = held(&house, 7);
    used(sums(&house, &call(7)));
    sent.undelivered();
    let _ = held(&house, 7);
    used(sums(&house, &call(7)));
}

#[test]
fn one_id_stands_in_two_sessions_and_outside_of_them() {
    let house = with_session();
    let _first = held(&house, 7);
    opened(&house, "s-2");
    assert!(post(&house, "retailer-7", "s-2", &call(7)).is_ok());
    house.0.end_session(&_first);
    opened(&house, "s-1");
    assert!(sums(&house, &call(7)).is_ok(), "another session of the same id is another");
}

#[test]
fn attack_a_server_asks_two_things_under_one_id_so_that_an_answer_is_judged_as_the_other() {
    let house = with_session();
    let mut stream = Stream::of(&house, sums(&house, &call(1)));
    stream.passes(&asks(0));
    stream.passes(&asks(0));
    let mut other = asks(0);
    other["params"]["message"] = json!("Really?");
    assert_eq!(stream.event(&other).unwrap_err(), Some(Code::Malformed));
    other["id"] = json!("0");
    assert_eq!(stream.event(&other).unwrap_err(), Some(Code::Malformed));
    let _ = sums(&house, &answers(0)).unwrap().spend();
    other["id"] = json!(0);
    stream.passes(&other);
}
