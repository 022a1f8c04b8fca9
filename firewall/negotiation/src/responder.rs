//! The side that answers a handshake: HELLO → SELECT → LOCK → an [`Agreement`].
//!
//! Each step takes the value that only the step before can build, so that none can be left out:
//!
//! ```compile_fail,E0423
//! # fn skip(hello: semgate_negotiation::Hello) {
//! let received = semgate_negotiation::responder::ReceivedHello(hello);
//! # }
//! ```
//!
//! ```compile_fail,E0599
//! # fn skip(received: semgate_negotiation::responder::ReceivedHello, lock: &semgate_negotiation::Carried,
//! #         trust: &semgate_negotiation::Trust<'_>, replay: &semgate_negotiation::ReplayMemory) {
//! let agreement = received.lock(lock, trust, replay, 0);
//! # }
//! ```
//!
//! ```compile_fail,E0382
//! # fn twice(waiting: semgate_negotiation::responder::PendingLock, lock: semgate_negotiation::responder::ReceivedLock) {
//! let first = waiting.lock(&lock, 0);
//! let second = waiting.lock(&lock, 0);
//! # }
//! ```

use crate::HandshakeFault;
use crate::agreed::{Agreement, transcript};
use crate::floor::Floors;
use crate::initiator::nonce;
use crate::limits::WINDOW_SECONDS;
use crate::payloads::{GatewayKey, Hello, Lock, Select};
use crate::replay::{KEPT, ReplayMemory};
use crate::seal::{PeerKey, SealingKey};
use crate::select::choose;
use crate::signed::{Identity, Signed, Trust, VerifiedPayload};
use crate::terms::{Minimum, Offer, minimum_of};
use crate::wire::{Carried, Kind};
use semgate_certs::{SecureRandom, SpiffeId, Usage};
use semgate_contexts::{ContextUrn, Digest, Line};

/// The contexts that the responder can speak. Offers are contexts that count now, that the peer may use, and that are not
/// deprecated.
#[derive(Clone, Debug, Default)]
pub struct ResponderConfig {
    /// In no order.
    pub contexts: Vec<SupportedContext>,
    /// The minimums of this side; no line twice.
    pub minimums: Vec<Minimum>,
    /// Floors of authority and operator, by line. A line that is not listed has none.
    pub floors: Vec<(Line, Floors)>,
    /// An address where a person may read about the choice; sent along as a hint.
    pub hint: Option<String>,
}

/// A context that can be spoken, and the authority of its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportedContext {
    /// URN, digest, features.
    pub offer: Offer,
    /// The authority's id.
    pub authority: String,
}

/// A HELLO that was verified, for us and taken for the first time.
#[derive(Debug)]
pub struct ReceivedHello {
    pub(crate) hello: VerifiedPayload<Hello>,
    pub(crate) signed: Signed,
    pub(crate) sealed: bool,
    /// The key of the gateway that passed it on: the SELECT is sealed to it instead of the HELLO's own key.
    reply: Option<PeerKey>,
}

/// A SELECT was sent; its LOCK is awaited.
#[derive(Debug)]
pub struct PendingLock {
    pub(crate) hello: VerifiedPayload<Hello>,
    pub(crate) hello_jws: String,
    pub(crate) select: Select,
    pub(crate) select_jws: String,
    pub(crate) not_after: u64,
}

/// A LOCK that was verified, for us and taken for the first time. The next step finds its handshake.
#[derive(Debug)]
pub struct ReceivedLock {
    lock: VerifiedPayload<Lock>,
    jws: String,
}

/// The peer of the connection, and our identity.
#[derive(Clone, Copy, Debug)]
pub struct HandshakeParties<'b> {
    /// The verified peer.
    pub peer: &'b SpiffeId,
    /// The id that answers carry.
    pub me: &'b SpiffeId,
    /// Gateways that may stand between; a message that one seals names the key for the answer.
    pub gateways: &'b [SpiffeId],
}

impl HandshakeParties<'_> {
    fn holds(&self, from: &SpiffeId, to: &SpiffeId) -> Result<(), HandshakeFault> {
        if from != self.peer {
            return Err(HandshakeFault::SenderMismatch);
        }
        if to != self.me { Err(HandshakeFault::ReceiverMismatch) } else { Ok(()) }
    }

    /// The key to which one of the gateways wants the SELECT about this HELLO sealed.
    fn reply_key(
        &self,
        statement: &Signed,
        hello: &Digest,
        trust: &Trust<'_>,
        now: u64,
    ) -> Result<PeerKey, HandshakeFault> {
        let gateway_key = self.gateway_key(statement, trust, now)?.payload;
        if gateway_key.hello != Some(*hello) {
            return Err(HandshakeFault::OtherHello);
        }
        PeerKey::of_point(gateway_key.from, gateway_key.key)
    }

    /// The key that one of the gateways states to us; refuses all other parties.
    pub(crate) fn gateway_key(
        &self,
        statement: &Signed,
        trust: &Trust<'_>,
        now: u64,
    ) -> Result<VerifiedPayload<GatewayKey>, HandshakeFault> {
        let verified = statement.verify::<GatewayKey>(trust, &[Usage::Agent, Usage::Server], now)?;
        if !self.gateways.contains(&verified.payload.from) {
            return Err(HandshakeFault::UnknownGateway);
        }
        if verified.payload.to != *self.me {
            return Err(HandshakeFault::ReceiverMismatch);
        }
        Ok(verified)
    }
}

