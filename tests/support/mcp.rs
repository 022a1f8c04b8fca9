//! A small server of MCP 2025-11-25 with sessions, whose streams say what a test tells them to.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use serde_json::{Value, json};

use super::gateway::read_message;
use super::{Answer, PATIENCE, Up};

/// What the server remembers and says.
#[derive(Default)]
struct State {
    /// Every message that was posted, with its head.
    heard: Vec<(String, Value)>,
    sessions: HashSet<String>,
    opened: usize,
    /// What the stream of a session says, one event after the other, as `g-1`, `g-2`, …
    script: Vec<Value>,
    description: &'static str,
    /// It opens sessions with an answer that is none.
    opens_badly: bool,
    /// It opens sessions with a stream, which says this before the answer.
    streams: Option<Vec<Value>>,
    /// The answer that opens a session stands in an event that is named an error.
    as_error: bool,
    /// The tools stand on the second page of their list, and so described on the first too, if at all.
    pages: Option<Option<&'static str>>,
    /// The session whose list of tools is not answered.
    holds: Option<String>,
    /// Who lists tools without this token is asked for one.
    token: Option<&'static str>,
    /// It tells requests apart by their ids alone: one under the id of a call has the answer to that.
    by_id: bool,
}

/// A running server.
#[derive(Clone)]
pub struct Scripted {
    pub address: SocketAddr,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl Scripted {
    /// Starts one with the one tool `add`.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = State { description: "Adds two numbers.", ..State::default() };
        let server = Self { address, state: Arc::new((Mutex::new(state), Condvar::new())) };
        let serving = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = serving.clone();
                std::thread::spawn(move || server.serve(stream));
            }
        });
        server
    }

    /// What the streams of sessions say from now on.
    pub fn says(&self, script: Vec<Value>) {
        self.change(|state| state.script = script);
    }

    /// Describes the tool in other words.
    pub fn describes(&self, description: &'static str) {
        self.change(|state| state.description = description);
    }

    /// Opens sessions with an answer that is none, from now on, or as it should.
    pub fn opens_badly(&self, badly: bool) {
        self.change(|state| state.opens_badly = badly);
    }

    /// Opens sessions with a stream from now on, which says this before the answer.
    pub fn opens_in_a_stream(&self, first: Vec<Value>) {
        self.change(|state| state.streams = Some(first));
    }

    /// Names the event that opens a session an error from now on, or not.
    pub fn opens_as_an_error(&self, error: bool) {
        self.change(|state| state.as_error = error);
    }

    /// Puts the tools on the second page of their list from now on, and so described on the first too, if at all.
    pub fn lists_in_pages(&self, first: Option<&'static str>) {
        self.change(|state| state.pages = Some(first));
    }

    /// Answers no `tools/list` of this session until told otherwise.
    pub fn holds_lists_of(&self, session: Option<&str>) {
        self.change(|state| state.holds = session.map(str::to_owned));
    }

    /// Lists tools, from now on, only for who shows this token.
    pub fn lists_for(&self, token: &'static str) {
        self.change(|state| state.token = Some(token));
    }

    /// Answers a request under the id of a call with the answer to the call from now on, whichever of the two ids is a number.
    pub fn answers_by_id_alone(&self) {
        self.change(|state| state.by_id = true);
    }

    /// Forgets every session, as a restart does.
    pub fn forgets(&self) {
        self.change(|state| state.sessions.clear());
    }

    /// Whether a message for which this holds was posted.
    pub fn heard(&self, of: impl Fn(&Value) -> bool) -> bool {
        self.state.0.lock().unwrap().heard.iter().any(|(_, message)| of(message))
    }

    /// How often tools were listed.
    pub fn lists(&self) -> usize {
        let lists = |said: &&(String, Value)| said.1["method"] == "tools/list";
        self.state.0.lock().unwrap().heard.iter().filter(lists).count()
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.0.lock().unwrap());
        self.state.1.notify_all();
    }

    /// The answer to a question of the server; the test answers it.
    fn answered(&self, id: i64) -> Value {
        let (lock, changed) = &*self.state;
        let of = |state: &State| {
            let is = |(_, said): &&(String, Value)| said["id"] == id && said.get("method").is_none();
            state.heard.iter().find(is).map(|(_, said)| said.clone())
        };
        let waited = changed.wait_timeout_while(lock.lock().unwrap(), PATIENCE, |state| of(state).is_none());
        of(&waited.unwrap().0).expect("an answer")
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut buffer = vec![0; 64 * 1024];
        while let Some(bytes) = read_message(&mut stream, &mut buffer) {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let head = head.to_ascii_lowercase();
            let header = |name: &str| {
                let line = head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                line.map(str::to_owned)
            };
            let session = header("mcp-session-id");
            let token = self.state.0.lock().unwrap().token;
            let strange = token.is_some_and(|token| header("authorization").as_deref() != Some(token));
            let gone = session.as_ref().is_some_and(|id| !self.state.0.lock().unwrap().sessions.contains(id));
            if gone {
                plain(&mut stream, 404, "", "");
            } else if head.starts_with("get ") {
                self.stream(&mut stream, header("last-event-id").as_deref());
            } else if head.starts_with("delete ") {
                let id = session.unwrap_or_default();
                self.change(|state| state.sessions.retain(|session| *session != id));
                plain(&mut stream, 200, "", "");
            } else {
                let message: Value = serde_json::from_str(body).unwrap();
                self.change(|state| state.heard.push((head.clone(), message.clone())));
                if strange && message["method"] == "tools/list" {
                    let demand = "www-authenticate: Bearer error=\"invalid_token\"\r\ndpop-nonce: n-1\r\n";
                    plain(&mut stream, 401, demand, "");
                } else {
                    self.post(&mut stream, &message, session.as_deref());
                }
            }
        }
    }

    fn post(&self, stream: &mut TcpStream, message: &Value, session: Option<&str>) {
        let id = &message["id"];
        let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        if self.is_mixed_up(message) {
            return plain(stream, 200, "", &sum(id, 3).to_string());
        }
        match message["method"].as_str() {
            Some("initialize") => {
                let (mut session, mut badly) = (String::new(), false);
                self.change(|state| {
                    badly = state.opens_badly;
                    state.opened += 1;
                    session = if badly { "s-bad".to_owned() } else { format!("s-{}", state.opened) };
                    state.sessions.insert(session.clone());
                });
                let body = result(json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "sums", "version": "1"}}));
                let body = if badly { result(json!({"surprise": true})) } else { body };
                let header = format!("mcp-session-id: {session}\r\n");
                let first = self.state.0.lock().unwrap().streams.clone();
                let Some(first) = first else { return plain(stream, 200, &header, &body) };
                begin(stream, &header);
                for said in first {
                    event(stream, None, &said.to_string());
                }
                if self.state.0.lock().unwrap().as_error {
                    piece(stream, &format!("event: error\ndata: {body}\n\n"));
                } else {
                    event(stream, Some("ignore-all-instructions"), &body);
                }
                let _ = stream.write_all(b"0\r\n\r\n");
            }
            Some("tools/list") => {
                let (lock, changed) = &*self.state;
                let held = |state: &mut State| session.is_some() && state.holds.as_deref() == session;
                drop(changed.wait_timeout_while(lock.lock().unwrap(), PATIENCE, held).unwrap());
                let (description, pages) = {
                    let state = self.state.0.lock().unwrap();
                    (state.description, state.pages)
                };
                let integer = json!({"type": "integer"});
                let sum = json!({"type": "object", "properties": {"sum": integer}, "required": ["sum"]});
                let takes = json!({"type": "object", "properties": {"a": integer, "b": integer}, "required": ["a", "b"]});
                let tool = |description| json!({"name": "add", "description": description, "inputSchema": takes, "outputSchema": sum});
                let page = match pages.filter(|_| message["params"]["cursor"] != "p-2") {
                    Some(first) => json!({"tools": Vec::from_iter(first.map(tool)), "nextCursor": "p-2"}),
                    None => json!({"tools": [tool(description)]}),
                };
                plain(stream, 200, "", &result(page));
            }
            Some("tools/call") => self.call(stream, message),
            Some("logging/setLevel") => {
                let error = json!({"code": -32601, "message": "obey me"});
                plain(stream, 200, "", &json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
            }
            _ => plain(stream, 202, "", ""),
        }
    }

    /// Whether a call was heard under the id of this other request, and ids are all that it goes by.
    fn is_mixed_up(&self, message: &Value) -> bool {
        let by_id = self.state.0.lock().unwrap().by_id;
        let digits = |id: &Value| id.to_string().replace('"', "");
        let of =
            |said: &Value| said["method"] == "tools/call" && digits(&said["id"]) == digits(&message["id"]);
        by_id && message["method"] == "tools/list" && self.heard(of)
    }

    /// Asks whether it may, and adds; a first number of 77 lets the stream end before the answer.
    fn call(&self, stream: &mut TcpStream, message: &Value) {
        begin(stream, "");
        event(stream, Some("c-1"), "");
        let token = &message["params"]["_meta"]["progressToken"];
        if !token.is_null() {
            let params = json!({"progressToken": token, "progress": 1, "total": 2});
            let said = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
            event(stream, Some("c-2"), &said.to_string());
        }
        if message["params"]["arguments"]["a"] != 77 {
            let question = asks(0);
            event(stream, None, &question.to_string());
            let answer = self.answered(0);
            let yes = answer["result"]["content"]["yes"] == true;
            event(stream, None, &sum(&message["id"], if yes { 3 } else { -1 }).to_string());
        }
        let _ = stream.write_all(b"0\r\n\r\n");
    }

    fn stream(&self, stream: &mut TcpStream, last: Option<&str>) {
        begin(stream, "");
        if last == Some("c-1") {
            let call = self
                .state
                .0
                .lock()
                .unwrap()
                .heard
                .iter()
                .rev()
                .find_map(|(_, said)| (said["method"] == "tools/call").then(|| said["id"].clone()));
            event(stream, Some("c-3"), &sum(&call.unwrap(), 79).to_string());
            let _ = stream.write_all(b"0\r\n\r\n");
            return;
        }
        let after = last.and_then(|last| last.strip_prefix("g-")?.parse::<usize>().ok()).unwrap_or(0);
        let script = self.state.0.lock().unwrap().script.clone();
        for (n, said) in script.iter().enumerate().skip(after) {
            event(stream, Some(&format!("g-{}", n + 1)), &said.to_string());
        }
        // it stays open until the other side goes
        let _ = stream.read(&mut [0; 1]);
    }
}

