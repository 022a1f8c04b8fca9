//! The console: pages on which people see a running system, and act.
//!
//! Its listener speaks TLS alone. Nobody sees a page but [`Config::persons`]: by client certificate, or on loopback by a
//! one-time link. The guard judges every request by the one table of pages; a page takes a value that only the guard makes. Acts go to
//! gateways and the authority in the name of the person, after a line of the console's own audit log is on disk.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod acts;
mod answer;
mod app;
mod audit;
mod client;
mod clock;
mod config;
mod explained;
mod fault;
mod feed;
mod gateways;
mod guard;
mod library;
mod links;
mod listen;
mod materials;
mod pages;
mod records;
mod roles;
mod router;
mod run;
mod sessions;
mod sets;
#[cfg(test)]
mod tests;
mod visible;
mod write_timeout;

pub use config::{AuthorityConfig, Config, GatewayConfig, IdentityFiles, PersonConfig};
pub use fault::{ConfigFault, RunFault};
pub use roles::Role;
pub use run::{Bound, check, run};
