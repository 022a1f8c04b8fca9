//! The gateway between two agents that both shake hands (F0-47): it opens what is sealed to it, checks it, and seals it anew.
//!
//! Nothing that an agent signed is changed: both compute one transcript, and a gateway that changed, left out or put in another's place
//! is found out by both (F0-37). The gateway has no key of either agent. What it needs is stated: the agent behind states the
//! gateway's key to callers as its own ([`crate::Endpoint::appoint`]), and the gateway states, beside each HELLO that it seals
//! anew, the key that it wants the SELECT sealed to. The lock that messages carry is the gateway's, about the session of the agents.

mod appointed;

pub use appointed::Appointed;

use crate::HandshakeFault;
use crate::agreed::Agreement;
use crate::encoding::to_base64url;
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
use semgate_certs::{SpiffeId, Usage};
use semgate_contexts::{ContextUrn, Digest, Performative};
use std::sync::Arc;

/// Stands between callers and one agent behind that negotiates by itself.
#[derive(Debug)]
pub struct Relay {
    me: Identity,
    agent: SpiffeId,
    memory: Arc<HandshakeMemory>,
    pending: Pending,
    appointment: Appointment,
}

/// What a caller says, verified: by its signature, for the agent behind, for the first time.
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

/// A HELLO is on its way to the agent behind; its SELECT is awaited.
#[derive(Debug)]
pub struct AwaitingSelect {
    received: ReceivedHello,
    /// What the SELECT is sealed to, if the HELLO was sealed.
    key: Option<SealingKey>,
}

/// A LOCK that closes a handshake which passed here, on its way to the agent behind; the answer is awaited.
#[derive(Debug)]
pub struct RelayedLock {
    agreement: Agreement,
}

impl RelayedHello {
    /// Whether it came sealed, and is sealed anew.
    pub fn sealed(&self) -> bool {
        self.received.sealed
    }

    /// What it offers, in its order of preference.
    pub fn offers(&self) -> &[Offer] {
        self.received.offers()
    }

    /// What the peer offered last time and does not offer any more: an alarm for the operator (F0-37).
    pub fn shrunk(&self) -> &[ShrunkOffer] {
        &self.shrunk
    }
}

impl Relay {
    /// Stands before `agent` as `me`, a certificate of the gateway's own.
    ///
    /// # Errors
    /// [`HandshakeFault::SignerMismatch`] where it is one of the agent behind: who stands between has no key of an agent's, so that it can
    /// say nothing in its name.
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

    /// Goes on where another one before the same agent stops, as [`crate::Endpoint::continuing`].
    #[must_use]
    pub fn continuing(self, before: &Self) -> Self {
        let memory = if self.agent == before.agent { &before.memory } else { &self.memory };
        Self { memory: Arc::clone(memory), ..self }
    }

    /// The agent behind.
    pub fn agent(&self) -> &SpiffeId {
        &self.agent
    }

    /// Takes what a caller says. A HELLO must offer at least one context that could be chosen: that counts now, that the sender may use,
    /// at or above every floor and its own minimum. Nothing can be taken out of what is signed: whether the caller may offer all the rest is asked
    /// by whoever has the policies, and the choice is judged when it comes. A LOCK must close a SELECT that passed here,
    /// with a choice that is still at or above every floor and what both said since.
    ///
    /// # Errors
    /// [`HandshakeFault`], as [`crate::Endpoint::answer`] has them.
    pub fn receive(
        &self,
        body: &[u8],
        request: &HandshakeRequest<'_>,
    ) -> Result<RelayedMessage, HandshakeFault> {
        let Envelope { kind, carried } = read_message(body, request.context)?;
        // no gateway stands before this one: what would be sealed with a key to answer to is refused
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
                // only of a HELLO that goes on: one that is refused must not make the next look as if nothing were gone
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

    /// What goes to the agent behind for a HELLO: sealed anew to its key, with the statement of the key that this gateway wants the SELECT
    /// sealed to; `None` for an open one, which goes on byte for byte.
    ///
    /// # Errors
    /// [`HandshakeFault::UnknownSealingKey`] for a sealed HELLO while the agent has appointed nobody; [`HandshakeFault::Key`].
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
        let id = to_base64url(&nonce(request.random)?);
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

    /// Takes the SELECT of the agent behind: signed by it, about the HELLO that was passed on, with a choice that was offered, counts now,
    /// may be used by the caller, and is at or above every floor and both minimums. It goes back as the HELLO came: sealed to the
    /// caller's key, or open byte for byte. Its LOCK is awaited from here on.
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

    /// Takes the answer of the agent behind to a LOCK, makes the lock that messages carry, and learns the minimums of both. The agent's own lock must
    /// be about the session that the gateway computed from what passed: else the two took different messages.
    ///
    /// # Errors
    /// [`HandshakeFault::OtherSession`]; [`HandshakeFault::NotCurrent`] where the choice counts no more, [`HandshakeFault::BelowMinimum`] where it
    /// is below a floor or minimum by now; [`HandshakeFault::Lock`].
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

    /// A message to the caller, from the agent behind.
    fn write(
        &self,
        kind: Kind,
        carried: &Carried,
        request: &HandshakeRequest<'_>,
    ) -> Result<Vec<u8>, HandshakeFault> {
        let id = to_base64url(&nonce(request.random)?);
        write_message(kind, carried, Performative::Agree, (&self.agent, request.peer), request.context, &id)
    }
}

/// What is chosen must count now, and be the opener's to use.
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
