//! A whole responder for an agent, or for a gateway in front of one: bytes in, bytes out.
//!
//! HELLO is answered by SELECT, LOCK by the lock. Between the two the handshake waits here, so LOCK must reach the process that said
//! SELECT; the lock that comes of it holds everywhere in the fleet.

use crate::HandshakeFault;
use crate::carry::{Carried, Kind};
use crate::encoding::to_base64url;
use crate::envelope::{Envelope, read_message, write_message};
use crate::initiator::nonce;
use crate::limits::{MAX_SEALING_KEY_SECONDS, MAX_WAITING, MAX_WAITING_OF_ONE};
use crate::offered::{LastOffers, Shrunk};
use crate::replay::ReplayMemory;
use crate::responder::{Answering, Between, Heard, HeardLock, Waiting};
use crate::sessions::Sessions;
use crate::signed::{Identity, Trust};
use semgate_certs::{SecureRandom, SpiffeId};
use semgate_contexts::{ContextUrn, Digest, Performative};
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Answers handshakes as one agent.
#[derive(Debug)]
pub struct Endpoint {
    me: Identity,
    replay: ReplayMemory,
    waiting: Mutex<HashMap<Digest, Waiting>>,
    offers: LastOffers,
}

/// One request to an endpoint, with all that it needs from outside.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The verified peer of the connection.
    pub peer: &'a SpiffeId,
    /// The route's name, to which locks are bound.
    pub route: &'a str,
    /// What can be spoken with this peer now.
    pub answering: &'a Answering,
    /// Whose signatures count.
    pub trust: Trust<'a>,
    /// Where locks come from and minimums go.
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

/// What was answered.
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
    /// When the session ends, in the answer to a LOCK.
    pub expires_at: Option<u64>,
    /// What the peer offered last time and does not offer any more: an alarm for the operator (F0-37).
    pub shrunk: Vec<Shrunk>,
}

impl Endpoint {
    /// Answers as this identity.
    pub fn new(me: Identity) -> Self {
        Self { me, replay: ReplayMemory::new(), waiting: Mutex::default(), offers: LastOffers::default() }
    }

    /// Who is answered as.
    pub fn id(&self) -> &SpiffeId {
        self.me.id()
    }

    /// The signed statement of the key that HELLOs can be sealed to: `{"jws", "x5c"}`. It is the same in the whole fleet, and another one every
    /// epoch. `None` without lock keys.
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
        // half of the longest life: an epoch, as long as the key is opened with after its own
        let signed = key.state(&self.me, MAX_SEALING_KEY_SECONDS / 2, random, now)?;
        Ok(Some(json!({"jws": signed.jws, "x5c": signed.x5c}).to_string().into_bytes()))
    }

    /// Answers one message.
    ///
    /// # Errors
    /// [`HandshakeFault`]; its code is what the peer may be told. Nothing is remembered of what is refused before its signature was
    /// verified.
    pub fn answer(&self, body: &[u8], asked: &Asked<'_>) -> Result<Answered, HandshakeFault> {
        let Envelope { kind, carried } = read_message(body, asked.context)?;
        match kind {
            Kind::Hello => self.select(&carried, asked),
            Kind::Lock => self.lock(&carried, asked),
            Kind::Select => Err(HandshakeFault::Member("content")),
        }
    }

    fn between<'b>(&'b self, asked: &'b Asked<'_>) -> Between<'b> {
        Between { peer: asked.peer, me: self.me.id() }
    }

    fn select(&self, carried: &Carried, asked: &Asked<'_>) -> Result<Answered, HandshakeFault> {
        let keys = match carried {
            Carried::Sealed(_) => asked.sessions.locks.sealing_keys(self.me.id(), asked.now),
            _ => Vec::new(),
        };
        let between = self.between(asked);
        let heard = Heard::hello(carried, &between, &keys, &asked.trust, &self.replay, asked.now)?;
        let shrunk = self.offers.note(heard.from().as_str(), heard.offers());
        let (waiting, select) = heard.select(asked.answering, &self.me, asked.random, asked.now)?;
        let (urn, digest) = (waiting.urn().clone(), *waiting.digest());
        self.wait(waiting, asked.now)?;
        let body = self.write(Kind::Select, &select, asked)?;
        Ok(Answered { body, kind: Kind::Select, urn, digest, expires_at: None, shrunk })
    }

    fn lock(&self, carried: &Carried, asked: &Asked<'_>) -> Result<Answered, HandshakeFault> {
        let between = self.between(asked);
        let heard = HeardLock::lock(carried, &between, &asked.trust, &self.replay, asked.now)?;
        let waiting = {
            let mut all = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            // what waits for another agent is as good as none, and stays: a stranger's LOCK ends no handshake
            let waits = all.get(heard.select()).filter(|waiting| waiting.from() == asked.peer);
            waits.is_some().then(|| all.remove(heard.select())).flatten().ok_or(HandshakeFault::NotOpen)?
        };
        let agreement = waiting.lock(&heard, asked.now)?;
        // what was offered a moment ago must still count
        let spoken = asked.answering.contexts.iter().find(|spoken| {
            spoken.offer.urn == *agreement.urn() && spoken.offer.digest == *agreement.digest()
        });
        let spoken = spoken.ok_or(HandshakeFault::NotOffered)?;
        let locks = &asked.sessions.locks;
        let granted = locks.grant(&agreement, asked.route, &spoken.authority, asked.now)?;
        asked.sessions.minimums.learn(&agreement);
        let expires_at = granted.expires_at;
        let body = self.write(Kind::Lock, &Carried::Granted(granted), asked)?;
        let (urn, digest) = (agreement.urn().clone(), *agreement.digest());
        Ok(Answered { body, kind: Kind::Lock, urn, digest, expires_at: Some(expires_at), shrunk: Vec::new() })
    }

    /// Remembers a handshake until its LOCK comes. A peer that opens many loses its own oldest; strangers' are never dropped for it.
    fn wait(&self, waiting: Waiting, now: u64) -> Result<(), HandshakeFault> {
        let mut all = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let of_peer = all.values().filter(|other| other.from() == waiting.from()).count();
        if of_peer >= MAX_WAITING_OF_ONE || all.len() >= MAX_WAITING {
            all.retain(|_, other| other.until() >= now);
        }
        if of_peer >= MAX_WAITING_OF_ONE {
            let own = all.iter().filter(|(_, other)| other.from() == waiting.from());
            let oldest = own.min_by_key(|(_, other)| other.until()).map(|(id, _)| *id);
            oldest.map(|id| all.remove(&id));
        }
        if all.len() >= MAX_WAITING {
            return Err(HandshakeFault::Busy);
        }
        all.insert(waiting.id(), waiting);
        Ok(())
    }

    fn write(&self, kind: Kind, carried: &Carried, asked: &Asked<'_>) -> Result<Vec<u8>, HandshakeFault> {
        let id = to_base64url(&nonce(asked.random)?);
        let parties = (self.me.id(), asked.peer);
        write_message(kind, carried, Performative::Agree, parties, asked.context, &id)
    }
}

#[cfg(test)]
#[path = "endpoint_tests.rs"]
mod tests;
