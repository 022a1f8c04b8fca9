//! The text of a lock, in its one form.

use crate::limits::MAX_LOCK_CHARS;
use semgate_certs::encoding::{from_base64url, from_hex, to_base64url};
use semgate_contexts::ModelName;
use std::fmt;

const FORM: &str = "v1";

/// The form of a lock whose session chose an embedding model.
const FORM_WITH_MODEL: &str = "v2";

/// The parts of a lock.
pub(super) struct LockText {
    pub(super) epoch: u64,
    pub(super) fingerprint: u32,
    pub(super) expires_at: u64,
    pub(super) session: [u8; 32],
    /// The embedding model that the session chose.
    pub(super) model: Option<ModelName>,
    pub(super) tag: [u8; 32],
}

impl LockText {
    /// Reads `v1.<epoch>-<fingerprint>.<expiry>.<session>.<tag>`, or `v2.<epoch>-<fingerprint>.<expiry>.<session>.<model>.<tag>`; numbers without leading zeroes, the fingerprint as eight lower-case
    /// hex digits, session, model and tag as canonical base64url.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_LOCK_CHARS {
            return None;
        }
        let mut parts = text.split('.');
        let (form, key, expiry) = (parts.next()?, parts.next()?, parts.next()?);
        let session = parts.next()?;
        let model = match form {
            FORM => None,
            FORM_WITH_MODEL => Some(model(parts.next()?)?),
            _ => return None,
        };
        let tag = parts.next()?;
        if parts.next().is_some() {
            return None;
        }
        let (epoch, fingerprint) = key.split_once('-')?;
        Some(Self {
            epoch: number(epoch)?,
            fingerprint: u32::from_be_bytes(from_hex(fingerprint)?.try_into().ok()?),
            expires_at: number(expiry)?,
            session: from_base64url(session)?.try_into().ok()?,
            model,
            tag: from_base64url(tag)?.try_into().ok()?,
        })
    }
}

impl fmt::Display for LockText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (session, tag) = (to_base64url(self.session), to_base64url(self.tag));
        let form = if self.model.is_some() { FORM_WITH_MODEL } else { FORM };
        write!(f, "{form}.{}-{:08x}.{}.{session}.", self.epoch, self.fingerprint, self.expires_at)?;
        if let Some(model) = self.model {
            write!(f, "{}.", to_base64url(model.as_str()))?;
        }
        f.write_str(&tag)
    }
}

/// The name of a model, whose text may hold a point.
fn model(text: &str) -> Option<ModelName> {
    let bytes = from_base64url(text)?;
    ModelName::parse(std::str::from_utf8(&bytes).ok()?).ok()
}

fn number(text: &str) -> Option<u64> {
    let plain = (1..=16).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if !plain || (text.len() > 1 && text.starts_with('0')) {
        return None;
    }
    text.parse().ok()
}