impl ResponderConfig {
    /// Every floor of a line between the two, with the minimums that both state.
    pub(crate) fn floors_of(&self, line: &Line, hello: &Hello) -> Floors {
        let peers = [minimum_of(&hello.minimums, line), minimum_of(&self.minimums, line)];
        Floors { peers, ..self.floors_now(line) }
    }

    /// Every floor of a line without the other side's minimum: the check for a choice of a moment ago.
    pub(crate) fn floors_now(&self, line: &Line) -> Floors {
        let known = self.floors.iter().find(|(of, _)| of == line).map(|(_, floors)| *floors);
        Floors { peers: [minimum_of(&self.minimums, line), None], ..known.unwrap_or_default() }
    }

    /// The context of this name and digest, if it can be spoken now.
    pub(crate) fn supported(&self, urn: &ContextUrn, digest: &Digest) -> Option<&SupportedContext> {
        self.contexts.iter().find(|spoken| spoken.offer.urn == *urn && spoken.offer.digest == *digest)
    }

    /// The newest version that this side and the HELLO have in common and no floor forbids.
    pub(crate) fn choose(&self, hello: &Hello) -> Result<Offer, HandshakeFault> {
        let ours: Vec<&Offer> = self.contexts.iter().map(|spoken| &spoken.offer).collect();
        choose(&ours, &hello.contexts, &|line: &Line| self.floors_of(line, hello))
    }
}

impl ReceivedHello {
    /// Takes a HELLO: signed by the peer itself, for us, within its window, for the first time. `keys` open sealed ones.
    ///
    /// # Errors
    /// [`HandshakeFault`] of the first check that fails.
    pub fn hello(
        carried: &Carried,
        between: &HandshakeParties<'_>,
        keys: &[SealingKey],
        trust: &Trust<'_>,
        replay: &ReplayMemory,
        now: u64,
    ) -> Result<Self, HandshakeFault> {
        let (signed, reply, sealed) = match carried {
            Carried::Signed(signed) => (signed.clone(), None, false),
            Carried::Sealed(sealed) => {
                let key = keys.iter().find(|key| key.id() == sealed.key);
                let key = key.ok_or(HandshakeFault::UnknownSealingKey)?;
                let opened = key.open(Kind::Hello, sealed)?;
                (opened.signed, opened.reply, true)
            }
            Carried::Granted(_) => return Err(HandshakeFault::Member("jws")),
        };
        let hello = signed.verify::<Hello>(trust, &[Usage::Agent], now)?;
        between.holds(&hello.payload.from, &hello.payload.to)?;
        // a sealed HELLO holds a key for the SELECT, and an open one does not: else one of the two would lie open
        if sealed != hello.payload.key.is_some() {
            return Err(HandshakeFault::Sealing);
        }
        // refuses an invalid point before anything is sealed to it
        hello.payload.key.map(|point| PeerKey::of_point(hello.payload.from.clone(), point)).transpose()?;
        let reply = reply.map(|reply| between.reply_key(&reply, &hello.digest, trust, now)).transpose()?;
        replay.take(hello.once, &hello.payload.from.as_str().into(), now, now.saturating_add(KEPT))?;
        Ok(Self { hello, signed, sealed, reply })
    }

    /// The sender.
    pub fn from(&self) -> &SpiffeId {
        &self.hello.payload.from
    }

    /// Its offers, in its order of preference.
    pub fn offers(&self) -> &[Offer] {
        &self.hello.payload.contexts
    }

    /// Makes the SELECT: the newest version that both support and no floor forbids.
    ///
    /// # Errors
    /// [`HandshakeFault::NoCommon`], [`HandshakeFault::DigestDiffers`], [`HandshakeFault::Key`].
    pub fn select(
        self,
        answering: &ResponderConfig,
        me: &Identity,
        random: &dyn SecureRandom,
        now: u64,
    ) -> Result<(PendingLock, Carried), HandshakeFault> {
        let hello = &self.hello.payload;
        let choice = answering.choose(hello)?;
        let select = Select {
            nonce: nonce(random)?,
            from: me.id().clone(),
            to: hello.from.clone(),
            issued_at: now,
            minimums: answering.minimums.clone(),
            choice,
            hello: self.hello.digest,
            hint: answering.hint.clone(),
        };
        let signed = me.sign(&select, random)?;
        let carried = match &self.reply {
            Some(gateway) => Carried::Sealed(gateway.seal(Kind::Select, &signed, None, random)?),
            None => self.seal_like_hello(&signed, random)?,
        };
        Ok((self.into_pending(select, signed.jws, me.not_after()), carried))
    }

