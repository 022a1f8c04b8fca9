//! Long runs: load on every binding for hours, and kills by the thousand. The tests run a short form of both.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod agent;
mod frames;
mod greedy;
mod kills;
mod lanes;
#[allow(dead_code, reason = "the load tests measure with the rest")]
#[path = "../load/meter.rs"]
mod meter;
mod operator;
mod soak;
#[path = "../support/mod.rs"]
mod support;
mod versions;

/// Held by the run that is under way: each measures its own load.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
