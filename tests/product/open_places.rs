//! Places of MCP and A2A that are open to everybody, through the running binary: what is removed is recorded, and the rest behaves as directly.

use crate::support;

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use support::gateway::{Gateway, Scripted, free_address, read_message};
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
}

/// Waits for a record of this direction whose `removed` has all of these.
fn recorded(gateway: &Gateway, direction: &str, pointers: &[&str]) {
    wait_for("the record", || {
        let records = std::fs::read_to_string(&gateway.audit).ok()?;
        let mut records = records.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let has = |record: &Value| {
            let removed = record["removed"].as_array();
            removed.is_some_and(|removed| pointers.iter().all(|pointer| removed.contains(&json!(pointer))))
        };
        records.find(|record| record["direction"] == direction && has(record)).map(drop)
    });
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
    recorded(
        &house.gateway,
        "request",
        &["/params/_meta/vscode.requestId", "/params/_meta/claudecode~1toolUseId", "/params/_meta/ui"],
    );
    recorded(
        &house.gateway,
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
    recorded(&house.gateway, "request", &["/params/_meta/correlationId"]);
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
    recorded(&house.gateway, "request", &["/params/capabilities/tasks", "/params/capabilities/experimental"]);
    recorded(&house.gateway, "reply", &["/result/capabilities/tasks", "/result/serverInfo/vendor"]);
}

/// A route of A2A that admits text alone, before an agent that answers with this metadata on all it says.
fn texts(more: &str) -> (Up, Scripted, Gateway, SocketAddr) {
    let metadata = json!({"adk_session": "s", "urn.example/x": 1});
    let message = json!({"messageId": "r-1", "role": "ROLE_AGENT", "metadata": metadata, "parts": [{"text": "hi", "metadata": metadata}]});
    let task = json!({"id": "t-1", "contextId": "c-1", "metadata": metadata, "status": {"state": "TASK_STATE_COMPLETED", "message": message}});
    let (up, agent) = (
        Up::start(),
        Scripted::saying(json!({"jsonrpc": "2.0", "id": 7, "result": {"task": task}}).to_string()),
    );
    let rules = r#"@id("asks") permit (principal in Group::"partners", action, resource is a2a::text);
        @id("answers") permit (principal in Group::"repliers", action, resource is a2a::text);"#;
    std::fs::write(up.path("/policies").join("a2a.cedar"), rules).unwrap();
    let listen = free_address();
    let route = format!(
        "[[route]]\nname = \"texts\"\nlisten = \"{listen}\"\nbinding = \"a2a\"\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{}/\"\ncontexts = [\"*\"]\nadmit = [\"text\"]\ndefault_context = \"urn:contexts:a2a:v1.0\"\n{more}",
        agent.address
    );
    let gateway = Gateway::before(&up, agent.address, &route);
    (up, agent, gateway, listen)
}

/// What an agent of google-adk sends, with this metadata on its part.
fn hello(listen: SocketAddr, metadata: &Value) -> Answer {
    let message =
        json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hello", "metadata": metadata}]});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "SendMessage", "params": {"message": message, "configuration": {}}}).to_string();
    let mut stream = TcpStream::connect(listen).unwrap();
    let head = format!(
        "POST / HTTP/1.1\r\nhost: {listen}\r\na2a-version: 1.0\r\ncontent-type: application/json\r\n"
    );
    write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
    Answer::read(&mut stream)
}

#[test]
fn metadata_of_an_adk_agent_is_removed_from_parts_messages_and_tasks_on_a_route_of_texts() {
    let (_up, agent, gateway, listen) = texts("");
    let answer = hello(listen, &json!({"is_user_input": true})).json();
    let task = &answer["result"]["task"];
    assert_eq!(task["status"]["message"]["parts"], json!([{"text": "hi"}]), "{answer}");
    assert!(!answer.to_string().contains("metadata"), "{answer}");
    let received: Value = serde_json::from_str(&agent.bodies()[0]).unwrap();
    assert_eq!(received["params"]["message"]["parts"], json!([{"text": "hello"}]));
    recorded(&gateway, "request", &["/params/message/parts/0/metadata/is_user_input"]);
    recorded(
        &gateway,
        "reply",
        &["/result/task/metadata/adk_session", "/result/task/status/message/parts/0/metadata/urn.example~1x"],
    );
    let refused = hello(listen, &json!({"urn:contexts:snl:v1.0": {"context": "urn:contexts:payment:v1.0"}}));
    assert_eq!(refused.code(), "malformed");
    assert_eq!(agent.received(), 1);
}

#[test]
fn a_route_of_a2a_lets_listed_metadata_pass() {
    let (_up, agent, _gateway, listen) = texts("meta = [\"is_user_input\", \"adk_session\"]\n");
    let metadata = json!({"is_user_input": true});
    let answer = hello(listen, &metadata).json();
    assert_eq!(answer["result"]["task"]["metadata"], json!({"adk_session": "s"}), "{answer}");
    let received: Value = serde_json::from_str(&agent.bodies()[0]).unwrap();
    assert_eq!(received["params"]["message"]["parts"][0]["metadata"], metadata);
}
