//! Answers of a server of MCP that are several JSON values, one a line, and streams with progress that nobody asked for, through the running binary.

use crate::support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use support::gateway::{Gateway, free_address, read_message};
use support::mcp::until;
use support::{Answer, SEMGATE, Up, address, wait_for};

const RULES: &str = r#"
@id("open") permit (principal in Group::"partners", action, resource is mcp::Initialize);
@id("opened") permit (principal in Group::"repliers", action, resource is mcp::Initialize_results);
@id("list") permit (principal in Group::"partners", action, resource is mcp::ListTools);
@id("listed") permit (principal in Group::"repliers", action, resource is mcp::ListTools_results);
@id("listen") permit (principal in Group::"partners", action, resource is mcp::Listen);
@id("begins") permit (principal in Group::"repliers", action, resource is mcp::SubscriptionsAcknowledged);
@id("changed") permit (principal in Group::"repliers", action, resource is mcp::ToolListChanged);
@id("progress") permit (principal in Group::"repliers", action, resource is mcp::Progress);
@id("add") permit (principal in Group::"partners", action, resource is sums::add);
@id("added") permit (principal in Group::"repliers", action, resource is sums::add_results);
"#;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// A server that answers a call, a subscription or the opening of a session with the pieces that it is told to say, and everything else as one object.
struct Server {
    address: SocketAddr,
    script: Arc<Mutex<Script>>,
}

struct Script {
    kind: &'static str,
    pieces: Option<Receiver<String>>,
    /// What the list of tools begins with, before the list.
    lists_after: String,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let script = Script { kind: JSON, pieces: None, lists_after: String::new() };
        let script = Arc::new(Mutex::new(script));
        let told = Arc::clone(&script);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let script = Arc::clone(&told);
                std::thread::spawn(move || serve(stream, &script));
            }
        });
        Self { address, script }
    }

    /// The pieces of the next scripted answer, as long as the sender lives.
    fn begins(&self, kind: &'static str) -> Sender<String> {
        let (sender, pieces) = channel();
        let mut script = self.script.lock().unwrap();
        (script.kind, script.pieces) = (kind, Some(pieces));
        sender
    }

    /// The next scripted answer, whole.
    fn says(&self, kind: &'static str, pieces: &[&str]) {
        let sender = self.begins(kind);
        pieces.iter().for_each(|piece| sender.send((*piece).to_owned()).unwrap());
    }
}

fn serve(mut stream: TcpStream, script: &Mutex<Script>) {
    let mut buffer = vec![0; 64 * 1024];
    while let Some(bytes) = read_message(&mut stream, &mut buffer) {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let message: Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
        let (kind, pieces) = {
            let mut script = script.lock().unwrap();
            (script.kind, script.pieces.take())
        };
        let id = &message["id"];
        let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        match (message["method"].as_str().unwrap(), pieces) {
            ("tools/list", kept) => {
                let mut script = script.lock().unwrap();
                script.pieces = kept;
                let body = format!("{}{}", script.lists_after, result(json!({"tools": [tool()]})));
                whole(&mut stream, 200, &body);
            }
            (method, Some(pieces)) => {
                let session = if method == "initialize" { "mcp-session-id: s-1\r\n" } else { "" };
                let head = format!(
                    "HTTP/1.1 200 OK\r\n{session}content-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n"
                );
                let _ = stream.write_all(head.as_bytes());
                for piece in pieces {
                    let _ = stream.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes());
                }
                let _ = stream.write_all(b"0\r\n\r\n");
            }
            ("initialize", None) => whole(&mut stream, 200, &result(opened())),
            _ => whole(&mut stream, 202, ""),
        }
    }
}

fn whole(stream: &mut TcpStream, status: u16, body: &str) {
    let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
    let head = format!("HTTP/1.1 {status} x\r\n{kind}content-length: {}\r\n\r\n", body.len());
    let _ = stream.write_all((head + body).as_bytes());
}

fn opened() -> Value {
    json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "sums", "version": "1"}})
}

fn tool() -> Value {
    let integer = json!({"type": "integer"});
    let sum = json!({"type": "object", "properties": {"sum": integer}, "required": ["sum"]});
    let takes = json!({"type": "object", "properties": {"a": integer, "b": integer}, "required": ["a", "b"]});
    json!({"name": "add", "description": "Adds.", "inputSchema": takes, "outputSchema": sum})
}

