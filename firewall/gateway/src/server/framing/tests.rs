//! The attacks that a lenient reader lets through, by name.

use super::*;
use proptest::prelude::*;

const LIMITS: HeadLimits = HeadLimits { max_bytes: 512, max_headers: 8, websocket: false };

fn scan(text: &str) -> Result<Head, FramingFault> {
    scan_head(text.as_bytes(), 0, &LIMITS)
}

fn with(headers: &str) -> Result<Head, FramingFault> {
    scan(&format!("POST / HTTP/1.1\r\nHost: a\r\n{headers}\r\n"))
}

#[test]
fn a_plain_head_tells_where_it_ends_and_what_follows() {
    let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";
    let whole = format!("{head}hello");
    assert_eq!(scan(&whole), Ok(Head::Complete { bytes: head.len(), body: Body::Length(5) }));
    assert_eq!(with("Transfer-Encoding: Chunked\r\n").map(body), Ok(Some(Body::Chunked)));
    assert_eq!(with("").map(body), Ok(Some(Body::Length(0))));
}

/// The guard would wait for a socket, and the path would see none.
#[test]
fn attack_a_socket_is_asked_for_beside_an_offer_of_http2() {
    let sockets = HeadLimits { websocket: true, ..LIMITS };
    let scan = |headers: &str| {
        let head = format!("GET / HTTP/1.1\r\nHost: a\r\n{headers}\r\n");
        scan_head(head.as_bytes(), 0, &sockets).map(body)
    };
    assert_eq!(scan("Connection: Upgrade\r\nUpgrade: websocket\r\n"), Ok(Some(Body::Upgrade)));
    for both in [
        "Connection: Upgrade\r\nUpgrade: h2c\r\nUpgrade: websocket\r\n",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nHTTP2-Settings: AAM\r\n",
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: websocket\r\n",
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nUpgrade: websocket\r\nHTTP2-Settings: AAM\r\n",
    ] {
        assert_eq!(scan(both), Err(FramingFault::Upgrade), "{both:?}");
    }
}

/// As the HTTP client of the JDK sends with each request without TLS, and `curl --http2`.
#[test]
fn bug_a_client_that_offers_http2_was_refused() {
    let offer = "Connection: Upgrade, HTTP2-Settings\r\nContent-Length: 5\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\nUpgrade: h2c\r\n";
    assert_eq!(with(offer).map(body), Ok(Some(Body::Length(5))));
    let sockets = HeadLimits { websocket: true, ..LIMITS };
    let head = format!("POST / HTTP/1.1\r\nHost: a\r\n{offer}\r\n");
    assert_eq!(scan_head(head.as_bytes(), 0, &sockets).map(body), Ok(Some(Body::Length(5))));
}

fn body(head: Head) -> Option<Body> {
    match head {
        Head::Complete { body, .. } => Some(body),
        Head::Partial => None,
    }
}

#[test]
fn each_smuggling_spelling_has_its_own_fault() {
    let table = [
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", FramingFault::BothLengths),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", FramingFault::BothLengths),
        ("Content-Length: 5\r\nContent-Length: 5\r\n", FramingFault::ContentLength),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", FramingFault::ContentLength),
        ("Content-Length: 5, 5\r\n", FramingFault::ContentLength),
        ("Content-Length: +5\r\n", FramingFault::ContentLength),
        ("Content-Length: 0x5\r\n", FramingFault::ContentLength),
        ("Content-Length:\r\n", FramingFault::ContentLength),
        ("Content-Length: 99999999999999999999\r\n", FramingFault::ContentLength),
        ("Transfer-Encoding: gzip, chunked\r\n", FramingFault::TransferEncoding),
        ("Transfer-Encoding: chunked, identity\r\n", FramingFault::TransferEncoding),
        ("Transfer-Encoding: xchunked\r\n", FramingFault::TransferEncoding),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", FramingFault::TransferEncoding),
        ("Transfer-Encoding : chunked\r\n", FramingFault::HeaderName),
        ("Transfer-Encoding\t: chunked\r\n", FramingFault::HeaderName),
        ("X: a\r\n Content-Length: 5\r\n", FramingFault::Folded),
        ("X: a\nContent-Length: 5\r\n", FramingFault::LineEnd),
        ("X: a\rContent-Length: 5\r\n", FramingFault::LineEnd),
        ("X: a\u{0}b\r\n", FramingFault::HeaderValue),
        (": a\r\n", FramingFault::HeaderName),
        ("no colon\r\n", FramingFault::HeaderName),
        ("Host: b\r\n", FramingFault::Host),
        ("Upgrade: h2c\r\n", FramingFault::Upgrade),
        ("Connection: keep-alive, Upgrade\r\n", FramingFault::Upgrade),
        ("HTTP2-Settings: AAMAAABkAAQ\r\n", FramingFault::Upgrade),
        ("Connection: HTTP2-Settings\r\n", FramingFault::Upgrade),
        ("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n", FramingFault::Upgrade),
        ("Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAM\r\n", FramingFault::Upgrade),
        ("Connection: HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAM\r\n", FramingFault::Upgrade),
        (
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c, websocket\r\nHTTP2-Settings: AAM\r\n",
            FramingFault::Upgrade,
        ),
        (
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAM\r\nHTTP2-Settings: AAM\r\n",
            FramingFault::Upgrade,
        ),
        (
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: a b\r\n",
            FramingFault::Upgrade,
        ),
        ("Trailer: Semgate-Sender\r\n", FramingFault::Trailers),
        ("Expect: 200-maybe\r\n", FramingFault::Expect),
    ];
    for (headers, fault) in table {
        assert_eq!(with(headers), Err(fault), "{headers:?}");
    }
}

