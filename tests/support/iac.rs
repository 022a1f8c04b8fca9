//! Peers of IAC in processes of their own, and a gateway between them.

mod wire;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

use super::gateway::Gateway;
use super::{Ended, PATIENCE, Up};
pub use wire::*;

/// The types of the seed.
pub const PING: u64 = 1;
pub const BROADCAST: u64 = 2;
pub const FILE_TRANSFER: u64 = 3;
pub const COMMAND: u64 = 4;
pub const DELEGATE_TASK: u64 = 5;
pub const REGISTER_KEY: u64 = 6;
pub const CREATE: u64 = 7;
pub const TERMINATE: u64 = 8;
pub const RUN: u64 = 9;
pub const REPLY: u64 = 10;

/// How long a peer says nothing before a test takes it that it says nothing.
const SILENCE: Duration = Duration::from_millis(700);

/// The programs of `tests/interop/iac`, built below `target/` in the versions of its lock file.
fn programs() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let target = root.join("target/interop-iac");
        let output = Command::new(env!("CARGO"))
            .args(["build", "--locked", "--quiet", "--manifest-path"])
            .arg(root.join("tests/interop/iac/Cargo.toml"))
            .arg("--target-dir")
            .arg(&target)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        target.join("debug")
    })
}

/// A command of this package.
pub fn program(name: &str) -> Command {
    Command::new(programs().join(name))
}

/// A peer that is told a line of JSON at a time, and tells as much.
pub struct Peer {
    pub process: Ended,
    input: ChildStdin,
    lines: Receiver<Value>,
    /// Lines that came before the one that a test waited for.
    kept: RefCell<VecDeque<Value>>,
}

impl Peer {
    pub fn start(name: &str, words: &[&str]) -> Self {
        let mut command = program(name);
        let mut child = command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let Ok(line) = serde_json::from_str(&line) else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { process: Ended(child), input, lines, kept: RefCell::default() }
    }

    /// The stock client with this key, connected.
    pub fn client(to: SocketAddr, key: &Key) -> Self {
        let peer = Self::start("client", &[&to.to_string(), &key.seed]);
        peer.expect("connected");
        peer
    }

    /// The raw client, connected.
    pub fn raw(to: SocketAddr) -> Self {
        let peer = Self::start("raw", &["call", &to.to_string()]);
        peer.expect("connected");
        peer
    }

    /// The raw server.
    pub fn raw_server(at: SocketAddr) -> Self {
        let peer = Self::start("raw", &["serve", &at.to_string()]);
        peer.expect("serves");
        peer
    }

    pub fn tell(&mut self, line: &Value) {
        writeln!(self.input, "{line}").unwrap();
        self.input.flush().unwrap();
    }

    /// Sends these bytes as one stream of a raw peer.
    pub fn stream(&mut self, frame: &[u8]) {
        self.tell(&json!({"frame": hex(frame)}));
    }

    /// The member of the next line that has it; lines before it are kept.
    pub fn expect(&self, member: &str) -> Value {
        self.within(PATIENCE, member).unwrap_or_else(|| panic!("no `{member}`, but {:?}", self.kept.borrow()))
    }

