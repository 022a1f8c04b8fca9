//! The side that opens a handshake: HELLO → SELECT → LOCK → the lock.
//!
//! Each step takes the value that only the step before can build, so that none can be left out:
//!
//! ```compile_fail,E0451
//! # fn skip(urn: semgate_contexts::ContextUrn) {
//! let chosen = semgate_negotiation::initiator::SelectReceived { urn };
//! # }
//! ```
//!
//! ```compile_fail,E0599
//! # fn skip(greeted: semgate_negotiation::initiator::HelloSent, me: &semgate_negotiation::Identity,
//! #         random: &dyn semgate_certs::SecureRandom) {
//! greeted.lock(me, 3600, random, 0);
//! # }
//! ```
//!
//! ```compile_fail,E0382
//! # fn twice(greeted: semgate_negotiation::initiator::HelloSent, select: &semgate_negotiation::Carried,
//! #          trust: &semgate_negotiation::Trust<'_>) {
//! let first = greeted.select(select, trust, 0);
//! let second = greeted.select(select, trust, 0);
//! # }
//! ```

use crate::HandshakeFault;
use crate::agreed::{session, transcript};
use crate::floor::Floors;
use crate::limits::{CLOCK_SKEW_SECONDS, MAX_LOCK_SECONDS};
use crate::lock::{Granted, end_of, model_of, session_of};
use crate::payloads::{Hello, Lock, NONCE_BYTES, Select};
use crate::seal::{PeerKey, SealingKey};
use crate::select::answers_offer;
use crate::signed::{Identity, Signed, Trust, VerifiedPayload};
use crate::terms::{Minimum, Offer};
use crate::wire::{Carried, Kind};
use semgate_certs::{KeyFault, SecureRandom, SpiffeId, Usage};
use semgate_contexts::{ContextUrn, Digest, ModelName};

/// The contexts that the initiator can speak, and the agent it greets. Offers are contexts that count now, in the order of
/// preference.
#[derive(Clone, Debug)]
pub struct InitiatorConfig {
    /// The agent that is greeted.
    pub to: SpiffeId,
    /// At least one, no URN twice.
    pub contexts: Vec<Offer>,
    /// No line twice.
    pub minimums: Vec<Minimum>,
    /// Seal the HELLO to this key, and have the SELECT sealed too (F0-47).
    pub seal_to: Option<PeerKey>,
}

/// A HELLO was sent; its SELECT is awaited. A step that fails ends the handshake: begin another.
#[derive(Debug)]
pub struct HelloSent {
    pub(crate) hello: Hello,
    pub(crate) signed: Signed,
    pub(crate) key: Option<SealingKey>,
}

/// A SELECT was verified: it answers this HELLO, and chose one of its offers.
#[derive(Debug)]
pub struct SelectReceived {
    hello: Hello,
    signed_hello: Signed,
    signed_select: Signed,
    select: VerifiedPayload<Select>,
}

/// A LOCK was sent; its answer is awaited.
#[derive(Debug)]
pub struct LockSent {
    chosen: SelectReceived,
    requested_end: u64,
    transcript: Digest,
}

/// The initiator's result: every message of the session names this context and carries this lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The lock, for the member `lock` of messages.
    pub lock: String,
    /// The second at which it no longer holds.
    pub expires_at: u64,
    /// The context that both speak.
    pub choice: Offer,
    /// The minimums that the other side stated.
    pub minimums: Vec<Minimum>,
    /// Digest over HELLO, SELECT and LOCK.
    pub transcript: Digest,
}

pub(crate) fn nonce(random: &dyn SecureRandom) -> Result<[u8; NONCE_BYTES], HandshakeFault> {
    let mut nonce = [0; NONCE_BYTES];
    random.fill(&mut nonce).map_err(|_| HandshakeFault::Key(KeyFault::Randomness))?;
    Ok(nonce)
}

impl Session {
    /// The embedding model of every vector in the session; `None` where the other side chose none.
    pub fn model(&self) -> Option<ModelName> {
        self.choice.features.models().next()
    }
}

impl HelloSent {
    /// Makes the HELLO.
    ///
    /// # Errors
    /// [`HandshakeFault::Member`] for an opening that its receiver would refuse; [`HandshakeFault::Key`].
    pub fn hello(
        opening: InitiatorConfig,
        me: &Identity,
        random: &dyn SecureRandom,
        now: u64,
    ) -> Result<(Self, Carried), HandshakeFault> {
        let InitiatorConfig { to, contexts, minimums, seal_to } = opening;
        let key = seal_to.as_ref().map(|_| SealingKey::generate(random)).transpose()?;
        let hello = Hello {
            nonce: nonce(random)?,
            from: me.id().clone(),
            to,
            issued_at: now,
            contexts,
            minimums,
            key: key.as_ref().map(SealingKey::point),
        };
        if seal_to.as_ref().is_some_and(|key| *key.agent() != hello.to) {
            return Err(HandshakeFault::ReceiverMismatch);
        }
        let signed = me.sign(&hello, random)?;
        let carried = match &seal_to {
            Some(key) => Carried::Sealed(key.seal(Kind::Hello, &signed, None, random)?),
            None => Carried::Signed(signed.clone()),
        };
        Ok((Self { hello, signed, key }, carried))
    }

