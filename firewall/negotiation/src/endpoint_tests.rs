use super::*;
use crate::initiator::HelloSent;
use crate::limits::{MAX_WAITING_OF_ONE, WINDOW_SECONDS};
use crate::tests::*;
use crate::{FleetSecret, LockFault, LockKeys, LockQuestion, Session, write_message};
use proptest::prelude::*;
use semgate_certs::Issuer;
use semgate_contexts::json;
use std::sync::Arc;

struct Stage {
    world: World,
    a: Identity,
    endpoint: Endpoint,
    sessions: Sessions,
    answering: ResponderConfig,
}

fn stage() -> Stage {
    let world = World::new();
    let mut answering = answering(&["payment:v1.1", "payment:v2.0"]);
    answering.minimums = vec![minimum("payment", "v1.1")];
    let sessions = Sessions::new(LockKeys::new(vec![FleetSecret::new(&[7; 32]).unwrap()]));
    Stage { a: world.agent(A), endpoint: Endpoint::new(world.agent(B)), world, sessions, answering }
}

impl Stage {
    fn ask(
        &self,
        body: &[u8],
        answering: &ResponderConfig,
        now: u64,
    ) -> Result<HandshakeReply, HandshakeFault> {
        let request = HandshakeRequest {
            peer: self.a.id(),
            route: "orders",
            answering,
            trust: self.world.trust(),
            sessions: &self.sessions,
            context: CONTEXT,
            random: &self.world.random,
            now,
        };
        self.endpoint.answer(body, &request)
    }

    fn say(&self, kind: Kind, carried: &Carried) -> Vec<u8> {
        let parties = (self.a.id(), self.endpoint.id());
        write_message(kind, carried, Performative::Request, parties, CONTEXT, "m-1").unwrap()
    }

    fn greet(&self) -> (HelloSent, Vec<u8>) {
        let open = opening(&["payment:v1.0", "payment:v1.1", "payment:v2.0"]);
        let (greeted, hello) = HelloSent::hello(open, &self.a, &self.world.random, NOW).unwrap();
        (greeted, self.say(Kind::Hello, &hello))
    }

    /// A LOCK that closes a handshake with this endpoint.
    fn close(&self) -> (crate::initiator::LockSent, Vec<u8>) {
        let (greeted, hello) = self.greet();
        let answered = self.ask(&hello, &self.answering, NOW).unwrap();
        let select = read_message(&answered.body, CONTEXT).unwrap();
        let chosen = greeted.select(&select.carried, &self.world.trust(), NOW).unwrap();
        let (closing, lock) = chosen.lock(&self.a, 3_600, &self.world.random, NOW).unwrap();
        (closing, self.say(Kind::Lock, &lock))
    }

    fn session(&self) -> Session {
        let (closing, lock) = self.close();
        let answered = self.ask(&lock, &self.answering, NOW).unwrap();
        let granted = read_message(&answered.body, CONTEXT).unwrap();
        closing.granted(&granted.carried, NOW).unwrap()
    }

    fn held(&self, session: &Session, now: u64) -> Result<(), LockFault> {
        let question = LockQuestion {
            lock: &session.lock,
            initiator: A,
            responder: B,
            route: "orders",
            authority: AUTHORITY,
            urn: &session.choice.urn,
            digest: &session.choice.digest,
            now,
        };
        self.sessions.locks.verify(&question).map(drop)
    }
}

#[test]
fn a_handshake_by_bytes_ends_with_a_lock_that_holds() {
    let stage = stage();
    let session = stage.session();
    assert_eq!(session.choice.urn, urn("payment:v2.0"));
    assert_eq!(stage.held(&session, NOW), Ok(()));
    let payment = semgate_contexts::Line::parse("payment").unwrap();
    let floors = stage.sessions.minimums.floors(B, A, &payment);
    assert_eq!(
        floors,
        [None, Some(semgate_contexts::Version::new(1, 1))],
        "learnt for unlocked messages too"
    );
}