#[test]
fn a_request_line_has_one_spelling() {
    let table = [
        ("GET http://evil.test/ HTTP/1.1\r\nHost: a\r\n\r\n", FramingFault::Target),
        ("CONNECT evil.test:443 HTTP/1.1\r\nHost: a\r\n\r\n", FramingFault::Target),
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", FramingFault::Target),
        ("GET /#x HTTP/1.1\r\nHost: a\r\n\r\n", FramingFault::Target),
        ("GET / HTTP/1.0\r\nHost: a\r\n\r\n", FramingFault::Version),
        ("PRI * HTTP/2.0\r\n\r\n", FramingFault::Version),
        ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", FramingFault::RequestLine),
        ("GET /\r\nHost: a\r\n\r\n", FramingFault::RequestLine),
        ("get / HTTP/1.1\r\nHost: a\r\n\r\n", FramingFault::RequestLine),
        ("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", FramingFault::RequestLine),
        ("GET / HTTP/1.1\nHost: a\n\n", FramingFault::LineEnd),
        ("\n", FramingFault::LineEnd),
        ("GET / HTTP/1.1\r\nX: a\r\n\r\n", FramingFault::Host),
        ("GET / HTTP/1.1\r\nHost:\r\n\r\n", FramingFault::Host),
    ];
    for (text, fault) in table {
        assert_eq!(scan(text), Err(fault), "{text:?}");
    }
}

#[test]
fn an_endless_head_is_refused_as_soon_as_it_is_certain() {
    let endless = format!("POST / HTTP/1.1\r\nX: {}", "a".repeat(600));
    assert_eq!(scan(&endless), Err(FramingFault::HeadTooLarge));
    let many = "X: a\r\n".repeat(9);
    assert_eq!(with(&many), Err(FramingFault::HeadTooLarge));
}

fn chunks(text: &str) -> Result<(usize, bool), FramingFault> {
    let mut chunks = Chunks::default();
    let taken = chunks.take(text.as_bytes())?;
    Ok((taken, chunks.done()))
}

#[test]
fn chunks_have_one_spelling_too() {
    assert_eq!(chunks("5\r\nhello\r\n0\r\n\r\nGET"), Ok((15, true)));
    assert_eq!(chunks("5\r\nhel"), Ok((6, false)));
    let table = [
        ("5;a=b\r\nhello\r\n0\r\n\r\n", FramingFault::Chunk),
        ("5\nhello\r\n", FramingFault::Chunk),
        ("5 \r\nhello\r\n", FramingFault::Chunk),
        ("\r\n", FramingFault::Chunk),
        ("-5\r\n", FramingFault::Chunk),
        ("0x5\r\n", FramingFault::Chunk),
        ("123456789\r\n", FramingFault::Chunk),
        ("5\r\nhelloX", FramingFault::Chunk),
        ("0\r\nSemgate-Sender: x\r\n\r\n", FramingFault::Trailers),
    ];
    for (text, fault) in table {
        assert_eq!(chunks(text), Err(fault), "{text:?}");
    }
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(256);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn fuzz_a_head_never_ends_past_its_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        if let Ok(Head::Complete { bytes: end, .. }) = scan_head(&bytes, 0, &LIMITS) {
            prop_assert!(end <= bytes.len());
            prop_assert_eq!(&bytes[end - 4..end], b"\r\n\r\n");
        }
        let _ = Chunks::default().take(&bytes);
    }

    #[test]
    fn fuzz_a_mutated_head_reads_alike_in_one_piece_and_in_two(
        at in 0_usize..70, byte in any::<u8>(), cut in 0_usize..70,
    ) {
        let mut head = b"POST /l8 HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\nX: yz\r\n\r\nhello world!".to_vec();
        if let Some(slot) = head.get_mut(at) { *slot = byte; }
        let whole = scan_head(&head, 0, &LIMITS);
        let cut = cut.min(head.len());
        let parts = match scan_head(&head[..cut], 0, &LIMITS) {
            Ok(Head::Partial) => scan_head(&head, cut, &LIMITS),
            done => done,
        };
        prop_assert_eq!(whole, parts);
    }

    #[test]
    fn fuzz_chunks_read_alike_in_one_piece_and_in_two(cut in 0_usize..40, at in 0_usize..40, byte in any::<u8>()) {
        let mut text = b"5\r\nhello\r\na\r\n0123456789\r\n0\r\n\r\n".to_vec();
        if let Some(slot) = text.get_mut(at) { *slot = byte; }
        let mut one = Chunks::default();
        let whole = one.take(&text);
        let cut = cut.min(text.len());
        let mut two = Chunks::default();
        let parts = two.take(&text[..cut]).and_then(|first| {
            if two.done() || first < cut { return Ok(first); }
            two.take(&text[cut..]).map(|second| first + second)
        });
        prop_assert_eq!(whole, parts);
    }
}
