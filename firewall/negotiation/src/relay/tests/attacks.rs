//! What a gateway, a node on the way, or either agent may try.

use super::*;

#[test]
fn attack_a_gateway_that_puts_a_lesser_hello_in_place_is_found_out_by_both() {
    let stage = stage();
    let appointed = stage.appoint();
    let key = || Some(stage.stated(&appointed));
    let (full, _) = stage.greet(&ALL, key());
    // the same agent's own HELLO of less, as a gateway may have kept it
    let (lesser, greeted) = stage.greet(&["payment:v1.0"], key());
    let (passing, onward) = stage.passed(&greeted, Some(&appointed)).unwrap();
    let select = stage.answer_of_agent(&onward).unwrap();
    assert_eq!(select.urn, urn("payment:v1.0"));
    let back = stage.relay.select(passing, &select.body, &stage.at()).unwrap();
    let Carried::Sealed(sealed) = Stage::carried(&back.body) else { panic!("sealed") };
    let opened = lesser.key.as_ref().unwrap().open(Kind::Select, &sealed).unwrap().signed;
    // a gateway that could seal to the caller's key of the full HELLO would still have the wrong SELECT
    let point = full.key.as_ref().unwrap().point();
    let moved = PeerKey::of_point(spiffe(A), point).unwrap();
    let moved = moved.seal(Kind::Select, &opened, None, &stage.world.random).unwrap();
    let full_digest = full.signed.digest();
    let refused = code(full.select(&Carried::Sealed(moved), &stage.world.trust(), NOW));
    assert_eq!(refused, (HandshakeFault::OtherHello, "lock_mismatch"));
    // the upstream agent, had the caller gone on: its LOCK names the HELLO that it said
    let chosen = lesser.select(&Carried::Sealed(sealed), &stage.world.trust(), NOW).unwrap();
    let (_, lock) = chosen.lock(&stage.a, 60, &stage.world.random, NOW).unwrap();
    let Carried::Signed(signed) = &lock else { panic!("signed") };
    let payload = Compact::read(&signed.jws, crate::payloads::Lock::TYP, 1 << 16).unwrap();
    let mut tampered =
        crate::payloads::Lock::parse(payload.unverified_payload(), &stage.world.prefix).unwrap();
    tampered.hello = full_digest;
    let lock = Carried::Signed(stage.a.sign(&tampered, &stage.world.random).unwrap());
    let refused = code(stage.answer_of_agent(&stage.say(Kind::Lock, &lock)));
    assert_eq!(refused, (HandshakeFault::OtherHello, "lock_mismatch"));
}

#[test]
fn attack_a_version_stripped_from_the_hello_breaks_its_signature_at_the_agent_behind() {
    let stage = stage();
    let appointed = stage.appoint();
    let (_, hello) = stage.greet(&ALL, Some(stage.stated(&appointed)));
    let greeting = stage.greeting(&hello).unwrap();
    let mut received = greeting.received;
    let parts: Vec<&str> = received.signed.jws.split('.').collect();
    let mut less = received.hello.payload.clone();
    less.contexts.pop();
    let middle = to_base64url(less.to_bytes().unwrap());
    received.signed.jws = format!("{}.{middle}.{}", parts[0], parts[2]);
    received.hello.digest = received.signed.digest();
    let greeting = Box::new(RelayedHello { received, shrunk: Vec::new() });
    let (_, onward) = stage.relay.pass_hello(greeting, Some(&appointed), &stage.at()).unwrap();
    let refused = code(stage.answer_of_agent(&onward.unwrap()));
    assert!(matches!(refused, (HandshakeFault::Signature(_), "lock_mismatch")), "{refused:?}");
}

