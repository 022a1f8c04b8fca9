//! Findings as SARIF and JUnit files. `deploy/check-action` holds them against the schema of SARIF.

use crate::support;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use support::SEMGATE;

/// Runs in a directory with the shipped policies as `rules`, which writes `found.sarif` and `found.xml`.
fn run(directory: &Path, words: &[&str]) -> (Output, Value, String) {
    let mut command = Command::new(SEMGATE);
    command.args(words).args(["--sarif", "found.sarif", "--junit", "found.xml"]).current_dir(directory);
    let output = command.env("SEMGATE_SOLVER", "none").output().unwrap();
    let sarif = serde_json::from_slice(&std::fs::read(directory.join("found.sarif")).unwrap()).unwrap();
    (output, sarif, std::fs::read_to_string(directory.join("found.xml")).unwrap())
}

#[test]
fn a_finding_names_its_file_and_line_for_reviewers_and_its_check_for_test_reports() {
    let directory = tempfile::tempdir().unwrap();
    let rules = directory.path().join("rules & more");
    std::fs::create_dir(&rules).unwrap();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/rules");
    for file in std::fs::read_dir(&shipped).unwrap().map(|file| file.unwrap().path()) {
        if file.is_file() {
            std::fs::copy(&file, rules.join(file.file_name().unwrap())).unwrap();
        }
    }
    let (output, sarif, junit) = run(directory.path(), &["policy", "check", "rules & more"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(sarif["runs"][0]["results"], json!([]));
    assert!(
        junit.contains("<testcase classname=\"policy check\" name=\"rules &amp; more\"></testcase>"),
        "{junit}"
    );

    let wrong = "@id(\"w\")\npermit (principal, action, resource is payment::transfer)\nwhen { resource.amout == \"<\" };\n";
    std::fs::write(rules.join("wrong.cedar"), wrong).unwrap();
    let (output, sarif, junit) = run(directory.path(), &["policy", "check", "rules & more"]);
    assert_eq!(output.status.code(), Some(1));
    let result = &sarif["runs"][0]["results"][0];
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "rules%20%26%20more/wrong.cedar");
    assert_eq!(place["region"]["startLine"], 3, "{place}");
    assert!(result["message"]["text"].as_str().unwrap().contains("amout"), "{result}");
    assert!(junit.contains("tests=\"1\" failures=\"1\"") && junit.contains("amout"), "{junit}");

    let (output, sarif, junit) = run(directory.path(), &["context", "diff", "payment:v1.1", "payment:v2.0"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(sarif["runs"][0]["results"].to_string().contains("breaking: /concepts/transfer"), "{sarif}");
    assert!(junit.contains("name=\"/concepts/transfer\"><failure"), "{junit}");

    // a job that cannot judge at all says so in its reports too
    let (output, sarif, _) = run(directory.path(), &["policy", "test", "nowhere"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        sarif["runs"][0]["results"][0]["message"]["text"].as_str().unwrap().contains("is not a directory")
    );
}
