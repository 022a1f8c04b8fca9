//! The paper's three policies, broken in each way that a tired operator would break them: one mistake in each file of
//! `tests/policy/mistakes/`, and what is said of them all in the `expected.txt` beside.

use std::path::Path;

use semgate_contexts::{Line, Version};

use super::shipped_contexts;
use crate::{Floors, Policies, PolicyLimits, PolicySource};

fn told(group: &str, floors: &Floors) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/policy/mistakes").join(group);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "cedar") {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            files.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
    files.sort();
    let source = PolicySource { files, ..PolicySource::shipped() };
    let faults =
        Policies::load_above(&source, &shipped_contexts(), floors, &PolicyLimits::default()).unwrap_err();
    let told: String = faults.iter().map(|fault| format!("{fault}\n")).collect();
    for (name, _) in &source.files {
        assert!(told.lines().any(|line| line.starts_with(name)), "nothing is said of {name}:\n{told}");
    }
    let expected = std::fs::read_to_string(dir.join("expected.txt")).unwrap_or_default();
    assert_eq!(told, expected, "what is said of `{group}` has changed; it is now:\n{told}");
}

#[test]
fn what_does_not_parse_is_named_with_its_place() {
    told("syntax", &Floors::new());
}

#[test]
fn what_does_not_fit_the_signed_schema_is_named_with_what_was_meant() {
    told("schema", &Floors::new());
}

#[test]
fn what_fits_and_could_do_nothing_is_named_too() {
    told("senseless", &Floors::from([(Line::parse("payment").unwrap(), Version::new(2, 0))]));
}
