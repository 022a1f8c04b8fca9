//! Messages in, permits and refusals out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod approvals;
#[path = "../common/mod.rs"]
mod common;
mod golden;
mod iac;
mod ldp;
mod learnt;
mod locks;
mod mcp;
mod mcp_sessions;
mod mutated;
mod obligations;
mod paths;
mod references;
mod refusals_page;
mod removal;
#[path = "../common/stage.rs"]
mod stage;
mod threads;
mod together;
mod vectors;
