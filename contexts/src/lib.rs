//! Names of contexts and their versions, the strict JSON reader that stands in front of every other parser, canonical bytes,
//! and context documents.
//!
//! This crate is on floor 0: nothing here opens a socket, reads a clock or draws randomness.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod canonical;
mod case;
pub mod compare;
pub mod digest;
pub mod document;
mod field;
pub mod json;
mod label;
pub mod library;
pub mod lint;
mod parameters;
pub mod performative;
pub mod prompt;
mod relation;
pub mod schema;
pub mod term;
pub mod urn;
pub mod vectors;
mod wordings;

pub use canonical::CanonicalFault;
pub use digest::{Digest, DigestFault};
pub use document::{Context, ContextResolver, DocumentFault, DocumentLimits, RESERVED_NAMES};
pub use field::{Field, FieldType, Format};
pub use label::{Labels, folded_label};
pub use parameters::{Ground, Meaning, Parameter};
pub use performative::{Performative, PerformativeSet, UnknownPerformative};
pub use relation::{Relation, RelationKind};
pub use schema::{ContentFault, SchemaFault, SchemaLimits, WorkBudget};
pub use term::{InstanceFault, NAMING_MEMBERS, PerformativeNotTaken, Shape, Term, TermKind};
pub use urn::{ContextUrn, Line, Prefix, UrnFault, Version};
pub use vectors::{ModelName, VectorType};
pub use wordings::Wording;
