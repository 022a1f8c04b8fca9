//! Cost of A2A, MCP, LDP and IAC through the gateway, beside plain forwarding, and the delay of a stream's first event (README,
//! "Speed").
//!
//!     cargo bench -p semgate --bench protocols [-- a2a grpc mcp stream ldp iac]
//!
//! Every check is on, the answer is judged too. Streams are measured against the direct path, one at a time: the agent says its first
//! event and waits before the next, so that a proxy that held the stream back would show it.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "calls.rs"]
mod calls;
#[path = "ldp.rs"]
mod ldp;
#[path = "proxies.rs"]
mod proxies;
#[path = "../support/mod.rs"]
mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use proxies::{Load, NOT_LIMITED, Proxy, compare, compare_under, median};
use serde_json::{Value, json};
use support::gateway::{Gateway, Scripted, free_address};
use support::iac::{self, Scene};
use support::{SEMGATE, Up};

const CONTEXT: &str = "urn:contexts:supplyChain:v1.0";
const EXTENSION: &str = "urn:contexts:snl:v1.0";
const RULES: &str = r#"
@id("add") permit (principal in Group::"partners", action, resource is sums::add) when { resource.a < 1000 };
@id("added") permit (principal in Group::"repliers", action, resource is sums::add_results);
"#;
/// Streams that are timed each way, after a tenth of them to warm up.
const STREAMS: usize = 2_000;
/// Round trips that are timed each way, after a tenth of them to warm up.
const ROUND_TRIPS: usize = 5_000;
/// How long the agent waits after its first event: much longer than a proxy that does not wait for the second needs.
const BETWEEN_EVENTS: Duration = Duration::from_millis(3);

fn main() {
    let up = Up::start();
    let here = tempfile::tempdir().unwrap();
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wants = |name: &str| asked.is_empty() || asked.iter().any(|asked| asked == name);
    if wants("a2a") {
        a2a(&up, here.path());
    }
    if wants("grpc") {
        grpc(&up, here.path());
    }
    if wants("mcp") {
        mcp(&up, here.path());
    }
    if wants("stream") {
        first_event(&up);
    }
    if wants("ldp") {
        ldp::round_trip(&up);
    }
    if wants("iac") {
        iac("cubic");
        iac("bbr");
    }
}

/// Round trips of the stock client and server, a Command with one concept and its Reply, direct and through the gateway in turn; the
/// gateway with either congestion control.
fn iac(congestion: &str) {
    let scene = Scene::start(&format!("congestion = \"{congestion}\"\n{}", iac::NOT_LIMITED));
    let _agent = scene.stock();
    let decision = json!({"concept": "current_decision", "item_id": "beer", "quantity": 120});
    let measured = std::env::args().any(|word| word == "--bench");
    let rounds = if measured { ROUND_TRIPS } else { 20 };
    let took = iac::round_trips(&scene, &decision, rounds);
    println!("IAC (iac-rs 0.0.8), Command to Reply over QUIC with {congestion}, {rounds} round trips");
    println!("\n| path | µs (median) | µs (99th percentile) |\n|---|---|---|");
    let [direct, through] = took.map(|took| [took[took.len() / 2], took[took.len() * 99 / 100]]);
    let added = through[0] - direct[0];
    println!("| direct | {:.0} | {:.0} |", direct[0], direct[1]);
    println!("| semgate, every check on | {:.0} | {:.0} |", through[0], through[1]);
    println!("| added | {added:.0} | {:.0} |", through[1] - direct[1]);
}

