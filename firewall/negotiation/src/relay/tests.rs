//! Two agents with a gateway between them.

mod attacks;

use super::*;
use crate::initiator::{HelloSent, LockSent};
use crate::payloads::Payload;
use crate::seal::PeerKey;
use crate::tests::*;
use crate::*;
use semgate_statement::jws::Compact;
use std::sync::Arc;

const G: &str = "spiffe://semgate.test/gateway";
const OTHER: &str = "spiffe://semgate.test/other-gateway";
const ALL: [&str; 3] = ["payment:v1.0", "payment:v1.1", "payment:v2.0"];

struct Stage {
    world: World,
    a: Identity,
    relay: Relay,
    gateway: Sessions,
    agent: Endpoint,
    own: Sessions,
    now: u64,
    /// The versions that the gateway and the upstream agent speak.
    here: ResponderConfig,
    agent_config: ResponderConfig,
}

fn sessions(byte: u8) -> Sessions {
    Sessions::new(LockKeys::new(vec![FleetSecret::new(&[byte; 32]).unwrap()]))
}

fn stage() -> Stage {
    let world = World::new();
    let relay = Relay::new(world.server(G), spiffe(B)).unwrap();
    let agent = Endpoint::new(world.agent(B)).with_gateways(vec![spiffe(G)]);
    let (here, agent_config) = (answering(&ALL), answering(&ALL));
    let a = world.agent(A);
    Stage { a, relay, gateway: sessions(7), agent, own: sessions(8), now: NOW, here, agent_config, world }
}

fn code<T: std::fmt::Debug>(outcome: Result<T, HandshakeFault>) -> (HandshakeFault, &'static str) {
    let fault = outcome.unwrap_err();
    (fault, fault.code())
}

impl Stage {
    fn request<'a>(
        &'a self,
        peer: &'a SpiffeId,
        sessions: &'a Sessions,
        answering: &'a ResponderConfig,
    ) -> HandshakeRequest<'a> {
        HandshakeRequest {
            peer,
            route: "orders",
            answering,
            trust: self.world.trust(),
            sessions,
            context: CONTEXT,
            random: &self.world.random,
            now: self.now,
        }
    }

    /// At the gateway.
    fn at(&self) -> HandshakeRequest<'_> {
        self.request(self.a.id(), &self.gateway, &self.here)
    }

    fn appoint(&self) -> Arc<Appointed> {
        let random = &self.world.random;
        let question = self.relay.key_question(&self.gateway, random, NOW).unwrap().unwrap();
        let answer = self.agent.appoint(&question, &self.world.trust(), &self.own, random, NOW).unwrap();
        self.relay.take_appointment(&answer, &self.gateway, &self.world.trust(), NOW).unwrap()
    }

    /// The key that a caller takes from what the gateway hands out.
    fn stated(&self, appointed: &Appointed) -> PeerKey {
        let text = appointed.statement();
        let json = crate::member::read(text, 1 << 16).unwrap();
        let members = crate::member::Members::of(&json, "key", &["jws", "x5c"], &[]).unwrap();
        PeerKey::stated(&crate::wire::signed(&members).unwrap(), &self.world.trust(), NOW).unwrap()
    }

    fn say(&self, kind: Kind, carried: &Carried) -> Vec<u8> {
        let parties = (self.a.id(), self.agent.id());
        write_message(kind, carried, Performative::Request, parties, CONTEXT, "m-1").unwrap()
    }

    fn greet(&self, offers: &[&str], seal_to: Option<PeerKey>) -> (HelloSent, Vec<u8>) {
        let open = InitiatorConfig { seal_to, ..opening(offers) };
        let (greeted, hello) = HelloSent::hello(open, &self.a, &self.world.random, NOW).unwrap();
        (greeted, self.say(Kind::Hello, &hello))
    }

    fn greeting(&self, body: &[u8]) -> Result<Box<RelayedHello>, HandshakeFault> {
        match self.relay.receive(body, &self.at())? {
            RelayedMessage::Hello(greeting) => Ok(greeting),
            RelayedMessage::Lock(_) => panic!("a lock"),
        }
    }

    /// HELLO as far as the upstream agent: what awaits the SELECT at the gateway, and the bytes that the agent gets.
    fn passed(
        &self,
        hello: &[u8],
        appointed: Option<&Appointed>,
    ) -> Result<(AwaitingSelect, Vec<u8>), HandshakeFault> {
        let (passing, resealed) = self.relay.pass_hello(self.greeting(hello)?, appointed, &self.at())?;
        Ok((passing, resealed.unwrap_or_else(|| hello.to_vec())))
    }

    fn answer_of_agent(&self, body: &[u8]) -> Result<HandshakeReply, HandshakeFault> {
        self.agent.answer(body, &self.request(self.a.id(), &self.own, &self.agent_config))
    }

    fn carried(body: &[u8]) -> Carried {
        read_message(body, CONTEXT).unwrap().carried
    }

    /// HELLO and SELECT through the gateway, and the LOCK that the caller says.
    fn locking(&self, sealed: bool) -> (LockSent, Vec<u8>) {
        self.locking_of(&ALL, sealed)
    }

    fn locking_of(&self, offers: &[&str], sealed: bool) -> (LockSent, Vec<u8>) {
        let appointed = self.appoint();
        let (greeted, hello) = self.greet(offers, sealed.then(|| self.stated(&appointed)));
        let (passing, onward) = self.passed(&hello, Some(&appointed)).unwrap();
        let select = self.answer_of_agent(&onward).unwrap().body;
        let back = self.relay.select(passing, &select, &self.at()).unwrap();
        let chosen = greeted.select(&Stage::carried(&back.body), &self.world.trust(), NOW).unwrap();
        let (closing, lock) = chosen.lock(&self.a, 3_600, &self.world.random, NOW).unwrap();
        (closing, self.say(Kind::Lock, &lock))
    }

    /// A SELECT of the upstream agent, sealed or not, changed and signed again by `by`.
    fn select_by(&self, by: &Identity, hello: &Digest, change: impl Fn(&mut Select)) -> Signed {
        let mut select = Select {
            nonce: [1; 16],
            from: spiffe(B),
            to: spiffe(A),
            issued_at: NOW,
            minimums: Vec::new(),
            choice: offer("payment:v2.0"),
            hello: *hello,
            hint: None,
        };
        change(&mut select);
        by.sign(&select, &self.world.random).unwrap()
    }

    /// A LOCK as far as the upstream agent, and whether the gateway takes it.
    fn taken(&self, lock: &[u8]) -> Result<Box<RelayedLock>, HandshakeFault> {
        match self.relay.receive(lock, &self.at())? {
            RelayedMessage::Lock(locking) => Ok(locking),
            RelayedMessage::Hello(_) => panic!("a hello"),
        }
    }

    fn answer(&self, select: Carried) -> Vec<u8> {
        let parties = (self.agent.id(), self.a.id());
        write_message(Kind::Select, &select, Performative::Agree, parties, CONTEXT, "m-2").unwrap()
    }
}

