//! Signatures of messages under a shared secret.

use ring::hmac;
use std::{fmt, sync::Arc};

/// A secret that an agent shares with those that it speaks to. Its bytes are never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<[u8]>);

impl Secret {
    /// A secret of these bytes.
    pub fn new(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// HMAC-SHA256 of a text under the secret, in lower-case hex.
    pub fn mark(&self, text: &str) -> String {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &self.0), text.as_bytes());
        tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The signed text of a message, and its signature, unverified.
///
/// It proves knowledge of the secret and covers the text alone. It never tells who the sender is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal<'j> {
    /// The text that the binding signs.
    pub text: String,
    /// The signature: 64 lower-case hex digits. None in an unsigned message.
    pub mark: Option<&'j str>,
}

impl Seal<'_> {
    /// Returns true if the message is signed under this secret. The comparison takes constant time.
    pub fn fits(&self, secret: &Secret) -> bool {
        let Some(tag) = self.mark.and_then(bytes) else { return false };
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret.0);
        hmac::verify(&key, self.text.as_bytes(), &tag).is_ok()
    }
}

/// Returns true for 64 lower-case hex digits.
pub(crate) fn is_mark(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let pairs = (0..text.len()).step_by(2);
    let byte = |at: usize| u8::from_str_radix(text.get(at..at.checked_add(2)?)?, 16).ok();
    if is_mark(text) { pairs.map(byte).collect() } else { None }
}