#[test]
fn what_is_said_fits_the_schemas_of_the_control_vocabulary() {
    let (_, document) =
        semgate_contexts::library::all().iter().find(|(name, _)| *name == "snl-v1.0").unwrap();
    let limits = semgate_contexts::DocumentLimits::default();
    let snl = semgate_contexts::Context::check(document, &semgate_contexts::Prefix::default(), &limits);
    let snl = snl.unwrap_or_else(|fault| panic!("{fault}"));
    let stage = stage();
    let (greeted, hello) = stage.greet();
    let select = stage.ask(&hello, &stage.answering, NOW).unwrap().body;
    let chosen = greeted.select(&read_message(&select, CONTEXT).unwrap().carried, &stage.world.trust(), NOW);
    let (_, lock) = chosen.unwrap().lock(&stage.a, 60, &stage.world.random, NOW).unwrap();
    let lock = stage.say(Kind::Lock, &lock);
    let granted = stage.ask(&lock, &stage.answering, NOW).unwrap().body;
    let sealing = stage.sessions.locks.sealing_keys(stage.endpoint.id(), NOW).remove(0);
    let key = crate::PeerKey::of_point(stage.endpoint.id().clone(), sealing.point()).unwrap();
    let open = crate::InitiatorConfig { seal_to: Some(key), ..opening(&["payment:v2.0"]) };
    let (_, sealed) = HelloSent::hello(open, &stage.a, &stage.world.random, NOW).unwrap();
    let sealed = stage.say(Kind::Hello, &sealed);
    let sealed_select = stage.ask(&sealed, &stage.answering, NOW).unwrap().body;
    for bytes in [hello, select, lock, granted, sealed, sealed_select] {
        let read = json::read(&bytes, &json::Limits::default()).unwrap();
        let content = read.as_object().unwrap().get("content").unwrap().as_object().unwrap();
        let name = content.get("concept_type").unwrap().as_str().unwrap();
        let performative: Performative =
            read.as_object().unwrap().get("performative").unwrap().as_str().unwrap().parse().unwrap();
        let side = snl.term(name).unwrap().side(performative).unwrap();
        assert_eq!(side.conform(content, Some("concept_type")), Ok(()), "{name}");
    }
}

#[test]
fn a_replayed_lock_is_refused_here_and_closes_nothing_elsewhere() {
    let stage = stage();
    let (_, lock) = stage.close();
    stage.ask(&lock, &stage.answering, NOW).unwrap();
    let refused = stage.ask(&lock, &stage.answering, NOW + 1).unwrap_err();
    assert_eq!((refused, refused.code()), (HandshakeFault::Replayed, "replayed"));
    let refused = stage.ask(&lock, &stage.answering, NOW + WINDOW_SECONDS + 1).unwrap_err();
    assert_eq!(refused, HandshakeFault::TooOld);
    // another gateway of the fleet answers as the same agent and never said that SELECT
    let elsewhere = Endpoint::new(stage.world.agent(B));
    let request = HandshakeRequest {
        peer: stage.a.id(),
        route: "orders",
        answering: &stage.answering,
        trust: stage.world.trust(),
        sessions: &stage.sessions,
        context: CONTEXT,
        random: &stage.world.random,
        now: NOW,
    };
    let refused = elsewhere.answer(&lock, &request).unwrap_err();
    assert_eq!((refused, refused.code()), (HandshakeFault::NotOpen, "lock_mismatch"));
}

#[test]
fn what_no_longer_counts_between_select_and_lock_is_not_locked() {
    let stage = stage();
    let (_, lock) = stage.close();
    let refused = stage.ask(&lock, &answering(&["payment:v1.1"]), NOW).unwrap_err();
    assert_eq!(refused, HandshakeFault::NotOffered);
}

/// A handshake that B opens with A, in whose place the same gateway answers: B states this.
fn stated_on_the_way_back(stage: &Stage, minimums: Vec<crate::Minimum>, now: u64) {
    let (back, b) = (Endpoint::new(stage.world.agent(A)).standing_in(), stage.world.agent(B));
    let (answering, trust) = (answering(&["travel:v2.1"]), stage.world.trust());
    let sessions = &stage.sessions;
    let (random, peer) = (&stage.world.random, b.id());
    let request = HandshakeRequest {
        peer,
        route: "back",
        answering: &answering,
        trust,
        sessions,
        context: CONTEXT,
        random,
        now,
    };
    let say = |kind, carried: &Carried| {
        write_message(kind, carried, Performative::Request, (b.id(), back.id()), CONTEXT, "m-1").unwrap()
    };
    let open = crate::InitiatorConfig { to: spiffe(A), minimums, ..opening(&["travel:v2.1"]) };
    let (greeted, hello) = HelloSent::hello(open, &b, random, now).unwrap();
    let select = back.answer(&say(Kind::Hello, &hello), &request).unwrap().body;
    let chosen = greeted.select(&read_message(&select, CONTEXT).unwrap().carried, &trust, now).unwrap();
    let (_, lock) = chosen.lock(&b, 60, random, now).unwrap();
    back.answer(&say(Kind::Lock, &lock), &request).unwrap();
}