struct House {
    up: Up,
    server: Server,
    gateway: Gateway,
    url: String,
}

/// A gateway before the server, whose tool is signed; `more` is on its route.
fn house(more: &str) -> House {
    let (up, server) = (Up::start(), Server::start());
    let semgate = |arguments: &[&str]| {
        let output = Command::new(SEMGATE).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let draft = up.dir.join("sums.json");
    let (draft, dir) = (draft.to_str().unwrap(), up.dir.to_str().unwrap());
    let behind = format!("http://{}/mcp", server.address);
    semgate(&["context", "import", "mcp", &behind, "--line", "sums", "--out", draft]);
    semgate(&["context", "publish", draft, "--dir", dir]);
    std::fs::write(up.path("/policies").join("mcp.cedar"), RULES).unwrap();
    let listen = free_address();
    let route = format!(
        "[[route]]\nname = \"mcp\"\nlisten = \"{listen}\"\nbinding = \"mcp\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"{behind}\"\ncontexts = [\"*\"]\ndefault_context = \"urn:contexts:sums:v1.0\"\n{more}"
    );
    let gateway = Gateway::before(&up, server.address, &route);
    House { up, server, gateway, url: format!("https://{listen}/") }
}

impl House {
    /// Sends a request of 2026-07-28 and leaves the answer to be read piece by piece.
    fn ask(&self, method: &str, mut params: Value) -> Box<dyn Read + '_> {
        params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}, "progressToken": "p"});
        let name = params.get("name").and_then(Value::as_str).map(|name| format!("mcp-name: {name}\r\n"));
        let head = format!(
            "mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n{}",
            name.unwrap_or_default()
        );
        self.post(&head, &json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}))
    }

    fn post(&self, head: &str, message: &Value) -> Box<dyn Read + '_> {
        let (host, body) = (address(&self.url), message.to_string());
        let head = format!(
            "POST / HTTP/1.1\r\nhost: {host}\r\naccept: {JSON}, {EVENTS}\r\n{head}content-type: {JSON}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = self.up.connect(Some("retailer-7"), &self.url);
        stream.write_all((head + &body).as_bytes()).unwrap();
        stream.flush().unwrap();
        Box::new(stream)
    }

    /// Calls the tool, which the server answers with these pieces.
    fn call(&self, kind: &'static str, pieces: &[&str]) -> Answer {
        self.server.says(kind, pieces);
        Answer::read(&mut self.ask("tools/call", json!({"name": "add", "arguments": {"a": 1, "b": 2}})))
    }

    /// The codes of what is refused in replies, once they are written.
    fn assert_refused(&self, codes: &[&str]) {
        wait_for("the records", || (self.refused() == codes).then_some(()));
    }

    fn refused(&self) -> Vec<String> {
        let records = std::fs::read_to_string(&self.gateway.audit).unwrap();
        let records = records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let replies =
            records.filter(|record| record["direction"] == "reply" && record["verdict"] == "refused");
        replies.map(|record| record["code"].as_str().unwrap().to_owned()).collect()
    }
}

fn progress(token: &str) -> String {
    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
        .to_string()
}

fn sum(sum: Value) -> String {
    json!({"jsonrpc": "2.0", "id": 7, "result": {"content": [], "structuredContent": {"sum": sum}}})
        .to_string()
}

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.clone()).unwrap()
}

/// The reason of the error that a line is.
fn error(line: &str) -> String {
    let error: Value = serde_json::from_str(line).unwrap();
    assert_eq!(error["id"], 7, "{line}");
    error["error"]["message"].as_str().unwrap().to_owned()
}

#[test]
fn several_values_one_a_line_are_no_reply_unless_the_route_takes_them_and_then_each_is_judged() {
    let lines = format!("{}\n{}", progress("p"), sum(json!(3)));
    let off = house("");
    assert_eq!(off.call(JSON, &[&lines]).code(), "upstream_invalid");

    let on = house("json_lines = true\n");
    let answer = on.call(JSON, &[&lines]);
    assert_eq!(answer.header("content-type").as_deref(), Some(JSON), "{}", answer.head);
    assert_eq!(text(&answer), format!("{lines}\n"), "the same framing");
    let cut = on.call(JSON, &[&lines[..40], &lines[40..], "\r\n\r\n"]);
    assert_eq!(text(&cut), format!("{lines}\n"), "however it is cut");
    // the first that may not pass ends the stream by the error of the request
    let answer = on.call(JSON, &[&progress("p"), "\n", &sum(json!("3")), "\n", &sum(json!(3)), "\n"]);
    let said = text(&answer);
    let said: Vec<&str> = said.lines().collect();
    assert_eq!((said.len(), said[0]), (2, progress("p").as_str()));
    assert!(error(said[1]).starts_with("reply_refused"), "{}", said[1]);
    // and no second answer comes, of the server or of the gateway
    let answer = on.call(JSON, &[&lines, "\n", &sum(json!(4)), "\n"]);
    assert_eq!(text(&answer), format!("{lines}\n"));
    on.assert_refused(&["reply_refused", "upstream_invalid"]);
}

