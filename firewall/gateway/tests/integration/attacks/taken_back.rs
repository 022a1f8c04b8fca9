//! What still goes over connections that were open when a certificate was taken away: the agent's behind, and the caller's.

use crate::common::agent::{Act, Agent, ok};
use crate::common::{Answer, Gateway, House, RETAILER, WHOLESALER, message, reply, route, wait};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

const EXTENSION: &str = "urn:contexts:snl:v1.0";
/// How often something is tried before it counts as never.
const TRIES: usize = 400;

fn house() -> House {
    let mut house = House::new();
    house.remember();
    house
}

/// Takes the roots of everybody's certificates away and tells the gateway so, which may not listen yet.
struct TakenAway {
    /// A handler of our own, so that the signal ends nothing before the gateway listens for it.
    _here: tokio::signal::unix::Signal,
}

impl TakenAway {
    fn from(house: &House) -> Self {
        let _here = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).unwrap();
        house.pki.write_other_roots(house.dir.path());
        Self { _here }
    }

    async fn tell(&self) {
        let pid = std::process::id().to_string();
        assert!(std::process::Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}

/// Reads to the end of a head.
async fn head<S: AsyncRead + Unpin>(stream: &mut S) -> String {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        text.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(text).unwrap()
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// RFC 6455 §1.3.
fn accept(key: &str) -> String {
    let text = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    STANDARD.encode(ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()))
}

/// An upstream agent TLS that opens a socket and says nothing on it; what it heard.
async fn silent_socket(house: &House) -> (u16, Arc<Mutex<Vec<String>>>) {
    let acceptor = TlsAcceptor::from(house.pki.server_config(WHOLESALER, true));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = acceptor.accept(stream).await.unwrap();
        let asked = head(&mut stream).await;
        let accept = accept(header(&asked, "sec-websocket-key").unwrap());
        let agreed = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        );
        stream.write_all(agreed.as_bytes()).await.unwrap();
        let mut socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
        while let Some(Ok(message)) = socket.next().await {
            if let Message::Text(text) = message {
                hears.lock().unwrap().push(text.to_string());
            }
        }
    });
    (port, heard)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_messages_over_an_open_socket_to_an_agent_whose_certificate_counts_no_more() {
    let house = house();
    let (port, heard) = silent_socket(&house).await;
    let more = format!("plain_sender = \"{RETAILER}\"\nwebsocket = true");
    let route = route("sockets", "l8", &format!("https://127.0.0.1:{port}/l8"), &more);
    let gateway = Gateway::start(house.config(&route, ""));
    let mut stream = TcpStream::connect(("127.0.0.1", gateway.port("sockets"))).await.unwrap();
    let asks = "GET / HTTP/1.1\r\nHost: gw\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    stream.write_all(asks.as_bytes()).await.unwrap();
    assert!(head(&mut stream).await.starts_with("HTTP/1.1 101"));
    let mut socket = WebSocketStream::from_raw_socket(stream, Role::Client, None).await;
    let say = || Message::text(message().to_string());
    socket.send(say()).await.unwrap();
    tokio::task::block_in_place(|| wait("it is told", || heard.lock().unwrap().len() == 1));

    let taken = TakenAway::from(&house);
    let mut said = None;
    for _ in 0..TRIES {
        taken.tell().await;
        let _ = socket.send(say()).await;
        if let Ok(Some(Ok(Message::Text(text)))) =
            tokio::time::timeout(Duration::from_millis(25), socket.next()).await
        {
            said = Some(text);
            break;
        }
    }
    let told = heard.lock().unwrap().len();
    let said = said.unwrap_or_else(|| panic!("{told} messages went to it, and go on to"));
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["code"], "upstream_unavailable", "{said}");
    assert!(said["detail"].as_str().unwrap().contains("is no longer valid"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_a_stream_of_an_agent_whose_certificate_counts_no_more_goes_on() {
    let house = house();
    let acceptor = TlsAcceptor::from(house.pki.server_config(WHOLESALER, true));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let spoke = Arc::new(AtomicUsize::new(0));
    let speaks = Arc::clone(&spoke);
    let event = json!({"jsonrpc": "2.0", "id": 7, "result": {"statusUpdate": {
        "taskId": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_WORKING"}}}});
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = acceptor.accept(stream).await.unwrap();
        let asked = head(&mut stream).await;
        let mut body = vec![0; header(&asked, "content-length").unwrap().parse().unwrap()];
        stream.read_exact(&mut body).await.unwrap();
        let begins =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        stream.write_all(begins.as_bytes()).await.unwrap();
        let piece = format!("data: {event}\n\n");
        let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
        while stream.write_all(chunk.as_bytes()).await.is_ok() {
            speaks.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
    });
    let more = format!("plain_sender = \"{RETAILER}\"");
    let route = route("a2a", "a2a", &format!("https://127.0.0.1:{port}/a2a"), &more);
    let gateway = Gateway::start(house.config(&route, ""));
    let body = json!({
        "jsonrpc": "2.0", "id": 7, "method": "SendStreamingMessage",
        "params": {"message": {
            "messageId": "m-1", "role": "ROLE_USER",
            "parts": [{"data": {"concept_type": "current_decision", "item_id": "sku-1", "quantity": 120}}],
            "metadata": {EXTENSION: {"context": "urn:contexts:supplyChain:v1.0"}}
        }}
    })
    .to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", gateway.port("a2a"))).await.unwrap();
    let asks = format!(
        "POST / HTTP/1.1\r\nHost: gw\r\nA2A-Version: 1.0\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(asks.as_bytes()).await.unwrap();
    let mut text = String::new();
    let mut buffer = vec![0; 65_536];
    let mut taken = None;
    for _ in 0..TRIES {
        if text.contains("TASK_STATE_WORKING") {
            taken.get_or_insert_with(|| TakenAway::from(&house)).tell().await;
        }
        let size = stream.read(&mut buffer).await.unwrap();
        text.push_str(std::str::from_utf8(&buffer[..size]).unwrap());
        if text.contains("\r\n0\r\n\r\n") {
            break;
        }
    }
    let events: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let last = &events.last().unwrap()["error"]["data"][0];
    assert_eq!(last["code"], "upstream_unavailable", "{} events passed: {last}", events.len());
    assert_eq!(last["delivered"], "yes");
    tokio::task::block_in_place(|| {
        wait("the record", || {
            house
                .audit()
                .iter()
                .any(|record| record["direction"] == "reply" && record["code"] == "upstream_unavailable")
        });
    });
    assert!(spoke.load(Ordering::Relaxed) >= events.len() - 1);
}

type Tls = tokio_rustls::client::TlsStream<TcpStream>;

/// One answer that comes at once.
async fn answered(stream: &mut Tls) -> Answer {
    answered_or_ended(stream).await.expect("an answer, and no end of the connection")
}

/// One answer that comes at once; none where the connection was ended.
async fn answered_or_ended(stream: &mut Tls) -> Option<Answer> {
    let mut buffer = vec![0; 8192];
    match stream.read(&mut buffer).await {
        Ok(0) | Err(_) => None,
        Ok(size) => Some(Answer::parse(&String::from_utf8_lossy(&buffer[..size]))),
    }
}

/// Says the head and half of the body, and waits until that was read; what is left, and what a whole one is answered.
async fn half_said(house: &House, port: u16, headers: &str, body: &str) -> (Tls, String, Answer) {
    let head = format!(
        "POST / HTTP/1.1\r\nHost: a\r\n{headers}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let (mut slow, mut other) = (open(house, port).await, open(house, port).await);
    let (first, last) = body.split_at(body.len() / 2);
    slow.write_all(format!("{head}{first}").as_bytes()).await.unwrap();
    slow.flush().await.unwrap();
    // what comes on the other connection is answered after the head of the slow one was read, on any ordinary day
    other.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    (slow, last.to_owned(), answered(&mut other).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_a_body_that_is_trickled_past_the_end_of_its_senders_certificate() {
    let house = house();
    let agent = Agent::saying(&reply());
    let route = route("l8", "l8", &format!("http://127.0.0.1:{}/l8", agent.port), "");
    let gateway = Gateway::start(house.config(&route, "body_timeout = \"60s\""));
    let (mut slow, last, whole) = half_said(&house, gateway.port("l8"), "", &message().to_string()).await;
    assert_eq!(whole.status, 200);

    taken_away(&house, gateway.port("l8")).await;
    let told = agent.seen().len();
    slow.write_all(last.as_bytes()).await.unwrap();
    assert_eq!(answered(&mut slow).await.problem(), (403, "sender_mismatch".to_owned()));
    assert_eq!(agent.seen().len(), told, "and nothing of it reached the agent");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_a_trickled_body_that_the_gateway_answers_by_itself_after_its_senders_certificate_ended() {
    let house = house();
    let agent = Agent::saying(&reply());
    let to = |path: &str| format!("http://127.0.0.1:{}/{path}", agent.port);
    let routes = [route("l8", "l8", &to("l8"), ""), route("a2a", "a2a", &to("a2a"), "")];
    let gateway = Gateway::start(house.config(&routes.concat(), "body_timeout = \"60s\""));
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {"contextId": "c-1"}});
    let (mut slow, last, whole) =
        half_said(&house, gateway.port("a2a"), "A2A-Version: 1.0\r\n", &list.to_string()).await;
    assert_eq!((whole.status, whole.header("semgate-said-by")), (200, Some("gateway")), "{whole:?}");

    taken_away(&house, gateway.port("l8")).await;
    slow.write_all(last.as_bytes()).await.unwrap();
    let said = answered(&mut slow).await;
    assert_eq!(said.problem(), (403, "sender_mismatch".to_owned()), "{said:?}");
}

/// A connection of the caller's, with its certificate.
async fn open(house: &House, port: u16) -> Tls {
    let config = house.pki.client_config(Some(&house.pki.agent(RETAILER)));
    let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    TlsConnector::from(config).connect(name, stream).await.unwrap()
}

/// Takes the caller's certificate away, and waits until it is refused: by an answer, or by the end of a connection that says nothing.
async fn taken_away(house: &House, port: u16) {
    let mut other = open(house, port).await;
    let taken = TakenAway::from(house);
    for _ in 0..TRIES {
        taken.tell().await;
        let body = message().to_string();
        let asks = format!(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        if other.write_all(asks.as_bytes()).await.is_err() {
            return;
        }
        let Some(said) = answered_or_ended(&mut other).await else { return };
        if said.status == 403 {
            assert_eq!(said.problem().1, "sender_mismatch");
            return;
        }
    }
    panic!("its certificate still counts");
}

/// The problem document in an answer of a native, a JSON-RPC or an HTTP+JSON caller.
fn problem(said: &Value) -> Value {
    let data =
        said.pointer("/error/data/0").or(said.pointer("/error/details/1")).or(said.pointer("/error/data"));
    data.unwrap_or(said).clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_a_plain_reply_to_a_caller_whose_certificate_was_taken_back_while_the_agent_thought() {
    let house = house();
    // what it is asked over the first route is answered at once, all else when it is told to
    let quick = Agent::saying(&reply());
    let (go, told) = mpsc::channel::<()>();
    let (go, told) = (Mutex::new(go), Arc::new(Mutex::new(told)));
    let slow = Agent::start(move |seen| {
        let _ = told.lock().unwrap().recv();
        let native = seen.head.starts_with("POST /l8");
        let answer = json!({"jsonrpc": "2.0", "id": 7, "result": {}});
        Act::Say(ok(if native { reply() } else { answer }.to_string().as_bytes()))
    });
    let to = |path: &str| format!("http://127.0.0.1:{}/{path}", slow.port);
    let routes = [
        route("quick", "l8", &format!("http://127.0.0.1:{}/l8", quick.port), ""),
        route("l8", "l8", &to("l8"), ""),
        route("a2a", "a2a", &to("a2a"), ""),
        route("rest", "a2a", &to("rest"), "transports = [\"rest\"]"),
        route("mcp", "mcp", &to("mcp"), ""),
    ];
    let gateway = Gateway::start(house.config(&routes.concat(), ""));
    let said = json!({
        "messageId": "m-1", "role": "ROLE_USER",
        "parts": [{"data": {"concept_type": "current_decision", "item_id": "sku-1", "quantity": 120}}],
        "metadata": {EXTENSION: {"context": "urn:contexts:supplyChain:v1.0"}}
    });
    let rpc =
        |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let asks = [
        ("l8", "POST / HTTP/1.1", "application/json", message()),
        ("a2a", "POST / HTTP/1.1", "application/json", rpc("SendMessage", json!({"message": said}))),
        ("rest", "POST /message:send HTTP/1.1", "application/a2a+json", json!({"message": said})),
        (
            "mcp",
            "POST / HTTP/1.1\r\nAccept: application/json, text/event-stream",
            "application/json",
            rpc(
                "initialize",
                json!({"protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "c", "version": "1"}}),
            ),
        ),
    ];
    let mut waiting = Vec::new();
    for (at, (name, line, kind, body)) in asks.into_iter().enumerate() {
        let mut stream = open(&house, gateway.port(name)).await;
        let body = body.to_string();
        let head = format!(
            "{line}\r\nHost: a\r\nA2A-Version: 1.0\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        let seen = || slow.seen().len() == at + 1;
        tokio::task::block_in_place(|| wait(&format!("the agent has it over {name}"), seen));
        waiting.push((name, stream));
    }
    taken_away(&house, gateway.port("quick")).await;
    for (name, mut stream) in waiting {
        go.lock().unwrap().send(()).unwrap();
        let mut buffer = vec![0; 8192];
        let size = stream.read(&mut buffer).await.unwrap();
        let answer = Answer::parse(&String::from_utf8_lossy(&buffer[..size]));
        let problem = problem(&serde_json::from_str(&answer.body).unwrap());
        assert_eq!(problem["code"], "sender_mismatch", "{name}: {}", answer.body);
        assert_eq!(problem["delivered"], "yes", "{name}");
        assert!(problem["hint"].as_str().unwrap().contains("before you send it again"), "{name}: {problem}");
    }
    tokio::task::block_in_place(|| {
        wait("the records", || {
            let of = |record: &&Value| record["direction"] == "reply" && record["code"] == "sender_mismatch";
            house.audit().iter().filter(of).count() == 4
        });
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_ends_with_its_callers_certificate_says_that_its_request_was_delivered() {
    let house = house();
    let quick = Agent::saying(&reply());
    let begins = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let silent = Agent::start(move |_| Act::Say(begins.as_bytes().to_vec()));
    let routes = [
        route("quick", "l8", &format!("http://127.0.0.1:{}/l8", quick.port), ""),
        route("l8", "l8", &format!("http://127.0.0.1:{}/l8", silent.port), ""),
    ];
    let gateway = Gateway::start(house.config(&routes.concat(), ""));
    let mut stream = open(&house, gateway.port("l8")).await;
    let body = message().to_string();
    let asks = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(asks.as_bytes()).await.unwrap();
    assert!(head(&mut stream).await.starts_with("HTTP/1.1 200"));
    taken_away(&house, gateway.port("quick")).await;
    let mut text = String::new();
    while !text.contains("\r\n0\r\n\r\n") {
        text.push(char::from(stream.read_u8().await.unwrap()));
    }
    let last = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or_else(|| panic!("{text}"));
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!((&last["code"], &last["delivered"]), (&json!("sender_mismatch"), &json!("yes")), "{last}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_that_ends_with_its_callers_certificate_says_what_was_delivered() {
    for asks_something in [true, false] {
        let house = house();
        let quick = Agent::saying(&reply());
        let (port, heard) = silent_socket(&house).await;
        let routes = [
            route("quick", "l8", &format!("http://127.0.0.1:{}/l8", quick.port), ""),
            route("sockets", "l8", &format!("https://127.0.0.1:{port}/l8"), "websocket = true"),
        ];
        let gateway = Gateway::start(house.config(&routes.concat(), ""));
        let mut stream = open(&house, gateway.port("sockets")).await;
        stream.write_all(b"GET / HTTP/1.1\r\nHost: gw\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").await.unwrap();
        assert!(head(&mut stream).await.starts_with("HTTP/1.1 101"));
        let mut socket = WebSocketStream::from_raw_socket(stream, Role::Client, None).await;
        if asks_something {
            let mut asks = message();
            asks["performative"] = json!("QUERY");
            socket.send(Message::text(asks.to_string())).await.unwrap();
            tokio::task::block_in_place(|| wait("it is told", || heard.lock().unwrap().len() == 1));
        }
        taken_away(&house, gateway.port("quick")).await;
        let Some(Ok(Message::Text(text))) = socket.next().await else { panic!("it says why it ends") };
        let said: Value = serde_json::from_str(&text).unwrap();
        let delivered = if asks_something { "yes" } else { "no" };
        assert_eq!(
            (&said["code"], &said["delivered"]),
            (&json!("sender_mismatch"), &json!(delivered)),
            "{said}"
        );
    }
}
