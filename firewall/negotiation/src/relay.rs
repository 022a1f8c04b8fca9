//! The gateway between two agents that both negotiate (F0-47): it opens messages sealed to it, checks them, and seals them
//! again.
//!
//! Nothing that an agent signed is changed. Both agents compute one transcript, so both detect a gateway that changes, omits
//! or replaces a message (F0-37). The gateway has no key of either agent. The keys it needs are stated. The upstream agent
//! states the gateway's key to callers as its own ([`crate::Endpoint::appoint`]). Beside each HELLO that it seals again, the
//! gateway states the key for the SELECT. The lock in messages is the gateway's, about the session of the agents.

mod appointed;

pub use appointed::Appointed;

use crate::HandshakeFault;
use crate::agreed::Agreement;
use crate::endpoint::{HandshakeReply, HandshakeRequest};
use crate::envelope::{Envelope, read_message, write_message};
use crate::handshake_memory::HandshakeMemory;
use crate::initiator::nonce;
use crate::last_offers::ShrunkOffer;
use crate::lock::session_of;
use crate::payloads::{GatewayKey, Select};
use crate::pending::Pending;
use crate::responder::{HandshakeParties, ReceivedHello, ReceivedLock, ResponderConfig, SupportedContext};
use crate::seal::SealingKey;
use crate::select::answers_offer;
use crate::signed::Identity;
use crate::terms::Offer;
use crate::wire::{Carried, Kind};
use appointed::Appointment;
use semgate_certs::encoding::to_base64url;
use semgate_certs::{SpiffeId, Usage};
use semgate_contexts::{ContextUrn, Digest, Performative};
use std::sync::Arc;

/// Stands between callers and one upstream agent that negotiates by itself.
#[derive(Debug)]
pub struct Relay {
    me: Identity,
    agent: SpiffeId,
    memory: Arc<HandshakeMemory>,
    pending: Pending,
    appointment: Appointment,
}

/// A verified message of a caller: signed by it, for the upstream agent, and taken for the first time.
#[derive(Debug)]
pub enum RelayedMessage {
    /// To be passed on by [`Relay::pass_hello`].
    Hello(Box<RelayedHello>),
    /// To be passed on as it is.
    Lock(Box<RelayedLock>),
}

/// A HELLO with at least one offer that may be chosen now.
#[derive(Debug)]
pub struct RelayedHello {
    received: ReceivedHello,
    shrunk: Vec<ShrunkOffer>,
}

/// A HELLO is on its way to the upstream agent; its SELECT is awaited.
#[derive(Debug)]
pub struct AwaitingSelect {
    received: ReceivedHello,
    /// The key that the SELECT is sealed to, if the HELLO was sealed.
    key: Option<SealingKey>,
}

/// A LOCK that closes a handshake which passed here, on its way to the upstream agent; the answer is awaited.
#[derive(Debug)]
pub struct RelayedLock {
    agreement: Agreement,
}

impl RelayedHello {
    /// Returns true if it came sealed; it is then sealed again.
    pub fn sealed(&self) -> bool {
        self.received.sealed
    }

    /// Its offers, in its order of preference.
    pub fn offers(&self) -> &[Offer] {
        self.received.offers()
    }

    /// Lines that the peer offered last time and no longer offers: an alarm for the operator (F0-37).
    pub fn shrunk(&self) -> &[ShrunkOffer] {
        &self.shrunk
    }
}

impl Relay {
    /// Stands before `agent` as `me`, a certificate of the gateway's own.
    ///
    /// # Errors
    /// [`HandshakeFault::SignerMismatch`] for a certificate of the upstream agent. A relay has no key of an agent, so it can
    /// sign nothing in its name.
    pub fn new(me: Identity, agent: SpiffeId) -> Result<Self, HandshakeFault> {
        if *me.id() == agent {
            return Err(HandshakeFault::SignerMismatch);
        }
        Ok(Self {
            me,
            agent,
            memory: Arc::default(),
            pending: Pending::default(),
            appointment: Appointment::default(),
        })
    }

    /// Takes over from an earlier relay before the same agent, as [`crate::Endpoint::continuing`].
    #[must_use]
    pub fn continuing(self, before: &Self) -> Self {
        let memory = if self.agent == before.agent { &before.memory } else { &self.memory };
        Self { memory: Arc::clone(memory), ..self }
    }

    /// The upstream agent.
    pub fn agent(&self) -> &SpiffeId {
        &self.agent
    }