#[test]
fn f0_47_two_agents_agree_through_a_gateway_and_all_three_hold_one_session() {
    for sealed in [true, false] {
        let stage = stage();
        let (closing, lock) = stage.locking(sealed);
        let RelayedMessage::Lock(locking) = stage.relay.receive(&lock, &stage.at()).unwrap() else {
            panic!("a lock")
        };
        let theirs = stage.answer_of_agent(&lock).unwrap();
        let granted = stage.relay.granted(locking, &theirs.body, &stage.at()).unwrap();
        let session = closing.granted(&Stage::carried(&granted.body), NOW).unwrap();
        // the lock is the gateway's, about the session that the upstream agent computed by itself
        assert_eq!(session_of(&session.lock), theirs.session);
        let question = LockQuestion {
            lock: &session.lock,
            initiator: A,
            responder: B,
            route: "orders",
            authority: AUTHORITY,
            urn: &urn("payment:v2.0"),
            digest: &offer("payment:v2.0").digest,
            now: NOW,
        };
        assert_eq!(stage.gateway.locks.verify(&question).unwrap().expires_at(), NOW + 3_600);
        assert_eq!(stage.own.locks.verify(&question).unwrap_err(), LockFault::UnknownKey, "not the agent's");
    }
}

#[test]
fn f0_39_minimums_of_a_handshake_that_passed_bind_the_pair_at_the_gateway() {
    let mut stage = stage();
    stage.agent_config.minimums = vec![minimum("payment", "v1.1")];
    let (_, lock) = stage.locking(true);
    let RelayedMessage::Lock(locking) = stage.relay.receive(&lock, &stage.at()).unwrap() else {
        panic!("a lock")
    };
    assert!(stage.gateway.minimums.is_empty(), "nothing is learnt of what is not closed");
    let theirs = stage.answer_of_agent(&lock).unwrap();
    stage.relay.granted(locking, &theirs.body, &stage.at()).unwrap();
    let line = semgate_contexts::Line::parse("payment").unwrap();
    let floors = stage.gateway.minimums.floors(B, A, &line);
    assert!(floors.contains(&Some(semgate_contexts::Version::new(1, 1))), "{floors:?}");
}

