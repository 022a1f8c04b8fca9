//! A whole responder for an agent, or for a gateway in front of one: bytes in, bytes out.
//!
//! HELLO is answered by SELECT, LOCK by the lock. Between the two the handshake waits here, so LOCK must reach the process
//! that sent SELECT. The resulting lock holds everywhere in the fleet.

use crate::HandshakeFault;
use crate::envelope::{Envelope, read_message, write_message};
use crate::handshake_memory::HandshakeMemory;
use crate::initiator::nonce;
use crate::last_offers::ShrunkOffer;
use crate::limits::{MAX_MESSAGE_BYTES, MAX_SEALING_KEY_SECONDS};
use crate::lock::LockFault;
use crate::member::{Members, read};
use crate::pending::Pending;
use crate::responder::{HandshakeParties, ReceivedHello, ReceivedLock, ResponderConfig};
use crate::seal::{PeerKey, state};
use crate::sessions::Sessions;
use crate::signed::{Identity, Signed, Trust};
use crate::wire::{Carried, Kind, signed};
use semgate_certs::encoding::to_base64url;
use semgate_certs::{SecureRandom, SpiffeId};
use semgate_contexts::{ContextUrn, Digest, Performative};
use serde_json::{Value, json};
use std::sync::Arc;

/// Answers handshakes as one agent.
#[derive(Debug)]
pub struct Endpoint {
    me: Identity,
    stands_in: bool,
    gateways: Vec<SpiffeId>,
    memory: Arc<HandshakeMemory>,
    waiting: Pending,
}

/// One request to an endpoint, with all external inputs.
#[derive(Clone, Copy)]
pub struct HandshakeRequest<'a> {
    /// The verified peer of the connection.
    pub peer: &'a SpiffeId,
    /// The route's name, to which locks are bound.
    pub route: &'a str,
    /// The offers and floors for this peer now.
    pub answering: &'a ResponderConfig,
    /// The roots for signatures.
    pub trust: Trust<'a>,
    /// The source of locks and the store of minimums.
    pub sessions: &'a Sessions,
    /// The URN of the control vocabulary.
    pub context: &'a str,
    /// Randomness.
    pub random: &'a dyn SecureRandom,
    /// Seconds since the Unix epoch.
    pub now: u64,
}

impl std::fmt::Debug for HandshakeRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Asked by {} on {}", self.peer, self.route)
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakeReply {
    /// The native L8 message to send back.
    pub body: Vec<u8>,
    /// SELECT, or LOCK for the answer to a LOCK.
    pub kind: Kind,
    /// The context that was chosen, for the record.
    pub urn: ContextUrn,
    /// Its digest.
    pub digest: Digest,
    /// The end of the session, in the answer to a LOCK.
    pub expires_at: Option<u64>,
    /// The resulting session, in the answer to a LOCK. Messages of this handshake carry a lock about it, even if a gateway in
    /// front made the lock ([`crate::session_of`]).
    pub session: Option<[u8; 32]>,
    /// Lines that the peer offered last time and no longer offers: an alarm for the operator (F0-37).
    pub shrunk: Vec<ShrunkOffer>,
}

impl Endpoint {
    /// Answers as this identity.
    pub fn new(me: Identity) -> Self {
        Self {
            me,
            stands_in: false,
            gateways: Vec::new(),
            memory: Arc::default(),
            waiting: Pending::default(),
        }
    }

    /// Answers in the place of an agent that takes no part, and repeats that agent's minimums. Its own messages state nothing
    /// in the agent's name, and no minimum is learnt from them. So an older SELECT cannot take back a later statement of the
    /// agent (F0-39).
    #[must_use]
    pub fn standing_in(self) -> Self {
        Self { stands_in: true, ..self }
    }

    /// Takes over from an earlier endpoint of the same agent. Messages that it took are not taken again, and offers are
    /// compared with those that it met. Handshakes that wait for their LOCK there end. An endpoint of another agent has no
    /// effect.
    #[must_use]
    pub fn continuing(self, before: &Self) -> Self {
        let memory = if self.id() == before.id() { &before.memory } else { &self.memory };
        Self { memory: Arc::clone(memory), ..self }
    }

    /// Stands behind these gateways ([`crate::Relay`]), which open the messages that callers seal, and seal them again. Only
    /// these gateways may state a key to answer to, or a key that callers take for the agent's own.
    #[must_use]
    pub fn with_gateways(self, gateways: Vec<SpiffeId>) -> Self {
        Self { gateways, ..self }
    }

    /// The id that answers carry.
    pub fn id(&self) -> &SpiffeId {
        self.me.id()
    }

    /// The signed statement of the key that HELLOs can be sealed to: `{"jws", "x5c"}`. It is the same in the whole fleet, and
    /// changes every epoch. `None` without lock keys.
    ///
    /// # Errors
    /// [`HandshakeFault::Key`].
    pub fn key_statement(
        &self,
        sessions: &Sessions,
        random: &dyn SecureRandom,
        now: u64,
    ) -> Result<Option<Vec<u8>>, HandshakeFault> {
        let keys = sessions.locks.sealing_keys(self.me.id(), now);
        let Some(key) = keys.first() else { return Ok(None) };
        // half of the longest life: an epoch, for which the key still opens after its own
        let signed = key.state(&self.me, MAX_SEALING_KEY_SECONDS / 2, random, now)?;
        Ok(Some(written(&signed).to_string().into_bytes()))
    }

