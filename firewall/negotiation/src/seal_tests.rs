use super::*;
use crate::initiator::HelloSent;
use crate::responder::ReceivedHello;
use crate::tests::*;
use crate::{Carried, FleetSecret, HandshakeFault, HandshakeParties, LockKeys, ReplayMemory};

/// RFC 9180, appendix A.3.1: DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, AES-128-GCM, base mode, first message.
#[test]
fn the_published_vector_opens() {
    let hex = |text: &str| -> Vec<u8> {
        text.as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    };
    let seed = hex("668b37171f1072f3cf12ea8a236a45df23fc13b82af3609ad1e354f6ef817550");
    let key = SealingKey::derive(&seed.try_into().unwrap());
    let public = "04fe8c19ce0905191ebc298a9245792531f26f0cece2460639e8bc39cb7f706a826a779b4cf969b8a0e539c7f62fb3d30ad6aa8f80e30f1d128aafd68a2ce72ea0";
    assert_eq!(key.point().to_vec(), hex(public), "pkRm");
    let enc = hex(
        "04a92719c6195d5085104f469a8b9814d5838ff72b60501e2c4466e5e67b325ac98536d7b61a1af4b78e5b7f951c0900be863c403ce65c9bfcb9382657222d18c4",
    );
    let ct =
        hex("5ad590bb8baa577f8619db35a36311226a896e7342a6d836d8b7bcd2f20b6c7f9076ac232e3ab2523f39513434");
    let plain = single_shot_open::<AesGcm128, HkdfSha256, DhP256HkdfSha256>(
        &OpModeR::Base,
        &key.secret,
        &Encapped::from_bytes(&enc).unwrap(),
        &hex("4f6465206f6e2061204772656369616e2055726e"),
        &ct,
        &hex("436f756e742d30"),
    );
    assert_eq!(plain.unwrap(), hex("4265617574792069732074727574682c20747275746820626561757479"));
}

struct Sides {
    world: World,
    a: Identity,
    b: Identity,
    keys: LockKeys,
}

fn sides() -> Sides {
    let world = World::new();
    let keys = LockKeys::new(vec![FleetSecret::new(&[7; 32]).unwrap()]);
    Sides { a: world.agent(A), b: world.agent(B), world, keys }
}

impl Sides {
    fn peer_key(&self, now: u64) -> PeerKey {
        let ours = &self.keys.sealing_keys(self.b.id(), now)[0];
        let stated = ours.state(&self.b, 86_400, &self.world.random, now).unwrap();
        PeerKey::stated(&stated, &self.world.trust(), now).unwrap()
    }

    fn hello(&self) -> (HelloSent, Carried) {
        let open = crate::InitiatorConfig { seal_to: Some(self.peer_key(NOW)), ..opening(&["payment:v2.0"]) };
        HelloSent::hello(open, &self.a, &self.world.random, NOW).unwrap()
    }

    fn hear(&self, hello: &Carried, now: u64) -> Result<ReceivedHello, HandshakeFault> {
        let between = HandshakeParties { peer: self.a.id(), me: self.b.id(), gateways: &[] };
        let keys = self.keys.sealing_keys(self.b.id(), now);
        ReceivedHello::hello(hello, &between, &keys, &self.world.trust(), &ReplayMemory::new(), NOW)
    }
}

#[test]
fn f0_47_hello_and_select_pass_sealed_and_show_nothing_of_what_is_offered() {
    let sides = sides();
    let (greeted, hello) = sides.hello();
    let Carried::Sealed(sealed) = &hello else { panic!("sealed") };
    assert_eq!((sealed.to_text().len() * 3 / 4 - POINT_BYTES - 16) % PADDING, 0, "padded");
    let received = sides.hear(&hello, NOW).unwrap();
    let (_, select) =
        received.select(&answering(&["payment:v2.0"]), &sides.b, &sides.world.random, NOW).unwrap();
    assert!(matches!(select, Carried::Sealed(_)));
    let chosen = greeted.select(&select, &sides.world.trust(), NOW).unwrap();
    assert_eq!(*chosen.urn(), urn("payment:v2.0"));
}

#[test]
fn an_open_answer_to_a_sealed_hello_and_a_sealed_one_to_an_open_hello_are_refused() {
    let sides = sides();
    let (greeted, hello) = sides.hello();
    let received = sides.hear(&hello, NOW).unwrap();
    let (_, sealed) =
        received.select(&answering(&["payment:v2.0"]), &sides.b, &sides.world.random, NOW).unwrap();
    let (open, plain) =
        HelloSent::hello(opening(&["payment:v2.0"]), &sides.a, &sides.world.random, NOW).unwrap();
    let trust = sides.world.trust();
    assert_eq!(open.select(&sealed, &trust, NOW).unwrap_err(), HandshakeFault::Sealing);
    let (_, select) = sides
        .hear(&plain, NOW)
        .unwrap()
        .select(&answering(&["payment:v2.0"]), &sides.b, &sides.world.random, NOW)
        .unwrap();
    assert_eq!(greeted.select(&select, &trust, NOW).unwrap_err(), HandshakeFault::Sealing);
}

