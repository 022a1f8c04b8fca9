//! Signed messages over QUIC and byte streams, between a raw client and a raw agent.

use crate::common;

use std::future::Future;
use std::time::Duration;

use common::iac::{Peer, Server, draft, hex, key, problem, signed, signing_key};
use common::{Gateway, House, RETAILER, WHOLESALER, wait};
use semgate_policies::PolicySource;
use semgate_protocol::iac::{Frame, MessageType, deflate};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const CLAIM: &str = "urn:contexts:supplyChain:v1.0";
const PERMITS: &str = r#"
permit (principal in Group::"partners", action, resource is iac::file_chunk);
permit (principal in Group::"partners", action, resource is iac::register_key);
permit (principal in Group::"partners", action, resource is iac::ping);
permit (principal in Group::"repliers", action, resource is iac::ping);
"#;

fn run(what: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
        .block_on(what);
}

/// A house whose agents have keys.
fn house() -> House {
    let house = House::new();
    named(&house, &["alice"]);
    house
}

/// Gives the retailer these keys.
fn named(house: &House, keys: &[&str]) {
    let mut source = PolicySource::shipped();
    let mut entities: Value = serde_json::from_slice(&source.entities).unwrap();
    for agent in entities["agents"].as_array_mut().unwrap() {
        let (name, keys) = match agent["id"].as_str().unwrap() {
            RETAILER => ("alice", keys.iter().map(|name| hex(&key(name))).collect()),
            WHOLESALER => ("bob", vec![hex(&key("bob"))]),
            "spiffe://semgate.test/agent/courier-5" => ("carol", vec![hex(&key("carol"))]),
            _ => continue,
        };
        agent["names"] = json!({"iac": name});
        agent["keys"] = json!({"iac": keys});
    }
    source.entities = entities.to_string().into_bytes();
    source.files.push(("iac.cedar".to_owned(), PERMITS.to_owned()));
    house.write_policies(&source);
}

fn route(house: &House, listen: &str, upstream: &str, more: &str) -> String {
    let signing = signing_key(house);
    format!(
        r#"
[[route]]
name = "iac"
listen = "{listen}"
binding = "iac"
receiver = "{WHOLESALER}"
upstream = "{upstream}"
contexts = ["*"]
signing_key = "{signing}"
{more}
"#
    )
}

fn start(house: &mut House, server: &Server, more: &str) -> Gateway {
    house.remember();
    let upstream = format!("quic://127.0.0.1:{}", server.port);
    let route = route(house, "quic://127.0.0.1:0", &upstream, more);
    let gateway = Gateway::start(house.config(&route, ""));
    gateway.ready();
    gateway
}

fn decision(performative: &str, item: &str) -> String {
    json!({
        "l9": {"context": CLAIM, "performative": performative},
        "concept_type": "current_decision", "item_id": item, "quantity": 120
    })
    .to_string()
}

fn command(item: &str) -> Vec<u8> {
    signed(draft("alice", "bob", MessageType::Command, &decision("INFORM", item)), "alice")
}

/// A caller whose first message was answered.
async fn answered(gateway: &Gateway, item: &str) -> Peer {
    let client = Peer::connect(gateway.port("iac")).await;
    client.send(&command(item)).await;
    client.receive().await.unwrap();
    client
}

/// The reply of a well-behaved agent.
fn agreed(to: &Frame) -> Vec<u8> {
    signed(draft("bob", to.from(), MessageType::Reply, &decision("AGREE", "sku-1")), "bob")
}

#[test]
fn signed_messages_pass_byte_for_byte_in_both_directions() {
    run(async {
        let mut house = house();
        let server = Server::start(|frame| vec![agreed(frame)]);
        let gateway = start(&mut house, &server, "");
        let client = Peer::connect(gateway.port("iac")).await;
        for item in ["sku-1", "sku-2"] {
            let message = command(item);
            client.send(&message).await;
            let reply = client.receive().await.unwrap();
            assert_eq!(reply.from(), "bob", "{}", reply.payload());
            let seen = server.seen();
            assert_eq!(seen.last().unwrap().bytes()[..], message[..]);
        }
        let of = |direction: &str| {
            let audit = house.audit();
            audit.iter().filter(|line| line["direction"] == direction && line["verdict"] == "allowed").count()
        };
        wait("two records of each direction", || (of("request"), of("reply")) == (2, 2));
        let audit = house.audit();
        assert_eq!(audit[0]["sender"], RETAILER);
        assert_eq!(audit[1]["sender"], WHOLESALER);
        assert_eq!(audit[0]["protocol"], "iac");
    });
}

