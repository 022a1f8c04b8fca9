//! The vectors of "A gateway between two agents" in `docs/spec/snl.md`: one sealed HELLO and its SELECT on both sides of a gateway, with fixed keys and
//! times, and what the upstream agent refuses. As with the other vectors, `SEMGATE_WRITE_VECTORS=1` writes a new file.

use super::*;
use crate::endpoint::written;
use crate::initiator::HelloSent;
use crate::seal::{PeerKey, SealingKey};
use crate::tests::*;
use crate::vector_tests::{identity, message, party};
use crate::*;
use semgate_certs::{ChainLimits, LeafProfile, PeerRoots, Roots, TrustDomain};
use semgate_contexts::Prefix;
use serde_json::{Value, json};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/gateway.json");
const G: &str = "spiffe://semgate.test/gateway";
/// Seeds of the keys: the gateway's for this agent, the agent's own, and those drawn for the handshake by caller and gateway.
const SEEDS: [(&str, u8); 4] = [("gateway", 21), ("agent", 22), ("caller", 23), ("reply", 24)];

fn key(name: &str) -> SealingKey {
    let (_, byte) = SEEDS.into_iter().find(|(known, _)| *known == name).unwrap();
    SealingKey::derive(&[byte; 32])
}

fn peer_key(id: &str, name: &str) -> PeerKey {
    PeerKey::of_point(spiffe(id), key(name).point()).unwrap()
}

fn make() -> Value {
    let world = World::new();
    let random = &world.random;
    let lifetime = 90 * 86_400;
    let leaf = |id: &str| world.signing(&LeafProfile::agent(spiffe(id), NOW - 3_600).lifetime(lifetime));
    let (a, b) = (leaf(A), leaf(B));
    let stranger = identity(&leaf("spiffe://semgate.test/agent/stranger"), &world);
    let profile = LeafProfile::server(Some(spiffe(G)), vec![], vec![], NOW - 3_600).lifetime(lifetime);
    let g = world.signing(&profile);
    let (me, them, gateway) = (identity(&a, &world), identity(&b, &world), identity(&g, &world));
    let (_, hello) = HelloSent::hello(opening(&["payment:v1.1"]), &me, random, NOW).unwrap();
    let Carried::Signed(open) = &hello else { panic!("signed") };
    // the HELLO of a caller whose key for the SELECT is known
    let parsed = open.verify::<Hello>(&world.trust(), &[Usage::Agent], NOW).unwrap().payload;
    let hello = me.sign(&Hello { key: Some(key("caller").point()), ..parsed }, random).unwrap();
    let select = Select {
        nonce: [5; 16],
        from: spiffe(B),
        to: spiffe(A),
        issued_at: NOW + 1,
        minimums: Vec::new(),
        choice: offer("payment:v1.1"),
        hello: hello.digest(),
        hint: None,
    };
    let select = them.sign(&select, random).unwrap();
    let stated = |by: &Identity, name: &str, about: Option<Digest>, to: &str| {
        let key = key(name).point();
        let gateway_key =
            GatewayKey { from: by.id().clone(), to: spiffe(to), issued_at: NOW, key, hello: about };
        by.sign(&gateway_key, random).unwrap()
    };
    let sealed = |kind: Kind, to: &str, name: &str, signed: &Signed, reply: Option<&Signed>| {
        let sealed = peer_key(to, name).seal(kind, signed, reply, random).unwrap();
        let (from, to, performative) = match kind {
            Kind::Select => (B, A, Performative::Agree),
            _ => (A, B, Performative::Request),
        };
        message(kind, &Carried::Sealed(sealed), from, to, performative)
    };
    let passed = |reply: &Signed| sealed(Kind::Hello, B, "agent", &hello, Some(reply));
    let about = Some(hello.digest());
    let refused = |name: &str, reply: &Signed, code: &str| json!({"name": name, "message": passed(reply), "code": code});
    let state = |name: &str| written(&key(name).state(&them, 86_400, random, NOW).unwrap());
    json!({
        "now": NOW, "roots": world.root_pem, "trust_domain": "semgate.test", "context": CONTEXT,
        "initiator": party(A, &a), "responder": party(B, &b), "gateway": party(G, &g),
        "seeds": SEEDS.iter().map(|(name, byte)| ((*name).to_owned(), to_base64url([*byte; 32]).into())).collect::<serde_json::Map<_, _>>(),
        "question": written(&stated(&gateway, "gateway", None, B)),
        "answer": {"gateway": state("gateway"), "agent": state("agent")},
        "hello": {"from_caller": sealed(Kind::Hello, B, "gateway", &hello, None), "to_agent": passed(&stated(&gateway, "reply", about, B))},
        "select": {"from_agent": sealed(Kind::Select, G, "reply", &select, None), "to_caller": sealed(Kind::Select, A, "caller", &select, None)},
        "refused": [
            refused("signed by a stranger", &stated(&stranger, "reply", about, B), "sender_mismatch"),
            refused("about another hello", &stated(&gateway, "reply", Some(Digest::of(b"another")), B), "lock_mismatch"),
            refused("about no hello", &stated(&gateway, "reply", None, B), "lock_mismatch"),
            refused("to another agent", &stated(&gateway, "reply", about, A), "receiver_mismatch"),
            refused("a key statement in its place", &key("reply").state(&gateway, 60, random, NOW).unwrap(), "lock_mismatch"),
        ],
    })
}

