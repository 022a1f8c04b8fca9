//! Streams of events: each is judged as it passes, none waits for the next, and the first that may not pass ends the stream.

use crate::common;

use common::{Gateway, House, RETAILER, route, wait};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const EXTENSION: &str = "urn:contexts:snl:v1.0";

fn house() -> House {
    let mut house = House::new();
    house.remember();
    house
}

fn request() -> Value {
    json!({
        "jsonrpc": "2.0", "id": 7, "method": "SendStreamingMessage",
        "params": {"message": {
            "messageId": "m-1", "role": "ROLE_USER",
            "parts": [{"data": {"concept_type": "current_decision", "item_id": "sku-1", "quantity": 120}}],
            "metadata": {EXTENSION: {"context": "urn:contexts:supplyChain:v1.0"}}
        }}
    })
}

fn status(state: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "result": {"statusUpdate": {
        "taskId": "t-1", "contextId": "c-1", "status": {"state": state}
    }}})
}

fn artifact(quantity: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "result": {"artifactUpdate": {
        "taskId": "t-1", "contextId": "c-1", "lastChunk": true, "artifact": {
            "artifactId": "a-1",
            "parts": [{"data": {"concept_type": "current_decision", "item_id": "sku-1", "quantity": quantity}}],
            "metadata": {EXTENSION: {"context": "urn:contexts:supplyChain:v1.0"}}
        }
    }}})
}

/// An agent that answers one message with a stream, of which the test says each piece.
struct Agent {
    port: u16,
    say: Sender<Vec<u8>>,
    gone: Receiver<()>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Agent {
    fn start() -> Agent {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (say, pieces) = channel::<Vec<u8>>();
        let (left, gone) = channel();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_nodelay(true).unwrap();
            let mut buffer = [0; 8192];
            let size = stream.read(&mut buffer).unwrap();
            seen.lock().unwrap().push(String::from_utf8_lossy(&buffer[..size]).into_owned());
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n";
            stream.write_all(head.as_bytes()).unwrap();
            let mut watch = stream.try_clone().unwrap();
            std::thread::spawn(move || {
                let _ = watch.read(&mut [0; 1]);
                let _ = left.send(());
            });
            for piece in pieces {
                let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), &piece, b"\r\n"].concat();
                if stream.write_all(&chunk).is_err() {
                    return;
                }
            }
            let _ = stream.write_all(b"0\r\n\r\n");
        });
        Agent { port, say, gone, heads }
    }

    fn event(&self, data: &Value) {
        self.say.send(format!("data: {data}\r\n\r\n").into_bytes()).unwrap();
    }
}

fn start(house: &House, agent: &Agent, limits: &str) -> Gateway {
    let upstream = format!("http://127.0.0.1:{}/a2a", agent.port);
    let route = route("a2a", "a2a", &upstream, &format!("plain_sender = \"{RETAILER}\""));
    Gateway::start(house.config(&route, limits))
}

/// A caller of one stream.
struct Caller {
    stream: TcpStream,
    text: String,
}

impl Caller {
    fn ask(gateway: &Gateway, body: &Value) -> Caller {
        let mut stream = gateway.connect("a2a");
        let body = body.to_string();
        let head = format!(
            "POST / HTTP/1.1\r\nHost: gw\r\nA2A-Version: 1.0\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        Caller { stream, text: String::new() }
    }

    /// Reads until this is there.
    fn until(&mut self, wanted: &str) -> &str {
        let mut buffer = [0; 4096];
        while !self.text.contains(wanted) {
            let size = self.stream.read(&mut buffer).unwrap_or(0);
            assert!(size > 0, "`{wanted}` in {}", self.text);
            self.text.push_str(&String::from_utf8_lossy(&buffer[..size]));
        }
        &self.text
    }

    /// The `data` of each event so far.
    fn data(&self) -> Vec<Value> {
        let lines = self.text.lines().filter_map(|line| line.strip_prefix("data: "));
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[test]
fn each_event_passes_as_it_comes_with_a_record_of_its_own_and_without_ids_of_the_agent() {
    let (house, agent) = (house(), Agent::start());
    let gateway = start(&house, &agent, "");
    let mut caller = Caller::ask(&gateway, &request());
    let head = caller.until("\r\n\r\n").to_ascii_lowercase();
    assert!(head.contains("content-type: text/event-stream"), "the head waits for no event: {head}");
    assert!(head.contains("semgate-decision: "));
    assert!(agent.heads.lock().unwrap()[0].to_ascii_lowercase().contains("text/event-stream"));

    let event = status("TASK_STATE_WORKING");
    agent.say.send(format!("event: message\nretry: 5\nid: e-1\ndata: {event}\n\n").into_bytes()).unwrap();
    caller.until("\n\n");
    caller.until("TASK_STATE_WORKING");
    assert!(caller.text.contains("\r\nevent: message\ndata: {"), "{}", caller.text);
    let framing = caller.text.contains("id: e-1") || caller.text.contains("retry:");
    assert!(!framing, "nothing is resumed by it: {}", caller.text);
    agent.say.send(b": ping from inside\r\n\r\n".to_vec()).unwrap();
    caller.until("\n:\n\n");
    agent.event(&artifact(120.into()));
    agent.event(&status("TASK_STATE_COMPLETED"));
    let Agent { say, .. } = agent;
    drop(say);
    caller.until("0\r\n\r\n");
    assert!(!caller.text.contains("inside"));
    assert_eq!(caller.data(), [event, artifact(120.into()), status("TASK_STATE_COMPLETED")]);
    wait("a record for each", || house.audit().len() == 4);
    assert!(house.audit().iter().all(|record| record["verdict"] == "allowed"));
}

#[test]
fn an_event_that_may_not_pass_ends_the_stream_with_the_protocols_error_and_the_agent_is_told() {
    let (house, agent) = (house(), Agent::start());
    let gateway = start(&house, &agent, "");
    let mut caller = Caller::ask(&gateway, &request());
    agent.event(&status("TASK_STATE_WORKING"));
    caller.until("WORKING");
    agent.event(&artifact((-1).into()));
    agent.event(&artifact(1.into()));
    caller.until("0\r\n\r\n");
    let data = caller.data();
    assert_eq!(data.len(), 2, "{}", caller.text);
    assert_eq!(data[1]["id"], 7);
    assert_eq!(data[1]["error"]["data"][0]["code"], "reply_refused");
    assert_eq!(data[1]["error"]["data"][0]["cause"], "content_invalid");
    assert!(data[1]["error"]["data"][0]["decision_id"].is_string(), "{}", caller.text);
    agent.gone.recv_timeout(Duration::from_secs(10)).expect("the agent's stream is ended");
    wait("the record", || house.audit().iter().any(|record| record["code"] == "reply_refused"));
}

#[test]
fn sse_event_that_smuggles_a_second_message_ends_the_stream() {
    let (house, agent) = (house(), Agent::start());
    let gateway = start(&house, &agent, "");
    let mut caller = Caller::ask(&gateway, &request());
    let (one, two) = (status("TASK_STATE_WORKING"), artifact(1.into()));
    agent.say.send(format!("data: {one}\rdata: {two}\n\n").into_bytes()).unwrap();
    caller.until("0\r\n\r\n");
    assert_eq!(caller.data().len(), 1);
    assert_eq!(caller.data()[0]["error"]["data"][0]["code"], "upstream_invalid");
    drop(house);
}

#[test]
fn an_agents_own_error_ends_the_stream_with_its_number_and_our_words() {
    let (house, agent) = (house(), Agent::start());
    let gateway = start(&house, &agent, "");
    let mut caller = Caller::ask(&gateway, &request());
    agent.event(&json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32004, "message": "secret stack"}}));
    caller.until("0\r\n\r\n");
    assert_eq!(caller.data()[0]["error"]["code"], -32004);
    assert!(!caller.text.contains("secret"));
    // whoever hears the same task hears the same (A2A 1.0 §3.5.2), and an id is of one decision
    assert!(caller.data()[0]["error"]["data"][0]["decision_id"].is_null(), "{}", caller.text);
}

