//! F0-28: a question about a parameter is answered from the code list of its context, in the form of the request, and the upstream agent
//! never hears of it.

use crate::common;

use common::agent::Agent;
use common::{Answer, Gateway, House, RETAILER, WHOLESALER, grpc, h2, message, reply, route, wait};
use http::Request;
use semgate_policies::PolicySource;
use serde_json::{Value, json};

const EXTENSION: &str = "urn:contexts:snl:v1.0";
const TRAVEL: &str = "urn:contexts:travel:v2.1";
const ANSWERS: &str = "answer_from_code_lists = true";

fn question(parameter: &str) -> Value {
    json!({"concept": "ambiguous_parameter", "parameter": parameter, "value": "New York"})
}

fn envelope(content: Value) -> Value {
    json!({"protocol": "L8/1.0", "message_id": "q-1", "performative": "QUERY", "sender_id": "retailer-7",
        "receiver_id": "wholesaler-1", "context": TRAVEL, "content": content})
}

fn message_1_0() -> Value {
    json!({"messageId": "q-1", "role": "ROLE_USER", "contextId": "talk-1", "parts": [{"data": question("dest_code")}],
        "metadata": {EXTENSION: {"context": TRAVEL, "performative": "QUERY"}}})
}

fn rpc(method: &str, message: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": "r-1", "method": method, "params": {"message": message}})
}

fn l8(agent: &Agent, more: &str) -> String {
    let more = format!("plain_sender = \"{RETAILER}\"\n{more}");
    route("plain", "l8", &format!("http://127.0.0.1:{}/l8", agent.port), &more)
}

fn a2a(agent: &Agent, more: &str) -> String {
    let more = format!("plain_sender = \"{RETAILER}\"\n{ANSWERS}\n{more}");
    route("a2a", "a2a", &format!("http://127.0.0.1:{}/a2a", agent.port), &more)
}

fn start(house: &mut House, routes: &str) -> Gateway {
    house.remember();
    Gateway::start(house.config(routes, ""))
}

/// The paper's list of options, and that the codes of the whole list are in it.
fn offers(content: &Value) {
    assert_eq!(content["concept"], "parameter_options");
    assert_eq!(content["parameter"], "dest_code");
    let options = content["options"].as_array().unwrap();
    assert!(["JFK", "LGA", "EWR"].iter().all(|code| options.contains(&json!(code))), "{content}");
    assert!(!options.contains(&json!("New York")), "the value in question is not repeated");
}

#[test]
fn a_question_is_answered_in_the_agents_place_and_both_messages_are_recorded() {
    let mut house = House::new();
    let agent = Agent::saying(&reply());
    let gateway = start(&mut house, &l8(&agent, ANSWERS));
    let answer = gateway.say(&envelope(question("dest_code")));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("semgate-said-by"), Some("gateway"));
    let said = answer.json();
    assert_eq!((&said["performative"], &said["context"]), (&json!("INFORM"), &json!(TRAVEL)));
    assert_eq!((&said["sender_id"], &said["receiver_id"]), (&json!(WHOLESALER), &json!(RETAILER)));
    offers(&said["content"]);
    wait("the records", || house.audit().len() == 2);
    let audit = house.audit();
    assert_eq!(audit[0]["concepts"], json!(["ambiguous_parameter"]), "{audit:?}");
    assert_eq!((&audit[0]["verdict"], &audit[0]["said_by"]), (&json!("allowed"), &Value::Null));
    assert_eq!(audit[1]["concepts"], json!(["parameter_options"]));
    assert_eq!((&audit[1]["direction"], &audit[1]["said_by"]), (&json!("reply"), &json!("gateway")));
    assert!(agent.seen().is_empty());
    // all other messages reach the agent
    assert_eq!(gateway.say(&message()).status, 200);
    assert_eq!(agent.seen().len(), 1);
}

#[test]
fn questions_under_keys_are_answered_under_the_same_keys() {
    let mut house = House::new();
    let agent = Agent::saying(&reply());
    let gateway = start(&mut house, &l8(&agent, ANSWERS));
    let said =
        gateway.say(&envelope(json!({"to": question("dest_code"), "from": question("origin_code")}))).json();
    offers(&said["content"]["to"]);
    assert_eq!(said["content"]["from"]["parameter"], "origin_code");
    assert!(agent.seen().is_empty());
}

#[test]
fn what_the_context_does_not_answer_reaches_the_agent() {
    let mut house = House::new();
    let agent = Agent::saying(&reply());
    let routes = l8(&agent, ANSWERS) + &l8(&agent, "").replace("\"plain\"", "\"silent\"");
    let gateway = start(&mut house, &routes);
    let asks = |route: &str, body: &Value| drop(gateway.post(route, "", body.to_string().as_bytes()));
    asks("plain", &envelope(question("date")));
    asks("plain", &envelope(json!({"a": question("dest_code"), "b": question("date")})));
    let mut request = envelope(question("dest_code"));
    request["performative"] = "REQUEST".into();
    asks("plain", &request);
    asks("silent", &envelope(question("dest_code")));
    assert_eq!(
        agent.seen().len(),
        4,
        "a free parameter, one among others, no QUERY, a route that does not say so"
    );
}

