//! Tests of `audit`.

use super::*;
use std::os::unix::fs::PermissionsExt;

fn entry() -> Entry<'static> {
    let (person, factor, roles) = ("spiffe://semgate.test/human/bob", "link", vec!["operator"]);
    static NONE: BTreeMap<&str, String> = BTreeMap::new();
    Entry { person, factor, roles, act: "revoke", target: "urn:x", server: "authority", detail: &NONE }
}

#[test]
fn each_line_names_who_did_what_to_what() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    Audit::open(&path).unwrap().write(&entry(), "intended").unwrap();
    Audit::open(&path).unwrap().write(&entry(), "done").unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "an older file goes on");
    for name in ["time", "person", "factor", "roles", "act", "target", "server", "outcome"] {
        assert!(!lines[0][name].is_null(), "{name}");
    }
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_full_disk_is_a_fault() {
    let audit = Audit::open(Path::new("/dev/full")).unwrap();
    assert!(audit.write(&entry(), "intended").is_err());
}

#[test]
fn a_line_that_was_cut_short_spoils_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    std::fs::write(&path, "{\"time\":\"20").unwrap();
    let audit = Audit::open(&path).unwrap();
    audit.write(&entry(), "intended").unwrap();
    // as after a full disk
    audit.inner.lock().unwrap().torn = true;
    audit.write(&entry(), "done").unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let read = text.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()).count();
    assert_eq!((read, text.lines().next()), (2, Some("{\"time\":\"20")));
    let full = Audit::open(Path::new("/dev/full")).unwrap();
    assert!(full.write(&entry(), "intended").is_err() && full.inner.lock().unwrap().torn);
}

#[test]
fn attack_a_stranger_fills_the_log_with_refused_logins() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let audit = Audit::open(&path).unwrap();
    for at in [7, 7, 7, 7, 8, 9] {
        if let Some(suppressed) = audit.due(at) {
            audit.note(&entry(), "refused", suppressed).unwrap();
        }
    }
    let text = std::fs::read_to_string(&path).unwrap();
    let counts = text.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["suppressed"].as_u64().unwrap_or_default()
    });
    assert_eq!(counts.collect::<Vec<_>>(), [0, 3, 0]);
}
