//! The vectors of `docs/spec/snl.md`: one handshake with fixed keys and times, and messages that are refused.
//!
//! An ECDSA signature differs each time, so the file is verified, not made again. `SEMGATE_WRITE_VECTORS=1` writes a new one.

use crate::initiator::HelloSent;
use crate::limits::WINDOW_SECONDS;
use crate::payloads::{Hello, Lock, Payload, Select};
use crate::responder::{PendingLock, ReceivedHello, ReceivedLock};
use crate::tests::*;
use crate::*;
use semgate_certs::encoding::{from_base64url, to_base64url};
use semgate_certs::{
    Chain, ChainLimits, KeyPair, LeafProfile, PeerRoots, Roots, SecureRandom, TrustDomain, Usage,
};
use semgate_contexts::{Digest, Performative, Prefix, canonical, json};
use semgate_statement::SigningIdentity;
use semgate_statement::jws::Compact;
use serde_json::{Value, json};
use std::sync::Arc;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/handshake.json");
const ROUTE: &str = "orders";
const SECRET: [u8; 32] = [7; 32];
const SEED: [u8; 32] = [9; 32];

pub(crate) fn identity(signing: &SigningIdentity, world: &World) -> Identity {
    let signing = SigningIdentity::new(Arc::clone(&signing.key), signing.chain.clone());
    Identity::new(signing, &world.trust(), &world.random, NOW).unwrap()
}

pub(crate) fn party(id: &str, signing: &SigningIdentity) -> Value {
    json!({"id": id, "key": signing.key.pem().unwrap(), "x5c": signing.chain.to_x5c()})
}