#[test]
fn f0_43_attack_questions_that_cost_the_agent_nothing_are_still_counted() {
    let mut house = House::new();
    let agent = Agent::saying(&reply());
    let gateway = start(&mut house, &l8(&agent, ANSWERS));
    for n in 0..10 {
        assert_eq!(gateway.say(&envelope(question("dest_code"))).status, 200, "question {n}");
    }
    assert_eq!(
        gateway.say(&envelope(question("dest_code"))).problem(),
        (429, "ambiguity_limited".to_owned())
    );
    assert!(agent.seen().is_empty());
}

#[test]
fn an_answer_that_policy_would_not_let_the_agent_give_is_not_given_and_the_agent_is_not_asked() {
    let mut house = House::new();
    let agent = Agent::saying(&reply());
    let mut source = PolicySource::shipped();
    let no =
        r#"@id("no-options") forbid(principal, action, resource is snl::parameter_options) when { true };"#;
    source.files.push(("no.cedar".to_owned(), no.to_owned()));
    house.write_policies(&source);
    let gateway = start(&mut house, &l8(&agent, ANSWERS));
    let answer = gateway.say(&envelope(question("dest_code")));
    let problem = answer.json();
    assert_eq!((answer.status, &problem["code"]), (502, &json!("reply_refused")), "{problem}");
    assert_eq!((&problem["cause"], &problem["delivered"]), (&json!("policy_denied"), &json!("no")));
    assert!(agent.seen().is_empty());
    wait("the record", || {
        house.audit().iter().any(|record| record["policies"] == json!(["no.cedar#no-options"]))
    });
}

#[test]
fn in_a2a_the_answer_has_the_form_of_the_request() {
    let mut house = House::new();
    let agent = Agent::saying(&reply());
    let more = "versions = [\"1.0\", \"0.3\"]\ntransports = [\"jsonrpc\", \"rest\"]";
    let gateway = start(&mut house, &a2a(&agent, more));
    let new = format!("A2A-Version: 1.0\r\nA2A-Extensions: {EXTENSION}\r\n");
    let post = |headers: &str, body: &Value| gateway.post("a2a", headers, body.to_string().as_bytes());

    let answer = post(&new, &rpc("SendMessage", message_1_0()));
    assert_eq!(answer.header("a2a-extensions"), Some(EXTENSION));
    let json = answer.json();
    let said = &json["result"]["message"];
    assert_eq!(
        (&json["id"], &said["role"], &said["contextId"]),
        (&json!("r-1"), &json!("ROLE_AGENT"), &json!("talk-1"))
    );
    assert_eq!(said["metadata"][EXTENSION], json!({"context": TRAVEL, "performative": "INFORM"}));
    offers(&said["parts"][0]["data"]);

    let answer = post(&new, &rpc("SendStreamingMessage", message_1_0()));
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let event: Value = serde_json::from_str(answer.body.trim().strip_prefix("data: ").unwrap()).unwrap();
    offers(&event["result"]["message"]["parts"][0]["data"]);

    let mut old = message_1_0();
    old["kind"] = "message".into();
    old["role"] = "user".into();
    old["parts"][0]["kind"] = "data".into();
    let said = post("", &rpc("message/send", old)).json()["result"].clone();
    assert_eq!(
        (&said["kind"], &said["role"], &said["parts"][0]["kind"]),
        (&json!("message"), &json!("agent"), &json!("data"))
    );
    offers(&said["parts"][0]["data"]);

    let body = json!({"message": message_1_0()}).to_string();
    let head = format!(
        "POST /message:send HTTP/1.1\r\nHost: gw\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{new}\r\n",
        body.len()
    );
    let answer = Answer::parse(&gateway.raw("a2a", format!("{head}{body}").as_bytes()));
    offers(&answer.json()["message"]["parts"][0]["data"]);
    assert!(agent.seen().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_grpc_the_answer_is_a_message_of_the_protocol() {
    let agent = grpc::Agent::start(|_| panic!("the agent was asked"));
    let mut house = House::new();
    house.remember();
    let more =
        format!("plain_sender = \"{RETAILER}\"\ntransports = [\"grpc\"]\nupstream_http2 = true\n{ANSWERS}");
    let route = route("grpc", "a2a", &format!("http://127.0.0.1:{}", agent.port), &more);
    let gateway = Gateway::start(house.config(&route, ""));
    let mut client = h2::plain(gateway.port("grpc")).await;
    let asks = grpc::framed(&grpc::proto("SendMessageRequest", &json!({"message": message_1_0()})));
    for (method, answers) in
        [("SendMessage", "SendMessageResponse"), ("SendStreamingMessage", "StreamResponse")]
    {
        let request: Request<_> = grpc::call(method, asks.clone());
        let answer = grpc::ask(&mut client, request).await;
        assert_eq!((answer.status(), answer.messages.len()), (0, 1), "{answer:?}");
        assert_eq!(answer.head["semgate-said-by"], "gateway");
        offers(&grpc::json(answers, &answer.messages[0])["message"]["parts"][0]["data"]);
    }
    assert!(agent.seen().is_empty());
}