    /// Answers a gateway that asks to be appointed: `{"gateway", "agent"}`, both signed by this agent. The first states the
    /// gateway's key as this agent's, for callers. The second states the agent's own key, to which the gateway seals. A
    /// repeated question within the window is answered again: several gateways of a fleet may ask in one second, and the
    /// answer is no secret.
    ///
    /// # Errors
    /// [`HandshakeFault::UnknownGateway`] unless this agent is [`Endpoint::with_gateways`] the gateway; [`HandshakeFault::Lock`]
    /// without lock keys, which its own key comes from; else as for a HELLO.
    pub fn appoint(
        &self,
        body: &[u8],
        trust: &Trust<'_>,
        sessions: &Sessions,
        random: &dyn SecureRandom,
        now: u64,
    ) -> Result<Vec<u8>, HandshakeFault> {
        let json = read(body, MAX_MESSAGE_BYTES)?;
        let asks = signed(&Members::of(&json, "gateway", &["jws", "x5c"], &[])?)?;
        // the gateway speaks for itself, over any connection
        let between = HandshakeParties { peer: self.me.id(), me: self.me.id(), gateways: &self.gateways };
        let asks = between.gateway_key(&asks, trust, now)?;
        if asks.payload.hello.is_some() {
            return Err(HandshakeFault::Member("hello"));
        }
        let own = sessions.locks.sealing_keys(self.me.id(), now);
        let own = own.first().ok_or(HandshakeFault::Lock(LockFault::NoKeys))?;
        let point = PeerKey::of_point(asks.payload.from, asks.payload.key)?.point();
        let life = MAX_SEALING_KEY_SECONDS / 2;
        let gateway = state(point, &self.me, life, random, now)?;
        let agent = own.state(&self.me, life, random, now)?;
        Ok(json!({"gateway": written(&gateway), "agent": written(&agent)}).to_string().into_bytes())
    }

    /// Answers one message.
    ///
    /// # Errors
    /// [`HandshakeFault`], whose code is all that the peer may learn. Nothing is remembered of a message that is refused
    /// before its signature was verified.
    pub fn answer(
        &self,
        body: &[u8],
        request: &HandshakeRequest<'_>,
    ) -> Result<HandshakeReply, HandshakeFault> {
        let Envelope { kind, carried } = read_message(body, request.context)?;
        match kind {
            Kind::Hello => self.select(&carried, request),
            Kind::Lock => self.lock(&carried, request),
            Kind::Select => Err(HandshakeFault::Member("content")),
        }
    }

    fn parties<'b>(&'b self, request: &'b HandshakeRequest<'_>) -> HandshakeParties<'b> {
        HandshakeParties { peer: request.peer, me: self.me.id(), gateways: &self.gateways }
    }

    fn select(
        &self,
        carried: &Carried,
        request: &HandshakeRequest<'_>,
    ) -> Result<HandshakeReply, HandshakeFault> {
        let keys = match carried {
            Carried::Sealed(_) => request.sessions.locks.sealing_keys(self.me.id(), request.now),
            _ => Vec::new(),
        };
        let between = self.parties(request);
        let received =
            ReceivedHello::hello(carried, &between, &keys, &request.trust, &self.memory.replay, request.now)?;
        let (from, offers) = (received.from().clone(), received.offers().to_vec());
        let again = self.stands_in.then(|| {
            let minimums = request.sessions.minimums.stated_by(self.me.id().as_str(), from.as_str());
            ResponderConfig { minimums, ..request.answering.clone() }
        });
        let answering = again.as_ref().unwrap_or(request.answering);
        let (waiting, select) = received.select(answering, &self.me, request.random, request.now)?;
        let (urn, digest) = (waiting.urn().clone(), *waiting.digest());
        self.waiting.wait(waiting, request.now)?;
        let body = self.write(Kind::Select, &select, request)?;
        // only for a HELLO that is answered: otherwise a refused one would hide the loss from the next comparison
        let shrunk = self.memory.offers.note(from.as_str(), &offers);
        Ok(HandshakeReply { body, kind: Kind::Select, urn, digest, expires_at: None, session: None, shrunk })
    }

    fn lock(
        &self,
        carried: &Carried,
        request: &HandshakeRequest<'_>,
    ) -> Result<HandshakeReply, HandshakeFault> {
        let between = self.parties(request);
        let received =
            ReceivedLock::lock(carried, &between, &request.trust, &self.memory.replay, request.now)?;
        let waiting = self.waiting.take(received.select(), request.peer)?;
        let mut agreement = waiting.lock(&received, request.now)?;
        if self.stands_in {
            agreement.stated_at[1] = None;
        }
        // the offer of a moment ago must still count
        let spoken = request.answering.supported(agreement.urn(), agreement.digest());
        let spoken = spoken.ok_or(HandshakeFault::NotOffered)?;
        let locks = &request.sessions.locks;
        let granted = locks.grant(&agreement, request.route, &spoken.authority, request.now)?;
        let floors = request.answering.floors_now(agreement.urn().line());
        request.sessions.minimums.record(&agreement, floors, request.now)?;
        let expires_at = granted.expires_at;
        let body = self.write(Kind::Lock, &Carried::Granted(granted), request)?;
        let (urn, digest) = (agreement.urn().clone(), *agreement.digest());
        let session = Some(agreement.session());
        let expires_at = Some(expires_at);
        Ok(HandshakeReply { body, kind: Kind::Lock, urn, digest, expires_at, session, shrunk: Vec::new() })
    }

    fn write(
        &self,
        kind: Kind,
        carried: &Carried,
        request: &HandshakeRequest<'_>,
    ) -> Result<Vec<u8>, HandshakeFault> {
        let id = to_base64url(nonce(request.random)?);
        let parties = (self.me.id(), request.peer);
        write_message(kind, carried, Performative::Agree, parties, request.context, &id)
    }
}

/// A signed statement as it travels by itself.
pub(crate) fn written(signed: &Signed) -> Value {
    json!({"jws": signed.jws, "x5c": signed.x5c})
}

#[cfg(test)]
#[path = "endpoint_tests.rs"]
mod tests;