pub(crate) fn message(
    kind: Kind,
    carried: &Carried,
    from: &str,
    to: &str,
    performative: Performative,
) -> Value {
    let parties = (&spiffe(from), &spiffe(to));
    let bytes = write_message(kind, carried, performative, parties, CONTEXT, "m-1").unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

fn payload(carried: &Carried) -> Value {
    let Carried::Signed(signed) = carried else { panic!("signed") };
    let payload = signed.jws.split('.').nth(1).unwrap();
    serde_json::from_slice(&from_base64url(payload).unwrap()).unwrap()
}

/// Another payload, signed by this identity.
fn signed(typ: &str, payload: &Value, by: &SigningIdentity, random: &dyn SecureRandom) -> Carried {
    let jws = Compact::sign(&canonical::jcs(payload).unwrap(), typ, by, random).unwrap();
    Carried::Signed(Signed { jws, x5c: by.chain.to_x5c() })
}

struct Made {
    world: World,
    a: SigningIdentity,
    b: SigningIdentity,
    stranger: SigningIdentity,
    hello: Carried,
    select: Carried,
    lock: Carried,
}

fn configs() -> (InitiatorConfig, ResponderConfig) {
    let mut open = opening(&["payment:v1.0", "payment:v1.1", "payment:v2.0"]);
    open.contexts[1] = with_features("payment:v1.1", &["batch", "iban"]);
    open.minimums = vec![minimum("payment", "v1.1")];
    let mut ours = answering(&["payment:v1.0", "payment:v1.1"]);
    ours.contexts[1].offer.features = Features::sorted(["iban", "split"]).unwrap();
    ours.hint = Some("https://authority.test/payment".to_owned());
    (open, ours)
}

fn make() -> Value {
    let world = World::new();
    let leaf = |id: &str| {
        let profile = LeafProfile::agent(spiffe(id), NOW - 3_600).lifetime(90 * 86_400);
        world.signing(&profile)
    };
    let (a, b) = (leaf(A), leaf(B));
    let stranger = leaf("spiffe://semgate.test/agent/stranger");
    let (me, them) = (identity(&a, &world), identity(&b, &world));
    let (open, ours) = configs();
    let (greeted, hello) = HelloSent::hello(open, &me, &world.random, NOW).unwrap();
    let between = HandshakeParties { peer: me.id(), me: them.id(), gateways: &[] };
    let replay = ReplayMemory::new();
    let received = ReceivedHello::hello(&hello, &between, &[], &world.trust(), &replay, NOW).unwrap();
    let (waiting, select) = received.select(&ours, &them, &world.random, NOW + 1).unwrap();
    let chosen = greeted.select(&select, &world.trust(), NOW + 1).unwrap();
    let (closing, lock) = chosen.lock(&me, 3_600, &world.random, NOW + 2).unwrap();
    let received = ReceivedLock::lock(&lock, &between, &world.trust(), &replay, NOW + 2).unwrap();
    let agreement = waiting.lock(&received, NOW + 2).unwrap();
    let keys = LockKeys::new(vec![FleetSecret::new(&SECRET).unwrap()]);
    let granted = keys.grant(&agreement, ROUTE, AUTHORITY, NOW + 2).unwrap();
    let session = closing.granted(&Carried::Granted(granted.clone()), NOW + 2).unwrap();
    let key = SealingKey::derive(&SEED);
    let stated = key.state(&them, 86_400, &world.random, NOW).unwrap();
    let peer_key = PeerKey::stated(&stated, &world.trust(), NOW).unwrap();
    let sealed_open = InitiatorConfig { seal_to: Some(peer_key), ..configs().0 };
    let (_, sealed) = HelloSent::hello(sealed_open, &me, &world.random, NOW).unwrap();
    let mut file = json!({
        "now": NOW, "roots": world.root_pem, "trust_domain": "semgate.test", "context": CONTEXT,
        "initiator": party(A, &a), "responder": party(B, &b),
        "hello": {"payload": payload(&hello), "message": message(Kind::Hello, &hello, A, B, Performative::Request)},
        "select": {"payload": payload(&select), "message": message(Kind::Select, &select, B, A, Performative::Agree)},
        "lock": {"payload": payload(&lock), "message": message(Kind::Lock, &lock, A, B, Performative::Request)},
        "granted": message(Kind::Lock, &Carried::Granted(granted.clone()), B, A, Performative::Agree),
        "transcript": session.transcript.to_string(),
        "session": to_base64url(agreement.session()),
        "fleet_secret": to_base64url(SECRET), "route": ROUTE, "authority": AUTHORITY,
        "sealed": {
            "seed": to_base64url(SEED), "key": key.id().to_string(),
            "statement": {"jws": stated.jws, "x5c": stated.x5c},
            "hello": message(Kind::Hello, &sealed, A, B, Performative::Request),
        },
    });
    let made = Made { world, a, b, stranger, hello, select, lock };
    file["refused"] = made.refused();
    file
}

impl Made {
    fn refused(&self) -> Value {
        let random = &self.world.random;
        let mut refused: Vec<Value> = Vec::new();
        let mut add = |name: &str, kind: Kind, carried: Carried, now: u64, code: &str| {
            let (from, to, performative) = match kind {
                Kind::Select => (B, A, Performative::Agree),
                _ => (A, B, Performative::Request),
            };
            let message = message(kind, &carried, from, to, performative);
            refused.push(json!({
                "name": name, "kind": kind.as_str(), "now": now, "message": message, "code": code,
            }));
        };
        let hello = |by: &SigningIdentity, change: &dyn Fn(&mut Value)| {
            let mut value = payload(&self.hello);
            change(&mut value);
            signed(Hello::TYP, &value, by, random)
        };
        let select = |by: &SigningIdentity, change: &dyn Fn(&mut Value)| {
            let mut value = payload(&self.select);
            change(&mut value);
            signed(Select::TYP, &value, by, random)
        };
        let lock = |by: &SigningIdentity, change: &dyn Fn(&mut Value)| {
            let mut value = payload(&self.lock);
            change(&mut value);
            signed(Lock::TYP, &value, by, random)
        };
        let other = Digest::of(b"another").to_string();
        let late = NOW + WINDOW_SECONDS + 2;
        let (a, b, stranger) = (&self.a, &self.b, &self.stranger);
        add("stripped on the way", Kind::Hello, self.stripped(), NOW, "lock_mismatch");
        add("signed by a stranger", Kind::Hello, hello(stranger, &|_| {}), NOW, "sender_mismatch");
        add(
            "another member",
            Kind::Hello,
            hello(a, &|h| h["url"] = "https://x.test".into()),
            NOW,
            "malformed",
        );
        add("for somebody else", Kind::Hello, hello(a, &|h| h["to"] = A.into()), NOW, "receiver_mismatch");
        add("too old", Kind::Hello, self.hello.clone(), late, "replayed");
        add("from the future", Kind::Hello, self.hello.clone(), NOW - 11, "replayed");
        add(
            "about another hello",
            Kind::Select,
            select(b, &|s| s["hello"] = other.as_str().into()),
            NOW,
            "lock_mismatch",
        );
        add("signed by a stranger", Kind::Select, select(stranger, &|_| {}), NOW, "sender_mismatch");
        add(
            "below the minimum",
            Kind::Select,
            select(b, &|s| {
                let v1 = payload(&self.hello)["contexts"][0].clone();
                s["choice"] = v1;
            }),
            NOW,
            "context_below_floor",
        );
        add(
            "a version that was not offered",
            Kind::Select,
            select(b, &|s| s["choice"]["urn"] = "urn:contexts:payment:v3.0".into()),
            NOW,
            "lock_mismatch",
        );
        add(
            "another document",
            Kind::Select,
            select(b, &|s| s["choice"]["digest"] = other.as_str().into()),
            NOW,
            "lock_mismatch",
        );
        add("too old", Kind::Select, self.select.clone(), late, "replayed");
        add("a hello in its place", Kind::Select, self.hello.clone(), NOW, "lock_mismatch");
        add(
            "about another hello",
            Kind::Lock,
            lock(a, &|l| l["hello"] = other.as_str().into()),
            NOW,
            "lock_mismatch",
        );
        add(
            "about another select",
            Kind::Lock,
            lock(a, &|l| l["select"] = other.as_str().into()),
            NOW,
            "lock_mismatch",
        );
        add("over already", Kind::Lock, lock(a, &|l| l["expires_at"] = NOW.into()), NOW, "lock_mismatch");
        Value::Array(refused)
    }

    /// The HELLO without its newest version, under the signature that it had.
    fn stripped(&self) -> Carried {
        let Carried::Signed(signed) = &self.hello else { panic!("signed") };
        let mut value = payload(&self.hello);
        value["contexts"].as_array_mut().unwrap().pop();
        let parts: Vec<&str> = signed.jws.split('.').collect();
        let middle = to_base64url(canonical::jcs(&value).unwrap());
        Carried::Signed(Signed {
            jws: format!("{}.{middle}.{}", parts[0], parts[2]),
            x5c: signed.x5c.clone(),
        })
    }
}

fn file() -> Value {
    if std::env::var_os("SEMGATE_WRITE_VECTORS").is_some() {
        std::fs::write(FILE, serde_json::to_string_pretty(&make()).unwrap() + "\n").unwrap();
    }
    serde_json::from_slice(&std::fs::read(FILE).expect("the vectors")).unwrap()
}

struct Read {
    file: Value,
    roots: PeerRoots,
    prefix: Prefix,
}

impl Read {
    fn new() -> Read {
        let file = file();
        let roots = Roots::from_pem(file["roots"].as_str().unwrap(), &ChainLimits::default()).unwrap();
        let domain = TrustDomain::parse(file["trust_domain"].as_str().unwrap()).unwrap();
        Read { file, roots: PeerRoots::new().with(domain, roots), prefix: Prefix::default() }
    }

    fn trust(&self) -> Trust<'_> {
        Trust { roots: &self.roots, prefix: &self.prefix }
    }

    fn carried(message: &Value) -> Carried {
        read_message(message.to_string().as_bytes(), CONTEXT).unwrap().carried
    }

    fn of(&self, name: &str) -> Carried {
        Read::carried(&self.file[name]["message"])
    }

    fn signed(&self, name: &str) -> Signed {
        let Carried::Signed(signed) = self.of(name) else { panic!("signed") };
        signed
    }

    /// The responder after its SELECT, as the file has it.
    fn waiting(&self) -> PendingLock {
        let (hello, select) = (self.signed("hello"), self.signed("select"));
        let usages = [Usage::Agent];
        PendingLock {
            hello: hello.verify::<Hello>(&self.trust(), &usages, NOW).unwrap(),
            hello_jws: hello.jws,
            select: select.verify::<Select>(&self.trust(), &usages, NOW + 1).unwrap().payload,
            select_jws: select.jws,
            not_after: NOW + 86_400,
        }
    }

    fn greeted(&self) -> HelloSent {
        let signed = self.signed("hello");
        let hello = signed.verify::<Hello>(&self.trust(), &[Usage::Agent], NOW).unwrap().payload;
        HelloSent { hello, signed, key: None }
    }

    fn judge(&self, kind: Kind, carried: &Carried, now: u64) -> Result<(), HandshakeFault> {
        let (a, b) = (spiffe(A), spiffe(B));
        let between = HandshakeParties { peer: &a, me: &b, gateways: &[] };
        let replay = ReplayMemory::new();
        match kind {
            Kind::Hello => {
                ReceivedHello::hello(carried, &between, &[], &self.trust(), &replay, now).map(drop)
            }
            Kind::Select => self.greeted().select(carried, &self.trust(), now).map(drop),
            Kind::Lock => {
                let received = ReceivedLock::lock(carried, &between, &self.trust(), &replay, now)?;
                self.waiting().lock(&received, now).map(drop)
            }
        }
    }
}