#[test]
fn f0_39_attack_a_lock_that_is_held_back_erases_what_the_other_stated_since() {
    let stage = stage();
    let endpoint = Endpoint::new(stage.world.agent(B)).standing_in();
    let spoken = answering(&["payment:v2.0", "travel:v2.1"]);
    let stage = Stage { endpoint, answering: spoken, ..stage };
    let (_, held_back) = stage.close();
    let open = opening(&["travel:v2.1"]);
    let (greeted, hello) = HelloSent::hello(open, &stage.a, &stage.world.random, NOW).unwrap();
    let select = stage.ask(&stage.say(Kind::Hello, &hello), &stage.answering, NOW).unwrap().body;
    let select = read_message(&select, CONTEXT).unwrap().carried;
    let chosen = greeted.select(&select, &stage.world.trust(), NOW).unwrap();
    let (_, elsewhere) = chosen.lock(&stage.a, 60, &stage.world.random, NOW).unwrap();
    stated_on_the_way_back(&stage, vec![minimum("payment", "v3.0")], NOW + 1);
    let three = semgate_contexts::Version::new(3, 0);
    let payment = semgate_contexts::Line::parse("payment").unwrap();
    let floors = || stage.sessions.minimums.floors(A, B, &payment);
    assert_eq!(floors(), [None, Some(three)]);
    let refused = stage.ask(&held_back, &stage.answering, NOW + 2).unwrap_err();
    assert_eq!(
        (refused, refused.code()),
        (HandshakeFault::BelowMinimum { floor: three }, "context_below_floor")
    );
    assert_eq!(floors(), [None, Some(three)]);
    // one that chose something else is granted, and takes nothing back
    stage.ask(&stage.say(Kind::Lock, &elsewhere), &stage.answering, NOW + 2).unwrap();
    assert_eq!(floors(), [None, Some(three)]);
    // what B itself states next does
    stated_on_the_way_back(&stage, Vec::new(), NOW + 3);
    assert_eq!(floors(), [None; 2]);
}

#[test]
fn a_floor_that_rises_between_select_and_lock_was_not_asked() {
    let stage = stage();
    let (_, lock) = stage.close();
    let mut now = answering(&["payment:v1.1", "payment:v2.0"]);
    now.floors = vec![floor_of_authority("payment", "v2.1")];
    let refused = stage.ask(&lock, &now, NOW).unwrap_err();
    let floor = semgate_contexts::Version::new(2, 1);
    assert_eq!((refused, refused.code()), (HandshakeFault::BelowMinimum { floor }, "context_below_floor"));
    assert!(stage.sessions.minimums.is_empty());
}

#[test]
fn attack_a_hello_or_lock_is_taken_again_once_the_keys_were_read_again() {
    let stage = stage();
    let (_, hello) = stage.greet();
    stage.ask(&hello, &stage.answering, NOW).unwrap();
    let (_, lock) = stage.close();
    stage.ask(&lock, &stage.answering, NOW).unwrap();
    let endpoint = Endpoint::new(stage.world.agent(B)).continuing(&stage.endpoint);
    let stage = Stage { endpoint, ..stage };
    for again in [hello, lock] {
        let refused = stage.ask(&again, &stage.answering, NOW + 1).unwrap_err();
        assert_eq!((refused, refused.code()), (HandshakeFault::Replayed, "replayed"));
    }
    // what another agent took is its own
    let other = Endpoint::new(stage.world.agent(A)).continuing(&stage.endpoint);
    assert!(!Arc::ptr_eq(&other.memory, &stage.endpoint.memory));
}

#[test]
fn a_lock_of_another_agent_leaves_a_handshake_open() {
    let stage = stage();
    let (_, lock) = stage.close();
    let (select, hello) = { stage.endpoint.waiting.only() };
    let stranger = Stage { a: stage.world.agent("spiffe://semgate.test/agent/public-3"), ..stage };
    let foreign = crate::payloads::Lock {
        from: stranger.a.id().clone(),
        to: stranger.endpoint.id().clone(),
        issued_at: NOW,
        hello,
        select,
        expires_at: NOW + 60,
    };
    let signed = stranger.a.sign(&foreign, &stranger.world.random).unwrap();
    let message = stranger.say(Kind::Lock, &Carried::Signed(signed));
    assert_eq!(stranger.ask(&message, &stranger.answering, NOW).unwrap_err(), HandshakeFault::NotOpen);
    let stage = Stage { a: stranger.world.agent(A), ..stranger };
    assert!(stage.ask(&lock, &stage.answering, NOW).is_ok());
}

