//! A gateway in this process between a scripted agent and raw callers. The authority is away: its word is on disk.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub mod agent;
pub mod authority;
pub mod grpc;
pub mod h2;
pub mod iac;
pub mod pki;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use semgate_gateway::config::Listen;
use semgate_gateway::{Bound, Config, RunFault};
use semgate_policies::PolicySource;
use semgate_statement::testing::{AUTHORITY, MemoryAuthority, ORIGIN};
use semgate_statement::{Follower, FollowerConfig};

use pki::Pki;

pub const RETAILER: &str = "spiffe://semgate.test/agent/retailer-7";
pub const WHOLESALER: &str = "spiffe://semgate.test/agent/wholesaler-1";

pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Everything that a configuration names.
pub struct House {
    pub dir: tempfile::TempDir,
    pub pki: Pki,
    pub authority: MemoryAuthority,
    pub url: String,
}

impl House {
    pub fn new() -> House {
        let dir = tempfile::tempdir().unwrap();
        let pki = Pki::new(dir.path());
        let authority = MemoryAuthority::with_library(now());
        std::fs::write(dir.path().join("contexts.pem"), authority.keys.root.to_pem()).unwrap();
        let house = House { dir, pki, authority, url: "https://127.0.0.1:1".to_owned() };
        house.write_policies(&PolicySource::shipped());
        house
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write_policies(&self, source: &PolicySource) {
        let dir = self.path("policies");
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir(&dir).unwrap();
        for (name, text) in &source.files {
            std::fs::write(dir.join(name), text).unwrap();
        }
        std::fs::write(dir.join("entities.json"), &source.entities).unwrap();
        if let Some(limits) = &source.limits {
            std::fs::write(dir.join("limits.json"), limits).unwrap();
        }
    }

    fn follower_config(&self) -> FollowerConfig {
        self.authority.config()
    }

    /// Writes what a follower would remember after one round.
    pub fn remember(&mut self) {
        let dir = self.path("state/authorities").join(AUTHORITY);
        std::fs::create_dir_all(&dir).unwrap();
        let mut follower = Follower::open(self.follower_config(), &dir, now()).unwrap();
        self.authority.follow(&mut follower).unwrap();
    }

    /// The configuration with these routes and limits.
    pub fn config(&self, routes: &str, limits: &str) -> Config {
        let text = format!(
            r#"
state = "state"
admin = "127.0.0.1:0"
policies = "policies"
audit = "audit.jsonl"
workers = 2
[tls]
certificate = "gateway.pem"
key = "gateway.key"
[limits]
policy_poll = "50ms"
{limits}
[[trust_domain]]
name = "semgate.test"
roots = "tls-roots.pem"
[[authority]]
name = "{AUTHORITY}"
url = "{}"
roots = "contexts.pem"
tls_roots = "tls-roots.pem"
origin = "{ORIGIN}"
log_key = "{}"
lines = ["*"]
poll = 1
{routes}
"#,
            self.url,
            self.authority.keys.log.verifier(),
        );
        Config::parse(&text, self.dir.path()).unwrap_or_else(|fault| panic!("{fault}\n{text}"))
    }

    pub fn audit(&self) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(self.path("audit.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A plain L8 route of one sender to an agent at `port`.
pub fn plain_route(port: u16) -> String {
    route("plain", "l8", &format!("http://127.0.0.1:{port}/l8"), &format!("plain_sender = \"{RETAILER}\""))
}

pub fn route(name: &str, binding: &str, upstream: &str, more: &str) -> String {
    // what the tests call their plain listeners
    let named = more.contains("plain_sender") && !more.contains("unix:");
    let hosts = if named { "hosts = [\"a\", \"gw\", \"evil.test\"]" } else { "" };
    format!(
        r#"
[[route]]
name = "{name}"
listen = "127.0.0.1:0"
binding = "{binding}"
receiver = "{WHOLESALER}"
upstream = "{upstream}"
contexts = ["*"]
{hosts}
{more}
"#
    )
}

/// A gateway that runs until it is dropped or stopped.
pub struct Gateway {
    pub bound: Bound,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), RunFault>>>,
}

/// Leaves at once: what is closed in the usual order could still be read.
pub fn reset(stream: TcpStream) {
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
}

impl Gateway {
    pub fn start(config: Config) -> Gateway {
        Gateway::try_start(config).unwrap()
    }

    pub fn try_start(config: Config) -> Result<Gateway, RunFault> {
        let (ready, bound) = mpsc::channel();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(semgate_gateway::run(
                config,
                Vec::new(),
                move |bound| ready.send(bound).unwrap(),
                async move { drop(stopped.await) },
            ))
        });
        match bound.recv() {
            Ok(bound) => Ok(Gateway { bound, stop: Some(stop), thread: Some(thread) }),
            Err(_) => Err(thread.join().unwrap().unwrap_err()),
        }
    }

    pub fn port(&self, route: &str) -> u16 {
        let route = self.bound.routes.iter().find(|bound| bound.name == route).unwrap();
        match &route.listen {
            Listen::Tcp(address) | Listen::Quic(address) => address.port(),
            Listen::Unix(_) => panic!("not a port"),
        }
    }

    pub fn connect(&self, route: &str) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port(route))).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends bytes as they are and reads until the gateway closes.
    pub fn raw(&self, route: &str, bytes: &[u8]) -> String {
        let mut stream = self.connect(route);
        stream.write_all(bytes).unwrap();
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        String::from_utf8_lossy(&all).into_owned()
    }

    /// Posts a body on a connection of its own.
    pub fn post(&self, route: &str, headers: &str, body: &[u8]) -> Answer {
        let head = format!(
            "POST / HTTP/1.1\r\nHost: gw\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n",
            body.len()
        );
        Answer::parse(&self.raw(route, &[head.as_bytes(), body].concat()))
    }

    pub fn say(&self, body: &serde_json::Value) -> Answer {
        self.post("plain", "", body.to_string().as_bytes())
    }

    pub fn admin(&self, path: &str) -> Answer {
        self.admin_as(path, "Host: localhost\r\n")
    }

    /// The same with these headers, `Host` among them.
    pub fn admin_as(&self, path: &str, headers: &str) -> Answer {
        let mut stream = TcpStream::connect(self.bound.admin).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").unwrap();
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        Answer::parse(&all)
    }

    /// Waits until `/readyz` answers 200.
    pub fn ready(&self) {
        wait("ready", || self.admin("/readyz").status == 200);
    }

    /// Tells the gateway to stop; [`Gateway::stop`] also waits for it.
    pub fn tell_to_stop(&mut self) {
        drop(self.stop.take());
    }

    pub fn stop(&mut self) -> Result<(), RunFault> {
        self.tell_to_stop();
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.tell_to_stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < end, "waited in vain for: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// One HTTP answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn parse(text: &str) -> Answer {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }

    /// Status and code of a problem document.
    pub fn problem(&self) -> (u16, String) {
        let json = self.json();
        let code = json["code"].as_str().unwrap_or_else(|| panic!("no code: {self:?}"));
        assert_eq!(json["decision_id"], self.header("semgate-decision").unwrap());
        (self.status, code.to_owned())
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// The paper's kind of message.
pub fn message() -> serde_json::Value {
    serde_json::json!({
        "protocol": "L8/1.0", "message_id": "m-1", "performative": "INFORM",
        "sender_id": "retailer-7", "receiver_id": "wholesaler-1", "context": "urn:contexts:supplyChain:v1.0",
        "content": {"concept_type": "current_decision", "item_id": "sku-1", "quantity": 120}
    })
}

/// The reply of the upstream agent to it.
pub fn reply() -> serde_json::Value {
    serde_json::json!({
        "protocol": "L8/1.0", "message_id": "r-1", "performative": "AGREE",
        "sender_id": "wholesaler-1", "receiver_id": "retailer-7", "context": "urn:contexts:supplyChain:v1.0",
        "content": {"concept_type": "current_decision", "item_id": "sku-1", "quantity": 120}
    })
}

pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
