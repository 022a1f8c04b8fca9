//! Places of MCP and A2A that are open to everybody, through the running binary: what is removed is recorded, and the rest behaves as directly.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use support::gateway::{Gateway, free_address, read_message};
use support::{Answer, SEMGATE, Up, address, wait_for};

const RULES: &str = r#"
@id("open") permit (principal in Group::"partners", action, resource is mcp::Initialize);
@id("opened") permit (principal in Group::"repliers", action, resource is mcp::Initialize_results);
@id("list") permit (principal in Group::"partners", action, resource is mcp::ListTools);
@id("listed") permit (principal in Group::"repliers", action, resource is mcp::ListTools_results);
@id("add") permit (principal in Group::"partners", action, resource is sums::add);
@id("added") permit (principal in Group::"repliers", action, resource is sums::add_results);
"#;

/// A server that offers its one tool only to clients with every capability, and writes what MCP leaves open.
struct Server {
    address: SocketAddr,
    /// Every message that came, in order.
    received: Arc<Mutex<Vec<Value>>>,
}

fn tool() -> Value {
    let integer = json!({"type": "integer"});
    let sum = json!({"type": "object", "properties": {"sum": integer}, "required": ["sum"]});
    let takes = json!({"type": "object", "properties": {"a": integer, "b": integer}, "required": ["a", "b"]});
    json!({"name": "add", "inputSchema": takes, "outputSchema": sum, "_meta": {"ui": {"resourceUri": "ui://x"}}})
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let messages = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let messages = Arc::clone(&messages);
                std::thread::spawn(move || Self::serve(stream, &messages));
            }
        });
        Self { address, received }
    }

    fn serve(mut stream: TcpStream, received: &Mutex<Vec<Value>>) {
        let mut buffer = vec![0; 64 * 1024];
        while let Some(bytes) = read_message(&mut stream, &mut buffer) {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            let message: Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
            let mut all = received.lock().unwrap();
            all.push(message.clone());
            let announced = all.iter().any(|message| {
                let capabilities = &message["params"]["capabilities"];
                capabilities["tasks"].is_object() && capabilities["sampling"]["tools"].is_object()
            });
            drop(all);
            let is_call = message["method"] == "tools/call";
            let result = match message["method"].as_str().unwrap_or_default() {
                "initialize" => {
                    json!({"protocolVersion": "2025-11-25", "serverInfo": {"name": "sums", "version": "1", "vendor": "x"},
                    "capabilities": {"tools": {"listChanged": true}, "tasks": {"requests": {"tools": {"call": {"a": {"b": {}}}}}}}})
                }
                "tools/list" if announced => json!({"tools": [tool()], "nextCursor": null}),
                "tools/list" => json!({"tools": []}),
                _ if is_call => {
                    json!({"content": [{"type": "text", "text": "{\"sum\":3}", "annotations": null, "_meta": {"fastmcp": {}}}],
                    "structuredContent": {"sum": 3}, "_meta": {"fastmcp": {"wrap_result": true}}, "resultType": "complete"})
                }
                _ => Value::Null,
            };
            let body =
                json!({"jsonrpc": "2.0", "id": message["id"], "error": null, "result": result}).to_string();
            let (status, body) = if result.is_null() { (202, String::new()) } else { (200, body) };
            let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
            let head = format!("HTTP/1.1 {status} x\r\n{kind}content-length: {}\r\n\r\n", body.len());
            let _ = stream.write_all((head + &body).as_bytes());
        }
    }

    /// The `_meta` of the last call.
    fn meta(&self) -> Option<Value> {
        let received = self.received.lock().unwrap();
        received.iter().rev().find(|message| message["method"] == "tools/call")?["params"]
            .get("_meta")
            .cloned()
    }
}

struct House {
    up: Up,
    server: Server,
    gateway: Gateway,
    url: String,
}

