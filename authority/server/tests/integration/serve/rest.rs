//! Answers that are made before the request's body was read: the connection goes on behind them, or the answer says that it does not.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::support::*;

type Wire = TlsStream<TcpStream>;

/// Head and body in two writes, as common clients send them.
async fn halves(wire: &mut Wire, path: &str, framing: &str, body: &[u8]) {
    let head =
        format!("POST {path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n{framing}\r\n\r\n");
    wire.write_all(head.as_bytes()).await.unwrap();
    wire.flush().await.unwrap();
    tokio::time::sleep(Duration::from_millis(30)).await;
    wire.write_all(body).await.unwrap();
    wire.flush().await.unwrap();
}

/// One answer: its head in lower case, once its body is there.
async fn answer(wire: &mut Wire) -> String {
    let mut got = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&got).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let (_, length) = head.split_once("content-length: ").expect("a length");
            if body.len() >= length.lines().next().unwrap().parse::<usize>().unwrap() {
                return head;
            }
        }
        let read = tokio::time::timeout(Duration::from_secs(5), wire.read(&mut piece)).await;
        let read = read.expect("an answer in time").expect("an answer");
        assert_ne!(read, 0, "the connection ended within an answer: {text}");
        got.extend_from_slice(&piece[..read]);
    }
}

/// Nothing follows but the end, which TLS says.
async fn ends(wire: &mut Wire) {
    let end = tokio::time::timeout(Duration::from_secs(5), wire.read(&mut [0; 1])).await.unwrap();
    assert_eq!(end.expect("the end is told with close_notify"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_before_the_body_was_read_leaves_no_doubt_about_the_next_request() {
    let place = Place::new();
    let running = place.start().await;
    let (operator, unknown) = (Some(OPERATOR), Some("spiffe://semgate.test/nobody"));
    let cases = [
        (None, "/v1/contexts", "401"),
        (unknown, "/v1/contexts", "403"),
        (None, "/v1/nothing", "404"),
        (None, "/v1/feed/head", "405"),
        (operator, "/v1/proposals/abc/approve", "404"),
        (operator, "/v1/contexts", "201"),
    ];
    for (who, path, status) in cases {
        let mut wire = running.client_of(&place, who).raw().await;
        // the last goes behind all others on its connection
        for n in 0..3 {
            let urn = format!("urn:contexts:rest{n}.test:v1.0");
            let body = document(&urn, &"x".repeat(1500));
            let long = format!("content-length: {}", body.len());
            let head = match n {
                1 => {
                    let pieces = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
                    halves(&mut wire, path, "transfer-encoding: chunked", pieces.as_bytes()).await;
                    answer(&mut wire).await
                }
                _ => {
                    halves(&mut wire, path, &long, body.as_bytes()).await;
                    answer(&mut wire).await
                }
            };
            assert!(head.starts_with(&format!("http/1.1 {status}")), "{path} {n}: {head}");
            assert!(!head.contains("connection: close"), "its body was read: {head}");
        }
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_a_body_that_is_not_read_says_that_the_connection_ends() {
    let place = Place::new();
    let text = std::fs::read_to_string(&place.made.config).unwrap();
    let limits = "[limits]\nbody_timeout = \"300ms\"\ncontext_bytes = 2048\n";
    std::fs::write(&place.made.config, text + limits).unwrap();
    let running = place.start().await;
    let stranger = running.client_of(&place, None);
    let cases = [
        ("longer than any context", None, "content-length: 90000", vec![b'x'; 8000], "401"),
        ("without an end", None, "content-length: 90", b"{".to_vec(), "401"),
        ("chunks without an end", None, "transfer-encoding: chunked", b"1\r\n{\r\n".to_vec(), "401"),
        ("too slow", Some(OPERATOR), "content-length: 90", b"{".to_vec(), "408"),
        ("not asked for", None, "content-length: 90\r\nexpect: 100-continue", Vec::new(), "401"),
        ("far too long", Some(OPERATOR), "content-length: 90000", vec![b'x'; 8000], "413"),
    ];
    for (what, who, framing, body, status) in cases {
        let client = if who.is_some() { &running.client } else { &stranger };
        let mut wire = client.raw().await;
        halves(&mut wire, "/v1/contexts", framing, &body).await;
        let head = answer(&mut wire).await;
        assert!(head.starts_with(&format!("http/1.1 {status}")), "{what}: {head}");
        assert!(head.contains("connection: close"), "{what}: {head}");
        ends(&mut wire).await;
    }
    running.stop().await;
}
