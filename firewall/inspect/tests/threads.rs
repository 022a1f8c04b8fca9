//! Tasks, conversations and streams while time passes and generations move: what golden pairs cannot show.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use bytes::Bytes;
use common::{NOW, agent, base, generation, inspector, library, merge, route, say, world};
use semgate_contexts::Prefix;
use semgate_inspect::{
    Arrived, Code, Delivered, HeaderClaims, Inspector, Kind, Owned, Permit, Sent, Written,
};
use semgate_message::{
    Call, Form,
    a2a::{Operation, Version},
};
use semgate_policies::PolicySource;
use semgate_statement::Act;
use serde_json::{Value, json};

fn changed(name: &str, change: Value) -> Vec<u8> {
    let mut message: Value = serde_json::from_slice(&base(name)).unwrap();
    merge(&mut message, &change);
    serde_json::to_vec(&message).unwrap()
}

fn asked(inspector: &Inspector, from: &str, body: Vec<u8>) -> Sent {
    say(inspector, &route("a2a"), from, body, NOW).unwrap().spend().1
}

/// `from` begins task t-1 in conversation c-1.
fn begin(inspector: &Inspector, from: &str) {
    let sent = asked(inspector, from, base("a2a flight"));
    let reply = Bytes::from(base("a2a task reply"));
    let _ = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, reply, NOW).unwrap();
}

#[test]
fn attack_an_event_under_a_context_that_was_revoked_while_the_stream_ran() {
    let mut authority = library();
    let mut follower = authority.follower();
    let inspector = inspector(generation(&mut authority));
    let (sent, replier) = (asked(&inspector, "retailer-7", base("a2a stream")), agent("wholesaler-1"));
    let mut stream = inspector.stream(&sent);
    let event = Bytes::from(base("a2a event task"));
    let _ = inspector.inspect_event(&sent, &mut stream, &replier, event, NOW).unwrap();
    stream.still_counts(&inspector, &sent, &replier, NOW).unwrap();
    authority.change(Act::Revoke, "travel:v2.1");
    authority.follow(&mut follower).unwrap();
    inspector.swap(inspector.generation().with_views(vec![follower.view()]).unwrap());
    // also when no event comes
    let silent = stream.still_counts(&inspector, &sent, &replier, NOW).unwrap_err();
    assert_eq!((silent.code(), silent.cause()), (Code::ReplyRefused, Some(Code::ContextRevoked)));
    assert_eq!(silent.rpc_id(), sent.rpc_id());
    let event = Bytes::from(base("a2a event artifact"));
    let refusal = inspector.inspect_event(&sent, &mut stream, &replier, event, NOW).unwrap_err();
    assert_eq!((refusal.code(), refusal.cause()), (Code::ReplyRefused, Some(Code::ContextRevoked)));
    assert_eq!(refusal.delivered(), Delivered::Yes);
}

#[test]
fn a_stream_whose_status_went_stale_or_whose_end_was_disabled_counts_no_more() {
    let inspector = inspector(world("day"));
    let (sent, replier) = (asked(&inspector, "retailer-7", base("a2a stream")), agent("wholesaler-1"));
    let stream = inspector.stream(&sent);
    let late = semgate_inspect::Now { unix: NOW.unix + 100_000, ..NOW };
    let stale = stream.still_counts(&inspector, &sent, &replier, late).unwrap_err();
    assert_eq!(stale.cause(), Some(Code::StatusStale));
    let mut source = PolicySource::shipped();
    let mut agents: Value = serde_json::from_slice(&source.entities).unwrap();
    agents["agents"][0]["disabled"] = json!(true);
    source.entities = serde_json::to_vec(&agents).unwrap();
    let policies = common::policies(&source, &common::view(&mut library()));
    inspector.swap(inspector.generation().with_policies(policies).unwrap());
    let disabled = stream.still_counts(&inspector, &sent, &replier, NOW).unwrap_err();
    assert_eq!(disabled.cause(), Some(Code::PolicyDenied));
}

#[test]
fn attack_another_agent_speaks_in_a_stream() {
    let inspector = inspector(world("day"));
    let sent = asked(&inspector, "retailer-7", base("a2a stream"));
    let mut stream = inspector.stream(&sent);
    let event = Bytes::from(base("a2a event task"));
    let refusal = inspector.inspect_event(&sent, &mut stream, &agent("treasurer-1"), event, NOW).unwrap_err();
    assert_eq!((refusal.code(), refusal.cause()), (Code::ReplyRefused, Some(Code::SenderMismatch)));
}

#[test]
fn a_task_is_its_owners_over_a_restart_and_nobody_elses() {
    let before = inspector(world("day"));
    begin(&before, "retailer-7");
    let kept = serde_json::to_string(&before.owners().export()).unwrap();
    let after = inspector(world("day"));
    let get = || base("a2a get task");
    let forgotten = say(&after, &route("a2a"), "retailer-7", get(), NOW).unwrap_err();
    assert_eq!(forgotten.code(), Code::NotFound);
    let records: Vec<Owned> = serde_json::from_str(&kept).unwrap();
    assert_eq!(after.owners().import(records, &Prefix::default()), Ok(2));
    let _ = say(&after, &route("a2a"), "retailer-7", get(), NOW).unwrap();
    let foreign = say(&after, &route("a2a"), "treasurer-1", get(), NOW).unwrap_err();
    assert_eq!(foreign.code(), Code::NotFound);
    assert_eq!(
        (foreign.reason(), foreign.hint()),
        (forgotten.reason(), forgotten.hint()),
        "whether there is one must not show"
    );
    assert_eq!(foreign.detail(), forgotten.detail());
    let owner = after.owners().owner("a2a", Kind::Task, "t-1").unwrap();
    assert_eq!(&*owner, agent("retailer-7").id(), "whom a push notification is for");
}

