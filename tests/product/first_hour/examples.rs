//! Every directory of `examples/`, by its own `run` script.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::tutorial::path_with_sdks;

/// Each example with lines that its run shows.
const EXAMPLES: [(&str, &[&str]); 5] = [
    ("a2a-text", &["you wrote: from the SDK", "REFUSED policy_denied"]),
    ("a2a-typed", &["\"celsius\":21", "REFUSED content_invalid", "REFUSED reply_refused (content_invalid)"]),
    ("mcp", &["['add']", "{'sum': 3}", "True content_invalid: "]),
    ("policies-in-git", &["2 case(s), 0 failed; 2 of 2 policies decide a case"]),
    ("two-gateways", &["you wrote: to our own agent", "you wrote: hello", "REFUSED policy_denied"]),
];

#[test]
fn every_example_runs_and_shows_what_its_readme_promises() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let listed = std::fs::read_dir(&examples).unwrap().map(|entry| entry.unwrap().path());
    assert_eq!(listed.filter(|path| path.is_dir()).count(), EXAMPLES.len());
    let dir = tempfile::tempdir().unwrap();
    let path = path_with_sdks(dir.path());
    for (name, lines) in EXAMPLES {
        let readme = std::fs::read_to_string(examples.join(name).join("README.md")).unwrap();
        assert!(readme.lines().count() <= 30 && readme.contains("./run"), "{name}");
        let mut script = Command::new(examples.join(name).join("run"));
        script.env("PATH", &path).env("XDG_CONFIG_HOME", dir.path()).stdin(Stdio::null());
        let output = script.output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{name}:\n{out}\n{err}");
        lines.iter().for_each(|line| assert!(out.contains(line), "{name}: no `{line}` in\n{out}\n{err}"));
    }
}
