//! Signed messages of IAC through the running binary: a handshake in them, and its lock (F0-22, F4-02).

use std::net::SocketAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::Ed25519KeyPair;
use semgate_contexts::{Performative, Prefix};
use semgate_gateway::IacConnection;
use semgate_negotiation::initiator::HelloSent;
use semgate_negotiation::{Carried, InitiatorConfig, Kind, Trust, read_message, write_message};
use semgate_protocol::iac::{Draft, Frame, MessageType};
use serde_json::{Value, json};

use crate::support;
use support::Up;
use support::negotiator::{self, SNL};

const RETAILER: &str = "spiffe://semgate.test/agent/retailer-7";
const AGENT: &str = "spiffe://semgate.test/agent/wholesaler-1";
const URN: &str = "urn:contexts:supplyChain:v1.0";

/// The retailer on a connection of its own.
struct Caller {
    key: Ed25519KeyPair,
    connection: IacConnection,
}

impl Caller {
    async fn connect(up: &Up) -> Self {
        let pem = std::fs::read_to_string(up.dir.join("agents/retailer-7.iac.key")).unwrap();
        let text: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&STANDARD.decode(text).unwrap()).unwrap();
        let address: SocketAddr = up.text("/gateway/iac").strip_prefix("quic://").unwrap().parse().unwrap();
        Self { key, connection: IacConnection::connect(address).await.unwrap() }
    }

    /// Sends a command with this payload, and reads the payload of the answer.
    async fn ask(&mut self, payload: String) -> Value {
        let mut id = [0; 8];
        SystemRandom::new().fill(&mut id).unwrap();
        let draft = Draft {
            from: "retailer-7".to_owned(),
            to: "wholesaler-1".to_owned(),
            kind: MessageType::Command,
            payload,
            timestamp: negotiator::now(),
            msg_id: u64::from_be_bytes(id),
            session_id: 0,
            extra: Vec::new(),
        };
        assert!(self.connection.send(&draft.sign(&self.key)).await);
        let answer = Frame::read(self.connection.receive().await.unwrap()).unwrap();
        serde_json::from_str(answer.payload()).unwrap()
    }

    async fn shake(&mut self, kind: Kind, carried: &Carried) -> Carried {
        let parties = (&negotiator::spiffe(RETAILER), &negotiator::spiffe(AGENT));
        let body = write_message(kind, carried, Performative::Request, parties, SNL, "m-1").unwrap();
        let answer = self.ask(String::from_utf8(body).unwrap()).await;
        read_message(answer.to_string().as_bytes(), SNL)
            .unwrap_or_else(|why| panic!("{why}: {answer}"))
            .carried
    }

    async fn decide(&mut self, lock: Option<&str>) -> Value {
        let claim = json!({"context": URN, "performative": "INFORM", "lock": lock});
        let claim: serde_json::Map<_, _> =
            claim.as_object().unwrap().clone().into_iter().filter(|(_, value)| !value.is_null()).collect();
        let content =
            json!({"l9": claim, "concept_type": "current_decision", "item_id": "beer", "quantity": 3});
        self.ask(content.to_string()).await
    }
}

#[test]
fn f0_22_a_session_is_agreed_in_signed_messages_and_its_lock_counts_in_them() {
    let up = Up::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut caller = Caller::connect(&up).await;
        let me = negotiator::identity(&up, "retailer-7");
        let opening = InitiatorConfig {
            to: negotiator::spiffe(AGENT),
            contexts: negotiator::offers(&up, &[URN]),
            minimums: Vec::new(),
            seal_to: None,
        };
        let random = SystemRandom::new();
        let (greeted, hello) = HelloSent::hello(opening, &me, &random, negotiator::now()).unwrap();
        let select = caller.shake(Kind::Hello, &hello).await;
        let (roots, prefix) = (negotiator::roots(&up), Prefix::default());
        let trust = Trust { roots: &roots, prefix: &prefix };
        let chosen = greeted.select(&select, &trust, negotiator::now()).unwrap();
        let (locking, lock) = chosen.lock(&me, 600, &random, negotiator::now()).unwrap();
        let granted = caller.shake(Kind::Lock, &lock).await;
        let session = locking.granted(&granted, negotiator::now()).unwrap();
        let answer = caller.decide(Some(&session.lock)).await;
        assert_eq!(answer["l9"]["performative"], "AGREE", "{answer}");
        let answer = caller.decide(Some("not-a-lock")).await;
        assert_eq!(answer["code"], "lock_mismatch", "{answer}");
        let answer = caller.decide(None).await;
        assert_eq!(answer["l9"]["performative"], "AGREE", "the route asks for no lock: {answer}");
    });
}
