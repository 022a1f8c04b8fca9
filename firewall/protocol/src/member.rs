//! Reading members of closed objects.

use crate::{MessageFault, fault::FaultKind};
use semgate_contexts::json::{Json, Object};

/// The longest identifier, in bytes: room for four UUIDs, too little for a text.
const MAX_IDENTIFIER: usize = 256;

pub(crate) type Read<T> = Result<T, MessageFault>;

/// The text if it is an identifier: 1 to 256 visible ASCII characters, none of `"`, `\`, `<`, `>`.
///
/// Senders choose ids, and ids pass unjudged. They hold no blank, so they cannot hold a sentence.
pub(crate) fn identifier(text: &str) -> Option<&str> {
    let fits = !text.is_empty()
        && text.len() <= MAX_IDENTIFIER
        && text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'\\' | b'<' | b'>'));
    fits.then_some(text)
}

/// The JSON Pointer of a member.
pub(crate) fn at(path: &str, member: &str) -> String {
    format!("{path}/{}", crate::pointer::plain(member))
}

pub(crate) fn object<'j>(json: &'j Json<'j>, path: &str) -> Read<&'j Object<'j>> {
    match json {
        Json::Object(object) => Ok(object),
        _ => Err(MessageFault::malformed(path, "is not an object")),
    }
}

pub(crate) fn array<'j>(json: &'j Json<'j>, path: &str, member: &str) -> Read<&'j [Json<'j>]> {
    match json {
        Json::Array(items) => Ok(items),
        _ => Err(MessageFault::malformed(at(path, member), "is not an array")),
    }
}

pub(crate) fn string<'j>(json: &'j Json<'j>, path: &str, member: &str) -> Read<&'j str> {
    match json {
        Json::String(text) => Ok(text),
        _ => Err(MessageFault::malformed(at(path, member), "is not a string")),
    }
}

pub(crate) fn id<'j>(json: &'j Json<'j>, path: &str, member: &str) -> Read<&'j str> {
    identifier(string(json, path, member)?).ok_or_else(|| {
        MessageFault::malformed(at(path, member), "is not an id of at most 256 visible ASCII characters")
    })
}

pub(crate) fn unknown<T>(path: &str, member: &str) -> Read<T> {
    Err(MessageFault::malformed(at(path, member), "is not a member of this binding"))
}

pub(crate) fn required<T>(value: Option<T>, path: &str, member: &str) -> Read<T> {
    value.ok_or_else(|| MessageFault::malformed(at(path, member), "is missing"))
}

/// Prefers `duplicate_key` to `malformed` in the final fault. A known member that appears again in another case of letters is
/// a duplicate, anywhere in the message.
pub(crate) fn prefer_duplicate(fault: MessageFault, json: &Json<'_>, known: &[&str]) -> MessageFault {
    if fault.kind != FaultKind::Malformed {
        return fault;
    }
    match case_duplicate(json, known, String::new()) {
        Some(path) => {
            MessageFault { kind: FaultKind::DuplicateKey, path, what: "is present twice, in different case" }
        }
        None => fault,
    }
}

fn case_duplicate(json: &Json<'_>, known: &[&str], path: String) -> Option<String> {
    match json {
        Json::Object(object) => {
            if let Some((_, name)) = object.case_variant_of(known)
                && object.get(name).is_some()
            {
                return Some(at(&path, name));
            }
            object.iter().find_map(|(key, value)| case_duplicate(value, known, at(&path, key)))
        }
        Json::Array(items) => {
            items.iter().enumerate().find_map(|(n, item)| case_duplicate(item, known, format!("{path}/{n}")))
        }
        _ => None,
    }
}
