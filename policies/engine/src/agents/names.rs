//! Names and keys of agents in bindings without TLS identity.

use std::collections::HashMap;

use ed25519_dalek::VerifyingKey;
use semgate_contexts::json::{Json, Object};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{at, closed};
use crate::PolicyFault;
use crate::json_locations::member;

/// Bindings whose messages may name an agent otherwise than by its id or alias.
pub(super) const NAMED: [&str; 4] = ["ldp", "iac", "sstp", "slim"];
/// Bindings whose messages are verified by a key of the sender.
const KEYED: [&str; 1] = ["iac"];
/// Keys of one agent in one binding: the current one, the next, and some of its replicas.
const MAX_KEYS: usize = 16;

/// Public keys are 32 bytes (Ed25519, RFC 8032).
const KEY_BYTES: usize = 32;

/// The name of an agent in one binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentName {
    /// The binding: `ldp`, `iac`, `sstp` or `slim`.
    pub binding: &'static str,
    /// The name, compared byte for byte.
    pub name: String,
}

/// A public key that verifies messages of an agent in one binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentKey {
    /// The binding: `iac`.
    pub binding: &'static str,
    /// The Ed25519 public key.
    pub key: [u8; KEY_BYTES],
    /// The last second in which the key counts, since the Unix epoch; without it, the key has no end.
    pub not_after: Option<u64>,
}

impl AgentKey {
    /// The key as 64 lower-case hexadecimal digits.
    #[must_use]
    pub fn hex(&self) -> String {
        self.key.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Reads `names` of an entry.
pub(super) fn names(entry: &Object<'_>, pointer: &str, faults: &mut Vec<PolicyFault>) -> Vec<AgentName> {
    let pointer = member(pointer, "names");
    let mut all = Vec::new();
    for (binding, value, pointer) in by_binding(entry.get("names"), &pointer, &NAMED, faults) {
        match value {
            Json::String(name) if is_name(name) => all.push(AgentName { binding, name: name.to_string() }),
            _ => faults.push(at(
                &pointer,
                "a name of a binding is 1 to 256 visible ASCII characters, and no key in hexadecimal digits",
            )),
        }
    }
    all
}

/// Reads `keys` of an entry.
pub(super) fn keys(entry: &Object<'_>, pointer: &str, faults: &mut Vec<PolicyFault>) -> Vec<AgentKey> {
    let pointer = member(pointer, "keys");
    let mut all = Vec::new();
    for (binding, value, pointer) in by_binding(entry.get("keys"), &pointer, &KEYED, faults) {
        let Json::Array(list) = value else {
            faults.push(at(&pointer, "not a list of keys"));
            continue;
        };
        if list.len() > MAX_KEYS {
            faults.push(at(&pointer, format!("more than {MAX_KEYS} keys")));
            continue;
        }
        for (position, item) in list.iter().enumerate() {
            let pointer = format!("{pointer}/{position}");
            let read = match item {
                Json::String(key) => hex(key).map(|key| (key, None)),
                Json::Object(object) => dated(object, &pointer, faults),
                _ => None,
            };
            match read {
                Some((key, _)) if is_weak(&key) => {
                    faults.push(at(&pointer, "a key under which anybody can sign: it has no private key of its own"));
                }
                Some((key, not_after)) => all.push(AgentKey { binding, key, not_after }),
                None => faults.push(at(
                    &pointer,
                    "a key is 64 lower-case hexadecimal digits, or an object with `key` and `not_after` (RFC 3339)",
                )),
            }
        }
    }
    all
}

/// A key with its last second.
fn dated(
    object: &Object<'_>,
    pointer: &str,
    faults: &mut Vec<PolicyFault>,
) -> Option<([u8; KEY_BYTES], Option<u64>)> {
    closed(object, &["key", "not_after"], pointer, faults);
    let key = hex(object.get("key")?.as_str()?)?;
    let end = OffsetDateTime::parse(object.get("not_after")?.as_str()?, &Rfc3339).ok()?;
    Some((key, Some(u64::try_from(end.unix_timestamp()).ok()?)))
}

/// The members of an object by binding; faults for what is none of `bindings`.
fn by_binding<'v, 'j>(
    value: Option<&'v Json<'j>>,
    pointer: &str,
    bindings: &'static [&'static str],
    faults: &mut Vec<PolicyFault>,
) -> Vec<(&'static str, &'v Json<'j>, String)> {
    let object = match value {
        None => return Vec::new(),
        Some(Json::Object(object)) => object,
        Some(_) => {
            faults.push(at(pointer, "not an object with a member for each binding"));
            return Vec::new();
        }
    };
    closed(object, bindings, pointer, faults);
    let known = |name: &str| bindings.iter().find(|binding| **binding == name);
    object.iter().filter_map(|(name, value)| Some((*known(name)?, value, member(pointer, name)))).collect()
}

/// True of bytes that are no point, no canonical one, or one of small order: a constant signature fits the latter.
fn is_weak(key: &[u8; KEY_BYTES]) -> bool {
    let point =
        VerifyingKey::from_bytes(key).ok().filter(|point| point.to_edwards().compress().as_bytes() == key);
    point.is_none_or(|point| point.is_weak())
}

/// A name that no key could be taken for.
fn is_name(name: &str) -> bool {
    (1..=256).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic()) && hex(name).is_none()
}

fn hex(text: &str) -> Option<[u8; KEY_BYTES]> {
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(high)? << 4 | digit(low)?));
    let bytes: Vec<u8> = bytes.collect::<Option<_>>()?;
    if rest.is_empty() { bytes.try_into().ok() } else { None }
}

/// Agents by their names and keys.
#[derive(Debug, Default)]
pub(super) struct NameIndex {
    names: HashMap<&'static str, HashMap<Box<str>, u32>>,
    keys: HashMap<(&'static str, [u8; KEY_BYTES]), u32>,
}

impl NameIndex {
    /// Adds the names and keys of the agent at a position. One that another agent has is a fault.
    pub fn add(
        &mut self,
        entry: &super::AgentEntry,
        position: u32,
        pointer: &str,
        faults: &mut Vec<PolicyFault>,
    ) {
        for AgentName { binding, name } in &entry.names {
            let known = self.names.entry(binding).or_default();
            if known.insert(name.as_str().into(), position).is_some() {
                faults.push(at(&format!("{pointer}/names/{binding}"), "a second agent with this name"));
            }
        }
        for (at_key, AgentKey { binding, key, .. }) in entry.keys.iter().enumerate() {
            if self.keys.insert((binding, *key), position).is_some() {
                faults.push(at(&format!("{pointer}/keys/{binding}/{at_key}"), "this key a second time"));
            }
        }
    }

    /// Position of the agent with this name in this binding.
    pub fn by_name(&self, binding: &str, name: &str) -> Option<u32> {
        self.names.get(binding)?.get(name).copied()
    }

    /// Position of the agent with this key in this binding.
    pub fn by_key(&self, binding: &str, key: [u8; KEY_BYTES]) -> Option<u32> {
        let binding = KEYED.into_iter().find(|known| *known == binding)?;
        self.keys.get(&(binding, key)).copied()
    }
}
