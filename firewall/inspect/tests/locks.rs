//! Semantic sessions as the inspector honours them: a lock from a real handshake, and everything that ends or forbids it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use common::{NOW, agent_id, generation_with, library, route};
use semgate_certs::{
    ChainLimits, Family, Issuer, IssuingProfile, KeyPair, LeafProfile, PeerRoots, RootProfile, Roots,
    SpiffeId, TrustDomain,
};
use semgate_contexts::{Line, Performative, Prefix, Version};
use semgate_inspect::{Code, Generation, InspectLimits, Inspector, Now, Route};
use semgate_negotiation::{
    Asked, Endpoint, FleetSecret, HandshakeFault, Identity, Kind, LockKeys, Minimum, Opening, Session,
    Sessions, Trust, initiator::Greeted, read_message, write_message,
};
use semgate_policies::PolicySource;
use semgate_statement::{Act, SigningIdentity};
use std::sync::Arc;

const SNL: &str = "urn:contexts:snl:v1.0";

/// Certificates of the two agents, under one root.
struct Agents {
    roots: PeerRoots,
    random: ring::rand::SystemRandom,
    issuer: Issuer,
}

impl Agents {
    fn new() -> Agents {
        let random = ring::rand::SystemRandom::new();
        let key = || KeyPair::generate(&random).unwrap();
        let since = NOW.unix - 3_600;
        let root = Issuer::root(&RootProfile::new("root", since), key(), &random).unwrap();
        let issuing = IssuingProfile::new("agents", Family::Tls, since);
        let issuer = root.issuing(&issuing, key(), &random).unwrap();
        let trusted = Roots::from_der(root.chain().certificates().to_vec(), &ChainLimits::default()).unwrap();
        let roots = PeerRoots::new().with(TrustDomain::parse("semgate.test").unwrap(), trusted);
        Agents { roots, random, issuer }
    }

    fn identity(&self, name: &str) -> Identity {
        let id = SpiffeId::parse(&agent_id(name)).unwrap();
        let key = KeyPair::generate(&self.random).unwrap();
        let profile = LeafProfile::agent(id, NOW.unix - 600);
        let chain = self.issuer.leaf(&profile, key.public(), &self.random).unwrap();
        let trust = Trust { roots: &self.roots, prefix: &Prefix::default() };
        Identity::new(SigningIdentity::new(key, chain), &trust, &self.random, NOW.unix).unwrap()
    }
}

struct Stage {
    agents: Agents,
    sessions: Arc<Sessions>,
    inspector: Inspector,
    route: Arc<Route>,
}

fn stage_of(generation: Generation) -> Stage {
    let sessions = Arc::new(Sessions::new(LockKeys::new(vec![FleetSecret::new(&[7; 32]).unwrap()])));
    let inspector = Inspector::new(InspectLimits::default(), generation).with_sessions(Arc::clone(&sessions));
    Stage { agents: Agents::new(), sessions, inspector, route: route("l8") }
}

fn stage() -> Stage {
    stage_of(common::generation(&mut library()))
}

impl Stage {
    /// HELLO to the lock between `name` and the agent behind the route, as the gateway answers it.
    fn shake_hands(
        &self,
        name: &str,
        open: &[&str],
        minimums: Vec<Minimum>,
    ) -> Result<Session, HandshakeFault> {
        let (a, prefix) = (self.agents.identity(name), Prefix::default());
        let endpoint = Endpoint::new(self.agents.identity("wholesaler-1"));
        let generation = self.inspector.generation();
        let answering = generation.answering(&self.route, a.id().as_str(), NOW.unix);
        let trust = Trust { roots: &self.agents.roots, prefix: &prefix };
        let asked = Asked {
            peer: a.id(),
            route: &self.route.name,
            answering: &answering,
            trust,
            sessions: &self.sessions,
            context: SNL,
            random: &self.agents.random,
            now: NOW.unix,
        };
        let view = generation.views().remove(0);
        let contexts = open.iter().map(|short| {
            let urn = semgate_contexts::ContextUrn::parse_short(short, &prefix).unwrap();
            let digest = view.loaded(&urn).unwrap().digest;
            semgate_negotiation::Offer { urn, digest, features: semgate_negotiation::Features::none() }
        });
        let opening =
            Opening { to: endpoint.id().clone(), contexts: contexts.collect(), minimums, seal_to: None };
        let say = |kind, carried: &_| {
            let parties = (a.id(), endpoint.id());
            write_message(kind, carried, Performative::Request, parties, SNL, "m-1").unwrap()
        };
        let (greeted, hello) = Greeted::hello(opening, &a, &self.agents.random, NOW.unix)?;
        let select = endpoint.answer(&say(Kind::Hello, &hello), &asked)?;
        let chosen = greeted.select(&read_message(&select.body, SNL)?.carried, &trust, NOW.unix)?;
        let (closing, lock) = chosen.lock(&a, 300, &self.agents.random, NOW.unix)?;
        let granted = endpoint.answer(&say(Kind::Lock, &lock), &asked)?;
        closing.granted(&read_message(&granted.body, SNL)?.carried, NOW.unix)
    }