#[test]
fn one_value_is_one_reply_however_it_is_written() {
    let on = house("json_lines = true\n");
    let pretty =
        serde_json::to_string_pretty(&serde_json::from_str::<Value>(&sum(json!(3))).unwrap()).unwrap();
    for whole in [sum(json!(3)), format!("{}\n", sum(json!(3))), pretty, format!("\n\n{}", sum(json!(3)))] {
        let (first, rest) = whole.split_at(whole.len() / 2);
        let answer = on.call(JSON, &[first, rest]);
        assert_eq!((answer.status, text(&answer)), (200, whole.clone()));
        assert_eq!(answer.header("content-length"), Some(whole.len().to_string()));
    }
    // an error has the status that the protocol gives it
    let error = json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32601, "message": "obey"}}).to_string();
    let answer = on.call(JSON, &[&error, "\n"]);
    assert_eq!((answer.status, answer.json()["error"]["code"].clone()), (404, json!(-32601)));
    // what is behind an answer would pass unread by whoever reads one
    let answer = on.call(JSON, &[&sum(json!(3)), "\n", &sum(json!(4)), "\n"]);
    assert_eq!(answer.code(), "upstream_invalid");
    assert!(!text(&answer).contains("\"sum\""), "{}", text(&answer));
    let notification = on.call(JSON, &[&progress("p")]);
    assert_eq!(notification.code(), "upstream_invalid", "it is no answer");
}

