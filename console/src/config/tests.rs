//! Tests of `config`.

use super::*;
use crate::tests::SETTINGS;

fn fault(from: &str, to: &str) -> String {
    assert!(SETTINGS.contains(from), "{from}");
    Config::parse(&SETTINGS.replacen(from, to, 1), Path::new("/base")).unwrap_err().to_string()
}

#[test]
fn a_whole_file_is_read_and_its_paths_are_resolved() {
    let read = Config::parse(SETTINGS, Path::new("/base")).unwrap();
    assert_eq!(read.people_roots, Path::new("/base/roots.pem"));
    assert_eq!(read.gateways[0].roots.as_deref(), Some(Path::new("/base/roots.pem")));
    assert_eq!(read.origin(), "https://127.0.0.1:9480");
}

#[test]
fn unsafe_settings_are_refused() {
    let cases = [
        ("127.0.0.1:9480", "0.0.0.0:9480", "`link` is for a console on loopback"),
        (
            "people_roots",
            "url = \"https://console.example\"\npeople_roots",
            "`link` is for a console on loopback",
        ),
        ("people_roots", "url = \"http://console.example\"\npeople_roots", "`url`"),
        ("people_roots", "url = \"https://console.example/x\"\npeople_roots", "`url`"),
        ("admin = \"http://127.0.0.1:9\"", "admin = \"http://10.0.0.1:9\"", "`gateway.admin`"),
        ("approvals = \"https://127.0.0.1:9\"", "approvals = \"http://127.0.0.1:9\"", "`gateway.approvals`"),
        ("url = \"https://127.0.0.1:9\"", "url = \"http://127.0.0.1:9\"", "`authority.url`"),
        ("human = \"human://bob.sre\"\n", "", "`person.human` is missing"),
        ("link = \"human://bob.sre\"", "link = \"human://nobody\"", "`link` must be"),
        ("human = \"human://approver\"\n", "", "is an approver"),
        ("roles = [\"viewer\"]", "roles = []", "`person.roles`"),
        ("human/viewer", "human/auditor", "twice"),
        ("listen", "nothing = 1\nlisten", "unknown field `nothing`"),
        ("audit_file = \"audit.jsonl\"\n", "", "missing field `audit_file`"),
    ];
    for (from, to, expected) in cases {
        let shown = fault(from, to);
        assert!(shown.contains(expected), "`{to}`: {shown}");
    }
}

#[test]
fn a_fault_has_line_and_column() {
    let text = SETTINGS.replace("\"viewer\"", "\"watcher\"");
    let Err(ConfigFault::Wrong { line, column, .. }) = Config::parse(&text, Path::new("")) else { panic!() };
    let at = text.lines().nth(line - 1).unwrap();
    assert!(at.get(column - 1..).unwrap().starts_with("\"watcher\""), "{at} {column}");
}

#[test]
fn the_schema_accepts_every_member() {
    let schema = Config::schema();
    let members = schema["properties"].as_object().unwrap();
    for name in [
        "listen",
        "url",
        "tls",
        "identity",
        "people_roots",
        "gateway",
        "authority",
        "policies",
        "person",
        "link",
    ] {
        assert!(members.contains_key(name), "{name}");
    }
}
