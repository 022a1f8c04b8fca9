//! A whole responder for an agent, or for a gateway in front of one: bytes in, bytes out.
//!
//! HELLO is answered by SELECT, LOCK by the lock. Between the two the handshake waits here, so LOCK must reach the process
//! that sent SELECT. The resulting lock holds everywhere in the fleet.

use crate::HandshakeFault;
use crate::carry::{Carried, Kind, signed};
use crate::encoding::to_base64url;
use crate::envelope::{Envelope, read_message, write_message};
use crate::initiator::nonce;
use crate::limits::{MAX_MESSAGE_BYTES, MAX_SEALING_KEY_SECONDS};
use crate::lock::LockFault;
use crate::member::{Members, read};
use crate::memory::Memory;
use crate::offered::Shrunk;
use crate::pending::Pending;
use crate::responder::{Answering, Between, Heard, HeardLock};
use crate::seal::{PeerKey, state};
use crate::sessions::Sessions;
use crate::signed::{Identity, Signed, Trust};
use semgate_certs::{SecureRandom, SpiffeId};
use semgate_contexts::{ContextUrn, Digest, Performative};
use serde_json::{Value, json};
use std::sync::Arc;

/// Answers handshakes as one agent.
#[derive(Debug)]
pub struct Endpoint {
    me: Identity,
    in_place: bool,
    gateways: Vec<SpiffeId>,
    memory: Arc<Memory>,
    waiting: Pending,
}

/// One request to an endpoint, with all external inputs.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The verified peer of the connection.
    pub peer: &'a SpiffeId,
    /// The route's name, to which locks are bound.
    pub route: &'a str,
    /// The offers and floors for this peer now.
    pub answering: &'a Answering,
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

impl std::fmt::Debug for Asked<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Asked by {} on {}", self.peer, self.route)
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
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
    pub shrunk: Vec<Shrunk>,
}

impl Endpoint {
    /// Answers as this identity.
    pub fn new(me: Identity) -> Self {
        Self {
            me,
            in_place: false,
            gateways: Vec::new(),
            memory: Arc::default(),
            waiting: Pending::default(),
        }
    }

    /// Answers in the place of an agent that takes no part, and repeats that agent's minimums. Its own messages state nothing
    /// in the agent's name, and no minimum is learnt from them. So an older SELECT cannot take back a later statement of the
    /// agent (F0-39).
    #[must_use]
    pub fn in_place(self) -> Self {
        Self { in_place: true, ..self }
    }

    /// Takes over from an earlier endpoint of the same agent. Messages that it took are not taken again, and offers are
    /// compared with those that it met. Handshakes that wait for their LOCK there end. An endpoint of another agent has no
    /// effect.
    #[must_use]
    pub fn after(self, before: &Self) -> Self {
        let memory = if self.id() == before.id() { &before.memory } else { &self.memory };
        Self { memory: Arc::clone(memory), ..self }
    }

