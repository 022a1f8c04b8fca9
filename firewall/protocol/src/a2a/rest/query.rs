//! The query of a request.

use crate::{MessageFault, member::Read};
use std::borrow::Cow;

/// The name of the parameter that repeats the header.
pub(crate) const VERSION: &str = "A2A-Version";

/// The most parameters of one query: the longest list of an operation has eight.
const MAX_PARAMETERS: usize = 16;

/// A query whose every parameter is there once.
#[derive(Clone, Debug, Default)]
pub struct Query<'q>(Vec<(&'q str, Cow<'q, str>)>);

impl<'q> Query<'q> {
    /// Reads the text after the `?`; empty without one.
    ///
    /// Names are literal, values may be percent-encoded. Refuses forms that readers split differently: `+`, `;`, an empty
    /// parameter, a parameter without `=`.
    ///
    /// # Errors
    /// `malformed`, also for a parameter that is present twice and for more than 16.
    pub fn parse(text: &'q str) -> Read<Self> {
        let fault = |what| Err(MessageFault::malformed("", what));
        let mut all: Vec<(&str, Cow<'_, str>)> = Vec::new();
        if text.is_empty() {
            return Ok(Self(all));
        }
        for pair in text.split('&') {
            let Some((name, value)) = pair.split_once('=') else {
                return fault("the query has a parameter without `=`");
            };
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
                return fault("the query has a parameter whose name is not letters, digits and `-`");
            }
            let Some(value) = decoded(value) else {
                return fault("the query has an ambiguous value");
            };
            if all.iter().any(|(known, _)| *known == name) {
                return fault("the query has a parameter twice");
            }
            if all.len() >= MAX_PARAMETERS {
                return fault("the query has more than 16 parameters");
            }
            all.push((name, value));
        }
        Ok(Self(all))
    }

    /// The values of the version parameter, for [`super::super::Version::of`].
    pub fn versions(&self) -> Vec<&str> {
        self.0.iter().filter(|(name, _)| *name == VERSION).map(|(_, value)| value.as_ref()).collect()
    }

    /// Every parameter besides the version.
    pub fn parameters(&self) -> impl Iterator<Item = (&'q str, &str)> {
        self.0.iter().filter(|(name, _)| *name != VERSION).map(|(name, value)| (*name, value.as_ref()))
    }

    /// For the forms that have no other parameter: JSON-RPC.
    ///
    /// # Errors
    /// `malformed` if there is one.
    pub fn only_version(&self) -> Read<()> {
        match self.parameters().next() {
            None => Ok(()),
            Some(_) => {
                Err(MessageFault::malformed("", "the query has a parameter that the binding does not have"))
            }
        }
    }
}

/// The value without percent-encoding; `None` if readers could differ, or if it is no text of at least one character.
fn decoded(value: &str) -> Option<Cow<'_, str>> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~:/@,=!*()$'".contains(&b);
    if value.is_empty() {
        return None;
    }
    if value.bytes().all(plain) {
        return Some(Cow::Borrowed(value));
    }
    let mut out = Vec::with_capacity(value.len());
    let mut bytes = value.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                out.push(u8::try_from(high << 4 | low).ok()?);
            }
            other if plain(other) => out.push(other),
            _ => return None,
        }
    }
    let text = String::from_utf8(out).ok()?;
    (!text.chars().any(char::is_control)).then_some(Cow::Owned(text))
}