#[test]
fn attack_a_foreign_gateways_key_to_answer_to_is_refused() {
    let stage = stage();
    let appointed = stage.appoint();
    let hello = || stage.greet(&ALL, Some(stage.stated(&appointed))).1;
    let foreign = Relay::new(stage.world.server(OTHER), spiffe(B)).unwrap();
    let (_, onward) =
        foreign.pass_hello(stage.greeting(&hello()).unwrap(), Some(&appointed), &stage.at()).unwrap();
    let refused = code(stage.answer_of_agent(&onward.unwrap()));
    assert_eq!(refused, (HandshakeFault::UnknownGateway, "sender_mismatch"));
    // of the right gateway, but about another HELLO
    let mut greeting = stage.greeting(&hello()).unwrap();
    greeting.received.hello.digest = Digest::of(b"another");
    let (_, onward) = stage.relay.pass_hello(greeting, Some(&appointed), &stage.at()).unwrap();
    assert_eq!(code(stage.answer_of_agent(&onward.unwrap())), (HandshakeFault::OtherHello, "lock_mismatch"));
    // of the right gateway, but for another agent
    let elsewhere = Relay::new(stage.world.server(G), spiffe(A)).unwrap();
    let (_, onward) =
        elsewhere.pass_hello(stage.greeting(&hello()).unwrap(), Some(&appointed), &stage.at()).unwrap();
    assert_eq!(
        code(stage.answer_of_agent(&onward.unwrap())),
        (HandshakeFault::ReceiverMismatch, "receiver_mismatch")
    );
}

#[test]
fn attack_a_caller_that_names_a_key_to_answer_to_is_refused_by_the_gateway() {
    let stage = stage();
    let appointed = stage.appoint();
    let (greeted, _) = stage.greet(&ALL, Some(stage.stated(&appointed)));
    let key = SealingKey::generate(&stage.world.random).unwrap();
    let hello = Some(greeted.signed.digest());
    let reply = GatewayKey { from: spiffe(A), to: spiffe(B), issued_at: NOW, key: key.point(), hello };
    let reply = stage.a.sign(&reply, &stage.world.random).unwrap();
    let to = stage.stated(&appointed);
    let sealed = to.seal(Kind::Hello, &greeted.signed, Some(&reply), &stage.world.random).unwrap();
    let refused = code(stage.greeting(&stage.say(Kind::Hello, &Carried::Sealed(sealed))));
    assert_eq!(refused, (HandshakeFault::UnknownGateway, "sender_mismatch"));
}

#[test]
fn attack_a_select_of_another_hello_is_refused() {
    let stage = stage();
    let appointed = stage.appoint();
    let exchange = || {
        let (_, hello) = stage.greet(&ALL, None);
        let (passing, onward) = stage.passed(&hello, Some(&appointed)).unwrap();
        (passing, stage.answer_of_agent(&onward).unwrap().body)
    };
    let ((first, select), (second, _)) = (exchange(), exchange());
    stage.relay.select(first, &select, &stage.at()).unwrap();
    let refused = code(stage.relay.select(second, &select, &stage.at()));
    assert_eq!(refused, (HandshakeFault::OtherHello, "lock_mismatch"));
}

