//! A running gateway on a machine that fails it: a volume without room, a log that nobody reads, a thread that holds still, and memory after a
//! burst.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod held;
mod memory;
mod revoked;
mod stalled;
#[path = "../support/mod.rs"]
mod support;
mod work;

use serde_json::json;
use support::gateway::Gateway;
use support::policies::under;
use support::{Answer, plain_get};

/// A message under this version of `supplyChain`, which the shipped policies let pass.
fn decide(gateway: &Gateway, version: &str) -> Answer {
    let content = json!({"concept": "current_decision", "item_id": "beer", "quantity": 120});
    gateway.post(&under(&format!("supplyChain:{version}"), &content))
}

/// The status of a page of the admin address, and its text.
fn admin(gateway: &Gateway, path: &str) -> (u16, String) {
    let answer = plain_get(&format!("http://{}{path}", gateway.admin));
    (answer.status, String::from_utf8_lossy(&answer.body).into_owned())
}

/// The value of a metric without labels, or of the first line of one with labels.
fn metric(gateway: &Gateway, name: &str) -> f64 {
    let text = admin(gateway, "/metrics").1;
    let line =
        text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no `{name}`: {text}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}
