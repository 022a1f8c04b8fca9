//! Locks: the semantic sessions that handshakes create (F0-21, F0-22), verified without stored state.
//!
//! A lock is `v1.<epoch>-<fingerprint>.<expiry>.<session>.<tag>`, and `v2` with an embedding model before the tag; `docs/spec/locks.md` specifies every byte. A holder of the
//! fleet's secret verifies it from the message's own parties, route and context: one HMAC, no signature, no look-up.

mod key;
mod text;

pub use key::{FleetSecret, SecretFault};

use crate::agreed::Agreement;
use crate::limits::{CLOCK_SKEW_SECONDS, EPOCH_SECONDS, MAX_LOCK_SECONDS};
use crate::seal::SealingKey;
use arc_swap::ArcSwap;
use key::EpochKey;
use semgate_certs::SpiffeId;
use semgate_contexts::{ContextUrn, Digest, ModelName};
use std::fmt;
use std::sync::Arc;
use text::LockText;

/// The claim that a message makes with its lock. All but the lock itself comes from the verifier, never from the message.
#[derive(Clone, Copy, Debug)]
pub struct LockQuestion<'q> {
    /// The lock's id, as the message has it.
    pub lock: &'q str,
    /// The agent that opened the handshake: the verified sender of a request, the receiver of a reply.
    pub initiator: &'q str,
    /// The agent that answered it: the receiver of a request, the verified replier of a reply.
    pub responder: &'q str,
    /// The route's name.
    pub route: &'q str,
    /// The authority of the context's line.
    pub authority: &'q str,
    /// The context that the message names.
    pub urn: &'q ContextUrn,
    /// The digest that its authority published.
    pub digest: &'q Digest,
    /// Seconds since the Unix epoch.
    pub now: u64,
}

/// Proof that a lock holds between these two peers, on this route, for this context, now. It replaces no check of status,
/// floor, route or policy.
#[derive(Clone, Copy, Debug)]
pub struct VerifiedLock {
    expires_at: u64,
    session: [u8; 32],
    model: Option<ModelName>,
}

impl VerifiedLock {
    /// The embedding model that the session chose: its messages hold vectors of no other. `None` where none was chosen.
    pub fn model(&self) -> Option<ModelName> {
        self.model
    }

    /// The second at which the lock ends; it no longer holds at that second.
    pub fn expires_at(&self) -> u64 {
        self.expires_at
    }

    /// The session: a digest over all terms of the handshake, the same in every message of it and in no other handshake.
    pub fn session(&self) -> &[u8; 32] {
        &self.session
    }
}

/// The session that a lock names, which both agents computed by themselves ([`crate::HandshakeReply::session`]). It proves nothing:
/// only a holder of the fleet's secret can verify a lock. An upstream agent, which has verified it, uses it to tell
/// sessions apart. `None` for a text that is no lock in its one form.
pub fn session_of(lock: &str) -> Option<[u8; 32]> {
    LockText::parse(lock).map(|text| text.session)
}

/// The embedding model of a lock by its own text. Like [`session_of`], it proves nothing.
pub fn model_of(lock: &str) -> Option<ModelName> {
    LockText::parse(lock)?.model
}

/// The second at which a lock ends by its own text. Like [`session_of`], it proves nothing; `None` for a text that is no
/// lock.
pub(crate) fn end_of(lock: &str) -> Option<u64> {
    LockText::parse(lock).map(|text| text.expires_at)
}

/// A lock does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockFault {
    /// Not a lock in its one form, or one with a longer life than any lock has.
    Form,
    /// Made with an unknown secret: of another fleet, another process, or one that was replaced.
    UnknownKey,
    /// Made in an epoch that has ended, or not begun.
    Epoch,
    /// The tag does not fit: altered, or of another pair, role, route, authority or context.
    Tag,
    /// It was valid and has ended.
    Expired,
    /// No handshake is possible here, so no lock can hold.
    NoKeys,
}

impl LockFault {
    /// A short stable name for records, such as `expired`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Form => "form",
            Self::UnknownKey => "unknown_key",
            Self::Epoch => "epoch",
            Self::Tag => "tag",
            Self::Expired => "expired",
            Self::NoKeys => "no_keys",
        }
    }
}

impl fmt::Display for LockFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "the text is not a lock",
            Self::UnknownKey => "the lock was made with an unknown secret",
            Self::Epoch => "the lock was made in an epoch whose key is not accepted now",
            Self::Tag => "the lock is not for this pair, route and context",
            Self::Expired => "the lock has ended",
            Self::NoKeys => "no locks are made here",
        })
    }
}

impl std::error::Error for LockFault {}

/// A new lock, with the second at which it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The text that messages carry.
    pub lock: String,
    /// The second at which it no longer holds.
    pub expires_at: u64,
}

/// Makes and verifies locks. Holds the secrets and the derived keys of the current epochs.
pub struct LockKeys {
    secrets: Vec<FleetSecret>,
    derived: ArcSwap<Vec<EpochKey>>,
}

impl fmt::Debug for LockKeys {
    /// Never a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LockKeys of {}", self.secrets.len())
    }
}

impl LockKeys {
    /// No secret: no lock can be made, and none holds.
    pub fn none() -> Self {
        Self::new(Vec::new())
    }

