//! Why bytes are no message of a binding.

use std::fmt;

/// What kind of fault it is; each but one has a refusal code of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An object has a known member twice, the second time in another case of letters.
    DuplicateKey,
    /// Longer than the limit, where a binding has another form than JSON and so a limit of its own.
    TooLarge,
    /// Nested deeper than the limit, likewise.
    TooDeep,
    /// More concept objects, or more fields, than the limit.
    TooComplex,
    /// Valid JSON-RPC, but no method that the binding carries.
    MethodUnsupported,
    /// A version of the protocol that the binding does not speak.
    VersionUnsupported,
    /// A header that repeats the body is missing or says otherwise, where the protocol has an error for exactly this (MCP).
    HeaderMismatch,
    /// A notification that is about nothing which its receiver asked for, so that nobody misses it (MCP: progress under a token that the request did
    /// not give); as code it is malformed.
    Stray,
    /// Not of the form that the binding has.
    Malformed,
}

/// The first fault of a message. Says where and what, never a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageFault {
    /// The kind.
    pub kind: FaultKind,
    /// JSON Pointer of the place, made of plain names only.
    pub path: String,
    /// What is wrong there.
    pub what: &'static str,
}

impl MessageFault {
    pub(crate) fn malformed(path: impl Into<String>, what: &'static str) -> Self {
        Self { kind: FaultKind::Malformed, path: path.into(), what }
    }
}

impl fmt::Display for MessageFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // what is wrong with a message as a whole stands at no place that could be named
        let whole = ["is ", "has "].iter().any(|verb| self.what.starts_with(verb));
        match self.path.as_str() {
            "" if whole => write!(f, "the body {}", self.what),
            "" => f.write_str(self.what),
            path => write!(f, "`{path}` {}", self.what),
        }
    }
}

impl std::error::Error for MessageFault {}
