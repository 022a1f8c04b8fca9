//! Faults: a revoked version was fetched in silence and listed as `invalid`, a draft with open questions was published for ever, a
//! revocation asked nothing, and a check stopped at the first fault.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::support::Up;
use super::{semgate, shown, typed, word};

fn revoke(up: &Up, short: &str, reason: &str) {
    let (status, _, errors) = shown(&up.semgate(&["context", "revoke", short, "--reason", reason]));
    assert_eq!(status, 0, "{errors}");
}

#[test]
fn fault_10_fetch_and_list_tell_status_reason_and_floors() {
    let up = Up::start();
    let (status, good, errors) = shown(&up.semgate(&["--json", "context", "fetch", "payment:v2.0"]));
    let good: Value = serde_json::from_str(&good).unwrap();
    assert_eq!((status, &good["status"], &good["reason"]), (0, &json!("published"), &Value::Null));
    assert!(!errors.contains("warning"), "{errors}");

    revoke(&up, "payment:v2.0", "wrong rounding");
    let (status, fetched, errors) = shown(&up.semgate(&["--json", "context", "fetch", "payment:v2.0"]));
    let fetched: Value = serde_json::from_str(&fetched).unwrap();
    assert_eq!(
        (status, &fetched["status"], &fetched["reason"]),
        (0, &json!("revoked"), &json!("wrong rounding"))
    );
    let warning =
        "warning: `urn:contexts:payment:v2.0` is revoked, and no gateway lets it pass: wrong rounding";
    assert!(errors.lines().any(|line| line == warning), "{errors}");
    let (_, fetched, errors) = shown(&up.semgate(&["context", "fetch", "payment:v1.0"]));
    assert!(fetched.contains("status: published") && fetched.contains("floor: v1.1"), "{fetched}");
    assert!(errors.contains("is below the floor v1.1 of `payment`"), "{errors}");

    let words = ["context", "suspend", "travel:v2.1", "--reason", "under review"];
    assert!(up.semgate(&words).status.success());
    assert!(up.semgate(&["context", "retire", "supplyChain:v1.0"]).status.success());
    let (_, listed, _) = shown(&up.semgate(&["context", "list"]));
    let line = |urn: &str| {
        let mut lines = listed.lines().skip_while(|line| !line.contains(&format!("{urn} ")));
        let words: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
        (words[1], lines.next().unwrap_or_default().trim())
    };
    assert_eq!(line("payment:v2.0"), ("revoked", "wrong rounding"), "{listed}");
    assert_eq!(line("travel:v2.1"), ("suspended", "under review"), "{listed}");
    assert_eq!(line("supplyChain:v1.0"), ("deprecated", "asked for by the operator"), "{listed}");
    assert_eq!(line("payment:v1.1").0, "published", "{listed}");
    assert!(listed.lines().any(|line| line.trim().starts_with("floor       payment v1.1: ")), "{listed}");
    let (_, listed, _) = shown(&up.semgate(&["--json", "context", "list"]));
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["floors"]["payment"]["min"], "v1.1", "{listed}");
}

#[test]
fn fault_10_a_revocation_on_a_terminal_is_confirmed() {
    let up = Up::start();
    let standing = |short: &str| {
        let (_, fetched, _) = shown(&up.semgate(&["--json", "context", "fetch", short]));
        serde_json::from_str::<Value>(&fetched).unwrap()["status"].as_str().unwrap().to_owned()
    };
    let asked = typed(&up, "", "context revoke payment:v2.0", "no\n");
    assert!(asked.contains("revokes `urn:contexts:payment:v2.0` for good"), "{asked}");
    assert!(asked.contains("other versions of `payment`: v1.0 (published), v1.1 (published)"), "{asked}");
    assert!(asked.contains("nothing was revoked"), "{asked}");
    assert_eq!(standing("payment:v2.0"), "published");
    typed(&up, "", "context revoke payment:v2.0", "yes\n");
    assert_eq!(standing("payment:v2.0"), "revoked");
    let silent = typed(&up, "", "context revoke travel:v2.1 --yes", "");
    assert!(!silent.contains("type `yes`"), "{silent}");
    assert_eq!(standing("travel:v2.1"), "revoked");
}

fn file(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn fault_10_a_draft_with_open_questions_is_not_published() {
    let up = Up::start();
    let side = |question: &str| json!({"type": "object", "$comment": question});
    let draft = |question: &str| json!({"context": "urn:contexts:weather:v1.0", "tasks": {"forecast": {"parameters": side(question), "results": side("as observed")}}});
    let open = "open: which parameters does it take?";
    let path = file(&up.dir, "draft.json", &draft(open).to_string());
    let (status, _, errors) = shown(&up.semgate(&["context", "publish", word(&path)]));
    assert!(status == 1 && errors.starts_with("error: the draft has 1 open question(s)"), "{errors}");
    assert!(errors.contains("`/tasks/forecast/parameters/$comment`: open: which parameters"), "{errors}");
    let (status, checked, _) = shown(&semgate(&["context", "check", word(&path)]));
    assert!(status == 0 && checked.contains("(open): open: which parameters"), "{checked}");
    let (status, ..) = shown(&semgate(&["context", "check", word(&path), "--deny-warnings"]));
    assert_eq!(status, 1);
    let path = file(&up.dir, "answered.json", &draft("answered").to_string());
    let (status, _, errors) = shown(&up.semgate(&["context", "publish", word(&path)]));
    assert_eq!(status, 0, "{errors}");
}

#[test]
fn fault_10_a_check_shows_every_fault_with_its_line_and_what_was_meant() {
    let dir = tempfile::tempdir().unwrap();
    let text = r##"{
  "context": "urn:contexts:weather:v1.0",
  "concpets": {},
  "codes": {"cities": ["Oslo", "Paris"]},
  "$defs": {"place": {"type": "string", "maxLength": 40}},
  "tasks": {
    "forecast": {
      "parameters": {"type": "object", "requird": ["city"], "properties": {
        "city": {"type": "string", "x-code-list": "citis"},
        "place": {"$ref": "#/$defs/plaec"}
      }},
      "results": {"type": "object"},
      "performative": []
    }
  }
}"##;
    let first = file(dir.path(), "weather.json", text);
    let second = file(dir.path(), "broken.json", "{\n  \"context\": \"urn:contexts:a:v1.0\",\n}");
    let third = file(dir.path(), "twice.json", "{\n \"context\": 1,\n \"context\": 2}");
    let files = [word(&first), word(&second), word(&third)];
    let (status, _, errors) = shown(&semgate(&[&["context", "check"], &files[..]].concat()));
    assert_eq!(status, 1);
    for said in [
        "`/concpets`: unknown member; did you mean `concepts`? one of `context`, `title`, `description`, `concepts`, `tasks`, `codes`, `labels`, `relations`, `references`, `$defs` (line 3, column 3)",
        "`/tasks/forecast/performative`: unknown member; did you mean `performatives`? one of `parameters`, `results`, `performatives`, `x-require-approval` (line 13, column 7)",
        "unknown keyword `requird`; did you mean `required`? (line 8, column 40)",
        "`x-code-list` names no list of `codes`; did you mean `cities`? one of `cities` (line 9, column 36)",
        "did you mean `#/$defs/place`? (line 10, column 19)",
        "`broken.json`: not strict JSON: ",
        "(line 3, column 1)",
        "duplicate member name (line 3, column 2)",
    ] {
        let said = said.replace("`broken.json`", &format!("`{}`", second.display()));
        assert!(errors.contains(&said), "{said}\n{errors}");
    }
    assert!(!errors.contains(" byte "), "{errors}");
}
