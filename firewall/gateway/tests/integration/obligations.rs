//! What policies ask for beyond letting a reply pass, over every transport: members that are taken out, limits that count once, and when
//! to come back.

use crate::common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::agent::{Act, Agent, answer, ok};
use common::grpc::{Agent as Calls, Piece, Says, ask, call, framed, json as said, proto, status};
use common::{Answer, Gateway, House, RETAILER, h2, route, wait};
use semgate_policies::PolicySource;
use serde_json::{Value, json};

const EXTENSION: &str = "urn:contexts:snl:v1.0";
const TRAVEL: &str = "urn:contexts:travel:v2.1";
const SECRET: &str = "SECRET7";
/// Everybody may say everything; references of bookings are taken out of replies.
const RULES: &str = r#"
@id("asks") permit (principal in Group::"partners", action, resource);
@id("answers") permit (principal in Group::"repliers", action, resource) when { context.direction == "reply" };
@id("no-reference") @redact("booking_reference") permit (principal in Group::"repliers", action, resource is travel::bookFlight_results)
when { context.direction == "reply" && context.receiver in Group::"partners" };
"#;

fn house(rules: &str) -> House {
    let mut house = House::new();
    let mut policies = PolicySource::shipped();
    policies.files.push(("own.cedar".to_owned(), rules.to_owned()));
    house.write_policies(&policies);
    house.remember();
    house
}

fn flight(id: &str) -> Value {
    json!({
        "messageId": id, "role": "ROLE_USER", "metadata": {EXTENSION: {"context": TRAVEL, "performative": "REQUEST"}},
        "parts": [{"data": {"task": "bookFlight", "origin_code": "LAX", "dest_code": "JFK", "date": "2025-11-04"}}],
    })
}

fn booked() -> Value {
    json!([{"data": {"task": "bookFlight", "status": "confirmed", "booking_reference": SECRET}}])
}

fn artifact() -> Value {
    json!({"artifactId": "a-1", "parts": booked(), "metadata": {EXTENSION: {"context": TRAVEL}}})
}

fn task(id: &str) -> Value {
    json!({"id": id, "contextId": format!("c-{id}"), "status": {"state": "TASK_STATE_WORKING"}})
}