#[test]
fn attack_a_select_that_chooses_what_it_may_not_is_refused_by_the_gateway() {
    let b = |stage: &Stage| stage.world.agent(B);
    type Change = fn(&mut Select);
    let cases: [(&str, Change, &str); 6] = [
        ("below the caller's minimum", |s| s.choice = offer("payment:v1.0"), "context_below_floor"),
        ("not offered", |s| s.choice = offer("travel:v2.1"), "lock_mismatch"),
        ("another document", |s| s.choice.digest = Digest::of(b"x"), "lock_mismatch"),
        (
            "features that were not offered",
            |s| s.choice = with_features("payment:v2.0", &["new"]),
            "lock_mismatch",
        ),
        ("about another hello", |s| s.hello = Digest::of(b"x"), "lock_mismatch"),
        ("for somebody else", |s| s.to = spiffe(B), "receiver_mismatch"),
    ];
    for (what, change, expected) in cases {
        let stage = stage();
        let mut open = opening(&ALL);
        open.minimums = vec![minimum("payment", "v1.1")];
        let (greeted, hello) = HelloSent::hello(open, &stage.a, &stage.world.random, NOW).unwrap();
        let (passing, _) = stage.passed(&stage.say(Kind::Hello, &hello), None).unwrap();
        let select = stage.select_by(&b(&stage), &greeted.signed.digest(), change);
        let body = stage.answer(Carried::Signed(select));
        let refused = code(stage.relay.select(passing, &body, &stage.at()));
        assert_eq!(refused.1, expected, "{what}: {refused:?}");
    }
    // below the floor of authority, and a context that was revoked, or taken from the caller, while the agent thought
    let mut floor = stage();
    floor.agent_config = answering(&["payment:v1.0", "payment:v1.1"]);
    let (_, hello) = floor.greet(&ALL, None);
    let (passing, onward) = floor.passed(&hello, None).unwrap();
    let select = floor.answer_of_agent(&onward).unwrap().body;
    floor.here.floors = vec![floor_of_authority("payment", "v2.0")];
    assert_eq!(code(floor.relay.select(passing, &select, &floor.at())).1, "context_below_floor");
    let mut gone = stage();
    let (_, hello) = gone.greet(&ALL, None);
    let (passing, onward) = gone.passed(&hello, None).unwrap();
    let select = gone.answer_of_agent(&onward).unwrap().body;
    gone.here = answering(&["payment:v1.1"]);
    let refused = code(gone.relay.select(passing, &select, &gone.at()));
    assert_eq!(refused, (HandshakeFault::NotCurrent, "context_unknown"));
}

#[test]
fn attack_a_select_that_the_gateway_or_a_stranger_signed_is_refused() {
    let stage = stage();
    for (who, expected) in [(G, HandshakeFault::SignerMismatch), (OTHER, HandshakeFault::SignerMismatch)] {
        let (greeted, hello) = stage.greet(&ALL, None);
        let (passing, _) = stage.passed(&hello, None).unwrap();
        let select = stage.select_by(&stage.world.server(who), &greeted.signed.digest(), |_| {});
        let body = stage.answer(Carried::Signed(select.clone()));
        assert_eq!(code(stage.relay.select(passing, &body, &stage.at())).0, expected);
        // and by the caller too, should a gateway hand it on all the same
        assert_eq!(code(greeted.select(&Carried::Signed(select), &stage.world.trust(), NOW)).0, expected);
    }
    // the agent that stands behind a gateway never lets that gateway hold its own certificate
    assert_eq!(Relay::new(stage.world.agent(B), spiffe(B)).unwrap_err(), HandshakeFault::SignerMismatch);
}

#[test]
fn attack_a_sealed_message_opens_for_its_receiver_and_nobody_else() {
    let stage = stage();
    let appointed = stage.appoint();
    let (greeted, hello) = stage.greet(&ALL, Some(stage.stated(&appointed)));
    // the upstream agent does not open what is sealed to the gateway
    assert_eq!(code(stage.answer_of_agent(&hello)), (HandshakeFault::UnknownSealingKey, "lock_mismatch"));
    let (passing, onward) = stage.passed(&hello, Some(&appointed)).unwrap();
    // nor the gateway what is sealed to the agent, nor another one what comes back
    let again = code(stage.relay.receive(&onward, &stage.at()).map(drop));
    assert_eq!(again, (HandshakeFault::UnknownSealingKey, "lock_mismatch"));
    let select = stage.answer_of_agent(&onward).unwrap().body;
    let Carried::Sealed(mut inner) = Stage::carried(&select) else { panic!("sealed") };
    let caller = greeted.key.as_ref().unwrap();
    assert_eq!(caller.open(Kind::Select, &inner).unwrap_err(), HandshakeFault::UnknownSealingKey);
    inner.key = caller.id();
    assert_eq!(caller.open(Kind::Select, &inner).unwrap_err(), HandshakeFault::CannotOpen);
    let back = stage.relay.select(passing, &select, &stage.at()).unwrap();
    greeted.select(&Stage::carried(&back.body), &stage.world.trust(), NOW).unwrap();
}