    /// Takes a message of a caller. A HELLO must offer at least one context that could be chosen. Such a context counts now,
    /// the sender may use it, and it is at or above every floor and its own minimum. Signed offers cannot be removed, so the
    /// holder of the policies decides about the other offers, and the choice is judged when it comes. A LOCK must close a
    /// SELECT that passed here. Its choice must still be at or above every floor and all later statements of both.
    ///
    /// # Errors
    /// [`HandshakeFault`], as [`crate::Endpoint::answer`] has them.
    pub fn receive(
        &self,
        body: &[u8],
        request: &HandshakeRequest<'_>,
    ) -> Result<RelayedMessage, HandshakeFault> {
        let Envelope { kind, carried } = read_message(body, request.context)?;
        // no gateway stands before this one, so a sealed message with a key to answer to is refused
        let between = HandshakeParties { peer: request.peer, me: &self.agent, gateways: &[] };
        match kind {
            Kind::Hello => {
                let keys = match carried {
                    Carried::Sealed(_) => request.sessions.locks.sealing_keys(&self.agent, request.now),
                    _ => Vec::new(),
                };
                let replay = &self.memory.replay;
                let received =
                    ReceivedHello::hello(&carried, &between, &keys, &request.trust, replay, request.now)?;
                request.answering.choose(&received.hello.payload)?;
                // only for a HELLO that goes on: otherwise a refused one would hide the loss from the next comparison
                let shrunk = self.memory.offers.note(received.from().as_str(), received.offers());
                Ok(RelayedMessage::Hello(Box::new(RelayedHello { received, shrunk })))
            }
            Kind::Lock => {
                let replay = &self.memory.replay;
                let received = ReceivedLock::lock(&carried, &between, &request.trust, replay, request.now)?;
                let waiting = self.pending.take(received.select(), request.peer)?;
                let agreement = waiting.lock(&received, request.now)?;
                supported(request.answering, agreement.urn(), agreement.digest())?;
                let floors = request.answering.floors_now(agreement.urn().line());
                request.sessions.minimums.admits(&agreement, floors, request.now)?;
                Ok(RelayedMessage::Lock(Box::new(RelayedLock { agreement })))
            }
            Kind::Select => Err(HandshakeFault::Member("content")),
        }
    }

    /// The message to the upstream agent for a HELLO: sealed to its key, with this gateway's statement of the key for the
    /// SELECT. `None` for an open one, which goes on byte for byte.
    ///
    /// # Errors
    /// [`HandshakeFault::UnknownSealingKey`] for a sealed HELLO while the agent has appointed no gateway;
    /// [`HandshakeFault::Key`].
    pub fn pass_hello(
        &self,
        greeting: Box<RelayedHello>,
        appointed: Option<&Appointed>,
        request: &HandshakeRequest<'_>,
    ) -> Result<(AwaitingSelect, Option<Vec<u8>>), HandshakeFault> {
        let received = greeting.received;
        if !received.sealed {
            return Ok((AwaitingSelect { received, key: None }, None));
        }
        let agent = appointed.ok_or(HandshakeFault::UnknownSealingKey)?.agent();
        let key = SealingKey::generate(request.random)?;
        let reply = GatewayKey {
            from: self.me.id().clone(),
            to: self.agent.clone(),
            issued_at: request.now,
            key: key.point(),
            hello: Some(received.hello.digest),
        };
        let reply = self.me.sign(&reply, request.random)?;
        let sealed = agent.seal(Kind::Hello, &received.signed, Some(&reply), request.random)?;
        let parties = (request.peer, &self.agent);
        let id = to_base64url(nonce(request.random)?);
        let performative = Performative::Request;
        let body = write_message(
            Kind::Hello,
            &Carried::Sealed(sealed),
            performative,
            parties,
            request.context,
            &id,
        )?;
        Ok((AwaitingSelect { received, key: Some(key) }, Some(body)))
    }

