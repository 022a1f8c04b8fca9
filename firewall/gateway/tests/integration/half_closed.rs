//! A caller that closes its direction of the connection after a request still reads the answer.

use crate::common;

use common::agent::{Act, Agent, ok};
use common::{Gateway, House, RETAILER, message, plain_route, reply, route, wait};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

fn house() -> House {
    let mut house = House::new();
    house.remember();
    house
}

/// An agent that thinks for a while, in which whoever leaves would be noticed.
fn slow() -> Agent {
    let answer = ok(reply().to_string().as_bytes());
    Agent::start(move |_| {
        std::thread::sleep(Duration::from_millis(300));
        Act::Say(answer.clone())
    })
}

fn request(more: &str) -> String {
    let body = message().to_string();
    let kind = "Content-Type: application/json";
    format!("POST / HTTP/1.1\r\nHost: gw\r\n{kind}\r\nContent-Length: {}\r\n{more}\r\n{body}", body.len())
}

fn chunked() -> String {
    let body = message().to_string();
    let head =
        "POST / HTTP/1.1\r\nHost: gw\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len())
}

#[test]
fn a_caller_that_closes_its_direction_after_the_request_has_its_answer() {
    let (house, agent) = (house(), slow());
    let gateway = Gateway::start(house.config(&plain_route(agent.port), ""));
    for (what, bytes, answers) in [
        ("one request", request(""), 1),
        ("one that ends the connection", request("Connection: close\r\n"), 1),
        ("one in chunks", chunked(), 1),
        ("two behind each other", request("") + &request(""), 2),
    ] {
        let mut stream = gateway.connect("plain");
        stream.write_all(bytes.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert_eq!(text.matches("HTTP/1.1 200").count(), answers, "{what}: {text}");
        assert!(text.ends_with(&reply().to_string()), "{what}: {text}");
    }
    wait("the records", || house.audit().iter().filter(|one| one["verdict"] == "allowed").count() == 10);
}

#[test]
fn a_caller_that_closes_its_direction_and_reads_slowly_has_all_of_a_long_answer() {
    let house = house();
    // blanks between tokens are bytes that pass
    let long = reply().to_string() + &" ".repeat(900 << 10);
    let answer = ok(long.as_bytes());
    let agent = Agent::start(move |_| Act::Say(answer.clone()));
    let gateway = Gateway::start(house.config(&plain_route(agent.port), ""));
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let address: std::net::SocketAddr = ([127, 0, 0, 1], gateway.port("plain")).into();
    socket.connect(&address.into()).unwrap();
    let mut stream = std::net::TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request("").as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    assert_eq!(body.len(), long.len());
}

#[test]
fn a_caller_that_closes_its_direction_within_a_request_is_refused() {
    let (house, agent) = (house(), slow());
    let gateway = Gateway::start(house.config(&plain_route(agent.port), ""));
    let whole = request("");
    for cut in [whole.len() - 5, whole.len() / 2] {
        let mut stream = gateway.connect("plain");
        stream.write_all(&whole.as_bytes()[..cut]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        assert!(!text.contains("HTTP/1.1 200"), "{text}");
    }
    assert!(agent.seen().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tls_a_caller_that_sent_close_notify_has_its_answer() {
    let (house, agent) = (house(), slow());
    let upstream = format!("http://127.0.0.1:{}/l8", agent.port);
    let gateway = Gateway::start(house.config(&route("l8", "l8", &upstream, ""), ""));
    let config = house.pki.client_config(Some(&house.pki.agent(RETAILER)));
    let open = async || {
        let stream = tokio::net::TcpStream::connect(("127.0.0.1", gateway.port("l8"))).await.unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let mut stream = TlsConnector::from(Arc::clone(&config)).connect(name, stream).await.unwrap();
        stream.write_all(request("").as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        stream
    };
    let mut stream = open().await;
    stream.shutdown().await.unwrap();
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text).await;
    assert!(text.starts_with("HTTP/1.1 200") && text.ends_with(&reply().to_string()), "{text}");
}
