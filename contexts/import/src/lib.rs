//! Drafts of contexts from other schema languages, and contexts as JSON-LD.
//!
//! Bytes in, draft out: nothing here opens a file or a socket. A draft is to be reviewed and signed, never trusted as it is. Nothing is
//! widened silently: a [`Remark`] names each part that a draft leaves out, narrows or opens.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod draft;
mod fault;
pub mod jsonld;
pub mod jsonschema;
pub mod names;
pub mod oasf;
pub mod openapi;
pub mod protobuf;
pub mod rdf;
mod refs;
mod remark;
mod repair;
pub mod schema;
pub mod sgd;
mod source;
mod terms;

pub use fault::ImportFault;
pub use remark::Remark;
pub use source::{json, json_or_yaml};
pub use terms::{ContextDraft, Terms};