#[test]
fn the_handshake_of_the_vectors_verifies_and_gives_its_lock() {
    let read = Read::new();
    for name in ["hello", "select", "lock"] {
        assert_eq!(payload(&read.of(name)), read.file[name]["payload"], "{name}");
        let kind = Kind::parse(&name.to_uppercase()).unwrap();
        assert_eq!(read.judge(kind, &read.of(name), NOW + 2), Ok(()), "{name}");
    }
    let (a, b) = (spiffe(A), spiffe(B));
    let between = HandshakeParties { peer: &a, me: &b, gateways: &[] };
    let received =
        ReceivedLock::lock(&read.of("lock"), &between, &read.trust(), &ReplayMemory::new(), NOW + 2);
    let agreement = read.waiting().lock(&received.unwrap(), NOW + 2).unwrap();
    assert_eq!(read.file["transcript"], agreement.transcript().to_string());
    assert_eq!(read.file["session"], to_base64url(agreement.session()));
    let keys = LockKeys::new(vec![FleetSecret::new(&SECRET).unwrap()]);
    let granted = keys.grant(&agreement, ROUTE, AUTHORITY, NOW + 2).unwrap();
    assert_eq!(Read::carried(&read.file["granted"]), Carried::Granted(granted));
}

#[test]
fn every_message_of_the_vectors_that_is_to_be_refused_is_refused_for_its_reason() {
    let read = Read::new();
    let refused = read.file["refused"].as_array().unwrap();
    assert!(refused.len() >= 16);
    for case in refused {
        let kind = Kind::parse(case["kind"].as_str().unwrap()).unwrap();
        let now = case["now"].as_u64().unwrap();
        let fault = read.judge(kind, &Read::carried(&case["message"]), now).unwrap_err();
        assert_eq!(case["code"], fault.code(), "{kind:?} {}: {fault}", case["name"]);
    }
}