    /// Takes the SELECT of the upstream agent: signed by it, about the HELLO that was passed on. Its choice must be offered,
    /// count now, be permitted to the caller, and be at or above every floor and both minimums. It goes back in the form of
    /// the HELLO: sealed to the caller's key, or open byte for byte. From here on its LOCK is awaited.
    ///
    /// # Errors
    /// [`HandshakeFault`]: [`HandshakeFault::OtherHello`] for a SELECT about another HELLO, [`HandshakeFault::NotCurrent`],
    /// [`HandshakeFault::BelowMinimum`] and those of [`crate::initiator::HelloSent::select`].
    pub fn select(
        &self,
        passing: AwaitingSelect,
        body: &[u8],
        request: &HandshakeRequest<'_>,
    ) -> Result<HandshakeReply, HandshakeFault> {
        let Envelope { kind: Kind::Select, carried } = read_message(body, request.context)? else {
            return Err(HandshakeFault::Member("content"));
        };
        let signed = match (&carried, &passing.key) {
            (Carried::Signed(signed), None) => signed.clone(),
            (Carried::Sealed(sealed), Some(key)) => key.open(Kind::Select, sealed)?.signed,
            (Carried::Granted(_), _) => return Err(HandshakeFault::Member("jws")),
            _ => return Err(HandshakeFault::Sealing),
        };
        let select = signed.verify::<Select>(&request.trust, &[Usage::Agent, Usage::Server], request.now)?;
        let hello = &passing.received.hello;
        let floors = request.answering.floors_of(select.payload.choice.urn.line(), &hello.payload);
        answers_offer(&select.payload, &hello.payload, &hello.digest, floors)?;
        let (urn, digest) = (select.payload.choice.urn.clone(), select.payload.choice.digest);
        supported(request.answering, &urn, &digest)?;
        let body = match passing.key {
            None => body.to_vec(),
            Some(_) => self.write(
                Kind::Select,
                &passing.received.seal_like_hello(&signed, request.random)?,
                request,
            )?,
        };
        let waiting = passing.received.into_pending(select.payload, signed.jws, select.not_after);
        self.pending.wait(waiting, request.now)?;
        let (session, shrunk) = (None, Vec::new());
        Ok(HandshakeReply { body, kind: Kind::Select, urn, digest, expires_at: None, session, shrunk })
    }

    /// Takes the answer of the upstream agent to a LOCK, makes the lock for messages, and learns the minimums of both. The
    /// agent's own lock must be about the session that the gateway computed. Otherwise the two took different messages.
    ///
    /// # Errors
    /// [`HandshakeFault::OtherSession`]; [`HandshakeFault::NotCurrent`] if the choice no longer counts,
    /// [`HandshakeFault::BelowMinimum`] if it is below a floor or minimum by now; [`HandshakeFault::Lock`].
    pub fn granted(
        &self,
        locking: Box<RelayedLock>,
        body: &[u8],
        request: &HandshakeRequest<'_>,
    ) -> Result<HandshakeReply, HandshakeFault> {
        let Envelope { kind: Kind::Lock, carried: Carried::Granted(theirs) } =
            read_message(body, request.context)?
        else {
            return Err(HandshakeFault::Member("content"));
        };
        let mut agreement = locking.agreement;
        if session_of(&theirs.lock) != Some(agreement.session()) {
            return Err(HandshakeFault::OtherSession);
        }
        // the sooner end holds
        agreement.expires_at = agreement.expires_at.min(theirs.expires_at);
        let spoken = supported(request.answering, agreement.urn(), agreement.digest())?;
        let granted =
            request.sessions.locks.grant(&agreement, request.route, &spoken.authority, request.now)?;
        let floors = request.answering.floors_now(agreement.urn().line());
        request.sessions.minimums.record(&agreement, floors, request.now)?;
        let expires_at = Some(granted.expires_at);
        let body = self.write(Kind::Lock, &Carried::Granted(granted), request)?;
        let (urn, digest) = (agreement.urn().clone(), *agreement.digest());
        let (session, shrunk) = (Some(agreement.session()), Vec::new());
        Ok(HandshakeReply { body, kind: Kind::Lock, urn, digest, expires_at, session, shrunk })
    }

    /// A message to the caller, from the upstream agent.
    fn write(
        &self,
        kind: Kind,
        carried: &Carried,
        request: &HandshakeRequest<'_>,
    ) -> Result<Vec<u8>, HandshakeFault> {
        let id = to_base64url(nonce(request.random)?);
        write_message(kind, carried, Performative::Agree, (&self.agent, request.peer), request.context, &id)
    }
}

/// The chosen context, which must count now, and which the initiator must be permitted to use.
fn supported<'a>(
    answering: &'a ResponderConfig,
    urn: &ContextUrn,
    digest: &Digest,
) -> Result<&'a SupportedContext, HandshakeFault> {
    answering.supported(urn, digest).ok_or(HandshakeFault::NotCurrent)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod vector_tests;
