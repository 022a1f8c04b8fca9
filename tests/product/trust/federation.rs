//! Authorities in processes of their own: what becomes of a recognition when the one that recognises falls silent, and through its mirror.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::authorities::{Other, good, run};
use crate::support::gateway::{Gateway, Scripted};
use crate::support::policies::{REPLY, replies, revision, under};
use crate::support::strangers::{serve, text};
use crate::support::{Ended, SEMGATE, Up, plain_get, wait_for};

/// One that recognises `theirs` for `goods`, and speaks for `house` itself.
fn recognising(place: &Path, theirs: &Other) -> Other {
    let ours = Other::start(place, "ours.test");
    ours.publish("house:v1.0");
    let key = text(&ours.dir.join("offline/root.key"));
    let draft = text(&place.join("list.json"));
    good(&ours.semgate(&["trust", "draft", "--add-log", &ours.log_key(), "--out", &draft]));
    good(&run(&["trust", "sign", &draft, "--key", &key]));
    good(&ours.semgate(&["trust", "submit", &draft]));
    let mut words = theirs.introduced();
    words.extend(["--line", "goods", "--root-key", &key].map(str::to_owned));
    good(&ours.semgate(&words.iter().map(String::as_str).collect::<Vec<_>>()));
    ours
}

/// A gateway of `up` that follows three authorities, the one that recognises at this address.
fn gateway(up: &Up, behind: &Scripted, ours: &str, theirs: &Other) -> Gateway {
    let open = "permit (principal in Group::\"partners\", action, resource);\n".to_owned();
    let policies = revision(up, "open", &[("open.cedar", open), replies()]);
    let config = up.path("/firewall_config");
    let own = r#"lines = ["snl", "a2a", "mcp", "payment", "supplyChain", "travel"]"#;
    let settings = std::fs::read_to_string(&config).unwrap();
    let settings = settings.replace("lines = [\"*\"]", own);
    assert!(settings.contains(own));
    std::fs::write(&config, settings.replace("policies = \"policies\"", &format!("policies = {policies:?}")))
        .unwrap();
    Gateway::begun(
        up,
        behind.address,
        &(ours.to_owned() + &theirs.followed(&["goods", "trips"], "ours.test")),
    )
}

/// A table for an authority that counts by itself.
fn by_itself(other: &Other, lines: &[&str]) -> String {
    let table = other.followed(lines, "nobody");
    assert!(table.contains("recognised_by = \"nobody\"\n"));
    table.replace("recognised_by = \"nobody\"\n", "")
}

fn code(gateway: &Gateway, short: &str) -> String {
    let content = match short.starts_with("supplyChain") {
        true => json!({"concept": "current_decision", "item_id": "beer", "quantity": 120}),
        false => json!({"concept": "thing", "n": 1}),
    };
    let answer = gateway.post(&under(short, &content));
    let refused = || answer.json()["cause"].as_str().map_or_else(|| answer.code(), str::to_owned);
    // the upstream agent answers under another context: then the request was let through
    if answer.status == 200 || refused() == "context_unknown" && answer.code() == "reply_refused" {
        return "allowed".to_owned();
    }
    refused()
}

fn becomes(gateway: &Gateway, short: &str, wanted: &str) {
    wait_for(&format!("{short} to be {wanted}"), || (code(gateway, short) == wanted).then_some(()));
}

/// Its reason stood in the record of each message alone.
fn assert_the_refused_line_is_told(gateway: &Gateway) {
    let shown = plain_get(&format!("http://{}/status", gateway.admin)).json();
    let recognised = &shown["authorities"][2]["recognised"];
    let detail = "its authority is not recognised for its line";
    let line = json!({"line": "trips", "why_not": "outside_scope", "detail": detail, "contexts": 1});
    assert_eq!((&recognised["why_not"], &recognised["refused_lines"]), (&json!(null), &json!([line])));
    assert_eq!(shown["authorities"][1]["recognised"], json!(null));
    let counted = "semgate_contexts_unrecognised{authority=\"theirs.test\"} 1";
    wait_for("the metric", || {
        let metrics = plain_get(&format!("http://{}/metrics", gateway.admin)).body;
        String::from_utf8(metrics).unwrap().lines().any(|line| line == counted).then_some(())
    });
}

#[test]
fn a_recognising_authority_that_falls_silent_takes_its_word_with_it_until_it_is_heard_again() {
    let up = Up::start();
    let place = tempfile::tempdir().unwrap();
    let theirs = Other::start(place.path(), "theirs.test");
    theirs.publish("goods:v1.0");
    theirs.publish("trips:v1.0");
    let mut ours = recognising(place.path(), &theirs);
    let behind = Scripted::saying(REPLY.to_owned());
    let gateway = gateway(&up, &behind, &by_itself(&ours, &["house"]), &theirs);
    for short in ["goods:v1.0", "house:v1.0", "supplyChain:v1.0"] {
        becomes(&gateway, short, "allowed");
    }
    becomes(&gateway, "trips:v1.0", "context_untrusted");
    assert_the_refused_line_is_told(&gateway);
    ours.stop();
    // theirs goes on saying fresh heads, and they are not enough
    becomes(&gateway, "goods:v1.0", "status_stale");
    becomes(&gateway, "house:v1.0", "status_stale");
    assert_eq!(code(&gateway, "supplyChain:v1.0"), "allowed", "other authorities go on");
    let not_ready = plain_get(&format!("http://{}/readyz", gateway.admin));
    assert_eq!(not_ready.status, 503);
    let told = String::from_utf8(not_ready.body).unwrap();
    for name in ["ours.test", "theirs.test"] {
        assert!(told.contains(&format!("authority `{name}` has a stale status")), "{told}");
    }
    ours.run();
    becomes(&gateway, "goods:v1.0", "allowed");
    assert_eq!(plain_get(&format!("http://{}/readyz", gateway.admin)).status, 200);
}

#[test]
fn a_recognition_and_its_withdrawal_arrive_through_a_mirror_too() {
    let up = Up::start();
    let place = tempfile::tempdir().unwrap();
    let theirs = Other::start(place.path(), "theirs.test");
    theirs.publish("goods:v1.0");
    let ours = recognising(place.path(), &theirs);
    let dir = place.path().join("mirror");
    let mut mirror = Command::new(SEMGATE);
    mirror.args(["authority", "mirror", "--every", "1", "--from", &ours.url, "--log-key", &ours.log_key()]);
    mirror.arg("--roots").arg(ours.dir.join("roots.pem")).arg(&dir);
    let _mirroring = Ended(mirror.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    wait_for("the mirror", || dir.join("v1/feed/head").exists().then_some(()));
    let (_server, url) = serve(&dir);
    let behind = Scripted::saying(REPLY.to_owned());
    let followed = by_itself(&ours, &["house"]).replace(&ours.url, &url);
    let gateway = gateway(&up, &behind, &followed, &theirs);
    becomes(&gateway, "goods:v1.0", "allowed");
    good(&ours.semgate(&["authority", "withdraw", "theirs.test", "--reason", "a drill"]));
    becomes(&gateway, "goods:v1.0", "context_untrusted");
    let shown = plain_get(&format!("http://{}/status", gateway.admin)).json();
    assert_eq!(shown["authorities"][2]["recognised"]["why_not"], "withdrawn");
    assert_eq!(code(&gateway, "house:v1.0"), "allowed");
}
