//! Keys that the upstream agent states: the gateway's, for callers, and its own.

use super::Relay;
use crate::HandshakeFault;
use crate::endpoint::written;
use crate::limits::{APPOINTED_AT_LEAST_SECONDS, APPOINTED_SECONDS, MAX_MESSAGE_BYTES};
use crate::member::{Members, read};
use crate::payloads::GatewayKey;
use crate::seal::PeerKey;
use crate::sessions::Sessions;
use crate::signed::Trust;
use crate::wire::signed;
use semgate_certs::SecureRandom;
use semgate_contexts::Digest;
use std::sync::{Arc, Mutex, PoisonError};

/// The upstream agent states the gateway's key as the one to seal HELLOs to, and its own for messages from the gateway.
#[derive(Debug)]
pub struct Appointed {
    statement: Vec<u8>,
    ours: Digest,
    agent: PeerKey,
    since: u64,
    until: u64,
}

impl Appointed {
    /// The statement for callers: `{"jws", "x5c"}`, signed by the agent.
    pub fn statement(&self) -> &[u8] {
        &self.statement
    }

    pub(super) fn agent(&self) -> &PeerKey {
        &self.agent
    }
}

/// The last one.
#[derive(Debug, Default)]
pub(super) struct Appointment(Mutex<Option<Arc<Appointed>>>);

impl Relay {
    /// The question to the upstream agent, for [`crate::Endpoint::appoint`]: `{"jws", "x5c"}`. `None` without lock keys, from
    /// which the gateway's key comes.
    ///
    /// # Errors
    /// [`HandshakeFault::Key`].
    pub fn key_question(
        &self,
        sessions: &Sessions,
        random: &dyn SecureRandom,
        now: u64,
    ) -> Result<Option<Vec<u8>>, HandshakeFault> {
        let keys = sessions.locks.sealing_keys(&self.agent, now);
        let Some(key) = keys.first().map(|key| key.point()) else { return Ok(None) };
        let (from, to) = (self.me.id().clone(), self.agent.clone());
        let asks = self.me.sign(&GatewayKey { from, to, issued_at: now, key, hello: None }, random)?;
        Ok(Some(written(&asks).to_string().into_bytes()))
    }

    /// Takes the agent's answer, and keeps it for [`APPOINTED_SECONDS`], no longer than its statements hold.
    ///
    /// # Errors
    /// [`HandshakeFault::SenderMismatch`] for statements of another party; [`HandshakeFault::UnknownSealingKey`] for another
    /// key than the one shown, or if the agent's own is the same; those of [`PeerKey::stated`].
    pub fn take_appointment(
        &self,
        body: &[u8],
        sessions: &Sessions,
        trust: &Trust<'_>,
        now: u64,
    ) -> Result<Arc<Appointed>, HandshakeFault> {
        let json = read(body, MAX_MESSAGE_BYTES)?;
        let members = Members::of(&json, "appointed", &["gateway", "agent"], &[])?;
        let of = |name: &'static str| {
            let signed = signed(&Members::of(members.get(name)?, name, &["jws", "x5c"], &[])?)?;
            let key = PeerKey::stated(&signed, trust, now)?;
            if *key.agent() == self.agent { Ok((signed, key)) } else { Err(HandshakeFault::SenderMismatch) }
        };
        let ((statement, ours), (_, agent)) = (of("gateway")?, of("agent")?);
        let known = sessions.locks.sealing_keys(&self.agent, now);
        if known.first().is_none_or(|key| key.id() != ours.id()) || agent.id() == ours.id() {
            return Err(HandshakeFault::UnknownSealingKey);
        }
        let until = now.saturating_add(APPOINTED_SECONDS).min(ours.until()).min(agent.until());
        let statement = written(&statement).to_string().into_bytes();
        let appointed = Arc::new(Appointed { statement, ours: ours.id(), agent, since: now, until });
        let mut slot = self.appointment.0.lock().unwrap_or_else(PoisonError::into_inner);
        *slot = Some(Arc::clone(&appointed));
        Ok(appointed)
    }

    /// The agent's last statement, while it holds and the gateway's key is the same.
    pub fn current_appointment(&self, sessions: &Sessions, now: u64) -> Option<Arc<Appointed>> {
        let current = self.appointment.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let keys = sessions.locks.sealing_keys(&self.agent, now);
        current.filter(|kept| kept.until > now && keys.first().is_some_and(|key| key.id() == kept.ours))
    }

    /// Notes that the agent refused a sealed message. It may have another key by now, and is asked again. That happens at
    /// most every [`APPOINTED_AT_LEAST_SECONDS`], since a caller may cause the refusal.
    pub fn forget_appointment(&self, now: u64) {
        let mut slot = self.appointment.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.as_ref().is_some_and(|kept| now >= kept.since.saturating_add(APPOINTED_AT_LEAST_SECONDS)) {
            *slot = None;
        }
    }
}
