//! Agents on iac-rs, unmodified, through the running gateway: clients and servers see no difference while they behave.

use crate::support;

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::iac::{
    BROADCAST, COMMAND, CREATE, DELEGATE_TASK, FILE_TRANSFER, Form, Key, Keys, Message, NOT_LIMITED, PING,
    Peer, REPLY, RUN, Scene, TERMINATE, free_udp, hex, now, unhex, write_names,
};
use support::policies::records;
use support::{plain_get, wait_for};

fn decision(quantity: u64) -> Value {
    json!({"concept": "current_decision", "item_id": "beer", "quantity": quantity})
}

/// A message of the stock client of `alice`.
fn asks(kind: u64, payload: &str) -> Value {
    json!({"from": "alice", "to": if kind == BROADCAST { "" } else { "wholesaler" }, "type": kind, "payload": payload})
}

/// A message of `alice` that the gateway lets pass, signed.
fn good(keys: &Keys, quantity: u64) -> Message {
    Message::new("alice", "wholesaler", COMMAND, &decision(quantity)).signed(&keys.alice, Form::Explicit)
}

#[test]
fn iac_stock_client_and_server_through_the_gateway() {
    let scene = Scene::start("");
    let server = scene.stock();
    for to in [scene.behind, scene.at] {
        let mut client = Peer::client(to, &scene.keys.alice);
        let text = decision(12).to_string();
        for kind in [PING, COMMAND, BROADCAST, DELEGATE_TASK, CREATE, RUN, TERMINATE] {
            let sent = client.send(&asks(kind, if kind == PING { "" } else { &text }));
            assert_eq!(server.shown("handled"), sent, "every byte reaches the agent");
            let reply = client.shown("received");
            assert_eq!((reply.kind, &reply.from, &reply.to), (REPLY, &"wholesaler".into(), &"alice".into()));
            assert_eq!(reply.payload, sent.payload);
            assert!(reply.is_signed_by(&scene.keys.wholesaler), "the agent's own signature: {reply:?}");
        }
    }
    let mut client = Peer::client(scene.at, &scene.keys.alice);
    let sent = client.send(&asks(COMMAND, &decision(1).to_string().replace("beer", "no item")));
    let problem = scene.problem(client.shown("received"), &sent);
    assert_eq!(problem["code"], "content_invalid", "{problem}");
    let record = wait_for("the record of the refusal", || {
        records(&scene.gateway).into_iter().find(|record| record["decision_id"] == problem["decision_id"])
    });
    assert_eq!(record["sender"], "spiffe://semgate.test/agent/retailer-7", "{record}");
    server.never("handled");
}

#[test]
fn iac_signature_in_both_encodings() {
    // as the crate signs: a client that is given every field sends these bytes
    let mut message = Message { from: "a".into(), to: "b".into(), kind: DELEGATE_TASK, ..Message::default() };
    message.payload = r#"{"task":"t"}"#.into();
    (message.timestamp, message.id) = (1_790_000_000, 7);
    let [explicit, omitted] = [Form::Explicit, Form::Omitted].map(|form| message.encode(form));
    assert_eq!(hex(&explicit), "0a01611201621805220c7b227461736b223a2274227d2880f7c4d5063007380042004a00");
    assert_eq!(hex(&omitted), "0a01611201621805220c7b227461736b223a2274227d2880f7c4d5063007");
    let keys = Keys::default();
    let at = free_udp();
    let server = keys.stock(at);
    let mut client = Peer::client(at, &keys.alice);
    let sent = client
        .send(&json!({"from": "a", "to": "b", "type": DELEGATE_TASK, "payload": message.payload,
        "timestamp": message.timestamp, "msg_id": message.id}));
    assert_eq!(sent, message.clone().signed(&keys.alice, Form::Explicit));
    assert_eq!(server.shown("handled"), sent);
    // the other form fails there, and takes the connection with it
    let mut raw = Peer::raw(at);
    raw.stream(&message.signed(&keys.alice, Form::Omitted).stream());
    raw.end();
    server.never("handled");

    // the gateway reads both, and forwards what came: this agent checks nothing
    let scene = Scene::start("");
    let agent = Peer::raw_server(scene.behind);
    let mut raw = Peer::raw(scene.at);
    for signed in [Form::Explicit, Form::Omitted] {
        for written in [Form::Explicit, Form::Omitted] {
            let unsigned = Message::new("alice", "wholesaler", COMMAND, &decision(3));
            let bytes = unsigned.signed(&keys.alice, signed).encode(written);
            raw.stream(&support::iac::frame(&bytes));
            assert_eq!(agent.expect("message"), hex(&bytes), "signed {signed:?}, written {written:?}");
        }
    }
}