struct Read {
    file: Value,
    roots: PeerRoots,
    prefix: Prefix,
}

impl Read {
    fn new() -> Self {
        if std::env::var_os("SEMGATE_WRITE_VECTORS").is_some() {
            std::fs::write(FILE, serde_json::to_string_pretty(&make()).unwrap() + "\n").unwrap();
        }
        let file: Value = serde_json::from_slice(&std::fs::read(FILE).expect("the vectors")).unwrap();
        let roots = Roots::from_pem(file["roots"].as_str().unwrap(), &ChainLimits::default()).unwrap();
        let domain = TrustDomain::parse(file["trust_domain"].as_str().unwrap()).unwrap();
        Self { file, roots: PeerRoots::new().with(domain, roots), prefix: Prefix::default() }
    }

    fn trust(&self) -> Trust<'_> {
        Trust { roots: &self.roots, prefix: &self.prefix }
    }

    /// As the upstream agent, or, with the gateway's key and no gateway before it, as the gateway.
    fn receive_hello(
        &self,
        message: &Value,
        name: &str,
        gateways: &[SpiffeId],
    ) -> Result<ReceivedHello, HandshakeFault> {
        let carried = read_message(message.to_string().as_bytes(), CONTEXT).unwrap().carried;
        let (peer, me) = (&spiffe(A), &spiffe(B));
        let between = HandshakeParties { peer, me, gateways };
        ReceivedHello::hello(&carried, &between, &[key(name)], &self.trust(), &ReplayMemory::new(), NOW + 1)
    }

    fn opened(&self, message: &Value, name: &str) -> Signed {
        let carried = read_message(message.to_string().as_bytes(), CONTEXT).unwrap().carried;
        let Carried::Sealed(sealed) = carried else { panic!("sealed") };
        key(name).open(Kind::Select, &sealed).unwrap().signed
    }
}

#[test]
fn a_hello_and_a_select_of_the_vectors_are_the_same_on_both_sides_of_the_gateway() {
    let read = Read::new();
    let (hello, select) = (&read.file["hello"], &read.file["select"]);
    let at_gateway = read.receive_hello(&hello["from_caller"], "gateway", &[]).unwrap();
    let received = read.receive_hello(&hello["to_agent"], "agent", &[spiffe(G)]).unwrap();
    assert_eq!(at_gateway.signed, received.signed, "the signed HELLO is not touched");
    let from_agent = read.opened(&select["from_agent"], "reply");
    assert_eq!(from_agent, read.opened(&select["to_caller"], "caller"), "nor is the signed SELECT");
    let verified = from_agent.verify::<Select>(&read.trust(), &[Usage::Agent], NOW + 1).unwrap();
    let hello = &received.hello;
    answers_offer(&verified.payload, &hello.payload, &hello.digest, Floors::default()).unwrap();
}

#[test]
fn the_keys_of_the_vectors_are_asked_for_and_stated() {
    let read = Read::new();
    let signed = |value: &Value| {
        let text = value.to_string();
        let json = crate::member::read(text.as_bytes(), 1 << 16).unwrap();
        crate::wire::signed(&crate::member::Members::of(&json, "key", &["jws", "x5c"], &[]).unwrap()).unwrap()
    };
    let me = spiffe(B);
    let between = HandshakeParties { peer: &me, me: &me, gateways: &[spiffe(G)] };
    let question = between.gateway_key(&signed(&read.file["question"]), &read.trust(), NOW).unwrap().payload;
    assert_eq!((question.key, question.hello), (key("gateway").point(), None));
    for name in ["gateway", "agent"] {
        let stated = PeerKey::stated(&signed(&read.file["answer"][name]), &read.trust(), NOW).unwrap();
        assert_eq!((stated.agent(), stated.id()), (&me, key(name).id()), "{name}");
    }
}

#[test]
fn every_key_to_answer_to_of_the_vectors_that_is_to_be_refused_is_refused_for_its_reason() {
    let read = Read::new();
    let refused = read.file["refused"].as_array().unwrap();
    assert!(refused.len() >= 5);
    for case in refused {
        let fault = read.receive_hello(&case["message"], "agent", &[spiffe(G)]).unwrap_err();
        assert_eq!(case["code"], fault.code(), "{}: {fault}", case["name"]);
    }
    // and no caller names one, whoever signed it
    let to_agent = &read.file["hello"]["to_agent"];
    let fault = read.receive_hello(to_agent, "agent", &[]).unwrap_err();
    assert_eq!(fault, HandshakeFault::UnknownGateway);
}
