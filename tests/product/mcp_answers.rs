//! How servers of MCP answer and in which version, through the running binary: one answer once, names of events, answers to notifications,
//! spellings of media types, and sessions of 2025-06-18.

use crate::support;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use support::gateway::{Gateway, free_address, read_message};
use support::mcp::until;
use support::{Answer, PATIENCE, SEMGATE, Up, wait_for};

const RULES: &str = r#"
@id("open") permit (principal in Group::"partners", action, resource is mcp::Initialize);
@id("opened") permit (principal in Group::"repliers", action, resource is mcp::Initialize_results);
@id("ready") permit (principal in Group::"partners", action, resource is mcp::Initialized);
@id("listen") permit (principal in Group::"partners", action, resource is mcp::Listen);
@id("changed") permit (principal in Group::"repliers", action, resource is mcp::ToolListChanged);
@id("list") permit (principal in Group::"partners", action, resource is mcp::ListTools);
@id("listed") permit (principal in Group::"repliers", action, resource is mcp::ListTools_results);
@id("add") permit (principal in Group::"partners", action, resource is sums::add);
@id("added") permit (principal in Group::"repliers", action, resource is sums::add_results);
"#;

/// How a server answers a call, beside the stream of the session and what that resumes.
type Calls = fn(&Value, &mut Answers<'_>);

/// Where a server can write.
struct Answers<'a> {
    /// The exchange of the call.
    own: &'a mut TcpStream,
    /// The stream of the session, if it is open.
    session: Option<TcpStream>,
}

#[derive(Clone)]
struct Server {
    address: SocketAddr,
    script: Arc<Mutex<Script>>,
}

struct Script {
    version: &'static str,
    calls: Calls,
    /// The whole answer to a notification.
    notified: String,
    session: Option<TcpStream>,
    /// What a resumed stream says, for each event after which one was resumed.
    resumed: String,
    heads: Vec<String>,
}

impl Server {
    fn start(version: &'static str, calls: Calls) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let notified = whole("202 Accepted", "text/plain", "");
        let (session, resumed, heads) = (None, String::new(), Vec::new());
        let script = Script { version, calls, notified, session, resumed, heads };
        let server = Self { address, script: Arc::new(Mutex::new(script)) };
        let serving = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = stream.set_nodelay(true);
                let server = serving.clone();
                std::thread::spawn(move || server.serve(stream));
            }
        });
        server
    }

    fn change(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.script.lock().unwrap());
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut buffer = vec![0; 64 * 1024];
        while let Some(bytes) = read_message(&mut stream, &mut buffer) {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let head = head.to_ascii_lowercase();
            self.change(|script| script.heads.push(head.clone()));
            if head.starts_with("get ") {
                return self.stream(stream, &head);
            }
            if head.starts_with("delete ") {
                let _ = stream.write_all(whole("200 OK", "text/plain", "").as_bytes());
                continue;
            }
            let message: Value = serde_json::from_str(body).unwrap();
            self.post(&mut stream, &message);
        }
    }

    fn post(&self, stream: &mut TcpStream, message: &Value) {
        let (version, calls, notified, session) = {
            let script = self.script.lock().unwrap();
            let session = script.session.as_ref().map(|session| session.try_clone().unwrap());
            (script.version, script.calls, script.notified.clone(), session)
        };
        let result =
            |result: Value| json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
        let answer = match message["method"].as_str() {
            _ if message.get("id").is_none() => notified,
            Some("initialize") => {
                let opened = json!({"protocolVersion": version, "capabilities": {"tools": {}},
                    "serverInfo": {"name": "sums", "version": "1"}});
                let body = result(opened);
                whole("200 OK", "application/json\r\nmcp-session-id: s-1", &body)
            }
            Some("tools/list") => whole("200 OK", "application/json;", &result(json!({"tools": [tool()]}))),
            Some("tools/call") => return calls(&message["id"], &mut Answers { own: stream, session }),
            _ => whole("400 Bad Request", "text/plain", "what?"),
        };
        let _ = stream.write_all(answer.as_bytes());
    }

    /// The stream of the session stays open until the gateway leaves; one that resumes says its script and ends.
    fn stream(&self, mut stream: TcpStream, head: &str) {
        let _ = stream.write_all(events_head("text/event-stream").as_bytes());
        if head.contains("\r\nlast-event-id: ") {
            let resumed = self.script.lock().unwrap().resumed.clone();
            piece(&mut stream, &resumed);
            let _ = stream.write_all(b"0\r\n\r\n");
            return;
        }
        piece(&mut stream, ":\n\n");
        self.change(|script| script.session = Some(stream.try_clone().unwrap()));
        let _ = stream.read(&mut [0; 1]);
    }
}