#[test]
fn iac_a_bad_message_does_not_end_the_connection() {
    let scene = Scene::start("");
    let server = scene.stock();
    let bad = || {
        let message = good(&scene.keys, 2);
        Message { payload: decision(200).to_string(), ..message }
    };
    // alone, the first bad signature ends the connection for every message after it
    let mut raw = Peer::raw(scene.behind);
    raw.stream(&bad().stream());
    raw.end();
    let mut raw = Peer::raw(scene.at);
    for quantity in 1..=3 {
        let refused = bad();
        raw.stream(&refused.stream());
        assert_eq!(scene.refusal(&raw, &refused)["code"], "sender_mismatch");
        let message = good(&scene.keys, quantity);
        raw.stream(&message.stream());
        assert_eq!(server.shown("handled"), message);
        assert!(raw.message().is_signed_by(&scene.keys.wholesaler));
    }
    raw.never("end");
}

#[test]
fn iac_a_probe_does_not_kill_the_agent() {
    // alone, one handshake that fails ends the whole server
    let keys = Keys::default();
    let alone = free_udp();
    let server = keys.stock(alone);
    Peer::start("raw", &["call", &alone.to_string(), "ed25519"]).expect("failed");
    server.expect("ended");

    let scene = Scene::start("");
    let mut server = scene.stock();
    for _ in 0..3 {
        Peer::start("raw", &["call", &scene.at.to_string(), "ed25519"]).expect("failed");
        let probe = UdpSocket::bind("127.0.0.1:0").unwrap();
        probe.send_to(b"GET / HTTP/1.1\r\n\r\n", scene.at).unwrap();
        probe.send_to(&[0xff; 1200], scene.at).unwrap();
        drop(Peer::raw(scene.at));
        assert_eq!(plain_get(&format!("http://{}/readyz", scene.gateway.admin)).status, 200);
    }
    let mut client = Peer::client(scene.at, &scene.keys.alice);
    let sent = client.send(&asks(COMMAND, &decision(5).to_string()));
    assert_eq!(server.shown("handled"), sent);
    assert_eq!(client.shown("received").payload, sent.payload);
    assert!(server.process.0.try_wait().unwrap().is_none(), "the agent serves on");
}

#[test]
fn iac_key_rotation_overlaps() {
    let scene = Scene::start("");
    let agent = Peer::raw_server(scene.behind);
    let [old, new] = [&scene.keys.alice, &Key::of(8)];
    let mut raw = Peer::raw(scene.at);
    let mut passes = |key: &Key| {
        let message = Message::new("alice", "wholesaler", COMMAND, &decision(1)).signed(key, Form::Explicit);
        raw.stream(&message.stream());
        loop {
            // the agent's next message is this one, or the caller is refused
            if let Some(reached) = agent.within(Duration::from_millis(400), "message") {
                assert_eq!(Message::read(&unhex(reached.as_str().unwrap())), message);
                return true;
            }
            if raw.within(Duration::ZERO, "message").is_some() {
                return false;
            }
            if raw.within(Duration::ZERO, "end").is_some() {
                raw = Peer::raw(scene.at);
                return false;
            }
        }
    };
    assert!(passes(old) && !passes(new), "only the old key counts");
    let both = |end: u64| {
        let end = jiff::Timestamp::from_second(i64::try_from(end).unwrap()).unwrap().to_string();
        json!({"keys": {"iac": [{"key": old.public, "not_after": end}, new.public]}})
    };
    let end = now() + 15;
    write_names(&scene.up, "retailer-7", &both(end));
    wait_for("the new key", || passes(new).then_some(()));
    assert!(passes(old) && passes(new), "both count while they overlap");
    assert!(now() < end, "the machine is too slow for this test");
    wait_for("the end of the old key", || (!passes(old)).then_some(()));
    assert!(now() >= end, "not before its end");
    // the connection whose last message has the old key ends with it
    wait_for("the new key again", || passes(new).then_some(()));
    assert!(!passes(old));
}

