//! A request has one answer, on whatever stream it comes.

use super::*;
use semgate_inspect::Remedy;

/// A house with an open call whose stream told the event `e-1`.
fn called(house: &House) -> Stream<'_> {
    let called = Stream::of(house, post(house, "retailer-7", "s-1", &call(1)));
    house.0.told_event(&called.sent, "e-1");
    called
}

/// The stream of the session, which goes on after an event or begins now.
fn opened<'h>(house: &'h House, verb: Verb) -> Stream<'h> {
    Stream::of(house, of_session(house, "retailer-7", verb, Some("s-1")))
}

/// Asserts that the message is left out of the stream for this reason.
fn withheld(stream: &mut Stream<'_>, message: &Value, reason: &str) {
    let replier = Peer::configured(&stream.house.1.receiver);
    let event = Bytes::from(message.to_string());
    let refusal =
        stream.house.0.inspect_event(&stream.sent, &mut stream.state, &replier, event, NOW).unwrap_err();
    assert_eq!((refusal.cause(), refusal.remedy()), (Some(Code::Malformed), Some(Remedy::Withhold)));
    assert!(refusal.detail().contains(reason), "{}", refusal.detail());
}

const BEFORE: &str = "already answered";
const WAITS: &str = "waits for its answer on its own exchange";
const NOTHING: &str = "not open in this session";

fn failure(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "no"}})
}

#[test]
fn attack_an_answer_passes_on_the_stream_of_its_call_and_on_that_of_the_session() {
    let house = with_session();
    let (mut called, mut stream) = (called(&house), opened(&house, opens()));
    withheld(&mut stream, &sum(1), WAITS);
    called.passes(&sum(1));
    withheld(&mut called, &sum(1), BEFORE);
    withheld(&mut stream, &sum(1), WAITS);
    drop(called.sent);
    withheld(&mut stream, &sum(1), BEFORE);
    withheld(&mut stream, &sum(2), NOTHING);
    stream.passes(&told("notifications/tools/list_changed", json!({})));
}

#[test]
fn attack_an_answer_passes_as_a_result_and_as_an_error() {
    let house = with_session();
    let mut called = called(&house);
    called.passes(&sum(1));
    withheld(&mut called, &failure(1), BEFORE);
    assert!(!called.sent.right().take(), "an error of the gateway would be a second answer");
    let mut resumed = opened(&house, after("e-1"));
    withheld(&mut resumed, &failure(1), BEFORE);

    let mut other = Stream::of(&house, post(&house, "retailer-7", "s-1", &call(2)));
    assert_eq!(other.event(&failure(2)).unwrap_err(), None, "told by its number");
    assert!(other.sent.right().take());
    withheld(&mut other, &sum(2), BEFORE);
    withheld(&mut resumed, &sum(2), BEFORE);
}

#[test]
fn attack_an_answer_outside_of_sessions_passes_twice_on_one_stream() {
    let house = house();
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let list = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {"_meta": meta}});
    let head = Head {
        version: Some("2026-07-28".to_owned()),
        method: Some("tools/list".to_owned()),
        ..Head::default()
    };
    let arrived = Arrived::whole(Call::mcp(head), Bytes::from(list.to_string()));
    let permit = house.0.inspect(&house.1, &agent("retailer-7"), &HeaderClaims::default(), arrived, NOW);
    let mut stream = Stream::of(&house, permit);
    let tools = json!({"jsonrpc": "2.0", "id": 5, "result": {
        "tools": [tool("add", "Adds two numbers.")]}});
    stream.passes(&tools);
    withheld(&mut stream, &tools, BEFORE);
}

#[test]
fn attack_of_streams_that_resume_on_all_cores_at_once_one_has_the_answer() {
    let house = with_session();
    let sent = called(&house).sent;
    let go = std::sync::Barrier::new(8);
    let passed = std::thread::scope(|scope| {
        let one = || {
            let mut resumed = opened(&house, after("e-1"));
            go.wait();
            let permit = resumed.event(&sum(1)).ok();
            go.wait();
            permit.map(|permit| permit.spend_on(&mut resumed.state)).is_some()
        };
        let all: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|one| one.join().unwrap()).filter(|passed| *passed).count()
    });
    assert_eq!(passed, 1);
    drop(sent);
}

#[test]
fn an_answer_that_was_not_handed_on_is_open_for_another_stream() {
    let house = with_session();
    let mut called = called(&house);
    let permit = called.event(&sum(1)).unwrap();
    let mut resumed = opened(&house, after("e-1"));
    withheld(&mut resumed, &sum(1), BEFORE);
    drop(permit);
    resumed.passes(&sum(1));
    withheld(&mut called, &sum(1), BEFORE);
}

#[test]
fn an_answer_whose_stream_broke_is_handed_on_by_the_one_that_resumes_it_and_never_after_one_that_arrived() {
    let house = with_session();
    let mut broken = called(&house);
    broken.passes(&sum(1));
    drop(broken);
    let mut resumed = opened(&house, after("e-1"));
    resumed.passes(&sum(1));
    withheld(&mut opened(&house, after("e-1")), &sum(1), BEFORE);
    resumed.state.arrived();
    drop(resumed);
    withheld(&mut opened(&house, after("e-1")), &sum(1), BEFORE);
}

#[test]
fn attack_a_server_answers_differently_after_the_stream_of_its_answer_broke() {
    let house = with_session();
    let mut broken = called(&house);
    broken.passes(&sum(1));
    let right = broken.sent.right().clone();
    drop(broken);
    assert!(!right.take(), "an error of the gateway would be another answer");
    let mut other = sum(1);
    other["result"]["structuredContent"]["sum"] = json!(99);
    other["result"]["content"] = json!([]);
    let mut resumed = opened(&house, after("e-1"));
    withheld(&mut resumed, &other, BEFORE);
    withheld(&mut resumed, &failure(1), BEFORE);
    resumed.passes(&sum(1));
}

#[test]
fn a_client_answers_a_question_of_the_server_once_from_whatever_core() {
    let house = with_session();
    let mut stream = opened(&house, opens());
    stream.passes(&asks(0));
    let go = std::sync::Barrier::new(8);
    let passed = std::thread::scope(|scope| {
        let one = || {
            go.wait();
            let permit = post(&house, "retailer-7", "s-1", &answers(0)).ok();
            go.wait();
            permit.map(Permit::spend).is_some()
        };
        let all: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|one| one.join().unwrap()).filter(|passed| *passed).count()
    });
    assert_eq!(passed, 1);
}
