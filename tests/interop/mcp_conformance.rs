//! The conformance suite of MCP as judge: what passes directly passes through the gateway, for servers and for clients.

use crate::support;

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use support::SEMGATE;

/// What `tests/interop/mcp/run.py` found of one revision and one side, with what comes from npm.
fn judged(revision: &str, leg: &str) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let work = root.join("target/interop-mcp");
    let output = Command::new("python3")
        .arg(root.join("tests/interop/mcp/run.py"))
        .args(["--semgate", SEMGATE, "--requirements", revision, "--leg", leg, "--work"])
        .arg(&work)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "no run could be made: {said}");
    let report = work.join(format!("{revision}-{leg}/report.json"));
    serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap()
}

/// At least so many scenarios pass directly, and through the gateway all of them.
fn assert_none_lost(revision: &str, leg: &str, at_least: usize) {
    let report = judged(revision, leg);
    let scenarios = |set: &str| -> Vec<String> {
        let names = report["sets"][set].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
        names.filter(|name| !name.contains(": ")).map(str::to_owned).collect()
    };
    let (both, only_direct) = (scenarios("both"), scenarios("only_direct"));
    let why = only_direct.iter().map(|name| format!("{name}: {}", report["sides"]["proxied"]["tests"][name]));
    let why: Vec<String> = why.collect();
    assert!(why.is_empty(), "{revision}, {leg}: lost through the gateway: {why:#?}");
    assert!(both.len() >= at_least, "{revision}, {leg}: the suite ran: {both:?}");
}

#[test]
fn a_server_of_2025_11_25_passes_the_same_scenarios() {
    assert_none_lost("2025-11-25", "server", 33);
}

#[test]
fn a_server_of_2026_07_28_passes_the_same_scenarios() {
    assert_none_lost("2026-07-28", "server", 40);
}

#[test]
fn a_client_of_2025_11_25_passes_the_same_scenarios() {
    assert_none_lost("2025-11-25", "client", 4);
}

#[test]
fn a_client_of_2026_07_28_passes_the_same_scenarios() {
    assert_none_lost("2026-07-28", "client", 7);
}
