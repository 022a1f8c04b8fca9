//! Faults of bytes that are no message of a binding.

use std::fmt;

/// The kind of a fault; each but one has a refusal code of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An object has a known member twice, the second time in another case of letters.
    DuplicateKey,
    /// Longer than the limit, in a binding with another form than JSON and so a limit of its own.
    TooLarge,
    /// Nested deeper than the limit, likewise.
    TooDeep,
    /// More concept objects, or more fields, than the limit.
    TooComplex,
    /// Valid JSON-RPC, but no method that the binding carries.
    MethodUnsupported,
    /// A version of the protocol that the binding does not speak.
    VersionUnsupported,
    /// A header that repeats the body is missing or differs, where the protocol has an error for exactly this (MCP).
    HeaderMismatch,
    /// A notification unrelated to any request of its receiver, so that nobody misses it. In MCP: progress under a token that
    /// the request did not give. Its refusal code is that of a malformed message.
    Stray,
    /// Not of the form that the binding has.
    Malformed,
}

/// The first fault of a message: its location and kind, never a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageFault {
    /// The kind.
    pub kind: FaultKind,
    /// JSON Pointer to the fault, made of plain names only.
    pub path: String,
    /// The description of the fault.
    pub what: &'static str,
}

impl MessageFault {
    pub(crate) fn malformed(path: impl Into<String>, what: &'static str) -> Self {
        Self { kind: FaultKind::Malformed, path: path.into(), what }
    }

    /// The fault of a reply to a request that has no reply.
    pub(crate) fn unasked() -> Self {
        Self::malformed("", "the reply answers no open request")
    }
}

impl fmt::Display for MessageFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // a fault of the whole message has no location to name
        let whole = ["is ", "has "].iter().any(|verb| self.what.starts_with(verb));
        match self.path.as_str() {
            "" if whole => write!(f, "the body {}", self.what),
            "" => f.write_str(self.what),
            path => write!(f, "`{path}` {}", self.what),
        }
    }
}

impl std::error::Error for MessageFault {}
