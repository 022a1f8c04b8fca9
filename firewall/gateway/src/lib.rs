//! Sockets, TLS, limits, forwarding and audit: every part of the firewall with side effects.
//!
//! A message passes these files in order: `listen` → `identify` → `admit` → `receive` → the inspector → `forward` → `reply` →
//! `record`. The inspector's steps are parse → resolve → conform → decide → meter. Only `refuse` converts a
//! [`Refusal`](semgate_inspect::Refusal) to an HTTP or JSON-RPC answer. Apart from messages, `follow` keeps the generation
//! current, and `admin` answers the operator.
//!
//! Each stage takes a value that only the previous stage can build; `forward` consumes a [`Permit`](semgate_inspect::Permit).
//! Nothing is ever sent twice: there are no retries.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod account;
mod address;
mod admin;
mod admit;
mod answer;
mod authorize;
mod card;
mod clock;
pub mod config;
mod crls;
mod decision;
mod egress;
mod events;
mod executor;
mod fault;
mod follow;
mod forward;
mod framing;
mod grpc;
mod health;
mod identify;
mod inside;
mod keep;
mod lane;
mod listen;
mod materials;
mod mcp;
mod measure;
mod path;
mod quota;
mod reasons;
mod receive;
mod record;
mod refuse;
mod relay;
mod reply;
mod run;
mod socket;
mod upstream;

pub use config::{Config, ConfigFault, Limits};
pub use fault::RunFault;
pub use listen::BoundRoute;
pub use measure::count_lost_log_lines;
#[cfg(feature = "plain-proxy")]
pub use run::plain::run_plain;
pub use run::{Bound, Checked, Remembered, check, remembered, run};
