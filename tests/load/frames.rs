//! Frames of HTTP/2 and bytes of sockets that say nothing.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use semgate_certs::{Chain, ChainLimits, KeyPair, Roots, tls};

use super::meter::{GREEDY, House, Stream};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Empty SETTINGS.
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
/// GOAWAY with ENHANCE_YOUR_CALM: type 7, and the code in the last of its eight bytes.
const CALM: u8 = 0xb;

/// A connection of the greedy agent that speaks HTTP/2.
fn http2(house: &House) -> Stream {
    let limits = ChainLimits::default();
    let text = |pointer: &str| std::fs::read_to_string(house.up.path(pointer)).unwrap();
    let chain = Chain::from_pem(&text(&format!("/agents/{GREEDY}/cert")), &limits).unwrap();
    let random = ring::rand::SystemRandom::new();
    let key = KeyPair::from_pem(&text(&format!("/agents/{GREEDY}/key")), &random).unwrap();
    let roots = Roots::from_pem(&text("/roots"), &limits).unwrap();
    let trust = tls::ServerTrust { roots, expected: tls::ExpectedServer::Named };
    let mut config =
        tls::client_config(trust, Some((&chain, &key)), Arc::new(tls::DefaultTimeProvider)).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let tcp = std::net::TcpStream::connect(house.l8).unwrap();
    tcp.set_read_timeout(Some(super::support::PATIENCE)).unwrap();
    let name = ServerName::try_from(house.l8.ip().to_string()).unwrap();
    let mut stream = StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), tcp);
    stream.write_all(&[PREFACE, &SETTINGS].concat()).unwrap();
    stream.flush().unwrap();
    stream
}

#[test]
fn attack_a_hundred_connections_of_frames_that_belong_to_no_request() {
    let house = House::with("");
    // of an unknown type, empty
    let flood: Vec<u8> = [0, 0, 0, 77, 0, 0, 0, 0, 0].repeat(4096);
    let (calmed, cut) = (AtomicUsize::new(0), AtomicUsize::new(0));
    house.under("100 connections of unknown frames", |stop: &AtomicBool| {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let mut streams: Vec<_> = (0..25).map(|_| http2(&house)).collect();
                        for stream in &mut streams {
                            while stream.write_all(&flood).and_then(|()| stream.flush()).is_ok() {}
                            let mut end = Vec::new();
                            let _ = stream.read_to_end(&mut end);
                            // the last whole frame that came; a reset may have taken it back
                            let goaway = end.windows(17).any(|frame| frame[3] == 7 && frame[16] == CALM);
                            let counter = if goaway { &calmed } else { &cut };
                            counter.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
    });
    let (calmed, cut) = (calmed.into_inner(), cut.into_inner());
    println!("connections ended: {calmed} with ENHANCE_YOUR_CALM, {cut} cut before it was read");
    assert!(calmed + cut > 0);
    let metrics = super::support::plain_get(&format!("http://{}/metrics", house.gateway.admin));
    let text = String::from_utf8(metrics.body).unwrap();
    assert!(text.contains("too_many_frames"), "{text}");
}