    fn transfer(
        &self,
        sender: &str,
        context: &str,
        lock: Option<&str>,
        now: Now,
    ) -> Result<(), (Code, String)> {
        let mut message = serde_json::json!({
            "protocol": "L8/1.0", "message_id": "m-2", "performative": "REQUEST",
            "sender_id": agent_id(sender), "receiver_id": agent_id("wholesaler-1"), "context": context,
            "content": {"concept_type": "transfer", "sender_id": "a", "receiver_id": "b", "amount": 10, "currency": "EUR"},
        });
        if let Some(lock) = lock {
            message["lock"] = lock.into();
        }
        let said = common::say(&self.inspector, &self.route, sender, message.to_string(), now);
        said.map(drop).map_err(|refusal| (refusal.code(), refusal.detail().to_owned()))
    }
}

fn at(seconds: u64) -> Now {
    Now { unix: NOW.unix + seconds, ..NOW }
}

#[test]
fn f0_22_a_message_with_the_lock_of_a_handshake_passes_and_needs_no_other() {
    let stage = stage();
    let session = stage.shake_hands("retailer-7", &["payment:v1.1", "payment:v2.0"], vec![]).unwrap();
    assert_eq!(session.choice.urn.short(), "payment:v2.0");
    stage.transfer("retailer-7", "urn:contexts:payment:v2.0", Some(&session.lock), NOW).unwrap();
}

#[test]
fn a_lock_is_good_for_its_pair_context_and_time_only() {
    let stage = stage();
    let session = stage.shake_hands("retailer-7", &["payment:v2.0"], vec![]).unwrap();
    let v2 = "urn:contexts:payment:v2.0";
    let refused = stage.transfer("courier-5", v2, Some(&session.lock), NOW).unwrap_err();
    assert_eq!(refused.0, Code::LockMismatch, "lock of another pair: {refused:?}");
    let refused =
        stage.transfer("retailer-7", "urn:contexts:payment:v1.1", Some(&session.lock), NOW).unwrap_err();
    assert_eq!(refused.0, Code::LockMismatch, "lock of another context");
    let refused = stage.transfer("retailer-7", v2, Some("v1.20605-b1e4ab38.1.AA.AA"), NOW).unwrap_err();
    assert_eq!(refused.0, Code::LockMismatch, "forged");
    let mut other = stage;
    let mut named = Route::clone(&other.route);
    named.name = "another".to_owned();
    other.route = Arc::new(named);
    let refused = other.transfer("retailer-7", v2, Some(&session.lock), NOW).unwrap_err();
    assert_eq!(refused.0, Code::LockMismatch, "other route");
}

#[test]
fn a_lock_ends_at_its_expiry() {
    let stage = stage();
    let session = stage.shake_hands("retailer-7", &["payment:v2.0"], vec![]).unwrap();
    let v2 = "urn:contexts:payment:v2.0";
    stage.transfer("retailer-7", v2, Some(&session.lock), at(299)).unwrap();
    let refused = stage.transfer("retailer-7", v2, Some(&session.lock), at(300)).unwrap_err();
    assert_eq!((refused.0, refused.1.as_str()), (Code::LockMismatch, "the lock is over"));
}

#[test]
fn a_lock_after_revocation_lets_nothing_pass() {
    let mut authority = library();
    let stage = stage_of(common::generation(&mut authority));
    let session = stage.shake_hands("retailer-7", &["payment:v2.0"], vec![]).unwrap();
    let mut follower = authority.follower();
    authority.change(Act::Revoke, "payment:v2.0");
    authority.follow(&mut follower).unwrap();
    stage.inspector.swap(generation_with(follower.view(), &PolicySource::shipped(), &[]));
    let refused =
        stage.transfer("retailer-7", "urn:contexts:payment:v2.0", Some(&session.lock), NOW).unwrap_err();
    assert_eq!(refused.0, Code::ContextRevoked);
}

#[test]
fn a_lock_below_a_floor_that_was_raised_lets_nothing_pass() {
    let mut authority = library();
    let stage = stage_of(common::generation(&mut authority));
    let session = stage.shake_hands("retailer-7", &["payment:v1.1"], vec![]).unwrap();
    authority.floor("payment", "v2.0");
    stage.inspector.swap(common::generation(&mut authority));
    let refused =
        stage.transfer("retailer-7", "urn:contexts:payment:v1.1", Some(&session.lock), NOW).unwrap_err();
    assert_eq!(refused.0, Code::ContextBelowFloor);
}

