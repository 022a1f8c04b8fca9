//! Peers that are nobody yet.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::meter::House;

#[test]
fn attack_handshakes_without_a_certificate_and_with_nothing_behind_the_first_bytes() {
    let house = House::with("");
    let done = AtomicUsize::new(0);
    house.under("handshakes of strangers, half of them without an end", |stop: &AtomicBool| {
        std::thread::scope(|scope| {
            for kind in 0..4 {
                let (house, done) = (&house, &done);
                scope.spawn(move || {
                    let mut held = Vec::new();
                    while !stop.load(Ordering::Relaxed) {
                        if kind % 2 == 0 {
                            let mut stream = house.connect(None, house.l8);
                            let _ = stream.write_all(b"POST / HTTP/1.1\r\n\r\n");
                            let _ = stream.read(&mut [0; 64]);
                        } else if let Ok(mut stream) = TcpStream::connect(house.l8) {
                            // the head of a record of a ClientHello that never comes
                            let _ = stream.write_all(&[22, 3, 1, 2, 0]);
                            held.push(stream);
                            if held.len() == 200 {
                                held.clear();
                            }
                        }
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
    });
    println!("{} handshakes were tried", done.into_inner());
}
