//! Tasks, conversations and streams while time passes and generations move: what golden pairs cannot show.

use crate::common;
mod names;
mod native;

use bytes::Bytes;
use common::{NOW, agent, base, changed, generation, inspector, library, merge, route, say, world};
use semgate_contexts::Prefix;
use semgate_inspect::{
    Arrived, Clarification, Code, Delivered, HeaderClaims, Inspector, Kind, Owned, Permit, Sent, Written,
};
use semgate_policies::PolicySource;
use semgate_protocol::{
    Call, Form,
    a2a::{Operation, Version},
};
use semgate_statement::Act;
use serde_json::{Value, json};

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
    disable_the_first(&inspector);
    let disabled = stream.still_counts(&inspector, &sent, &replier, NOW).unwrap_err();
    assert_eq!(disabled.cause(), Some(Code::PolicyDenied));
}

/// From now on `retailer-7` is disabled.
fn disable_the_first(inspector: &Inspector) {
    let mut source = PolicySource::shipped();
    let mut agents: Value = serde_json::from_slice(&source.entities).unwrap();
    agents["agents"][0]["disabled"] = json!(true);
    source.entities = serde_json::to_vec(&agents).unwrap();
    let policies = common::policies(&source, &common::view(&mut library()));
    inspector.swap(inspector.generation().with_policies(policies).unwrap());
}

#[test]
fn attack_a_caller_that_was_disabled_heard_whole_replies_in_which_no_concept_is() {
    let inspector = inspector(world("day"));
    let sent = asked(&inspector, "retailer-7", base("a2a flight"));
    let native = say(&inspector, &route("l8"), "retailer-7", base("supply chain"), NOW).unwrap().spend().1;
    let streamed = asked(&inspector, "retailer-7", base("a2a stream"));
    disable_the_first(&inspector);
    let task = json!({"jsonrpc": "2.0", "id": 7, "result": {"task":
        {"id": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_WORKING"}}}});
    let replier = agent("wholesaler-1");
    let whole = inspector.inspect_reply(&sent, &replier, 200, Bytes::from(task.to_string()), NOW);
    let empty =
        [202, 204].map(|status| inspector.inspect_reply(&native, &replier, status, Bytes::new(), NOW));
    let event = Bytes::from(base("a2a event task"));
    let event = inspector.inspect_event(&streamed, &mut inspector.stream(&streamed), &replier, event, NOW);
    for heard in [whole, event].into_iter().chain(empty) {
        let refused = heard.unwrap_err();
        assert_eq!((refused.code(), refused.cause()), (Code::ReplyRefused, Some(Code::PolicyDenied)));
        assert!(refused.detail().contains("an agent of this exchange is disabled"), "{}", refused.detail());
    }
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
    let owner = after.owners().owner(&route("a2a").scope(), Kind::Task, "t-1").unwrap();
    assert_eq!(&*owner, agent("retailer-7").id(), "whom a push notification is for");
}

#[test]
fn a_list_withholds_a_task_whose_context_does_not_count_any_more() {
    let mut authority = library();
    let mut follower = authority.follower();
    let inspector = inspector(generation(&mut authority));
    begin(&inspector, "retailer-7");
    let flight = changed("a2a flight", json!({"params": {"message": {"contextId": "c-4"}}}));
    let sent = asked(&inspector, "retailer-7", flight);
    let told = Bytes::from(changed(
        "a2a task reply",
        json!({"result": {"task": {"id": "t-4", "contextId": "c-4"}}}),
    ));
    let _ = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, told, NOW).unwrap();
    let list = |inspector: &Inspector| -> Value {
        let sent = asked(inspector, "retailer-7", base("a2a list tasks"));
        let reply = Bytes::from(base("a2a list reply"));
        let permit = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, reply, NOW).unwrap();
        assert_eq!(permit.written(), Written::ByGateway);
        serde_json::from_slice(&permit.spend().1).unwrap()
    };
    assert_eq!(list(&inspector)["result"]["tasks"][0]["id"], "t-1");
    assert_eq!(list(&inspector)["result"]["totalSize"], 1);
    authority.change(Act::Revoke, "travel:v2.1");
    authority.follow(&mut follower).unwrap();
    inspector.swap(inspector.generation().with_views(vec![follower.view()]).unwrap());
    assert_eq!(list(&inspector)["result"]["tasks"], json!([]));
    // where the list goes on, what it came to and did not show is not counted, and what it did not come to is
    let sent = asked(&inspector, "retailer-7", base("a2a list tasks"));
    let reply = Bytes::from(changed("a2a list reply", json!({"result": {"nextPageToken": "dC00"}})));
    let permit = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, reply, NOW).unwrap();
    let told: Value = serde_json::from_slice(&permit.spend().1).unwrap();
    assert_eq!((&told["result"]["nextPageToken"], &told["result"]["totalSize"]), (&json!("dC00"), &json!(1)));
    // alone it is refused, since its owner knows that it is there
    let sent = asked(&inspector, "retailer-7", base("a2a get task"));
    let reply = Bytes::from(base("a2a get task reply"));
    let refusal = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, reply, NOW).unwrap_err();
    assert_eq!((refusal.code(), refusal.cause()), (Code::ReplyRefused, Some(Code::ContextRevoked)));
}

