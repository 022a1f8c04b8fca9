//! The Schema Authority: submit → check → sign → append → publish, over HTTPS.
//!
//! Plain files on disk are the database: the log and the documents, durable before anything is answered. Everything else (the sled index,
//! statuses, floors, lists) is computed from them and may be deleted. See `docs/spec/authority-api.md` and `docs/how-to/run-an-authority.md`.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

#[cfg(test)]
extern crate self as semgate_authority;

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;

mod account;
mod audit;
mod clock;
pub mod config;
mod cosign;
mod disk;
mod document;
mod fault;
mod http;
mod http_client;
mod index;
mod init;
mod keys;
mod ledger;
mod metrics;
pub mod pkcs11;
mod proposals;
mod publish;
mod restore;
mod rules;
mod run;
mod store;
mod submit;
mod version_numbers;
pub mod witness;
mod wordings;

pub use config::{Config, ConfigFault, Limits, LinePattern, Publisher, SettingFault, StartDocument};
pub use fault::RunFault;
pub use http::problem::Code;
pub use init::{
    InitFault, InitOptions, Initialised, PROTOCOL_LINES, TlsLeaf, TlsRequest, TlsUse, init, issue_tls,
};
pub use metrics::count_lost_log_lines;
pub use pkcs11::signing_key;
pub use restore::{Restored, restore};
pub use run::{Bound, HeadTimes, Rebuilt, RoleStatus, Status, check, rebuild_index, run, status};
pub use version_numbers::first_free_version;
pub use wordings::{RULE as WORDING_RULE, SuspiciousWording, suspicious_wordings};