fn grpc(up: &Up, here: &std::path::Path) {
    let agent =
        calls::agent(calls::framed("SendMessageResponse", &json!({"message": message("a-1", "ROLE_AGENT")})));
    let listen = free_address();
    let route = format!(
        "[[route]]\nname = \"grpc\"\nlisten = \"{listen}\"\nbinding = \"a2a\"\ntransports = [\"grpc\"]\nupstream_http2 = true\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{agent}\"\ncontexts = [\"*\"]\n"
    );
    let product = Gateway::on_one_core(up, agent, &format!("{NOT_LIMITED}\n{route}"));
    println!("A2A 1.0, `SendMessage` over gRPC (h2c), three concepts");
    let asked = calls::framed("SendMessageRequest", &json!({"message": message("m-1", "ROLE_USER")}));
    compare_under(
        &Load::Call(asked.into(), calls::one_connection),
        &[&Proxy::nginx_grpc(here, agent), &Proxy::product("semgate, every check on", listen, &product)],
        &["nginx"],
    );
}

fn a2a(up: &Up, here: &std::path::Path) {
    let said = json!({"jsonrpc": "2.0", "id": "r-1", "result": {"message": message("a-1", "ROLE_AGENT")}});
    let agent = Scripted::saying(said.to_string());
    let product = Gateway::on_one_core(up, agent.address, NOT_LIMITED);
    println!("A2A 1.0, `SendMessage` over JSON-RPC, three concepts");
    compare(
        &a2a_request("SendMessage"),
        &[
            &Proxy::nginx(here, agent.address, "/a2a"),
            &Proxy::product("semgate, every check on", product.a2a, &product),
        ],
    );
}

fn mcp(up: &Up, here: &std::path::Path) {
    let document = up.dir.join("sums.json");
    std::fs::write(&document, sums().to_string()).unwrap();
    let publish = ["context", "publish", document.to_str().unwrap(), "--dir", up.dir.to_str().unwrap()];
    assert!(Command::new(SEMGATE).args(publish).status().unwrap().success());
    std::fs::write(up.path("/policies").join("sums.cedar"), RULES).unwrap();
    let result = json!({"resultType": "complete", "structuredContent": {"sum": 3},
        "content": [{"type": "text", "text": "{\"sum\":3}"}]});
    let server = Scripted::saying(json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string());
    let listen = free_address();
    let route = format!(
        "[[route]]\nname = \"mcp\"\nlisten = \"{listen}\"\nbinding = \"mcp\"\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{}/mcp\"\ncontexts = [\"*\"]\ndefault_context = \"urn:contexts:sums:v1.0\"\n",
        server.address
    );
    let product = Gateway::on_one_core(up, server.address, &format!("{NOT_LIMITED}\n{route}"));
    println!("MCP 2026-07-28, `tools/call` of one tool with two numbers");
    compare(
        &mcp_request(),
        &[
            &Proxy::nginx(here, server.address, "/mcp"),
            &Proxy::product("semgate, every check on", listen, &product),
        ],
    );
}

/// A context with the one tool; which form its server describes it in is nobody's question here.
fn sums() -> Value {
    let integer = json!({"type": "integer"});
    let digest = "0".repeat(64);
    json!({"context": "urn:contexts:sums:v1.0", "tasks": {"add": {
        "parameters": {"$comment": format!("mcp-tool add sha-256:{digest}"), "type": "object",
            "properties": {"a": integer, "b": integer}, "required": ["a", "b"]},
        "results": {"type": "object", "properties": {"sum": integer}, "required": ["sum"]},
        "performatives": ["REQUEST", "QUERY", "INFORM"],
    }}})
}

fn mcp_request() -> Vec<u8> {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let more = "accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: add\r\n";
    post(more, &body)
}

fn message(id: &str, role: &str) -> Value {
    json!({"messageId": id, "role": role, "metadata": {EXTENSION: {"context": CONTEXT}}, "parts": concepts()})
}

fn concepts() -> Value {
    json!([
        {"data": {"concept_type": "current_decision", "item_id": "beer", "quantity": 120}},
        {"data": {"concept_type": "decision_contingency", "if_condition_text": "demand increases by 10%",
            "then_change_text": "increase order by 15 units"}},
        {"data": {"concept_type": "local_observation", "observed_fact_text": "Current spike seems temporary",
            "confidence_score": 0.8}},
    ])
}