#[test]
fn bug_a_handshake_step_over_a2a_took_no_turn() {
    let mut authority = library();
    let inspector = inspector(generation(&mut authority));
    let step = changed(
        "a2a supply chain",
        json!({"params": {"message": {
            "metadata": {"urn:contexts:snl:v1.0": {"context": "urn:contexts:snl:v1.0", "performative": "ACCEPT"}},
            "parts": [{"data": {"concept_type": "LOCK"}}]}}}),
    );
    let refusal = say(&inspector, &route("a2a"), "retailer-7", step, NOW).unwrap_err();
    assert_eq!(refusal.code(), Code::OutOfTurn);
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
    let _ = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, reply, NOW).unwrap().spend();
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
    route.options.default_contexts = vec![semgate_statement::testing::MemoryAuthority::urn("travel:v2.1")];
    let fault = route.check().unwrap_err();
    assert!(fault.to_string().contains("urn:contexts:travel:v2.1"), "{fault}");
}

/// What says `performative`, as `change` has it.
fn says(performative: &str, change: Value) -> Vec<u8> {
    let mut message = json!({"metadata": {"urn:contexts:snl:v1.0": {"performative": performative}}});
    merge(&mut message, &change);
    changed("a2a supply chain", json!({"params": {"message": message}}))
}

/// The agent proposes in conversation c-1.
fn proposed(inspector: &Inspector) {
    let sent = asked(inspector, "retailer-7", says("INFORM", json!({"contextId": "c-1"})));
    let reply = json!({"metadata": {"urn:contexts:snl:v1.0": {"performative": "PROPOSE"}}});
    let reply = Bytes::from(changed("a2a message reply", json!({"result": {"message": reply}})));
    let _ = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, reply, NOW).unwrap().spend();
}

fn accept(inspector: &Inspector) -> Result<Permit, semgate_inspect::Refusal> {
    say(inspector, &route("a2a"), "retailer-7", says("ACCEPT", json!({"contextId": "c-1"})), NOW)
}

#[test]
fn attack_two_accepts_at_once() {
    let inspector = inspector(world("day"));
    proposed(&inspector);
    let passed: Vec<_> = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..4).map(|_| scope.spawn(|| accept(&inspector))).collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    let codes: Vec<_> =
        passed.iter().filter_map(|outcome| outcome.as_ref().err()).map(|it| it.code()).collect();
    assert_eq!(codes, [Code::OutOfTurn; 3], "one of four, while its permit is held");
}

#[test]
fn f0_08_an_accept_that_was_not_delivered_leaves_the_turn_open_and_one_that_was_does_not() {
    let inspector = inspector(world("day"));
    proposed(&inspector);
    drop(accept(&inspector).unwrap());
    let _ = accept(&inspector).unwrap().give_back();
    let (_, sent) = accept(&inspector).unwrap().spend();
    assert_eq!(accept(&inspector).unwrap_err().code(), Code::OutOfTurn, "on its way");
    sent.undelivered();
    let (_, sent) = accept(&inspector).unwrap().spend();
    drop(sent);
    assert_eq!(accept(&inspector).unwrap_err().code(), Code::OutOfTurn, "nobody knows, so it stays answered");
}