#[test]
fn a_caller_who_leaves_takes_the_agents_stream_along() {
    let (house, agent) = (house(), Agent::start());
    let gateway = start(&house, &agent, "");
    let mut caller = Caller::ask(&gateway, &request());
    agent.event(&status("TASK_STATE_WORKING"));
    caller.until("WORKING");
    drop(caller);
    agent.gone.recv_timeout(Duration::from_secs(10)).expect("the agent's stream is ended");
    wait("the record", || house.audit().iter().any(|record| record["verdict"] == "abandoned"));
}

#[test]
fn a_caller_that_closed_its_direction_hears_the_stream_to_its_end() {
    let (house, agent) = (house(), Agent::start());
    let gateway = start(&house, &agent, "");
    let mut caller = Caller::ask(&gateway, &request());
    caller.stream.shutdown(std::net::Shutdown::Write).unwrap();
    agent.event(&status("TASK_STATE_WORKING"));
    caller.until("WORKING");
    std::thread::sleep(Duration::from_millis(300));
    agent.event(&status("TASK_STATE_COMPLETED"));
    caller.until("COMPLETED");
    drop(house);
}

#[test]
fn a_silent_stream_and_one_that_lasts_too_long_are_ended() {
    for limits in ["stream_idle = \"300ms\"", "stream_time = \"300ms\""] {
        let (house, agent) = (house(), Agent::start());
        let gateway = start(&house, &agent, limits);
        let mut caller = Caller::ask(&gateway, &request());
        agent.event(&status("TASK_STATE_WORKING"));
        caller.until("0\r\n\r\n");
        assert_eq!(caller.data()[1]["error"]["data"][0]["code"], "upstream_timeout", "{limits}");
    }
}

#[test]
fn a_stream_outlives_the_idle_time_of_its_connection() {
    let (house, agent) = (house(), Agent::start());
    let gateway = start(&house, &agent, "idle_timeout = \"300ms\"");
    let mut caller = Caller::ask(&gateway, &request());
    agent.event(&status("TASK_STATE_WORKING"));
    caller.until("WORKING");
    std::thread::sleep(Duration::from_millis(1000));
    agent.event(&status("TASK_STATE_COMPLETED"));
    caller.until("COMPLETED");
}

#[test]
fn an_event_is_not_held_back_for_the_next() {
    let (house, agent) = (house(), Agent::start());
    let gateway = start(&house, &agent, "");
    let mut caller = Caller::ask(&gateway, &request());
    caller.until("\r\n\r\n");
    let began = Instant::now();
    agent.event(&status("TASK_STATE_WORKING"));
    caller.until("WORKING");
    // a millisecond is the promise of a release build; this one is not, and shares its machine
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}

#[test]
fn a_stream_that_nobody_asked_for_is_no_answer() {
    let (house, agent) = (house(), Agent::start());
    let gateway = start(&house, &agent, "");
    let mut request = request();
    request["method"] = "SendMessage".into();
    let mut caller = Caller::ask(&gateway, &request);
    agent.event(&status("TASK_STATE_WORKING"));
    let Agent { say, .. } = agent;
    drop(say);
    assert!(caller.until("}]}}").contains("upstream_invalid"));
}
