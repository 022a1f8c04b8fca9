//! Conversations in native L8 through the running gateway: streams of events and subscriptions (F0-07 to F0-12).

use crate::support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::gateway::{Gateway, Scripted};
use support::{Answer, PATIENCE, Up, python, wait_for};

const TRAVEL: &str = "urn:contexts:travel:v2.1";
const EVENTS: (&str, &str) = ("accept", "text/event-stream");

fn ask(performative: &str, id: &str) -> String {
    json!({"protocol": "L8/1.0", "message_id": id, "performative": performative, "sender_id": "retailer-7",
        "receiver_id": "wholesaler-1", "context": TRAVEL,
        "content": {"task": "bookFlight", "origin_code": "LAX", "dest_code": "JFK", "date": "2025-11-04"}})
    .to_string()
}

fn say(performative: &str, status: &str) -> String {
    json!({"protocol": "L8/1.0", "message_id": "e-1", "performative": performative, "sender_id": "wholesaler-1",
        "receiver_id": "retailer-7", "context": TRAVEL, "content": {"task": "bookFlight", "status": status}})
    .to_string()
}

/// An agent that answers everything with these events and the end of the stream.
fn streaming(events: &[String]) -> Scripted {
    streaming_until(events, "0\r\n\r\n")
}

fn streaming_until(events: &[String], end: &str) -> Scripted {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = |event: &String| {
        let event = format!("data: {event}\n\n");
        format!("{:x}\r\n{event}\r\n", event.len())
    };
    let chunks: String = events.iter().map(chunk).collect();
    Scripted::answering(format!("{head}{chunks}{end}").into_bytes())
}