/// Sends a message that is refused, and one that passes after it on the same connection.
async fn refused_alone(client: &Peer, server: &Server, message: Vec<u8>, code: &str) -> Value {
    let before = server.seen().len();
    client.send(&message).await;
    let told = problem(&client.receive().await.expect("the connection stays"));
    assert_eq!(told["code"], code, "{told}");
    client.send(&command("sku-9")).await;
    assert_eq!(client.receive().await.unwrap().from(), "bob", "the next message passes");
    assert_eq!(server.seen().len(), before + 1, "the refused message never arrived");
    told
}

#[test]
fn a_refused_message_is_answered_by_the_gateway_and_ends_nothing() {
    run(async {
        let mut house = house();
        let server = Server::start(|frame| vec![agreed(frame)]);
        let gateway = start(&mut house, &server, "");
        let client = answered(&gateway, "sku-0").await;

        let mut unknown = draft("alice", "bob", MessageType::Command, &decision("INFORM", "x"));
        unknown.payload = unknown.payload.replace("supplyChain:v1.0", "supplyChain:v7.0");
        let id = unknown.msg_id;
        let told = refused_alone(&client, &server, signed(unknown, "alice"), "context_unknown").await;
        assert_eq!(told["responds_to"], id.to_string());
        assert!(told["decision_id"].as_str().unwrap().len() == 26);
        let another = draft("alice", "carol", MessageType::Command, &decision("INFORM", "x"));
        refused_alone(&client, &server, signed(another, "alice"), "receiver_mismatch").await;
        let stranger = draft("alice", "bob", MessageType::Command, &decision("INFORM", "x"));
        refused_alone(&client, &server, signed(stranger, "mallory"), "sender_mismatch").await;
        let other_agent = draft("carol", "bob", MessageType::Command, &decision("INFORM", "x"));
        refused_alone(&client, &server, signed(other_agent, "alice"), "sender_mismatch").await;
        let on_the_wrong_connection = draft("carol", "bob", MessageType::Command, &decision("INFORM", "x"));
        refused_alone(&client, &server, signed(on_the_wrong_connection, "carol"), "sender_mismatch").await;
        let by_key = draft(&hex(&key("alice")), "bob", MessageType::Command, &decision("INFORM", "x"));
        client.send(&signed(by_key, "alice")).await;
        assert_eq!(client.receive().await.unwrap().from(), "bob", "the key is a name too");
        let repeated = command("sku-3");
        client.send(&repeated).await;
        client.receive().await.unwrap();
        refused_alone(&client, &server, repeated, "replayed").await;
    });
}

#[test]
fn a_stranger_never_reaches_the_agent() {
    run(async {
        let mut house = house();
        let server = Server::start(|frame| vec![agreed(frame)]);
        let gateway = start(&mut house, &server, "");
        let client = Peer::connect(gateway.port("iac")).await;
        for _ in 0..3 {
            client.send(&signed(draft("alice", "bob", MessageType::Command, "{}"), "mallory")).await;
            let told = problem(&client.receive().await.unwrap());
            assert_eq!(told["code"], "sender_mismatch");
        }
        let unsigned = draft("alice", "bob", MessageType::RegisterKey, "");
        client.send(&signed(unsigned, "mallory")).await;
        assert_eq!(problem(&client.receive().await.unwrap())["code"], "sender_mismatch");
        assert!(server.connections.lock().unwrap().is_empty(), "no connection was opened for it");
        wait("the record of the address", || {
            house.audit().iter().any(|line| line["sender"] == "address 127.0.0.1")
        });
    });
}