fn whole(status: &str, kind: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn events_head(kind: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n")
}

fn piece(stream: &mut TcpStream, piece: &str) {
    let _ = stream.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes());
}

fn tool() -> Value {
    let integer = json!({"type": "integer"});
    let sum = json!({"type": "object", "properties": {"sum": integer}, "required": ["sum"]});
    let takes = json!({"type": "object", "properties": {"a": integer, "b": integer}, "required": ["a", "b"]});
    json!({"name": "add", "description": "Adds.", "inputSchema": takes, "outputSchema": sum})
}

fn sum(id: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": {"content": [], "structuredContent": {"sum": 3}}})
        .to_string()
}

fn event(id: Option<&str>, data: &str) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("event: message\n{id}data: {data}\n\n")
}

fn changed() -> String {
    json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}).to_string()
}

struct House {
    up: Up,
    server: Server,
    gateway: Gateway,
    listen: SocketAddr,
    version: &'static str,
}

fn import(up: &Up, server: &Server, more: &[&str]) -> Output {
    let name = more.last().map_or("sums.json".to_owned(), |version| format!("{version}.json"));
    let (draft, url) = (up.dir.join(name), format!("http://{}/mcp", server.address));
    let words = ["context", "import", "mcp", &url, "--line", "sums", "--out", draft.to_str().unwrap()];
    Command::new(SEMGATE).args(words).args(more).output().unwrap()
}

/// A gateway before the server, whose tool is signed; `more` is on its route.
fn house(version: &'static str, calls: Calls, more: &str) -> House {
    let (up, server) = (Up::start(), Server::start(version, calls));
    let imported = import(&up, &server, &[]);
    assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
    let published = up.semgate(&["context", "publish", up.dir.join("sums.json").to_str().unwrap()]);
    assert!(published.status.success(), "{}", String::from_utf8_lossy(&published.stderr));
    std::fs::write(up.path("/policies").join("mcp.cedar"), RULES).unwrap();
    let listen = free_address();
    let agent = "spiffe://semgate.test/agent";
    let route = format!(
        "[[route]]\nname = \"mcp\"\nlisten = \"{listen}\"\nbinding = \"mcp\"\nplain_sender = \"{agent}/retailer-7\"\nreceiver = \"{agent}/wholesaler-1\"\nupstream = \"http://{}/mcp\"\ncontexts = [\"*\"]\ndefault_context = \"urn:contexts:sums:v1.0\"\n{more}",
        server.address
    );
    let gateway = Gateway::before(&up, server.address, &route);
    House { up, server, gateway, listen, version }
}

impl House {
    /// Sends a request in the session and leaves the answer to be read.
    fn begin(&self, method: &str, headers: &str, body: &str) -> TcpStream {
        let mut head = format!("{method} / HTTP/1.1\r\nhost: {}\r\n{headers}", self.listen);
        if !headers.contains("mcp-protocol-version") {
            head += &format!("mcp-protocol-version: {}\r\nmcp-session-id: s-1\r\n", self.version);
        }
        head += "accept: application/json, text/event-stream\r\n";
        if !body.is_empty() {
            let kind =
                if headers.contains("content-type") { "" } else { "content-type: application/json\r\n" };
            head += &format!("{kind}content-length: {}\r\n", body.len());
        }
        let mut stream = TcpStream::connect(self.listen).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
        stream
    }

