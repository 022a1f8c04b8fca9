//! `firewall check` says no wherever a start would fail.

use super::{Scene, complaint};

#[test]
fn fault_7_a_check_fails_where_a_start_fails_for_lack_of_a_directory_or_file() {
    let scene = Scene::new();
    std::fs::write(scene.dir.join("file"), "").unwrap();
    scene.changes("state = \"state\"", "state = \"file\"");
    scene.refused("state directory");
    scene.changes("state = \"state\"", "state = \"file/state\"");
    scene.refused("state directory");
    scene.changes("state = \"state\"", "state = \"/proc/state\"");
    scene.refused("state directory");
    std::fs::create_dir(scene.dir.join("logs")).unwrap();
    scene.changes("audit = \"logs/audit.jsonl\"", "audit = \"logs\"");
    scene.refused("audit file");
    scene.changes("audit = \"logs/audit.jsonl\"", "audit = \"/proc/audit.jsonl\"");
    scene.refused("audit file");
}

#[test]
fn fault_7_a_check_leaves_nothing_and_ends_with_a_summary() {
    let scene = Scene::new();
    let names = || {
        let mut names: Vec<_> =
            std::fs::read_dir(&scene.dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let checked = scene.check(&[]);
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    assert_eq!(names(), before, "neither state nor audit stays");
    let text = String::from_utf8(checked.stdout).unwrap();
    for line in [
        "# admin: http://127.0.0.1:9470",
        "# route `orders`: l8 at 127.0.0.1:9443, for `spiffe://semgate.test/agent/orders` at http://127.0.0.1:9/; contexts `travel` (not known yet)",
        "# certificate `gateway.pem`: `CN=Semgate server`, 29 days left",
        "# policies: none would be live yet",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}: {text}");
    }
    assert!(!text.contains("[limits]") && !text.contains("websocket"), "defaults are hidden: {text}");
    let all = String::from_utf8(scene.check(&["--all"]).stdout).unwrap();
    assert!(all.contains("[limits]") && all.contains("websocket = false"), "{all}");
    // both read as a configuration again
    for text in [text, all] {
        scene.writes(&text);
        assert_eq!(scene.check(&[]).status.code(), Some(0), "{text}");
    }
}

#[test]
fn fault_7_a_check_warns_of_lines_defaults_and_receivers_that_lead_nowhere() {
    let scene = Scene::new();
    let more = "[\"travel\", \"payment:v2\"]\ndefault_context = \"urn:contexts:snl:v1.0\"";
    scene.changes("contexts = [\"travel\"]", &format!("contexts = {more}"));
    let text = complaint(&scene.check(&[]));
    assert!(text.contains("no `[[authority]]` has `payment:v2` among its `lines`"), "{text}");
    let stray = "the default context `urn:contexts:snl:v1.0` is not among the contexts that the route lists";
    assert!(text.contains(stray), "{text}");
    scene.changes("spiffe://semgate.test/agent/orders", "spiffe://other.test/agent/orders");
    let text = complaint(&scene.check(&[]));
    assert!(text.contains("the receiver is in `other.test`, which is no `[[trust_domain]]`"), "{text}");
}
