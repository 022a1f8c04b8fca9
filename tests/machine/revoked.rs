//! A revocation while the volume of a gateway's memory is full, and what a start without the authority makes of it.

use std::path::Path;

use semgate_contexts::library;
use serde_json::Value;

use crate::support::gateway::{Gateway, Scripted};
use crate::support::policies::{REPLY, status};
use crate::support::volume::Volume;
use crate::support::{Up, wait_for};
use crate::{admin, decide, metric};

/// Publishes the shipped `supplyChain` under another version.
fn publish(up: &Up, documents: &Path, version: &str) {
    let all = library::all();
    let (_, shipped) = all.iter().find(|(name, _)| name.contains("supplyChain")).unwrap();
    let text =
        String::from_utf8_lossy(shipped).replace("supplyChain:v1.0", &format!("supplyChain:{version}"));
    let file = documents.join(format!("{version}.json"));
    std::fs::write(&file, text).unwrap();
    let output = up.semgate(&["context", "publish", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn revoke(up: &Up, gateway: &Gateway, version: &str) {
    let urn = format!("supplyChain:{version}");
    let output = up.semgate(&["context", "revoke", &urn, "--reason", "test"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    wait_for("the revocation to count", || (code(gateway, version) == "context_revoked").then_some(()));
}

/// The refusal of a message under a version, or `passed`.
fn code(gateway: &Gateway, version: &str) -> String {
    let answer = decide(gateway, version);
    // the agent answers under v1.0 alone, so under another version the message passed and its reply does not
    let passed = answer.status == 200 || version != "v1.0" && answer.code() == "reply_refused";
    if passed { "passed".to_owned() } else { answer.code() }
}

fn memory(gateway: &Gateway) -> Value {
    status(gateway)["authorities"][0]["memory"].clone()
}

fn is_ready(gateway: &Gateway) {
    wait_for("readiness", || (admin(gateway, "/readyz").0 == 200).then_some(()));
}

/// Past the reserve as well, a revocation used to count in memory alone: a kill, and a start without the authority, let the context pass again.
#[test]
fn attack_a_full_volume_and_a_kill_make_no_gateway_forget_a_revocation() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("up");
    let up = Up::start_in(&dir);
    for version in ["v1.1", "v1.2"] {
        publish(&up, temporary.path(), version);
    }
    let agent = Scripted::saying(REPLY.to_owned());
    let mut gateway = Gateway::before(&up, agent.address, "");
    // its memory moves to a volume of its own; the audit stays where there is room
    gateway.kill();
    let volume = Volume::mount(&gateway.audit.with_file_name("authorities"), "16m");
    gateway.start_again();
    is_ready(&gateway);
    for version in ["v1.0", "v1.1", "v1.2"] {
        wait_for(&format!("{version} to pass"), || (code(&gateway, version) == "passed").then_some(()));
    }
    assert_eq!(memory(&gateway), serde_json::json!({"whole": true, "reserve": true, "fault": null}));

    // the first revocation takes the room that was reserved for it, and all of it is on disk
    volume.fill();
    revoke(&up, &gateway, "v1.1");
    let spent = memory(&gateway);
    assert_eq!((&spent["whole"], &spent["reserve"]), (&Value::from(true), &Value::from(false)), "{spent}");
    assert_eq!(metric(&gateway, "semgate_memory_reserve{"), 0.0);
    assert_eq!(admin(&gateway, "/readyz").0, 200);

    // the second finds none: it counts at once, and the operator is told that it is not on disk
    volume.fill();
    revoke(&up, &gateway, "v1.2");
    let lacking = memory(&gateway);
    assert_eq!(lacking["whole"], false, "{lacking}");
    assert_eq!(metric(&gateway, "semgate_memory_whole{"), 0.0);
    let (ready, why) = admin(&gateway, "/readyz");
    assert!(ready == 503 && why.contains("is not completely saved on disk"), "{ready}: {why}");
    assert!(why.contains(lacking["fault"].as_str().unwrap()), "{why}");
    assert_eq!(code(&gateway, "v1.0"), "passed", "what counts goes on");

    // killed, and started without the authority: nothing passes by what may be out of date
    gateway.kill();
    up.kill();
    gateway.start_again();
    assert_eq!(code(&gateway, "v1.1"), "context_revoked");
    for version in ["v1.0", "v1.2"] {
        assert_eq!(code(&gateway, version), "status_stale", "{version}");
    }
    assert_eq!(admin(&gateway, "/readyz").0, 503);

    // the authority is back: the status is fresh, and still not on disk
    let up = Up::start_in(&dir);
    wait_for("a fresh status", || (code(&gateway, "v1.0") == "passed").then_some(()));
    assert_eq!(code(&gateway, "v1.2"), "context_revoked");
    assert_eq!(admin(&gateway, "/readyz").0, 503);

    // with room everything is written, and reserved again, without a word from anyone
    volume.make_room();
    is_ready(&gateway);
    assert_eq!(memory(&gateway), serde_json::json!({"whole": true, "reserve": true, "fault": null}));
    gateway.kill();
    up.kill();
    gateway.start_again();
    assert_eq!(code(&gateway, "v1.0"), "passed");
    for version in ["v1.1", "v1.2"] {
        assert_eq!(code(&gateway, version), "context_revoked", "{version}");
    }
}
