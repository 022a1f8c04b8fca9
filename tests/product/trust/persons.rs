//! Two persons and the authority's own policies, by the commands that persons use.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::support::authorities::{Other, good, run};
use crate::trust::text;

/// A second publisher of an authority that asks for two persons where something is revoked.
fn second_of(other: &mut Other, name: &str) -> [String; 4] {
    let who = format!("spiffe://{}/{name}", other.name);
    let config = other.dir.join("authority.toml");
    let settings = std::fs::read_to_string(&config).unwrap();
    let first = settings.find("[[publisher]]").unwrap();
    let operator = format!("spiffe://{}/operator", other.name);
    let also = settings[first..].replace(&operator, &who);
    let (before, table) = settings.split_at(settings.find("\n[").unwrap());
    std::fs::write(&config, format!("{before}\nfour_eyes = [\"revoke\"]\n{table}\n{also}")).unwrap();
    let (issuer, out) = (other.dir.join("offline/tls-issuing"), other.dir.join(name));
    good(&run(&[
        "cert",
        "leaf",
        "--usage",
        "agent",
        "--spiffe",
        &who,
        "--by",
        text(&issuer),
        "--out",
        text(&out),
    ]));
    other.stop();
    other.run();
    let path = |end: &str| text(&other.dir.join(format!("{name}.{end}"))).to_owned();
    ["--cert".to_owned(), path("pem"), "--key".to_owned(), path("key")]
}

fn said(output: &Output, word: &str) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains(word), "{word}: {error}");
}

#[test]
fn one_person_proposes_and_another_agrees_by_the_command_line() {
    let place = tempfile::tempdir().unwrap();
    let mut authority = Other::start(place.path(), "two.test");
    let grace = second_of(&mut authority, "grace");
    authority.publish("goods:v1.0");
    let roots = text(&authority.dir.join("roots.pem")).to_owned();
    let at = ["--authority", &authority.url, "--roots", &roots];
    let as_grace = |words: &[&str]| run(&[words, &at, &grace.each_ref().map(String::as_str)].concat());

    let revoke = ["--json", "context", "revoke", "goods:v1.0", "--reason", "a leak"];
    let proposed = authority.semgate(&revoke);
    // neither done nor refused
    assert_eq!(proposed.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&proposed.stderr).contains("nothing was done yet"));
    let proposed: Value = serde_json::from_slice(&proposed.stdout).unwrap();
    let id = proposed["proposal"].as_str().unwrap().to_owned();
    let listed = good(&as_grace(&["authority", "proposals"]));
    for word in [&id, "revoke", "urn:contexts:goods:v1.0", "by spiffe://two.test/operator", "a leak"] {
        assert!(listed.contains(word), "{word}: {listed}");
    }
    said(&authority.semgate(&["authority", "approve", &id]), "second_person_required");
    said(&as_grace(&["authority", "approve", "0123456789abcdef"]), "proposal_unknown");
    said(&run(&[&["authority", "proposals"], &at[..]].concat()), "certificate_required");
    assert!(good(&authority.semgate(&["context", "list"])).contains("published"));
    let done: Value =
        serde_json::from_str(&good(&as_grace(&["--json", "authority", "approve", &id]))).unwrap();
    assert_eq!(
        (&done["proposed_by"], &done["approved_by"]),
        (&"spiffe://two.test/operator".into(), &"spiffe://two.test/grace".into())
    );
    assert!(good(&authority.semgate(&["context", "list"])).contains("revoked"));
    assert_eq!(good(&as_grace(&["authority", "proposals"])), "");
    said(&as_grace(&["authority", "approve", &id]), "proposal_unknown");
}

fn policies(dir: &Path, rules: &str) {
    std::fs::create_dir_all(dir).unwrap();
    std::fs::write(dir.join("rules.cedar"), rules).unwrap();
    let people = r#"{"agents":[{"id":"spiffe://two.test/ada","groups":["stewards"],"credentials":[]}]}"#;
    std::fs::write(dir.join("entities.json"), people).unwrap();
}

#[test]
fn policies_about_publishers_are_checked_before_an_authority_reads_them() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("publishers");
    let check = |more: &[&str]| run(&[&["authority", "policy", "check", text(&dir)], more].concat());
    policies(&dir, "@id(\"all\") permit (principal in Group::\"stewards\", action, resource);\n");
    let told = good(&check(&[]));
    assert!(told.contains("good, 1 policies, sha-256:"), "{told}");
    let json: Value = serde_json::from_str(&good(&check(&["--json"]))).unwrap();
    assert_eq!(json["count"], 1);
    let schema = good(&check(&["--schema"]));
    assert!(schema.contains("entity Line") && schema.contains("action"), "{schema}");

    policies(&dir, "permit (\n  principal,\n  action == Action::\"revok\",\n  resource\n);\n");
    let refused = check(&[]);
    said(&refused, "rules.cedar");
    said(&refused, "an authority would not load this directory");
    let told = check(&["--json"]);
    assert_eq!(told.status.code(), Some(1));
    let told = String::from_utf8(told.stdout).unwrap();
    let json: Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
    assert!(json["faults"][0].as_str().unwrap().contains("revok"), "{json}");
    std::fs::write(dir.join("limits.json"), "{}").unwrap();
    said(&check(&[]), "limits.json");
    std::fs::remove_dir_all(&dir).unwrap();
    said(&check(&[]), "publishers");
}
