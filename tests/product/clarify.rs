//! Clarification through the running gateway (F0-23 to F0-28, F0-31): what the context answers never reaches the upstream agent.

use crate::support;

use std::io::Write;
use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};
use support::gateway::{Gateway, Scripted};
use support::{Answer, PATIENCE, Up, wait_for};

const TRAVEL: &str = "urn:contexts:travel:v2.1";
const SNL: &str = "urn:contexts:snl:v1.0";

fn post(to: SocketAddr, version: &str, body: &Value) -> Answer {
    let body = body.to_string();
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!("POST / HTTP/1.1\r\nhost: {to}\r\ncontent-type: application/json\r\n{version}");
    write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
    Answer::read(&mut stream)
}

fn question(parameter: &str) -> Value {
    json!({"concept": "ambiguous_parameter", "parameter": parameter, "value": "New York"})
}

fn envelope(content: &Value) -> Value {
    json!({"protocol": "L8/1.0", "message_id": "q-1", "performative": "QUERY", "sender_id": "retailer-7",
        "receiver_id": "wholesaler-1", "context": TRAVEL, "content": content})
}

/// The second gateway, whose A2A route answers questions; the L8 route leaves them to the agent.
#[test]
fn f0_28_a_question_is_answered_from_the_code_list_and_never_costs_the_agent() {
    let up = Up::start();
    let reply = json!({"protocol": "L8/1.0", "message_id": "a-1", "performative": "INFORM", "sender_id": "wholesaler-1",
        "receiver_id": "retailer-7", "context": TRAVEL,
        "content": {"concept": "parameter_options", "parameter": "dest_code", "options": ["JFK", "Secretville"]}});
    let agent = Scripted::saying(reply.to_string());
    let gateway = Gateway::before(&up, agent.address, "answer_from_code_lists = true\n");
    let ask = |context: &str| {
        let message = json!({"jsonrpc": "2.0", "id": "r-1", "method": "SendMessage", "params": {"message": {
            "messageId": "q-1", "role": "ROLE_USER", "parts": [{"data": question("dest_code")}],
            "metadata": {SNL: {"context": context, "performative": "QUERY"}}}}});
        post(gateway.a2a, "a2a-version: 1.0\r\n", &message).json()
    };
    let labelled = ask("urn:contexts:travel:v2.2");
    let options = &labelled["result"]["message"]["parts"][0]["data"]["options"];
    assert_eq!(*options, json!(["JFK", "LGA", "EWR"]), "the label `New York` of this version: {labelled}");
    let answer = ask(TRAVEL);
    let said = &answer["result"]["message"];
    assert_eq!(said["metadata"][SNL]["performative"], "INFORM", "{answer}");
    let options = said["parts"][0]["data"]["options"].as_array().unwrap_or_else(|| panic!("{answer}"));
    assert!(["JFK", "LGA", "EWR"].iter().all(|code| options.contains(&json!(code))), "{answer}");
    assert_eq!(agent.received(), 0);
    wait_for("the records", || {
        let text = std::fs::read_to_string(&gateway.audit).unwrap_or_default();
        text.contains(r#""said_by":"gateway""#).then_some(())
    });
    // F0-27: where the agent answers, what it offers is held against the same list
    let refused = post(gateway.l8, "", &envelope(&question("dest_code")));
    assert_eq!((refused.status, refused.json()["cause"].clone()), (502, json!("content_invalid")));
    assert!(!refused.json().to_string().contains("Secretville"));
    assert_eq!(agent.received(), 1);
    // F0-26: and what the context does not have cannot be asked about
    let foreign = post(gateway.l8, "", &envelope(&question("system_prompt")));
    assert_eq!((foreign.status, foreign.json()["code"].clone()), (422, json!("content_invalid")));
    assert_eq!(agent.received(), 1);
}
