use super::*;
use crate::tests::{A, AUTHORITY, B, NOW, fuzz_cases, minimum, spiffe, urn};
use crate::{Features, Minimum};
use proptest::prelude::*;
use ring::rand::SystemRandom;

const ROUTE: &str = "orders";

fn agreement() -> Agreement {
    Agreement {
        initiator: spiffe(A),
        responder: spiffe(B),
        urn: urn("payment:v1.1"),
        digest: Digest::of(b"payment:v1.1"),
        features: Features::sorted(["iban"]).unwrap(),
        minimums: [vec![minimum("payment", "v1.0")], Vec::new()],
        stated_at: [Some(NOW), Some(NOW)],
        transcript: Digest::of(b"transcript"),
        expires_at: NOW + 3_600,
    }
}

fn keys() -> LockKeys {
    LockKeys::new(vec![FleetSecret::new(&[7; 32]).unwrap()])
}

struct LockCase {
    lock: String,
    initiator: String,
    responder: String,
    route: String,
    authority: String,
    urn: ContextUrn,
    digest: Digest,
    now: u64,
}

impl LockCase {
    fn of(granted: &Granted) -> LockCase {
        let agreement = agreement();
        LockCase {
            lock: granted.lock.clone(),
            initiator: A.to_owned(),
            responder: B.to_owned(),
            route: ROUTE.to_owned(),
            authority: AUTHORITY.to_owned(),
            urn: agreement.urn,
            digest: agreement.digest,
            now: NOW,
        }
    }

    fn ask(&self, keys: &LockKeys) -> Result<u64, LockFault> {
        let question = LockQuestion {
            lock: &self.lock,
            initiator: &self.initiator,
            responder: &self.responder,
            route: &self.route,
            authority: &self.authority,
            urn: &self.urn,
            digest: &self.digest,
            now: self.now,
        };
        keys.verify(&question).map(|held| held.expires_at())
    }
}

fn granted(keys: &LockKeys) -> Granted {
    keys.grant(&agreement(), ROUTE, AUTHORITY, NOW).unwrap()
}

#[test]
fn a_lock_holds_until_its_end_in_every_gateway_of_the_fleet() {
    let granted = granted(&keys());
    assert_eq!(granted.expires_at, NOW + 3_600);
    assert!(granted.lock.len() <= crate::limits::MAX_LOCK_CHARS);
    assert!(granted.lock.bytes().all(|b| b.is_ascii_graphic() && !b"\"\\<>".contains(&b)));
    // another process with the same secret, and no memory of anything
    let elsewhere = keys();
    let mut asked = LockCase::of(&granted);
    assert_eq!(asked.ask(&elsewhere), Ok(NOW + 3_600));
    asked.now = NOW + 3_599;
    assert_eq!(asked.ask(&elsewhere), Ok(NOW + 3_600));
    asked.now = NOW + 3_600;
    assert_eq!(asked.ask(&elsewhere), Err(LockFault::Expired));
}

#[test]
fn a_lock_of_another_pair_is_refused() {
    let keys = keys();
    let mut asked = LockCase::of(&granted(&keys));
    asked.initiator = "spiffe://semgate.test/agent/public-webapp-3".to_owned();
    assert_eq!(asked.ask(&keys), Err(LockFault::Tag));
    let mut asked = LockCase::of(&granted(&keys));
    asked.responder = "spiffe://semgate.test/agent/wholesaler-2".to_owned();
    assert_eq!(asked.ask(&keys), Err(LockFault::Tag));
}

#[test]
fn a_lock_with_the_roles_swapped_is_refused() {
    let keys = keys();
    let mut asked = LockCase::of(&granted(&keys));
    std::mem::swap(&mut asked.initiator, &mut asked.responder);
    assert_eq!(asked.ask(&keys), Err(LockFault::Tag));
}

