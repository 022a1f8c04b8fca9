//! An authority in this process, over its sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod acting;
mod comparing;
mod kill;
mod lifecycle;
mod publish;
mod references;
mod serve;
mod start;
#[path = "../support/mod.rs"]
mod support;
mod versions;