    fn post(&self, headers: &str, message: &Value) -> Answer {
        Answer::read(&mut self.begin("POST", headers, &message.to_string()))
    }

    fn opens(&self, asks: &str) -> Answer {
        let params = json!({"protocolVersion": asks, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let ask = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let mut head = format!(
            "POST / HTTP/1.1\r\nhost: {}\r\naccept: application/json, text/event-stream\r\n",
            self.listen
        );
        let body = ask.to_string();
        head += &format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
        let mut stream = TcpStream::connect(self.listen).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
        Answer::read(&mut stream)
    }

    fn call(&self, id: i64) -> Answer {
        self.post("", &call(id))
    }

    /// The stream of the session, once the server holds its other end.
    fn listens(&self) -> TcpStream {
        self.server.change(|script| script.session = None);
        let stream = self.begin("GET", "", "");
        wait_for("the stream of the session", || {
            self.server.script.lock().unwrap().session.as_ref().map(|_| ())
        });
        stream
    }

    /// What the stream says until the server tells of a change.
    fn until_changed(&self, stream: &mut TcpStream) -> String {
        let mut session = self.server.script.lock().unwrap().session.as_ref().unwrap().try_clone().unwrap();
        piece(&mut session, &event(None, &changed()));
        let mut text = String::new();
        until(stream, &mut text, "list_changed");
        text
    }

    fn refused(&self) -> usize {
        let records = std::fs::read_to_string(&self.gateway.audit).unwrap();
        records.lines().filter(|line| line.contains("\"verdict\":\"refused\"")).count()
    }
}

fn call(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}}})
}

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.clone()).unwrap()
}

/// Answers whole on the exchange of the call, and then on the stream of the session.
fn whole_and_again(id: &Value, to: &mut Answers<'_>) {
    let _ = to.own.write_all(whole("200 OK", "application/json", &sum(id)).as_bytes());
    if let Some(session) = &mut to.session {
        piece(session, &event(None, &sum(id)));
    }
}

/// Answers on the stream of the session, and then by an error on the exchange.
fn session_first(id: &Value, to: &mut Answers<'_>) {
    if let Some(session) = &mut to.session {
        piece(session, &event(None, &sum(id)));
    }
    let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "no"}}).to_string();
    let _ = to.own.write_all(whole("200 OK", "application/json", &error).as_bytes());
}

/// Answers twice in one stream, which tells of events before.
fn twice_in_a_stream(id: &Value, to: &mut Answers<'_>) {
    let _ = to.own.write_all(events_head("text/event-stream; charset=utf-8;").as_bytes());
    for said in [event(Some("e-1"), ""), event(Some("e-2"), &sum(id)), event(Some("e-3"), &sum(id))] {
        piece(to.own, &said);
    }
    let _ = to.own.write_all(b"0\r\n\r\n");
}

/// Answers twice in lines.
fn twice_in_lines(id: &Value, to: &mut Answers<'_>) {
    let _ = to.own.write_all(events_head("application/json; charset=UTF-8").as_bytes());
    piece(to.own, &format!("{}\n{}\n{}\n", changed(), sum(id), sum(id)));
    let _ = to.own.write_all(b"0\r\n\r\n");
}

/// Begins a stream and answers late, when its caller is gone.
fn late(id: &Value, to: &mut Answers<'_>) {
    let _ = to.own.write_all(events_head("text/event-stream").as_bytes());
    piece(to.own, &event(Some("e-1"), ""));
    // until the gateway leaves
    let _ = to.own.read(&mut [0; 1]);
    piece(to.own, &event(Some("e-2"), &sum(id)));
}

