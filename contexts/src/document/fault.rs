//! Refusals of documents.

use crate::canonical::CanonicalFault;
use crate::digest::Digest;
use crate::json;
use crate::schema::SchemaFault;
use crate::urn::{ContextUrn, UrnFault};

/// The reason that a context document is refused. Paths are JSON Pointers into the document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentFault {
    /// Not strict JSON, or past a limit of the reader.
    #[error("not strict JSON: {0}")]
    Json(json::Fault),
    /// It has no canonical form.
    #[error("no canonical form: {0}")]
    Canonical(CanonicalFault),
    /// The bytes are not their own canonical form.
    #[error("the bytes are not their own canonical form (RFC 8785)")]
    NotCanonical,
    /// The canonical payload is longer than allowed.
    #[error("the canonical payload has {bytes} bytes, more than {limit}")]
    TooLarge {
        /// Canonical bytes.
        bytes: usize,
        /// Allowed bytes.
        limit: usize,
    },
    /// `context` is not a canonical URN.
    #[error("`/context`: {0}")]
    Urn(UrnFault),
    /// A member is unknown, missing, empty or of the wrong type.
    #[error("{}{what}", located(path, ""))]
    Member {
        /// The location.
        path: String,
        /// The fault.
        what: &'static str,
    },
    /// There are more of these than allowed.
    #[error("{}more than {limit} {what}", located(path, ""))]
    TooMany {
        /// The location.
        path: String,
        /// The counted things.
        what: &'static str,
        /// Allowed number.
        limit: usize,
    },
    /// A concept and a task, or a task's results and another term, have the same name.
    #[error("the name `{name}` is defined twice")]
    NameCollision {
        /// The name.
        name: String,
    },
    /// The name belongs to the control vocabulary `snl`, which no other context may define.
    #[error("the name `{name}` belongs to the control vocabulary `snl`")]
    ReservedName {
        /// The name.
        name: String,
    },
    /// A reference to another context is not well-formed, or leads to no concept of it.
    #[error("`{path}`: `$ref` {what}")]
    Reference {
        /// The location in the document, or in the referenced one.
        path: String,
        /// The fault.
        what: &'static str,
    },
    /// A context that the document refers to is not at hand; nothing is fetched for it.
    #[error("the referenced context `{urn}` with digest `{digest}` is missing")]
    ReferenceMissing {
        /// The context.
        urn: ContextUrn,
        /// The digest by which it is referred to.
        digest: Digest,
    },
    /// A context that the document refers to has another digest than the reference says.
    #[error("the context `{urn}` has another digest than the reference names")]
    ReferenceDigest {
        /// The context.
        urn: ContextUrn,
    },
    /// A schema is refused.
    #[error("{}{fault}", located(path, "schemas: "))]
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

/// The beginning of a text about the part at a path; `whole` for the document.
fn located(path: &str, whole: &str) -> String {
    if path.is_empty() { whole.to_owned() } else { format!("`{path}`: ") }
}
