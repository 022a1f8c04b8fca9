//! Documents, schemas and comparisons through the public interface.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod a2h_vectors;
mod case_twins;
mod closing_properties;
#[cfg(target_os = "linux")]
mod code_lists;
mod compare_corpus;
mod compare_suite;
mod ldp_vectors;
#[cfg(target_os = "linux")]
mod memory;
mod opaque_strings;
mod schema_suite;
#[cfg(target_os = "linux")]
mod shared_patterns;