#[test]
fn attack_a_server_answers_on_the_exchange_and_on_the_stream_of_the_session() {
    let house = house("2025-11-25", whole_and_again, "");
    assert_eq!(house.opens("2025-11-25").status, 200);
    let mut stream = house.listens();
    assert_eq!(house.call(1).json()["result"]["structuredContent"]["sum"], 3);
    let other = house.until_changed(&mut stream);
    assert!(!other.contains("sum"), "{other}");
    wait_for("the record of what was left out", || (house.refused() == 1).then_some(()));
    assert!(house.gateway.log().contains("an event is left out"), "{}", house.gateway.log());

    // the exchange has the right to the answer as long as it waits; another form of answer changes nothing
    house.server.change(|script| script.calls = session_first);
    let answer = house.call(2);
    let other = house.until_changed(&mut stream);
    assert!(!other.contains("sum"), "{other}");
    assert_eq!(answer.json()["error"]["code"], -32603, "{}", text(&answer));
}

#[test]
fn attack_a_server_answers_twice_in_one_stream_of_events_or_of_lines() {
    let house = house("2025-11-25", twice_in_a_stream, "json_lines = true\n");
    assert_eq!(house.opens("2025-11-25").status, 200);
    let said = text(&house.call(1));
    assert_eq!((said.matches("\"sum\"").count(), said.matches("error").count()), (1, 0), "{said}");
    assert!(said.contains("event: message\nid: e-2\ndata: {"), "{said}");
    // who resumes after the event before it had the whole stream
    house
        .server
        .change(|script| script.resumed = event(Some("e-2"), &sum(&json!(1))) + &event(None, &changed()));
    let again = text(&Answer::read(&mut house.begin("GET", "last-event-id: e-1\r\n", "")));
    assert!(!again.contains("sum") && again.contains("list_changed"), "{again}");

    house.server.change(|script| script.calls = twice_in_lines);
    let said = text(&house.call(2));
    assert_eq!((said.matches("\"sum\"").count(), said.matches("error").count()), (1, 0), "{said}");
}

#[test]
fn a_client_whose_connection_was_lost_has_the_answer_on_the_stream_that_resumes_it() {
    let house = house("2025-11-25", late, "");
    assert_eq!(house.opens("2025-11-25").status, 200);
    house.server.change(|script| script.resumed = event(Some("e-2"), &sum(&json!(1))));
    let mut lost = house.begin("POST", "", &call(1).to_string());
    until(&mut lost, &mut String::new(), "id: e-1");
    drop(lost);
    let resumed = text(&Answer::read(&mut house.begin("GET", "last-event-id: e-1\r\n", "")));
    assert!(resumed.contains("\"sum\":3"), "{resumed}");
    let again = text(&Answer::read(&mut house.begin("GET", "last-event-id: e-1\r\n", "")));
    assert!(!again.contains("sum"), "it arrived: {again}");
}

#[test]
fn a_success_to_a_notification_keeps_its_status_and_loses_its_body_whatever_it_is() {
    let house = house("2025-11-25", whole_and_again, "");
    assert_eq!(house.opens("2025-11-25").status, 200);
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let endless = events_head("text/event-stream") + "5\r\n:on\n\n\r\n";
    for (status, notified) in [
        (202, whole("202 Accepted", "text/plain; charset=utf-8", "Accepted")),
        (200, whole("200 OK", "application/json", "null")),
        (200, whole("200 OK", "application/json", &sum(&json!(1)))),
        (204, "HTTP/1.1 204 No Content\r\n\r\n".to_owned()),
        (200, whole("200 OK", "text/html; charset=latin1\r\ncontent-encoding: gzip", "<p>")),
        (200, endless),
    ] {
        house.server.change(|script| script.notified = notified.clone());
        let answer = house.post("", &ready);
        assert_eq!((answer.status, answer.body.len()), (status, 0), "{notified}: {}", text(&answer));
        assert_eq!(answer.header("content-type"), None, "{notified}");
    }
    for notified in [whole("500 x", "text/plain", "no"), whole("302 x", "text/plain", "")] {
        house.server.change(|script| script.notified = notified);
        assert_eq!(house.post("", &ready).code(), "upstream_invalid");
    }
}