#[test]
fn iac_file_in_chunks() {
    let scene = Scene::start("file_bytes = 100000\nadmit = [\"file\"]");
    let server = scene.stock();
    let mut client = Peer::client(scene.at, &scene.keys.alice);
    let chunk = |name: &str, index: u64, bytes: &[u8]| {
        let checksum = hex(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref());
        let payload = json!({"filename": name, "index": index, "total": 3, "checksum": checksum});
        json!({"from": "alice", "to": "wholesaler", "type": FILE_TRANSFER, "payload": payload.to_string(), "extra": hex(bytes)})
    };
    let random = ring::rand::SystemRandom::new();
    for index in 0..3 {
        let mut bytes = vec![0; 30_000];
        ring::rand::SecureRandom::fill(&random, &mut bytes).unwrap();
        let sent = client.send(&chunk("plan.bin", index, &bytes));
        let handled = server.shown("handled");
        assert_eq!(handled, sent);
        assert_eq!(handled.extra, bytes);
        assert_eq!(client.shown("received").payload, "", "the agent's receipt");
    }
    let mut refused = |line: &Value| {
        let sent = client.send(line);
        scene.problem(client.shown("received"), &sent)["code"].as_str().unwrap().to_owned()
    };
    for name in ["../plan.bin", "a/b", "a\\b", ".profile", "..", ""] {
        assert_eq!(refused(&chunk(name, 0, b"x")), "content_invalid", "{name}");
    }
    let mut damaged = chunk("other.bin", 0, b"x");
    damaged["extra"] = json!(hex(b"y"));
    assert_eq!(refused(&damaged), "malformed", "not the checksum of these bytes");
    assert_eq!(refused(&chunk("other.bin", 3, b"x")), "malformed", "beyond the last chunk");
    // the file is over its total with the second chunk
    let half = |index| chunk("large.bin", index, &[7; 60_000]);
    client.send(&half(0));
    server.shown("handled");
    client.shown("received");
    let sent = client.send(&half(1));
    assert_eq!(scene.problem(client.shown("received"), &sent)["code"], "too_large");
    server.never("handled");
}

#[test]
fn iac_two_clients_get_their_own_replies() {
    let scene = Scene::start("");
    let server = scene.stock();
    let mut alice = Peer::client(scene.at, &scene.keys.alice);
    let mut carol = Peer::client(scene.at, &scene.keys.carol);
    for round in 1..=5 {
        let of_carol = json!({"from": "carol", "to": "wholesaler", "type": COMMAND, "payload": decision(100 + round).to_string()});
        let asked = [alice.send(&asks(COMMAND, &decision(round).to_string())), carol.send(&of_carol)];
        for (client, asked) in [&alice, &carol].into_iter().zip(asked) {
            let reply = client.shown("received");
            assert_eq!((reply.payload, reply.to), (asked.payload, asked.from));
        }
        server.shown("handled");
        server.shown("handled");
    }
    alice.never("received");
    carol.never("received");
}

#[test]
fn iac_overhead_row() {
    let scene = Scene::start(NOT_LIMITED);
    let _server = scene.stock();
    let took = support::iac::round_trips(&scene, &decision(12), 200);
    // `cargo bench` holds the bound of the release build, half a millisecond. This build is slow and its machine busy, so its fastest
    // round trips show only that nothing waits for a timer: an acknowledgement of QUIC may take 25 ms.
    let [direct, through] = took.each_ref().map(|took| took[took.len() / 10]);
    assert!(through - direct < 20_000.0, "direct {direct:.0} µs, through {through:.0} µs");
}

#[test]
fn f4_12_a_stamp_counts_in_seconds_or_microseconds_within_five_minutes() {
    let scene = Scene::start("");
    let agent = Peer::raw_server(scene.behind);
    let mut raw = Peer::raw(scene.at);
    let at = |timestamp| {
        let message = Message::new("alice", "wholesaler", COMMAND, &decision(1));
        Message { timestamp, ..message }.signed(&scene.keys.alice, Form::Explicit)
    };
    for fresh in [now() + 240, (now() + 10) * 1_000_000] {
        let message = at(fresh);
        raw.stream(&message.stream());
        assert_eq!(agent.message(), message, "{fresh}");
    }
    for stale in [0, 1, now() - 400, now() + 400, (now() - 400) * 1_000_000, u64::MAX] {
        let message = at(stale);
        raw.stream(&message.stream());
        assert_eq!(scene.refusal(&raw, &message)["code"], "replayed", "{stale}");
    }
    // an earlier process may have taken it
    let earlier = at(now() - 120);
    raw.stream(&earlier.stream());
    let refusal = scene.refusal(&raw, &earlier);
    assert_eq!(refusal["detail"], "the message was signed before this gateway started");
    agent.never("message");
}