#[test]
fn a_lock_on_another_route_or_of_another_authority_or_context_is_refused() {
    let keys = keys();
    let granted = granted(&keys);
    type Change = fn(&mut LockCase);
    let changes: &[Change] = &[
        |asked| asked.route = "refunds".to_owned(),
        |asked| asked.authority = "other.test".to_owned(),
        |asked| asked.urn = urn("payment:v2.0"),
        |asked| asked.digest = Digest::of(b"another document"),
        // what stands at the end of one part is not the beginning of the next
        |asked| {
            asked.route = "order".to_owned();
            asked.authority = format!("s{AUTHORITY}");
        },
    ];
    for change in changes {
        let mut asked = LockCase::of(&granted);
        change(&mut asked);
        assert_eq!(asked.ask(&keys), Err(LockFault::Tag));
    }
}

#[test]
fn tampered_features_minimums_transcript_or_expiry_are_refused() {
    let keys = keys();
    let asked = LockCase::of(&granted(&keys));
    let honest = LockText::parse(&asked.lock).unwrap();
    type Change = fn(&mut Agreement);
    let changes: &[Change] = &[
        |agreement| agreement.features = Features::none(),
        |agreement| agreement.minimums = [Vec::new(), vec![minimum("payment", "v1.0")]],
        |agreement| agreement.transcript = Digest::of(b"another"),
    ];
    for change in changes {
        let mut other = agreement();
        change(&mut other);
        assert_ne!(other.session(), honest.session, "each is bound by the lock");
        let forged = LockText { session: other.session(), ..LockText::parse(&asked.lock).unwrap() };
        let asked = LockCase { lock: forged.to_string(), ..LockCase::of(&granted(&keys)) };
        assert_eq!(asked.ask(&keys), Err(LockFault::Tag));
    }
    let longer = LockText { expires_at: honest.expires_at + 1, ..LockText::parse(&asked.lock).unwrap() };
    let asked = LockCase { lock: longer.to_string(), ..asked };
    assert_eq!(asked.ask(&keys), Err(LockFault::Tag));
}

#[test]
fn an_unknown_key_and_an_epoch_that_is_over_are_refused() {
    let other = LockKeys::new(vec![FleetSecret::new(&[8; 32]).unwrap()]);
    let asked = LockCase::of(&granted(&keys()));
    assert_eq!(asked.ask(&other), Err(LockFault::UnknownKey));
    assert_eq!(asked.ask(&LockKeys::none()), Err(LockFault::NoKeys));
    for (days, expected) in [(0, Ok(())), (1, Err(LockFault::Expired)), (2, Err(LockFault::Epoch))] {
        let asked = LockCase { now: NOW + days * EPOCH_SECONDS, ..LockCase::of(&granted(&keys())) };
        assert_eq!(asked.ask(&keys()).map(drop), expected, "{days}");
    }
    let ahead = LockText { epoch: NOW / EPOCH_SECONDS + 1, ..LockText::parse(&asked.lock).unwrap() };
    let asked = LockCase { lock: ahead.to_string(), ..asked };
    assert_eq!(asked.ask(&keys()), Err(LockFault::Epoch));
}

/// A lock made in the last second of an epoch holds to its end, on gateways whose clocks differ by the skew.
#[test]
fn a_lock_lives_across_the_change_of_epochs() {
    let (early, keys) = (NOW / EPOCH_SECONDS * EPOCH_SECONDS + EPOCH_SECONDS - 1, keys());
    let long = Agreement { expires_at: early + 10 * EPOCH_SECONDS, ..agreement() };
    let granted = keys.grant(&long, ROUTE, AUTHORITY, early).unwrap();
    assert_eq!(granted.expires_at, early + MAX_LOCK_SECONDS, "no lock lives longer");
    for now in [early - CLOCK_SKEW_SECONDS, early, early + 1, early + MAX_LOCK_SECONDS - 1] {
        let asked = LockCase { now, ..LockCase::of(&granted) };
        assert_eq!(asked.ask(&keys), Ok(granted.expires_at), "{now}");
    }
    // by a gateway that is in the next epoch already
    let ahead = keys.grant(&agreement(), ROUTE, AUTHORITY, early + 1).unwrap_err();
    assert_eq!(ahead, LockFault::Expired, "the agreement of the test ends before");
    let granted = keys.grant(&long, ROUTE, AUTHORITY, early + 1).unwrap();
    assert_eq!(LockCase { now: early, ..LockCase::of(&granted) }.ask(&keys).map(drop), Ok(()));
}

