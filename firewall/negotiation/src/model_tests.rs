//! The choice of an embedding model: HELLO offers models, SELECT names one, the lock carries it (F0-52).

use crate::initiator::HelloSent;
use crate::lock::model_of;
use crate::responder::{ReceivedHello, ReceivedLock};
use crate::tests::*;
use crate::*;
use semgate_contexts::ModelName;

const LARGE: &str = "embedding:acme/large";
const MINI: &str = "embedding:acme/mini";

fn model(name: &str) -> ModelName {
    ModelName::parse(name).unwrap()
}

/// HELLO to LOCK with these features on both sides, and the session by the choice that `tamper` made of the responder's.
fn session(
    initiator: &[&str],
    responder: &[&str],
    tamper: impl Fn(Granted) -> Granted,
) -> Result<(Session, Agreement), HandshakeFault> {
    let world = World::new();
    let (a, b, replay) = (world.agent(A), world.agent(B), ReplayMemory::new());
    let between = HandshakeParties { peer: a.id(), me: b.id(), gateways: &[] };
    let mut open = opening(&[]);
    open.contexts = vec![with_features("search:v1.0", initiator)];
    let mut ours = answering(&["search:v1.0"]);
    ours.contexts[0].offer = with_features("search:v1.0", responder);
    let (greeted, hello) = HelloSent::hello(open, &a, &world.random, NOW)?;
    let received = ReceivedHello::hello(&hello, &between, &[], &world.trust(), &replay, NOW)?;
    let (waiting, select) = received.select(&ours, &b, &world.random, NOW)?;
    let chosen = greeted.select(&select, &world.trust(), NOW)?;
    let (closing, lock) = chosen.lock(&a, 3_600, &world.random, NOW)?;
    let agreement = waiting.lock(&ReceivedLock::lock(&lock, &between, &world.trust(), &replay, NOW)?, NOW)?;
    let keys = LockKeys::new(vec![FleetSecret::new(&[7; 32]).unwrap()]);
    let granted = keys.grant(&agreement, "search", AUTHORITY, NOW)?;
    let session = closing.granted(&Carried::Granted(tamper(granted)), NOW)?;
    Ok((session, agreement))
}

fn verified(agreement: &Agreement, lock: &str) -> Result<VerifiedLock, LockFault> {
    let keys = LockKeys::new(vec![FleetSecret::new(&[7; 32]).unwrap()]);
    keys.verify(&LockQuestion {
        lock,
        initiator: A,
        responder: B,
        route: "search",
        authority: AUTHORITY,
        urn: agreement.urn(),
        digest: agreement.digest(),
        now: NOW,
    })
}

#[test]
fn f0_52_hello_to_lock_with_a_choice_of_one_model() {
    let (session, agreement) = session(&["batch", LARGE, MINI], &[LARGE, MINI], |granted| granted).unwrap();
    // of two in common, the first by name
    assert_eq!(session.choice, with_features("search:v1.0", &[LARGE]));
    assert_eq!((session.model(), agreement.model()), (Some(model("acme/large")), Some(model("acme/large"))));
    assert!(session.lock.starts_with("v2.") && session.lock.len() <= 256, "{}", session.lock);
    let held = verified(&agreement, &session.lock).unwrap();
    assert_eq!((held.model(), held.expires_at()), (Some(model("acme/large")), NOW + 3_600));
    assert_eq!(model_of(&session.lock), held.model());
}

#[test]
fn a_side_without_models_leads_to_a_session_without_one() {
    for (initiator, responder) in [(&[MINI][..], &["batch"][..]), (&["batch"], &[MINI]), (&[MINI], &[LARGE])]
    {
        let (session, agreement) = session(initiator, responder, |granted| granted).unwrap();
        assert_eq!((session.model(), agreement.model()), (None, None));
        assert!(session.lock.starts_with("v1."));
        assert_eq!(verified(&agreement, &session.lock).unwrap().model(), None);
    }
}