#[test]
fn without_a_secret_no_lock_is_made() {
    let mut stage = stage();
    stage.sessions = Sessions::none();
    let (_, lock) = stage.close();
    let refused = stage.ask(&lock, &stage.answering, NOW).unwrap_err();
    assert_eq!(refused, HandshakeFault::Lock(LockFault::NoKeys));
    let statement = stage.endpoint.key_statement(&stage.sessions, &stage.world.random, NOW).unwrap();
    assert_eq!(statement, None);
}

#[test]
fn one_peer_holds_few_open_handshakes_and_loses_its_own_oldest() {
    let stage = stage();
    for _ in 0..MAX_WAITING_OF_ONE + 3 {
        stage.ask(&stage.greet().1, &stage.answering, NOW).unwrap();
    }
    assert_eq!(stage.endpoint.waiting.len(), MAX_WAITING_OF_ONE);
}

#[test]
fn envelopes_that_are_not_exactly_one_handshake_message_are_refused() {
    let stage = stage();
    let (_, hello) = stage.greet();
    let value: serde_json::Value = serde_json::from_slice(&hello).unwrap();
    type Change = fn(&mut serde_json::Value);
    let changes: &[(&str, Change)] = &[
        ("another context", |m| m["context"] = "urn:contexts:payment:v2.0".into()),
        ("no context", |m| drop(m.as_object_mut().unwrap().remove("context"))),
        ("a lock", |m| m["lock"] = "v1.x".into()),
        ("another member", |m| m["url"] = "https://elsewhere.example".into()),
        ("another member of the content", |m| m["content"]["url"] = "https://elsewhere.example".into()),
        ("another concept", |m| m["content"]["concept_type"] = "ambiguous_parameter".into()),
        ("a select", |m| m["content"]["concept_type"] = "SELECT".into()),
        ("two concepts", |m| m["content"] = serde_json::json!({"a": m["content"], "b": m["content"]})),
        ("two forms", |m| m["content"]["sealed"] = serde_json::json!({"key": "", "box": ""})),
        ("a grant", |m| {
            m["content"] = serde_json::json!({"concept_type": "HELLO", "lock": "x", "expires_at": 1});
        }),
    ];
    for (what, change) in changes {
        let mut message = value.clone();
        change(&mut message);
        let refused = stage.ask(message.to_string().as_bytes(), &stage.answering, NOW).unwrap_err();
        assert_eq!(refused.code(), "malformed", "{what}: {refused:?}");
    }
    let long = vec![b' '; crate::limits::MAX_MESSAGE_BYTES + 1];
    assert_eq!(stage.ask(&long, &stage.answering, NOW).unwrap_err(), HandshakeFault::TooLarge);
}

thread_local! {
    static STAGE: (Stage, Vec<u8>) = { let stage = stage(); let hello = stage.greet().1; (stage, hello) };
}

proptest! {
    #![proptest_config(fuzz_cases())]

    #[test]
    fn fuzz_random_bytes_are_no_handshake(bytes in prop::collection::vec(any::<u8>(), 0..800)) {
        STAGE.with(|(stage, _)| assert!(stage.ask(&bytes, &stage.answering, NOW).is_err()));
    }

    /// A byte of the envelope may change what nothing reads (an id); what was signed is then still what was signed.
    #[test]
    fn fuzz_a_changed_hello_is_refused_or_says_the_same(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        STAGE.with(|(_, hello)| {
            let mut bytes = hello.clone();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let signed = |bytes: &[u8]| read_message(bytes, CONTEXT).map(|message| message.carried);
            let stage = stage_of_thread();
            if stage.ask(&bytes, &stage.answering, NOW).is_ok() {
                assert_eq!(signed(&bytes), signed(hello));
            }
        });
    }
}

/// A fresh endpoint under the same certificates, since each takes a HELLO once.
fn stage_of_thread() -> Stage {
    STAGE.with(|(stage, _)| Stage {
        world: World {
            roots: stage.world.roots.clone(),
            prefix: stage.world.prefix.clone(),
            random: stage.world.random.clone(),
            root_pem: String::new(),
            issuer: Issuer::from_parts(
                stage.world.issuer.chain().clone(),
                Arc::clone(stage.world.issuer.key()),
            )
            .unwrap(),
        },
        a: stage.world.agent(A),
        endpoint: Endpoint::new(stage.world.agent(B)),
        sessions: Sessions::new(LockKeys::new(vec![FleetSecret::new(&[7; 32]).unwrap()])),
        answering: stage.answering.clone(),
    })
}
