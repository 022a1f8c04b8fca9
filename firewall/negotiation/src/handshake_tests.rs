//! Both sides together, and everything that may happen to what they say.

use crate::initiator::{HelloSent, SelectReceived};
use crate::responder::{PendingLock, ReceivedHello, ReceivedLock};
use crate::tests::*;
use crate::*;
use semgate_certs::LeafProfile;
use semgate_statement::jws::Compact;

struct Pair {
    world: World,
    a: Identity,
    b: Identity,
    replay: ReplayMemory,
}

fn pair() -> Pair {
    let world = World::new();
    let (a, b) = (world.agent(A), world.agent(B));
    Pair { world, a, b, replay: ReplayMemory::new() }
}

impl Pair {
    fn hello(&self, opening: InitiatorConfig) -> (HelloSent, Carried) {
        HelloSent::hello(opening, &self.a, &self.world.random, NOW).unwrap()
    }

    fn hear(&self, hello: &Carried) -> Result<ReceivedHello, HandshakeFault> {
        let between = HandshakeParties { peer: self.a.id(), me: self.b.id(), gateways: &[] };
        ReceivedHello::hello(hello, &between, &[], &self.world.trust(), &self.replay, NOW)
    }

    fn select(
        &self,
        hello: &Carried,
        answering: &ResponderConfig,
    ) -> Result<(PendingLock, Carried), HandshakeFault> {
        self.hear(hello)?.select(answering, &self.b, &self.world.random, NOW)
    }

    fn lock(&self, chosen: SelectReceived) -> (initiator::LockSent, Carried) {
        chosen.lock(&self.a, 3_600, &self.world.random, NOW).unwrap()
    }

    fn hear_lock(&self, lock: &Carried) -> Result<ReceivedLock, HandshakeFault> {
        let between = HandshakeParties { peer: self.a.id(), me: self.b.id(), gateways: &[] };
        ReceivedLock::lock(lock, &between, &self.world.trust(), &self.replay, NOW)
    }
}

/// The payload of a signed message changed, and signed again by somebody.
fn altered(signed: &Carried, by: &SigningOf<'_>, change: impl Fn(&mut serde_json::Value)) -> Carried {
    let Carried::Signed(signed) = signed else { panic!("signed") };
    let compact = Compact::read(&signed.jws, by.typ, 1 << 16).unwrap();
    let mut value = serde_json::from_slice(compact.unverified_payload()).unwrap();
    change(&mut value);
    let payload = semgate_contexts::canonical::jcs(&value).unwrap();
    let jws = Compact::sign(&payload, by.typ, by.signing, &by.world.random).unwrap();
    Carried::Signed(Signed { jws, x5c: by.signing.chain.to_x5c() })
}

struct SigningOf<'s> {
    typ: &'static str,
    signing: &'s semgate_statement::SigningIdentity,
    world: &'s World,
}

fn fault<T>(result: Result<T, HandshakeFault>) -> HandshakeFault {
    match result {
        Ok(_) => panic!("accepted"),
        Err(fault) => fault,
    }
}