#[test]
fn a_list_withholds_a_task_whose_context_does_not_count_any_more() {
    let mut authority = library();
    let mut follower = authority.follower();
    let inspector = inspector(generation(&mut authority));
    begin(&inspector, "retailer-7");
    let list = |inspector: &Inspector| -> Value {
        let sent = asked(inspector, "retailer-7", base("a2a list tasks"));
        let reply = Bytes::from(base("a2a list reply"));
        let permit = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, reply, NOW).unwrap();
        assert_eq!(permit.written(), Written::Anew);
        serde_json::from_slice(&permit.spend().1).unwrap()
    };
    assert_eq!(list(&inspector)["result"]["tasks"][0]["id"], "t-1");
    assert_eq!(list(&inspector)["result"]["totalSize"], 1);
    authority.change(Act::Revoke, "travel:v2.1");
    authority.follow(&mut follower).unwrap();
    inspector.swap(inspector.generation().with_views(vec![follower.view()]).unwrap());
    assert_eq!(list(&inspector)["result"]["tasks"], json!([]));
    // alone it is refused, since its owner knows that it is there
    let sent = asked(&inspector, "retailer-7", base("a2a get task"));
    let reply = Bytes::from(base("a2a get task reply"));
    let refusal = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, reply, NOW).unwrap_err();
    assert_eq!((refusal.code(), refusal.cause()), (Code::ReplyRefused, Some(Code::ContextRevoked)));
}

#[test]
fn f0_08_a_permit_that_is_renewed_takes_no_second_turn() {
    let mut authority = library();
    let inspector = inspector(generation(&mut authority));
    let says = |performative: &str| {
        changed(
            "a2a supply chain",
            json!({"params": {"message": {"contextId": "c-7",
                "metadata": {"urn:contexts:snl:v1.0": {"performative": performative}}}}}),
        )
    };
    let sent = asked(&inspector, "retailer-7", says("INFORM"));
    let propose = changed(
        "a2a message reply",
        json!({"result": {"message": {"contextId": "c-7",
            "metadata": {"urn:contexts:snl:v1.0": {"performative": "PROPOSE"}}}}}),
    );
    let reply = Bytes::from(propose);
    let _ = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, reply, NOW).unwrap();
    let permit = say(&inspector, &route("a2a"), "retailer-7", says("ACCEPT"), NOW).unwrap();
    inspector.swap(generation(&mut authority));
    let permit = inspector.renew(permit, NOW).unwrap();
    assert_eq!(permit.generation(), 2);
    let again = say(&inspector, &route("a2a"), "retailer-7", says("ACCEPT"), NOW).unwrap_err();
    assert_eq!(again.code(), Code::OutOfTurn);
}

#[test]
fn a_permit_forwards_the_bytes_that_came_and_not_those_that_were_judged() {
    let inspector = inspector(world("day"));
    let call = Call::a2a(Version::V10, Form::Grpc(Operation::SendMessage));
    let request: Value = serde_json::from_slice(&base("a2a flight")).unwrap();
    let judged = Bytes::from(serde_json::to_vec(&request["params"]).unwrap());
    let body = Bytes::from_static(b"\x0a\x03pb!");
    let arrived = Arrived { call: call.clone(), body: body.clone(), judged };
    let permit: Permit = inspector
        .inspect(&route("a2a"), &agent("retailer-7"), &HeaderClaims::default(), arrived, NOW)
        .unwrap();
    assert_eq!((permit.operation(), permit.call()), (Some(Operation::SendMessage), &call));
    let (outgoing, sent) = permit.spend();
    assert_eq!((outgoing.call, outgoing.body), (call, body));
    assert_eq!(sent.rpc_id(), None);
}

#[test]
fn attack_a_request_of_another_binding_than_the_route() {
    let inspector = inspector(world("day"));
    let arrived = Arrived::whole(Call::l8(), base("supply chain").into());
    let refusal = inspector
        .inspect(&route("a2a"), &agent("retailer-7"), &HeaderClaims::default(), arrived, NOW)
        .unwrap_err();
    assert_eq!(refusal.code(), Code::Malformed);
}

#[test]
fn what_was_told_to_one_before_is_not_taken_by_another_who_waits_for_the_same_answer() {
    let inspector = inspector(world("day"));
    let body = |n: u8| changed("a2a flight", json!({"params": {"message": {"contextId": format!("c-{n}")}}}));
    let (first, second) =
        (asked(&inspector, "retailer-7", body(1)), asked(&inspector, "treasurer-1", body(2)));
    let reply = |n: u8| {
        Bytes::from(changed("a2a task reply", json!({"result": {"task": {"contextId": format!("c-{n}")}}})))
    };
    let replier = agent("wholesaler-1");
    let _ = inspector.inspect_reply(&first, &replier, 200, reply(1), NOW).unwrap();
    let refusal = inspector.inspect_reply(&second, &replier, 200, reply(2), NOW).unwrap_err();
    assert_eq!((refusal.code(), refusal.cause()), (Code::ReplyRefused, Some(Code::NotFound)));
}

#[test]
fn a_route_whose_default_context_its_receiver_does_not_understand_is_found_at_the_check() {
    let mut route = (*route("l8, payment v1 only")).clone();
    route.check().unwrap();
    route.options.default_context = Some(semgate_statement::testing::MemoryAuthority::urn("travel:v2.1"));
    let fault = route.check().unwrap_err();
    assert!(fault.to_string().contains("urn:contexts:travel:v2.1"), "{fault}");
}
