//! Reads the small JSON documents of this crate: through the strict reader, closed, and in canonical form only.

use semgate_contexts::json::{self, Json, Object};
use semgate_contexts::{canonical, json::Limits};
use std::fmt;

/// Reason for refusing bytes as a document. Holds nothing of the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FormatFault {
    /// Longer than its limit.
    TooLarge,
    /// Refused by the strict JSON reader.
    Json(json::Fault),
    /// Valid JSON, but not its own canonical form (RFC 8785).
    NotCanonical,
    /// This member is missing, of the wrong kind, or out of range.
    Member(&'static str),
    /// A member that the format does not name.
    UnknownMember,
    /// A value for which no canonical form exists.
    Unwritable,
}

impl fmt::Display for FormatFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormatFault::TooLarge => f.write_str("document is longer than its limit"),
            FormatFault::Json(fault) => write!(f, "{fault}"),
            FormatFault::NotCanonical => f.write_str("document is not in canonical form"),
            FormatFault::Member(name) => write!(f, "member `{name}` is missing or not valid"),
            FormatFault::UnknownMember => f.write_str("document has a member that its format does not name"),
            FormatFault::Unwritable => f.write_str("document has no canonical form"),
        }
    }
}

impl std::error::Error for FormatFault {}

impl From<json::Fault> for FormatFault {
    fn from(fault: json::Fault) -> Self {
        match fault {
            json::Fault::TooLarge => FormatFault::TooLarge,
            other => FormatFault::Json(other),
        }
    }
}

/// Limits of the JSON reader for a document of at most `max_bytes`. The byte limit bounds it: a node takes at least two bytes, and no
/// format of this crate nests deeper than six levels.
pub(crate) fn limits(max_bytes: usize) -> Limits {
    Limits {
        max_bytes,
        max_depth: 8,
        max_nodes: (max_bytes / 2).max(16),
        max_string_bytes: max_bytes,
        max_key_bytes: 512,
        large_integers: false,
    }
}

/// Canonical bytes of a value.
pub(crate) fn write(value: &serde_json::Value) -> Result<Vec<u8>, FormatFault> {
    canonical::jcs(value).map_err(|_| FormatFault::Unwritable)
}

/// A JSON object whose members are all named.
pub(crate) struct Members<'j, 'a>(&'j Object<'a>);

impl<'j, 'a> Members<'j, 'a> {
    /// Refuses anything but an object with exactly these members; those after `optional` may be missing.
    pub(crate) fn closed(
        json: &'j Json<'a>,
        names: &[&'static str],
        optional: &[&'static str],
    ) -> Result<Members<'j, 'a>, FormatFault> {
        let object = json.as_object().ok_or(FormatFault::Member("object"))?;
        if let Some(missing) = names.iter().find(|name| object.get(name).is_none()) {
            return Err(FormatFault::Member(missing));
        }
        let known = |name: &str| names.contains(&name) || optional.contains(&name);
        if object.iter().any(|(name, _)| !known(name)) {
            return Err(FormatFault::UnknownMember);
        }
        Ok(Members(object))
    }

    pub(crate) fn get(&self, name: &'static str) -> Result<&'j Json<'a>, FormatFault> {
        self.0.get(name).ok_or(FormatFault::Member(name))
    }

    pub(crate) fn text(&self, name: &'static str) -> Result<&'j str, FormatFault> {
        self.get(name)?.as_str().ok_or(FormatFault::Member(name))
    }

    pub(crate) fn list(&self, name: &'static str) -> Result<&'j [Json<'a>], FormatFault> {
        self.get(name)?.as_array().ok_or(FormatFault::Member(name))
    }

    /// A non-negative integer below 2^53.
    pub(crate) fn integer(&self, name: &'static str) -> Result<u64, FormatFault> {
        integer(self.get(name)?).ok_or(FormatFault::Member(name))
    }

    /// A list of such integers, in its order.
    pub(crate) fn integers(&self, name: &'static str) -> Result<Vec<u64>, FormatFault> {
        self.list(name)?.iter().map(integer).collect::<Option<_>>().ok_or(FormatFault::Member(name))
    }

    pub(crate) fn optional_integer(&self, name: &'static str) -> Result<Option<u64>, FormatFault> {
        if self.0.get(name).is_none() { Ok(None) } else { self.integer(name).map(Some) }
    }

    /// A text that parses as another type.
    pub(crate) fn parsed<T>(
        &self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, FormatFault> {
        parse(self.text(name)?).ok_or(FormatFault::Member(name))
    }
}

fn integer(json: &Json<'_>) -> Option<u64> {
    json.as_number().and_then(|n| n.as_i64_exact()).and_then(|n| u64::try_from(n).ok())
}

/// Returns true for a name of an authority or log: 1 to 253 printable ASCII characters without white space or `+`.
pub(crate) fn is_name(text: &str) -> bool {
    (1..=253).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic() && b != b'+')
}
