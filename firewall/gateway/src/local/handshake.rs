//! Handshakes: native L8 on every route. Up to its permit, a handshake takes the path of every message. Then the gateway
//! answers it for the agent without forwarding, or relays it ([`super::handshake_relay`]).

use std::sync::Arc;

use bytes::Bytes;
use ring::rand::SystemRandom;
use semgate_certs::SpiffeId;
use semgate_contexts::Performative;
use semgate_inspect::{
    Arrived, Code, Delivered, Direction, Facts, HeaderClaims, Peer, Permit, Refusal, Sent,
};
use semgate_negotiation::last_offers::ShrunkOffer;
use semgate_negotiation::{Endpoint, HandshakeFault, HandshakeReply, HandshakeRequest};
use semgate_protocol::Call;

use crate::clock::unix_now;
use crate::pipeline::answer::Answer;
use crate::pipeline::exchange::{Exchange, Stopped};
use crate::pipeline::gateway_refusals::{no_audit, reply_facts, unspent};
use crate::pipeline::quota;
use crate::pipeline::receive::Received;
use crate::pipeline::record::NotRecorded;
use crate::pipeline::record::Outcome;
use crate::pipeline::refuse;
use crate::server::materials::{Materials, Shaker};

impl Exchange<'_> {
    /// Answers HELLO with SELECT, and LOCK with the lock.
    pub(crate) async fn handshake(&self, peer: &Peer, received: Received) -> Result<Answer, Stopped> {
        let l9_context: Vec<&str> = received.admitted.l9_context.iter().map(String::as_str).collect();
        let headers = HeaderClaims { l9_context: &l9_context };
        let body = received.bytes.clone();
        let permit = self.permitted(peer, &headers, received.bytes)?;
        match self.worker.handshakes.now() {
            Ok((materials, Shaker::Answers(endpoint))) => {
                let (sent, body) = self.answers(peer, permit, &materials, &endpoint)?;
                let mut answer = refuse::answer(self.decision, 200, "application/json", body);
                quota::tell(&mut answer, sent.quotas().to_vec());
                Ok(answer)
            }
            Ok((materials, Shaker::Relays(relay))) => {
                self.relayed(peer, permit, body, &materials, &relay).await
            }
            Err(refusal) => Err(unspent(permit, refusal).into()),
        }
    }

    /// Answers a handshake that came in a message of another binding, which only the gateway can answer.
    pub(crate) fn handshake_within(&self, peer: &Peer, body: Bytes) -> Result<Bytes, Stopped> {
        let permit = self.permitted(peer, &HeaderClaims::default(), body)?;
        match self.worker.handshakes.now() {
            Ok((materials, Shaker::Answers(endpoint))) => {
                self.answers(peer, permit, &materials, &endpoint).map(|(_, body)| body)
            }
            Ok((_, Shaker::Relays(_))) => Err(unspent(permit, no_key()).into()),
            Err(refusal) => Err(unspent(permit, refusal).into()),
        }
    }

    /// The permit of a handshake, as of any message of native L8.
    fn permitted(&self, peer: &Peer, headers: &HeaderClaims<'_>, body: Bytes) -> Result<Permit, Refusal> {
        let shared = &*self.worker.shared;
        let (now, generation) = (shared.now(), shared.inspector.generation());
        let route = Arc::new(generation.handshake_route(&self.worker.route));
        shared.inspector.inspect(&route, peer, headers, Arrived::whole(Call::l8(), body), now)
    }

    /// Answers in the agent's place.
    fn answers(
        &self,
        peer: &Peer,
        permit: Permit,
        materials: &Materials,
        endpoint: &Endpoint,
    ) -> Result<(Sent, Bytes), Stopped> {
        let (outgoing, sent) = permit.spend();
        let answered = self.asked(peer, materials, |asked| endpoint.answer(&outgoing.body, asked));
        let answered = answered.map_err(|refusal| refusal.with_facts(sent.facts().clone()))?;
        self.alarm(peer, &answered.shrunk);
        self.recorded(&sent, &answered)?;
        Ok((sent, Bytes::from(answered.body)))
    }

    /// Calls the library with the current external state.
    pub(crate) fn asked<T>(
        &self,
        peer: &Peer,
        materials: &Materials,
        ask: impl FnOnce(&HandshakeRequest<'_>) -> Result<T, HandshakeFault>,
    ) -> Result<T, Refusal> {
        let worker = self.worker;
        let shared = &*worker.shared;
        let (now, generation) = (shared.now().unix, shared.inspector.generation());
        let id = SpiffeId::parse(peer.id()).map_err(|_| {
            Refusal::new(Code::SenderMismatch, "the peer of this connection has no spiffe id")
        })?;
        let answering = generation.answering(&worker.route, peer.id(), now);
        let asked = HandshakeRequest {
            peer: &id,
            route: &worker.route.name,
            answering: &answering,
            trust: worker.handshakes.trust(materials),
            sessions: &shared.sessions,
            context: generation.extension(),
            random: &SystemRandom::new(),
            now,
        };
        ask(&asked).map_err(Refusal::from)
    }

    /// Warns that a missing former version may have been removed in transit.
    pub(crate) fn alarm(&self, peer: &Peer, shrunk: &[ShrunkOffer]) {
        for shrunk in shrunk {
            tracing::warn!(decision = %self.decision, peer = peer.id(), ?shrunk, "a peer offers less than before");
        }
    }

    /// Records both messages before the answer goes out. The answer's record states the choice.
    fn recorded(&self, sent: &Sent, answered: &HandshakeReply) -> Result<(), Stopped> {
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
            self.worker.metrics.allowed(direction, self.began.elapsed().as_secs_f64());
        }
        Ok(())
    }

    /// The key to which HELLOs can be sealed. It is a signed public statement, the same for everyone, so no policy decides.
    pub(crate) async fn sealing_key(&self, peer: &Peer) -> Result<Answer, Stopped> {
        let shared = &*self.worker.shared;
        let (materials, shaker) = self.worker.handshakes.now()?;
        let statement = match shaker {
            Shaker::Answers(endpoint) => {
                let stated = endpoint.key_statement(&shared.sessions, &SystemRandom::new(), unix_now());
                stated.map_err(Refusal::from)?.ok_or_else(no_key)?
            }
            Shaker::Relays(relay) => self.appointed(&materials, &relay).await?.statement().to_vec(),
        };
        tracing::debug!(decision = %self.decision, peer = peer.id(), "announced the key for sealed handshakes");
        let facts = self.bare_facts(Direction::Request);
        if let Err(NotRecorded) = self.record(Outcome::Allowed, facts.clone()) {
            return Err(no_audit(Delivered::No).with_facts(facts).into());
        }
        self.worker.metrics.allowed(Direction::Request, self.began.elapsed().as_secs_f64());
        Ok(refuse::answer(self.decision, 200, "application/json", Bytes::from(statement)))
    }
}

pub(crate) fn no_key() -> Refusal {
    Refusal::new(Code::MethodUnsupported, "this gateway announces no key for sealed handshakes")
}
