//! The text of a lock, in its one form.

use crate::limits::MAX_LOCK_CHARS;
use semgate_certs::encoding::{from_base64url, from_hex, to_base64url};
use std::fmt;

const FORM: &str = "v1";

/// The parts of a lock.
pub(super) struct LockText {
    pub(super) epoch: u64,
    pub(super) fingerprint: u32,
    pub(super) expires_at: u64,
    pub(super) session: [u8; 32],
    pub(super) tag: [u8; 32],
}

impl LockText {
    /// Reads `v1.<epoch>-<fingerprint>.<expiry>.<session>.<tag>`; numbers without leading zeroes, the fingerprint as eight lower-case
    /// hex digits, session and tag as canonical base64url.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_LOCK_CHARS {
            return None;
        }
        let mut parts = text.split('.');
        let (form, key, expiry) = (parts.next()?, parts.next()?, parts.next()?);
        let (session, tag) = (parts.next()?, parts.next()?);
        if form != FORM || parts.next().is_some() {
            return None;
        }
        let (epoch, fingerprint) = key.split_once('-')?;
        Some(Self {
            epoch: number(epoch)?,
            fingerprint: u32::from_be_bytes(from_hex(fingerprint)?.try_into().ok()?),
            expires_at: number(expiry)?,
            session: from_base64url(session)?.try_into().ok()?,
            tag: from_base64url(tag)?.try_into().ok()?,
        })
    }
}

impl fmt::Display for LockText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (session, tag) = (to_base64url(self.session), to_base64url(self.tag));
        write!(f, "{FORM}.{}-{:08x}.{}.{session}.{tag}", self.epoch, self.fingerprint, self.expires_at)
    }
}

fn number(text: &str) -> Option<u64> {
    let plain = (1..=16).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if !plain || (text.len() > 1 && text.starts_with('0')) {
        return None;
    }
    text.parse().ok()
}