#[test]
fn f0_39_a_minimum_of_the_handshake_binds_the_unlocked_messages_of_its_pair() {
    let stage = stage();
    let v1 = "urn:contexts:payment:v1.1";
    stage.transfer("retailer-7", v1, None, NOW).unwrap();
    let min = Minimum { line: Line::parse("payment").unwrap(), min: Version::new(2, 0) };
    stage.shake_hands("retailer-7", &["payment:v1.1", "payment:v2.0"], vec![min]).unwrap();
    let refused = stage.transfer("retailer-7", v1, None, NOW).unwrap_err();
    assert_eq!(refused.0, Code::ContextBelowFloor);
    assert!(refused.1.contains("set by the peer"), "{}", refused.1);
    stage.transfer("courier-5", v1, None, NOW).unwrap();
}

#[test]
fn a_minimum_of_the_handshake_holds_for_what_the_named_context_refers_to_too() {
    let mut authority = library();
    let wrap = authority.referring("supplyChain:v1.1", &[("payment:v1.1", "transfer")]);
    authority.publish(&wrap);
    let stage = stage_of(common::generation(&mut authority));
    let say = || {
        let message = serde_json::json!({
            "protocol": "L8/1.0", "message_id": "m-2", "performative": "REQUEST",
            "sender_id": agent_id("retailer-7"), "receiver_id": agent_id("wholesaler-1"),
            "context": "urn:contexts:supplyChain:v1.1", "content": {"concept_type": "pair"},
        });
        let said = common::say(&stage.inspector, &stage.route, "retailer-7", message.to_string(), NOW);
        said.map(drop).map_err(|refusal| (refusal.code(), refusal.detail().to_owned())).unwrap_err()
    };
    // the policies were not typed with the concept: so far the context counts
    assert_eq!(say().0, Code::PolicyError);
    let min = Minimum { line: Line::parse("payment").unwrap(), min: Version::new(2, 0) };
    stage.shake_hands("retailer-7", &["payment:v2.0"], vec![min]).unwrap();
    let refused = say();
    assert_eq!(refused.0, Code::ContextBelowFloor);
    assert!(refused.1.contains("payment:v1.1") && refused.1.contains("set by the peer"), "{}", refused.1);
}

#[test]
fn a_route_that_requires_locks_takes_no_message_without() {
    let mut stage = stage();
    let mut strict = Route::clone(&stage.route);
    strict.options.require_lock = true;
    stage.route = Arc::new(strict);
    let v2 = "urn:contexts:payment:v2.0";
    assert_eq!(stage.transfer("retailer-7", v2, None, NOW).unwrap_err().0, Code::LockMismatch);
    let session = stage.shake_hands("retailer-7", &["payment:v2.0"], vec![]).unwrap();
    stage.transfer("retailer-7", v2, Some(&session.lock), NOW).unwrap();
}

/// The handshake takes the path of every message: its schema and a policy must let it pass before the endpoint sees it.
#[test]
fn a_handshake_is_judged_like_any_message_before_it_is_answered() {
    let stage = stage();
    let route = Arc::new(stage.inspector.generation().handshake_route(&route("a2a")));
    let hello = |sender: &str, content: serde_json::Value| {
        let message = serde_json::json!({
            "protocol": "L8/1.0", "message_id": "m-1", "performative": "REQUEST", "context": SNL,
            "sender_id": agent_id(sender), "receiver_id": agent_id("wholesaler-1"), "content": content,
        });
        let said = common::say(&stage.inspector, &route, sender, message.to_string(), NOW);
        said.map(drop).map_err(|refusal| refusal.code())
    };
    let signed = serde_json::json!({"concept_type": "HELLO", "jws": "e30.e30.AAAA", "x5c": ["MIIB"]});
    assert_eq!(hello("retailer-7", signed.clone()), Ok(()));
    assert_eq!(hello("operator", signed.clone()), Err(Code::PolicyDenied));
    let mut more = signed;
    more["url"] = "https://elsewhere.example".into();
    assert_eq!(hello("retailer-7", more), Err(Code::ContentInvalid));
    let other = serde_json::json!({"concept_type": "transfer", "amount": 1});
    assert_eq!(hello("retailer-7", other), Err(Code::ConceptUndefined));
}

#[test]
fn deprecated_revoked_and_forbidden_contexts_are_never_newly_selected() {
    let mut authority = library();
    authority.change(Act::Retire, "payment:v2.0");
    let stage = stage_of(common::generation(&mut authority));
    let session = stage.shake_hands("retailer-7", &["payment:v1.1", "payment:v2.0"], vec![]).unwrap();
    assert_eq!(session.choice.urn.short(), "payment:v1.1", "a deprecated one is not selected");
    let refused = stage.shake_hands("retailer-7", &["payment:v1.0"], vec![]).unwrap_err();
    assert_eq!(refused.code(), "context_below_floor", "the authority's floor");
    let refused = stage.shake_hands("nobody", &["payment:v1.1"], vec![]).unwrap_err();
    assert_eq!(refused.code(), "context_unknown", "no policy lets this sender use the line");
}
