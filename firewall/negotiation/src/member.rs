//! Reading closed JSON objects: every member is known, and there once.

use crate::HandshakeFault;
use semgate_contexts::json::{self, Json, Limits, Object};

type Read<T> = Result<T, HandshakeFault>;

/// Limits of the reader for at most `max_bytes`; nothing of a handshake nests deeper than an envelope around an offer.
pub(crate) fn limits(max_bytes: usize) -> Limits {
    Limits {
        max_bytes,
        max_depth: 8,
        max_nodes: 8_192,
        max_string_bytes: max_bytes,
        max_key_bytes: 256,
        large_integers: false,
    }
}

/// Reads strict JSON.
pub(crate) fn read<'a>(bytes: &'a [u8], max_bytes: usize) -> Read<Json<'a>> {
    json::read(bytes, &limits(max_bytes)).map_err(|fault| match fault {
        json::Fault::TooLarge => HandshakeFault::TooLarge,
        other => HandshakeFault::Json(other),
    })
}

/// The members of an object with exactly these names; those in `optional` may be missing.
pub(crate) struct Members<'j, 'a>(&'j Object<'a>);

impl<'j, 'a> Members<'j, 'a> {
    pub(crate) fn of(
        json: &'j Json<'a>,
        what: &'static str,
        required: &[&'static str],
        optional: &[&'static str],
    ) -> Read<Self> {
        Self::of_object(json.as_object().ok_or(HandshakeFault::Member(what))?, what, required, optional)
    }

    pub(crate) fn of_object(
        object: &'j Object<'a>,
        what: &'static str,
        required: &[&'static str],
        optional: &[&'static str],
    ) -> Read<Self> {
        if let Some(missing) = required.iter().find(|name| object.get(name).is_none()) {
            return Err(HandshakeFault::Member(missing));
        }
        if object.iter().any(|(name, _)| !required.contains(&name) && !optional.contains(&name)) {
            return Err(HandshakeFault::Member(what));
        }
        Ok(Self(object))
    }

    pub(crate) fn get(&self, name: &'static str) -> Read<&'j Json<'a>> {
        self.0.get(name).ok_or(HandshakeFault::Member(name))
    }

    pub(crate) fn has(&self, name: &'static str) -> Option<&'j Json<'a>> {
        self.0.get(name)
    }

    pub(crate) fn text(&self, name: &'static str) -> Read<&'j str> {
        self.get(name)?.as_str().ok_or(HandshakeFault::Member(name))
    }

    /// A text that parses as something else.
    pub(crate) fn parsed<T>(&self, name: &'static str, parse: impl FnOnce(&'j str) -> Option<T>) -> Read<T> {
        parse(self.text(name)?).ok_or(HandshakeFault::Member(name))
    }

    /// At most `most` elements.
    pub(crate) fn list(&self, name: &'static str, most: usize) -> Read<&'j [Json<'a>]> {
        let list = self.get(name)?.as_array().ok_or(HandshakeFault::Member(name))?;
        if list.len() > most { Err(HandshakeFault::Member(name)) } else { Ok(list) }
    }

    /// Whole seconds, at most 2^53 − 1.
    pub(crate) fn time(&self, name: &'static str) -> Read<u64> {
        let number = self.get(name)?.as_number().and_then(json::Number::as_i64_exact);
        number.and_then(|n| u64::try_from(n).ok()).ok_or(HandshakeFault::Member(name))
    }
}
