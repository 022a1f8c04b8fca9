//! The `data` of a server's error, in the closed forms that the protocol has.

use super::{Asked, MAX_URI, Operation, Revision};
use semgate_contexts::json::Json;

/// The capabilities of a client that a server can ask for (2026-07-28 "Capabilities").
const CAPABILITIES: [&str; 3] = ["elicitation", "roots", "sampling"];

/// The part of an error's `data` that passes: words of the protocol and the caller's own, never the server's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorData {
    /// −32022: the supported versions, and the one that the caller asked for.
    Supported {
        /// The versions that are spoken, of those that are carried; at least one.
        versions: Vec<Revision>,
        /// The version that the request named, if it is one word of at most 64 characters.
        requested: Option<String>,
    },
    /// −32021: the capabilities that the client would need, in alphabetical order; at least one.
    Required(Vec<&'static str>),
    /// −32602 and −32002 of a resource that is not there: its URI, as the request has it (SEP-2164).
    Resource(String),
}

/// The longest version that is repeated to the caller: a date has ten characters.
const MAX_VERSION: usize = 64;

impl ErrorData {
    /// Versions that are spoken, for a request that named another in its head.
    pub fn unsupported(versions: Vec<Revision>, requested: Option<&str>) -> Self {
        let word = |named: &&str| !named.is_empty() && super::form::word(named, MAX_VERSION).is_some();
        Self::Supported { versions, requested: requested.filter(word).map(str::to_owned) }
    }

    /// Reads the `data` of the error `number`, which answers `asked`. Drops data that the protocol does not define, and a URI
    /// other than the request's.
    pub(super) fn of(number: i32, error: &Json<'_>, asked: Option<&Asked>) -> Option<Self> {
        let data = error.as_object()?.get("data")?.as_object()?;
        match number {
            -32022 => {
                let named = data.get("supported")?.as_array()?;
                let spoken = |version: &Revision| named.iter().any(|v| v.as_str() == Some(version.as_str()));
                let versions: Vec<_> = Revision::ALL.into_iter().filter(spoken).collect();
                let requested = asked.map(|asked| asked.version.as_str());
                (!versions.is_empty()).then(|| Self::unsupported(versions, requested))
            }
            -32021 => {
                let named = data.get("requiredCapabilities")?.as_object()?;
                let needed: Vec<_> = CAPABILITIES.into_iter().filter(|c| named.get(c).is_some()).collect();
                (!needed.is_empty()).then_some(Self::Required(needed))
            }
            -32602 | -32002 => {
                let asked = asked.filter(|asked| asked.operation == Operation::ReadResource)?;
                let uri = asked.resource.as_deref().filter(|uri| uri.len() <= MAX_URI)?;
                (data.get("uri")?.as_str()? == uri).then(|| Self::Resource(uri.to_owned()))
            }
            _ => None,
        }
    }
}
