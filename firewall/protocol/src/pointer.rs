//! Locations in a message, shown without the sender's text.

use std::{fmt, sync::Arc};

/// The part of a location that the binding fixes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// One location in every message, such as `/content`.
    Fixed(&'static str),
    /// A location with numbers in it, such as `/params/message/parts/3/data`.
    Built(Arc<str>),
}

impl Base {
    /// The JSON Pointer text.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Fixed(text) => text,
            Self::Built(text) => text,
        }
    }
}

/// A JSON Pointer (RFC 6901) that costs nothing until it is shown. Member names that are not plain words of at most 64
/// letters, digits, `_`, `-`, `.` are shown as `*`: they are the sender's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer<'j> {
    /// The start of the content.
    pub base: Base,
    /// The key in a map of concept objects.
    pub key: Option<&'j str>,
}

impl Pointer<'_> {
    /// The pointer with a path inside the object put behind it, made safe to show.
    pub fn join(&self, inner: &str) -> String {
        let mut text = self.to_string();
        for token in inner.split('/').skip(1) {
            text.push('/');
            text.push_str(plain(token));
        }
        text
    }
}

impl fmt::Display for Pointer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.base.as_str())?;
        match self.key {
            Some(key) => write!(f, "/{}", plain(key)),
            None => Ok(()),
        }
    }
}

/// The token if it is a plain word, else `*`.
pub(crate) fn plain(token: &str) -> &str {
    let fits = !token.is_empty()
        && token.len() <= 64
        && token.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
    if fits { token } else { "*" }
}
