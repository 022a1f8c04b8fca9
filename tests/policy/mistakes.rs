//! The paper's three policies, broken in each way that a tired operator would break them: one mistake in each file of
//! `mistakes/`. What `policy check` says of all of them stands beside, in `expected.txt`.

use std::path::{Path, PathBuf};

use super::{policy, rules, word};

fn mistakes(group: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/policy/mistakes").join(group)
}

/// What `policy check` says of a group, and what it is meant to say. Each file is named by it.
#[track_caller]
fn told(group: &str, more: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(rules().join("entities.json"), dir.path().join("entities.json")).unwrap();
    let mut names = Vec::new();
    for entry in std::fs::read_dir(mistakes(group)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "cedar") {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            std::fs::copy(&path, dir.path().join(&name)).unwrap();
            names.push(name);
        }
    }
    let (status, shown, errors) = policy(&[&["check", word(dir.path())], more].concat());
    assert_eq!(status, 1, "{shown}{errors}");
    for name in names {
        assert!(shown.lines().any(|line| line.starts_with(&name)), "nothing is said of {name}:\n{shown}");
    }
    let expected = std::fs::read_to_string(mistakes(group).join("expected.txt")).unwrap_or_default();
    assert_eq!(shown, expected, "what is said of `{group}` has changed; it is now:\n{shown}");
}

#[test]
fn what_does_not_parse_is_named_with_its_place() {
    told("syntax", &[]);
}

#[test]
fn what_does_not_fit_the_signed_schema_is_named_with_what_was_meant() {
    told("schema", &[]);
}

#[test]
fn what_fits_and_could_do_nothing_is_named_too() {
    told("senseless", &["--floor", "payment=v2.0"]);
}

#[test]
fn the_three_policies_as_they_are_meant_are_good() {
    let (status, shown, errors) = policy(&["check", word(&rules()), "--floor", "payment=v2.0"]);
    assert_eq!(status, 0, "{shown}{errors}");
}

#[test]
fn a_floor_that_is_none_is_refused_with_its_form() {
    let (status, _, errors) = policy(&["check", word(&rules()), "--floor", "payment=2"]);
    assert_ne!(status, 0);
    assert!(errors.contains("is not of the form `payment=v2.0`"), "{errors}");
}
