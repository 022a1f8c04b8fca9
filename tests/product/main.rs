//! The whole product through the running binary, and the rules that its source keeps.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod approvals;
mod architecture;
mod authority;
mod bundle;
mod cards;
mod checks;
mod clarify;
mod console;
mod conversations;
mod dependencies;
mod deployment;
mod end_to_end;
mod feed;
mod first_hour;
mod groups;
mod handshake;
mod http2;
mod limits;
mod live;
mod log;
mod mcp_answers;
mod mcp_lines;
mod mcp_sessions;
mod mcp_tools;
mod mechanisms;
mod monitoring;
mod ocsf;
mod open_places;
mod operator;
mod people;
mod policy;
mod references;
mod relayed;
mod reload;
mod shadow;
mod sockets;
mod split_view;
mod streams;
mod style;
#[path = "../support/mod.rs"]
mod support;
mod traces;
mod trust;
mod tutorial;
mod vectors;