#[test]
fn f0_08_a_counter_proposal_that_was_not_delivered_leaves_the_first_one() {
    let inspector = inspector(world("day"));
    proposed(&inspector);
    let counter = || {
        let body = says("COUNTER_PROPOSE", json!({"contextId": "c-1"}));
        say(&inspector, &route("a2a"), "retailer-7", body, NOW)
    };
    drop(counter().unwrap());
    let (_, sent) = counter().unwrap().spend();
    assert_eq!(accept(&inspector).unwrap_err().code(), Code::OutOfTurn, "one's own is open now");
    sent.undelivered();
    let _ = accept(&inspector).unwrap().spend();
    assert_eq!(counter().unwrap_err().code(), Code::OutOfTurn);
}

#[test]
fn f0_08_an_accept_of_the_agent_that_is_not_handed_on_leaves_the_turn_open() {
    let inspector = inspector(world("day"));
    let sent = asked(&inspector, "retailer-7", says("PROPOSE", json!({"contextId": "c-1"})));
    let accepts = || {
        let reply = json!({"metadata": {"urn:contexts:snl:v1.0": {"performative": "ACCEPT"}}});
        let reply = Bytes::from(changed("a2a message reply", json!({"result": {"message": reply}})));
        inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, reply, NOW)
    };
    drop(accepts().unwrap());
    let _ = accepts().unwrap().spend();
    let refusal = accepts().unwrap_err();
    assert_eq!((refusal.code(), refusal.cause()), (Code::ReplyRefused, Some(Code::OutOfTurn)));
}

#[test]
fn a_task_that_was_begun_over_one_route_is_found_over_another_of_the_same_agent_by_its_owner_alone() {
    let inspector = inspector(world("day"));
    begin(&inspector, "retailer-7");
    let other = |receiver: &str| {
        let mut other = (*route("a2a")).clone();
        (other.name, other.upstream) = ("elsewhere".to_owned(), "http://127.0.0.1:2/".to_owned());
        other.receiver = common::agent_id(receiver);
        std::sync::Arc::new(other)
    };
    let get = || base("a2a get task");
    let _ = say(&inspector, &other("wholesaler-1"), "retailer-7", get(), NOW).unwrap();
    let foreign = say(&inspector, &other("wholesaler-1"), "treasurer-1", get(), NOW).unwrap_err();
    assert_eq!(foreign.code(), Code::NotFound);
    let stranger = say(&inspector, &other("treasurer-1"), "retailer-7", get(), NOW).unwrap_err();
    assert_eq!(stranger.code(), Code::NotFound, "of another agent it is another task");
}

