//! LDP through the running binary: `up`, `call`, and files that are read again.

use crate::support;

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use support::{Up, wait_for};

const FLIGHT: &str = r#"{"origin_code":"LAX","dest_code":"JFK","date":"2026-12-24"}"#;

/// Status and outcome of `semgate call` on the route of LDP.
fn call(up: &Up, words: &[&str]) -> (i32, Value) {
    let output = up.semgate(&[&["--json", "call", "--route", "ldp"], words].concat());
    let outcome = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|why| panic!("{why}: {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code().unwrap(), outcome)
}

fn hang_up(up: &Up) {
    let pid = up.json["pid"].to_string();
    assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
}

#[test]
fn a_call_opens_a_session_and_prints_the_verdict_about_its_task() {
    let up = Up::start();
    let (status, booked) = call(&up, &["travel:v2.2", "bookFlight", FLIGHT]);
    assert_eq!((status, &booked["verdict"]), (0, &"ALLOWED".into()), "{booked}");
    let body = &booked["reply"]["body"];
    assert_eq!(body["output"], json!({"booking_reference": "SEMGATE1", "status": "confirmed"}));
    assert_eq!(body["provenance"]["confidence"], Value::Null, "nobody verified the delegate's own opinion");
    let (status, refused) = call(&up, &["travel:v2.2", "cancelFlight", FLIGHT]);
    assert_eq!((status, &refused["verdict"], &refused["delivered"]), (3, &"REFUSED".into(), &"no".into()));
    assert!(refused["decision_id"].is_string(), "{refused}");
    assert_eq!(up.received(), 1);
}

#[test]
fn a_pinned_card_is_read_again_at_sighup_and_only_the_delegates_own_is_shown() {
    let up = Up::start();
    let (status, shown) = call(&up, &["--card"]);
    assert_eq!((status, &shown["reply"]["endpoint"]), (0, &up.text("/gateway/ldp").into()), "{shown}");
    let path: PathBuf = up.dir.join("firewall/identity-card.json");
    let pinned = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, pinned.replace("\"sample-1\"", "\"sample-2\"")).unwrap();
    hang_up(&up);
    let refused =
        wait_for("the new card", || Some(call(&up, &["--card"])).filter(|(status, _)| *status != 0));
    assert_eq!((refused.0, &refused.1["code"]), (3, &"upstream_invalid".into()), "{}", refused.1);
    std::fs::write(&path, "{}").unwrap();
    hang_up(&up);
    std::fs::write(&path, pinned).unwrap();
    hang_up(&up);
    wait_for("the old card", || Some(call(&up, &["--card"])).filter(|(status, _)| *status == 0));
}
