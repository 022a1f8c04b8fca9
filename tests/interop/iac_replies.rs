//! Agents that answer through IAC as they may not. The stock client takes each such reply from an agent that stands alone.

use crate::support;

use serde_json::{Value, json};
use support::iac::{COMMAND, Form, Keys, Message, Peer, REPLY, Scene, free_udp};

fn decision(quantity: u64) -> Value {
    json!({"concept": "current_decision", "item_id": "beer", "quantity": quantity})
}

/// A reply of the agent to `alice`.
fn reply() -> Message {
    Message::new("wholesaler", "alice", REPLY, &decision(5))
}

/// Fails unless the stock client takes this reply from an agent alone, and gets a refusal through the gateway.
fn is_no_reply(forged: impl Fn(&Keys) -> Message) {
    let keys = Keys::default();
    let at = free_udp();
    let mut agent = Peer::raw_server(at);
    let mut client = Peer::client(at, &keys.alice);
    let asked =
        json!({"from": "alice", "to": "wholesaler", "type": COMMAND, "payload": decision(5).to_string()});
    client.send(&asked);
    agent.expect("message");
    let message = forged(&keys);
    agent.stream(&message.stream());
    assert_eq!(client.shown("received"), message, "alone, the client's user sees it");

    let scene = Scene::start("");
    let mut agent = Peer::raw_server(scene.behind);
    let mut client = Peer::client(scene.at, &keys.alice);
    let sent = client.send(&asked);
    agent.expect("message");
    agent.stream(&forged(&keys).stream());
    let problem = scene.problem(client.shown("received"), &sent);
    assert_eq!(
        (&problem["code"], &problem["delivered"]),
        (&json!("reply_refused"), &json!("yes")),
        "{problem}"
    );
    // the agent may still say it properly
    client.send(&asked);
    agent.expect("message");
    let honest = reply().signed(&keys.wholesaler, Form::Explicit);
    agent.stream(&honest.stream());
    assert_eq!(client.shown("received"), honest);
}

#[test]
fn iac_attack_unsigned_reply() {
    is_no_reply(|_| reply());
}

#[test]
fn iac_attack_reply_by_another_key() {
    is_no_reply(|keys| reply().signed(&keys.stranger, Form::Explicit));
}

#[test]
fn iac_attack_reply_of_another_agent() {
    is_no_reply(|keys| Message { from: "carol".into(), ..reply() }.signed(&keys.carol, Form::Explicit));
}

#[test]
fn iac_attack_reply_that_was_said_before() {
    let scene = Scene::start("");
    let mut agent = Peer::raw_server(scene.behind);
    let mut client = Peer::client(scene.at, &scene.keys.alice);
    let asked =
        json!({"from": "alice", "to": "wholesaler", "type": COMMAND, "payload": decision(5).to_string()});
    let honest = reply().signed(&scene.keys.wholesaler, Form::Explicit);
    client.send(&asked);
    agent.expect("message");
    agent.stream(&honest.stream());
    assert_eq!(client.shown("received"), honest);
    let sent = client.send(&asked);
    agent.expect("message");
    agent.stream(&honest.stream());
    assert_eq!(scene.problem(client.shown("received"), &sent)["code"], "reply_refused");
}