#[test]
fn attack_pages_of_a_list_as_an_oracle() {
    let inspector = inspector(world("day"));
    begin(&inspector, "retailer-7");
    let flight = |id: &str| changed("a2a flight", json!({"params": {"message": {"contextId": id}}}));
    let sent = asked(&inspector, "retailer-7", flight("c-4"));
    let told = json!({"result": {"task": {"id": "t-4", "contextId": "c-4"}}});
    let reply = Bytes::from(changed("a2a task reply", told));
    let _ = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, reply, NOW).unwrap();
    let list = |from: &str, token: Option<&str>| {
        let body = changed("a2a list tasks", json!({"params": {"pageToken": token}}));
        say(&inspector, &route("a2a"), from, body, NOW).map(|permit| permit.spend().1)
    };
    let page = |sent: &Sent, change: Value| {
        let reply = Bytes::from(changed("a2a list reply", change));
        let permit = inspector.inspect_reply(sent, &agent("wholesaler-1"), 200, reply, NOW).unwrap();
        let withheld = permit.facts().withheld.clone();
        let told: Value = serde_json::from_slice(&permit.spend().1).unwrap();
        (told["result"].clone(), withheld)
    };
    let next = |token: &str| json!({"result": {"nextPageToken": token, "totalSize": 900, "pageSize": 3}});
    // one of the caller's two was shown, so there may be more
    let (first, withheld) = page(&list("retailer-7", None).unwrap(), next("dC00"));
    assert_eq!(
        (&first["nextPageToken"], &first["pageSize"], &first["totalSize"]),
        (&json!("dC00"), &json!(10), &json!(2))
    );
    assert_eq!(withheld, [(Code::NotFound, 2)], "what was withheld is on record");
    // nobody else goes on from there, nor does the caller from elsewhere
    for (from, token) in [("treasurer-1", "dC00"), ("retailer-7", "dC05")] {
        assert_eq!(list(from, Some(token)).unwrap_err().code(), Code::NotFound, "{from}");
    }
    // the second page shows the other one: what follows is others'
    let mut rest = next("dC05");
    rest["result"]["tasks"] = json!([{"id": "t-4", "status": {"state": "TASK_STATE_WORKING"}}, {"id": "t-5", "status": {"state": "TASK_STATE_WORKING"}}]);
    let (second, _) = page(&list("retailer-7", Some("dC00")).unwrap(), rest);
    assert_eq!((&second["nextPageToken"], &second["totalSize"]), (&json!(""), &json!(2)), "on both pages");
    // whoever owns nothing hears of no second page
    let (nothing, withheld) = page(&list("treasurer-1", None).unwrap(), next("dC00"));
    assert_eq!((&nothing["tasks"], &nothing["nextPageToken"]), (&json!([]), &json!("")));
    assert_eq!(withheld, [(Code::NotFound, 3)]);
}

#[test]
fn attack_a_push_configuration_of_another_task_answers() {
    let inspector = inspector(world("texts permitted"));
    begin(&inspector, "retailer-7");
    let config = |change: Value| {
        let mut config = json!({"taskId": "t-1", "id": "n-1", "url": "https://hooks.test/a"});
        merge(&mut config, &change);
        config
    };
    let judged = |method: &str, params: Value, result: Value| {
        let ask = json!({"jsonrpc": "2.0", "id": "p-1", "method": method, "params": params});
        let sent = asked(&inspector, "retailer-7", ask.to_string().into_bytes());
        let reply = json!({"jsonrpc": "2.0", "id": "p-1", "result": result}).to_string();
        let permit = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, Bytes::from(reply), NOW);
        permit.map(drop).map_err(|refusal| (refusal.code(), refusal.cause()))
    };
    let (create, get, list) = (
        "CreateTaskPushNotificationConfig",
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
    );
    let (one, all) = (json!({"taskId": "t-1", "id": "n-1"}), json!({"taskId": "t-1"}));
    let invalid = Err((Code::UpstreamInvalid, None));
    assert_eq!(judged(create, config(json!({})), config(json!({}))), Ok(()));
    assert_eq!(judged(create, config(json!({})), config(json!({"taskId": null}))), invalid);
    assert_eq!(judged(create, config(json!({})), config(json!({"taskId": "t-2"}))), invalid);
    assert_eq!(judged(get, one.clone(), config(json!({"taskId": "t-2"}))), invalid);
    assert_eq!(judged(get, one.clone(), config(json!({"id": "n-2"}))), invalid);
    assert_eq!(judged(get, one.clone(), config(json!({"taskId": null, "id": "n-2"}))), invalid);
    // as the stores of SDKs have one that came with the message that began the task
    assert_eq!(judged(get, one, config(json!({"taskId": null}))), Ok(()));
    let of =
        |task: Value| json!({"configs": [config(json!({})), config(json!({"taskId": task, "id": "n-2"}))]});
    assert_eq!(judged(list, all.clone(), of(json!(""))), Ok(()));
    assert_eq!(judged(list, all, of(json!("t-2"))), invalid);
    let owner = inspector.owners().owner(&route("a2a").scope(), Kind::Push, "t-1/n-2");
    assert_eq!(
        owner.as_deref(),
        Some(agent("retailer-7").id()),
        "one without a task is of the task that was asked about"
    );
}

