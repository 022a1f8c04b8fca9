//! Keys of `_meta` and of A2A metadata: known keys, keys that a route lists, and closed keys.

use super::{Path, Walk};
use crate::{MessageFault, member::Read, trace};
use semgate_contexts::json::{Json, Object, folded};
use std::fmt;

/// Every key that some place of `_meta` knows without a reserved prefix.
const KNOWN: &[&str] = &["progressToken", "traceparent", "tracestate", "baggage"];

/// Prefixes of this product.
const OWN: [&str; 2] = ["dev.semgate/", "dev.semgate."];

/// Labels that MCP reserves as the first or second of a prefix (2025-11-25 and later, "General fields", `_meta`).
const RESERVED: [&str; 2] = ["modelcontextprotocol", "mcp"];

/// The most bytes that all listed keys of one `_meta` hold together: ids and the state of a view fit, a document does not.
const MAX_LISTED_BYTES: usize = 4_096;

/// The most entries that a route lists.
const MAX_ENTRIES: usize = 64;

/// The longest entry that a route lists, in bytes.
const MAX_ENTRY: usize = 128;

/// Keys, and prefixes of keys, that a route lets pass in `_meta` and in A2A metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetaKeys(Vec<Box<str>>);

/// An entry of [`MetaKeys`] that is refused, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadMetaKey {
    /// The entry.
    pub entry: String,
    /// The reason.
    pub why: &'static str,
}

impl fmt::Display for BadMetaKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.entry, self.why)
    }
}

impl std::error::Error for BadMetaKey {}

impl MetaKeys {
    /// No key passes.
    pub const NONE: &'static Self = &Self(Vec::new());

    /// Reads entries: whole keys, or prefixes that end in `.` or `/`.
    ///
    /// # Errors
    /// [`BadMetaKey`] for an entry that is no word of at most 128 visible ASCII characters, or is present twice. Also for one
    /// in a reserved prefix, for a known key, and for more than 64 entries.
    pub fn parse(entries: &[String]) -> Result<Self, BadMetaKey> {
        let mut keys: Vec<Box<str>> = Vec::new();
        for entry in entries {
            let fault = |why| Err(BadMetaKey { entry: entry.clone(), why });
            let word = entry.bytes().all(|b| b.is_ascii_graphic());
            if !word || entry.trim_end_matches(['.', '/']).is_empty() || entry.len() > MAX_ENTRY {
                return fault("is not a key or prefix of at most 128 visible ASCII characters");
            }
            if is_reserved(entry) {
                return fault("has a reserved prefix");
            }
            if is_twin(entry) {
                return fault("is always known");
            }
            if keys.iter().any(|key| **key == **entry) {
                return fault("is present twice");
            }
            if keys.len() == MAX_ENTRIES {
                return fault("exceeds the limit of 64 entries");
            }
            keys.push(entry.as_str().into());
        }
        Ok(Self(keys))
    }

    /// The entries, in their order.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|entry| &**entry)
    }

    /// True of a key that the route lets pass.
    pub(crate) fn lists(&self, key: &str) -> bool {
        let fits = |entry: &str| entry == key || (entry.ends_with(['.', '/']) && key.starts_with(entry));
        self.entries().any(fits) && !is_reserved(key) && !is_twin(key)
    }
}

/// True of a key that belongs to MCP or to this product, in any case of letters.
fn is_reserved(key: &str) -> bool {
    // as every request of 2026-07-28 writes them
    if key.starts_with("io.modelcontextprotocol/") {
        return true;
    }
    let key: String = folded(key).collect();
    if OWN.iter().any(|own| key.starts_with(own)) {
        return true;
    }
    let known = |label: &str| RESERVED.contains(&label);
    match key.split_once('/') {
        Some((prefix, _)) => prefix.split('.').take(2).any(known),
        None => key.split_once('.').is_some_and(|(first, _)| known(first)),
    }
}

/// True of a key that is a known one, in any case of letters.
fn is_twin(key: &str) -> bool {
    KNOWN.iter().any(|name| folded(key).eq(folded(name)))
}

/// The size of a value: its text and names, and eight bytes for all else.
fn size(json: &Json<'_>) -> usize {
    match json {
        Json::String(text) => text.len().saturating_add(2),
        Json::Array(items) => items.iter().map(size).fold(8, usize::saturating_add),
        Json::Object(members) => members
            .iter()
            .map(|(name, value)| name.len().saturating_add(size(value)))
            .fold(8, usize::saturating_add),
        Json::Null | Json::Bool(_) | Json::Number(_) => 8,
    }
}

/// Refuses listed keys that hold more than the bound together.
///
/// # Errors
/// Malformed, at the object itself.
pub(crate) fn listed_fit(members: &Object<'_>, path: &str, keys: &MetaKeys) -> Read<()> {
    let listed = members.iter().filter(|(key, _)| keys.lists(key));
    let held =
        listed.map(|(key, value)| key.len().saturating_add(size(value))).fold(0, usize::saturating_add);
    if held <= MAX_LISTED_BYTES {
        return Ok(());
    }
    Err(MessageFault::malformed(path, "holds more than 4096 bytes under the keys that the route lists"))
}

/// True of a key of [`trace`] whose value passes.
pub(crate) fn traces(key: &str, value: &Json<'_>) -> bool {
    value.as_str().is_some_and(|text| trace::fits(key, text))
}

impl<'j> Walk<'_, 'j> {
    /// Removes the keys of one `_meta` or `metadata` that are neither known here, nor listed, nor closed. Removes the member
    /// as a whole if nothing would be left.
    pub(super) fn keys(
        &mut self,
        path: &Path<'_>,
        member: &str,
        json: &'j Json<'j>,
        known: impl Fn(&str, &Json<'_>) -> bool,
    ) {
        let Json::Object(members) = json else { return };
        let path = path.member(member);
        let stays = |key: &str, value: &Json<'_>| {
            let is_here = known(key, value);
            let is_elsewhere = !is_here && KNOWN.contains(&key);
            is_here || is_reserved(key) || (is_twin(key) && !is_elsewhere) || self.reading.meta.lists(key)
        };
        let gone: Vec<_> = members.iter().filter(|(key, value)| !stays(key, value)).collect();
        if gone.is_empty() {
            return;
        }
        let whole = gone.len() == members.len();
        for (key, value) in gone {
            if whole {
                self.removal.record(&path.member(key));
            } else {
                self.removal.add(&path, key, value);
            }
        }
        if whole {
            self.removal.values.push(json);
        }
    }
}