#[test]
fn f0_19_to_f0_21_two_agents_agree_on_the_newest_context_that_both_speak() {
    let pair = pair();
    let mut open = opening(&["payment:v1.0", "payment:v1.1", "payment:v2.0"]);
    open.contexts[1] = with_features("payment:v1.1", &["batch", "iban"]);
    open.minimums = vec![minimum("payment", "v1.0")];
    let (greeted, hello) = pair.hello(open);
    let mut ours = answering(&["payment:v1.1", "payment:v1.0"]);
    ours.contexts[0].offer.features = Features::sorted(["iban", "split"]).unwrap();
    ours.minimums = vec![minimum("payment", "v1.1")];
    ours.hint = Some("https://authority.test/payment".to_owned());
    let (waiting, select) = pair.select(&hello, &ours).unwrap();
    let chosen = greeted.select(&select, &pair.world.trust(), NOW).unwrap();
    assert_eq!(*chosen.urn(), urn("payment:v1.1"));
    assert_eq!(chosen.hint(), Some("https://authority.test/payment"));
    let (closing, lock) = pair.lock(chosen);
    let agreement = waiting.lock(&pair.hear_lock(&lock).unwrap(), NOW).unwrap();
    assert_eq!(agreement.features(), &Features::sorted(["iban"]).unwrap());
    assert_eq!(agreement.minimums(), &[vec![minimum("payment", "v1.0")], vec![minimum("payment", "v1.1")]]);
    let keys = LockKeys::new(vec![FleetSecret::new(&[7; 32]).unwrap()]);
    let granted = keys.grant(&agreement, "orders", AUTHORITY, NOW).unwrap();
    let session = closing.granted(&Carried::Granted(granted.clone()), NOW).unwrap();
    assert_eq!((&session.lock, session.expires_at), (&granted.lock, NOW + 3_600));
    assert_eq!(session.transcript, *agreement.transcript());
    assert_eq!(session.choice, with_features("payment:v1.1", &["iban"]));
    assert_eq!(session.minimums, [minimum("payment", "v1.1")]);
}

#[test]
fn f0_37_a_stripped_hello_is_refused_by_the_responder_since_its_signature_breaks() {
    let pair = pair();
    let (_, hello) = pair.hello(opening(&["payment:v1.0", "payment:v2.0"]));
    let Carried::Signed(signed) = hello else { panic!("signed") };
    let [header, payload, signature] = signed.jws.split('.').collect::<Vec<_>>()[..] else { panic!("jws") };
    let mut value: serde_json::Value =
        serde_json::from_slice(&semgate_certs::encoding::from_base64url(payload).unwrap()).unwrap();
    value["contexts"].as_array_mut().unwrap().pop();
    let stripped = semgate_certs::encoding::to_base64url(semgate_contexts::canonical::jcs(&value).unwrap());
    let stripped = Signed { jws: format!("{header}.{stripped}.{signature}"), x5c: signed.x5c.clone() };
    let refused = fault(pair.hear(&Carried::Signed(stripped)));
    assert!(matches!(refused, HandshakeFault::Signature(_)), "{refused:?}");
    assert_eq!(refused.code(), "lock_mismatch");
}

/// Even where the one between holds another HELLO of the initiator's own (one that offers less), both sides see it.
#[test]
fn f0_37_a_hello_that_was_put_in_place_of_another_fails_on_both_sides() {
    let pair = pair();
    let (greeted, _full) = pair.hello(opening(&["payment:v1.0", "payment:v2.0"]));
    let (lesser, stripped) = pair.hello(opening(&["payment:v1.0"]));
    let ours = answering(&["payment:v1.0", "payment:v2.0"]);
    let (waiting, select) = pair.select(&stripped, &ours).unwrap();
    // the initiator's side
    let refused = fault(greeted.select(&select, &pair.world.trust(), NOW));
    assert_eq!((refused, refused.code()), (HandshakeFault::OtherHello, "lock_mismatch"));
    // the responder's side, had the initiator gone on: its LOCK names the HELLO that it said
    let chosen = lesser.select(&select, &pair.world.trust(), NOW).unwrap();
    let (_, lock) = pair.lock(chosen);
    let signing = pair.world.signing(&LeafProfile::agent(spiffe(A), NOW - 60));
    let by = SigningOf { typ: "snl-lock+jws", signing: &signing, world: &pair.world };
    let (_, full) = pair.hello(opening(&["payment:v1.0", "payment:v2.0"]));
    let Carried::Signed(full) = full else { panic!("signed") };
    let lock = altered(&lock, &by, |lock| lock["hello"] = full.digest().to_string().into());
    let refused = fault(waiting.lock(&pair.hear_lock(&lock).unwrap(), NOW));
    assert_eq!((refused, refused.code()), (HandshakeFault::OtherHello, "lock_mismatch"));
}

