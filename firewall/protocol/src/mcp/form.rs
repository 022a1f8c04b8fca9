//! Small closed forms that stand in `_meta`, where no schema looks: implementations, capabilities, tokens, trace contexts.

use crate::{
    MessageFault, RpcId,
    member::{Read, array, at, object, string, unknown},
    removal::CLIENT,
};
use semgate_contexts::json::{Json, Object};

/// The longest name, version or title of an implementation.
const MAX_LINE: usize = 256;

/// Members of one object of capabilities, and of objects inside it.
const MAX_SETTINGS: usize = 32;

/// The nesting of capabilities: a group, a setting, the setting's content.
const MAX_DEPTH: usize = 4;

/// One line for people: no controls, no marks that change the visible text.
fn line(json: &Json<'_>, path: &str, member: &str) -> Read<()> {
    let text = string(json, path, member)?;
    if text.len() <= MAX_LINE && !text.chars().any(hidden) {
        return Ok(());
    }
    Err(MessageFault::malformed(at(path, member), "is not a line of at most 256 bytes"))
}

/// As the free text of contexts refuses them.
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            | '\u{e0000}'..='\u{e007f}')
}

/// A word: visible ASCII without blanks.
pub(super) fn word(text: &str, most: usize) -> Option<&str> {
    (text.len() <= most && text.bytes().all(|b| b.is_ascii_graphic())).then_some(text)
}

/// The longest name or version that does not count as free text.
const MAX_PLAIN: usize = 64;

/// The most words of a plain name: enough for server names in the SDK examples, too few for an instruction.
const MAX_WORDS: usize = 3;

/// A version that says nothing but itself: letters, digits and `. _ - + / @` of ASCII, at most 64 of them.
fn plain(text: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"._-+/@".contains(&b);
    text.len() <= MAX_PLAIN && text.bytes().all(fits)
}

/// A name that says nothing but itself: up to three such words with one blank between, at most 64 characters together.
fn plain_name(text: &str) -> bool {
    let mut words = text.split(' ');
    let few = words.by_ref().take(MAX_WORDS).all(|word| !word.is_empty() && plain(word));
    text.is_empty() || (text.len() <= MAX_PLAIN && few && words.next().is_none())
}

/// The characters of free text in `clientInfo` or `serverInfo`, in any form: all but a plain name and version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Prose {
    /// Characters of title and description, which the protocol's schemas mark as free text wherever they close the object.
    pub marked: u64,
    /// Characters of all other members.
    pub other: u64,
}

impl Prose {
    pub(super) const fn all(self) -> u64 {
        self.marked.saturating_add(self.other)
    }
}

/// Counts the characters in `clientInfo` or `serverInfo` that people or models could read.
pub(super) fn prose(implementation: &Json<'_>) -> Prose {
    let mut prose_found = Prose::default();
    for (key, value) in implementation.as_object().into_iter().flat_map(Object::iter) {
        match key {
            "name" if value.as_str().is_some_and(plain_name) => {}
            "version" if value.as_str().is_some_and(plain) => {}
            "title" | "description" => {
                prose_found.marked = prose_found.marked.saturating_add(characters(value))
            }
            _ => prose_found.other = prose_found.other.saturating_add(characters(value)),
        }
    }
    prose_found
}

/// The characters of free text of an instance of the protocol that its schema does not mark: names of client and server, and cursors.
pub fn prose_beside(instance: &Object<'_>) -> u64 {
    let infos = ["clientInfo", "serverInfo"].into_iter().filter_map(|member| instance.get(member));
    let cursors = ["cursor", "nextCursor"].into_iter().map(|member| cursor(instance.get(member)));
    infos.map(|infos| prose(infos).other).chain(cursors).sum()
}

/// The characters of a cursor that is no word: it could be prose.
pub(super) fn cursor(json: Option<&Json<'_>>) -> u64 {
    let text = json.and_then(Json::as_str).unwrap_or_default();
    if word(text, usize::MAX).is_some() { 0 } else { text.chars().count() as u64 }
}

/// Counts the characters of all strings; the strict reader bounded the depth.
fn characters(json: &Json<'_>) -> u64 {
    match json {
        Json::String(text) => text.chars().count() as u64,
        Json::Array(items) => items.iter().map(characters).sum(),
        Json::Object(members) => members.iter().map(|(_, value)| characters(value)).sum(),
        Json::Null | Json::Bool(_) | Json::Number(_) => 0,
    }
}

/// `clientInfo` and `serverInfo`.
pub(super) fn implementation(json: &Json<'_>, path: &str) -> Read<()> {
    for (key, value) in object(json, path)?.iter() {
        match key {
            "name" | "version" | "title" | "description" => line(value, path, key)?,
            "websiteUrl" if value.as_str().is_some_and(|url| word(url, 2048).is_some()) => {}
            "icons" => icons(value, path, key)?,
            _ => return unknown(path, key),
        }
    }
    Ok(())
}

fn icons(json: &Json<'_>, path: &str, member: &str) -> Read<()> {
    for icon in array(json, path, member)? {
        let path = at(path, member);
        for (key, value) in object(icon, &path)?.iter() {
            let fits = match (key, value) {
                ("src", Json::String(text)) => word(text, 65_536).is_some(),
                ("mimeType" | "theme", Json::String(text)) => word(text, MAX_LINE).is_some(),
                ("sizes", Json::Array(sizes)) => {
                    sizes.iter().all(|size| size.as_str().is_some_and(|size| word(size, 16).is_some()))
                }
                _ => false,
            };
            if !fits {
                return unknown(&path, key);
            }
        }
    }
    Ok(())
}

/// Capabilities of a client: those that are carried, each with flags, numbers and words by name, never prose.
pub(super) fn capabilities(json: &Json<'_>, path: &str) -> Read<()> {
    let carried = |name: &str| CLIENT.iter().any(|(known, _)| *known == name);
    if let Some((name, _)) = object(json, path)?.iter().find(|(name, _)| !carried(name)) {
        return unknown(path, name);
    }
    if settings(json, MAX_DEPTH) {
        return Ok(());
    }
    Err(MessageFault::malformed(path, "holds a value that is not a flag, number or word"))
}

fn settings(json: &Json<'_>, depth: usize) -> bool {
    match json {
        Json::Null | Json::Bool(_) | Json::Number(_) => true,
        Json::String(text) => word(text, MAX_LINE).is_some(),
        Json::Array(items) => {
            items.len() <= 2 * MAX_SETTINGS
                && items.iter().all(|item| settings(item, depth.saturating_sub(1)))
        }
        Json::Object(members) => {
            depth > 0
                && members.len() <= MAX_SETTINGS
                && members.iter().all(|(name, value)| word(name, 128).is_some() && settings(value, depth - 1))
        }
    }
}

/// A progress token or subscription id.
pub(super) fn token(json: &Json<'_>, path: &str, member: &str) -> Read<RpcId> {
    RpcId::read(json)
        .ok_or_else(|| MessageFault::malformed(at(path, member), "is neither an identifier nor an integer"))
}
