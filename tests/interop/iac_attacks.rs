//! Attacks on IAC. Each works on an agent on iac-rs that stands alone, and none on one behind the gateway.

use crate::support;

use std::time::Instant;

use serde_json::{Value, json};
use support::iac::{
    BLOCK, BROADCAST, Block, COMMAND, Form, Key, Keys, Message, Peer, REGISTER_KEY, Scene, TERMINATE,
    bytes_field, frame, frame_of, free_udp, hex, now, unhex, write_names,
};
use support::policies::records;
use support::wait_for;

fn decision(quantity: u64) -> Value {
    json!({"concept": "current_decision", "item_id": "beer", "quantity": quantity})
}

/// A message of `alice` that passes, signed.
fn good(keys: &Keys, quantity: u64) -> Message {
    Message::new("alice", "wholesaler", COMMAND, &decision(quantity)).signed(&keys.alice, Form::Explicit)
}

/// The streams of an attack, and the message that a refusal answers.
struct Attack {
    streams: Vec<Vec<u8>>,
    answers: Message,
}

impl Attack {
    fn one(stream: Vec<u8>, answers: Message) -> Self {
        Self { streams: vec![stream], answers }
    }

    /// Fails unless the stock server, alone, hands what the last stream says to its handler.
    fn works_alone(&self, keys: &Keys) -> Message {
        let at = free_udp();
        let server = keys.stock(at);
        let mut raw = Peer::raw(at);
        self.streams.iter().for_each(|stream| raw.stream(stream));
        let mut handled = Message::default();
        while handled.id != self.answers.id {
            handled = server.shown("handled");
        }
        handled
    }

    /// Fails unless the gateway answers the last stream with this code, and the agent never sees it.
    fn is_refused(&self, scene: &Scene, code: &str) -> Value {
        let server = scene.stock();
        let mut raw = Peer::raw(scene.at);
        self.streams.iter().for_each(|stream| raw.stream(stream));
        let problem = loop {
            let reply = raw.message();
            // an attack of several streams may have a refusal for each
            let responds_to = reply.json()["responds_to"].clone();
            if responds_to.is_null() || responds_to == self.answers.id.to_string().as_str() {
                break scene.problem(reply, &self.answers);
            }
        };
        assert_eq!(problem["code"], code, "{problem}");
        // the connection carries on, and the agent's next message is not the attack's
        let next = good(&scene.keys, 77);
        raw.stream(&next.stream());
        loop {
            let handled = server.shown("handled");
            assert_ne!(handled.id, self.answers.id, "{handled:?}");
            if handled == next {
                return problem;
            }
        }
    }

    /// Fails unless the gateway closes the connection with this code and reason, and the agent never sees the stream.
    fn ends(&self, scene: &Scene, status: u64, code: &str) {
        let server = scene.stock();
        let mut raw = Peer::raw(scene.at);
        self.streams.iter().for_each(|stream| raw.stream(stream));
        let (number, reason) = raw.end();
        assert_eq!(number, Some(256 + status), "{reason}");
        assert!(reason.contains(code), "{reason}");
        server.never("handled");
        // nobody else notices
        let (mut raw, next) = (Peer::raw(scene.at), good(&scene.keys, 77));
        raw.stream(&next.stream());
        assert_eq!(server.shown("handled"), next);
    }
}

fn register_key(key: &Key) -> Message {
    let registers = Message::new("alice", "wholesaler", REGISTER_KEY, &Value::Null);
    Message { extra: unhex(&key.public), ..registers }
}

#[test]
fn iac_attack_register_key_of_a_stranger() {
    let keys = Keys::default();
    let registers = register_key(&keys.stranger);
    let order =
        Message::new("alice", "wholesaler", TERMINATE, &decision(1)).signed(&keys.stranger, Form::Explicit);
    let attack = Attack { streams: vec![registers.stream(), order.stream()], answers: order };
    attack.works_alone(&keys);
    let scene = Scene::start("");
    attack.is_refused(&scene, "sender_mismatch");
    // nor does a key of the agent itself register another one, unless a policy says so
    let signed = register_key(&keys.stranger).signed(&keys.alice, Form::Explicit);
    let server = Peer::raw_server(scene.behind);
    let mut raw = Peer::raw(scene.at);
    raw.stream(&signed.stream());
    assert_eq!(scene.refusal(&raw, &signed)["code"], "policy_denied");
    server.never("message");
}

