//! Connecting peers, the verified sender, and the identity headers of the upstream agent. TLS 1.3 on both sides.

use crate::common;

use base64::Engine;
use common::agent::{Act, Agent};
use common::{Answer, Gateway, House, RETAILER, WHOLESALER, message, reply, route, wait};
use semgate_certs::tls::ClientConfig;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

fn house() -> House {
    let mut house = House::new();
    house.remember();
    house
}

fn tls_route(port: u16) -> String {
    route("l8", "l8", &format!("http://127.0.0.1:{port}/l8"), "")
}

async fn connect(port: u16, config: Arc<ClientConfig>) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    TlsConnector::from(config).connect(ServerName::try_from("127.0.0.1").unwrap(), stream).await
}

fn post(body: &str, more: &str) -> String {
    format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{more}\r\n{body}",
        body.len()
    )
}

/// One request on a connection of its own; `Err` if TLS or the peer ended it.
async fn say(port: u16, config: Arc<ClientConfig>, request: &str) -> std::io::Result<Answer> {
    let mut stream = connect(port, config).await?;
    stream.write_all(request.replacen("Host: a", "Host: a\r\nConnection: close", 1).as_bytes()).await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    if text.is_empty() { Err(std::io::ErrorKind::UnexpectedEof.into()) } else { Ok(Answer::parse(&text)) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_verified_certificate_is_the_sender_and_the_agent_is_shown_it() {
    let house = house();
    let agent = Agent::saying(&reply());
    let gateway = Gateway::start(house.config(&tls_route(agent.port), ""));
    let identity = house.pki.agent(RETAILER);
    let config = house.pki.client_config(Some(&identity));
    let forged = "Client-Cert: :AAAA:\r\nClient-Cert-Chain: :AAAA:\r\nSemgate-Sender: spiffe://semgate.test/agent/treasurer-1\r\n";
    let answer =
        say(gateway.port("l8"), Arc::clone(&config), &post(&message().to_string(), forged)).await.unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    let seen = &agent.seen()[0];
    assert_eq!(seen.header("semgate-sender").unwrap(), RETAILER);
    let leaf = base64::engine::general_purpose::STANDARD.encode(identity.0.leaf());
    assert_eq!(seen.header("client-cert").unwrap(), format!(":{leaf}:"));
    assert_eq!(seen.header("client-cert-chain"), None);

    let mut message = message();
    message["sender_id"] = "treasurer-1".into();
    let answer = say(gateway.port("l8"), config, &post(&message.to_string(), "")).await.unwrap();
    assert_eq!(answer.problem(), (403, "sender_mismatch".to_owned()));
    assert_eq!(agent.seen().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_do_not_connect() {
    let house = house();
    let agent = Agent::saying(&reply());
    let gateway = Gateway::start(house.config(&tls_route(agent.port), ""));
    let stranger = common::pki::Pki::stranger().agent(RETAILER);
    let foreign = house.pki.agent("spiffe://elsewhere.test/agent/retailer-7");
    let server = house.pki.server(RETAILER, false);
    for (name, identity) in
        [("none", None), ("stranger", Some(&stranger)), ("domain", Some(&foreign)), ("usage", Some(&server))]
    {
        let config = house.pki.client_config(identity);
        let outcome = say(gateway.port("l8"), config, &post(&message().to_string(), "")).await;
        assert!(outcome.is_err(), "{name}: {outcome:?}");
    }
    let plain = gateway.raw("l8", post(&message().to_string(), "").as_bytes());
    assert!(plain.starts_with("HTTP/1.1 400 ") && plain.contains("this port speaks TLS"), "{plain}");
    assert!(agent.seen().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_ends_ends_a_long_connection() {
    let house = house();
    let agent = Agent::saying(&reply());
    let gateway = Gateway::start(house.config(&tls_route(agent.port), ""));
    let identity = house.pki.short_lived_agent(RETAILER, 2);
    let mut stream = connect(gateway.port("l8"), house.pki.client_config(Some(&identity))).await.unwrap();
    let request = post(&message().to_string(), "");
    let mut buffer = vec![0; 8192];
    stream.write_all(request.as_bytes()).await.unwrap();
    let size = stream.read(&mut buffer).await.unwrap();
    assert!(buffer[..size].starts_with(b"HTTP/1.1 200"));
    tokio::time::sleep(Duration::from_millis(3200)).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    let size = stream.read(&mut buffer).await.unwrap();
    let answer = Answer::parse(&String::from_utf8_lossy(&buffer[..size]));
    assert_eq!(answer.problem(), (403, "sender_mismatch".to_owned()));
    assert_eq!(agent.seen().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_agent_cannot_hold_every_connection_of_a_listener() {
    let house = house();
    let agent = Agent::saying(&reply());
    let config = house.config(&tls_route(agent.port), "connections = 16\nconnections_per_agent = 4");
    let gateway = Gateway::start(config);
    let port = gateway.port("l8");
    let greedy = house.pki.client_config(Some(&house.pki.agent(RETAILER)));
    let mut held = Vec::new();
    for _ in 0..64 {
        held.push(connect(port, Arc::clone(&greedy)).await.unwrap());
    }
    // those past the bound are closed, whichever core they came to
    tokio::time::sleep(Duration::from_millis(200)).await;
    let mut open = 0;
    for stream in &mut held {
        let mut byte = [0];
        let read = tokio::time::timeout(Duration::from_millis(10), stream.read(&mut byte)).await;
        open += usize::from(read.is_err());
    }
    assert!((1..=4).contains(&open), "{open} of one agent are open");
    let other = house.pki.client_config(Some(&house.pki.agent(WHOLESALER)));
    for _ in 0..4 {
        let answer = say(port, Arc::clone(&other), &post("{}", "")).await.unwrap();
        assert_eq!(answer.problem().1, "malformed", "another agent is served");
    }
    drop(held);
    let body = message().to_string();
    for _ in 0..100 {
        if say(port, Arc::clone(&greedy), &post(&body, "")).await.is_ok_and(|answer| answer.status == 200) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("places are not given back");
}

/// A head, without its body: whoever waits for that answers nothing.
const HEAD: &str =
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n";

/// The caller is told to wait, before anything of the body came.
async fn too_many(port: u16, config: &Arc<ClientConfig>) {
    let said = tokio::time::timeout(Duration::from_secs(5), say(port, Arc::clone(config), HEAD)).await;
    let refused = said.unwrap().unwrap();
    assert_eq!(refused.problem(), (429, "rate_limited".to_owned()));
    assert!(refused.body.contains("more requests in flight than its limit allows"), "{refused:?}");
    assert_eq!((refused.header("retry-after"), &refused.json()["delivered"]), (Some("1"), &"no".into()));
    assert_eq!(refused.header("connection"), Some("close"), "the body would stand before the next request");
}

/// Until a place is given back that was taken.
async fn until_heard(port: u16, config: &Arc<ClientConfig>) {
    for _ in 0..100 {
        let answer = say(port, Arc::clone(config), &post("{}", "")).await.unwrap();
        if answer.status != 429 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("places are not given back");
}

/// One agent's requests took every descriptor, over whatever connections and routes, and nobody else was heard.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_one_agent_has_so_many_requests_in_flight_that_no_descriptor_is_left() {
    let house = house();
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let said = common::agent::ok(reply().to_string().as_bytes());
    let agent = Agent::start(move |_| {
        let _ = gate.lock().unwrap().recv();
        Act::Say(said.clone())
    });
    let sockets = route("sockets", "l8", &format!("http://127.0.0.1:{}/l8", agent.port), "websocket = true");
    let gateway = Gateway::start(house.config(&(tls_route(agent.port) + &sockets), "requests_per_agent = 3"));
    let (port, other) = (gateway.port("l8"), gateway.port("sockets"));
    let greedy = house.pki.client_config(Some(&house.pki.agent(RETAILER)));

    let mut socket = connect(other, Arc::clone(&greedy)).await.unwrap();
    let upgrade = "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    socket.write_all(upgrade.as_bytes()).await.unwrap();
    let mut buffer = vec![0; 4096];
    let size = socket.read(&mut buffer).await.unwrap();
    assert!(buffer[..size].starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&buffer[..size]));
    let mut held = Vec::new();
    for port in [port, other] {
        let greedy = Arc::clone(&greedy);
        held.push(tokio::spawn(async move { say(port, greedy, &post(&message().to_string(), "")).await }));
    }
    wait("both messages", || agent.seen().len() == 2);
    for port in [port, other] {
        too_many(port, &greedy).await;
    }
    let else_one = house.pki.client_config(Some(&house.pki.agent(WHOLESALER)));
    let answer = say(port, else_one, &post("{}", "")).await.unwrap();
    assert_eq!(answer.problem().1, "malformed", "another agent is served");

    drop(socket);
    until_heard(port, &greedy).await;
    drop(open);
    for held in held {
        assert_eq!(held.await.unwrap().unwrap().status, 200);
    }
    for _ in 0..4 {
        let answer = say(port, Arc::clone(&greedy), &post(&message().to_string(), "")).await.unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_is_in_flight_until_it_is_over_or_its_caller_leaves() {
    let house = house();
    // its head and nothing more
    let agent =
        Agent::start(|_| Act::Say(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n".to_vec()));
    let a2a = route("a2a", "a2a", &format!("http://127.0.0.1:{}/a2a", agent.port), "");
    let gateway = Gateway::start(house.config(&a2a, "requests_per_agent = 1"));
    let port = gateway.port("a2a");
    let greedy = house.pki.client_config(Some(&house.pki.agent(RETAILER)));
    let asks = serde_json::json!({
        "jsonrpc": "2.0", "id": 7, "method": "SendStreamingMessage",
        "params": {"message": {
            "messageId": "m-1", "role": "ROLE_USER",
            "parts": [{"data": {"concept_type": "current_decision", "item_id": "sku-1", "quantity": 120}}],
            "metadata": {"urn:contexts:snl:v1.0": {"context": "urn:contexts:supplyChain:v1.0"}}
        }}
    });
    let mut stream = connect(port, Arc::clone(&greedy)).await.unwrap();
    stream.write_all(post(&asks.to_string(), "A2A-Version: 1.0\r\n").as_bytes()).await.unwrap();
    let mut buffer = vec![0; 4096];
    let size = stream.read(&mut buffer).await.unwrap();
    assert!(buffer[..size].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&buffer[..size]));
    too_many(port, &greedy).await;
    drop(stream);
    until_heard(port, &greedy).await;
}

/// A plain listener has one sender only.
#[test]
fn the_only_sender_of_a_plain_listener_has_as_many_requests_in_flight_as_its_connections() {
    let house = house();
    let agent = Agent::start(|_| Act::Wait(Duration::from_millis(500)));
    let gateway =
        Arc::new(Gateway::start(house.config(&common::plain_route(agent.port), "requests_per_agent = 1")));
    let said: Vec<_> = (0..4)
        .map(|_| {
            let gateway = Arc::clone(&gateway);
            std::thread::spawn(move || gateway.say(&message()).status)
        })
        .collect();
    wait("all messages", || agent.seen().len() == 4);
    assert!(said.into_iter().all(|said| said.join().unwrap() != 429));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handshake_that_drips_gives_its_place_back_in_time() {
    let house = house();
    let agent = Agent::saying(&reply());
    let limits = "connections = 2\nhandshake_timeout = \"300ms\"";
    let gateway = Gateway::start(house.config(&tls_route(agent.port), limits));
    let port = gateway.port("l8");
    let mut silent = Vec::new();
    for _ in 0..8 {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        // the front of a ClientHello, and then nothing
        stream.write_all(&[22, 3, 1, 2, 0]).await.unwrap();
        silent.push(stream);
    }
    let config = house.pki.client_config(Some(&house.pki.agent(RETAILER)));
    let request = post(&message().to_string(), "");
    let said = say(port, config, &request);
    let answer = tokio::time::timeout(Duration::from_secs(8), said).await.unwrap().unwrap();
    assert_eq!(answer.status, 200);
}

/// An upstream agent TLS, by a certificate of this id.
async fn tls_agent(house: &House, id: &str) -> u16 {
    common::agent::tls_agent(house.pki.server_config(id, true)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_https_agent_must_be_the_receiver_and_sees_the_gateways_certificate() {
    let house = house();
    let right = tls_agent(&house, WHOLESALER).await;
    let wrong = tls_agent(&house, "spiffe://semgate.test/agent/wholesaler-2").await;
    let routes = [("right", right), ("wrong", wrong)].map(|(name, port)| {
        route(name, "l8", &format!("https://127.0.0.1:{port}/l8"), &format!("plain_sender = \"{RETAILER}\""))
    });
    let gateway = Gateway::start(house.config(&routes.concat(), ""));
    let body = message().to_string();
    let post = |route: &'static str| gateway.post(route, "", body.as_bytes());
    let (ok, refused) = tokio::task::block_in_place(|| (post("right"), post("wrong")));
    assert_eq!(ok.status, 200, "{ok:?}");
    assert_eq!(refused.problem(), (502, "upstream_unavailable".to_owned()));
    assert_eq!(refused.json()["delivered"], "no");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renewed_certificates_are_taken_up_on_sighup() {
    let house = house();
    let agent = Agent::saying(&reply());
    let gateway = Gateway::start(house.config(&tls_route(agent.port), ""));
    let config = house.pki.client_config(Some(&house.pki.agent(RETAILER)));
    let leaf = async || {
        let stream = connect(gateway.port("l8"), Arc::clone(&config)).await.unwrap();
        stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
    };
    let before = leaf().await;
    house.pki.write_gateway(house.dir.path());
    assert_eq!(leaf().await, before);
    // a handler of our own, so that the signal ends nothing before the gateway listens for it
    let _here = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).unwrap();
    for _ in 0..200 {
        hangup();
        if leaf().await != before {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the old certificate is still shown");
}

fn hangup() {
    let pid = std::process::id().to_string();
    assert!(std::process::Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_unix_socket_serves_its_one_sender_and_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let house = house();
    let agent = Agent::saying(&reply());
    let route = tls_route(agent.port).replace(
        "listen = \"127.0.0.1:0\"",
        &format!("listen = \"unix:l8.sock\"\nplain_sender = \"{RETAILER}\""),
    );
    let gateway = Gateway::start(house.config(&route, ""));
    let path = house.path("l8.sock");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut stream = tokio::net::UnixStream::connect(&path).await.unwrap();
    let request = post(&message().to_string(), "Connection: close\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert_eq!(Answer::parse(&text).status, 200, "{text}");
    wait("recorded", || house.audit().len() == 2);
    drop(gateway);
}