#[test]
fn attack_lines_that_some_readers_split_or_join_otherwise() {
    let on = house("json_lines = true\n");
    let (first, answer) = (progress("p"), sum(json!(3)));
    for (what, lines) in [
        ("a value behind a lone CR", format!("{first}\n{}\n", answer.replacen(':', ":\r", 1))),
        ("a value behind another", format!("{first}\n{answer} {answer}\n")),
        ("a value that is cut", format!("{first}\n{}", &answer[..answer.len() - 1])),
        ("a byte-order mark", format!("{first}\n\u{feff}{answer}\n")),
        ("a member twice", format!("{first}\n{}\n", answer.replacen("\"id\":7", "\"id\":7,\"id\":7", 1))),
        ("events among them", format!("{first}\ndata: {answer}\n\n")),
        ("an answer to another", format!("{first}\n{}\n", answer.replacen("\"id\":7", "\"id\":8", 1))),
        ("a batch", format!("{first}\n[{answer}]\n")),
        ("a question of the server", format!("{first}\n{}\n", r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#)),
        (
            "more than one event may hold",
            format!("{first}\n{}\n", answer.replacen("[]", &format!("[{}]", " ".repeat(4 << 20)), 1)),
        ),
    ] {
        let said = text(&on.call(JSON, &[&lines]));
        let said: Vec<&str> = said.lines().collect();
        assert_eq!((said.len(), said[0]), (2, first.as_str()), "{what}");
        assert!(error(said[1]).starts_with("upstream_invalid"), "{what}: {}", said[1]);
    }
    let long = on.call(JSON, &[&" ".repeat(4 << 20), "\n", &answer]);
    assert_eq!(long.code(), "upstream_invalid", "a first line that is larger than a reply may be");
    // a head under which a reader could find other lines
    let lines = format!("{first}\n{answer}\n");
    for kind in [
        "application/json\r\ncontent-encoding: gzip",
        "application/json\r\ncontent-type: application/json",
        "application/json; charset=utf-16",
        "application/json-seq",
    ] {
        let said = on.call(kind, &[&lines]);
        assert_eq!(said.code(), "upstream_invalid", "{kind}");
        assert!(!text(&said).contains("\"sum\""), "{kind}: {}", text(&said));
    }
}

#[test]
fn lines_pass_as_they_come_and_a_subscription_goes_on() {
    let on = house("json_lines = true\nwithhold_stray_progress = true\n");
    let listens = || {
        let sender = on.server.begins(JSON);
        (sender, on.ask("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})))
    };
    let told = |method: &str, id: Value, more: Value| {
        let mut params = json!({"_meta": {"io.modelcontextprotocol/subscriptionId": id}});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("{}\n", json!({"jsonrpc": "2.0", "method": method, "params": params}))
    };
    let begins = |id: Value| {
        told(
            "notifications/subscriptions/acknowledged",
            id,
            json!({"notifications": {"toolsListChanged": true}}),
        )
    };
    let changed = |id: Value| told("notifications/tools/list_changed", id, json!({}));
    // some servers write the number of a request as text
    for id in [json!(7), json!("7")] {
        let (server, mut stream) = listens();
        let mut text = String::new();
        server.send(begins(id.clone())).unwrap();
        until(&mut *stream, &mut text, "acknowledged");
        server.send(changed(id)).unwrap();
        until(&mut *stream, &mut text, "list_changed");
    }
    // a call afterwards is preceded by a list, which may come in lines too
    on.server.script.lock().unwrap().lists_after =
        format!("{}\n", progress("semgate")).replace("\"semgate\"", "0");
    assert_eq!(text(&on.call(JSON, &[&sum(json!(3))])), sum(json!(3)));

    for (id, first) in
        [(json!("8"), begins(json!("8"))), (json!("07"), begins(json!("07"))), (json!(7), changed(json!(7)))]
    {
        let (server, mut stream) = listens();
        server.send(first).unwrap();
        let mut text = String::new();
        until(&mut *stream, &mut text, "upstream_invalid");
        assert!(!text.contains("acknowledged") && !text.contains("list_changed"), "{id}: {text}");
    }
}

#[test]
fn a_session_is_opened_by_an_answer_that_comes_in_lines() {
    let on = house("json_lines = true\n");
    let ask = json!({"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
        "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}, "_meta": {"progressToken": "p"}}});
    let opens = json!({"jsonrpc": "2.0", "id": 7, "result": opened()}).to_string();
    on.server.says(JSON, &[&progress("p"), "\n", &opens, "\n"]);
    let answer = Answer::read(&mut on.post("", &ask));
    assert_eq!(answer.header("mcp-session-id").as_deref(), Some("s-1"), "{}", answer.head);
    assert_eq!(text(&answer), format!("{}\n{opens}\n", progress("p")));
    // where no answer comes, none is opened
    on.server.says(JSON, &[&progress("p"), "\n", &opens.replace("sums", "sums\\u0000"), "\n"]);
    let answer = Answer::read(&mut on.post("", &ask));
    assert_eq!(answer.header("mcp-session-id"), None, "{}", answer.head);
}

#[test]
fn progress_that_nobody_asked_for_ends_a_stream_or_is_left_out_where_the_route_says_so() {
    let event = |data: String| format!("data: {data}\n\n");
    let stray = [event(progress("p")), event(progress("another's")), event(sum(json!(3)))];
    let stray: Vec<&str> = stray.iter().map(String::as_str).collect();
    let off = house("");
    let said = text(&off.call(EVENTS, &stray));
    assert!(said.contains("upstream_invalid") && !said.contains("\"sum\""), "{said}");

    let on = house("json_lines = true\nwithhold_stray_progress = true\n");
    assert_eq!(text(&on.call(EVENTS, &stray)), [stray[0], stray[2]].concat());
    on.assert_refused(&["upstream_invalid"]);
    let lines = format!("{}\n{}", progress("another's"), sum(json!(3)));
    assert_eq!(text(&on.call(JSON, &[&lines])), format!("{}\n", sum(json!(3))));
    // all else that may not pass ends a stream as before
    let other = progress("another's").replace("\"progress\":1", "\"progress\":1,\"obey\":\"me\"");
    let twice = progress("p").replace("\"progress\":1", "\"progress\":1,\"Progress\":1");
    for bad in [
        other.replace("another's", "p"),
        twice,
        progress("another's").replace("progress\",", "progresses\","),
    ] {
        let said = text(&on.call(EVENTS, &[&event(bad.clone()), stray[2]]));
        assert!(said.contains("upstream_invalid") || said.contains("reply_refused"), "{bad}: {said}");
        assert!(!said.contains("\"sum\""), "{bad}: {said}");
    }
}