#[test]
fn attack_the_conversation_of_another_as_an_oracle_of_existence() {
    let inspector = inspector(world("day"));
    begin(&inspector, "retailer-7");
    let own = changed("a2a flight", json!({"params": {"message": {"contextId": "c-2"}}}));
    let sent = asked(&inspector, "treasurer-1", own);
    let told = json!({"result": {"task": {"id": "t-2", "contextId": "c-2"}}});
    let reply = Bytes::from(changed("a2a task reply", told));
    let _ = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, reply, NOW).unwrap();
    let list = |conversation: &str, tasks: Value, next: &str| -> Value {
        let body = changed("a2a list tasks", json!({"params": {"contextId": conversation}}));
        let sent = asked(&inspector, "treasurer-1", body);
        let change = json!({"result": {"nextPageToken": next, "totalSize": 7, "tasks": tasks}});
        let reply = Bytes::from(changed("a2a list reply", change));
        let permit = inspector.inspect_reply(&sent, &agent("wholesaler-1"), 200, reply, NOW).unwrap();
        assert_eq!(permit.written(), Written::ByGateway);
        serde_json::from_slice(&permit.spend().1).unwrap()
    };
    // the agent has the task of another there, and a page more; and of the caller there is a task that no list showed
    let of_another = list("c-1", json!([{"id": "t-1", "status": {"state": "TASK_STATE_COMPLETED"}}]), "dC00");
    let of_nobody = list("c-99", json!([]), "");
    assert_eq!(of_another, of_nobody);
    assert_eq!(of_nobody["result"]["totalSize"], 0);
    // and the agent is asked for neither: by errors, limits and its time it would tell
    let answered = |conversation: &str| {
        let body = changed("a2a list tasks", json!({"params": {"contextId": conversation}}));
        let permit = say(&inspector, &route("a2a"), "treasurer-1", body, NOW).unwrap();
        match inspector.clarify(permit, "d-1", NOW).unwrap() {
            Clarification::Forward(_) => None,
            Clarification::Answered { reply, .. } => {
                Some(serde_json::from_slice::<Value>(&reply.spend().1).unwrap())
            }
        }
    };
    for conversation in ["c-1", "c-99"] {
        assert_eq!(answered(conversation).as_ref(), Some(&of_nobody), "{conversation}");
    }
    assert_eq!(answered("c-2"), None, "of one's own");
    // a page that the caller was told of in a list of its own
    let first = list("c-2", json!([]), "dC01");
    assert_eq!(first["result"]["nextPageToken"], "dC01");
    for conversation in ["c-1", "c-99"] {
        let body =
            changed("a2a list tasks", json!({"params": {"contextId": conversation, "pageToken": "dC01"}}));
        let refusal = say(&inspector, &route("a2a"), "treasurer-1", body, NOW).unwrap_err();
        assert_eq!(refusal.code(), Code::NotFound);
        assert!(refusal.reason().contains("no such page"), "{conversation}: {}", refusal.reason());
    }
}

#[test]
fn who_speaks_another_version_than_it_says_is_told_what_to_send() {
    let inspector = inspector(world("day"));
    let ask = |route_name: &str, call: Call, body: Vec<u8>| {
        let arrived = Arrived::whole(call, body.into());
        let headers = HeaderClaims::default();
        inspector.inspect(&route(route_name), &agent("retailer-7"), &headers, arrived, NOW).unwrap_err()
    };
    let no_header = ask("a2a, both versions", Call::a2a(Version::V03, Form::JsonRpc), base("a2a flight"));
    assert_eq!(no_header.code(), Code::MethodUnsupported);
    assert!(no_header.hint().contains("without the header `A2A-Version` uses 0.3"), "{}", no_header.hint());
    let prefixed = json!({"tenant": "v1", "id": "t-1"}).to_string().into_bytes();
    let prefixed = ask("a2a", Call::a2a(Version::V10, Form::Rest(Operation::GetTask)), prefixed);
    assert_eq!(prefixed.code(), Code::Malformed);
    assert!(prefixed.hint().contains("no `v1` prefix"), "{}", prefixed.hint());
}
