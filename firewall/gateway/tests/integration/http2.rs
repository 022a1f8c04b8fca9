//! HTTP/2 on both sides: the same verdicts as over HTTP/1.1, a fault stays on its stream, and nothing is unbounded.

use crate::common;

use common::agent::{Act, Agent, answer};
use common::h2::{self, DATA, END_STREAM, GOAWAY, HEADERS, RST_STREAM, Raw, code};
use common::{Gateway, House, RETAILER, WHOLESALER, message, plain_route, reply, route, wait};
use semgate_policies::PolicySource;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

fn house() -> House {
    let mut house = House::new();
    house.remember();
    house
}

fn plain(agent: &Agent, limits: &str) -> (House, Gateway) {
    let house = house();
    let gateway = Gateway::start(house.config(&plain_route(agent.port), limits));
    (house, gateway)
}

fn bytes() -> Vec<u8> {
    message().to_string().into_bytes()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_h2c_by_prior_knowledge_a_message_passes_and_a_refusal_is_the_same_document() {
    let agent = Agent::saying(&reply());
    let (house, gateway) = plain(&agent, "");
    let mut client = h2::plain(gateway.port("plain")).await;
    let (status, decision, body) = h2::read(client.send_request(h2::post(&message())).await.unwrap()).await;
    assert_eq!((status, body), (200, reply()));
    assert_eq!(decision.len(), 26);
    assert_eq!(agent.seen()[0].body, bytes(), "exactly the bytes that were checked");
    assert_eq!(agent.seen()[0].header("semgate-sender").unwrap(), RETAILER);

    let mut other = message();
    other["sender_id"] = "treasurer-1".into();
    let (status, decision, problem) = h2::read(client.send_request(h2::post(&other)).await.unwrap()).await;
    assert_eq!((status, problem["code"].as_str()), (403, Some("sender_mismatch")));
    assert_eq!(problem["decision_id"], decision);
    wait("the records", || house.audit().len() == 3);
    // and HTTP/1.1 goes on beside it
    assert_eq!(gateway.say(&message()).status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tls_alpn_chooses_and_the_certificate_is_the_sender() {
    let house = house();
    let agent = Agent::saying(&reply());
    let tls = route("l8", "l8", &format!("http://127.0.0.1:{}/l8", agent.port), "");
    let gateway = Gateway::start(house.config(&tls, ""));
    let mut config = (*house.pki.client_config(Some(&house.pki.agent(RETAILER)))).clone();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let stream = tokio::net::TcpStream::connect(("127.0.0.1", gateway.port("l8"))).await.unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
    let mut client = h2::client(stream).await;
    let (status, _, body) = h2::read(client.send_request(h2::post(&message())).await.unwrap()).await;
    assert_eq!((status, body), (200, reply()));
    assert!(agent.seen()[0].header("client-cert").is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_messages_share_a_connection_and_each_has_its_own_record() {
    let agent = Agent::saying(&reply());
    let (house, gateway) = plain(&agent, "");
    let client = h2::plain(gateway.port("plain")).await;
    let all: Vec<_> = (0..40)
        .map(|_| {
            let mut client = client.clone();
            tokio::spawn(
                async move { h2::read(client.send_request(h2::post(&message())).await.unwrap()).await },
            )
        })
        .collect();
    for one in all {
        assert_eq!(one.await.unwrap().0, 200);
    }
    wait("two records each", || house.audit().len() == 80);
}

#[test]
fn host_that_differs_from_authority_is_refused_and_the_connection_goes_on() {
    let agent = Agent::saying(&reply());
    let (house, gateway) = plain(&agent, "");
    let mut raw = Raw::open(gateway.port("plain"));
    raw.head(1, 0, &[("host", "other")]);
    raw.send(DATA, END_STREAM, 1, &bytes());
    let refused: serde_json::Value = serde_json::from_str(&raw.body(1)).unwrap();
    assert_eq!(refused["code"], "malformed");
    raw.head(3, 0, &[("host", "gw")]);
    raw.send(DATA, END_STREAM, 3, &bytes());
    assert_eq!(raw.body(3), reply().to_string());
    assert_eq!(agent.seen().len(), 1);
    wait("the record of the refusal", || house.audit().iter().any(|record| record["code"] == "malformed"));
}

#[test]
fn headers_of_a_connection_and_te_other_than_trailers_reset_their_stream_alone() {
    let agent = Agent::saying(&reply());
    let (_house, gateway) = plain(&agent, "");
    let mut raw = Raw::open(gateway.port("plain"));
    let smuggled = [
        ("connection", "close"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "websocket"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "close"),
        ("te", "gzip"),
        ("content-length", "5"),
        (":protocol", "websocket"),
    ];
    for (n, (name, value)) in (0_u32..).zip(smuggled) {
        let stream = 1 + 2 * n;
        raw.head(stream, 0, &[(name, value)]);
        raw.send(DATA, END_STREAM, stream, &bytes());
        let reset = raw.next(&[RST_STREAM, HEADERS, GOAWAY]).unwrap();
        assert_eq!((reset.kind, reset.stream, code(&reset)), (RST_STREAM, stream, 1), "{name}");
    }
    raw.head(101, 0, &[("te", "trailers")]);
    raw.send(DATA, END_STREAM, 101, &bytes());
    assert_eq!(raw.body(101), reply().to_string());
    assert_eq!(agent.seen().len(), 1, "nothing of the others reached the agent");
}

#[test]
fn headers_that_are_none_end_their_connection() {
    let agent = Agent::saying(&reply());
    let (_house, gateway) = plain(&agent, "");
    for (name, value) in [(":unknown", "x"), ("x", "a\0b"), ("x", "a\nb"), ("x", "a\rb"), ("X-Upper", "a")] {
        let mut raw = Raw::open(gateway.port("plain"));
        raw.head(1, 0, &[(name, value)]);
        raw.send(DATA, END_STREAM, 1, &bytes());
        let ends = raw.next(&[RST_STREAM, HEADERS, GOAWAY]).unwrap();
        assert_eq!((ends.kind, code(&ends)), (GOAWAY, 1), "{name}: {value:?}");
    }
    assert!(agent.seen().is_empty());
}

#[test]
fn trailers_of_a_request_are_refused() {
    let agent = Agent::saying(&reply());
    let (_house, gateway) = plain(&agent, "");
    let mut raw = Raw::open(gateway.port("plain"));
    raw.head(1, 0, &[]);
    raw.send(DATA, 0, 1, &bytes());
    // a literal header: x: 1
    raw.send(HEADERS, END_STREAM | h2::END_HEADERS, 1, &[0, 1, b'x', 1, b'1']);
    assert!(raw.body(1).contains("\"code\":\"malformed\""));
    assert!(agent.seen().is_empty());
}

#[test]
fn rapid_reset_ends_the_connection_after_a_few() {
    let agent = Agent::saying(&reply());
    let (_house, gateway) = plain(&agent, "");
    let mut raw = Raw::open(gateway.port("plain"));
    for n in 0..200 {
        raw.head(1 + 2 * n, END_STREAM, &[]);
        raw.send(RST_STREAM, 0, 1 + 2 * n, &8_u32.to_be_bytes());
    }
    let farewell = raw.next(&[GOAWAY]).unwrap();
    assert_eq!(code(&farewell), 11, "enhance your calm");
    assert_eq!(gateway.say(&message()).status, 200, "others are served");
}

#[test]
fn more_streams_than_the_limit_are_refused_by_the_protocol() {
    let agent = Agent::start(|_| common::agent::Act::Wait(Duration::from_secs(5)));
    let (_house, gateway) = plain(&agent, "");
    let mut raw = Raw::open(gateway.port("plain"));
    for stream in (1..=201).step_by(2) {
        raw.head(stream, 0, &[]);
        raw.send(DATA, END_STREAM, stream, &bytes());
    }
    let reset = raw.next(&[RST_STREAM]).unwrap();
    assert_eq!((reset.stream, code(&reset)), (201, 7), "refused stream: never looked at");
}

#[test]
fn a_head_past_the_limit_is_too_large_and_a_body_that_does_not_come_is_too_slow() {
    let agent = Agent::saying(&reply());
    let (_house, gateway) = plain(&agent, "header_bytes = 1024\nbody_timeout = \"200ms\"");
    let mut raw = Raw::open(gateway.port("plain"));
    let long = "a".repeat(100);
    let names: Vec<String> = (0..8).map(|n| format!("x-{n}")).collect();
    let more: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), long.as_str())).collect();
    raw.head(1, END_STREAM, &more);
    assert!(raw.body(1).contains("\"code\":\"too_large\""));
    raw.head(3, 0, &[]);
    assert!(raw.body(3).contains("\"code\":\"too_slow\""));
    raw.head(5, 0, &[]);
    raw.send(DATA, END_STREAM, 5, &bytes());
    assert_eq!(raw.body(5), reply().to_string());
}

#[test]
fn an_idle_connection_is_told_to_go() {
    let agent = Agent::saying(&reply());
    let (_house, gateway) = plain(&agent, "idle_timeout = \"200ms\"");
    let mut raw = Raw::open(gateway.port("plain"));
    let farewell = raw.next(&[GOAWAY]).unwrap();
    assert_eq!(code(&farewell), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_says_goaway_and_finishes_what_is_open() {
    let answer = common::agent::ok(reply().to_string().as_bytes());
    let agent = Agent::start(move |_| {
        std::thread::sleep(Duration::from_millis(500));
        common::agent::Act::Say(answer.clone())
    });
    let (_house, mut gateway) = plain(&agent, "");
    let client = h2::plain(gateway.port("plain")).await;
    let mut sending = client.clone();
    let open =
        tokio::spawn(
            async move { h2::read(sending.send_request(h2::post(&message())).await.unwrap()).await },
        );
    wait("the message at the agent", || agent.seen().len() == 1);
    gateway.tell_to_stop();
    assert_eq!(open.await.unwrap().0, 200);
    let mut client = client;
    wait("the farewell", || client.is_closed());
    assert!(client.send_request(h2::post(&message())).await.is_err());
    tokio::task::spawn_blocking(move || gateway.stop().unwrap()).await.unwrap();
}

fn h2_route(port: u16) -> String {
    let more = format!("plain_sender = \"{RETAILER}\"\nupstream_http2 = true");
    route("plain", "l8", &format!("http://127.0.0.1:{port}/l8"), &more)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_over_http_2_gets_all_messages_of_a_core_on_one_connection() {
    let house = house();
    let agent = h2::Agent::saying(&reply(), Duration::from_millis(50), usize::MAX);
    let gateway = Gateway::start(house.config(&h2_route(agent.port), ""));
    let client = h2::plain(gateway.port("plain")).await;
    let all: Vec<_> = (0..20)
        .map(|_| {
            let mut client = client.clone();
            tokio::spawn(
                async move { h2::read(client.send_request(h2::post(&message())).await.unwrap()).await },
            )
        })
        .collect();
    for one in all {
        let (status, _, body) = one.await.unwrap();
        assert_eq!((status, body), (200, reply()));
    }
    assert_eq!(agent.connections.load(Ordering::SeqCst), 1);
    let heads = agent.heads.lock().unwrap();
    assert_eq!(heads[0].uri.to_string(), format!("http://127.0.0.1:{}/l8", agent.port));
    assert!(heads[0].headers.get("host").is_none());
    assert_eq!(heads[0].headers["semgate-sender"], RETAILER);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_says_goaway_is_connected_to_again_and_no_message_is_sent_twice() {
    let house = house();
    let agent = h2::Agent::saying(&reply(), Duration::ZERO, 1);
    let gateway = Gateway::start(house.config(&h2_route(agent.port), ""));
    for _ in 0..5 {
        assert_eq!(gateway.say(&message()).status, 200);
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(agent.heads.lock().unwrap().len(), 5);
    assert!(agent.connections.load(Ordering::SeqCst) > 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_does_not_agree_to_http_2_or_is_not_the_receiver_gets_nothing() {
    let house = house();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    // its ALPN is http/1.1 only
    let acceptor = tokio_rustls::TlsAcceptor::from(house.pki.server_config(WHOLESALER, true));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = acceptor.accept(stream).await;
        }
    });
    let more = format!("plain_sender = \"{RETAILER}\"\nupstream_http2 = true");
    let routes = route("plain", "l8", &format!("https://127.0.0.1:{port}/l8"), &more);
    let gateway = Gateway::start(house.config(&routes, ""));
    let answer = tokio::task::spawn_blocking(move || gateway.say(&message())).await.unwrap();
    assert_eq!(answer.problem(), (502, "upstream_unavailable".to_owned()));
}

/// No header over HTTP/2 has to say that a body follows: what was behind such a head reached the server, which may read it as a request
/// of its own, with headers that only the gateway writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_a_body_behind_get_or_delete_of_mcp_is_a_request_that_nobody_judged() {
    let house = house();
    let mut policies = PolicySource::shipped();
    let all = "permit (principal in Group::\"partners\", action, resource);";
    policies.files.push(("all.cedar".to_owned(), all.to_owned()));
    house.write_policies(&policies);
    let server = Agent::start(|seen| {
        let opened = json!({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25", "capabilities": {},
            "serverInfo": {"name": "tools", "version": "1"}}});
        let headers = "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n";
        Act::Say(match seen.body.is_empty() {
            true => answer("405 Method Not Allowed", "Allow: POST\r\n", b""),
            false => answer("200 OK", headers, opened.to_string().as_bytes()),
        })
    });
    let more = format!("plain_sender = \"{RETAILER}\"\ndefault_context = \"urn:contexts:supplyChain:v1.0\"");
    let upstream = format!("http://127.0.0.1:{}/mcp", server.port);
    let gateway = Gateway::start(house.config(&route("mcp", "mcp", &upstream, &more), ""));
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}});
    let opened = gateway.post("mcp", "", initialize.to_string().as_bytes());
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let mut client = h2::plain(gateway.port("mcp")).await;
    let mut ask = async |method: &str, body: &'static [u8]| {
        let request = http::Request::builder()
            .method(method)
            .uri("http://gw/")
            .header("accept", "text/event-stream")
            .header("mcp-protocol-version", "2025-11-25")
            .header("mcp-session-id", &session)
            .body(http_body_util::Full::new(bytes::Bytes::from_static(body)))
            .unwrap();
        h2::read(client.send_request(request).await.unwrap()).await
    };
    let smuggled =
        b"POST /mcp HTTP/1.1\r\nHost: x\r\nSemgate-Sender: treasurer-1\r\nContent-Length: 2\r\n\r\n{}";
    for method in ["GET", "DELETE"] {
        let (status, _, said) = ask(method, smuggled).await;
        let said = said.to_string();
        assert!(
            status == 400 && said.contains("without a body") && said.contains("malformed"),
            "{method}: {said}"
        );
        assert_eq!(server.seen().len(), 1, "{method}: nothing of it reached the server");
    }
    // without a body they do
    for method in ["GET", "DELETE"] {
        let said = ask(method, b"").await;
        let seen = server.seen().pop().unwrap();
        assert!(seen.head.starts_with(method) && seen.body.is_empty(), "{said:?}: {}", seen.head);
    }
}
