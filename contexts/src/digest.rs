//! The digest of a payload, written `sha-256:` and 64 lower-case hex digits.

use std::fmt;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

const SCHEME: &str = "sha-256:";

/// A SHA-256 digest of payload bytes.
///
/// It has one text form, `sha-256:` followed by 64 lower-case hex digits. Upper case, another scheme or another length do not
/// parse. So two digests are equal exactly when their texts are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// The reason that a text is no [`Digest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DigestFault {
    /// It does not begin with `sha-256:`.
    #[error("digest does not begin with `sha-256:`")]
    Scheme,
    /// It does not have 64 digits after the scheme.
    #[error("digest does not have 64 hex digits")]
    Length,
    /// A digit is not one of `0`–`9` and `a`–`f`.
    #[error("digest has a character that is not a lower-case hex digit")]
    Digit,
}

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of these parts, one behind the other.
    #[must_use]
    pub fn of_parts<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> Self {
        let mut digest = Sha256::new();
        parts.into_iter().for_each(|part| digest.update(part));
        Self(digest.finalize().into())
    }

    /// Takes 32 bytes that are a SHA-256 output already.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads the text form; anything but the one canonical form is refused.
    ///
    /// # Errors
    /// [`DigestFault`] names the part that is wrong.
    pub fn parse(text: &str) -> Result<Self, DigestFault> {
        Self::parse_hex(text.strip_prefix(SCHEME).ok_or(DigestFault::Scheme)?)
    }

    /// Reads the 64 lower-case hex digits alone, as they stand in file names and shard addresses.
    ///
    /// # Errors
    /// [`DigestFault::Length`] or [`DigestFault::Digit`].
    pub fn parse_hex(hex: &str) -> Result<Self, DigestFault> {
        if hex.len() != 64 {
            return Err(DigestFault::Length);
        }
        let mut out = [0_u8; 32];
        match HEXLOWER.decode_mut(hex.as_bytes(), &mut out) {
            Ok(_) => Ok(Self(out)),
            Err(_) => Err(DigestFault::Digit),
        }
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 lower-case hex digits without the scheme.
    #[must_use]
    pub fn hex(&self) -> String {
        HEXLOWER.encode(&self.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SCHEME)?;
        f.write_str(&self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
