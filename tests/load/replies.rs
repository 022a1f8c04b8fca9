//! An upstream agent that answers one caller without end.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};

use super::meter::{GREEDY, House, message, post, reply, route};
use super::support::Answer;
use super::support::gateway::{free_address, read_message};

/// An agent that answers each message with `head`, and then with `piece` for as long as it is read.
fn endless(head: &'static [u8], piece: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let piece = piece.repeat(32);
            std::thread::spawn(move || {
                let (mut stream, mut buffer) = (stream, vec![0; 64 * 1024]);
                if read_message(&mut stream, &mut buffer).is_none() || stream.write_all(head).is_err() {
                    return;
                }
                while stream.write_all(&piece).is_ok() {}
            });
        }
    });
    address
}

#[test]
fn attack_an_agent_behind_sends_interim_heads_without_end() {
    let (evil, behind) = (free_address(), endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n".to_vec()));
    let house = House::with(&route("evil", evil, behind, ""));
    let request = post("", message(GREEDY, "").as_bytes());
    house.under("four callers of an agent that answers 103 without end", |stop: &AtomicBool| {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut stream = house.connect(Some(GREEDY), evil);
                    while !stop.load(Ordering::Relaxed) {
                        stream.write_all(&request).unwrap();
                        let answer = Answer::read(&mut stream);
                        // past its rate the caller is refused before the agent is asked
                        let code = answer.json()["code"].as_str().unwrap().to_owned();
                        assert!(matches!(&*code, "upstream_unavailable" | "rate_limited"), "{code}");
                    }
                });
            }
        });
    });
}

#[test]
fn attack_thirty_two_fast_streams_of_events() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let event = format!("data: {}\n\n", reply(GREEDY));
    let (fast, behind) = (free_address(), endless(head, event.into_bytes()));
    let house = House::with(&route("fast", fast, behind, ""));
    let request = post("accept: text/event-stream\r\n", message(GREEDY, "").as_bytes());
    house.under("32 fast streams", |stop: &AtomicBool| {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let open = || {
                        let mut stream = house.connect(Some(GREEDY), fast);
                        stream.write_all(&request).unwrap();
                        stream.flush().unwrap();
                        stream
                    };
                    let mut streams: Vec<_> = (0..8).map(|_| open()).collect();
                    let (mut buffer, mut read) = (vec![0; 64 * 1024], 0);
                    while !stop.load(Ordering::Relaxed) {
                        for stream in &mut streams {
                            match stream.read(&mut buffer) {
                                Ok(0) | Err(_) => *stream = open(),
                                Ok(bytes) => read += bytes,
                            }
                        }
                    }
                    assert!(read > 0);
                });
            }
        });
    });
}
