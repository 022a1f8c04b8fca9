//! Semgate with the clients, servers, verifiers and suites of others.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod a2a;
mod channels;
mod client;
mod console;
mod credentials;
mod definitions;
mod grpc;
mod humanlayer;
mod iac;
mod iac_attacks;
mod iac_replies;
mod imports;
mod js;
mod ldp;
mod ldp_attacks;
mod ldp_faults;
mod ldp_results;
mod ldp_trust;
mod mcp;
mod mcp_conformance;
mod mcp_sdks;
mod openapi;
mod real;
mod signatures;
mod sstp;
#[path = "../support/mod.rs"]
mod support;
mod traces;
