//! A2A over gRPC: Google's protobuf for Python judges what is read of it, and the official SDK for Python speaks it through the gateway.

use crate::support;

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use semgate_contexts::json;
use semgate_protocol::a2a::{Operation, grpc};
use serde_json::Value;
use support::gateway::{Gateway, free_address};
use support::{Up, python, python_agent};

/// A message as the judge knows it; `json` is `None` where it could not read the bytes, or saw a number that no message may hold.
struct Judged {
    method: String,
    side: String,
    bytes: Vec<u8>,
    json: Option<Value>,
}

impl Judged {
    fn parse(line: &str) -> Self {
        let mut parts = line.split('\t');
        let mut next = || parts.next().unwrap();
        let (method, side, hex, text) = (next(), next(), next(), next());
        Self {
            method: method.to_owned(),
            side: side.to_owned(),
            bytes: bytes(hex),
            json: strictly(text.as_bytes()).ok().filter(|json| !json.is_null()),
        }
    }

    fn ours(&self) -> Result<Vec<u8>, semgate_protocol::MessageFault> {
        let limits = grpc::Limits::default();
        let operation = Operation::parse(&self.method).unwrap();
        match self.side.as_str() {
            "ask" => grpc::request(operation, &self.bytes, &limits),
            _ if operation.streams() => grpc::event(&self.bytes, &limits),
            _ => grpc::reply(operation, &self.bytes, &limits),
        }
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.strip_prefix('-').unwrap_or(hex).as_bytes();
    digits.chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

/// Numbers as they are, however written.
fn strictly(text: &[u8]) -> Result<Value, json::Fault> {
    json::read(text, &json::Limits::default()).map(|json| json.to_value())
}

fn judge(arguments: &[&str], input: String) -> Vec<Judged> {
    let mut child = Command::new(python::interpreter())
        .arg(python::script("grpc_judge.py"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || pipe.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let _ = writer.join().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(Judged::parse).collect()
}

#[test]
fn the_official_messages_are_read_as_googles_protobuf_reads_them() {
    let made = judge(&["make", "7", "4000"], String::new());
    assert_eq!(made.len(), 4000);
    for message in &made {
        let text =
            message.ours().unwrap_or_else(|fault| panic!("{} {}: {fault}", message.method, message.side));
        assert_eq!(
            strictly(&text).unwrap(),
            *message.json.as_ref().unwrap(),
            "{} {}",
            message.method,
            message.side
        );
    }
}

/// A linear congruential generator: the edits are the same in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n
    }

    fn edit(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len().max(1));
        let byte = u8::try_from(self.below(256)).unwrap();
        match self.below(4) {
            _ if bytes.is_empty() => bytes.push(byte),
            0 => bytes[at] = byte,
            1 => bytes[at] ^= 1 << (byte % 8),
            2 => bytes.insert(at, byte),
            _ => drop(bytes.remove(at)),
        }
    }
}

/// What we accept of damaged bytes is what the judge sees in them: nothing more is there, nothing otherwise.
#[test]
fn whatever_is_accepted_of_damaged_messages_means_the_same_to_googles_protobuf() {
    let mut draw = Draw(42);
    let mut asked = String::new();
    let mut accepted = Vec::new();
    for mut message in judge(&["make", "8", "3000"], String::new()) {
        let whole = message.bytes.clone();
        for _ in 0..12 {
            message.bytes.clone_from(&whole);
            draw.edit(&mut message.bytes);
            let Ok(text) = message.ours() else { continue };
            let hex = message.bytes.iter().fold(String::from("-"), |mut hex, byte| {
                write!(hex, "{byte:02x}").unwrap();
                hex
            });
            let hex = if hex.len() > 1 { &hex[1..] } else { "-" };
            writeln!(asked, "{} {} {hex}", message.method, message.side).unwrap();
            accepted.push(text);
        }
    }
    assert!(accepted.len() > 1000, "{} is too few to say anything", accepted.len());
    let judged = judge(&["read"], asked);
    assert_eq!(judged.len(), accepted.len());
    for (text, judged) in accepted.iter().zip(judged) {
        // a number past what any message may hold ends in the strict reader
        let Ok(ours) = strictly(text) else { continue };
        assert_eq!(Some(ours), judged.json, "{} {}", judged.method, judged.side);
    }
}

/// What the user of the SDK is shown, step by step.
fn conversation(words: &[&str]) -> Vec<Value> {
    let client = python::script("grpc_client.py");
    let output = Command::new(python::interpreter()).arg(client).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The same conversation as two users are shown it: directly, and through a gateway with this route.
fn both(certificate: bool) -> (Vec<Value>, Vec<Value>) {
    let up = Up::start();
    let (_agent, serves) = python_agent("grpc_agent.py");
    let agent = serves["grpc"].as_str().unwrap();
    let listen = free_address().to_string();
    let sender = if certificate { "" } else { "plain_sender = \"spiffe://semgate.test/agent/retailer-7\"\n" };
    let route = format!(
        "[[route]]\nname = \"grpc\"\nlisten = \"{listen}\"\nbinding = \"a2a\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{agent}\"\nupstream_http2 = true\ncontexts = [\"*\"]\ntransports = [\"grpc\"]\ncard_texts = true\n{sender}"
    );
    let _gateway = Gateway::before(&up, agent.parse().unwrap(), &route);
    let direct = conversation(&[agent]);
    let dir = up.dir.to_str().unwrap().to_owned();
    let words = [listen.as_str(), &dir, "retailer-7"];
    (direct, conversation(if certificate { &words } else { &words[..1] }))
}

fn shown_the_same(certificate: bool) {
    let (mut direct, mut proxied) = both(certificate);
    let (last, refused) = (direct.pop().unwrap(), proxied.pop().unwrap());
    assert!(last.get("shown").is_some(), "the agent itself takes anything: {last}");
    assert_eq!(
        (&refused["step"], &refused["error"]),
        (&Value::from("refused"), &Value::from("A2AClientError"))
    );
    assert!(
        refused["text"].as_str().unwrap().contains("content_invalid"),
        "the code is what the user reads: {refused}"
    );
    assert_eq!(direct.len(), 17, "the whole conversation was played: {direct:#?}");
    // the card is the gateway's: it leads to itself
    let card = |shown: &mut Vec<Value>| {
        let at = shown.iter().position(|step| step["step"] == "card").unwrap();
        shown.remove(at)["shown"].take()
    };
    let (theirs, ours) = (card(&mut direct), card(&mut proxied));
    assert_eq!((&ours["name"], &ours["skills"]), (&theirs["name"], &theirs["skills"]));
    let interfaces = |card: &Value| card["supportedInterfaces"].clone();
    assert_eq!(interfaces(&ours)[0]["protocolBinding"], "GRPC");
    assert_ne!(interfaces(&ours)[0]["url"], interfaces(&theirs)[0]["url"]);
    // the prose of errors is each side's own
    let strip = |shown: &mut Vec<Value>| {
        for step in shown.iter_mut().filter(|step| step.get("error").is_some()) {
            step.as_object_mut().unwrap().remove("text");
        }
    };
    strip(&mut direct);
    strip(&mut proxied);
    for (one, other) in direct.iter().zip(&proxied) {
        assert_eq!(one, other);
    }
    assert_eq!(direct.len(), proxied.len());
}

#[test]
fn the_user_of_the_python_sdk_is_shown_the_same_over_tls_with_a_certificate() {
    shown_the_same(true);
}

#[test]
fn the_user_of_the_python_sdk_is_shown_the_same_on_loopback() {
    shown_the_same(false);
}
