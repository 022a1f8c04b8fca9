//! The values that the strict reader returns.

use std::borrow::Cow;
use std::fmt;

use super::Number;

/// A value that the strict reader accepted; it borrows from the bytes that were read.
///
/// `Debug` shows kinds and counts only, since values of messages do not enter logs.
#[derive(Clone, PartialEq, Eq)]
pub enum Json<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number; its text is kept.
    Number(Number<'a>),
    /// A string, unescaped; borrowed if it had no escapes.
    String(Cow<'a, str>),
    /// The elements in order.
    Array(Vec<Json<'a>>),
    /// The members in the order of the text.
    Object(Object<'a>),
}

impl<'a> Json<'a> {
    /// The members, if it is an object.
    #[must_use]
    pub const fn as_object(&self) -> Option<&Object<'a>> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// The elements, if it is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Json<'a>]> {
        if let Self::Array(elements) = self { Some(elements) } else { None }
    }

    /// The text, if it is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// The number, if it is one.
    #[must_use]
    pub const fn as_number(&self) -> Option<&Number<'a>> {
        if let Self::Number(number) = self { Some(number) } else { None }
    }

    /// The truth value, if it is one.
    #[must_use]
    pub const fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// True for `null`.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The kind in JSON's words: `null`, `boolean`, `number`, `string`, `array`, `object`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// The same value as `serde_json` holds it. Integers however written become integers (`120.0` becomes 120), other numbers
    /// doubles.
    #[must_use]
    pub fn to_value(&self) -> serde_json::Value {
        match self {
            Self::Null => serde_json::Value::Null,
            Self::Bool(value) => serde_json::Value::Bool(*value),
            Self::Number(number) => number.to_value(),
            Self::String(text) => serde_json::Value::String(text.to_string()),
            Self::Array(elements) => elements.iter().map(Self::to_value).collect(),
            Self::Object(object) => object.to_value_without(None),
        }
    }
}

impl fmt::Debug for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Array(elements) => write!(f, "array of {}", elements.len()),
            Self::Object(object) => write!(f, "object of {}", object.len()),
            other => f.write_str(other.kind()),
        }
    }
}

/// The members of an object in the order of the text; no two names are equal.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Object<'a>(pub(super) Vec<(Cow<'a, str>, Json<'a>)>);

impl<'a> Object<'a> {
    /// The member of exactly this name. Looks through the members one after the other.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Json<'a>> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The members in the order of the text.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Json<'a>)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), value))
    }

    /// The members as they are kept, for iterators that need a name.
    pub(crate) fn members(&self) -> &[(Cow<'a, str>, Json<'a>)] {
        &self.0
    }

    /// The number of members.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// True without members.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first member, if any, whose name is none of `known` but differs from one of them in case only, with that one.
    ///
    /// Lenient parsers take such a member for the known one, so a closed envelope refuses it (`docs/design/firewall.md` §1). Case is compared as
    /// those parsers do: ASCII letters, and the two other characters that fold to ASCII letters, `ſ` (U+017F) to `s` and the Kelvin
    /// sign (U+212A) to `k`. `known` holds ASCII names.
    #[must_use]
    pub fn case_variant_of<'k>(&self, known: &[&'k str]) -> Option<(&str, &'k str)> {
        let matching = |key: &str| known.iter().copied().find(|name| equal_but_for_case(key, name));
        self.0
            .iter()
            .filter(|(key, _)| !known.contains(&key.as_ref()))
            .find_map(|(key, _)| matching(key).map(|name| (key.as_ref(), name)))
    }

    /// The same object, with this text as the value of the named member, if it has one.
    #[must_use]
    pub fn with_text<'b>(&'b self, name: &str, text: &'b str) -> Object<'b> {
        let put = |(key, value): &'b (Cow<'a, str>, Json<'a>)| {
            let value = if key == name { Json::String(Cow::Borrowed(text)) } else { value.clone() };
            (Cow::Borrowed(key.as_ref()), value)
        };
        Object(self.0.iter().map(put).collect())
    }

    /// The object as `serde_json` holds it, without the member of the given name if there is one.
    #[must_use]
    pub fn to_value_without(&self, name: Option<&str>) -> serde_json::Value {
        let members = self.0.iter().filter(|(key, _)| name != Some(key.as_ref()));
        serde_json::Value::Object(members.map(|(key, value)| (key.to_string(), value.to_value())).collect())
    }
}

fn equal_but_for_case(text: &str, ascii: &str) -> bool {
    folded(text).eq(ascii.chars().map(|c| c.to_ascii_lowercase()))
}

/// The characters of a member name as lenient parsers compare them. ASCII letters are in lower case, `ſ` (U+017F) is `s`, and
/// the Kelvin sign (U+212A) is `k`.
pub fn folded(text: &str) -> impl Iterator<Item = char> {
    text.chars().map(|c| match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    })
}

impl fmt::Debug for Object<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "object of {}", self.len())
    }
}