fn post(to: SocketAddr, headers: &[(&str, &str)], body: &str) -> (TcpStream, String) {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut head = format!("POST / HTTP/1.1\r\nhost: {to}\r\ncontent-type: application/json\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    (stream, format!("{head}content-length: {}\r\n\r\n{body}", body.len()))
}

fn answer(to: SocketAddr, headers: &[(&str, &str)], body: &str) -> Answer {
    let (mut stream, request) = post(to, headers, body);
    stream.write_all(request.as_bytes()).unwrap();
    Answer::read(&mut stream)
}

fn data(answer: &Answer) -> Vec<Value> {
    let text = String::from_utf8(answer.body.clone()).unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn records(gateway: &Gateway, decision: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(&gateway.audit).unwrap();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let records = whole.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|record| record["decision_id"] == decision).collect()
}

#[test]
fn a_request_that_asks_for_a_stream_gets_each_message_judged_as_it_passes() {
    let up = Up::start();
    let events = [say("AGREE", "waitlisted"), say("INFORM", "waitlisted"), say("INFORM", "confirmed")];
    let agent = streaming(&events);
    let gateway = Gateway::before(&up, agent.address, "");
    let streamed = answer(gateway.l8, &[EVENTS], &ask("REQUEST", "m-1"));
    assert_eq!(streamed.header("content-type").as_deref(), Some("text/event-stream"), "{}", streamed.head);
    let passed = String::from_utf8(streamed.body.clone()).unwrap();
    let sent: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    assert_eq!(passed, sent, "the bytes that were checked");
    let decision = streamed.header("semgate-decision").unwrap();
    wait_for("a record for the request and each message", || {
        (records(&gateway, &decision).len() == 4).then_some(())
    });

    let whole = answer(gateway.l8, &[], &ask("REQUEST", "m-2"));
    assert_eq!((whole.status, whole.code().as_str()), (502, "upstream_invalid"), "no stream was asked for");
    let refused = answer(gateway.l8, &[EVENTS], &ask("REQUEST", "m-3").replace("JFK", "XXX"));
    assert_eq!((refused.status, refused.code().as_str()), (422, "content_invalid"));
}

#[test]
fn a_message_that_may_not_pass_ends_the_stream_with_an_error_event() {
    let up = Up::start();
    for (bad, code, cause) in [
        (say("INFORM", "lost"), "reply_refused", "content_invalid"),
        (
            say("INFORM", "confirmed").replace("wholesaler-1", "treasurer-1"),
            "reply_refused",
            "sender_mismatch",
        ),
        (
            say("INFORM", "confirmed").replacen('{', r#"{"context":"urn:contexts:travel:v2.1","#, 1),
            "upstream_invalid",
            "duplicate_key",
        ),
        (
            say("INFORM", "confirmed").replace("travel:v2.1", "payment:v1.1"),
            "reply_refused",
            "context_unknown",
        ),
        (format!("[{}]", say("INFORM", "confirmed")), "upstream_invalid", "malformed"),
    ] {
        let agent = streaming(&[say("INFORM", "waitlisted"), bad, say("INFORM", "confirmed")]);
        let gateway = Gateway::before(&up, agent.address, "");
        let streamed = answer(gateway.l8, &[EVENTS], &ask("REQUEST", "m-1"));
        let text = String::from_utf8(streamed.body.clone()).unwrap();
        let events = data(&streamed);
        assert_eq!(events.len(), 2, "nothing passes after it: {text}");
        assert_eq!(events[0]["content"]["status"], "waitlisted");
        assert_eq!((&events[1]["code"], &events[1]["cause"]), (&json!(code), &json!(cause)), "{text}");
        assert!(text.contains("event: error\ndata: "), "{text}");
    }
}

#[test]
fn f0_12_a_subscription_is_opened_once_and_every_inform_is_held_against_it() {
    let up = Up::start();
    let one = |events: &[String], says: &str| {
        let agent = streaming(events);
        let gateway = Gateway::before(&up, agent.address, "");
        data(&answer(gateway.l8, &[EVENTS], &ask(says, "m-1")))
    };
    let (agree, inform) = (say("AGREE", "waitlisted"), say("INFORM", "confirmed"));
    let publish = say("PUBLISH", "confirmed");
    let passed = one(&[agree.clone(), inform.clone(), publish.clone()], "SUBSCRIBE");
    assert_eq!(passed.len(), 3, "{passed:?}");
    let mut off_topic: Value = serde_json::from_str(&inform).unwrap();
    off_topic["content"] =
        json!({"concept": "parameter_options", "parameter": "dest_code", "options": ["JFK"]});
    let off_topic = off_topic.to_string();
    for (events, says, why) in [
        (vec![agree.clone(), inform.clone(), agree.clone()], "SUBSCRIBE", "it is answered once"),
        (vec![agree.clone(), inform.clone(), off_topic], "SUBSCRIBE", "another topic"),
        (
            vec![agree.clone(), inform.clone(), say("ACCEPT", "confirmed")],
            "SUBSCRIBE",
            "nothing was proposed",
        ),
        (vec![agree.clone(), inform.clone(), publish], "REQUEST", "without a subscription"),
        (vec![agree, say("REFUSE", "unavailable"), inform], "REQUEST", "it was refused"),
    ] {
        let passed = one(&events, says);
        assert_eq!(passed.len(), 3, "{why}: {passed:?}");
        let wanted = if why == "it asks" { "content_invalid" } else { "out_of_turn" };
        assert_eq!(
            (&passed[2]["code"], &passed[2]["cause"]),
            (&json!("reply_refused"), &json!(wanted)),
            "{why}"
        );
    }
}

#[test]
fn f0_12_policy_is_asked_again_for_each_inform_and_a_revocation_ends_a_silent_subscription() {
    let up = Up::start();
    let agent = streaming_until(&[say("AGREE", "waitlisted"), say("INFORM", "waitlisted")], "");
    let gateway = Gateway::before(&up, agent.address, "");
    let (mut stream, request) = post(gateway.l8, &[EVENTS], &ask("SUBSCRIBE", "m-1"));
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    let mut until = |wanted: &str| {
        let mut buffer = [0; 4096];
        while !text.contains(wanted) {
            let size = stream.read(&mut buffer).unwrap();
            assert!(size > 0, "`{wanted}` in {text}");
            text.push_str(&String::from_utf8_lossy(&buffer[..size]));
        }
        text.clone()
    };
    until("INFORM");
    assert!(up.semgate(&["context", "revoke", "travel:v2.1", "--reason", "test"]).status.success());
    let began = Instant::now();
    let all = until("0\r\n\r\n");
    assert!(all.contains("context_revoked"), "{all}");
    // the bound of the promise is a second; a debug build on a busy machine is given five
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());

    let policy = r#"@id("no-more") forbid (principal, action == Action::"INFORM", resource is supplyChain::current_decision)
        when { context.direction == "reply" };"#;
    let (decide, answered) = supply();
    let agent = streaming(&[answered]);
    let gateway = Gateway::before(&up, agent.address, "");
    assert_eq!(data(&answer(gateway.l8, &[EVENTS], &decide))[0]["performative"], "INFORM");
    std::fs::write(up.path("/policies").join("no-more.cedar"), policy).unwrap();
    wait_for("the policy to be live", || {
        let events = data(&answer(gateway.l8, &[EVENTS], &decide));
        (events[0]["cause"] == "policy_denied").then_some(())
    });
}

fn supply() -> (String, String) {
    let said = |says: &str, from: &str, to: &str| {
        json!({"protocol": "L8/1.0", "message_id": "m-1", "performative": says, "sender_id": from, "receiver_id": to,
            "context": "urn:contexts:supplyChain:v1.0", "content": {"concept": "current_decision", "item_id": "beer", "quantity": 2}})
        .to_string()
    };
    (said("QUERY", "retailer-7", "wholesaler-1"), said("INFORM", "wholesaler-1", "retailer-7"))
}

#[test]
fn f0_12_an_agent_holds_no_more_subscriptions_than_its_bound() {
    let up = Up::start();
    let agent = streaming_until(&[say("AGREE", "waitlisted")], "");
    let config = std::fs::read_to_string(up.path("/firewall_config")).unwrap();
    let bounded = config.replacen("[[route]]", "[limits]\nsubscriptions = 2\n\n[[route]]", 1);
    std::fs::write(up.path("/firewall_config"), bounded).unwrap();
    let gateway = Gateway::before(&up, agent.address, "");
    let open = || {
        let (mut stream, request) = post(gateway.l8, &[EVENTS], &ask("SUBSCRIBE", "m-1"));
        stream.write_all(request.as_bytes()).unwrap();
        let mut buffer = [0; 4096];
        let size = stream.read(&mut buffer).unwrap();
        (String::from_utf8_lossy(&buffer[..size]).into_owned(), stream)
    };
    let (first, second, third) = (open(), open(), open());
    assert!(first.0.starts_with("HTTP/1.1 200") && second.0.starts_with("HTTP/1.1 200"), "{}", second.0);
    assert!(third.0.starts_with("HTTP/1.1 429") && third.0.contains("rate_limited"), "{}", third.0);
    drop(first);
    wait_for("a place that is given back", || open().0.starts_with("HTTP/1.1 200").then_some(()));
}

#[test]
fn another_implementation_reads_the_stream() {
    let up = Up::start();
    let agent = streaming(&[say("AGREE", "waitlisted"), say("INFORM", "confirmed"), say("INFORM", "lost")]);
    let gateway = Gateway::before(&up, agent.address, "");
    let output = Command::new(python::with_l8())
        .arg(python::script("l8_events.py"))
        .args([format!("http://{}/", gateway.l8), ask("SUBSCRIBE", "m-1")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let events: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let seen: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(seen, ["message", "message", "error"], "{events:?}");
    assert_eq!(events[2]["data"]["cause"], "content_invalid");
}

#[test]
fn say_follows_a_stream_to_its_end() {
    let up = Up::start();
    let flight = r#"{"origin_code":"LAX","dest_code":"JFK","date":"2025-11-04"}"#;
    let words =
        ["say", "travel:v2.1", "bookFlight", flight, "--performative", "SUBSCRIBE", "--stream", "--json"];
    let output = up.semgate(&words);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said: Vec<_> = lines.iter().map(|line| line["performative"].as_str().unwrap_or("")).collect();
    assert_eq!((output.status.code(), said), (Some(0), vec!["AGREE", "INFORM", ""]), "{text}");
    assert_eq!(lines[2]["verdict"], "ALLOWED");
    let words = words.map(|word| if word == flight { r#"{"origin_code":"LAX"}"# } else { word });
    let output = up.semgate(&words);
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), said["code"].as_str()), (Some(3), Some("content_invalid")), "{said}");
}