#[test]
fn attack_what_is_open_where_it_must_be_sealed_is_refused_on_every_way() {
    let stage = stage();
    let appointed = stage.appoint();
    // the upstream agent answers a sealed HELLO openly
    let (greeted, hello) = stage.greet(&ALL, Some(stage.stated(&appointed)));
    let (passing, _) = stage.passed(&hello, Some(&appointed)).unwrap();
    let select = stage.select_by(&stage.world.agent(B), &greeted.signed.digest(), |_| {});
    let refused = code(stage.relay.select(passing, &stage.answer(Carried::Signed(select)), &stage.at()));
    assert_eq!(refused, (HandshakeFault::Sealing, "lock_mismatch"));
    // a gateway that hands a sealed HELLO on openly
    let (_, hello) = stage.greet(&ALL, Some(stage.stated(&appointed)));
    let opened = stage.greeting(&hello).unwrap().received.signed;
    let refused = code(stage.answer_of_agent(&stage.say(Kind::Hello, &Carried::Signed(opened))));
    assert_eq!(refused, (HandshakeFault::Sealing, "lock_mismatch"));
    // no agent appointed anybody
    let (_, hello) = stage.greet(&ALL, Some(stage.stated(&appointed)));
    let refused = code(stage.passed(&hello, None).map(drop));
    assert_eq!(refused, (HandshakeFault::UnknownSealingKey, "lock_mismatch"));
}

#[test]
fn attack_a_hello_or_lock_that_comes_twice_or_from_another_is_refused() {
    let stage = stage();
    let (_, hello) = stage.greet(&ALL, None);
    stage.greeting(&hello).unwrap();
    assert_eq!(code(stage.greeting(&hello).map(drop)), (HandshakeFault::Replayed, "replayed"));
    let (_, lock) = stage.locking(true);
    // of another pair: neither as it is, nor signed by the stranger
    let stranger = stage.world.agent("spiffe://semgate.test/agent/stranger");
    let by = stage.request(stranger.id(), &stage.gateway, &stage.here);
    let refused = code(stage.relay.receive(&lock, &by).map(drop));
    assert_eq!(refused, (HandshakeFault::SenderMismatch, "sender_mismatch"));
    let Carried::Signed(signed) = Stage::carried(&lock) else { panic!("signed") };
    let payload = Compact::read(&signed.jws, crate::payloads::Lock::TYP, 1 << 16).unwrap();
    let mut tampered =
        crate::payloads::Lock::parse(payload.unverified_payload(), &stage.world.prefix).unwrap();
    tampered.from = stranger.id().clone();
    let own = Carried::Signed(stranger.sign(&tampered, &stage.world.random).unwrap());
    let refused = code(stage.relay.receive(&stage.say(Kind::Lock, &own), &by).map(drop));
    assert_eq!(refused, (HandshakeFault::NotOpen, "lock_mismatch"));
    // the pair's own still closes, once
    stage.relay.receive(&lock, &stage.at()).unwrap();
    assert_eq!(
        code(stage.relay.receive(&lock, &stage.at()).map(drop)),
        (HandshakeFault::Replayed, "replayed")
    );
}