    /// Takes the SELECT: from the greeted agent, about this HELLO, with a choice that was offered and is at or above the
    /// minimums.
    ///
    /// # Errors
    /// [`HandshakeFault::OtherHello`] if the other side answers another HELLO than this side's (F0-37); any other
    /// [`HandshakeFault`].
    pub fn select(
        self,
        carried: &Carried,
        trust: &Trust<'_>,
        now: u64,
    ) -> Result<SelectReceived, HandshakeFault> {
        let signed = match (carried, &self.key) {
            (Carried::Signed(signed), None) => signed.clone(),
            (Carried::Sealed(sealed), Some(key)) => key.open(Kind::Select, sealed)?.signed,
            (Carried::Granted(_), _) => return Err(HandshakeFault::Member("jws")),
            _ => return Err(HandshakeFault::Sealing),
        };
        let select = signed.verify::<Select>(trust, &[Usage::Agent, Usage::Server], now)?;
        answers_offer(&select.payload, &self.hello, &self.signed.digest(), Floors::default())?;
        Ok(SelectReceived { hello: self.hello, signed_hello: self.signed, signed_select: signed, select })
    }
}

impl SelectReceived {
    /// The context that was chosen.
    pub fn urn(&self) -> &ContextUrn {
        &self.select.payload.choice.urn
    }

    /// An address where a person may read about it, in the other side's words. Never fetch it (F0-20).
    pub fn hint(&self) -> Option<&str> {
        self.select.payload.hint.as_deref()
    }

    /// Makes the LOCK, for a session of this many seconds, at most [`MAX_LOCK_SECONDS`].
    ///
    /// # Errors
    /// [`HandshakeFault::Key`].
    pub fn lock(
        self,
        me: &Identity,
        seconds: u64,
        random: &dyn SecureRandom,
        now: u64,
    ) -> Result<(LockSent, Carried), HandshakeFault> {
        let lock = Lock {
            from: self.hello.from.clone(),
            to: self.hello.to.clone(),
            issued_at: now,
            hello: self.signed_hello.digest(),
            select: self.signed_select.digest(),
            expires_at: now.saturating_add(seconds.min(MAX_LOCK_SECONDS)),
        };
        let signed = me.sign(&lock, random)?;
        let transcript = transcript(&self.signed_hello.jws, &self.signed_select.jws, &signed.jws);
        let closing = LockSent { chosen: self, requested_end: lock.expires_at, transcript };
        Ok((closing, Carried::Signed(signed)))
    }
}

impl LockSent {
    /// Takes the answer to LOCK.
    ///
    /// # Errors
    /// [`HandshakeFault::Expiry`] if it has ended already, ends later than was asked, or at another second than the answer
    /// states. [`HandshakeFault::OtherSession`] if its lock is not about this side's HELLO, SELECT and LOCK.
    pub fn granted(self, carried: &Carried, now: u64) -> Result<Session, HandshakeFault> {
        let Carried::Granted(Granted { lock, expires_at }) = carried else {
            return Err(HandshakeFault::Member("lock"));
        };
        // the other side's clock may be behind, so a lock may seem to end a little early; never later than asked
        if *expires_at > self.requested_end || expires_at.saturating_add(CLOCK_SKEW_SECONDS) <= now {
            return Err(HandshakeFault::Expiry);
        }
        let select = &self.chosen.select.payload;
        let minimums = [self.chosen.hello.minimums.as_slice(), select.minimums.as_slice()];
        if session_of(lock) != Some(session(&select.choice.features, minimums, &self.transcript)) {
            return Err(HandshakeFault::OtherSession);
        }
        // gateways hold vectors against the model in the lock
        if model_of(lock) != select.choice.features.models().next() {
            return Err(HandshakeFault::OtherSession);
        }
        // the end in the lock is the one that gateways use
        if end_of(lock) != Some(*expires_at) {
            return Err(HandshakeFault::Expiry);
        }
        let Select { choice, minimums, .. } = self.chosen.select.payload;
        Ok(Session {
            lock: lock.clone(),
            expires_at: *expires_at,
            choice,
            minimums,
            transcript: self.transcript,
        })
    }
}