    /// The first secret makes locks; all of them verify. One is normal; a second serves while a fleet changes its secret.
    pub fn new(secrets: Vec<FleetSecret>) -> Self {
        Self { secrets, derived: ArcSwap::from_pointee(Vec::new()) }
    }

    /// The key-agreement keys of an agent: that of the first secret for this epoch, then those that still open messages.
    /// Empty without a secret.
    pub fn sealing_keys(&self, agent: &SpiffeId, now: u64) -> Vec<SealingKey> {
        self.secrets.iter().flat_map(|secret| SealingKey::of_fleet(secret, agent, now)).collect()
    }

    /// Makes the lock of an agreement on a route, for a context of this authority. It ends when the initiator asked, but no
    /// later than after [`MAX_LOCK_SECONDS`], and no later than the certificates that signed the handshake.
    ///
    /// # Errors
    /// [`LockFault::NoKeys`]; [`LockFault::Expired`] if it would have ended already.
    pub fn grant(
        &self,
        agreement: &Agreement,
        route: &str,
        authority: &str,
        now: u64,
    ) -> Result<Granted, LockFault> {
        let secret = self.secrets.first().ok_or(LockFault::NoKeys)?;
        let expires_at = agreement.expires_at().min(now.saturating_add(MAX_LOCK_SECONDS));
        if expires_at <= now {
            return Err(LockFault::Expired);
        }
        let epoch = now / EPOCH_SECONDS;
        let key = self.key(epoch, secret);
        let session = agreement.session();
        let claim = Claim {
            initiator: agreement.initiator().as_str(),
            responder: agreement.responder().as_str(),
            route,
            authority,
            urn: agreement.urn().as_str(),
            digest: agreement.digest(),
            session: &session,
            model: agreement.model(),
            expires_at,
        };
        let (tag, model) = (key.tag(&claim), agreement.model());
        let lock =
            LockText { epoch, fingerprint: key.fingerprint(), expires_at, session, model, tag }.to_string();
        Ok(Granted { lock, expires_at })
    }

    /// Judges a claim: one HMAC. A lock that does not hold is refused, never ignored, since its sender believes in an
    /// agreement. The tag is compared in constant time.
    ///
    /// # Errors
    /// [`LockFault`].
    pub fn verify(&self, question: &LockQuestion<'_>) -> Result<VerifiedLock, LockFault> {
        if self.secrets.is_empty() {
            return Err(LockFault::NoKeys);
        }
        let text = LockText::parse(question.lock).ok_or(LockFault::Form)?;
        let now = question.now;
        if text.expires_at > now.saturating_add(MAX_LOCK_SECONDS + CLOCK_SKEW_SECONDS) {
            return Err(LockFault::Form);
        }
        // two epochs; a gateway whose clock is ahead of ours may already be in the next one
        let newest = now.saturating_add(CLOCK_SKEW_SECONDS) / EPOCH_SECONDS;
        if text.epoch > newest || text.epoch.saturating_add(1) < newest {
            return Err(LockFault::Epoch);
        }
        let claim = Claim {
            initiator: question.initiator,
            responder: question.responder,
            route: question.route,
            authority: question.authority,
            urn: question.urn.as_str(),
            digest: question.digest,
            session: &text.session,
            model: text.model,
            expires_at: text.expires_at,
        };
        let known = self.derived.load();
        let known_key = known.iter().find(|key| key.is(text.epoch, text.fingerprint));
        match known_key {
            Some(key) => key.verify(&claim, &text.tag)?,
            None => self.derive(&text)?.verify(&claim, &text.tag)?,
        }
        if text.expires_at <= now {
            return Err(LockFault::Expired);
        }
        Ok(VerifiedLock { expires_at: text.expires_at, session: text.session, model: text.model })
    }

    /// The key of a lock whose epoch is new here.
    fn derive(&self, text: &LockText) -> Result<EpochKey, LockFault> {
        let mut keys = self.secrets.iter().map(|secret| self.key(text.epoch, secret));
        keys.find(|key| key.is(text.epoch, text.fingerprint)).ok_or(LockFault::UnknownKey)
    }

    fn key(&self, epoch: u64, secret: &FleetSecret) -> EpochKey {
        let known = self.derived.load();
        if let Some(key) = known.iter().find(|key| key.is(epoch, secret.fingerprint(epoch))) {
            return key.clone();
        }
        let key = secret.epoch_key(epoch);
        // kept: the two newest epochs of each secret; two threads that derive at once lose nothing but time
        let mut newest: Vec<EpochKey> =
            known.iter().filter(|old| old.epoch().saturating_add(1) >= epoch).cloned().collect();
        newest.push(key.clone());
        if newest.len() <= 3 * self.secrets.len().max(1) {
            self.derived.store(Arc::new(newest));
        }
        key
    }
}

/// The content that the tag of a lock covers.
struct Claim<'c> {
    initiator: &'c str,
    responder: &'c str,
    route: &'c str,
    authority: &'c str,
    urn: &'c str,
    digest: &'c Digest,
    /// Digest over features, minimums and transcript; carried in the lock, since no message states them.
    session: &'c [u8; 32],
    model: Option<ModelName>,
    expires_at: u64,
}

#[cfg(test)]
mod tests;