#[test]
fn attack_an_answer_to_lock_about_another_session_is_refused_on_every_way() {
    let stage = stage();
    let (closing, lock) = stage.locking(false);
    let (_, other) = stage.locking(false);
    let RelayedMessage::Lock(locking) = stage.relay.receive(&lock, &stage.at()).unwrap() else {
        panic!("a lock")
    };
    let others = stage.answer_of_agent(&other).unwrap();
    let refused = code(stage.relay.granted(locking, &others.body, &stage.at()));
    assert_eq!(refused, (HandshakeFault::OtherSession, "lock_mismatch"));
    let refused = code(closing.granted(&Stage::carried(&others.body), NOW));
    assert_eq!(refused, (HandshakeFault::OtherSession, "lock_mismatch"));
}

#[test]
fn an_oversized_message_is_refused_before_it_is_opened() {
    let stage = stage();
    let appointed = stage.appoint();
    let (_, hello) = stage.greet(&ALL, Some(stage.stated(&appointed)));
    let text = String::from_utf8(hello).unwrap();
    let at = text.find("\"box\":\"").unwrap() + 7;
    let big = format!("{}{}{}", &text[..at], "A".repeat(limits::MAX_BOX_CHARS + 1), &text[at..]);
    assert_eq!(code(stage.greeting(big.as_bytes()).map(drop)), (HandshakeFault::TooLarge, "too_large"));
    let bigger = format!("{}{}{}", &text[..at], "A".repeat(limits::MAX_MESSAGE_BYTES), &text[at..]);
    assert_eq!(code(stage.greeting(bigger.as_bytes()).map(drop)), (HandshakeFault::TooLarge, "too_large"));
}

#[test]
fn f0_39_attack_of_two_selects_of_one_agent_the_older_counts_since_its_lock_comes_last() {
    let mut stage = stage();
    [&mut stage.here, &mut stage.agent_config].into_iter().for_each(|side| {
        side.contexts.extend(answering(&["travel:v2.1"]).contexts);
    });
    let early: Vec<Vec<u8>> = (0..2).map(|_| stage.locking(false).1).collect();
    let (_, elsewhere) = stage.locking_of(&["travel:v2.1"], false);
    // one LOCK is on its way already when the upstream agent states its minimum
    let under_way = stage.taken(&early[0]).unwrap();
    let its_answer = stage.answer_of_agent(&early[0]).unwrap().body;
    stage.now += 1;
    stage.agent_config.minimums = vec![minimum("payment", "v3.0")];
    let (_, lock) = stage.locking_of(&["travel:v2.1"], false);
    let (locking, answer) = (stage.taken(&lock).unwrap(), stage.answer_of_agent(&lock).unwrap().body);
    stage.relay.granted(locking, &answer, &stage.at()).unwrap();
    let line = semgate_contexts::Line::parse("payment").unwrap();
    let three = semgate_contexts::Version::new(3, 0);
    let holds = || assert!(stage.gateway.minimums.floors(A, B, &line).contains(&Some(three)));
    holds();
    let below = (HandshakeFault::BelowMinimum { floor: three }, "context_below_floor");
    assert_eq!(code(stage.relay.granted(under_way, &its_answer, &stage.at())), below);
    assert_eq!(code(stage.taken(&early[1])), below);
    // one that chose something else is granted, and takes nothing back
    let locking = stage.taken(&elsewhere).unwrap();
    let answer = stage.answer_of_agent(&elsewhere).unwrap().body;
    stage.relay.granted(locking, &answer, &stage.at()).unwrap();
    holds();
}

#[test]
fn attack_a_hello_or_lock_is_taken_again_once_the_gateways_keys_were_read_again() {
    let mut stage = stage();
    let (_, hello) = stage.greet(&ALL, None);
    stage.greeting(&hello).unwrap();
    let (_, lock) = stage.locking(false);
    stage.taken(&lock).unwrap();
    let fresh = Relay::new(stage.world.server(G), spiffe(B)).unwrap();
    stage.relay = fresh.continuing(&stage.relay);
    assert_eq!(code(stage.greeting(&hello)), (HandshakeFault::Replayed, "replayed"));
    assert_eq!(code(stage.taken(&lock)), (HandshakeFault::Replayed, "replayed"));
}
