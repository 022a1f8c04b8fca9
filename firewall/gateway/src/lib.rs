//! Sockets, TLS, limits, forwarding and audit: everything of the firewall that touches the world.
//!
//! The path of a message is the list of files, one verb each: `listen` → `identify` → `admit` → `receive` → (the inspector:
//! parse → resolve → conform → decide → meter) → `forward` → `reply` → `record`. `refuse` is the only place where a
//! [`Refusal`](semgate_inspect::Refusal) becomes an HTTP or JSON-RPC answer. Beside the path: `follow` keeps the
//! generation that messages are judged under, `admin` answers the operator.
//!
//! Each stage takes the value that only the stage before it can build; `forward` consumes a
//! [`Permit`](semgate_inspect::Permit). Nothing is ever sent twice: there is no retry.
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
