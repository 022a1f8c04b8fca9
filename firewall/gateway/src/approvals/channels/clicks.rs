//! Signatures of Slack.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use axum::http::HeaderMap;
use data_encoding::HEXLOWER;
use ring::hmac;

use super::fault::{fault, read};
use crate::config::SlackConfig;
use crate::fault::RunFault;

/// Seconds between the signature and its arrival, in both directions (Slack, "Verifying requests").
const AGE: u64 = 300;
/// Signatures that are remembered: far more clicks than people make in ten minutes. Past them no click counts.
const MAX_SEEN: usize = 65_536;
/// Bytes of a secret: Slack's have 32. A shorter one could be guessed.
const MIN_SECRET: usize = 16;

const SIGNATURE: &str = "x-slack-signature";
const TIMESTAMP: &str = "x-slack-request-timestamp";

/// Judges the signatures of clicks.
pub(super) struct Clicks {
    key: hmac::Key,
    /// Signatures that were used, with the second at which each is too old anyway.
    seen: Mutex<HashMap<Vec<u8>, u64>>,
}

/// Reasons why a request is no click of Slack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoClick {
    /// No signature, or not Slack's over these bytes.
    Signature,
    /// Signed too long ago, or in the future.
    Stale,
    /// Seen before.
    Replayed,
}

impl Clicks {
    /// # Errors
    /// The secret is unreadable or too short.
    pub(super) fn open(config: &SlackConfig) -> Result<Self, RunFault> {
        let what = "signing secret of slack";
        let text = read(&config.signing_secret, what)?;
        let secret = text.trim();
        if secret.len() < MIN_SECRET {
            return Err(fault(&config.signing_secret, what, &"it is too short"));
        }
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        Ok(Self { key, seen: Mutex::default() })
    }

    /// Accepts a signature once.
    ///
    /// # Errors
    /// [`NoClick`]. The comparison takes the same time for every wrong signature.
    pub(super) fn accept(&self, headers: &HeaderMap, body: &[u8], now: u64) -> Result<(), NoClick> {
        let header = |name: &str| {
            let mut all = headers.get_all(name).iter();
            let one = all.next().and_then(|value| value.to_str().ok());
            one.filter(|_| all.next().is_none()).ok_or(NoClick::Signature)
        };
        let (signature, timestamp) = (header(SIGNATURE)?, header(TIMESTAMP)?);
        let at: u64 = timestamp.parse().map_err(|_| NoClick::Signature)?;
        let signature = signature.strip_prefix("v0=").ok_or(NoClick::Signature)?;
        let signature = HEXLOWER.decode(signature.as_bytes()).map_err(|_| NoClick::Signature)?;
        let signed = [b"v0:", timestamp.as_bytes(), b":", body].concat();
        hmac::verify(&self.key, &signed, &signature).map_err(|_| NoClick::Signature)?;
        if now.abs_diff(at) > AGE {
            return Err(NoClick::Stale);
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|_, until| *until >= now);
        if seen.len() >= MAX_SEEN || seen.contains_key(&signature) {
            return Err(NoClick::Replayed);
        }
        seen.insert(signature, at.saturating_add(AGE));
        Ok(())
    }
}