    /// Stands behind these gateways ([`crate::Relay`]), which open the messages that callers seal, and seal them again. Only
    /// these gateways may state a key to answer to, or a key that callers take for the agent's own.
    #[must_use]
    pub fn behind(self, gateways: Vec<SpiffeId>) -> Self {
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
    /// [`HandshakeFault::UnknownGateway`] unless this agent is [`Endpoint::behind`] the gateway; [`HandshakeFault::Lock`]
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
        let between = Between { peer: self.me.id(), me: self.me.id(), gateways: &self.gateways };
        let asks = between.gateway_key(&asks, trust, now)?;
        if asks.said.hello.is_some() {
            return Err(HandshakeFault::Member("hello"));
        }
        let own = sessions.locks.sealing_keys(self.me.id(), now);
        let own = own.first().ok_or(HandshakeFault::Lock(LockFault::NoKeys))?;
        let point = PeerKey::of_point(asks.said.from, asks.said.key)?.point();
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
    pub fn answer(&self, body: &[u8], asked: &Asked<'_>) -> Result<Answered, HandshakeFault> {
        let Envelope { kind, carried } = read_message(body, asked.context)?;
        match kind {
            Kind::Hello => self.select(&carried, asked),
            Kind::Lock => self.lock(&carried, asked),
            Kind::Select => Err(HandshakeFault::Member("content")),
        }
    }

    fn between<'b>(&'b self, asked: &'b Asked<'_>) -> Between<'b> {
        Between { peer: asked.peer, me: self.me.id(), gateways: &self.gateways }
    }

    fn select(&self, carried: &Carried, asked: &Asked<'_>) -> Result<Answered, HandshakeFault> {
        let keys = match carried {
            Carried::Sealed(_) => asked.sessions.locks.sealing_keys(self.me.id(), asked.now),
            _ => Vec::new(),
        };
        let between = self.between(asked);
        let heard = Heard::hello(carried, &between, &keys, &asked.trust, &self.memory.replay, asked.now)?;
        let (from, offers) = (heard.from().clone(), heard.offers().to_vec());
        let again = self.in_place.then(|| {
            let minimums = asked.sessions.minimums.stated_by(self.me.id().as_str(), from.as_str());
            Answering { minimums, ..asked.answering.clone() }
        });
        let answering = again.as_ref().unwrap_or(asked.answering);
        let (waiting, select) = heard.select(answering, &self.me, asked.random, asked.now)?;
        let (urn, digest) = (waiting.urn().clone(), *waiting.digest());
        self.waiting.wait(waiting, asked.now)?;
        let body = self.write(Kind::Select, &select, asked)?;
        // only for a HELLO that is answered: otherwise a refused one would hide the loss from the next comparison
        let shrunk = self.memory.offers.note(from.as_str(), &offers);
        Ok(Answered { body, kind: Kind::Select, urn, digest, expires_at: None, session: None, shrunk })
    }

    fn lock(&self, carried: &Carried, asked: &Asked<'_>) -> Result<Answered, HandshakeFault> {
        let between = self.between(asked);
        let heard = HeardLock::lock(carried, &between, &asked.trust, &self.memory.replay, asked.now)?;
        let waiting = self.waiting.take(heard.select(), asked.peer)?;
        let mut agreement = waiting.lock(&heard, asked.now)?;
        if self.in_place {
            agreement.stated_at[1] = None;
        }
        // the offer of a moment ago must still count
        let spoken = asked.answering.spoken(agreement.urn(), agreement.digest());
        let spoken = spoken.ok_or(HandshakeFault::NotOffered)?;
        let locks = &asked.sessions.locks;
        let granted = locks.grant(&agreement, asked.route, &spoken.authority, asked.now)?;
        let floors = asked.answering.floors_now(agreement.urn().line());
        asked.sessions.minimums.learn(&agreement, floors, asked.now)?;
        let expires_at = granted.expires_at;
        let body = self.write(Kind::Lock, &Carried::Granted(granted), asked)?;
        let (urn, digest) = (agreement.urn().clone(), *agreement.digest());
        let session = Some(agreement.session());
        let expires_at = Some(expires_at);
        Ok(Answered { body, kind: Kind::Lock, urn, digest, expires_at, session, shrunk: Vec::new() })
    }

    fn write(&self, kind: Kind, carried: &Carried, asked: &Asked<'_>) -> Result<Vec<u8>, HandshakeFault> {
        let id = to_base64url(&nonce(asked.random)?);
        let parties = (self.me.id(), asked.peer);
        write_message(kind, carried, Performative::Agree, parties, asked.context, &id)
    }
}

/// A signed statement as it travels by itself.
pub(crate) fn written(signed: &Signed) -> Value {
    json!({"jws": signed.jws, "x5c": signed.x5c})
}

#[cfg(test)]
#[path = "endpoint_tests.rs"]
mod tests;