    /// The same, or nothing where no such line comes in time.
    pub fn within(&self, time: Duration, member: &str) -> Option<Value> {
        let mut kept = self.kept.borrow_mut();
        if let Some(at) = kept.iter().position(|line| line.get(member).is_some()) {
            return kept.remove(at).map(|line| line[member].clone());
        }
        let until = Instant::now() + time;
        while let Ok(line) = self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            match line.get(member) {
                Some(value) => return Some(value.clone()),
                None => kept.push_back(line),
            }
        }
        None
    }

    /// How the connection of a raw peer ended: the application's code, and the reason.
    pub fn end(&self) -> (Option<u64>, String) {
        let end = self.expect("end");
        (end["code"].as_u64(), end["reason"].as_str().unwrap().to_owned())
    }

    /// Fails if a line with this member comes in a while.
    pub fn never(&self, member: &str) {
        if let Some(value) = self.within(SILENCE, member) {
            panic!("`{member}`: {value}");
        }
    }

    /// Sends a message of the stock client, and returns it as it was sent.
    pub fn send(&mut self, message: &Value) -> Message {
        self.tell(message);
        assert_eq!(self.expect("unsent"), Value::Null, "`send` is Ok whatever happens");
        Message::read(&unhex(self.expect("sent").as_str().unwrap()))
    }

    /// The next message that the user of a stock peer sees, under this member.
    pub fn shown(&self, member: &str) -> Message {
        Message::shown(&self.expect(member))
    }

    /// The next message that a raw peer got.
    pub fn message(&self) -> Message {
        Message::read(&unhex(self.expect("message").as_str().unwrap()))
    }
}

/// A key of a peer.
pub struct Key {
    pub seed: String,
    pub public: String,
    pair: Ed25519KeyPair,
}

impl Key {
    /// The key of the seed that has this byte 32 times.
    pub fn of(byte: u8) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[byte; 32]).unwrap();
        Self { seed: hex(&[byte; 32]), public: hex(pair.public_key().as_ref()), pair }
    }

    /// The signature of these bytes.
    pub fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        self.pair.sign(bytes).as_ref().to_vec()
    }

    /// Writes it as PKCS #8 in PEM, for its owner alone.
    fn write(&self, file: &Path) {
        let der = unhex("302e020100300506032b657004220420").into_iter().chain(unhex(&self.seed));
        let text = STANDARD.encode(der.collect::<Vec<_>>());
        std::fs::write(file, format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n"))
            .unwrap();
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
}

/// An address whose UDP port nobody uses just now, below those that Linux gives to outgoing sockets.
pub fn free_udp() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    static TAKEN: Mutex<()> = Mutex::new(());
    let _one = TAKEN.lock().unwrap();
    let first = u16::try_from(std::process::id() % 7_000).unwrap();
    loop {
        let port = 12_000 + (first + NEXT.fetch_add(1, Ordering::Relaxed)) % 8_000;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        if UdpSocket::bind(address).is_ok() {
            return address;
        }
    }
}

/// The keys of everybody. `alice` is `retailer-7`, `carol` is `treasurer-1`, and the agent `wholesaler` is `wholesaler-1`.
pub struct Keys {
    pub alice: Key,
    pub carol: Key,
    pub wholesaler: Key,
    /// The key of the gateway's own replies.
    pub gate: Key,
    /// A key that nobody knows.
    pub stranger: Key,
}

impl Default for Keys {
    fn default() -> Self {
        let [alice, carol, wholesaler, gate, stranger] = [7, 1, 9, 66, 13].map(Key::of);
        Self { alice, carol, wholesaler, gate, stranger }
    }
}

impl Keys {
    /// The stock server as the agent; it trusts the keys of `alice` and `carol`.
    pub fn stock(&self, at: SocketAddr) -> Peer {
        let at = at.to_string();
        let trusted = [&self.alice, &self.carol].map(|key| key.public.as_str());
        let peer = Peer::start("server", &[&at, &self.wholesaler.seed, "wholesaler", trusted[0], trusted[1]]);
        peer.expect("serves");
        peer
    }
}

/// A gateway with one route for IAC, before an agent that the test starts.
pub struct Scene {
    pub up: Up,
    pub gateway: Gateway,
    /// The gateway's address, and the agent's.
    pub at: SocketAddr,
    pub behind: SocketAddr,
    pub keys: Keys,
}

/// What the shipped policies do not permit.
const RULES: &str = r#"
permit (principal in Group::"partners", action, resource is iac::ping);
permit (principal in Group::"partners", action, resource is iac::broadcast);
permit (principal in Group::"partners", action, resource is iac::create);
permit (principal in Group::"partners", action, resource is iac::run);
permit (principal in Group::"partners", action, resource is iac::terminate);
permit (principal in Group::"partners", action, resource is iac::file_chunk);
"#;