#[test]
fn a_fleet_changes_its_secret_without_ending_its_sessions() {
    let old = granted(&keys());
    let both = FleetSecret::read_file(
        "CAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg\nBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc\n",
    );
    let both = LockKeys::new(both.unwrap());
    assert_eq!(LockCase::of(&old).ask(&both).map(drop), Ok(()));
    let new = granted(&both);
    assert_eq!(LockCase::of(&new).ask(&both).map(drop), Ok(()));
    assert_eq!(LockCase::of(&new).ask(&keys()), Err(LockFault::UnknownKey));
}

#[test]
fn secret_files_that_are_none_are_refused() {
    for (text, fault) in [
        ("", SecretFault::Lines),
        ("a\nb\nc", SecretFault::Lines),
        ("not base64!", SecretFault::Encoding),
        ("AAAA", SecretFault::Length),
        ("\n", SecretFault::Length),
        // nobody drew it
        ("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n", SecretFault::Zeros),
    ] {
        assert_eq!(FleetSecret::read_file(text).unwrap_err(), fault, "{text:?}");
    }
    let random = SystemRandom::new();
    let (one, other) = (FleetSecret::random(&random).unwrap(), FleetSecret::random(&random).unwrap());
    assert_ne!(one.fingerprint(1), other.fingerprint(1));
}

#[test]
fn texts_that_are_no_locks_are_refused_by_their_form() {
    let keys = keys();
    let good = granted(&keys).lock;
    let parts: Vec<&str> = good.split('.').collect();
    let joined = |n: usize, part: &str| {
        let mut parts = parts.clone();
        parts[n] = part;
        parts.join(".")
    };
    let far = (NOW + 2 * EPOCH_SECONDS).to_string();
    let texts = [
        String::new(),
        "lock-1".to_owned(),
        format!("{good}."),
        format!("{good}="),
        format!(" {good}"),
        joined(0, "v2"),
        joined(1, "20605"),
        joined(1, "020605-00000000"),
        joined(1, "20605-0000000G"),
        joined(1, "20605-ABCDEF00"),
        joined(2, "+1780275600"),
        joined(2, &far),
        joined(3, "AAAA"),
        joined(4, &parts[4][..42]),
        "v1.".repeat(100),
    ];
    for text in texts {
        let asked = LockCase { lock: text.clone(), ..LockCase::of(&granted(&keys)) };
        assert_eq!(asked.ask(&keys), Err(LockFault::Form), "{text}");
    }
}

#[test]
fn keys_of_past_epochs_are_not_kept() {
    let keys = keys();
    for day in 0..50 {
        let now = NOW + day * EPOCH_SECONDS;
        let long = Agreement { expires_at: now + 60, ..agreement() };
        keys.grant(&long, ROUTE, AUTHORITY, now).unwrap();
    }
    assert!(keys.derived.load().len() <= 3);
}

/// The vector of `docs/spec/locks.md`: what [`agreement`] says, under a secret of 32 bytes 7.
#[test]
fn the_vector_of_the_specification() {
    let granted = granted(&keys());
    let page = include_str!("../../../../docs/spec/locks.md");
    assert!(page.contains(&granted.lock), "{}", granted.lock);
    let none: [Vec<Minimum>; 2] = Default::default();
    assert_ne!(Agreement { minimums: none, ..agreement() }.session(), agreement().session());
}

proptest! {
    #![proptest_config(fuzz_cases())]

    #[test]
    fn fuzz_a_changed_lock_never_holds(at in any::<prop::sample::Index>(), byte in 0x20_u8..0x7f) {
        let keys = keys();
        let granted = granted(&keys);
        let mut bytes = granted.lock.clone().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let lock = String::from_utf8(bytes).unwrap();
        prop_assume!(lock != granted.lock);
        let asked = LockCase { lock, ..LockCase::of(&granted) };
        prop_assert!(asked.ask(&keys).is_err());
    }

    #[test]
    fn fuzz_random_texts_are_no_locks(text in ".{0,300}") {
        prop_assert!(LockText::parse(&text).is_none());
    }
}
