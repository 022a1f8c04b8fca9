//! Fault: an existing agent had to name `task` or `concept_type` in both directions, even where one task fits.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};

use super::support::gateway::{Gateway, Scripted, free_address};
use super::support::{Answer, PATIENCE, Up, wait_for};

const TRAVEL: &str = "urn:contexts:travel:v2.1";

fn flight() -> Value {
    json!({"origin_code": "LAX", "dest_code": "JFK", "date": "2025-11-04"})
}

fn named(mut content: Value, name: &str) -> Value {
    content["task"] = json!(name);
    content
}

fn confirmed() -> Value {
    json!({"status": "confirmed", "booking_reference": "AB12CD"})
}

/// A gateway with one route to an agent that answers with these bytes.
fn gateway(up: &Up, binding: &str, behind: &Scripted) -> (Gateway, SocketAddr) {
    let listen = free_address();
    let route = format!(
        "[[route]]\nname = \"{binding}\"\nlisten = \"{listen}\"\nbinding = \"{binding}\"\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{}/\"\ncontexts = [\"*\"]\ndefault_context = \"{TRAVEL}\"\nuntyped = \"bookFlight\"\n",
        behind.address
    );
    (Gateway::serving(up, listen, &route, "[audit_values]\n"), listen)
}

fn post(to: SocketAddr, body: &Value) -> Answer {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let body = body.to_string();
    let head =
        format!("POST / HTTP/1.1\r\nhost: {to}\r\na2a-version: 1.0\r\ncontent-type: application/json\r\n");
    write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
    Answer::read(&mut stream)
}

/// The concepts of each record of a decision.
fn recorded(gateway: &Gateway, answer: &Answer) -> Vec<Value> {
    let id = answer.header("semgate-decision").unwrap();
    wait_for("both records", || {
        let text = std::fs::read_to_string(&gateway.audit).ok()?;
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let of: Vec<Value> = lines.filter(|line| line["decision_id"] == *id).collect();
        (of.len() == 2).then(|| of.iter().map(|line| line["concepts"].clone()).collect())
    })
}

#[test]
fn fault_9_typed_parts_of_an_a2a_agent_need_no_name_where_one_task_fits() {
    let up = Up::start();
    let part = |data: &Value| json!([{"data": data}]);
    let answer = |data: &Value| {
        let message = json!({"messageId": "r-1", "role": "ROLE_AGENT", "parts": part(data)});
        json!({"jsonrpc": "2.0", "id": 1, "result": {"message": message}}).to_string()
    };
    let sent = |data: &Value, context: Option<&str>| {
        let mut message = json!({"messageId": "m-1", "role": "ROLE_USER", "parts": part(data)});
        if let Some(urn) = context {
            message["metadata"] = json!({"urn:contexts:snl:v1.0": {"context": urn}});
        }
        json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}})
    };
    let behind = Scripted::saying(answer(&confirmed()));
    let (gateway, at) = gateway(&up, "a2a", &behind);

    // unchanged client and agent: parameters and results of the one task
    let passed = post(at, &sent(&flight(), None));
    assert_eq!(passed.json()["result"]["message"]["parts"][0]["data"], confirmed(), "{passed:?}");
    assert_eq!(recorded(&gateway, &passed), [json!(["bookFlight"]), json!(["bookFlight"])]);
    // whoever names the task says the same
    assert_eq!(post(at, &sent(&named(flight(), "bookFlight"), Some(TRAVEL))).json()["error"], Value::Null);
    let reached = behind.received();

    let mut wrong = flight();
    wrong["origin_code"] = json!("XXX");
    for (what, message, code) in [
        ("content that does not fit", sent(&wrong, None), "content_invalid"),
        ("a member that the task lacks", sent(&json!({"city": "Oslo"}), None), "content_invalid"),
        ("nothing at all", sent(&json!({}), None), "concept_undefined"),
        ("another name", sent(&named(flight(), "cancelFlight"), None), "concept_undefined"),
        ("a name of another case", sent(&json!({"Task": "bookFlight"}), None), "malformed"),
        ("a name within", sent(&json!({"a": named(flight(), "other"), "b": 1}), None), "concept_undefined"),
        ("another context", sent(&flight(), Some("urn:contexts:supplyChain:v1.0")), "concept_undefined"),
    ] {
        assert_eq!(post(at, &message).code(), code, "{what}");
    }
    assert_eq!(behind.received(), reached, "no refused message was forwarded");
}

#[test]
fn fault_9_native_content_without_a_name_is_the_task_in_both_directions() {
    let up = Up::start();
    let envelope = |from: &str, to: &str, performative: &str, context: &str, content: &Value| {
        json!({"protocol": "L8/1.0", "message_id": "m-1", "performative": performative, "sender_id": from, "receiver_id": to,
            "context": context, "content": content})
    };
    let asks =
        |context: &str, content: &Value| envelope("retailer-7", "wholesaler-1", "REQUEST", context, content);
    let answers =
        |content: &Value| envelope("wholesaler-1", "retailer-7", "INFORM", TRAVEL, content).to_string();
    let behind = Scripted::saying(answers(&confirmed()));
    let (gateway, at) = gateway(&up, "l8", &behind);
    let passed = post(at, &asks(TRAVEL, &flight()));
    assert_eq!((passed.status, &passed.json()["content"]), (200, &confirmed()), "{passed:?}");
    assert_eq!(recorded(&gateway, &passed), [json!(["bookFlight"]), json!(["bookFlight"])]);
    assert_eq!(post(at, &asks(TRAVEL, &json!({"origin_code": "LAX"}))).code(), "content_invalid");

    // an answer without a name is no answer about another concept
    let decision = json!({"d": {"concept": "current_decision", "item_id": "beer", "quantity": 1}});
    let refused = post(at, &asks("urn:contexts:supplyChain:v1.0", &decision));
    assert_eq!(refused.code(), "reply_refused");
    drop(gateway);

    // nor results that do not fit
    let behind = Scripted::saying(answers(&json!({"status": "lost"})));
    let (_gateway, at) = self::gateway(&up, "l8", &behind);
    let refused = post(at, &asks(TRAVEL, &flight())).json();
    assert_eq!((&refused["code"], &refused["cause"]), (&json!("reply_refused"), &json!("content_invalid")));
}
