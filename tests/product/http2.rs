//! HTTP/2 through the running binary: the same verdicts, the same identity, streams beside each other.

use crate::support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use semgate_certs::{Chain, ChainLimits, KeyPair, Roots, tls};
use serde_json::{Value, json};
use support::Up;
use support::gateway::{Gateway, Scripted, free_address};
use support::task_agent::TaskAgent;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

const MESSAGE: &str = r#"{"protocol":"L8/1.0","message_id":"m-1","performative":"INFORM","sender_id":"retailer-7","receiver_id":"wholesaler-1","context":"urn:contexts:supplyChain:v1.0","content":{"concept":"current_decision","item_id":"beer","quantity":1}}"#;

type Client = SendRequest<Full<Bytes>>;

async fn begin<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(stream: S) -> Client {
    let io = TokioIo::new(stream);
    let (client, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(async move { drop(connection.await) });
    client
}

async fn plain(to: SocketAddr) -> Client {
    begin(TcpStream::connect(to).await.unwrap()).await
}

/// As the agent, by ALPN.
async fn secure(up: &Up, agent: &str, url: &str) -> Client {
    let limits = ChainLimits::default();
    let text = |pointer: &str| std::fs::read_to_string(up.path(pointer)).unwrap();
    let chain = Chain::from_pem(&text(&format!("/agents/{agent}/cert")), &limits).unwrap();
    let random = ring::rand::SystemRandom::new();
    let key = KeyPair::from_pem(&text(&format!("/agents/{agent}/key")), &random).unwrap();
    let roots = Roots::from_pem(&text("/roots"), &limits).unwrap();
    let trust = tls::ServerTrust { roots, expected: tls::ExpectedServer::Named };
    let mut config =
        tls::client_config(trust, Some((&chain, &key)), Arc::new(tls::DefaultTimeProvider)).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let address = support::address(url);
    let name = ServerName::try_from(address.rsplit_once(':').unwrap().0.to_owned()).unwrap();
    let stream = TcpStream::connect(&address).await.unwrap();
    let stream = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    begin(stream).await
}

async fn post(mut client: Client, headers: &[(&str, &str)], body: &str) -> (u16, Bytes) {
    let mut request = Request::post("https://gateway/").header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::from(body.to_owned()))).unwrap();
    let answer = client.send_request(request).await.unwrap();
    assert!(answer.headers().contains_key("semgate-decision"));
    let status = answer.status().as_u16();
    (status, answer.into_body().collect().await.unwrap().to_bytes())
}

fn code(body: &[u8]) -> String {
    let json: Value = serde_json::from_slice(body).unwrap();
    json["code"].as_str().unwrap_or_else(|| panic!("{json}")).to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_over_http_2_is_who_its_certificate_says_and_many_messages_share_a_connection() {
    let up = Up::start();
    let client = secure(&up, "retailer-7", up.text("/gateway/l8")).await;
    let all: Vec<_> = (0..20).map(|_| tokio::spawn(post(client.clone(), &[], MESSAGE))).collect();
    for one in all {
        let (status, body) = one.await.unwrap();
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    }
    assert_eq!(up.received(), 20);
    let other = secure(&up, "treasurer-1", up.text("/gateway/l8")).await;
    let (status, body) = post(other, &[], MESSAGE).await;
    assert_eq!((status, code(&body)), (403, "sender_mismatch".to_owned()));
    assert_eq!(up.received(), 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_over_http_2_does_not_hold_up_the_messages_beside_it() {
    let up = Up::before(&TaskAgent::start());
    let client = secure(&up, "retailer-7", up.text("/gateway/a2a")).await;
    let call = |method: &str| {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": {
            "messageId": format!("m-{method}"), "role": "ROLE_USER",
            "metadata": {"urn:contexts:snl:v1.0": {"context": "urn:contexts:supplyChain:v1.0"}},
            "parts": [{"data": {"concept": "current_decision", "item_id": "beer", "quantity": 3}}]}}})
        .to_string()
    };
    let version = [("a2a-version", "1.0")];
    let (stream, message) = (call("SendStreamingMessage"), call("SendMessage"));
    let ((status, events), (other, _)) =
        tokio::join!(post(client.clone(), &version, &stream), post(client.clone(), &version, &message));
    assert_eq!((status, other), (200, 200), "{}", String::from_utf8_lossy(&events));
    let events = String::from_utf8(events.to_vec()).unwrap();
    assert_eq!(events.matches("data: ").count(), 3, "{events}");
}

/// Two gateways in a row: the first speaks HTTP/2 by prior knowledge to the second, which stands before an agent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_tls_http_2_is_spoken_by_prior_knowledge_to_callers_and_to_agents() {
    let up = Up::start();
    let agent = Scripted::answering(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_vec());
    let behind = Gateway::before(&up, agent.address, "");
    let listen = free_address();
    let more = format!(
        "[[route]]\nname = \"h2\"\nlisten = \"{listen}\"\nbinding = \"l8\"\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{}/\"\nupstream_http2 = true\nhosts = [\"gateway\"]\ncontexts = [\"*\"]\n",
        behind.l8
    );
    let front = Gateway::before(&up, agent.address, &more);
    let client = plain(listen).await;
    for n in 1..=5 {
        let (status, _) = post(client.clone(), &[], MESSAGE).await;
        assert_eq!((status, agent.received()), (202, n));
    }
    drop((front, behind));
    tokio::time::sleep(Duration::from_millis(1)).await;
}
