//! Handshakes that the gateway answers in the place of the agent behind (F0-19 to F0-22): native L8 on every route. What arrives takes
//! the path of every message up to its permit; then the endpoint answers, and nothing is forwarded.

use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use ring::rand::SystemRandom;
use semgate_certs::SpiffeId;
use semgate_contexts::{Performative, Prefix};
use semgate_inspect::{Arrived, Code, Delivered, Direction, Facts, HeaderClaims, Peer, Refusal, Sent};
use semgate_message::Call;
use semgate_negotiation::{Answered, Asked, Endpoint, Trust};

use super::{NotRecorded, Stopped, Way, no_audit, reply_facts};
use crate::answer::Answer;
use crate::materials::Materials;
use crate::receive::Received;
use crate::record::Outcome;
use crate::refuse;

/// The endpoint of one route, as it is now: certificates are read again on SIGHUP.
pub(crate) struct Handshakes {
    materials: Arc<ArcSwap<Materials>>,
    at: usize,
    prefix: Prefix,
}

impl Handshakes {
    pub(crate) fn new(materials: Arc<ArcSwap<Materials>>, at: usize, prefix: Prefix) -> Self {
        Self { materials, at, prefix }
    }

    fn endpoint(&self) -> Result<(Arc<Materials>, Arc<Endpoint>), Refusal> {
        let materials = self.materials.load_full();
        match materials.endpoints.get(self.at).cloned().flatten() {
            Some(endpoint) => Ok((materials, endpoint)),
            None => Err(Refusal::new(Code::MethodUnsupported, "no handshakes are answered here")),
        }
    }
}

impl Way<'_> {
    /// HELLO is answered by SELECT, LOCK by the lock.
    pub(super) fn handshake(&self, peer: &Peer, received: Received) -> Result<Answer, Stopped> {
        let lane = self.lane;
        let shared = &*lane.shared;
        let (now, generation) = (shared.now(), shared.inspector.generation());
        let route = Arc::new(generation.handshake_route(&lane.route));
        let l9_context: Vec<&str> = received.admitted.l9_context.iter().map(String::as_str).collect();
        let headers = HeaderClaims { l9_context: &l9_context };
        let arrived = Arrived::whole(Call::l8(), received.bytes);
        let permit = shared.inspector.inspect(&route, peer, &headers, arrived, now)?;
        let (outgoing, sent) = permit.spend();
        let answered = match self.answered(peer, &outgoing.body) {
            Ok(answered) => answered,
            Err(refusal) => return Err(refusal.with_facts(sent.facts().clone()).into()),
        };
        for shrunk in &answered.shrunk {
            // a version that is not offered any more may have been taken out on the way (F0-37)
            tracing::warn!(decision = %self.decision, peer = peer.id(), ?shrunk, "a peer offers less than it did");
        }
        self.recorded(&sent, &answered)?;
        Ok(refuse::answer(self.decision, 200, "application/json", Bytes::from(answered.body)))
    }

    fn answered(&self, peer: &Peer, body: &[u8]) -> Result<Answered, Refusal> {
        let lane = self.lane;
        let shared = &*lane.shared;
        let (now, generation) = (shared.now().unix, shared.inspector.generation());
        let (materials, endpoint) = lane.handshakes.endpoint()?;
        let id = SpiffeId::parse(peer.id()).map_err(|_| {
            Refusal::new(Code::SenderMismatch, "the peer of this connection has no spiffe id")
        })?;
        let answering = generation.answering(&lane.route, peer.id(), now);
        let asked = Asked {
            peer: &id,
            route: &lane.route.name,
            answering: &answering,
            trust: Trust { roots: &materials.peers, prefix: &lane.handshakes.prefix },
            sessions: &shared.sessions,
            context: generation.extension(),
            random: &SystemRandom::new(),
            now,
        };
        endpoint.answer(body, &asked).map_err(Refusal::from)
    }

    /// Both messages leave a record before the answer goes out. What was chosen stands in the answer's.
    fn recorded(&self, sent: &Sent, answered: &Answered) -> Result<(), Stopped> {
        let facts = Facts {
            performative: Some(Performative::Agree),
            context: Some(answered.urn.to_string()),
            digest: Some(answered.digest),
            concepts: vec![answered.kind.as_str().to_owned()],
            said_by: Some("gateway"),
            ..reply_facts(sent.facts())
        };
        for (direction, facts) in [(Direction::Request, sent.facts().clone()), (Direction::Reply, facts)] {
            if let Err(NotRecorded) = self.record(Outcome::Allowed, facts.clone()) {
                return Err(no_audit(Delivered::No).with_facts(facts).into());
            }
            self.lane.metrics.allowed(direction, self.began.elapsed().as_secs_f64());
        }
        Ok(())
    }

    /// The key that HELLOs can be sealed to (F0-47): a signed statement, the same for everybody and no secret, so no policy is asked.
    pub(super) fn sealing_key(&self, peer: &Peer) -> Result<Answer, Stopped> {
        let shared = &*self.lane.shared;
        let (_, endpoint) = self.lane.handshakes.endpoint()?;
        let statement = endpoint.key_statement(&shared.sessions, &SystemRandom::new(), super::unix_now());
        let statement = statement.map_err(Refusal::from)?;
        let none = || Refusal::new(Code::MethodUnsupported, "no key to seal to is stated here");
        let statement = statement.ok_or_else(none)?;
        tracing::debug!(decision = %self.decision, peer = peer.id(), "stated the key that handshakes are sealed to");
        Ok(refuse::answer(self.decision, 200, "application/json", Bytes::from(statement)))
    }
}