#[test]
fn attack_a_lock_that_names_another_model_or_none_does_not_hold() {
    let (good, agreement) = session(&[LARGE, MINI], &[MINI], |granted| granted).unwrap();
    let parts: Vec<&str> = good.lock.split('.').collect();
    let [_, key, end, about, named, tag] = parts[..] else { panic!("{}", good.lock) };
    let other = semgate_certs::encoding::to_base64url("acme/large");
    for lock in [format!("v2.{key}.{end}.{about}.{other}.{tag}"), format!("v1.{key}.{end}.{about}.{tag}")] {
        assert_eq!(verified(&agreement, &lock).unwrap_err(), LockFault::Tag, "{lock}");
    }
    for lock in [
        format!("v1.{key}.{end}.{about}.{named}.{tag}"),
        format!("v2.{key}.{end}.{about}.{tag}"),
        format!("v2.{key}.{end}.{about}..{tag}"),
        format!("v2.{key}.{end}.{about}.LWE.{tag}"),
        format!("v3.{key}.{end}.{about}.{named}.{tag}"),
        format!("v2.{key}.{end}.{about}.{named}.{tag}.{tag}"),
    ] {
        assert_eq!(verified(&agreement, &lock).unwrap_err(), LockFault::Form, "{lock}");
    }
}

#[test]
fn attack_an_answer_whose_lock_names_another_model_than_was_chosen_is_refused() {
    let renamed = |granted: Granted| {
        let parts: Vec<&str> = granted.lock.split('.').collect();
        let [form, key, end, about, _, tag] = parts[..] else { panic!() };
        let other = semgate_certs::encoding::to_base64url("acme/large");
        Granted { lock: format!("{form}.{key}.{end}.{about}.{other}.{tag}"), ..granted }
    };
    let fault = session(&[LARGE, MINI], &[MINI], renamed).unwrap_err();
    assert_eq!((fault, fault.code()), (HandshakeFault::OtherSession, "lock_mismatch"));
}

#[test]
fn a_choice_of_two_models_is_refused_and_a_feature_that_names_none_is_no_feature() {
    let two = Features::sorted([LARGE, MINI]).unwrap();
    assert_eq!(two.model(), Err(FeaturesFault::SeveralModels));
    assert_eq!(HandshakeFault::Features(FeaturesFault::SeveralModels).code(), "lock_mismatch");
    assert_eq!(Features::sorted(["embedding:"]), Err(FeaturesFault::Name));
    assert_eq!(Features::sorted(["embedding:-x"]), Err(FeaturesFault::Name));
    let models = ["acme/mini", "acme/large"].map(model);
    assert_eq!(Features::of_models(models).unwrap(), two);
}

/// A responder of an earlier version, which does not know that one model is to be chosen.
#[test]
fn an_older_responder_that_chooses_every_common_model_is_refused_by_the_initiator() {
    let world = World::new();
    let (a, b, replay) = (world.agent(A), world.agent(B), ReplayMemory::new());
    let mut open = opening(&[]);
    open.contexts = vec![with_features("search:v1.0", &[LARGE, MINI])];
    let (greeted, hello) = HelloSent::hello(open, &a, &world.random, NOW).unwrap();
    let between = HandshakeParties { peer: a.id(), me: b.id(), gateways: &[] };
    let received = ReceivedHello::hello(&hello, &between, &[], &world.trust(), &replay, NOW).unwrap();
    let (waiting, _) = received.select(&answering(&["search:v1.0"]), &b, &world.random, NOW).unwrap();
    let mut select = waiting.select.clone();
    select.choice.features = Features::sorted([LARGE, MINI]).unwrap();
    let signed = b.sign(&select, &world.random).unwrap();
    let Err(fault) = greeted.select(&Carried::Signed(signed), &world.trust(), NOW) else {
        panic!("accepted")
    };
    assert_eq!(
        (fault, fault.code()),
        (HandshakeFault::Features(FeaturesFault::SeveralModels), "lock_mismatch")
    );
}

proptest::proptest! {
    #![proptest_config(fuzz_cases())]

    #[test]
    fn fuzz_a_lock_with_a_model_has_one_text(text in "v[12]\\.[0-9a-f.A-Za-z_-]{0,120}") {
        if let Some(name) = model_of(&text) {
            let parts: Vec<&str> = text.split('.').collect();
            let written = semgate_certs::encoding::to_base64url(name.as_str());
            proptest::prop_assert_eq!(parts.get(4).copied(), Some(written.as_str()));
        }
    }
}
