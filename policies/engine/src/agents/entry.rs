//! One entry of `entities.json`.

use std::collections::BTreeSet;

use semgate_contexts::Digest;
use semgate_contexts::json::{Json, Object};

use super::names::{self, AgentKey, AgentName};
use super::{at, closed};
use crate::credentials::is_shown;
use crate::{PolicyFault, PolicyLimits};

/// One agent as `entities.json` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEntry {
    /// The SPIFFE id, the value of the verified certificate.
    pub id: String,
    /// The one other name that `sender_id` may use; never looks like a SPIFFE id.
    pub alias: Option<String>,
    /// Names in bindings that write other names than the id or the alias.
    pub names: Vec<AgentName>,
    /// Public keys that verify the agent's messages in bindings without TLS identity.
    pub keys: Vec<AgentKey>,
    /// Groups, sorted.
    pub groups: Vec<String>,
    /// Credentials, sorted.
    pub credentials: Vec<String>,
    /// A disabled agent is denied everything.
    pub disabled: bool,
    /// Digest of the entry's content, so that two states of one agent can be told apart.
    pub digest: Digest,
}

impl AgentEntry {
    /// Returns true if the agent may write this as its name in this binding: its id, its alias, its name there, or one of
    /// its keys there in hexadecimal digits.
    #[must_use]
    pub fn is_named(&self, binding: &str, name: &str) -> bool {
        let is_key = || self.keys.iter().any(|key| key.binding == binding && key.hex() == name);
        self.id == name
            || self.alias.as_deref() == Some(name)
            || self.name_in(binding) == Some(name)
            || (name.len() == HEX_DIGITS && is_key())
    }

    /// The agent's own name in this binding.
    #[must_use]
    pub fn name_in(&self, binding: &str) -> Option<&str> {
        self.names.iter().find(|named| named.binding == binding).map(|named| named.name.as_str())
    }
}

/// Digits of a key.
const HEX_DIGITS: usize = 64;

/// The members of an entry.
const MEMBERS: [&str; 7] = ["id", "alias", "names", "keys", "groups", "credentials", "disabled"];

/// Reads one entry; none with a fault.
pub(super) fn entry(
    item: &Json<'_>,
    pointer: &str,
    limits: &PolicyLimits,
    faults: &mut Vec<PolicyFault>,
) -> Option<AgentEntry> {
    let Json::Object(object) = item else {
        faults.push(at(pointer, "not an object"));
        return None;
    };
    let before = faults.len();
    closed(object, &MEMBERS, pointer, faults);
    let id = match object.get("id") {
        Some(Json::String(id)) if is_spiffe_id(id) => id.to_string(),
        _ => {
            faults.push(at(
                &format!("{pointer}/id"),
                "not a SPIFFE id such as `spiffe://trust.domain/agent/name`",
            ));
            String::new()
        }
    };
    let alias = match object.get("alias") {
        None => None,
        Some(Json::String(alias)) if is_alias(alias) => Some(alias.to_string()),
        Some(_) => {
            faults.push(at(
                &format!("{pointer}/alias"),
                "an alias is 1 to 128 letters, digits, `.`, `_` and `-`, so that it never looks like a SPIFFE id",
            ));
            None
        }
    };
    let (names, keys) = (names::names(object, pointer, faults), names::keys(object, pointer, faults));
    let groups = listed(object, pointer, "groups", limits, faults);
    let credentials = listed(object, pointer, "credentials", limits, faults);
    for name in credentials.iter().filter(|name| is_shown(name)) {
        let why = format!("`{name}` names a credential that only an agent can show");
        faults.push(at(&format!("{pointer}/credentials"), why));
    }
    let disabled = match object.get("disabled") {
        None => false,
        Some(Json::Bool(disabled)) => *disabled,
        Some(_) => {
            faults.push(at(&format!("{pointer}/disabled"), "not `true` or `false`"));
            true
        }
    };
    if faults.len() > before {
        return None;
    }
    let digest = Digest::of(b"");
    let entry = AgentEntry { id, alias, names, keys, groups, credentials, disabled, digest };
    Some(AgentEntry { digest: entry.content_digest(), ..entry })
}

/// A required list of names in an entry; empty with a fault where it is missing.
fn listed(
    object: &Object<'_>,
    pointer: &str,
    name: &str,
    limits: &PolicyLimits,
    faults: &mut Vec<PolicyFault>,
) -> Vec<String> {
    let pointer = format!("{pointer}/{name}");
    if let Some(list) = object.get(name) {
        return self::list(list, &pointer, limits.max_memberships, faults);
    }
    faults.push(at(&pointer, "missing: write `[]` for none"));
    Vec::new()
}

impl AgentEntry {
    /// An agent that the file no longer has: disabled, with nothing but its id.
    pub(super) fn gone(id: String) -> Self {
        let digest = Digest::of(b"");
        let (names, keys, groups, credentials) = Default::default();
        let entry = Self { id, alias: None, names, keys, groups, credentials, disabled: true, digest };
        Self { digest: entry.content_digest(), ..entry }
    }

    fn content_digest(&self) -> Digest {
        let Self { id, alias, groups, credentials, disabled, .. } = self;
        let names: Vec<_> = self.names.iter().map(|named| (named.binding, &named.name)).collect();
        let keys: Vec<_> = self.keys.iter().map(|key| (key.binding, key.hex(), key.not_after)).collect();
        let content = serde_json::json!({
            "alias": alias, "credentials": credentials, "disabled": disabled, "groups": groups, "id": id, "keys": keys, "names": names,
        });
        Digest::of(content.to_string().as_bytes())
    }
}

/// A list of distinct names, sorted.
pub(super) fn list(
    list: &Json<'_>,
    pointer: &str,
    limit: usize,
    faults: &mut Vec<PolicyFault>,
) -> Vec<String> {
    let Json::Array(items) = list else {
        faults.push(at(pointer, "not a list"));
        return Vec::new();
    };
    if items.len() > limit {
        faults.push(at(pointer, format!("more than {limit} items")));
        return Vec::new();
    }
    let mut resolved = BTreeSet::new();
    for (position, item) in items.iter().enumerate() {
        match item {
            Json::String(name) if is_name(name) => {
                if !resolved.insert(name.to_string()) {
                    faults.push(at(&format!("{pointer}/{position}"), "the same name a second time"));
                }
            }
            _ => faults.push(at(
                &format!("{pointer}/{position}"),
                "a name is 1 to 128 printable ASCII characters without quotation mark or backslash",
            )),
        }
    }
    resolved.into_iter().collect()
}

fn is_name(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && name.bytes().all(|b| (b.is_ascii_graphic() || b == b' ') && b != b'"' && b != b'\\')
        && name.trim() == name
}

fn is_alias(alias: &str) -> bool {
    (1..=128).contains(&alias.len())
        && alias.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

/// SPIFFE-ID §2: scheme, a trust domain of lower-case letters, digits, `.`, `-`, `_`, and a path of plain segments.
fn is_spiffe_id(id: &str) -> bool {
    let Some((domain, path)) = id.strip_prefix("spiffe://").and_then(|rest| rest.split_once('/')) else {
        return false;
    };
    id.len() <= 2048
        && (1..=255).contains(&domain.len())
        && domain.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
        && path.split('/').all(|segment| {
            !matches!(segment, "" | "." | "..")
                && segment.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        })
}
