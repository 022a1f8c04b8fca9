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

mod approvals;
mod clock;
pub mod config;
mod control;
mod fault;
mod local;
mod pipeline;
mod run;
mod server;
mod upstream;

pub use approvals::seal::{CardKey, is_sealed};
pub use config::{Config, ConfigFault, Limits};
pub use control::metrics::count_lost_log_lines;
pub use fault::RunFault;
pub use run::{Asked, Bound, Checked, OwnEnd, Remembered, check, check_online, remembered, run};
pub use server::iac_connection::{IacConnection, IacListener};
pub use server::listen::BoundRoute;
pub use server::sockets::ListeningSocket;
