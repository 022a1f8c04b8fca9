//! Native L8 over WebSockets through the running gateway, with another implementation of RFC 6455 as the caller and as the agent.

use crate::support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::gateway::{Gateway, free_address};
use support::{Answer, Ended, PATIENCE, Up, python, wait_for};

const TRAVEL: &str = "urn:contexts:travel:v2.1";

fn ask(performative: &str, id: &str) -> String {
    json!({"protocol": "L8/1.0", "message_id": id, "performative": performative, "sender_id": "retailer-7",
        "receiver_id": "wholesaler-1", "context": TRAVEL,
        "content": {"task": "bookFlight", "origin_code": "LAX", "dest_code": "JFK", "date": "2025-11-04"}})
    .to_string()
}

fn say(performative: &str, status: &str) -> String {
    // blanks and the order of members show that bytes pass and not what they mean
    format!(
        r#"{{ "content": {{"task": "bookFlight", "status": "{status}"}}, "protocol":"L8/1.0", "message_id": "e-1", "performative": "{performative}", "sender_id": "wholesaler-1", "receiver_id": "retailer-7", "context": "{TRAVEL}"}}"#
    )
}

fn decision(performative: &str, id: &str, (from, to): (&str, &str)) -> String {
    json!({"protocol": "L8/1.0", "message_id": id, "performative": performative, "sender_id": from, "receiver_id": to,
        "context": "urn:contexts:supplyChain:v1.0",
        "content": {"concept": "current_decision", "item_id": "beer", "quantity": 2}})
    .to_string()
}

/// An agent with these answers, and a gateway with a route of sockets before it.
struct Scene {
    gateway: Gateway,
    open: SocketAddr,
    said: BufReader<ChildStdout>,
    _agent: Ended,
}

