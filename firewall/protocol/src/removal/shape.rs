//! Shapes of a protocol's objects: the known members, and the fate of the others.

use super::{Author, Path, Walk};
use semgate_contexts::json::{Json, Object, folded};

/// The known members of one kind of object. A known member that is `null` is absent, and is removed.
pub(super) struct Shape {
    pub known: &'static [(&'static str, Is)],
    pub unknown: Unknown,
    /// The keys of its `_meta`; none: it has no `_meta` of its own.
    pub meta: Option<&'static [&'static str]>,
}

/// The fate of members that a shape does not know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    /// They stay, and the reader of the binding refuses them.
    Stays,
    /// They are removed.
    Goes,
    /// They are removed, except members of another object of this family: a reader could take the object for that one.
    GoesUnless(&'static [&'static str]),
}

/// The content of a known member.
#[derive(Clone, Copy)]
pub(super) enum Is {
    /// Anything; the reader of the binding judges it.
    Plain,
    /// Anything, and `null` is a value of it.
    Value,
    /// One object.
    Object(&'static Shape),
    /// A list of objects.
    Items(&'static Shape),
    /// Objects by names of their own.
    Named(&'static Shape),
    /// Results of a client by names of their own.
    Given,
    /// One content block, or a list of them.
    Blocks,
    /// A list of tools.
    Tools,
    /// Capabilities: those that are carried, each with the settings that are carried.
    Capabilities(Carried),
    /// `metadata` of A2A.
    Metadata,
}

/// Capabilities by name, each with its settings.
pub(super) type Carried = &'static [(&'static str, &'static [&'static str])];

impl<'j> Walk<'_, 'j> {
    pub(super) fn object(&mut self, path: &Path<'_>, object: &'j Object<'j>, shape: &Shape) {
        for (key, value) in object.iter() {
            if key == super::mcp::META && shape.meta.is_some() {
                self.meta(path, value, shape.meta.unwrap_or_default());
                continue;
            }
            match shape.known.iter().find(|(name, _)| *name == key) {
                Some((_, is)) => self.member(path, key, value, *is),
                None if self.goes(key, shape) => self.removal.add(path, key, value),
                None => {}
            }
        }
    }

    /// True of an unknown member that no reader could take for a known one.
    fn goes(&self, key: &str, shape: &Shape) -> bool {
        let elsewhere = match shape.unknown {
            Unknown::Stays => return false,
            Unknown::Goes => &[][..],
            Unknown::GoesUnless(names) => names,
        };
        let meta = shape.meta.map(|_| super::mcp::META);
        let mut known = shape.known.iter().map(|(name, _)| name).chain(elsewhere).copied().chain(meta);
        !known.any(|name| folded(key).eq(folded(name)))
    }

    fn member(&mut self, path: &Path<'_>, key: &str, value: &'j Json<'j>, is: Is) {
        if value.is_null() {
            if !matches!(is, Is::Value) {
                self.removal.add(path, key, value);
            }
            return;
        }
        let here = path.member(key);
        match (is, value) {
            (Is::Object(shape), Json::Object(object)) => self.object(&here, object, shape),
            (Is::Items(shape), Json::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    let Json::Object(object) = item else { continue };
                    self.object(&here.item(at), object, shape);
                }
            }
            (Is::Named(shape), Json::Object(members)) => {
                for (name, value) in members.iter() {
                    let Json::Object(object) = value else { continue };
                    self.object(&here.member(name), object, shape);
                }
            }
            (Is::Given, Json::Object(members)) => {
                for (name, value) in members.iter() {
                    let Json::Object(object) = value else { continue };
                    self.given(&here.member(name), object, super::mcp::INSIDE);
                }
            }
            (Is::Blocks, Json::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    let Json::Object(object) = item else { continue };
                    self.block(&here.item(at), object);
                }
            }
            (Is::Blocks, Json::Object(object)) => self.block(&here, object),
            (Is::Tools, Json::Array(items)) => self.tools(&here, items),
            (Is::Capabilities(carried), Json::Object(object)) => self.capabilities(&here, object, carried),
            (Is::Metadata, _) => self.metadata(path, key, value),
            _ => {}
        }
    }

    fn tools(&mut self, path: &Path<'_>, items: &'j [Json<'j>]) {
        for (at, item) in items.iter().enumerate() {
            let Json::Object(tool) = item else { continue };
            let name = tool.get("name").and_then(Json::as_str);
            let pinned = |name| matches!(self.author, Author::Server { pinned, .. } if pinned(name));
            if !name.is_some_and(pinned) {
                self.object(&path.item(at), tool, &super::mcp::TOOL);
            }
        }
    }
}