#[test]
fn a_select_below_the_minimum_is_refused() {
    let pair = pair();
    let mut open = opening(&["payment:v1.0", "payment:v2.0"]);
    open.minimums = vec![minimum("payment", "v2.0")];
    let (greeted, hello) = pair.hello(open.clone());
    // an honest responder finds nothing to choose
    let refused = fault(pair.select(&hello, &answering(&["payment:v1.0"])));
    assert_eq!(refused.code(), "context_below_floor");
    // one that is not chooses all the same
    let ours = answering(&["payment:v1.0", "payment:v2.0"]);
    let (_, hello2) = pair.hello(open);
    let (_, select) = pair.select(&hello2, &ours).unwrap();
    let signing = pair.world.signing(&LeafProfile::agent(spiffe(B), NOW - 60));
    let by = SigningOf { typ: "snl-select+jws", signing: &signing, world: &pair.world };
    let Carried::Signed(signed) = &hello else { panic!("signed") };
    let select = altered(&select, &by, |select| {
        select["hello"] = signed.digest().to_string().into();
        select["choice"]["urn"] = "urn:contexts:payment:v1.0".into();
        select["choice"]["digest"] = offer("payment:v1.0").digest.to_string().into();
    });
    let refused = fault(greeted.select(&select, &pair.world.trust(), NOW));
    let floor = semgate_contexts::Version::new(2, 0);
    assert_eq!((refused, refused.code()), (HandshakeFault::BelowMinimum { floor }, "context_below_floor"));
}

#[test]
fn a_select_of_what_was_not_offered_is_refused() {
    let digest = semgate_contexts::Digest::of(b"another").to_string();
    let changes: [(&str, serde_json::Value); 3] = [
        ("urn", "urn:contexts:payment:v3.0".into()),
        ("digest", digest.into()),
        ("features", serde_json::json!(["invented"])),
    ];
    for (member, value) in changes {
        let pair = pair();
        let (greeted, hello) = pair.hello(opening(&["payment:v2.0"]));
        let (_, select) = pair.select(&hello, &answering(&["payment:v2.0"])).unwrap();
        let signing = pair.world.signing(&LeafProfile::agent(spiffe(B), NOW - 60));
        let by = SigningOf { typ: "snl-select+jws", signing: &signing, world: &pair.world };
        let select = altered(&select, &by, |select| select["choice"][member] = value.clone());
        assert_eq!(fault(greeted.select(&select, &pair.world.trust(), NOW)), HandshakeFault::NotOffered);
    }
}

#[test]
fn a_replayed_hello_and_a_replayed_lock_are_refused() {
    let pair = pair();
    let (greeted, hello) = pair.hello(opening(&["payment:v2.0"]));
    let (waiting, select) = pair.select(&hello, &answering(&["payment:v2.0"])).unwrap();
    assert_eq!(fault(pair.hear(&hello)), HandshakeFault::Replayed);
    let (_, lock) = pair.lock(greeted.select(&select, &pair.world.trust(), NOW).unwrap());
    waiting.lock(&pair.hear_lock(&lock).unwrap(), NOW).unwrap();
    let refused = fault(pair.hear_lock(&lock));
    assert_eq!((refused, refused.code()), (HandshakeFault::Replayed, "replayed"));
}