    /// A SELECT in the form of the HELLO: sealed to the key in it, or open.
    pub(crate) fn seal_like_hello(
        &self,
        select: &Signed,
        random: &dyn SecureRandom,
    ) -> Result<Carried, HandshakeFault> {
        let hello = &self.hello.payload;
        Ok(match hello.key.filter(|_| self.sealed) {
            Some(point) => {
                let key = PeerKey::of_point(hello.from.clone(), point)?;
                Carried::Sealed(key.seal(Kind::Select, select, None, random)?)
            }
            None => Carried::Signed(select.clone()),
        })
    }

    /// From here on its LOCK is awaited. `not_after` is the last second of the chain that signed the SELECT.
    pub(crate) fn into_pending(self, select: Select, select_jws: String, not_after: u64) -> PendingLock {
        PendingLock {
            not_after: self.hello.not_after.min(not_after),
            hello: self.hello,
            hello_jws: self.signed.jws,
            select,
            select_jws,
        }
    }
}

impl ReceivedLock {
    /// Takes a LOCK: signed by the peer itself, for us, within its window, for the first time.
    ///
    /// # Errors
    /// [`HandshakeFault`] of the first check that fails.
    pub fn lock(
        carried: &Carried,
        between: &HandshakeParties<'_>,
        trust: &Trust<'_>,
        replay: &ReplayMemory,
        now: u64,
    ) -> Result<Self, HandshakeFault> {
        let Carried::Signed(signed) = carried else { return Err(HandshakeFault::Member("jws")) };
        let lock = signed.verify::<Lock>(trust, &[Usage::Agent], now)?;
        between.holds(&lock.payload.from, &lock.payload.to)?;
        replay.take(lock.once, &lock.payload.from.as_str().into(), now, now.saturating_add(KEPT))?;
        Ok(Self { lock, jws: signed.jws.clone() })
    }

    /// Digest of the SELECT that it closes.
    pub fn select(&self) -> &Digest {
        &self.lock.payload.select
    }
}

impl PendingLock {
    /// Digest of the SELECT that was sent.
    pub fn id(&self) -> Digest {
        Digest::of(self.select_jws.as_bytes())
    }

    /// The context that was chosen.
    pub fn urn(&self) -> &ContextUrn {
        &self.select.choice.urn
    }

    /// Its digest.
    pub fn digest(&self) -> &Digest {
        &self.select.choice.digest
    }

    /// The peer that is waited for.
    pub fn from(&self) -> &SpiffeId {
        &self.hello.payload.from
    }

    /// The last second at which its LOCK is taken.
    pub fn until(&self) -> u64 {
        self.select.issued_at.saturating_add(WINDOW_SECONDS)
    }

    /// Takes the LOCK: about the received HELLO and the sent SELECT, byte for byte. This detects messages that were stripped
    /// in transit (F0-37).
    ///
    /// # Errors
    /// [`HandshakeFault::OtherHello`], [`HandshakeFault::OtherSelect`], [`HandshakeFault::SenderMismatch`], [`HandshakeFault::TooOld`],
    /// [`HandshakeFault::Expiry`].
    pub fn lock(self, received: &ReceivedLock, now: u64) -> Result<Agreement, HandshakeFault> {
        let lock = &received.lock.payload;
        if now > self.until() {
            return Err(HandshakeFault::TooOld);
        }
        if lock.from != self.hello.payload.from {
            return Err(HandshakeFault::SenderMismatch);
        }
        if lock.to != self.select.from {
            return Err(HandshakeFault::ReceiverMismatch);
        }
        if lock.select != self.id() {
            return Err(HandshakeFault::OtherSelect);
        }
        if lock.hello != self.hello.digest {
            return Err(HandshakeFault::OtherHello);
        }
        // not_after is the last second of the certificates; the session ends before the next
        let longest = self.not_after.min(received.lock.not_after).saturating_add(1);
        let expires_at = lock.expires_at.min(longest);
        if expires_at <= now {
            return Err(HandshakeFault::Expiry);
        }
        let transcript = transcript(&self.hello_jws, &self.select_jws, &received.jws);
        let Select { from: responder, to: initiator, issued_at, choice, minimums, .. } = self.select;
        Ok(Agreement {
            initiator,
            responder,
            urn: choice.urn,
            digest: choice.digest,
            features: choice.features,
            minimums: [self.hello.payload.minimums, minimums],
            stated_at: [Some(self.hello.payload.issued_at), Some(issued_at)],
            transcript,
            expires_at,
        })
    }
}