#[test]
fn a_box_that_was_changed_or_is_of_another_kind_or_key_does_not_open() {
    let sides = sides();
    let (_, hello) = sides.hello();
    let Carried::Sealed(sealed) = hello else { panic!("sealed") };
    let key = &sides.keys.sealing_keys(sides.b.id(), NOW)[0];
    key.open(Kind::Hello, &sealed).unwrap();
    assert_eq!(key.open(Kind::Select, &sealed).unwrap_err(), HandshakeFault::CannotOpen);
    let mut changed = sealed.clone();
    *changed.ciphertext.last_mut().unwrap() ^= 1;
    assert_eq!(key.open(Kind::Hello, &changed).unwrap_err(), HandshakeFault::CannotOpen);
    let mut point = sealed.clone();
    point.encapped[64] ^= 1;
    assert_eq!(key.open(Kind::Hello, &point).unwrap_err(), HandshakeFault::CannotOpen, "off the curve");
    let other = SealingKey::generate(&sides.world.random).unwrap();
    assert_eq!(other.open(Kind::Hello, &sealed).unwrap_err(), HandshakeFault::UnknownSealingKey);
    let renamed = Sealed { key: other.id(), ..sealed };
    assert_eq!(other.open(Kind::Hello, &renamed).unwrap_err(), HandshakeFault::CannotOpen);
}

#[test]
fn a_key_opens_in_its_epoch_and_the_next_and_in_the_whole_fleet() {
    let sides = sides();
    let elsewhere = LockKeys::new(vec![FleetSecret::new(&[7; 32]).unwrap()]);
    let ids = |keys: &LockKeys, now| -> Vec<Digest> {
        keys.sealing_keys(sides.b.id(), now).iter().map(SealingKey::id).collect()
    };
    let (now, later) = (ids(&sides.keys, NOW), ids(&elsewhere, NOW + EPOCH_SECONDS));
    assert_eq!(now, ids(&elsewhere, NOW));
    assert_eq!(now[0], later[1]);
    assert!(!ids(&elsewhere, NOW + 2 * EPOCH_SECONDS).contains(&now[0]));
    let other = elsewhere.sealing_keys(sides.a.id(), NOW)[0].id();
    assert!(!now.contains(&other), "every agent has its own");
}

#[test]
fn a_key_statement_that_is_over_too_long_or_not_by_its_agent_is_refused() {
    let sides = sides();
    let key = SealingKey::generate(&sides.world.random).unwrap();
    let stated = |seconds, now| key.state(&sides.b, seconds, &sides.world.random, now).unwrap();
    let trust = sides.world.trust();
    let taken = |signed: &Signed, now| PeerKey::stated(signed, &trust, now).map(|key| key.agent().clone());
    assert_eq!(taken(&stated(600, NOW), NOW + 599), Ok(sides.b.id().clone()));
    assert_eq!(taken(&stated(600, NOW), NOW + 600), Err(HandshakeFault::TooOld));
    assert_eq!(taken(&stated(600, NOW + 11), NOW), Err(HandshakeFault::FromTheFuture));
    let long = KeyStatement {
        from: sides.b.id().clone(),
        issued_at: NOW,
        expires_at: NOW + MAX_SEALING_KEY_SECONDS + 1,
        key: key.point(),
    };
    let long = sides.b.sign(&long, &sides.world.random).unwrap();
    assert_eq!(taken(&long, NOW), Err(HandshakeFault::Expiry));
    let of_another =
        KeyStatement { from: sides.b.id().clone(), issued_at: NOW, expires_at: NOW + 60, key: key.point() };
    let of_another = sides.a.sign(&of_another, &sides.world.random).unwrap();
    assert_eq!(taken(&of_another, NOW), Err(HandshakeFault::SignerMismatch));
    // the key of one agent is no key for another
    let to_a = crate::InitiatorConfig { to: sides.a.id().clone(), ..opening(&["payment:v2.0"]) };
    let open = crate::InitiatorConfig { seal_to: Some(sides.peer_key(NOW)), ..to_a };
    let refused = HelloSent::hello(open, &sides.a, &sides.world.random, NOW).unwrap_err();
    assert_eq!(refused, HandshakeFault::ReceiverMismatch);
}
