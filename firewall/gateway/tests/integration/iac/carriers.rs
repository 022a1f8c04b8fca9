//! Attacks on the carriers of signed messages: cut frames, reset streams, half-open handshakes, answers that are too large.

use super::*;

/// Writes first packets of handshakes that nobody continues.
async fn half_open(port: u16, count: usize) {
    let sink = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let mut packet = vec![0; 2048];
    let mut openings = Vec::new();
    for _ in 0..count {
        openings.push(tokio::spawn(Peer::connect(sink.local_addr().unwrap().port())));
        let (length, _) = sink.recv_from(&mut packet).await.unwrap();
        sink.send_to(&packet[..length], ("127.0.0.1", port)).await.unwrap();
    }
    openings.iter().for_each(tokio::task::JoinHandle::abort);
}

#[test]
fn attack_half_open_handshakes_do_not_lock_out_an_address() {
    run(async {
        let mut house = house();
        house.remember();
        let server = Server::start(|frame| vec![agreed(frame)]);
        let upstream = format!("quic://127.0.0.1:{}", server.port);
        let route = route(&house, "quic://127.0.0.1:0", &upstream, "");
        let gateway = Gateway::start(house.config(&route, "connections_per_agent = 16"));
        gateway.ready();
        half_open(gateway.port("iac"), 40).await;
        let client = tokio::time::timeout(Duration::from_secs(5), Peer::connect(gateway.port("iac")));
        let client = client.await.expect("the address still has places");
        client.send(&command("sku-1")).await;
        assert_eq!(client.receive().await.unwrap().from(), "bob");
    });
}

#[test]
fn a_reset_stream_counts_as_a_message() {
    run(async {
        let mut house = house();
        let server = Server::start(|frame| vec![agreed(frame)]);
        let gateway = start(&mut house, &server, "");
        let client = answered(&gateway, "sku-1").await;
        let mut stream = client.connection.open_uni().await.unwrap();
        stream.write_all(b"begins").await.unwrap();
        stream.reset(0_u32.into()).unwrap();
        assert_eq!(client.closed().await, (656, "malformed".to_owned()));
    });
}

#[test]
fn a_message_that_the_agent_takes_in_part_is_followed_by_nothing() {
    run(async {
        let mut house = house();
        house.remember();
        let agent = tokio::net::UnixListener::bind(house.path("bob.sock")).unwrap();
        let route = route(&house, "unix:alice.sock", "unix:bob.sock", "");
        let gateway = Gateway::start(house.config(&route, "upstream_timeout = \"1s\""));
        gateway.ready();
        let mut client = tokio::net::UnixStream::connect(house.path("alice.sock")).await.unwrap();
        let padded = format!("{}{}", decision("INFORM", "sku-1"), " ".repeat(900_000));
        let large = signed(draft("alice", "bob", MessageType::Command, &padded), "alice");
        client.write_all(&delimited(&large)).await.unwrap();
        let (mut slow, _) = agent.accept().await.unwrap();
        let told = problem(&read_delimited(&mut client).await);
        assert_eq!((&told["code"], &told["delivered"]), (&json!("upstream_unavailable"), &json!("unknown")));
        let _ = client.write_all(&delimited(&command("sku-2"))).await;
        let mut taken = Vec::new();
        slow.read_to_end(&mut taken).await.unwrap();
        let whole = delimited(&large);
        assert!(taken.len() < whole.len(), "the message was cut");
        assert_eq!(taken[..], whole[..taken.len()], "nothing follows the part");
        let mut rest = Vec::new();
        let _ = client.read_to_end(&mut rest).await;
        assert!(rest.is_empty(), "the caller's connection ends too");
    });
}

#[test]
fn an_answer_beyond_the_frames_of_callers_is_refused() {
    run(async {
        let mut house = house();
        house.remember();
        let agent = tokio::net::UnixListener::bind(house.path("bob.sock")).unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = agent.accept().await.unwrap();
            let frame = read_delimited(&mut stream).await;
            let mut noise = vec![0; 80 << 10];
            ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut noise).unwrap();
            let noise: String = noise.iter().map(|byte| format!("{byte:02x}")).collect();
            let large = json!({
                "l9": {"context": CLAIM, "performative": "AGREE"},
                "concept_type": "current_decision", "item_id": noise, "quantity": 120
            });
            let large = draft("bob", frame.from(), MessageType::Reply, &large.to_string());
            stream.write_all(&delimited(&signed(large, "bob"))).await.unwrap();
            stream.write_all(&delimited(&agreed(&frame))).await.unwrap();
            let _ = stream.read_u8().await;
        });
        let route = route(&house, "quic://127.0.0.1:0", "unix:bob.sock", "");
        let gateway = Gateway::start(house.config(&route, ""));
        gateway.ready();
        let client = Peer::connect(gateway.port("iac")).await;
        client.send(&command("sku-1")).await;
        let told = problem(&client.receive().await.unwrap());
        assert_eq!(
            (&told["code"], &told["cause"]),
            (&json!("upstream_invalid"), &json!("too_large")),
            "{told}"
        );
        assert_eq!(client.receive().await.unwrap().from(), "bob", "a smaller answer passes");
    });
}