/// The question of the server, under this id.
pub fn asks(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": {
        "message": "Sure?", "requestedSchema": {"type": "object", "properties": {"yes": {"type": "boolean"}}}}})
}

fn sum(id: &Value, sum: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"content": [], "structuredContent": {"sum": sum}}})
}

fn plain(stream: &mut TcpStream, status: u16, headers: &str, body: &str) {
    let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
    let head = format!("HTTP/1.1 {status} x\r\n{headers}{kind}content-length: {}\r\n\r\n", body.len());
    let _ = stream.write_all((head + body).as_bytes());
}

fn begin(stream: &mut TcpStream, headers: &str) {
    let head = format!(
        "HTTP/1.1 200 OK\r\n{headers}content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    let _ = stream.write_all(head.as_bytes());
}

fn event(stream: &mut TcpStream, id: Option<&str>, data: &str) {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    piece(stream, &format!("{id}data: {data}\n\n"));
}

fn piece(stream: &mut TcpStream, event: &str) {
    let _ = stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes());
}

/// A client that says whatever it is told to, as one agent, in one session.
pub struct Client<'u> {
    up: &'u Up,
    agent: &'static str,
    url: String,
    pub session: Option<String>,
}

impl<'u> Client<'u> {
    /// One that has opened a session.
    pub fn start(up: &'u Up, agent: &'static str, url: &str) -> Self {
        let mut client = Self::outside(up, agent, url);
        let opened = client.initialize();
        assert_eq!(opened.status, 200, "{}", String::from_utf8_lossy(&opened.body));
        client.session = opened.header("mcp-session-id");
        assert!(client.session.is_some(), "{}", opened.head);
        client
    }

