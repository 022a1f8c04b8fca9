//! Names of models.

use std::fmt;

/// Bytes of the name of a model: with `embedding:` in front it is the name of a feature in a handshake, which has at most 64.
pub const MAX_MODEL_BYTES: usize = 54;

/// The name of an embedding model: 1 to [`MAX_MODEL_BYTES`] letters, digits and `._:/-` of ASCII, of which the first is a letter or a digit.
///
/// Two vectors are compared only if their models have one name, byte for byte.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelName {
    /// Zeroes fill the rest.
    bytes: [u8; MAX_MODEL_BYTES],
    length: u8,
}

/// A text is no name of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a model is named by 1 to 54 letters, digits and `._:/-`, a letter or digit first")]
pub struct NotAModel;

impl ModelName {
    /// Takes a name in its one form.
    ///
    /// # Errors
    /// [`NotAModel`].
    pub fn parse(text: &str) -> Result<Self, NotAModel> {
        let sound = text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'/' | b'-'));
        let mut bytes = [0; MAX_MODEL_BYTES];
        let length = u8::try_from(text.len()).map_err(|_| NotAModel)?;
        let slot = bytes.get_mut(..text.len()).filter(|_| sound).ok_or(NotAModel)?;
        slot.copy_from_slice(text.as_bytes());
        Ok(Self { bytes, length })
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // only `parse` makes one, of ASCII
        let bytes = self.bytes.get(..usize::from(self.length)).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
