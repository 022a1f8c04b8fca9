//! The paper's three policies, broken in each way that a tired operator would break them: one mistake in each file of
//! `mistakes/`. What `policy check` says of all of them stands beside, in `expected.txt`.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::support::wait_for;
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
fn the_three_policies_as_they_are_meant_are_good() {
    let (status, shown, errors) = policy(&["check", word(&rules()), "--floor", "payment=v2.0"]);
    assert_eq!(status, 0, "{shown}{errors}");
}

#[test]
fn a_good_set_is_counted_and_what_lies_beside_and_is_not_read_is_told() {
    let dir = super::copied();
    std::fs::write(dir.path().join("y.cedar.bak"), "permit (principal, action, resource);").unwrap();
    for name in ["README.md", ".gitignore", "LICENSE.md"] {
        std::fs::write(dir.path().join(name), "of no set").unwrap();
    }
    std::fs::create_dir(dir.path().join("tests")).unwrap();
    std::fs::write(dir.path().join("tests/x.cedar"), "").unwrap();
    std::fs::create_dir(dir.path().join("more")).unwrap();
    std::fs::write(dir.path().join("more/x.cedar"), "").unwrap();
    let (status, shown, errors) = policy(&["check", word(dir.path())]);
    assert_eq!(status, 0, "{shown}{errors}");
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(
        lines[..2],
        [
            "warning: `more/` holds 1 `*.cedar` and is not read: subdirectories are not",
            "warning: `y.cedar.bak` is not read: files of a set end in `.cedar`, or are `entities.json` and `limits.json`",
        ]
    );
    assert!(lines[2].contains(": good, ") && lines[2].ends_with(" context(s)"), "{shown}");
    assert!(lines[2].contains(" policies in 11 file(s), with "), "{shown}");
}

/// `policy check` warned of it and called the set good, and it went live without a word.
#[test]
fn a_file_that_became_empty_keeps_a_set_from_being_checked_and_bundled() {
    let dir = super::copied();
    for text in ["", "// what nobody may pay\n"] {
        std::fs::write(dir.path().join("payment.cedar"), text).unwrap();
        for words in [
            &["check", word(dir.path())][..],
            &["bundle", word(dir.path()), "--out", "no.json", "--key", "no.key", "--cert", "no.pem"],
        ] {
            let (status, shown, errors) = policy(words);
            assert_eq!(status, 1, "{words:?}: {errors}");
            assert!(shown.starts_with("`payment.cedar` holds no policy: "), "{words:?}: {shown}{errors}");
        }
    }
}

#[test]
fn a_file_whose_name_is_nearly_one_of_a_set_keeps_it_from_being_loaded() {
    for (name, meant) in [
        ("limit.json", "limits.json"),
        ("entites.json", "entities.json"),
        ("w.ceder", "w.cedar"),
        ("y.CEDAR", "y.cedar"),
    ] {
        let dir = super::copied();
        std::fs::write(dir.path().join(name), "{}").unwrap();
        for job in ["check", "matrix"] {
            let (status, shown, errors) = policy(&[job, word(dir.path())]);
            assert_eq!(status, 1, "{shown}{errors}");
            let fault = format!("`{name}` is not read (did you mean `{meant}`?)");
            assert!(errors.contains(&fault), "{errors}");
            assert!(errors.contains("in lower case: rename the file"), "{errors}");
        }
        // a directory of such a name is none of its files
        std::fs::remove_file(dir.path().join(name)).unwrap();
        std::fs::create_dir(dir.path().join(name)).unwrap();
        assert_eq!(policy(&["check", word(dir.path())]).0, 0, "{name}");
    }
}

/// The line that calls the set good stood behind the schema, so that no tool read the file.
#[test]
fn the_schema_stands_alone_in_what_is_written_to_a_file() {
    let (status, plain, _) = policy(&["check", word(&rules())]);
    assert_eq!(status, 0, "{plain}");
    let (status, schema, told) = policy(&["check", word(&rules()), "--schema"]);
    assert_eq!(status, 0, "{told}");
    assert!(told.starts_with("typed by ") && told.ends_with(&plain), "{told}");
    assert!(schema.contains("entity Agent") && !schema.contains("good, "), "{schema}");
}

/// What `docs/how-to/write-policies.md` says of a certificate that shows credentials, with the directory of this `up`.
fn recipe(up: &super::support::Up) -> String {
    let page = include_str!("../../../docs/how-to/write-policies.md");
    let block = page.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    format!("set -e\n{}", block.replace(".semgate", word(&up.dir)))
}

#[test]
fn a_certificate_by_the_recipe_of_the_page_shows_its_credentials() {
    let up = super::support::Up::start();
    let text = "forbid (principal, action, resource is payment::transfer)\nunless {\n  \
                principal.credentials.containsAll([\"cert:eku:1.3.6.1.4.1.99999.1\", \"cert:policy:1.3.6.1.4.1.99999.7\"])\n};\n";
    std::fs::write(up.path("/policies").join("desk.cedar"), text).unwrap();
    let transfer = json!({"concept_type": "transfer", "sender_id": "a", "receiver_id": "b", "amount": 12, "currency": "USD"});
    let body = json!({
        "protocol": "L8/1.0", "message_id": "m-1", "performative": "REQUEST", "sender_id": "retailer-7",
        "receiver_id": up.text("/sample_agent/id"), "context": "urn:contexts:payment:v1.1", "content": transfer,
    })
    .to_string();
    let say = || up.post("retailer-7", up.text("/gateway/l8"), &[], body.as_bytes());
    wait_for("the policy to be live", || (say().status == 403).then_some(()));
    let output = std::process::Command::new("sh").args(["-c", &recipe(&up)]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer = say();
    assert_ne!(answer.status, 403, "{}", String::from_utf8_lossy(&answer.body));
}

#[test]
fn a_floor_of_no_line_is_refused_with_what_was_meant() {
    let (status, _, errors) = policy(&["check", word(&rules()), "--floor", "paiment=v2.0"]);
    assert_eq!(status, 1, "{errors}");
    let why =
        "`--floor`: no context has the line `paiment`, so its floor has no effect (did you mean `payment`?)";
    assert!(errors.contains(why), "{errors}");
}

#[test]
fn what_no_gateway_would_load_is_not_signed() {
    let dir = super::copied();
    let words = ["bundle", word(dir.path()), "--key", "none", "--cert", "none", "--out", "none"];
    std::fs::write(dir.path().join("a.cedar"), "permit (principal, action, resource)").unwrap();
    let (status, shown, errors) = policy(&words);
    assert_eq!(status, 1, "{errors}");
    assert!(shown.starts_with("a.cedar:1:") && errors.contains("would not be loaded"), "{shown}{errors}");
    let misspelt = "permit (principal, action, resource is payment::transfer) unless { resource.amuont == resource.amount };";
    std::fs::write(dir.path().join("a.cedar"), misspelt).unwrap();
    let (status, shown, _) = policy(&[&words[..], &["--check"]].concat());
    assert_eq!(status, 1);
    assert!(shown.contains("did you mean `amount`?"), "{shown}");
    let (_, shown, errors) = policy(&words);
    assert!(
        shown.is_empty() && errors.contains("none"),
        "beside other contexts it may be good: {shown}{errors}"
    );
}

#[test]
fn a_floor_that_is_none_is_refused_with_its_form() {
    let (status, _, errors) = policy(&["check", word(&rules()), "--floor", "payment=2"]);
    assert_ne!(status, 0);
    assert!(errors.contains("is not of the form `payment=v2.0`"), "{errors}");
}