fn scene(up: &Up, answers: &Value) -> Scene {
    let mut agent = Command::new(python::with_l8())
        .arg(python::script("l8_agent.py"))
        .arg(answers.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(agent.stdout.take().unwrap());
    let agent = Ended(agent);
    let mut port = String::new();
    said.read_line(&mut port).unwrap();
    let behind = SocketAddr::from(([127, 0, 0, 1], port.trim().parse().unwrap()));
    let open = free_address();
    let more = format!(
        "[[route]]\nname = \"sockets\"\nlisten = \"{open}\"\nbinding = \"l8\"\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{behind}/l8\"\ncontexts = [\"*\"]\nwebsocket = true\n"
    );
    Scene { gateway: Gateway::before(up, behind, &more), open, said, _agent: agent }
}

impl Scene {
    fn caller(&self, steps: &Value) -> Child {
        Command::new(python::with_l8())
            .arg(python::script("l8_socket.py"))
            .args([format!("ws://{}/", self.open), steps.to_string()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// What the caller heard, and how the socket ended.
    fn play(&self, steps: &Value) -> (Vec<String>, Value) {
        let output = self.caller(steps).wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let end = lines.pop().unwrap();
        (lines.iter().map(|line| line.as_str().unwrap().to_owned()).collect(), end)
    }

    /// Plays and expects the last thing heard to be a refusal with this code, cause and close code.
    fn refused(&self, steps: &Value, close: u16, code: &str, cause: Option<&str>) -> Value {
        let (mut heard, end) = self.play(steps);
        let last: Value = serde_json::from_str(&heard.pop().unwrap()).unwrap();
        assert_eq!((last["code"].as_str(), last["cause"].as_str()), (Some(code), cause), "{last}");
        assert_eq!(end, json!([close, code, []]), "{last}");
        last
    }

    fn records(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.gateway.audit).unwrap();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[test]
fn each_message_of_either_side_is_judged_and_recorded_and_its_bytes_pass() {
    let up = Up::start();
    let (agree, inform) = (say("AGREE", "waitlisted"), say("INFORM", "confirmed"));
    let mut scene = scene(&up, &json!({"m-1": [agree, inform], "m-2": [inform]}));
    let long = ask("QUERY", "m-2");
    let (first, rest) = long.split_at(40);
    let steps = json!([["say", ask("REQUEST", "m-1")], ["hear", 2], ["pieces", [first, rest]], ["hear", 1]]);
    let (heard, end) = scene.play(&steps);
    assert_eq!(heard, [agree, inform.clone(), inform], "byte for byte");
    assert_eq!(end, json!([1000, "", []]), "no extension");
    let mut line = String::new();
    scene.said.read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "/l8 spiffe://semgate.test/agent/retailer-7 []", "the agent is told who speaks");
    wait_for("a record for each message", || {
        let verdicts = scene.records();
        (verdicts.len() == 5 && verdicts.iter().all(|record| record["verdict"] == "allowed")).then_some(())
    });
}

#[test]
fn what_policies_take_out_of_a_reply_is_taken_out_on_a_socket_and_of_a_stream() {
    let up = Up::start();
    let redacts = r#"@id("no-reference") @redact("booking_reference")
        permit (principal in Group::"repliers", action, resource is travel::bookFlight_results)
        when { context.direction == "reply" && context.receiver in Group::"partners" };"#;
    std::fs::write(up.path("/policies").join("redact.cedar"), redacts).unwrap();
    let booked = |performative: &str| {
        say(performative, "confirmed").replace(r#""status""#, r#""booking_reference": "SECRET7", "status""#)
    };
    let scene = scene(&up, &json!({"m-1": [booked("AGREE"), booked("INFORM")]}));
    let steps = json!([["say", ask("REQUEST", "m-1")], ["hear", 2]]);
    let (heard, end) = scene.play(&steps);
    assert_eq!((heard.len(), &end), (2, &json!([1000, "", []])), "{heard:?}");
    for said in &heard {
        let said: Value = serde_json::from_str(said).unwrap();
        assert_eq!(said["content"], json!({"task": "bookFlight", "status": "confirmed"}), "{said}");
    }
    wait_for("the records of what was taken out", || {
        let gone = json!(["bookFlight.booking_reference"]);
        (scene.records().iter().filter(|record| record["redacted"] == gone).count() == 2).then_some(())
    });
}

#[test]
fn a_ping_is_no_message_and_changes_no_record() {
    let up = Up::start();
    // the agent answers the first message when the second came, which only tells
    let scene = scene(&up, &json!({"m-2": [say("AGREE", "waitlisted"), say("INFORM", "confirmed")]}));
    let told = decision("INFORM", "m-2", ("retailer-7", "wholesaler-1"));
    let steps = json!([["say", ask("REQUEST", "m-1")], ["ping"], ["say", told], ["ping"], ["hear", 2]]);
    let (heard, end) = scene.play(&steps);
    assert_eq!((heard.len(), end), (2, json!([1000, "", []])));
    wait_for("a record for each message", || (scene.records().len() == 4).then_some(()));
    let records = scene.records();
    let asked: Vec<_> = records.iter().filter(|record| record["direction"] == "request").collect();
    assert_eq!(asked.len(), 2);
    for reply in records.iter().filter(|record| record["direction"] == "reply") {
        assert!(asked.iter().any(|asked| asked["decision_id"] == reply["decision_id"]), "{records:?}");
    }
}

#[test]
fn what_the_caller_may_not_say_ends_the_socket_and_never_reaches_the_agent() {
    let up = Up::start();
    let mut scene = scene(&up, &json!({"m-1": [say("INFORM", "confirmed")]}));
    let good = ask("REQUEST", "m-1");
    for (step, close, code) in [
        (json!(["say", good.replace("JFK", "XXX")]), 1008, "content_invalid"),
        (json!(["say", good.replace("retailer-7", "treasurer-1")]), 1008, "sender_mismatch"),
        (
            json!(["say", good.replacen('{', r#"{"context":"urn:contexts:travel:v2.1","#, 1)]),
            1008,
            "duplicate_key",
        ),
        (json!(["say", format!("{good}{good}")]), 1008, "malformed"),
        (json!(["say", ""]), 1008, "malformed"),
        (json!(["binary", good]), 1003, "malformed"),
        (json!(["padded", 1024 * 1024, good]), 1009, "too_large"),
    ] {
        let refusal = scene.refused(&json!([step, ["end"]]), close, code, None);
        assert_eq!(refusal["delivered"], "no");
        let found = || {
            scene.records().iter().any(|r| r["decision_id"] == refusal["decision_id"] && r["code"] == code)
        };
        wait_for("the record", || found().then_some(()));
    }
    scene.refused(&json!([["say", good], ["hear", 1], ["say", "[]"], ["end"]]), 1008, "malformed", None);
    let mut line = String::new();
    scene.said.read_line(&mut line).unwrap();
    drop(scene.gateway);
    assert!(line.starts_with("/l8 "), "only the last of the callers reached the agent: {line}");
}

#[test]
fn f0_11_what_the_agent_may_not_say_or_was_not_asked_ends_the_socket() {
    let up = Up::start();
    let inform = say("INFORM", "confirmed");
    let other = inform.replace("travel:v2.1", "supplyChain:v1.0");
    let scene = scene(
        &up,
        &json!({
            "bad": [say("INFORM", "lost")],
            "foreign": [other],
            "twice": [inform, inform],
            "binary": [{"binary": inform}],
            "none": ["{}"],
            "told": [decision("INFORM", "e-2", ("wholesaler-1", "retailer-7"))],
            "publish": [say("PUBLISH", "confirmed")],
            "topic": [say("AGREE", "waitlisted"), inform, say("PUBLISH", "confirmed"), say("AGREE", "waitlisted")],
        }),
    );
    for (id, says, heard, close, code, cause) in [
        ("bad", "REQUEST", 0, 1008, "reply_refused", Some("content_invalid")),
        ("foreign", "REQUEST", 0, 1008, "reply_refused", Some("context_unknown")),
        ("twice", "REQUEST", 1, 1008, "reply_refused", Some("out_of_turn")),
        ("binary", "REQUEST", 0, 1014, "upstream_invalid", None),
        ("none", "REQUEST", 0, 1014, "upstream_invalid", Some("malformed")),
        ("publish", "REQUEST", 0, 1008, "reply_refused", Some("out_of_turn")),
        ("topic", "SUBSCRIBE", 3, 1008, "reply_refused", Some("out_of_turn")),
        ("told", "INFORM", 0, 1008, "reply_refused", Some("out_of_turn")),
    ] {
        let said = match says {
            "INFORM" => decision("INFORM", id, ("retailer-7", "wholesaler-1")),
            _ => ask(says, id),
        };
        let refusal = scene.refused(&json!([["say", said], ["hear", heard], ["end"]]), close, code, cause);
        assert_eq!(refusal["delivered"], "yes", "{id}");
    }
}

#[test]
fn a_socket_ends_when_its_context_is_revoked_and_when_the_gateway_drains() {
    let up = Up::start();
    let mut scene = scene(&up, &json!({"m-1": [say("AGREE", "waitlisted")]}));
    let begin = |scene: &Scene| {
        let mut caller = scene.caller(&json!([["say", ask("SUBSCRIBE", "m-1")], ["end"]]));
        let mut heard = BufReader::new(caller.stdout.take().unwrap());
        let mut line = String::new();
        heard.read_line(&mut line).unwrap();
        assert!(line.contains("AGREE"), "{line}");
        (Ended(caller), heard)
    };
    let (_caller, mut heard) = begin(&scene);
    scene.gateway.restart("TERM");
    let mut line = String::new();
    heard.read_line(&mut line).unwrap();
    assert_eq!(line.trim(), r#"[1001, "", []]"#);

    let (_caller, mut heard) = begin(&scene);
    assert!(up.semgate(&["context", "revoke", "travel:v2.1", "--reason", "test"]).status.success());
    let began = Instant::now();
    let mut line = String::new();
    heard.read_line(&mut line).unwrap();
    assert!(line.contains("context_revoked"), "{line}");
    // the bound of the promise is a second; a debug build on a busy machine is given five
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn a_page_in_a_browser_and_a_route_without_sockets_open_none() {
    let up = Up::start();
    let scene = scene(&up, &json!({}));
    let head = "GET / HTTP/1.1\r\nhost: localhost\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let upgrade = "connection: keep-alive, Upgrade\r\nupgrade: websocket\r\n";
    let open = |to: SocketAddr, more: &str| {
        let mut stream = TcpStream::connect(to).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(format!("{head}{more}\r\n").as_bytes()).unwrap();
        let answer = Answer::read(&mut stream);
        (answer.status, if answer.status == 101 { String::new() } else { answer.code() })
    };
    assert_eq!(open(scene.gateway.l8, upgrade), (400, "malformed".to_owned()), "not on this route");
    assert_eq!(
        open(scene.open, &format!("{upgrade}origin: https://example.org\r\n")),
        (403, "host_refused".to_owned())
    );
    assert_eq!(open(scene.open, &format!("{upgrade}content-length: 4\r\n")), (400, "malformed".to_owned()));
    assert_eq!(open(scene.open, "upgrade: websocket\r\n"), (400, "malformed".to_owned()));
    assert_eq!(open(scene.open, "connection: upgrade\r\nupgrade: h2c\r\n"), (400, "malformed".to_owned()));
    // a refused head leaves no connection behind: nothing would ever read it again
    for begin in [head.to_owned(), head.replace("version: 13", "version: 12"), head.replace("GET", "POST")] {
        let mut stream = TcpStream::connect(scene.open).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let page = begin == head;
        let more = if page { "origin: https://example.org\r\n" } else { "" };
        stream.write_all(format!("{begin}{upgrade}{more}\r\n").as_bytes()).unwrap();
        let mut all = String::new();
        stream.read_to_string(&mut all).expect("the connection ends with the refusal");
        assert!(all.starts_with(if page { "HTTP/1.1 403" } else { "HTTP/1.1 400" }), "{all}");
    }
    let mut stream = TcpStream::connect(scene.open).unwrap();
    stream.write_all(format!("{head}{upgrade}\r\n").as_bytes()).unwrap();
    let mut first = String::new();
    let mut lines = BufReader::new(stream).lines();
    while let Some(Ok(line)) = lines.next() {
        if line.is_empty() {
            break;
        }
        first.push_str(&line.to_ascii_lowercase());
        first.push('\n');
    }
    assert!(first.starts_with("http/1.1 101"), "{first}");
    assert!(first.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="), "{first}");
    assert!(first.contains("semgate-decision: "), "{first}");
}