/// A gateway before the server, whose tool is imported and signed; `more` is on its route.
fn house(more: &str) -> House {
    let (up, server) = (Up::start(), Server::start());
    let semgate = |arguments: &[&str]| {
        let output = Command::new(SEMGATE).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let draft = up.dir.join("sums.json");
    let (draft, dir) = (draft.to_str().unwrap(), up.dir.to_str().unwrap());
    let upstream = format!("http://{}/mcp", server.address);
    semgate(&[
        "context",
        "import",
        "mcp",
        &upstream,
        "--line",
        "sums",
        "--protocol",
        "2025-11-25",
        "--out",
        draft,
    ]);
    semgate(&["context", "publish", draft, "--dir", dir]);
    std::fs::write(up.path("/policies").join("mcp.cedar"), RULES).unwrap();
    let listen = free_address();
    let route = format!(
        "[[route]]\nname = \"mcp\"\nlisten = \"{listen}\"\nbinding = \"mcp\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"{upstream}\"\ncontexts = [\"*\"]\ndefault_context = \"urn:contexts:sums:v1.0\"\n{more}"
    );
    let gateway = Gateway::before(&up, server.address, &route);
    House { up, server, gateway, url: format!("https://{listen}/") }
}

impl House {
    fn post(&self, method: &str, params: Value) -> Answer {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string();
        let version = if method == "initialize" { "" } else { "mcp-protocol-version: 2025-11-25\r\n" };
        let head = format!(
            "POST / HTTP/1.1\r\nhost: {}\r\naccept: application/json, text/event-stream\r\n{version}content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            address(&self.url),
            body.len()
        );
        let mut stream = self.up.connect(Some("retailer-7"), &self.url);
        stream.write_all((head + &body).as_bytes()).unwrap();
        stream.flush().unwrap();
        Answer::read(&mut stream)
    }

    fn call(&self, meta: Value) -> Answer {
        self.post("tools/call", json!({"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": meta}))
    }

    /// The `removed` of a record of this direction that has all of these.
    fn recorded(&self, direction: &str, pointers: &[&str]) {
        wait_for("the record", || {
            let records = std::fs::read_to_string(&self.gateway.audit).ok()?;
            let mut records = records.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let has = |record: &Value| {
                let removed = record["removed"].as_array();
                removed
                    .is_some_and(|removed| pointers.iter().all(|pointer| removed.contains(&json!(pointer))))
            };
            records.find(|record| record["direction"] == direction && has(record)).map(drop)
        });
    }
}

#[test]
fn an_editors_meta_is_removed_and_recorded_and_a_listed_tools_meta_may_be_echoed() {
    let house = house("");
    let tools = house.post("tools/list", json!({"_meta": {"vscode.requestId": "x"}})).json();
    assert_eq!(tools["result"], json!({"tools": [tool()]}), "{tools}");
    let mut meta = tool()["_meta"].clone();
    meta["vscode.requestId"] = json!("x");
    meta["claudecode/toolUseId"] = json!("toolu_01");
    meta["progressToken"] = json!(2);
    let answer = house.call(meta).json();
    assert_eq!(
        answer["result"],
        json!({"content": [{"type": "text", "text": "{\"sum\":3}"}], "structuredContent": {"sum": 3}}),
        "{answer}"
    );
    assert_eq!(house.server.meta(), Some(json!({"progressToken": 2})));
    house.recorded(
        "request",
        &["/params/_meta/vscode.requestId", "/params/_meta/claudecode~1toolUseId", "/params/_meta/ui"],
    );
    house.recorded(
        "reply",
        &[
            "/result/_meta/fastmcp",
            "/result/content/0/_meta/fastmcp",
            "/result/content/0/annotations",
            "/error",
        ],
    );
    for key in ["dev.semgate/other", "io.modelcontextprotocol/other", "Dev.Semgate/L9", "ProgressToken"] {
        assert_eq!(house.call(json!({key: 1})).code(), "malformed", "{key}");
    }
}

#[test]
fn a_route_lets_listed_meta_pass() {
    let house = house("meta = [\"vscode.\", \"claudecode/\"]\n");
    let listed = json!({"vscode.requestId": "x", "claudecode/toolUseId": "y"});
    let mut meta = listed.clone();
    meta["correlationId"] = json!("abc");
    assert!(house.call(meta).json()["result"].is_object());
    assert_eq!(house.server.meta(), Some(listed));
    house.recorded("request", &["/params/_meta/correlationId"]);
    assert_eq!(house.call(json!({"vscode.x": "x".repeat(5_000)})).code(), "malformed");
}

#[test]
fn capabilities_of_any_depth_open_a_session_and_those_that_are_not_carried_are_removed() {
    let house = house("");
    let tasks = json!({"list": {}, "requests": {"sampling": {"createMessage": {"a": {"b": {"c": 1}}}}}});
    let capabilities =
        json!({"elicitation": {"form": {}}, "tasks": tasks, "experimental": {"vendor.example/x": tasks}});
    let asked = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "c", "version": "1"}});
    let answer = house.post("initialize", asked).json();
    assert_eq!(answer["result"]["capabilities"], json!({"tools": {"listChanged": true}}), "{answer}");
    assert_eq!(answer["result"]["serverInfo"], json!({"name": "sums", "version": "1"}));
    let received = house.server.received.lock().unwrap().last().unwrap()["params"]["capabilities"].clone();
    assert_eq!(received, json!({"elicitation": {"form": {}}}));
    house.recorded("request", &["/params/capabilities/tasks", "/params/capabilities/experimental"]);
    house.recorded("reply", &["/result/capabilities/tasks", "/result/serverInfo/vendor"]);
}