#[test]
fn the_sealed_hello_of_the_vectors_opens() {
    let read = Read::new();
    let key = SealingKey::derive(&SEED);
    let sealed = &read.file["sealed"];
    assert_eq!(sealed["key"], key.id().to_string());
    let text = sealed["statement"].to_string();
    let json = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
    let members = crate::member::Members::of(&json, "key", &["jws", "x5c"], &[]).unwrap();
    let stated = crate::wire::signed(&members).unwrap();
    let stated = PeerKey::stated(&stated, &read.trust(), NOW).unwrap();
    assert_eq!(stated.agent().as_str(), B);
    let (a, b) = (spiffe(A), spiffe(B));
    let between = HandshakeParties { peer: &a, me: &b, gateways: &[] };
    let hello = Read::carried(&sealed["hello"]);
    ReceivedHello::hello(&hello, &between, &[key], &read.trust(), &ReplayMemory::new(), NOW).unwrap();
}

#[test]
fn the_keys_of_the_vectors_belong_to_their_certificates() {
    let read = Read::new();
    let random = ring::rand::SystemRandom::new();
    for party in ["initiator", "responder"] {
        let party = &read.file[party];
        let key = KeyPair::from_pem(party["key"].as_str().unwrap(), &random).unwrap();
        let x5c = party["x5c"].as_array().unwrap().iter().map(|c| c.as_str().unwrap());
        let chain = Chain::from_x5c(x5c, &ChainLimits::default()).unwrap();
        let me = Identity::new(SigningIdentity::new(key, chain), &read.trust(), &random, NOW).unwrap();
        assert_eq!(party["id"], me.id().as_str());
    }
}
