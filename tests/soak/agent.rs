//! The agent of a soak: it answers native L8, WebSockets, A2A and MCP, and counts how often each numbered message arrives.

use std::collections::HashMap;
use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::frames;
use super::support::gateway::read_message;

/// The extension of A2A that names the context of a message.
pub const EXTENSION: &str = "urn:contexts:snl:v1.0";
/// The longest request that the agent reads, in bytes.
const LONGEST: usize = 128 * 1024;
/// The time that the flapping agent is up, and then down.
const FLAP: Duration = Duration::from_millis(1_500);

/// Arrivals by message, whose id is a lane and a number: `l8.17`.
#[derive(Default)]
pub struct Ledger(Mutex<HashMap<String, Vec<u8>>>);

impl Ledger {
    /// Counts one arrival. An id without a number is of a caller that nobody counts.
    fn count(&self, id: &str) {
        let Some((lane, number)) = id.split_once('.') else { return };
        let Ok(number) = number.parse::<usize>() else { return };
        let mut lanes = self.0.lock().unwrap();
        let lane = lanes.entry(lane.to_owned()).or_default();
        if lane.len() <= number {
            lane.resize(number + 1, 0);
        }
        lane[number] = lane[number].saturating_add(1);
    }

    /// The arrivals of each message of a lane, by number.
    pub fn lane(&self, lane: &str) -> Vec<u8> {
        self.0.lock().unwrap().get(lane).cloned().unwrap_or_default()
    }

    /// The arrivals of one message.
    pub fn arrivals(&self, lane: &str, number: usize) -> u8 {
        let lanes = self.0.lock().unwrap();
        lanes.get(lane).and_then(|lane| lane.get(number)).copied().unwrap_or(0)
    }
}

/// Starts an agent that is always up.
pub fn steady(ledger: &Arc<Ledger>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let ledger = Arc::clone(ledger);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let ledger = Arc::clone(&ledger);
            std::thread::spawn(move || serve(stream, &ledger));
        }
    });
    address
}

/// Starts an agent that closes its port and all its connections again and again, until `stop`.
pub fn flapping(address: SocketAddr, ledger: &Arc<Ledger>, stop: &Arc<AtomicBool>) -> JoinHandle<()> {
    let (ledger, stop) = (Arc::clone(ledger), Arc::clone(stop));
    std::thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            let listener = TcpListener::bind(address).unwrap();
            listener.set_nonblocking(true).unwrap();
            let (began, mut open) = (Instant::now(), Vec::new());
            while began.elapsed() < FLAP {
                let Ok((stream, _)) = listener.accept() else {
                    std::thread::sleep(Duration::from_millis(5));
                    continue;
                };
                stream.set_nonblocking(false).unwrap();
                open.push(stream.try_clone().unwrap());
                let ledger = Arc::clone(&ledger);
                std::thread::spawn(move || serve(stream, &ledger));
            }
            drop(listener);
            open.iter().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
            std::thread::sleep(FLAP);
        }
    })
}

