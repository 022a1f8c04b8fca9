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
