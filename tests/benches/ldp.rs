//! The round trip of an LDP task through the gateway, beside the direct one. Every message is signed and has an identifier of its own, or it
//! would be refused as a replay, so the load of the other rows does not fit.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use serde_json::{Value, json};

use crate::proxies::{NOT_LIMITED, median};
use crate::support::gateway::{Gateway, free_address};
use crate::support::ldp::{Route, SECRET, prepare, secrets};
use crate::support::ldp_envelope::{accepted, classify, propose, refused, request, signed};
use crate::support::{Answer, Up, ldp_own};

/// Round trips of each side, after a tenth of them to warm up.
const TASKS: usize = 5_000;

pub fn round_trip(up: &Up) {
    prepare(up);
    let delegate = ldp_own::delegate(|_, answer| *answer = signed(answer.take(), SECRET));
    let listen = free_address();
    let more = secrets(up, &["retailer-7", "wholesaler-1"]);
    let route = Route { listen, agent: Some("retailer-7"), upstream: delegate, more };
    let _product = Gateway::serving(up, listen, &route.written(up), NOT_LIMITED);
    let (mut direct, mut through) = (Timed::connect(delegate), Timed::connect(listen));
    // one after the other, so that what else the machine does falls on both
    for n in 0..TASKS + TASKS / 10 {
        for side in [&mut direct, &mut through] {
            let took = side.task();
            if n >= TASKS / 10 {
                side.took.push(took);
            }
        }
    }
    let [direct, through] = [direct, through].map(|mut side| {
        let median = median(&mut side.took);
        (median, side.took[side.took.len() * 99 / 100])
    });
    println!("LDP 0.2, `TASK_SUBMIT` to `TASK_RESULT`, both signed, {TASKS} tasks of one session");
    println!("\n| path | µs (median) | µs (99th percentile) |\n|---|---|---|");
    println!("| direct | {:.0} | {:.0} |", direct.0, direct.1);
    println!("| semgate, every check on | {:.0} | {:.0} |", through.0, through.1);
    println!("| later by | {:.0} | {:.0} |", through.0 - direct.0, through.1 - direct.1);
}

/// A connection with a session, and how long each task took in microseconds.
struct Timed {
    address: SocketAddr,
    stream: TcpStream,
    session: String,
    took: Vec<f64>,
}

impl Timed {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut timed = Self { address, stream, session: String::new(), took: Vec::with_capacity(TASKS) };
        timed.session = accepted(&timed.asks(&signed(propose(&json!({})), SECRET)));
        timed
    }

    fn asks(&mut self, envelope: &Value) -> Answer {
        self.stream.write_all(request(self.address, &envelope.to_string()).as_bytes()).unwrap();
        Answer::read(&mut self.stream)
    }

    fn task(&mut self) -> f64 {
        let envelope = signed(classify(&self.session), SECRET);
        let bytes = request(self.address, &envelope.to_string());
        let began = Instant::now();
        self.stream.write_all(bytes.as_bytes()).unwrap();
        let answer = Answer::read(&mut self.stream);
        let took = began.elapsed().as_secs_f64() * 1e6;
        assert_eq!(refused(&answer), None, "{}", answer.json());
        took
    }
}