#[test]
fn iac_attack_from_of_another_agent() {
    let keys = Keys::default();
    let message =
        Message::new("alice", "wholesaler", COMMAND, &decision(1)).signed(&keys.carol, Form::Explicit);
    let attack = Attack::one(message.stream(), message);
    assert_eq!(attack.works_alone(&keys).from, "alice");
    attack.is_refused(&Scene::start(""), "sender_mismatch");
}

#[test]
fn iac_attack_replay() {
    let keys = Keys::default();
    let message = good(&keys, 3);
    let at = free_udp();
    let server = keys.stock(at);
    let (mut first, mut second) = (Peer::raw(at), Peer::raw(at));
    for raw in [&mut first, &mut second] {
        raw.stream(&message.stream());
        assert_eq!(server.shown("handled"), message, "alone, each copy runs");
    }
    let scene = Scene::start("");
    let server = scene.stock();
    let (mut first, mut second) = (Peer::raw(scene.at), Peer::raw(scene.at));
    first.stream(&message.stream());
    assert_eq!(server.shown("handled"), message);
    first.expect("message");
    // on the same connection, on another, and in the other encoding of the same signature
    for raw in [&mut first, &mut second] {
        raw.stream(&message.stream());
        assert_eq!(scene.refusal(raw, &message)["code"], "replayed");
    }
    first.stream(&frame(&message.encode(Form::Omitted)));
    assert_eq!(scene.refusal(&first, &message)["code"], "replayed");
    server.never("handled");
}

#[test]
fn iac_attack_unknown_field() {
    let keys = Keys::default();
    let message = good(&keys, 1);
    let more = [message.encode(Form::Explicit), bytes_field(10, b"nobody signed this")].concat();
    let attack = Attack::one(frame(&more), message);
    attack.works_alone(&keys);
    attack.is_refused(&Scene::start(""), "malformed");
}

#[test]
fn iac_attack_type_outside_the_enum() {
    let keys = Keys::default();
    let unknown = Message::new("alice", "wholesaler", 0, &decision(1)).signed(&keys.alice, Form::Explicit);
    let message = Message { kind: 77, ..unknown };
    let attack = Attack::one(message.stream(), message);
    assert_eq!(attack.works_alone(&keys).kind, 0, "and its signature verifies as such");
    let scene = Scene::start("");
    attack.is_refused(&scene, "malformed");
    let unknown = Message::new("alice", "wholesaler", 0, &decision(1)).signed(&keys.alice, Form::Explicit);
    let mut raw = Peer::raw(scene.at);
    raw.stream(&unknown.stream());
    assert_eq!(scene.refusal(&raw, &unknown)["code"], "malformed");
}

#[test]
fn iac_attack_field_twice() {
    let keys = Keys::default();
    let message = good(&keys, 1);
    let signed = message.encode(Form::Explicit);
    // the last payload is the signed one, for the reader that takes the last, and the other way round
    let other = bytes_field(4, decision(1_000_000).to_string().as_bytes());
    let first = Attack::one(frame(&[other.clone(), signed.clone()].concat()), message.clone());
    assert_eq!(first.works_alone(&keys).payload, message.payload);
    let scene = Scene::start("");
    first.is_refused(&scene, "malformed");
    let mut raw = Peer::raw(scene.at);
    raw.stream(&frame(&[signed, other].concat()));
    assert_eq!(scene.refusal(&raw, &message)["code"], "duplicate_key");
}

#[test]
fn iac_attack_two_frames() {
    let keys = Keys::default();
    let message = good(&keys, 1);
    let bytes = message.encode(Form::Explicit);
    let (head, tail) = bytes.split_at(bytes.len() / 2);
    let attack = Attack::one([frame(head), frame(tail)].concat(), message.clone());
    attack.works_alone(&keys);
    let scene = Scene::start("");
    attack.ends(&scene, 400, "malformed");
    for after in [message.stream(), vec![0], unhex("502a4d1804000000abababab")] {
        let message = good(&keys, 2);
        Attack::one([message.stream(), after].concat(), message).ends(&scene, 400, "malformed");
    }
}

