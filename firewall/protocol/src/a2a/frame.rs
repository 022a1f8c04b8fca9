//! State that every reader of the binding shares, and the steps that all readers take for an instance.

use super::Version;
use crate::{
    Base, FaultKind, Instance, Message, MessageFault, Pointer, Reading,
    member::{Read, at, object, unknown},
    model::Vocabulary,
    removal::{is_context_key, listed_fit, traces},
};
use semgate_contexts::{
    Performative,
    json::{Json, Object},
};
use std::sync::LazyLock;

/// The object that is judged when a request omits its parameters.
static EMPTY: LazyLock<Object<'static>> = LazyLock::new(Object::default);

/// The object of a request without parameters.
pub(super) fn empty<'j>() -> &'j Object<'j> {
    &EMPTY
}

/// The context of one reading: version, options, and whether JSON-RPC surrounds the object.
#[derive(Clone, Copy)]
pub(super) struct Frame<'r> {
    pub version: Version,
    pub reading: &'r Reading<'r>,
    pub rpc: bool,
}

impl Frame<'_> {
    /// Translates a location of the JSON-RPC form into this form.
    pub fn location(&self, location: &'static str) -> &'static str {
        if self.rpc {
            return location;
        }
        location.strip_prefix("/params").or_else(|| location.strip_prefix("/result")).unwrap_or(location)
    }

    /// Returns true for version 0.3, whose objects carry a `kind`.
    pub fn old(&self) -> bool {
        self.version == Version::V03
    }

    /// Adds an instance of a concept of the protocol.
    pub fn say<'j>(
        &self,
        name: &'static str,
        object: &'j Object<'j>,
        performative: Performative,
        path: &str,
        out: &mut Message<'j>,
    ) -> Read<()> {
        if out.instances.len() >= self.reading.max_concepts {
            return Err(MessageFault {
                kind: FaultKind::TooComplex,
                path: path.to_owned(),
                what: "holds more concepts than the limit",
            });
        }
        let pointer = pointer(path);
        out.instances.push(Instance {
            of: Vocabulary::Protocol,
            name,
            naming: "",
            pointer,
            object,
            performative,
        });
        Ok(())
    }

    /// Reads `metadata` without a claim. A route that admits data lets it hold anything. `judged` selects whether it is
    /// judged with its object or by itself.
    pub fn metadata<'j>(
        &self,
        json: &'j Json<'j>,
        path: &str,
        judged: Judged,
        out: &mut Message<'j>,
    ) -> Read<()> {
        let path = at(path, "metadata");
        let members = object(json, &path)?;
        if members.is_empty() {
            return Ok(());
        }
        self.no_claim(members, &path)?;
        if !self.reading.admit.data {
            return self.passes(members, &path);
        }
        match judged {
            Judged::WithItsObject => Ok(()),
            Judged::ByItself(performative) => self.say(METADATA, members, performative, &path, out),
        }
    }

    /// On a route without data, metadata holds the claim, keys of traces, and keys that the route lists.
    pub fn passes(&self, members: &Object<'_>, path: &str) -> Read<()> {
        let keys = self.reading.meta;
        let stands = |key: &str, value: &Json<'_>| {
            let extension = self.reading.extension;
            key == extension || traces(key, value) || (keys.lists(key) && !is_context_key(extension, key))
        };
        match members.iter().find(|(key, value)| !stands(key, value)) {
            Some((key, _)) => unknown(path, key),
            None => listed_fit(members, path, keys),
        }
    }

    /// Refuses a claim where the binding reads none: an unread claim could differ from the one that is judged.
    fn no_claim(&self, members: &Object<'_>, path: &str) -> Read<()> {
        let known = [self.reading.extension];
        if members.get(self.reading.extension).is_some() || members.case_variant_of(&known).is_some() {
            return Err(MessageFault::malformed(path, "names a context where the binding reads none"));
        }
        Ok(())
    }
}

/// The speech act of a list of parts.
#[derive(Clone, Copy)]
pub(super) struct Voice {
    pub performative: Performative,
    /// True if the upstream agent repeats the words of its caller.
    pub repeats: bool,
}

/// The concept of metadata that a route admits.
pub(super) const METADATA: &str = "metadata";

/// The instance that metadata is judged in.
#[derive(Clone, Copy)]
pub(super) enum Judged {
    /// The object that holds it is an instance whose schema has a member for it.
    WithItsObject,
    /// It is an instance of [`METADATA`].
    ByItself(Performative),
}

/// The location of an instance.
pub(super) fn pointer<'j>(path: &str) -> Pointer<'j> {
    Pointer { base: Base::Built(path.into()), key: None }
}

/// Notes an id once, even if the message repeats it.
pub(super) fn note<'j>(ids: &mut Vec<&'j str>, id: &'j str) {
    if ids.last() != Some(&id) {
        ids.push(id);
    }
}

/// The `jsonrpc` member that every request and answer has.
pub(super) fn rpc_version(json: Option<&Json<'_>>) -> Read<()> {
    match json.and_then(Json::as_str) {
        Some("2.0") => Ok(()),
        _ => Err(MessageFault::malformed("/jsonrpc", "is not `2.0`")),
    }
}
