//! The log on a terminal, and its form.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::SEMGATE;

/// One call of each kind of command. Each ends by itself.
const KINDS: [&str; 12] = [
    "--version",
    "authority check --config missing.toml",
    "authority run --config missing.toml",
    "cert root --out root",
    "context list --dir missing",
    "demo --dir /dev/null/missing",
    "firewall check --config missing.toml",
    "firewall run --config missing.toml",
    "log verify --dir missing",
    "policy check missing",
    "say --dir missing payment:v1.0 transfer {}",
    "up --dir /dev/null/missing",
];

/// Runs a command with a terminal of its own; returns what the terminal got.
fn on_a_terminal(dir: &Path, words: &str) -> String {
    let command = format!("'{SEMGATE}' {words}");
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .current_dir(dir)
        .env("SEMGATE_LOG", "semgate=loud")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .expect("`script` of bsdutils");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn fault_1_no_command_begins_with_a_line_about_a_missing_feature_on_a_terminal() {
    let dir = tempfile::tempdir().unwrap();
    for words in KINDS {
        let shown = on_a_terminal(dir.path(), words);
        assert!(!shown.contains("tracing-subscriber"), "`{words}`: {shown}");
        assert!(!shown.contains('\u{1b}'), "`{words}`: {shown:?}");
        let logs = shown.lines().filter(|line| line.contains("cannot read the log directives")).count();
        assert_eq!(
            logs,
            usize::from(words != "--version"),
            "the log reached the terminal of `{words}`: {shown}"
        );
    }
}

fn run(with: &[(&str, &str)], words: &[&str]) -> Output {
    let mut command = Command::new(SEMGATE);
    for name in ["SEMGATE_LOG", "RUST_LOG", "SEMGATE_LOG_FORMAT"] {
        command.env_remove(name);
    }
    command.envs(with.iter().copied()).args(words).args(["policy", "check", "missing"]).output().unwrap()
}

/// The one line of the log as JSON.
fn logged(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stderr);
    let line =
        text.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("no JSON in: {text}"));
    serde_json::from_str(line).unwrap()
}

#[test]
fn the_log_is_json_by_flag_or_variable_and_reads_its_directives_from_two() {
    let unreadable = ("SEMGATE_LOG", "semgate=loud");
    for output in [
        run(&[unreadable], &["--log-format", "json"]),
        run(&[unreadable, ("SEMGATE_LOG_FORMAT", "json")], &[]),
    ] {
        let line = logged(&output);
        assert_eq!((line["level"].as_str(), line["variable"].as_str()), (Some("ERROR"), Some("SEMGATE_LOG")));
        assert_eq!(line["message"], "cannot read the log directives; the default level applies");
    }
    let line = logged(&run(&[("RUST_LOG", "semgate=loud")], &["--log-format", "json"]));
    assert_eq!(line["variable"], "RUST_LOG");
    let both = run(&[("SEMGATE_LOG", "info"), ("RUST_LOG", "semgate=loud")], &[]);
    let text = String::from_utf8_lossy(&both.stderr);
    assert!(!text.contains("directives"), "`RUST_LOG` counts only without `SEMGATE_LOG`: {text}");
    let wrong = run(&[("SEMGATE_LOG_FORMAT", "xml")], &[]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
}
