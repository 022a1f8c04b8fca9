//! A gateway with two agents before it, and the measures of one of them.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustls::{ClientConnection, StreamOwned};

use super::support::gateway::{Gateway, Scripted, free_address};
use super::support::{Answer, Up};

/// The agent that keeps to everybody's good, and the one that does not.
pub const MODEST: &str = "treasurer-1";
pub const GREEDY: &str = "retailer-7";
/// Between two messages of the modest agent.
const EVERY: Duration = Duration::from_millis(5);
/// The longest that one message in a hundred may take under load in a debug build beside other tests. A release build on a quiet machine keeps to 50 ms.
const PATIENT: Duration = Duration::from_secs(1);

/// A connection of an agent.
pub type Stream = StreamOwned<ClientConnection, std::net::TcpStream>;

/// A gateway on two threads, with an upstream agent that answers each message.
pub struct House {
    pub up: Up,
    pub gateway: Gateway,
    pub l8: SocketAddr,
    _agent: Scripted,
}

/// The waits and refusals of one agent's messages.
#[derive(Debug)]
pub struct Seen {
    pub p50: Duration,
    pub p99: Duration,
    pub sent: usize,
    pub refused: usize,
}

/// How long a load lasts.
pub fn time() -> Duration {
    let seconds = std::env::var("SEMGATE_LOAD_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(2))
}

/// The message of an agent, with more text where `more` says so.
pub fn message(sender: &str, more: &str) -> String {
    format!(
        r#"{{"protocol":"L8/1.0","message_id":"m-1","performative":"INFORM","sender_id":"{sender}","receiver_id":"wholesaler-1","context":"urn:contexts:supplyChain:v1.0","content":{{"concept":"current_decision","item_id":"beer","quantity":1{more}}}}}"#
    )
}

/// The answer of the upstream agent, to this caller.
pub fn reply(receiver: &str) -> String {
    message("wholesaler-1", "")
        .replace("\"receiver_id\":\"wholesaler-1\"", &format!("\"receiver_id\":\"{receiver}\""))
        .replace("INFORM", "AGREE")
}

/// A post of it to the native listener.
pub fn post(headers: &str, body: &[u8]) -> Vec<u8> {
    let mut request = format!(
        "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    request.extend_from_slice(body);
    request
}

/// A route for agents with certificates.
pub fn route(name: &str, listen: SocketAddr, behind: SocketAddr, more: &str) -> String {
    format!(
        "[[route]]\nname = \"{name}\"\nlisten = \"{listen}\"\nbinding = \"l8\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{behind}/l8\"\ncontexts = [\"*\"]\n{more}\n"
    )
}

impl House {
    /// `more` is added to the configuration, behind the route of both agents.
    pub fn with(more: &str) -> Self {
        let up = Up::start();
        let agent = Scripted::saying(reply(MODEST));
        let l8 = free_address();
        let gateway = Gateway::serving(&up, l8, &route("l8", l8, agent.address, ""), more);
        Self { up, gateway, l8, _agent: agent }
    }

    /// A connection as an agent.
    pub fn connect(&self, agent: Option<&str>, to: SocketAddr) -> Stream {
        self.up.connect(agent, &format!("https://{to}/"))
    }

    /// Sends messages of the modest agent for a while.
    pub fn measure(&self, time: Duration) -> Seen {
        let body = message(MODEST, "");
        let request = post("", body.as_bytes());
        let mut stream = self.connect(Some(MODEST), self.l8);
        let (began, mut waits, mut refused) = (Instant::now(), Vec::new(), 0);
        while began.elapsed() < time {
            let sent = Instant::now();
            stream.write_all(&request).unwrap();
            let answer = Answer::read(&mut stream);
            waits.push(sent.elapsed());
            refused += usize::from(answer.status != 200);
            std::thread::sleep(EVERY);
        }
        waits.sort_unstable();
        let at = |share: usize| waits[(waits.len() * share / 100).min(waits.len() - 1)];
        Seen { p50: at(50), p99: at(99), sent: waits.len(), refused }
    }

    /// Memory of the gateway in MiB.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.gateway.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
    }

    /// Bytes of audit and log so far.
    pub fn written(&self) -> u64 {
        std::fs::metadata(&self.gateway.audit).map_or(0, |file| file.len()) + self.gateway.log().len() as u64
    }

    /// Measures the modest agent in quiet, and again while `load` runs until it is told to stop. Every message of the modest agent has to pass.
    pub fn under(&self, name: &str, load: impl Fn(&AtomicBool) + Sync) -> Seen {
        let quiet = self.measure(time());
        let (memory, written) = (self.memory(), self.written());
        let stop = AtomicBool::new(false);
        let loaded = std::thread::scope(|scope| {
            let running = scope.spawn(|| load(&stop));
            let loaded = self.measure(time());
            stop.store(true, Ordering::Relaxed);
            running.join().unwrap();
            loaded
        });
        println!(
            "| {name} | {:.1} | {:.1} | {:.1} | {:.1} | {memory} to {} | {} |",
            ms(quiet.p50),
            ms(quiet.p99),
            ms(loaded.p50),
            ms(loaded.p99),
            self.memory(),
            self.written() - written
        );
        assert_eq!((quiet.refused, loaded.refused), (0, 0), "of {} and {}", quiet.sent, loaded.sent);
        assert!(loaded.p99 < PATIENT, "{loaded:?} beside {quiet:?}");
        loaded
    }
}

fn ms(wait: Duration) -> f64 {
    wait.as_secs_f64() * 1_000.0
}