#[test]
fn a_frame_that_is_no_frame_closes_the_connection_with_a_code() {
    run(async {
        let mut house = house();
        let server = Server::start(|frame| vec![agreed(frame)]);
        let gateway = start(&mut house, &server, "");
        let two = [deflate(&command("a")), deflate(&command("b"))].concat();
        let bomb = deflate(&vec![0; 8 << 20]);
        let large = vec![0; (64 << 10) + 1];
        for (bytes, code, reason) in
            [(two, 656, "malformed"), (bomb, 669, "too_large"), (large, 669, "too_large")]
        {
            for verified in [false, true] {
                let client = Peer::connect(gateway.port("iac")).await;
                if verified {
                    client.send(&command("sku-1")).await;
                    client.receive().await.unwrap();
                }
                client.raw(&bytes).await;
                assert_eq!(client.closed().await, (code, reason.to_owned()));
            }
        }
        assert_eq!(server.seen().len(), 3);
    });
}

#[test]
fn replies_of_anyone_but_the_receiver_are_withheld() {
    run(async {
        let mut house = house();
        let server = Server::start(|frame| {
            let answer = || draft("bob", frame.from(), MessageType::Reply, &decision("AGREE", "sku-1"));
            let mut unsigned = signed(answer(), "bob");
            let at = unsigned.len() - 66;
            unsigned[at..at + 64].fill(0);
            let carol = draft("carol", frame.from(), MessageType::Reply, &decision("AGREE", "sku-1"));
            vec![unsigned, signed(answer(), "mallory"), signed(carol, "carol"), signed(answer(), "bob")]
        });
        let gateway = start(&mut house, &server, "");
        let client = Peer::connect(gateway.port("iac")).await;
        client.send(&command("sku-1")).await;
        for _ in 0..3 {
            let told = problem(&client.receive().await.unwrap());
            assert_eq!((&told["code"], &told["cause"]), (&json!("reply_refused"), &json!("sender_mismatch")));
            assert_eq!(told["delivered"], "yes");
        }
        assert_eq!(client.receive().await.unwrap().from(), "bob", "the agent's own reply passes after them");
    });
}

#[test]
fn each_caller_has_a_connection_of_its_own_to_the_agent() {
    run(async {
        let mut house = house();
        let server = Server::start(|frame| vec![agreed(frame)]);
        let gateway = start(&mut house, &server, "");
        let (one, other) =
            (Peer::connect(gateway.port("iac")).await, Peer::connect(gateway.port("iac")).await);
        for (client, item) in [(&one, "sku-1"), (&other, "sku-2"), (&one, "sku-3")] {
            client.send(&command(item)).await;
            assert_eq!(client.receive().await.unwrap().from(), "bob");
        }
        let connections = server.connections.lock().unwrap().clone();
        assert_eq!(connections.len(), 2);
        assert_ne!(connections[0], connections[1], "a stock agent tells its clients apart by address");
    });
}