#[test]
fn what_is_signed_is_taken_within_its_window_only() {
    let pair = pair();
    let (_, hello) = pair.hello(opening(&["payment:v2.0"]));
    let between = HandshakeParties { peer: pair.a.id(), me: pair.b.id(), gateways: &[] };
    let at = |now| {
        let replay = ReplayMemory::new();
        ReceivedHello::hello(&hello, &between, &[], &pair.world.trust(), &replay, now).map(drop)
    };
    assert_eq!(at(NOW - limits::CLOCK_SKEW_SECONDS), Ok(()));
    assert_eq!(at(NOW - limits::CLOCK_SKEW_SECONDS - 1), Err(HandshakeFault::FromTheFuture));
    assert_eq!(at(NOW + limits::WINDOW_SECONDS), Ok(()));
    assert_eq!(at(NOW + limits::WINDOW_SECONDS + 1), Err(HandshakeFault::TooOld));
    assert_eq!(HandshakeFault::TooOld.code(), "replayed");
}

#[test]
fn a_lock_that_comes_after_the_window_or_for_another_select_is_refused() {
    let pair = pair();
    let ours = answering(&["payment:v2.0"]);
    let (greeted, hello) = pair.hello(opening(&["payment:v2.0"]));
    let (waiting, select) = pair.select(&hello, &ours).unwrap();
    let (_, lock) = pair.lock(greeted.select(&select, &pair.world.trust(), NOW).unwrap());
    let received = pair.hear_lock(&lock).unwrap();
    let (_, other) = pair.hello(opening(&["payment:v2.0"]));
    let (others, _) = pair.select(&other, &ours).unwrap();
    assert_eq!(fault(others.lock(&received, NOW)), HandshakeFault::OtherSelect);
    assert_eq!(fault(waiting.lock(&received, NOW + 61)), HandshakeFault::TooOld);
}

#[test]
fn who_signs_must_be_who_speaks_and_who_is_spoken_to_must_be_us() {
    let pair = pair();
    let (_, hello) = pair.hello(opening(&["payment:v2.0"]));
    let stranger = spiffe("spiffe://semgate.test/agent/stranger");
    let hear = |carried: &Carried, peer, me| {
        let between = HandshakeParties { peer, me, gateways: &[] };
        let replay = ReplayMemory::new();
        fault(ReceivedHello::hello(carried, &between, &[], &pair.world.trust(), &replay, NOW))
    };
    assert_eq!(hear(&hello, &stranger, pair.b.id()), HandshakeFault::SenderMismatch);
    assert_eq!(hear(&hello, pair.a.id(), &stranger), HandshakeFault::ReceiverMismatch);
    // signed by somebody else's certificate in the name of A
    let signing = pair.world.signing(&LeafProfile::agent(stranger.clone(), NOW - 60));
    let by = SigningOf { typ: "snl-hello+jws", signing: &signing, world: &pair.world };
    let forged = altered(&hello, &by, |_| {});
    let refused = hear(&forged, pair.a.id(), pair.b.id());
    assert_eq!((refused, refused.code()), (HandshakeFault::SignerMismatch, "sender_mismatch"));
    // by a certificate of another root, and in another trust domain
    let elsewhere = World::new();
    let signing = elsewhere.signing(&LeafProfile::agent(spiffe(A), NOW - 60));
    let by = SigningOf { typ: "snl-hello+jws", signing: &signing, world: &elsewhere };
    let refused = hear(&altered(&hello, &by, |_| {}), pair.a.id(), pair.b.id());
    assert!(matches!(refused, HandshakeFault::Signature(_)), "{refused:?}");
    let by = SigningOf { typ: "snl-hello+jws", signing: &signing, world: &elsewhere };
    let refused = hear(
        &altered(&hello, &by, |hello| hello["from"] = "spiffe://other.test/a".into()),
        pair.a.id(),
        pair.b.id(),
    );
    assert_eq!(refused, HandshakeFault::UnknownTrustDomain);
}

