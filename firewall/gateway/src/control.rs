//! Control of a running gateway: follows authorities and policies, keeps state over a restart, and answers the operator.

pub(crate) mod admin;
pub(crate) mod admin_listener;
mod admin_slots;
pub(crate) mod crls;
pub(crate) mod follow;
pub(crate) mod health;
pub(crate) mod metrics;
pub(crate) mod persistence;
pub(crate) mod policy_state;
pub(crate) mod scan_state;
pub(crate) mod traces;
mod verdicts;
