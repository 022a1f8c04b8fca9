//! One greedy agent beside a well-behaved one, through the running binary. Each test prints what the well-behaved agent waits in quiet and under
//! load, the memory of the gateway, and the bytes that it writes.
//!
//! In the tests a load takes a second or two. For figures that mean something, on a quiet machine:
//!
//!     SEMGATE_LOAD_SECONDS=30 cargo test --release -p semgate --test load -- --nocapture --test-threads 1
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod arrivals;
mod frames;
mod handshakes;
mod meter;
mod replies;
#[path = "../support/mod.rs"]
mod support;