#[test]
fn f4_01_early_data_is_not_taken_and_no_stream_is_answered_in_both_directions() {
    let alone = free_udp().to_string();
    let server = Peer::start("raw", &["serve", &alone, "early"]);
    server.expect("serves");
    assert_eq!(
        Peer::start("raw", &["call", &alone, "early"]).expect("early"),
        true,
        "a server that takes it"
    );

    let scene = Scene::start("");
    let agent = Peer::raw_server(scene.behind);
    let mut raw = Peer::start("raw", &["call", &scene.at.to_string(), "early"]);
    assert_eq!(raw.expect("early"), false);
    raw.expect("connected");
    raw.tell(&json!({"asking": hex(&good(&scene.keys, 1).stream())}));
    let began = Instant::now();
    agent.never("message");
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn iac_a_claim_in_the_payload_names_the_context() {
    let scene = Scene::start("");
    let server = scene.stock();
    let mut client = Peer::client(scene.at, &scene.keys.alice);
    let claiming = |urn: &str| {
        let mut payload = decision(4);
        payload["l9"] = json!({"context": urn});
        asks(COMMAND, &payload.to_string())
    };
    let sent = client.send(&claiming("urn:contexts:supplyChain:v1.0"));
    assert_eq!(server.shown("handled"), sent, "the agent sees the claim");
    assert_eq!(client.shown("received").payload, sent.payload);
    for (urn, code) in [
        ("urn:contexts:travel:v2.1", "concept_undefined"),
        ("urn:contexts:nothing:v1.0", "policy_denied"),
        ("supplyChain", "malformed"),
    ] {
        let sent = client.send(&claiming(urn));
        assert_eq!(scene.problem(client.shown("received"), &sent)["code"], code, "{urn}");
    }
    server.never("handled");
}

#[test]
fn iac_a_reply_without_a_claim_belongs_to_the_one_open_context() {
    let scene = Scene::start("");
    let mut agent = Peer::raw_server(scene.behind);
    let mut client = Peer::client(scene.at, &scene.keys.alice);
    let reply = |payload: &Value| {
        Message::new("wholesaler", "alice", REPLY, payload).signed(&scene.keys.wholesaler, Form::Explicit)
    };
    client.send(&asks(COMMAND, &decision(1).to_string()));
    agent.message();
    let plain = reply(&decision(1));
    agent.stream(&plain.stream());
    assert_eq!(client.shown("received"), plain);
    // two contexts are open
    client.send(&asks(COMMAND, &decision(2).to_string()));
    agent.message();
    let flight = json!({"l9": {"context": "urn:contexts:travel:v2.1"}, "task": "bookFlight",
        "origin_code": "LAX", "dest_code": "JFK", "date": "2026-12-24"});
    let last = client.send(&asks(COMMAND, &flight.to_string()));
    agent.message();
    agent.stream(&reply(&decision(2)).stream());
    let problem = scene.problem(client.shown("received"), &last);
    assert_eq!(
        (&problem["code"], &problem["cause"]),
        (&json!("reply_refused"), &json!("context_missing")),
        "{problem}"
    );
    let mut claimed = decision(2);
    claimed["l9"] = json!({"context": "urn:contexts:supplyChain:v1.0"});
    let claimed = reply(&claimed);
    agent.stream(&claimed.stream());
    assert_eq!(client.shown("received"), claimed);
}

#[test]
fn f4_17_agents_of_a_mesh_reach_each_other_through_a_route_each() {
    let (keys, [to_alice, alices, to_carol, carols]) = (Keys::default(), [(); 4].map(|()| free_udp()));
    let route = |agent: &str, at: SocketAddr, behind: SocketAddr| {
        format!(
            "[[route]]\nname = \"{agent}\"\nlisten = \"quic://{at}\"\nbinding = \"iac\"\nreceiver = \"spiffe://semgate.test/agent/{agent}\"\nupstream = \"quic://{behind}\"\ncontexts = [\"*\"]\ndefault_context = \"urn:contexts:supplyChain:v1.0\"\nsigning_key = \"iac.key\"\n"
        )
    };
    let _scene =
        Scene::start(&(route("retailer-7", to_alice, alices) + &route("treasurer-1", to_carol, carols)));
    let serves = |at: SocketAddr, own: &Key, name: &str, other: &Key| {
        let peer = Peer::start("server", &[&at.to_string(), &own.seed, name, &other.public]);
        peer.expect("serves");
        peer
    };
    let alice = serves(alices, &keys.alice, "alice", &keys.carol);
    let carol = serves(carols, &keys.carol, "carol", &keys.alice);
    for (from, key, to, server, at, own) in [
        ("alice", &keys.alice, "carol", &carol, to_carol, &keys.carol),
        ("carol", &keys.carol, "alice", &alice, to_alice, &keys.alice),
    ] {
        let mut client = Peer::client(at, key);
        let payload = decision(6).to_string();
        let sent = client.send(&json!({"from": from, "to": to, "type": DELEGATE_TASK, "payload": payload}));
        assert_eq!(server.shown("handled"), sent);
        assert!(client.shown("received").is_signed_by(own));
    }
}