#[test]
fn an_empty_parameter_of_a_media_type_says_nothing() {
    let house = house("2025-11-25", whole_and_again, "");
    assert_eq!(house.opens("2025-11-25").status, 200);
    let kinds =
        ["application/json;", "application/json ; charset=utf-8;", "Application/JSON;;charset=\"UTF-8\" ; "];
    for (id, kind) in kinds.iter().enumerate() {
        let id = i64::try_from(id).unwrap();
        let answer = house.post(
            &format!("content-type: {kind}\r\nmcp-protocol-version: 2025-11-25\r\nmcp-session-id: s-1\r\n"),
            &call(id),
        );
        assert_eq!(answer.json()["result"]["structuredContent"]["sum"], 3, "{kind}");
    }
    for kind in ["application/json; charset=utf-16;", "application/json; x=1", "text/plain;"] {
        let head =
            format!("content-type: {kind}\r\nmcp-protocol-version: 2025-11-25\r\nmcp-session-id: s-1\r\n");
        assert_eq!(house.post(&head, &call(9)).code(), "malformed", "{kind}");
    }
}

#[test]
fn a_client_that_closes_its_direction_after_its_call_has_the_stream_of_the_answer() {
    let house = house("2025-11-25", twice_in_a_stream, "");
    assert_eq!(house.opens("2025-11-25").status, 200);
    let mut stream = house.begin("POST", "", &call(1).to_string());
    stream.shutdown(Shutdown::Write).unwrap();
    assert!(text(&Answer::read(&mut stream)).contains("\"sum\":3"));
}

#[test]
fn a_server_that_speaks_2025_06_18_alone_is_imported_and_has_sessions() {
    let house = house("2025-06-18", whole_and_again, "");
    for asks in ["2025-06-18", "2025-11-25"] {
        let opened = house.opens(asks);
        assert_eq!(opened.json()["result"]["protocolVersion"], "2025-06-18", "{asks}");
    }
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(house.post("", &ready).status, 202);
    let listed = house.post("", &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    assert_eq!(listed.json()["result"]["tools"][0]["name"], "add", "signed in this version");
    let mut stream = house.listens();
    assert_eq!(house.call(2).json()["result"]["structuredContent"]["sum"], 3);
    assert!(!house.until_changed(&mut stream).contains("sum"));
    assert_eq!(Answer::read(&mut house.begin("DELETE", "", "")).status, 200);
    let heads = house.server.script.lock().unwrap().heads.clone();
    let last = heads.last().unwrap();
    assert!(last.contains("mcp-protocol-version: 2025-06-18"), "{last}");

    // in the import as an operator asks for it
    let one = import(&house.up, &house.server, &["--protocol", "2025-06-18"]);
    assert!(one.status.success(), "{}", String::from_utf8_lossy(&one.stderr));
    let other = import(&house.up, &house.server, &["--protocol", "2025-11-25"]);
    let said = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(!other.status.success() && said.contains("it settles on the version \"2025-06-18\""), "{said}");
}

#[test]
fn a_version_that_is_not_carried_is_refused_by_its_name() {
    let house = house("2025-11-25", whole_and_again, "");
    for version in ["2025-03-26", "2024-11-05", "2027-01-01"] {
        for (method, body) in
            [("POST", call(1).to_string()), ("GET", String::new()), ("DELETE", String::new())]
        {
            let head = format!("mcp-protocol-version: {version}\r\nmcp-session-id: s-1\r\n");
            let refused = Answer::read(&mut house.begin(method, &head, &body));
            let said = text(&refused);
            assert_eq!(refused.status, 400, "{method}: {said}");
            for named in [version, "version_unsupported", "`2025-06-18`", "`2025-11-25`", "`2026-07-28`"] {
                assert!(said.contains(named), "{method} {named}: {said}");
            }
        }
    }
    // one that the server settles on
    house.server.change(|script| script.version = "2024-11-05");
    let refused = house.opens("2025-11-25");
    let said = text(&refused);
    assert!(
        said.contains("upstream_invalid") && said.contains("`2024-11-05`") && said.contains("`2025-11-25`"),
        "{said}"
    );
    assert_eq!(refused.header("mcp-session-id"), None);
}
