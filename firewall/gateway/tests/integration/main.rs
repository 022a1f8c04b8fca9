//! A gateway in this process, between callers and agents that misbehave.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod a2a;
mod attacks;
mod clarify;
#[path = "../common/mod.rs"]
mod common;
mod follow;
mod grpc;
mod half_closed;
mod http2;
mod iac;
mod ldp;
mod obligations;
mod path;
mod peers;
mod places;
mod push;
mod repliers;
mod streams;
