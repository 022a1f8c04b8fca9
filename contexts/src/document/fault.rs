//! Refusals of documents.

use std::fmt;

use crate::canonical::CanonicalFault;
use crate::digest::Digest;
use crate::json;
use crate::schema::SchemaFault;
use crate::urn::{ContextUrn, UrnFault};

/// The reason that a context document is refused. Paths are JSON Pointers into the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentFault {
    /// Not strict JSON, or past a limit of the reader.
    Json(json::Fault),
    /// It has no canonical form.
    Canonical(CanonicalFault),
    /// The bytes are not their own canonical form.
    NotCanonical,
    /// The canonical payload is longer than allowed.
    TooLarge {
        /// Canonical bytes.
        bytes: usize,
        /// Allowed bytes.
        limit: usize,
    },
    /// `context` is not a canonical URN.
    Urn(UrnFault),
    /// A member is unknown, missing, empty or of the wrong type.
    Member {
        /// The location.
        path: String,
        /// The fault.
        what: &'static str,
    },
    /// There are more of these than allowed.
    TooMany {
        /// The location.
        path: String,
        /// The counted things.
        what: &'static str,
        /// Allowed number.
        limit: usize,
    },
    /// A concept and a task, or a task's results and another term, have the same name.
    NameCollision {
        /// The name.
        name: String,
    },
    /// The name belongs to the control vocabulary `snl`, which no other context may define.
    ReservedName {
        /// The name.
        name: String,
    },
    /// A reference to another context is not well-formed, or leads to no concept of it.
    Reference {
        /// The location in the document, or in the referenced one.
        path: String,
        /// The fault.
        what: &'static str,
    },
    /// A context that the document refers to is not at hand; nothing is fetched for it.
    ReferenceMissing {
        /// The context.
        urn: ContextUrn,
        /// The digest by which it is referred to.
        digest: Digest,
    },
    /// A context that the document refers to has another digest than the reference says.
    ReferenceDigest {
        /// The context.
        urn: ContextUrn,
    },
    /// A schema is refused.
    Schema {
        /// The location in the document.
        path: String,
        /// The fault.
        fault: SchemaFault,
    },
}

impl DocumentFault {
    /// The JSON Pointer of the part at fault, where it is one part.
    pub fn path(&self) -> Option<&str> {
        match self {
            DocumentFault::Member { path, .. }
            | DocumentFault::TooMany { path, .. }
            | DocumentFault::Reference { path, .. }
            | DocumentFault::Schema { path, .. } => Some(path),
            _ => None,
        }
    }
}

impl fmt::Display for DocumentFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DocumentFault::Json(fault) => write!(f, "not strict JSON: {fault}"),
            DocumentFault::Canonical(fault) => write!(f, "no canonical form: {fault}"),
            DocumentFault::NotCanonical => {
                f.write_str("the bytes are not their own canonical form (RFC 8785)")
            }
            DocumentFault::TooLarge { bytes, limit } => {
                write!(f, "the canonical payload has {bytes} bytes, more than {limit}")
            }
            DocumentFault::Urn(fault) => write!(f, "`/context`: {fault}"),
            DocumentFault::Member { path, what } if path.is_empty() => f.write_str(what),
            DocumentFault::Member { path, what } => write!(f, "`{path}`: {what}"),
            DocumentFault::TooMany { path, what, limit } if path.is_empty() => {
                write!(f, "more than {limit} {what}")
            }
            DocumentFault::TooMany { path, what, limit } => write!(f, "`{path}`: more than {limit} {what}"),
            DocumentFault::NameCollision { name } => write!(f, "the name `{name}` is defined twice"),
            DocumentFault::ReservedName { name } => {
                write!(f, "the name `{name}` belongs to the control vocabulary `snl`")
            }
            DocumentFault::Reference { path, what } => write!(f, "`{path}`: `$ref` {what}"),
            DocumentFault::ReferenceMissing { urn, digest } => {
                write!(f, "the context `{urn}` with digest `{digest}`, which it refers to, is not at hand")
            }
            DocumentFault::ReferenceDigest { urn } => {
                write!(f, "the context `{urn}` has another digest than the reference to it says")
            }
            DocumentFault::Schema { path, fault } if path.is_empty() => write!(f, "schemas: {fault}"),
            DocumentFault::Schema { path, fault } => write!(f, "`{path}`: {fault}"),
        }
    }
}

impl std::error::Error for DocumentFault {}
