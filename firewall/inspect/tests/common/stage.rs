//! Two agents, a route, and the handshake between them as the gateway answers it.

use super::common::{NOW, agent_id, route};
use semgate_certs::{
    ChainLimits, Family, Issuer, IssuingProfile, KeyPair, LeafProfile, PeerRoots, RootProfile, Roots,
    SpiffeId, TrustDomain,
};
use semgate_contexts::{Performative, Prefix};
use semgate_inspect::{Generation, InspectLimits, Inspector, Route};
use semgate_negotiation::{
    Endpoint, FleetSecret, HandshakeFault, HandshakeRequest, Identity, InitiatorConfig, Kind, LockKeys,
    Minimum, Session, Sessions, Trust, initiator::HelloSent, read_message, write_message,
};
use semgate_statement::SigningIdentity;
use std::sync::Arc;

pub const SNL: &str = "urn:contexts:snl:v1.0";

/// Certificates of the two agents, under one root.
pub struct Agents {
    pub roots: PeerRoots,
    pub random: ring::rand::SystemRandom,
    issuer: Issuer,
}

impl Agents {
    pub fn new() -> Agents {
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

    pub fn identity(&self, name: &str) -> Identity {
        let id = SpiffeId::parse(&agent_id(name)).unwrap();
        let key = KeyPair::generate(&self.random).unwrap();
        let profile = LeafProfile::agent(id, NOW.unix - 600);
        let chain = self.issuer.leaf(&profile, key.public(), &self.random).unwrap();
        let trust = Trust { roots: &self.roots, prefix: &Prefix::default() };
        Identity::new(SigningIdentity::new(key, chain), &trust, &self.random, NOW.unix).unwrap()
    }
}

pub struct Stage {
    pub agents: Agents,
    pub sessions: Arc<Sessions>,
    pub inspector: Inspector,
    pub route: Arc<Route>,
}

pub fn stage_of(generation: Generation, limits: InspectLimits) -> Stage {
    let sessions = Arc::new(Sessions::new(LockKeys::new(vec![FleetSecret::new(&[7; 32]).unwrap()])));
    let inspector = Inspector::new(limits, generation).with_sessions(Arc::clone(&sessions));
    Stage { agents: Agents::new(), sessions, inspector, route: route("l8") }
}

impl Stage {
    /// HELLO to the lock between `name` and the route's upstream agent, as the gateway answers it.
    pub fn shake_hands(
        &self,
        name: &str,
        open: &[&str],
        minimums: Vec<Minimum>,
    ) -> Result<Session, HandshakeFault> {
        self.shake_hands_with(name, open, minimums, &semgate_negotiation::Features::none())
    }

    /// The same with features of every offer.
    pub fn shake_hands_with(
        &self,
        name: &str,
        open: &[&str],
        minimums: Vec<Minimum>,
        features: &semgate_negotiation::Features,
    ) -> Result<Session, HandshakeFault> {
        let (a, prefix) = (self.agents.identity(name), Prefix::default());
        let endpoint = Endpoint::new(self.agents.identity("wholesaler-1")).standing_in();
        let generation = self.inspector.generation();
        let answering = generation.answering(&self.route, a.id().as_str(), NOW.unix);
        let trust = Trust { roots: &self.agents.roots, prefix: &prefix };
        let asked = HandshakeRequest {
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
            semgate_negotiation::Offer { urn, digest, features: features.clone() }
        });
        let opening = InitiatorConfig {
            to: endpoint.id().clone(),
            contexts: contexts.collect(),
            minimums,
            seal_to: None,
        };
        let say = |kind, carried: &_| {
            let parties = (a.id(), endpoint.id());
            write_message(kind, carried, Performative::Request, parties, SNL, "m-1").unwrap()
        };
        let (greeted, hello) = HelloSent::hello(opening, &a, &self.agents.random, NOW.unix)?;
        let select = endpoint.answer(&say(Kind::Hello, &hello), &asked)?;
        let chosen = greeted.select(&read_message(&select.body, SNL)?.carried, &trust, NOW.unix)?;
        let (closing, lock) = chosen.lock(&a, 300, &self.agents.random, NOW.unix)?;
        let granted = endpoint.answer(&say(Kind::Lock, &lock), &asked)?;
        closing.granted(&read_message(&granted.body, SNL)?.carried, NOW.unix)
    }
}