fn done(id: &str) -> Value {
    json!({"id": id, "contextId": format!("c-{id}"), "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [artifact()]})
}

fn message() -> Value {
    json!({"messageId": "r-1", "role": "ROLE_AGENT", "parts": booked(),
        "metadata": {EXTENSION: {"context": TRAVEL, "performative": "INFORM"}}})
}

fn update() -> Value {
    json!({"artifactUpdate": {"taskId": "t-1", "contextId": "c-t-1", "lastChunk": true, "artifact": artifact()}})
}

/// What the agent answers to a method; `listed` tasks stand in a list.
fn says(method: &str, id: &str, listed: usize) -> Value {
    match method {
        "SendMessage" if id == "at-once" => json!({"message": message()}),
        "SendMessage" => json!({"task": task(id)}),
        "GetTask" => done(id),
        "ListTasks" => {
            let tasks: Vec<Value> = (1..=listed).map(|n| done(&format!("t-{n}"))).collect();
            json!({"tasks": tasks, "nextPageToken": "", "pageSize": 50, "totalSize": listed})
        }
        other => panic!("{other}"),
    }
}

/// An agent of A2A over JSON-RPC and HTTP+JSON that tells of bookings.
fn behind(listed: &Arc<AtomicUsize>) -> Agent {
    let listed = Arc::clone(listed);
    Agent::start(move |seen| {
        let listed = listed.load(Ordering::SeqCst);
        let path = seen.head.split(' ').nth(1).unwrap();
        let body: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
        if path.ends_with("/tasks") {
            return Act::Say(ok(says("ListTasks", "", listed).to_string().as_bytes()));
        }
        if path.ends_with("/message:send") {
            let id = body["message"]["messageId"].as_str().unwrap();
            return Act::Say(ok(says("SendMessage", id, listed).to_string().as_bytes()));
        }
        let params = &body["params"];
        let id = params["message"]["messageId"].as_str().or(params["id"].as_str()).unwrap_or_default();
        let wrapped = |result: Value| json!({"jsonrpc": "2.0", "id": body["id"], "result": result});
        if body["method"] == "SendStreamingMessage" {
            let events =
                [json!({"task": task("t-1")}), update()].map(|event| format!("data: {}\n\n", wrapped(event)));
            return Act::SayAndClose(answer(
                "200 OK",
                "Content-Type: text/event-stream\r\n",
                events.concat().as_bytes(),
            ));
        }
        Act::Say(ok(wrapped(says(body["method"].as_str().unwrap(), id, listed)).to_string().as_bytes()))
    })
}

struct Scene {
    house: House,
    gateway: Gateway,
    listed: Arc<AtomicUsize>,
}

fn scene(rules: &str) -> Scene {
    let house = house(rules);
    let listed = Arc::new(AtomicUsize::new(2));
    let agent = behind(&listed);
    let more = format!("plain_sender = \"{RETAILER}\"\ntransports = [\"jsonrpc\", \"rest\"]");
    let routes = route("a2a", "a2a", &format!("http://127.0.0.1:{}/a2a", agent.port), &more);
    let gateway = Gateway::start(house.config(&routes, ""));
    Scene { house, gateway, listed }
}

impl Scene {
    fn call(&self, method: &str, params: &Value) -> Answer {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        self.gateway.post("a2a", "A2A-Version: 1.0\r\n", body.to_string().as_bytes())
    }

    fn rest(&self, line: &str, body: &str) -> Answer {
        let head = format!(
            "{line} HTTP/1.1\r\nHost: gw\r\nConnection: close\r\nA2A-Version: 1.0\r\nContent-Type: application/a2a+json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Answer::parse(&self.gateway.raw("a2a", head.as_bytes()))
    }

    fn begin(&self, tasks: usize) {
        for n in 1..=tasks {
            let answer = self.call("SendMessage", &json!({"message": flight(&format!("t-{n}"))}));
            assert_eq!(answer.json()["result"]["task"]["id"], format!("t-{n}"), "{answer:?}");
        }
    }

    fn told_to_be_redacted(&self, answer: &Answer) {
        let decision = answer.header("semgate-decision").unwrap().to_owned();
        let found = || {
            self.house.audit().into_iter().any(|record| {
                record["decision_id"] == decision.as_str()
                    && record["redacted"] == json!(["bookFlight.booking_reference"])
            })
        };
        wait("the record of what was taken out", found);
    }
}

fn without(text: &str) {
    assert!(text.contains("confirmed"), "{text}");
    assert!(!text.contains(SECRET) && !text.contains("booking_reference"), "{text}");
}

#[test]
fn a_member_is_taken_out_of_a_message_a_task_and_each_task_of_a_list_over_json_rpc_and_http() {
    let scene = scene(RULES);
    scene.begin(2);
    for answer in [
        scene.call("SendMessage", &json!({"message": flight("at-once")})),
        scene.call("GetTask", &json!({"id": "t-1"})),
        scene.call("ListTasks", &json!({})),
        scene.rest("POST /message:send", &json!({"message": flight("at-once")}).to_string()),
        scene.rest("GET /tasks", ""),
    ] {
        assert_eq!(answer.status, 200, "{answer:?}");
        without(&answer.body);
        scene.told_to_be_redacted(&answer);
    }
    let listed = scene.call("ListTasks", &json!({})).json();
    assert_eq!(listed["result"]["tasks"].as_array().unwrap().len(), 2, "{listed}");
}

#[test]
fn a_member_is_taken_out_of_an_event_of_a_stream() {
    let scene = scene(RULES);
    let answer = scene.call("SendStreamingMessage", &json!({"message": flight("t-1")}));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body.matches("data: ").count(), 2, "{}", answer.body);
    without(&answer.body);
    scene.told_to_be_redacted(&answer);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_is_taken_out_of_what_a_call_of_grpc_answers_and_of_each_message_of_its_stream() {
    let agent = Calls::start(|seen| {
        if seen.path.ends_with("/SendStreamingMessage") {
            let piece = |event: &Value| Piece::Data(framed(&proto("StreamResponse", event)));
            return Says::pieces(vec![piece(&json!({"task": task("t-1")})), piece(&update()), status(0)]);
        }
        Says::one(&proto("SendMessageResponse", &json!({"message": message()})))
    });
    let house = house(RULES);
    let more = format!("plain_sender = \"{RETAILER}\"\ntransports = [\"grpc\"]\nupstream_http2 = true");
    let routes = route("grpc", "a2a", &format!("http://127.0.0.1:{}", agent.port), &more);
    let gateway = Gateway::start(house.config(&routes, ""));
    let mut client = h2::plain(gateway.port("grpc")).await;
    let request = framed(&proto("SendMessageRequest", &json!({"message": flight("at-once")})));
    let one = ask(&mut client, call("SendMessage", request.clone())).await;
    assert_eq!((one.status(), one.messages.len()), (0, 1), "{one:?}");
    without(&said("SendMessageResponse", &one.messages[0]).to_string());
    let all = ask(&mut client, call("SendStreamingMessage", request)).await;
    assert_eq!((all.status(), all.messages.len()), (0, 2), "{all:?}");
    without(&said("StreamResponse", &all.messages[1]).to_string());
}

#[test]
fn attack_lists_that_do_not_pass_use_up_what_an_agent_may_say() {
    let scene = scene(
        r#"@id("asks") permit (principal in Group::"partners", action, resource);
        @id("rest") permit (principal in Group::"repliers", action, resource) when { context.direction == "reply" };
        @id("few") @limit("3/day") permit (principal, action, resource is travel::bookFlight_results) when { context.direction == "reply" };"#,
    );
    scene.begin(4);
    scene.listed.store(4, Ordering::SeqCst);
    for _ in 0..5 {
        let refused = scene.call("ListTasks", &json!({})).json();
        let problem = &refused["error"]["data"][0];
        assert_eq!(
            (&problem["code"], &problem["cause"]),
            (&"reply_refused".into(), &"rate_limited".into()),
            "{refused}"
        );
    }
    // none of the five was paid, not even in part
    scene.listed.store(3, Ordering::SeqCst);
    let listed = scene.call("ListTasks", &json!({})).json();
    assert_eq!(listed["result"]["tasks"].as_array().map(Vec::len), Some(3), "{listed}");
    let refused = scene.call("GetTask", &json!({"id": "t-1"})).json();
    assert_eq!(refused["error"]["data"][0]["cause"], "rate_limited", "and that one was: {refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_of_grpc_that_comes_too_often_is_told_when_to_come_back() {
    let agent = Calls::start(|_| Says::one(&proto("SendMessageResponse", &json!({"message": message()}))));
    let house = house(
        r#"@id("asks") @limit("1/minute") permit (principal in Group::"partners", action, resource is travel::bookFlight);
        @id("answers") permit (principal in Group::"repliers", action, resource) when { context.direction == "reply" };"#,
    );
    let more = format!("plain_sender = \"{RETAILER}\"\ntransports = [\"grpc\"]\nupstream_http2 = true");
    let routes = route("grpc", "a2a", &format!("http://127.0.0.1:{}", agent.port), &more);
    let gateway = Gateway::start(house.config(&routes, ""));
    let mut client = h2::plain(gateway.port("grpc")).await;
    let request = framed(&proto("SendMessageRequest", &json!({"message": flight("at-once")})));
    assert_eq!(ask(&mut client, call("SendMessage", request.clone())).await.status(), 0);
    let refused = ask(&mut client, call("SendMessage", request)).await;
    assert_eq!(refused.refusal(), (8, "rate_limited"), "{refused:?}");
    let details = refused.details();
    assert!(details.contains("type.googleapis.com/google.rpc.RetryInfo"), "{details}");
    // the duration of its one field, in whole seconds: what `Retry-After` says
    let seconds: u8 = refused.head["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    assert!(details.ends_with(&String::from_utf8(vec![0x0a, 2, 0x08, seconds]).unwrap()), "{details:?}");
}

#[test]
fn answers_of_cards_tell_what_is_left_of_the_limit_that_counts_them() {
    let mut house = House::new();
    let limits = r#"{"budgets": [{"name": "cards", "limit": "9/hour", "of": [
        {"line": "a2a", "concept": "GetAgentCard"}, {"line": "a2a", "concept": "GetExtendedAgentCard"}]}]}"#;
    house.write_policies(&PolicySource { limits: Some(limits.into()), ..PolicySource::shipped() });
    house.remember();
    let agent = Agent::start(|seen| {
        let card = json!({"name": "Wholesaler", "capabilities": {"streaming": true}});
        let answer = match serde_json::from_slice::<Value>(&seen.body) {
            Ok(asked) => json!({"jsonrpc": "2.0", "id": asked["id"], "result": card}),
            Err(_) => card,
        };
        Act::Say(ok(answer.to_string().as_bytes()))
    });
    let more = format!("plain_sender = \"{RETAILER}\"");
    let upstream = format!("http://127.0.0.1:{}/a2a", agent.port);
    let gateway = Gateway::start(house.config(&route("a2a", "a2a", &upstream, &more), ""));
    let get = b"GET /.well-known/agent-card.json HTTP/1.1\r\nHost: gw\r\nConnection: close\r\n\r\n";
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "GetExtendedAgentCard", "params": {}}).to_string();
    let answers = [
        Answer::parse(&gateway.raw("a2a", get)),
        gateway.post("a2a", "A2A-Version: 1.0\r\n", body.as_bytes()),
    ];
    for (answer, left) in answers.iter().zip([8, 7]) {
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("ratelimit-policy"), Some("\"cards\";q=9;w=3600"), "{answer:?}");
        let told = answer.header("ratelimit").unwrap();
        assert!(told.starts_with(&format!("\"cards\";r={left};t=")), "{told}");
    }
}

#[test]
fn what_can_never_pass_is_not_told_when_to_come_back() {
    let rules = r#"@id("one") @limit("1/minute") permit (principal in Group::"partners", action, resource is travel::bookFlight);"#;
    let scene = scene(rules);
    let mut two = flight("twice");
    let part = two["parts"][0].clone();
    two["parts"].as_array_mut().unwrap().push(part);
    let refused = scene.rest("POST /message:send", &json!({"message": two}).to_string());
    assert_eq!((refused.status, refused.header("retry-after")), (429, None), "{refused:?}");
    assert!(refused.body.contains("send less in one message"), "{refused:?}");
    let once = scene.rest("POST /message:send", &json!({"message": flight("at-once")}).to_string());
    assert_ne!(once.status, 429, "the refused one cost nothing: {once:?}");
}