fn a2a_request(method: &str) -> Vec<u8> {
    let params = json!({"message": message("m-1", "ROLE_USER")});
    let body = json!({"jsonrpc": "2.0", "id": "r-1", "method": method, "params": params}).to_string();
    post("a2a-version: 1.0\r\n", &body)
}

fn post(more: &str, body: &str) -> Vec<u8> {
    let head = "POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json";
    format!("{head}\r\n{more}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn first_event(up: &Up) {
    let agent = streaming_agent();
    let product = Gateway::on_one_core(up, agent, NOT_LIMITED);
    let request = a2a_request("SendStreamingMessage");
    let (mut direct, mut through) = (Timed::connect(agent), Timed::connect(product.a2a));
    // one after the other, so that what else the machine does falls on both
    for n in 0..STREAMS + STREAMS / 10 {
        for side in [&mut direct, &mut through] {
            let took = side.first_event(&request);
            if n >= STREAMS / 10 {
                side.took.push(took);
            }
        }
    }
    let [direct, through] = [direct, through].map(|mut side| {
        let median = median(&mut side.took);
        (median, side.took[side.took.len() * 99 / 100])
    });
    println!("A2A 1.0, `SendStreamingMessage` over JSON-RPC: request to first event, {STREAMS} streams");
    println!("\n| path | µs (median) | µs (99th percentile) |\n|---|---|---|");
    println!(
        "| direct | {:.0} | {:.0} |\n| semgate, every check on | {:.0} | {:.0} |",
        direct.0, direct.1, through.0, through.1
    );
    println!("| later by | {:.0} | {:.0} |", through.0 - direct.0, through.1 - direct.1);
}

/// A connection, and how long each first event took in microseconds.
struct Timed {
    stream: TcpStream,
    took: Vec<f64>,
}

impl Timed {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, took: Vec::with_capacity(STREAMS) }
    }

    fn first_event(&mut self, request: &[u8]) -> f64 {
        let began = Instant::now();
        self.stream.write_all(request).unwrap();
        let (mut buffer, mut filled, mut first) = (vec![0; 16 * 1024], 0, None);
        while !buffer[..filled].ends_with(b"\r\n0\r\n\r\n") {
            let n = self.stream.read(&mut buffer[filled..]).unwrap();
            assert!(n > 0, "{}", String::from_utf8_lossy(&buffer[..filled]));
            filled += n;
            if first.is_none() && buffer[..filled].windows(5).any(|five| five == b"data:") {
                first = Some(began.elapsed());
            }
        }
        let text = String::from_utf8_lossy(&buffer[..filled]);
        assert!(text.contains("TASK_STATE_COMPLETED"), "{text}");
        first.unwrap().as_secs_f64() * 1e6
    }
}

/// An agent whose every answer is a stream of three events: a task, what it says, and that it is done.
fn streaming_agent() -> SocketAddr {
    let event = |result: Value| {
        let data = format!("data: {}\n\n", json!({"jsonrpc": "2.0", "id": "r-1", "result": result}));
        format!("{:x}\r\n{data}\r\n", data.len())
    };
    let artifact =
        json!({"artifactId": "a-1", "parts": concepts(), "metadata": {EXTENSION: {"context": CONTEXT}}});
    let task = json!({"id": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_WORKING"}});
    let first = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        .to_owned()
        + &event(json!({"task": task}));
    let rest = event(json!({"artifactUpdate": {"taskId": "t-1", "contextId": "c-1", "artifact": artifact}}))
        + &event(
            json!({"statusUpdate": {"taskId": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_COMPLETED"}}}),
        )
        + "0\r\n\r\n";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (first, rest) = (first.clone(), rest.clone());
            std::thread::spawn(move || {
                stream.set_nodelay(true).unwrap();
                let mut buffer = vec![0; 64 * 1024];
                while support::gateway::read_message(&mut stream, &mut buffer).is_some() {
                    if stream.write_all(first.as_bytes()).is_err() {
                        return;
                    }
                    std::thread::sleep(BETWEEN_EVENTS);
                    if stream.write_all(rest.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}