#[test]
fn a_removed_key_ends_the_connection_and_a_listed_one_works_at_once() {
    run(async {
        let mut house = house();
        let server = Server::start(|frame| vec![agreed(frame)]);
        let gateway = start(&mut house, &server, "");
        let client = answered(&gateway, "sku-1").await;
        named(&house, &["alice", "alice-next"]);
        let next = || {
            signed(draft("alice", "bob", MessageType::Command, &decision("INFORM", "sku-2")), "alice-next")
        };
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        loop {
            client.send(&next()).await;
            if client.receive().await.unwrap().from() == "bob" {
                break;
            }
            assert!(std::time::Instant::now() < deadline, "the new key never counted");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        client.send(&command("sku-3")).await;
        assert_eq!(client.receive().await.unwrap().from(), "bob", "both keys count");
        named(&house, &["alice-next"]);
        assert_eq!(client.closed().await, (659, "sender_mismatch".to_owned()));
    });
}

#[test]
fn a_key_to_register_is_filed_and_never_forwarded() {
    run(async {
        let mut house = house();
        let server = Server::start(|frame| vec![agreed(frame)]);
        let gateway = start(&mut house, &server, "");
        let client = Peer::connect(gateway.port("iac")).await;
        let mut register = draft("alice", "bob", MessageType::RegisterKey, "");
        register.extra = vec![7; 32];
        client.send(&signed(register, "alice")).await;
        assert_eq!(problem(&client.receive().await.unwrap())["key"], "filed");
        client.send(&command("sku-1")).await;
        client.receive().await.unwrap();
        assert_eq!(server.seen().len(), 1, "the agent never saw the key");
    });
}

#[test]
fn a_file_is_bounded_over_all_its_chunks() {
    run(async {
        let mut house = house();
        let server = Server::start(|_| Vec::new());
        let gateway = start(&mut house, &server, "admit = [\"file\"]\nfile_bytes = 5000\n");
        let client = Peer::connect(gateway.port("iac")).await;
        let chunk = |index: u64, size: usize| {
            let bytes = vec![9; size];
            let checksum = semgate_contexts::Digest::of(&bytes).to_string();
            let checksum = checksum.strip_prefix("sha-256:").unwrap().to_owned();
            let payload = json!({
                "l9": {"context": "urn:contexts:iac:v1.0"},
                "filename": "plan.pdf", "index": index, "total": 3, "checksum": checksum
            });
            let mut message = draft("alice", "bob", MessageType::FileTransfer, &payload.to_string());
            message.extra = bytes;
            signed(message, "alice")
        };
        client.send(&chunk(0, 3000)).await;
        client.send(&chunk(1, 2001)).await;
        let told = problem(&client.receive().await.unwrap());
        assert_eq!(told["code"], "too_large", "{told}");
        client.send(&chunk(1, 2000)).await;
        client.send(&command("sku-1")).await;
        wait("the chunks", || server.seen().len() == 3);
    });
}

#[test]
fn a_drain_lets_the_answer_pass_and_then_closes() {
    run(async {
        let mut house = house();
        let server = Server::start(|frame| vec![agreed(frame)]);
        let mut gateway = start(&mut house, &server, "");
        let client = answered(&gateway, "sku-1").await;
        gateway.tell_to_stop();
        assert_eq!(client.closed().await, (0, "drained".to_owned()));
        tokio::task::spawn_blocking(move || gateway.stop().unwrap()).await.unwrap();
    });
}

fn delimited(message: &[u8]) -> Vec<u8> {
    let (mut length, mut out) = (message.len(), Vec::new());
    while length >= 0x80 {
        out.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    [out, message.to_vec()].concat()
}

async fn read_delimited(stream: &mut (impl AsyncReadExt + Unpin)) -> Frame {
    let (mut length, mut shift) = (0_usize, 0);
    loop {
        let byte = stream.read_u8().await.unwrap();
        length |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    let mut message = vec![0; length];
    stream.read_exact(&mut message).await.unwrap();
    Frame::read(message.into()).unwrap()
}

#[test]
fn the_same_messages_pass_over_tls_and_unix_sockets() {
    run(async {
        let mut house = house();
        house.remember();
        let agent = tokio::net::UnixListener::bind(house.path("bob.sock")).unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = agent.accept().await {
                tokio::spawn(async move {
                    loop {
                        let frame = read_delimited(&mut stream).await;
                        stream.write_all(&delimited(&agreed(&frame))).await.unwrap();
                    }
                });
            }
        });
        let tls = route(&house, "127.0.0.1:0", "unix:bob.sock", "");
        let unix = route(&house, "unix:alice.sock", "unix:bob.sock", "")
            .replace("\"iac\"\nlisten", "\"local\"\nlisten");
        let gateway = Gateway::start(house.config(&format!("{tls}{unix}"), ""));
        gateway.ready();
        let mut local = tokio::net::UnixStream::connect(house.path("alice.sock")).await.unwrap();
        local.write_all(&delimited(&command("sku-1"))).await.unwrap();
        assert_eq!(read_delimited(&mut local).await.from(), "bob");
        let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(common::iac::any_certificate()));
        let stream = tokio::net::TcpStream::connect(("127.0.0.1", gateway.port("iac"))).await.unwrap();
        let name = "localhost".try_into().unwrap();
        let mut stream = connector.connect(name, stream).await.unwrap();
        stream.write_all(&delimited(&command("sku-2"))).await.unwrap();
        assert_eq!(read_delimited(&mut stream).await.from(), "bob");
        stream.write_all(&[0xff; 5]).await.unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        assert!(rest.is_empty(), "a false length ends a byte stream");
    });
}