#[test]
fn a_hello_without_anything_that_may_be_chosen_goes_no_further() {
    let mut stage = stage();
    let (_, hello) = stage.greet(&["travel:v2.1"], None);
    assert_eq!(code(stage.greeting(&hello).map(drop)).1, "context_unknown");
    stage.here.floors = vec![floor_of_authority("payment", "v2.0")];
    let (_, hello) = stage.greet(&["payment:v1.1"], None);
    assert_eq!(code(stage.greeting(&hello).map(drop)).1, "context_below_floor");
}

#[test]
fn only_a_gateway_of_its_own_is_appointed_and_for_itself() {
    let stage = stage();
    let (trust, random) = (stage.world.trust(), &stage.world.random);
    let appoint = |question: &[u8]| stage.agent.appoint(question, &trust, &stage.own, random, NOW).map(drop);
    let question = |relay: &Relay| relay.key_question(&stage.gateway, random, NOW).unwrap().unwrap();
    let foreign = Relay::new(stage.world.server(OTHER), spiffe(B)).unwrap();
    assert_eq!(code(appoint(&question(&foreign))), (HandshakeFault::UnknownGateway, "sender_mismatch"));
    let elsewhere = Relay::new(stage.world.server(G), spiffe(A)).unwrap();
    assert_eq!(code(appoint(&question(&elsewhere))), (HandshakeFault::ReceiverMismatch, "receiver_mismatch"));
    // several gateways of a fleet may ask in one second; later it is no question any more
    let question = question(&stage.relay);
    appoint(&question).unwrap();
    appoint(&question).unwrap();
    let late = stage.agent.appoint(&question, &trust, &stage.own, random, NOW + limits::WINDOW_SECONDS + 1);
    assert_eq!(code(late), (HandshakeFault::TooOld, "replayed"));
    // a statement about the SELECT of some HELLO is no question
    let key = SealingKey::generate(random).unwrap().point();
    let hello = Some(Digest::of(b"a hello"));
    let reply = GatewayKey { from: spiffe(G), to: spiffe(B), issued_at: NOW, key, hello };
    let reply = stage.relay.me.sign(&reply, random).unwrap();
    let refused = code(appoint(crate::endpoint::written(&reply).to_string().as_bytes()));
    assert_eq!(refused, (HandshakeFault::Member("hello"), "malformed"));
}

#[test]
fn the_gateway_takes_statements_of_the_agent_about_its_own_key_and_no_others() {
    let stage = stage();
    let (trust, random) = (stage.world.trust(), &stage.world.random);
    let taken = |body: &[u8]| stage.relay.take_appointment(body, &stage.gateway, &trust, NOW).map(drop);
    let ours = stage.gateway.locks.sealing_keys(&spiffe(B), NOW).remove(0);
    let other = SealingKey::generate(random).unwrap();
    let body = |by: &Identity, gateway: &SealingKey, agent: &SealingKey| {
        let state = |key: &SealingKey| crate::endpoint::written(&key.state(by, 3_600, random, NOW).unwrap());
        serde_json::json!({"gateway": state(gateway), "agent": state(agent)}).to_string().into_bytes()
    };
    let (b, g) = (stage.world.agent(B), stage.world.server(G));
    assert_eq!(code(taken(&body(&g, &ours, &other))), (HandshakeFault::SenderMismatch, "sender_mismatch"));
    assert_eq!(code(taken(&body(&b, &other, &other))).0, HandshakeFault::UnknownSealingKey);
    assert_eq!(code(taken(&body(&b, &ours, &ours))).0, HandshakeFault::UnknownSealingKey);
    assert!(stage.relay.current_appointment(&stage.gateway, NOW).is_none());
    taken(&body(&b, &ours, &other)).unwrap();
    assert!(stage.relay.current_appointment(&stage.gateway, NOW + limits::APPOINTED_SECONDS - 1).is_some());
    assert!(stage.relay.current_appointment(&stage.gateway, NOW + limits::APPOINTED_SECONDS).is_none());
    // a caller that makes the agent refuse does not make the gateway ask each time
    stage.relay.forget_appointment(NOW + limits::APPOINTED_AT_LEAST_SECONDS - 1);
    assert!(stage.relay.current_appointment(&stage.gateway, NOW).is_some());
    stage.relay.forget_appointment(NOW + limits::APPOINTED_AT_LEAST_SECONDS);
    assert!(stage.relay.current_appointment(&stage.gateway, NOW).is_none());
}