#[test]
fn a_server_certificate_selects_but_says_no_hello() {
    let world = World::new();
    let (a, b) = (world.agent(A), world.server(B));
    let replay = ReplayMemory::new();
    let between = HandshakeParties { peer: a.id(), me: b.id(), gateways: &[] };
    let (greeted, hello) = HelloSent::hello(opening(&["payment:v2.0"]), &a, &world.random, NOW).unwrap();
    let received = ReceivedHello::hello(&hello, &between, &[], &world.trust(), &replay, NOW).unwrap();
    let (_, select) = received.select(&answering(&["payment:v2.0"]), &b, &world.random, NOW).unwrap();
    greeted.select(&select, &world.trust(), NOW).unwrap();
    let server = world.server(A);
    let (_, hello) = HelloSent::hello(opening(&["payment:v2.0"]), &server, &world.random, NOW).unwrap();
    let refused = fault(ReceivedHello::hello(&hello, &between, &[], &world.trust(), &replay, NOW));
    assert!(matches!(refused, HandshakeFault::Signature(_)), "{refused:?}");
}

#[test]
fn no_session_outlives_a_certificate_that_signed_for_it() {
    let world = World::new();
    let soon = LeafProfile::agent(spiffe(A), NOW - 60).lifetime(160);
    let a = Identity::new(world.signing(&soon), &world.trust(), &world.random, NOW).unwrap();
    let pair = Pair { b: world.agent(B), a, world, replay: ReplayMemory::new() };
    let (greeted, hello) = pair.hello(opening(&["payment:v2.0"]));
    let (waiting, select) = pair.select(&hello, &answering(&["payment:v2.0"])).unwrap();
    let (_, lock) = pair.lock(greeted.select(&select, &pair.world.trust(), NOW).unwrap());
    let agreement = waiting.lock(&pair.hear_lock(&lock).unwrap(), NOW).unwrap();
    assert_eq!(agreement.expires_at(), pair.a.not_after() + 1);
    assert!(agreement.expires_at() <= NOW + 101);
}

#[test]
fn payloads_that_are_not_exactly_the_format_are_refused() {
    let pair = pair();
    let (_, hello) = pair.hello(opening(&["payment:v2.0"]));
    let signing = pair.world.signing(&LeafProfile::agent(spiffe(A), NOW - 60));
    let by = SigningOf { typ: "snl-hello+jws", signing: &signing, world: &pair.world };
    type Change = fn(&mut serde_json::Value);
    let changes: &[(&str, Change)] = &[
        ("another member", |h| h["url"] = "https://elsewhere.example".into()),
        ("no nonce", |h| drop(h.as_object_mut().unwrap().remove("nonce"))),
        ("a short nonce", |h| h["nonce"] = "AAAA".into()),
        ("a padded nonce", |h| h["nonce"] = "AAAAAAAAAAAAAAAAAAAAAA==".into()),
        ("no context", |h| h["contexts"] = serde_json::json!([])),
        ("a context twice", |h| {
            let one = h["contexts"][0].clone();
            h["contexts"].as_array_mut().unwrap().push(one);
        }),
        ("features out of order", |h| h["contexts"][0]["features"] = serde_json::json!(["b", "a"])),
        ("a feature that is a sentence", |h| h["contexts"][0]["features"] = serde_json::json!(["do this"])),
        ("a line twice", |h| {
            h["minimums"] =
                serde_json::json!([{"line": "payment", "min": "v1.0"}, {"line": "payment", "min": "v2.0"}]);
        }),
        ("a time with a fraction", |h| h["issued_at"] = serde_json::json!(1780272000.5)),
        ("another prefix", |h| h["contexts"][0]["urn"] = "urn:other:payment:v2.0".into()),
        ("a key that is none", |h| h["key"] = "AAAA".into()),
    ];
    for (what, change) in changes {
        let refused = fault(pair.hear(&altered(&hello, &by, change)));
        assert_eq!(refused.code(), "malformed", "{what}: {refused:?}");
    }
}

