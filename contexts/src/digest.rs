//! The digest of a payload, written `sha-256:` and 64 lower-case hex digits.

use std::fmt;
use std::str::FromStr;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigestFault {
    /// It does not begin with `sha-256:`.
    Scheme,
    /// It does not have 64 digits after the scheme.
    Length,
    /// A digit is not one of `0`–`9` and `a`–`f`.
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
        HEXLOWER.decode_mut(hex.as_bytes(), &mut out).map_err(|_| DigestFault::Digit)?;
        Ok(Self(out))
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

impl FromStr for Digest {
    type Err = DigestFault;

    fn from_str(text: &str) -> Result<Self, DigestFault> {
        Self::parse(text)
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

impl fmt::Display for DigestFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "digest does not begin with `sha-256:`",
            Self::Length => "digest does not have 64 hex digits",
            Self::Digit => "digest has a character that is not a lower-case hex digit",
        })
    }
}

impl std::error::Error for DigestFault {}

#[cfg(test)]
mod tests {
    use super::{Digest, DigestFault};

    // FIPS 180-4 example: SHA-256 of "abc".
    const ABC: &str = "sha-256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn the_published_vector_has_its_one_text_form() {
        let digest = Digest::of(b"abc");
        assert_eq!(digest.to_string(), ABC);
        assert_eq!(Digest::of_parts(["a", "", "bc"]), digest);
        assert_eq!(Digest::parse(ABC), Ok(digest));
        assert_eq!(Digest::parse_hex(&digest.hex()), Ok(digest));
        assert_eq!(Digest::from_bytes(*digest.as_bytes()), digest);
    }

    #[test]
    fn every_other_spelling_is_refused_with_its_reason() {
        assert_eq!(Digest::parse(&ABC.to_uppercase()), Err(DigestFault::Scheme));
        assert_eq!(Digest::parse(&ABC.replace("sha-256", "sha256")), Err(DigestFault::Scheme));
        assert_eq!(Digest::parse(&ABC.replace("ba78", "BA78")), Err(DigestFault::Digit));
        assert_eq!(Digest::parse(&ABC.replace("ba78", "ga78")), Err(DigestFault::Digit));
        assert_eq!(Digest::parse(&ABC[..ABC.len() - 1]), Err(DigestFault::Length));
        assert_eq!(Digest::parse(&format!("{ABC}0")), Err(DigestFault::Length));
        assert_eq!(Digest::parse(&format!(" {ABC}")), Err(DigestFault::Scheme));
        assert_eq!(Digest::parse(&ABC.replace("ba78", "é78")), Err(DigestFault::Digit));
        assert_eq!(Digest::parse(&ABC.replace("ba78", "éé")), Err(DigestFault::Digit));
        assert_eq!(Digest::parse(""), Err(DigestFault::Scheme));
    }
}