/// The most memory that this process has ever used, in kilobytes.
fn peak(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A signed message whose payload ends in this many blocks of blanks, in one small frame.
fn bomb(keys: &Keys, blocks: usize) -> Attack {
    let mut message = Message::new("alice", "wholesaler", COMMAND, &decision(1));
    message.payload.push_str(&" ".repeat(blocks * BLOCK));
    let message = message.signed(&keys.alice, Form::Explicit);
    let bytes = message.encode(Form::Explicit);
    let blanks = bytes.windows(BLOCK).position(|window| window.iter().all(|byte| *byte == b' ')).unwrap();
    let mut parts = vec![Block::Raw(&bytes[..blanks])];
    parts.extend((0..blocks).map(|_| Block::Repeated(b' ', BLOCK)));
    parts.push(Block::Raw(&bytes[blanks + blocks * BLOCK..]));
    Attack::one(frame_of(11, &parts), message)
}

#[test]
fn iac_attack_zstd_bomb() {
    let keys = Keys::default();
    let small = bomb(&keys, 32);
    assert!(small.streams[0].len() < 1_000, "4 MiB in {} bytes", small.streams[0].len());
    assert_eq!(small.works_alone(&keys).payload.len(), small.answers.payload.len());
    let scene = Scene::start("");
    let before = peak(scene.gateway.child.id());
    small.ends(&scene, 413, "too_large");
    // 512 MiB of blanks in 16 KiB
    let large = frame_of(11, &(0..4096).map(|_| Block::Repeated(b' ', BLOCK)).collect::<Vec<_>>());
    assert!(large.len() < 17_000);
    for _ in 0..4 {
        Attack::one(large.clone(), good(&keys, 2)).ends(&scene, 413, "too_large");
    }
    let grown = peak(scene.gateway.child.id()).saturating_sub(before);
    assert!(grown < 64 * 1024, "the gateway grew by {grown} kB");
}

#[test]
fn iac_attack_huge_window() {
    let keys = Keys::default();
    let message = good(&keys, 1);
    let bytes = message.encode(Form::Explicit);
    let with = |exponent| Attack::one(frame_of(exponent, &[Block::Raw(&bytes)]), message.clone());
    with(17).works_alone(&keys);
    let scene = Scene::start("");
    for exponent in [14, 17, 21, 31] {
        with(exponent).ends(&scene, 413, "too_large");
    }
    // 8 MiB are the most
    let server = scene.stock();
    let mut raw = Peer::raw(scene.at);
    raw.stream(&with(13).streams[0]);
    assert_eq!(server.shown("handled"), message);
}

#[test]
fn iac_attack_ed25519_certificate_is_not_offered() {
    // a certificate of that kind is one that no client of the crate can use
    let at = free_udp();
    let server = Peer::start("raw", &["serve", &at.to_string(), "ed25519"]);
    server.expect("serves");
    let client = support::iac::program("client")
        .args([&at.to_string(), &Keys::default().alice.seed])
        .output()
        .unwrap();
    assert!(!client.status.success());
    server.expect("failed");

    let scene = Scene::start("");
    let _agent = scene.stock();
    Peer::start("raw", &["call", &scene.at.to_string(), "ed25519"]).expect("failed");
    let raw = Peer::start("raw", &["call", &scene.at.to_string()]);
    let certificate = raw.expect("certificate");
    // id-ecPublicKey with prime256v1 is its key
    assert!(
        certificate.as_str().unwrap().contains("06072a8648ce3d020106082a8648ce3d030107"),
        "{certificate}"
    );
    Peer::client(scene.at, &scene.keys.alice);
}

#[test]
fn iac_attack_message_for_another_receiver() {
    let keys = Keys::default();
    let message = Message::new("alice", "carol", COMMAND, &decision(1)).signed(&keys.alice, Form::Explicit);
    let attack = Attack::one(message.stream(), message);
    attack.works_alone(&keys);
    attack.is_refused(&Scene::start(""), "receiver_mismatch");
}

#[test]
fn iac_attack_session_of_another_connection() {
    let scene = Scene::start("");
    let agent = Peer::raw_server(scene.behind);
    let of = |session| {
        let message = Message::new("alice", "wholesaler", COMMAND, &decision(1));
        Message { session, ..message }.signed(&scene.keys.alice, Form::Explicit)
    };
    let mut raw = Peer::raw(scene.at);
    for passes in [of(0), of(41), of(41), of(0)] {
        raw.stream(&passes.stream());
        assert_eq!(agent.message(), passes);
    }
    let other = of(42);
    raw.stream(&other.stream());
    assert_eq!(scene.refusal(&raw, &other)["code"], "sender_mismatch");
    agent.never("message");
}

#[test]
fn iac_attack_binary_that_nobody_admits() {
    let keys = Keys::default();
    let message = Message::new("alice", "wholesaler", COMMAND, &decision(1));
    let message = Message { extra: b"\x7fELF".to_vec(), ..message }.signed(&keys.alice, Form::Explicit);
    let attack = Attack::one(message.stream(), message);
    attack.works_alone(&keys);
    attack.is_refused(&Scene::start(""), "content_uninspectable");
}

#[test]
fn iac_attack_control_object_that_readers_read_differently() {
    let keys = Keys::default();
    let text = decision(1).to_string();
    let scene = Scene::start("");
    for (payload, code) in [
        (text.replace("\"quantity\"", "\"quantity\":1,\"quantity\""), "duplicate_key"),
        (format!("{text}{text}"), "malformed"),
        (format!("\u{feff}{text}"), "malformed"),
        (text.replace("{", "{\"from\":\"carol\","), "content_invalid"),
        (String::new(), "concept_undefined"),
    ] {
        let message = Message { payload, ..Message::new("alice", "wholesaler", COMMAND, &Value::Null) };
        let message = message.signed(&keys.alice, Form::Explicit);
        let attack = Attack::one(message.stream(), message);
        attack.works_alone(&keys);
        attack.is_refused(&scene, code);
    }
}

#[test]
fn iac_attack_streams_that_never_end() {
    let scene = Scene::start("");
    let server = scene.stock();
    let mut greedy = Peer::raw(scene.at);
    for _ in 0..150 {
        greedy.tell(&json!({"open": hex(&[0x28, 0xb5])}));
    }
    let (mut raw, next) = (Peer::raw(scene.at), good(&scene.keys, 7));
    raw.stream(&next.stream());
    assert_eq!(server.shown("handled"), next, "others are served");
    server.never("handled");
}

#[test]
fn iac_attack_no_key_at_all() {
    let keys = Keys::default();
    let scene = Scene::start("");
    let unsigned = Message::new("alice", "wholesaler", COMMAND, &decision(1));
    let stranger = Message::new(&keys.stranger.public, "wholesaler", COMMAND, &decision(1));
    let stranger = stranger.signed(&keys.stranger, Form::Explicit);
    let short = Message { signature: vec![0; 63], ..good(&keys, 1) };
    let late = Message { timestamp: now() + 1, ..good(&keys, 1) };
    let everybody = Message { to: String::new(), kind: BROADCAST, ..good(&keys, 1) };
    let server = scene.stock();
    let mut raw = Peer::raw(scene.at);
    for message in [unsigned, stranger, short, late, everybody] {
        raw.stream(&message.stream());
        let code = scene.refusal(&raw, &message)["code"].clone();
        assert!(["sender_mismatch", "malformed"].map(Value::from).contains(&code), "{code} {message:?}");
    }
    server.never("handled");
    wait_for("a record of each", || (records(&scene.gateway).len() >= 5).then_some(()));
}

#[test]
fn iac_attack_flood() {
    let scene = Scene::start("[limits]\nrate_per_second = 5\nrate_burst = 20\n");
    let agent = Peer::raw_server(scene.behind);
    let mut greedy = Peer::raw(scene.at);
    let began = Instant::now();
    for quantity in 0..200 {
        greedy.stream(&good(&scene.keys, quantity).stream());
    }
    let (number, reason) = greedy.end();
    assert!(number == Some(256 + 429) && reason.contains("rate_limited"), "{reason}");
    let mut other = Peer::raw(scene.at);
    let message =
        Message::new("carol", "wholesaler", COMMAND, &decision(1)).signed(&scene.keys.carol, Form::Explicit);
    other.stream(&message.stream());
    let reached = std::iter::from_fn(|| Some(agent.message()));
    let reached: Vec<_> = reached.take_while(|reached| *reached != message).collect();
    let most = 21 + 5 * usize::try_from(began.elapsed().as_secs()).unwrap();
    assert!((1..=most).contains(&reached.len()), "{} messages of the greedy one", reached.len());
}

#[test]
fn iac_attack_with_a_key_that_was_taken_away() {
    let scene = Scene::start("");
    let agent = Peer::raw_server(scene.behind);
    let mut raw = Peer::raw(scene.at);
    raw.stream(&good(&scene.keys, 1).stream());
    agent.message();
    write_names(&scene.up, "retailer-7", &json!({"keys": {"iac": [Key::of(8).public]}}));
    let (number, reason) = raw.end();
    assert!(number == Some(256 + 403) && reason.contains("sender_mismatch"), "{reason}");
    agent.end();
}