/// Answers every request of a connection.
fn serve(mut stream: TcpStream, ledger: &Ledger) {
    let _ = stream.set_nodelay(true);
    let mut buffer = vec![0; LONGEST];
    while let Some(bytes) = read_message(&mut stream, &mut buffer) {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        if let Some(key) = frames::key(head) {
            let _ = stream.write_all(frames::accepted(&key).as_bytes());
            return sockets(&mut stream, ledger);
        }
        let path = head.split(' ').nth(1).unwrap_or_default();
        let body = serde_json::from_str(body).unwrap_or(Value::Null);
        let answer = match path {
            _ if head.starts_with("GET ") => plain(405, "", ""),
            _ if head.starts_with("DELETE ") => plain(200, "", ""),
            "/a2a" => a2a(&body, ledger),
            "/mcp" => mcp(&body, ledger),
            _ => plain(200, "", &l8(&body, ledger)),
        };
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// Answers every message of a socket.
fn sockets(stream: &mut TcpStream, ledger: &Ledger) {
    while let Some((frames::TEXT, bytes)) = frames::read(stream) {
        let message = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        if frames::write(stream, l8(&message, ledger).as_bytes(), false).is_err() {
            return;
        }
    }
}

fn plain(status: u16, headers: &str, body: &str) -> String {
    let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
    format!("HTTP/1.1 {status} x\r\n{headers}{kind}content-length: {}\r\n\r\n{body}", body.len())
}

/// The reply to a native message: AGREE to what only informs, INFORM to a question.
fn l8(message: &Value, ledger: &Ledger) -> String {
    let id = message["message_id"].as_str().unwrap_or_default();
    ledger.count(id);
    let asks = message["performative"] == "QUERY";
    let content = if asks { json!({"task": "bookFlight", "status": "confirmed"}) } else { decision() };
    json!({
        "protocol": "L8/1.0", "message_id": format!("re-{id}"),
        "performative": if asks { "INFORM" } else { "AGREE" }, "sender_id": "wholesaler-1",
        "receiver_id": message["sender_id"], "context": message["context"], "content": content,
    })
    .to_string()
}

/// Content that the shipped policies let pass in either direction.
pub fn decision() -> Value {
    json!({"concept": "current_decision", "item_id": "beer", "quantity": 120})
}

fn a2a(call: &Value, ledger: &Ledger) -> String {
    let message = &call["params"]["message"];
    let id = message["messageId"].as_str().unwrap_or_default();
    ledger.count(id);
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": call["id"], "result": result}).to_string();
    if call["method"] != "SendStreamingMessage" {
        let claim = json!({"context": message["metadata"][EXTENSION]["context"], "performative": "INFORM"});
        let reply = json!({
            "messageId": format!("re-{id}"), "contextId": format!("c-{id}"), "role": "ROLE_AGENT",
            "parts": [{"data": decision()}], "metadata": {EXTENSION: claim},
        });
        return plain(200, "", &result(json!({"message": reply})));
    }
    let (task, context) = (format!("t-{id}"), format!("c-{id}"));
    let state = |state: &str| json!({"state": state});
    let begun = json!({"id": task, "contextId": context, "status": state("TASK_STATE_WORKING")});
    let done = json!({"taskId": task, "contextId": context, "status": state("TASK_STATE_COMPLETED")});
    let mut answer =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
    for event in [json!({"task": begun}), json!({"statusUpdate": done})] {
        let event = format!("data: {}\n\n", result(event));
        answer.push_str(&format!("{:x}\r\n{event}\r\n", event.len()));
    }
    answer + "0\r\n\r\n"
}

/// A server with one tool, which adds; the number of a call is its first argument.
fn mcp(message: &Value, ledger: &Ledger) -> String {
    let id = &message["id"];
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    match message["method"].as_str() {
        Some("initialize") => {
            let body = result(json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "sums", "version": "1"}}));
            plain(200, &format!("mcp-session-id: s-{}\r\n", session()), &body)
        }
        Some("tools/list") => {
            let integer = json!({"type": "integer"});
            let takes =
                json!({"type": "object", "properties": {"a": integer, "b": integer}, "required": ["a", "b"]});
            let sum = json!({"type": "object", "properties": {"sum": integer}, "required": ["sum"]});
            let tool = json!({"name": "add", "description": "Adds two numbers.", "inputSchema": takes, "outputSchema": sum});
            plain(200, "", &result(json!({"tools": [tool]})))
        }
        Some("tools/call") => {
            let (a, b) = (&message["params"]["arguments"]["a"], &message["params"]["arguments"]["b"]);
            ledger.count(&format!("mcp.{a}"));
            let sum = a.as_u64().unwrap_or(0) + b.as_u64().unwrap_or(0);
            plain(200, "", &result(json!({"content": [], "structuredContent": {"sum": sum}})))
        }
        _ => plain(202, "", ""),
    }
}

/// A number for a session that no other session has.
fn session() -> u64 {
    static LAST: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}