#[test]
fn a_payload_in_another_spelling_is_refused() {
    let pair = pair();
    let (_, hello) = pair.hello(opening(&["payment:v2.0"]));
    let Carried::Signed(signed) = &hello else { panic!("signed") };
    let compact = Compact::read(&signed.jws, "snl-hello+jws", 1 << 16).unwrap();
    let text = String::from_utf8(compact.unverified_payload().to_vec()).unwrap();
    let signing = pair.world.signing(&LeafProfile::agent(spiffe(A), NOW - 60));
    for (payload, expected) in [
        (format!("{text} "), HandshakeFault::NotCanonical),
        (text.replacen("1780272000", "1780272000.0", 1), HandshakeFault::NotCanonical),
        (text.replacen("\"from\"", "\"fro\\u006d\"", 1), HandshakeFault::NotCanonical),
    ] {
        let jws = Compact::sign(payload.as_bytes(), "snl-hello+jws", &signing, &pair.world.random).unwrap();
        let carried = Carried::Signed(Signed { jws, x5c: signing.chain.to_x5c() });
        assert_eq!(fault(pair.hear(&carried)), expected, "{payload}");
    }
    let twice = text.replacen('{', "{\"nonce\":\"AAAAAAAAAAAAAAAAAAAAAA\",", 1);
    let jws = Compact::sign(twice.as_bytes(), "snl-hello+jws", &signing, &pair.world.random).unwrap();
    let refused = fault(pair.hear(&Carried::Signed(Signed { jws, x5c: signing.chain.to_x5c() })));
    assert_eq!(refused.code(), "duplicate_key");
}

#[test]
fn a_message_of_one_kind_is_none_of_another() {
    let pair = pair();
    let (greeted, hello) = pair.hello(opening(&["payment:v2.0"]));
    let refused = fault(greeted.select(&hello, &pair.world.trust(), NOW));
    assert!(matches!(refused, HandshakeFault::Signature(semgate_statement::JwsFault::Type)), "{refused:?}");
    let refused = fault(pair.hear_lock(&hello));
    assert!(matches!(refused, HandshakeFault::Signature(semgate_statement::JwsFault::Type)), "{refused:?}");
}

/// What becomes of an answer to LOCK whose lock ends at one second by its text, and at another by the answer.
fn answered(in_text: u64, expires_at: u64) -> Result<Session, HandshakeFault> {
    let pair = pair();
    let (greeted, hello) = pair.hello(opening(&["payment:v2.0"]));
    let (waiting, select) = pair.select(&hello, &answering(&["payment:v2.0"])).unwrap();
    let (closing, lock) = pair.lock(greeted.select(&select, &pair.world.trust(), NOW).unwrap());
    let agreement = waiting.lock(&pair.hear_lock(&lock).unwrap(), NOW).unwrap();
    let keys = LockKeys::new(vec![FleetSecret::new(&[7; 32]).unwrap()]);
    let granted = keys.grant(&agreement, "orders", AUTHORITY, NOW).unwrap();
    let lock = granted.lock.replace(&format!(".{}.", granted.expires_at), &format!(".{in_text}."));
    closing.granted(&Carried::Granted(Granted { lock, expires_at }), NOW)
}

#[test]
fn an_answer_to_lock_that_ends_late_or_is_over_is_refused() {
    for (expires_at, expected) in
        [(NOW + 3_600, true), (NOW + 3_601, false), (NOW - 10, false), (NOW + 5, true)]
    {
        let outcome = answered(expires_at, expires_at);
        assert_eq!(outcome.is_ok(), expected, "{expires_at} {outcome:?}");
        assert!(outcome.is_ok() || fault(outcome).code() == "lock_mismatch");
    }
}

#[test]
fn bug_a_lock_that_ends_at_another_second_than_its_answer_says_was_taken() {
    for (in_text, said) in
        [(NOW + 999_999, NOW + 3_600), (NOW + 3_600, NOW + 3_599), (NOW + 3_599, NOW + 3_600)]
    {
        let refused = fault(answered(in_text, said));
        assert!(matches!(refused, HandshakeFault::Expiry), "{refused:?}");
    }
}