/// The senders and codes of all records of refusals.
fn refused(house: &House) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let audit = house.audit();
    let refused = audit.iter().filter(|line| line["verdict"] == "refused");
    refused.map(|line| (text(&line["sender"]), text(&line["code"]))).collect()
}

#[test]
fn attack_an_old_message_of_an_agent_opens_connections_in_its_name() {
    run(async {
        let mut house = house();
        let server = Server::start(|frame| vec![agreed(frame)]);
        let gateway = start(&mut house, &server, "");
        let mut stale = draft("alice", "bob", MessageType::Command, &decision("INFORM", "sku-1"));
        stale.timestamp -= 100_000;
        let taken = command("sku-2");
        let client = Peer::connect(gateway.port("iac")).await;
        client.send(&taken).await;
        assert_eq!(client.receive().await.unwrap().from(), "bob");
        let another = draft("alice", "carol", MessageType::Command, &decision("INFORM", "sku-3"));
        let mut unknown = draft("alice", "bob", MessageType::Command, &decision("INFORM", "sku-4"));
        unknown.payload = unknown.payload.replace("supplyChain:v1.0", "supplyChain:v7.0");
        let unknown = signed(unknown, "alice");
        let opener = Peer::connect(gateway.port("iac")).await;
        opener.send(&unknown).await;
        assert_eq!(problem(&opener.receive().await.unwrap())["code"], "context_unknown");
        let old = [
            (signed(stale, "alice"), "replayed"),
            (taken, "replayed"),
            (signed(another, "alice"), "receiver_mismatch"),
            (unknown, "replayed"),
        ];
        for (message, code) in old {
            let client = Peer::connect(gateway.port("iac")).await;
            client.send(&message).await;
            let told = problem(&client.receive().await.unwrap());
            assert_eq!(told["code"], code, "{told}");
        }
        wait("the records", || refused(&house).len() == 5);
        let of_alice = refused(&house).into_iter().filter(|(sender, _)| sender == RETAILER);
        assert_eq!(of_alice.map(|(_, code)| code).collect::<Vec<_>>(), ["context_unknown"]);
    });
}

#[test]
fn attack_a_handshake_skips_the_stamp_and_repeats() {
    run(async {
        let mut house = house();
        let server = Server::start(|frame| vec![agreed(frame)]);
        let gateway = start(&mut house, &server, "");
        let client = answered(&gateway, "sku-1").await;
        let hello = json!({"protocol": "L8/1.0", "content": {"concept_type": "HELLO"}}).to_string();
        let hello = || draft("alice", "bob", MessageType::Command, &hello);
        let mut stale = hello();
        stale.timestamp -= 100_000;
        refused_alone(&client, &server, signed(stale, "alice"), "replayed").await;
        let mut another = hello();
        another.to = "carol".to_owned();
        refused_alone(&client, &server, signed(another, "alice"), "receiver_mismatch").await;
        let once = signed(hello(), "alice");
        client.send(&once).await;
        assert_ne!(problem(&client.receive().await.unwrap())["code"], "replayed");
        refused_alone(&client, &server, once, "replayed").await;
    });
}

#[test]
fn attack_refused_answers_without_end_close_the_connection() {
    run(async {
        let mut house = house();
        let server = Server::start(|frame| {
            let answer = || draft("bob", frame.from(), MessageType::Reply, &decision("AGREE", "sku-1"));
            (0..70).map(|_| signed(answer(), "mallory")).collect()
        });
        let gateway = start(&mut house, &server, "");
        let client = Peer::connect(gateway.port("iac")).await;
        client.send(&command("sku-1")).await;
        let mut refused = 0;
        while client.receive().await.is_some() {
            refused += 1;
        }
        assert!(refused <= 64, "{refused}");
        assert_eq!(client.closed().await, (758, "upstream_invalid".to_owned()));
    });
}
mod carriers;
