//! hyper behind the guard sees requests, and of a faulty one only that it was.

use super::*;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Request, Response};
use tokio::io::AsyncWriteExt;

fn limits() -> GuardLimits {
    GuardLimits {
        head: HeadLimits { max_bytes: 1024, max_headers: 16, websocket: false },
        header_timeout: Duration::from_millis(200),
        idle_timeout: Duration::from_millis(400),
        write_timeout: Duration::from_millis(400),
    }
}

/// Serves one connection; answers each request with its number, path, body length and fault.
async fn serve(stream: tokio::io::DuplexStream) {
    let watch = Rc::new(Watch::default());
    let guard = Guard::new(stream, BytesMut::new(), limits(), Rc::clone(&watch));
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let serving = watch.begin();
        async move {
            let path = request.uri().path().to_owned();
            let early = serving.fault();
            let body = request.into_body().collect().await.map(|body| body.to_bytes().len());
            let fault = early.or(serving.fault());
            let said = format!("[{} {path} {:?} {fault:?}]", serving.number(), body.map_err(|_| "cut"));
            Ok::<_, std::convert::Infallible>(Response::new(Full::new(bytes::Bytes::from(said))))
        }
    });
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(guard, service).await;
}

/// What comes back when `parts` are sent with pauses between, and the sending side stays open.
async fn answers(parts: &[&[u8]]) -> String {
    let (mut client, server) = tokio::io::duplex(1 << 16);
    let local = tokio::task::LocalSet::new();
    local.spawn_local(serve(server));
    let parts: Vec<Vec<u8>> = parts.iter().map(|part| part.to_vec()).collect();
    local
        .run_until(async move {
            for part in parts {
                client.write_all(&part).await.unwrap();
                // many small parts must not look like slowloris
                if part.len() > 1 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                } else {
                    tokio::task::yield_now().await;
                }
            }
            let mut all = Vec::new();
            client.read_to_end(&mut all).await.unwrap();
            String::from_utf8(all).unwrap()
        })
        .await
}

fn said(text: &str) -> Vec<&str> {
    text.split('[').skip(1).filter_map(|part| part.split(']').next()).collect()
}

#[tokio::test]
async fn requests_in_one_piece_and_in_many_are_the_same_requests() {
    let text = b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloPOST /b HTTP/1.1\r\nHost: a\r\n\
        Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let wanted = ["1 /a Ok(5) None", "2 /b Ok(3) None", "3 /c Ok(0) None"];
    assert_eq!(said(&answers(&[text]).await), wanted);
    let (one, two) = text.split_at(47);
    assert_eq!(said(&answers(&[one, two]).await), wanted);
    let bytes: Vec<&[u8]> = text.chunks(1).collect();
    assert_eq!(said(&answers(&bytes).await), wanted);
}

#[tokio::test]
async fn a_faulty_head_is_answered_once_and_nothing_after_it_is_read() {
    let attack =
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n\
        POST /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    let text = answers(&[attack]).await;
    assert_eq!(said(&text), ["1 /.refused Ok(0) Some(BothLengths)"]);
}

#[tokio::test]
async fn a_fault_after_a_good_request_belongs_to_the_second() {
    let text = b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhiPOST /b HTTP/1.0\r\n\r\n";
    assert_eq!(said(&answers(&[text]).await), ["1 /a Ok(2) None", "2 /.refused Ok(0) Some(Version)"]);
}

#[tokio::test]
async fn trailers_and_chunk_extensions_end_the_body() {
    let head = "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (rest, fault) in [
        ("2\r\nhi\r\n0\r\nSemgate-Sender: x\r\n\r\n", "Trailers"),
        ("2;a=b\r\nhi\r\n0\r\n\r\n", "Chunk"),
        ("2\r\nhiX", "Chunk"),
    ] {
        let text = answers(&[head.as_bytes(), rest.as_bytes()]).await;
        assert_eq!(said(&text), [format!("1 /a Err(\"cut\") Some({fault})")], "{rest:?}");
    }
}

#[tokio::test]
async fn slowloris_is_answered_and_cut() {
    let before = std::time::Instant::now();
    let text = answers(&[b"POST / HTTP/1.1\r\nHost: a\r\n", b"X: a\r\n"]).await;
    assert_eq!(said(&text), ["1 /.refused Ok(0) Some(HeadTooSlow)"]);
    assert!(before.elapsed() >= Duration::from_millis(200));
}

#[tokio::test]
async fn a_silent_connection_is_closed_without_an_answer() {
    assert_eq!(answers(&[]).await, "");
}

/// The first answer to `bytes`, or all there is if that is none of the service.
async fn first(bytes: &[u8]) -> String {
    let (mut client, server) = tokio::io::duplex(1 << 16);
    let local = tokio::task::LocalSet::new();
    local.spawn_local(serve(server));
    let talk = async {
        client.write_all(bytes).await.unwrap();
        let mut all = Vec::new();
        while !all.contains(&b']') && client.read_buf(&mut all).await.unwrap() > 0 {}
        String::from_utf8(all).unwrap()
    };
    local.run_until(talk).await
}

/// hyper answers what it cannot parse by itself: no decision id, no problem document, no record.
#[tokio::test]
async fn a_byte_that_only_hyper_refuses_is_refused_by_the_guard_first() {
    let places: [(&str, &[u8], &[u8]); 5] = [
        ("method", b"PO", b"ST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
        ("path", b"POST /a", b"c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
        ("query", b"POST /a?b", b"c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
        ("header name", b"POST / HTTP/1.1\r\nHost: a\r\nX", b"Y: z\r\nConnection: close\r\n\r\n"),
        ("header value", b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: y", b"z\r\n\r\n"),
    ];
    for (place, before, after) in places {
        for byte in 0..=u8::MAX {
            let text = first(&[before, &[byte], after].concat()).await;
            let ours = text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains("[1 ");
            assert!(ours, "{place} {byte:#04x}: {text:?}");
        }
    }
}

#[tokio::test]
async fn the_bytes_that_a_target_does_not_take_are_those_of_the_specification() {
    for (before, wanted) in [("/a", "#<>`"), ("/a?", "\"#<>")] {
        let mut refused = String::new();
        for byte in 0x21..=0x7e_u8 {
            let target = format!("{before}{}", char::from(byte));
            let text = first(format!("POST {target} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).await;
            if said(&text) == ["1 /.refused Ok(0) Some(Target)"] {
                refused.push(char::from(byte));
            }
        }
        assert_eq!(refused, wanted, "{before}");
    }
}
