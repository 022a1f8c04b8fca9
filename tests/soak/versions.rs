//! Versions of the shipped `supplyChain` that a test publishes and revokes.

use std::process::Output;

use semgate_contexts::library;

use super::support::Up;

/// Fails with standard error, if the command failed.
pub fn good(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Publishes the shipped document as this version.
pub fn publish(up: &Up, version: &str) {
    let (_, shipped) = library::all().iter().find(|(name, _)| name.contains("supplyChain")).unwrap();
    let text =
        String::from_utf8_lossy(shipped).replace("supplyChain:v1.0", &format!("supplyChain:{version}"));
    let file = up.dir.join(format!("supplyChain-{version}.json"));
    std::fs::write(&file, text).unwrap();
    good(&up.semgate(&["context", "publish", file.to_str().unwrap()]));
}

/// Revokes a version.
pub fn revoke(up: &Up, version: &str) {
    good(&up.semgate(&["context", "revoke", &format!("supplyChain:{version}"), "--reason", "test"]));
}