/// Limits that a bench, which is one agent, does not reach; they are the last of the options.
pub const NOT_LIMITED: &str = "[limits]\nrate_per_second = 1000000\nrate_burst = 1000000\n";

impl Scene {
    /// Starts one whose route has these further options.
    pub fn start(options: &str) -> Self {
        Self::before(Up::start(), options)
    }

    /// The same that follows this authority.
    pub fn before(up: Up, options: &str) -> Self {
        let keys = Keys::default();
        let named = |name: &str, key: &Key| json!({"names": {"iac": name}, "keys": {"iac": [key.public]}});
        write_names(&up, "retailer-7", &named("alice", &keys.alice));
        write_names(&up, "treasurer-1", &named("carol", &keys.carol));
        write_names(&up, "wholesaler-1", &named("wholesaler", &keys.wholesaler));
        std::fs::write(up.path("/policies").join("iac-test.cedar"), RULES).unwrap();
        let file = up.dir.join("iac.key");
        keys.gate.write(&file);
        let (at, behind) = (free_udp(), free_udp());
        let route = format!(
            "[[route]]\nname = \"iac\"\nlisten = \"quic://{at}\"\nbinding = \"iac\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"quic://{behind}\"\ncontexts = [\"*\"]\ndefault_context = \"urn:contexts:supplyChain:v1.0\"\nsigning_key = \"{}\"\n{options}\n",
            file.display()
        );
        let gateway = Gateway::before(&up, behind, &route);
        Self { up, gateway, at, behind, keys }
    }

    /// The stock server as the agent.
    pub fn stock(&self) -> Peer {
        self.keys.stock(self.behind)
    }

    /// The problem document of the gateway's next reply to a raw peer about this message.
    pub fn refusal(&self, peer: &Peer, to: &Message) -> Value {
        self.problem(peer.message(), to)
    }

    /// The problem document of this reply, which the gateway must have signed. It names the message, unless it could not be read.
    pub fn problem(&self, reply: Message, to: &Message) -> Value {
        assert!(reply.is_signed_by(&self.keys.gate), "{reply:?}");
        let problem = reply.json();
        let names = (reply.kind, reply.to.as_str(), problem["responds_to"].clone());
        let unreadable = problem["code"] == "malformed" || problem["code"] == "duplicate_key";
        if unreadable && problem["responds_to"].is_null() {
            assert_eq!(names, (REPLY, "", Value::Null), "{problem}");
            return problem;
        }
        assert_eq!(names, (REPLY, to.from.as_str(), json!(to.id.to_string())), "{problem}");
        problem
    }
}

/// Writes members of an agent of the entity file, by its alias.
pub fn write_names(up: &Up, alias: &str, members: &Value) {
    let file = up.path("/policies").join("entities.json");
    let mut entities: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let list = entities["agents"].as_array_mut().unwrap();
    let agent = list.iter_mut().find(|agent| agent["alias"] == alias).unwrap();
    agent.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    std::fs::write(file, entities.to_string()).unwrap();
}

/// The microseconds of a stock client's round trips, direct and through the gateway, taken in turn and sorted.
pub fn round_trips(scene: &Scene, payload: &Value, rounds: usize) -> [Vec<f64>; 2] {
    let (direct, through) = (scene.behind.to_string(), scene.at.to_string());
    let (payload, rounds) = (payload.to_string(), rounds.to_string());
    let mut timed = program("timed");
    timed.args([&scene.keys.alice.seed, "alice", "wholesaler", &payload, &rounds, &direct, &through]);
    let output = timed.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut took: [Vec<f64>; 2] = serde_json::from_slice(&output.stdout).unwrap();
    took.iter_mut().for_each(|took| took.sort_by(f64::total_cmp));
    took
}