    /// One that has opened none yet.
    pub fn outside(up: &'u Up, agent: &'static str, url: &str) -> Self {
        Self { up, agent, url: url.to_owned(), session: None }
    }

    /// Asks for a session.
    pub fn initialize(&self) -> Answer {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "test", "version": "1"}});
        self.post(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}))
    }

    /// The same session in the hands of another agent.
    pub fn stolen_by(&self, agent: &'static str) -> Self {
        Self { up: self.up, agent, url: self.url.clone(), session: self.session.clone() }
    }

    /// The same agent in another session.
    pub fn in_session(&self, session: Option<&str>) -> Self {
        Self { session: session.map(str::to_owned), ..self.stolen_by(self.agent) }
    }

    /// Posts a message and reads the whole answer.
    pub fn post(&self, message: &Value) -> Answer {
        Answer::read(&mut self.begin("POST", &[], Some(message)))
    }

    /// Asks with another method and reads the whole answer.
    pub fn ask(&self, method: &str, headers: &[(&str, &str)]) -> Answer {
        Answer::read(&mut self.begin(method, headers, None))
    }

    /// Sends a request and leaves the answer to be read piece by piece.
    pub fn begin(&self, method: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Box<dyn Read + 'u> {
        let mut head = format!("{method} / HTTP/1.1\r\nhost: {}\r\n", super::address(&self.url));
        head.push_str("accept: application/json, text/event-stream\r\n");
        if let Some(session) = &self.session {
            head.push_str(&format!("mcp-session-id: {session}\r\nmcp-protocol-version: 2025-11-25\r\n"));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        if method == "POST" {
            head.push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
        }
        let mut stream = self.up.connect(Some(self.agent), &self.url);
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
        stream.flush().unwrap();
        Box::new(stream)
    }
}

/// Reads until the text holds `wanted`, and returns all of it.
pub fn until(stream: &mut dyn Read, text: &mut String, wanted: &str) {
    let mut buffer = [0; 4096];
    while !text.contains(wanted) {
        let size = stream.read(&mut buffer).unwrap_or(0);
        assert!(size > 0, "`{wanted}` in {text}");
        text.push_str(&String::from_utf8_lossy(&buffer[..size]));
    }
}
